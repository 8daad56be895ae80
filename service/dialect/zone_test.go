package dialect

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"zonedeck/model"
)

// The shapes are those that the service documents in public.
func TestAZoneIsReadAsTheAccountShowsIt(t *testing.T) {
	d := Embedded()
	plan, err := d.ReadZonePlan([]byte(`{"created":"2026-03-01T08:00:00Z","password":["x"],"ips":["1.2.3.4","1.2.3.4","10.0.0.0/8"],"plan":{"start":"2026-03-01","product":"dc","type":"static","ips_type":"shared","default_country":"us","disabled":1},"description":"of the shop","usage_limit":{"value":5,"unit":"$","cycle":"m","bust_action":"refuse"},"compromised_password":["y"]}`))
	want := ZonePlan{
		Created: time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC), Type: "static", Addresses: "shared", Country: "us", Description: "of the shop",
		Disabled: true, Callers: []string{"1.2.3.4", "10.0.0.0/8"}, Limit: "5 $ a month", Compromised: 1,
	}
	if err != nil || !reflect.DeepEqual(plan, want) {
		t.Errorf("%+v, %v", plan, err)
	}
	if word, err := d.ReadZoneState([]byte(`{"status":"active"}`)); err != nil || word != "active" {
		t.Errorf("%q, %v", word, err)
	}
	for text, want := range map[string]model.Traffic{
		`{"hl_1":{"data":{"z":{"bw_sum":[1,2]}},"sums":{"z":{"custom":{"bw_sum":30,"bw_dn":20,"bw_up":10,"https_direct_req":4,"http_direct_req":1,"https_svc_req":2,"reqs_unblocker_billable":3}}}}}`: {Bytes: 30, Down: 20, Up: 10, Requests: 7, Billable: 3},
		`{"hl_1":{"sums":{"z":{"custom":{"bw_sum":[10,5,15],"https_svc_req":[1,1]}}}}}`:                                                                                                               {Bytes: 30, Requests: 2},
	} {
		if got, err := d.ReadTraffic("z", []byte(text)); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	callers, skipped, err := d.ReadCallers("z", []byte(`{"z":["1.2.3.4","2001:db8::1","fe80::1%eth0","any","\u001b[2J"]}`))
	if err != nil || fmt.Sprint(callers) != "[1.2.3.4 2001:db8::1]" || skipped != 3 {
		t.Errorf("%v, %d, %v", callers, skipped, err)
	}
	if callers, _, err := d.ReadCallers("z", []byte(`{"z":[]}`)); err != nil || len(callers) != 0 {
		t.Errorf("of nobody: %v, %v", callers, err)
	}
	for text, want := range map[string]bool{`{"status":true}`: true, `{"status":false}`: false} {
		if up, err := d.ReadNetworks([]byte(text)); err != nil || up != want {
			t.Errorf("%s: %v, %v", text, up, err)
		}
	}
}

// Nothing of another shape is taken for an answer, nor the figures of another zone.
func TestAnAnswerOfAnotherShapeShowsNoZone(t *testing.T) {
	d := Embedded()
	for _, text := range []string{
		"", "null", "7", "[]", "{}", "<html>", `{"status":7,"plan":7}`, `{"hl_1":{}}`, `{"other":["1.2.3.4"]}`, `{"z":["1.2.3.4"],"other":[]}`, `{"z":null}`,
		`{"hl_1":{"sums":{"other":{"custom":{"bw_sum":1}}}}}`, `{"hl_1":{"sums":{"z":{"custom":{"bw_sum":-1}}}}}`, `{"hl_1":{"sums":{"z":{"custom":{"bw_sum":1e300}}}}}`,
		`{"hl_1":{"sums":{"z":{"custom":{"bw_sum":1}}}},"hl_2":{}}`, `{"hl_1":{"sums":{"z":{"custom":{"bw_sum":null}}}}}`,
	} {
		if plan, err := d.ReadZonePlan([]byte(text)); err == nil {
			t.Errorf("%s: plan %+v", text, plan)
		}
		if word, err := d.ReadZoneState([]byte(text)); err == nil {
			t.Errorf("%s: state %q", text, word)
		}
		if up, err := d.ReadNetworks([]byte(text)); err == nil {
			t.Errorf("%s: networks %v", text, up)
		}
		if traffic, err := d.ReadTraffic("z", []byte(text)); err == nil {
			t.Errorf("%s: traffic %+v", text, traffic)
		}
		if callers, _, err := d.ReadCallers("z", []byte(text)); err == nil {
			t.Errorf("%s: callers %v", text, callers)
		}
	}
}

func FuzzReadZoneShown(f *testing.F) {
	f.Add([]byte(`{"created":"2026-03-01T08:00:00Z","ips":["any"],"plan":{"type":"static","disabled":1},"usage_limit":{"value":5,"unit":"$","cycle":"m"},"status":"active"}`))
	f.Add([]byte(`{"hl_1":{"sums":{"z":{"custom":{"bw_sum":[1,2],"https_svc_req":4}}}}}`))
	f.Add([]byte(`{"z":["1.2.3.4"]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		d := Embedded()
		plan, _ := d.ReadZonePlan(body)
		word, _ := d.ReadZoneState(body)
		_, _ = d.ReadNetworks(body)
		if s := fmt.Sprintf("%+v %s", plan, word); strings.ContainsAny(s, "\x1b\n\r\x00") || len(plan.Callers) > maxWords {
			t.Errorf("%q", s)
		}
		if traffic, err := d.ReadTraffic("z", body); err == nil && min(traffic.Bytes, traffic.Down, traffic.Up) < 0 {
			t.Errorf("%+v", traffic)
		}
		if callers, _, _ := d.ReadCallers("z", body); len(callers) > maxCallers {
			t.Errorf("%d callers", len(callers))
		}
	})
}

// zoneCalls are the publicly documented calls that concern every zone when they name none, or
// are refused then: nobody should have to find out which.
var zoneCalls = []string{
	"DELETE /zone", "GET /zone", "POST /zone", "POST /zone/change_disable", "GET /zone/status", "GET /zone/permissions",
	"GET /zone/passwords", "POST /zone/add_password", "POST /zone/remove_password",
	"GET /zone/whitelist", "POST /zone/whitelist", "DELETE /zone/whitelist",
	"GET /zone/blacklist", "POST /zone/blacklist", "DELETE /zone/blacklist",
	"POST /zone/domain_perm", "DELETE /zone/domain_perm",
	"GET /zone/ips", "POST /zone/ips", "DELETE /zone/ips", "POST /zone/ips/refresh", "POST /zone/ips/migrate", "DELETE /zone/vips",
	"GET /zone/ips/unavailable", "GET /zone/recent_ips", "GET /zone/proxies_pending_replacement", "GET /zone/route_ips", "GET /zone/route_vips",
	"POST /zone/switch_100uptime", "GET /zone/cost", "GET /zone/bw",
}

func TestNoCallMayConcernEveryZone(t *testing.T) {
	type naming struct {
		query url.Values
		body  string
	}
	bad := []naming{{url.Values{"zone": {"z1"}}, `{"zone":"z2"}`}, {url.Values{"zone": {"z1", "z2"}}, ""}, {url.Values{"zones": {"*"}}, ""}}
	for _, zone := range []string{"", "*", "a,b", " ", "a b"} {
		bad = append(bad, naming{query: url.Values{"zone": {zone}}})
	}
	for _, body := range []string{
		"", "{}", `{"zone":""}`, `{"zone":null}`, `{"zone":["z1"]}`, `{"zone":{}}`, `{"zone":{"name":""}}`, `{"Zones":"z1"}`, "not JSON", `[{"zone":"z1"}]`, `{"zone":"*"}`,
		`{"Zone":"z1"}`, `{"ZONE":"z1"}`, `{"zone":"z1","zone":""}`, `{"zone":"","zone":"z1"}`, `{"zone":"z1","Zone":"z2"}`, `{"zone":{"Name":"z1"}}`, `{"zone":"z1"} {}`, `{"zone":"z1"`, `{"in":{"zone":"z1"}}`,
	} {
		bad = append(bad, naming{body: body})
	}
	for _, c := range zoneCalls {
		method, path, _ := strings.Cut(c, " ")
		for _, p := range []string{path, path + "/", strings.TrimPrefix(path, "/"), "/" + path, "/x/.." + path, "/." + path, strings.ToUpper(path), strings.Replace(path, "z", "%7a", 1), path + "?zone=z1", path + ";a", strings.ReplaceAll(path, "/", "\\")} {
			for _, b := range bad {
				if err := NamesZone(method, p, b.query, []byte(b.body)); !errors.Is(err, model.ErrRequest) {
					t.Errorf("%s at %s ?%s %s is sent: %v", c, p, b.query.Encode(), b.body, err)
				}
			}
		}
		query, body := naming{query: url.Values{"zone": {"z1"}}}, naming{body: `{"zone":"z1","ip":"10.0.0.1"}`}
		good, other := query, body // where the service looks for it, and where it does not
		if method != http.MethodGet {
			good, other = body, query
		}
		if err := NamesZone(method, path, good.query, []byte(good.body)); err != nil {
			t.Errorf("%s of a zone is refused: %v", c, err)
		}
		if err := NamesZone(method, path, other.query, []byte(other.body)); !errors.Is(err, model.ErrRequest) {
			t.Errorf("%s that names its zone where the service does not look is sent: %v", c, err)
		}
	}
	makes := []byte(`{"zone":{"name":"z1","type":"unblocker"},"plan":{}}`)
	if err := NamesZone(http.MethodPost, "/zone", nil, makes); err != nil {
		t.Errorf("a zone cannot be made: %v", err)
	}
	if err := NamesZone(http.MethodDelete, "/zone", nil, makes); !errors.Is(err, model.ErrRequest) {
		t.Errorf("an object names a zone that is deleted: %v", err)
	}
	for _, path := range []string{"/request", "/zones", "/status", "/datasets/v3/trigger", "/zone/get_all_zones", "/zone/get_active_zones", ""} {
		if err := NamesZone(http.MethodGet, path, nil, nil); err != nil {
			t.Errorf("%q is refused: %v", path, err)
		}
	}
	if err := NamesZone(http.MethodPost, "/zone/get_all_zones", nil, nil); !errors.Is(err, model.ErrRequest) {
		t.Errorf("what only reads is posted to: %v", err)
	}
}

func TestWhatTheDialectAsksAboutAZoneNamesIt(t *testing.T) {
	d := Embedded()
	for zone, ok := range map[model.ZoneName]bool{"z1": true, "": false} {
		var all []error
		get := http.MethodGet
		for _, c := range []func(model.ZoneName) (string, url.Values){d.Costs, d.AccountZone, d.AccountPasswords, d.ZoneState, d.ZoneCallers, trafficOf(d)} {
			path, query := c(zone)
			all = append(all, NamesZone(get, path, query, nil))
		}
		for _, c := range []PasswordCall{d.AddPassword(string(zone), "p"), d.RemovePassword(string(zone), "p")} {
			if c.Method != http.MethodPost {
				t.Errorf("%s %s", c.Method, c.Path)
			}
			all = append(all, NamesZone(c.Method, c.Path, nil, c.Body))
		}
		for i, err := range all {
			if (err == nil) != ok {
				t.Errorf("call %d for zone %q: %v", i, zone, err)
			}
		}
	}
}

func FuzzNamesZone(f *testing.F) {
	f.Add("GET", "/zone", "zone=z1", "")
	f.Add("POST", "/zone/whitelist", "", `{"zone":"z1"}`)
	f.Add("DELETE", "/zone/whitelist", "", `{"Zone":"z1"}`)
	f.Fuzz(func(t *testing.T, method, path, query, body string) {
		q, err := url.ParseQuery(query)
		if err != nil || NamesZone(method, path, q, []byte(body)) != nil {
			return
		}
		below := strings.Trim(path, "/")
		if below != "zone" && !strings.HasPrefix(below, "zone/") || strings.Contains(below, "..") || slices.Contains(zoneless, tidyPath(path)) {
			return
		}
		var in map[string]any
		if _ = json.Unmarshal([]byte(body), &in); q.Get("zone") == "" && q.Get("zones") == "" && in["zone"] == nil {
			t.Errorf("%s %s ?%s %s is sent", method, path, query, body)
		}
	})
}

// trafficOf is ZoneTraffic for some days.
func trafficOf(d Dialect) func(model.ZoneName) (string, url.Values) {
	return func(z model.ZoneName) (string, url.Values) {
		return d.ZoneTraffic(z, time.Unix(0, 0), time.Unix(1e6, 0))
	}
}

func TestTheCostOfAZoneBecomesARate(t *testing.T) {
	const last, now = `"range":{"from":"2027-02-01","to":"2027-03-01"}`, `"range":{"from":"2027-03-01","to":"2027-04-01"}`
	answer := func(m1, m0 string) string {
		return fmt.Sprintf(`{"hl_x":{"back_d0":{"cost":99,"bw":1},"back_m1":{%s,%s},"back_m0":{%s,%s}}}`, m1, last, m0, now)
	}
	for name, c := range map[string]struct {
		product model.Product
		body    string
		rate    model.Rate
		from    string
		problem string
	}{
		"requests":           {model.ProductUnlocker, answer(`"cost":3,"bw":5,"reqs_unblocker":2000`, `"cost":1,"bw":1`), model.Rate{Per1000: 1.5}, "2027-02-01", ""},
		"of search":          {model.ProductSERP, answer(`"cost":1,"bw":5,"reqs_serp":3000`, `"cost":1,"bw":1`), model.Rate{Per1000: 0.3333}, "2027-02-01", ""},
		"bytes":              {model.ProductResidential, answer(`"cost":4.8,"bw":600000000`, `"cost":0`), model.Rate{PerGB: 8}, "2027-02-01", ""},
		"this month":         {model.ProductMobile, answer(`"cost":0,"bw":0`, `"cost":2,"bw":1000000000,"ips":0,"vips":[]`), model.Rate{PerGB: 2}, "2027-03-01", ""},
		"addresses":          {model.ProductISP, answer(`"cost":4,"bw":1000,"ips":12`, `"cost":0`), model.Rate{}, "2027-02-01", "addresses are charged"},
		"nothing":            {model.ProductBrowser, answer(`"cost":0`, `"cost":0,"bw":7`), model.Rate{}, "2027-03-01", "nothing was charged"},
		"for nothing":        {model.ProductSERP, answer(`"cost":4,"bw":9`, `"cost":0`), model.Rate{}, "2027-02-01", "not for how much"},
		"of no product":      {"", answer(`"cost":4,"bw":9`, `"cost":0`), model.Rate{}, "2027-02-01", "does not name its product"},
		"of another product": {model.ProductCrawl, answer(`"cost":4,"bw":9`, `"cost":0`), model.Rate{}, "2027-02-01", "not shown by what"},
	} {
		got, err := Embedded().ZoneCost(model.Zone{Name: "z", Product: c.product}, []byte(c.body))
		if err != nil || got.Rate != c.rate || got.From.Format(time.DateOnly) != c.from ||
			!strings.Contains(got.Problem, c.problem) || (got.Problem == "") != (c.problem == "") {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for _, body := range []string{
		``, `[]`, `{}`, `{"a":{},"b":{}}`, `{"a":{}}`, `{"a":{"back_m1":{"cost":1}}}`, answer(`"cost":"1"`, `"cost":1`),
		answer(`"cost":-1`, `"cost":1`), answer(`"cost":1,"bw":1e300`, `"cost":1`),
		strings.ReplaceAll(answer(`"cost":1`, `"cost":1`), "2027-03-01", "2027-02-01"),
	} {
		if got, err := Embedded().ZoneCost(model.Zone{Product: model.ProductISP}, []byte(body)); err == nil {
			t.Errorf("%s is taken as %+v", body, got)
		}
	}
	if Default().ShowsCosts() {
		t.Error("the contract shows no costs")
	}
}

func FuzzZoneCost(f *testing.F) {
	f.Add([]byte(`{"hl_x":{"back_m1":{"cost":1e-300,"bw":1e-300,"reqs_serp":1,"range":{"from":"2027-02-01","to":"2027-03-01"}}}}`))
	f.Add([]byte(`{"hl_x":{"back_m1":{"cost":0,"range":{"from":"2027-02-01","to":"2027-03-01"}},"back_m0":null}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, p := range []model.Product{model.ProductSERP, model.ProductISP, ""} {
			c, err := Embedded().ZoneCost(model.Zone{Product: p}, body)
			if err == nil && (c.Rate.Priced() == (c.Problem != "") || c.Rate.Per1000 < 0 || c.Rate.PerGB < 0 || c.Dollars < 0) {
				t.Errorf("%q: %+v", body, c)
			}
		}
	})
}
