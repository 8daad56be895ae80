package dialect

import (
	"errors"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

func brightData(t testing.TB) Dialect {
	t.Helper()
	d, err := Find("brightdata")
	noerr.Must(t, err)
	return d
}

func TestTheContractListsNoAccount(t *testing.T) {
	d := Default()
	if _, _, ok := d.CABundle("https://api.example.com"); d.ListsAccount() || d.BaseURL() != "" || d.UsernamePrefix() != "" || len(d.ProxyEntries()) != 0 || ok {
		t.Error("the documented dialect claims what the contract does not show")
	}
	if got := WithAccounts(); got != `"brightdata"` {
		t.Errorf("dialects that list accounts: %s", got)
	}
}

func TestTheStatusOfAnAccount(t *testing.T) {
	d := brightData(t)
	for body, want := range map[string]AccountStatus{
		`{"status":"active","customer":"hl_demo01","can_make_requests":false,"auth_fail_reason":"zone_not_found"}`: {ID: "hl_demo01", Active: true, Word: "active"},
		`{"customer":"hl_demo01"}`:                           {ID: "hl_demo01", Active: true},
		`{"customer":"c_demo01"}`:                            {ID: "c_demo01", Active: true},
		`{"status":"suspend_manual","customer":"hl_demo01"}`: {ID: "hl_demo01", Word: "suspend_manual"},
	} {
		if got, err := d.ReadStatus([]byte(body)); err != nil || got != want {
			t.Errorf("%s: %+v, %v", body, got, err)
		}
	}
	for _, body := range []string{"", "null", "[]", `{"status":"active"}`, `{"customer":"x\u001b[2J"}`, `{"customer":7}`} {
		if got, err := d.ReadStatus([]byte(body)); err == nil || !strings.HasPrefix(err.Error(), "the answer names no account") {
			t.Errorf("%s: %+v, %v", body, got, err)
		}
	}
}

// The older form of an account's identifier is known where the dialect says so, and not to the contract.
func TestTheOlderFormOfAnAccountIsTheDialects(t *testing.T) {
	if id, err := brightData(t).ParseAccount("c_1234abcd"); err != nil || id != "c_1234abcd" {
		t.Errorf("%q, %v", id, err)
	}
	if _, err := Default().ParseAccount("c_1234abcd"); !errors.Is(err, model.ErrAccountID) {
		t.Errorf("the contract knows it: %v", err)
	}
	for _, s := range []string{"c_", "c_a-b", "c1", "C_1"} {
		if _, err := brightData(t).ParseAccount(s); !errors.Is(err, model.ErrAccountID) {
			t.Errorf("%q: %v", s, err)
		}
	}
	if got, err := Default().ParseAccount("hl_1234abcd"); err != nil || got != "hl_1234abcd" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestTheZonesOfAnAccount(t *testing.T) {
	zones, skipped, err := brightData(t).ReadZones([]byte(`[
		{"name":"a","type":"unblocker","status":"active"},{"name":"b","type":"browser_api"},{"name":"c","type":"dc"},{"name":"d","type":"isp"},
		{"name":"e","type":"res_rotating","status":"disabled"},{"name":"f","type":"res_static"},{"name":"g","type":"mobile"},{"name":"h","type":"serp"},
		{"name":"i","type":"new\u001bthing"},{"name":"a","type":"dc"},{"name":"bad name"},{"name":""}]`))
	products := map[model.ZoneName]model.Product{
		"a": model.ProductUnlocker, "b": model.ProductBrowser, "c": model.ProductDatacenter, "d": model.ProductISP,
		"e": model.ProductResidential, "f": model.ProductISP, "g": model.ProductMobile, "h": model.ProductSERP, "i": model.ProductUnknown,
	}
	if err != nil || skipped != 3 || len(zones) != len(products) {
		t.Fatalf("%d zones, %d skipped, %v", len(zones), skipped, err)
	}
	for _, z := range zones {
		if z.Product != products[z.Name] || z.Usable != (z.Name != "e") || strings.ContainsRune(z.Type, 0x1b) {
			t.Errorf("%+v", z)
		}
	}
	for _, body := range []string{"", "{}", `["a"]`, "[" + strings.Repeat(`{"name":"a"},`, maxZones) + `{"name":"b"}]`} {
		if zones, _, err := brightData(t).ReadZones([]byte(body)); err == nil {
			t.Errorf("%.20s: %d zones", body, len(zones))
		}
	}
}

func TestOneZoneOfAnAccount(t *testing.T) {
	d := brightData(t)
	for body, want := range map[string]ZoneAccess{
		`{"plan":{"type":"dc"},"password":["one","two"]}`:                              {Passwords: []string{"one", "two"}, Known: true},
		`{"plan":{"disabled":1}}`:                                                      {Disabled: true},
		`{"plan":{"disabled":true},"password":["a","b"],"compromised_password":["a"]}`: {Passwords: []string{"b"}, Known: true, Disabled: true, Compromised: 1},
		`{"plan":{"disabled":0},"compromised_password":["a","b"]}`:                     {Compromised: 2},
		`{"plan":{"disabled":false},"password":[]}`:                                    {Passwords: []string{}, Known: true},
	} {
		if got, err := d.ReadZone([]byte(body)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", body, got, err)
		}
	}
	if _, err := d.ReadZone([]byte(`{"password":"hunter2"}`)); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("an answer of another shape: %v", err)
	}
	path, query := d.AccountZone("z1")
	if path != "/zone" || !reflect.DeepEqual(query, url.Values{"zone": {"z1"}}) {
		t.Errorf("%s ?%v", path, query)
	}
	for body, want := range map[string][]string{`{"passwords":["one","two"]}`: {"one", "two"}, `{"passwords":[]}`: {}} {
		if got, err := d.ReadPasswords([]byte(body)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q, %v", body, got, err)
		}
	}
	if _, err := d.ReadPasswords([]byte(`{"passwords":{"hunter2":1}}`)); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("an answer of another shape: %v", err)
	}
}

func TestCertificatesArePublishedBesideTheService(t *testing.T) {
	d := brightData(t)
	for base, want := range map[string]string{"https://api.brightdata.com": "https://brightdata.com", "http://127.0.0.1:8080": "http://127.0.0.1:8080"} {
		if got, path, ok := d.CABundle(base); got != want || path != "/static/brightdata_proxy_ca.zip" || !ok {
			t.Errorf("%s: %s%s %v", base, got, path, ok)
		}
	}
	if _, _, ok := d.CABundle(""); ok {
		t.Error("a service without an address has certificates")
	}
}

func FuzzAccount(f *testing.F) {
	for _, s := range []string{
		`{"status":"active","customer":"hl_demo01"}`, `{"status":"active","customer":"c_demo01"}`, `[{"name":"a","type":"dc","status":"active"}]`,
		`{"plan":{"disabled":1},"compromised_password":["x"]}`, `{"passwords":["x"]}`, `null`, `[null]`, `{"plan":null}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		d := brightData(t)
		if s, err := d.ReadStatus(body); err == nil {
			if _, err := model.ParseAccountID(string(s.ID), model.OlderAccount); err != nil {
				t.Errorf("an account of %q", s.ID)
			}
		}
		zones, _, _ := d.ReadZones(body)
		for _, z := range zones {
			if _, err := model.ParseZoneName(string(z.Name)); err != nil || len(z.Type) > maxText || len(z.Status) > maxText {
				t.Errorf("a zone of %+v", z)
			}
		}
		_, _ = d.ReadZone(body)
		_, _ = d.ReadPasswords(body)
	})
}
