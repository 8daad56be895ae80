package account

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/emulator"
	"zonedeck/service/exchange"
	"zonedeck/service/fetch"
	"zonedeck/service/servicetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// configOf is a Config whose probe is the console's own.
func configOf() Config {
	wire := exchange.New(exchange.Config{})
	return Config{Wire: wire, Prober: fetch.New(fetch.Config{Wire: wire})}
}

func TestAKeyAndAnAddressAreEnoughOnTheEmulator(t *testing.T) {
	demo := servicetest.Emulator(t, emulator.Options{})
	full := demo.Profile
	host, port := full.ProxyHost, full.ProxyPort
	tests := map[string]struct {
		level            model.Level
		levels           []model.Level
		rates, passwords State
	}{
		"old-admin":      {model.LevelAdmin, []model.Level{model.LevelAdmin}, OK, OK},
		"finance-review": {model.LevelFinance, []model.Level{model.LevelFinance}, OK, Unknown},
		"ops-zones":      {"", []model.Level{model.LevelOps, model.LevelLimit}, Unknown, OK},
		"limit-lists":    {"", []model.Level{model.LevelOps, model.LevelLimit}, Unknown, OK},
		"batch-user":     {model.LevelUser, []model.Level{model.LevelUser}, Unknown, Unknown},
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			k, _ := demo.Key(name)
			value, err := demo.Secret(t.Context(), k.Secret)
			if err != nil {
				t.Fatal(err)
			}
			steps := 0
			p := model.Profile{Name: "acme", BaseURL: full.BaseURL, Dialect: "brightdata", ProxyHost: host, ProxyPort: port, Verify: true, Local: true}
			found, err := configOf().Read(t.Context(), p, value, func(Facts) { steps++ })
			if err != nil {
				t.Fatal(err)
			}
			if found.ID != full.Account || found.Level() != want.level || !slices.Equal(found.Levels, want.levels) || found.Prefix != "brd" || len(found.Zones) != len(full.Zones) || steps != 6 {
				t.Errorf("account %s, levels %s, prefix %s, %d zones, %d steps", found.ID, found.Levels, found.Prefix, len(found.Zones), steps)
			}
			for verdict, want := range map[Verdict]State{
				found.Key: OK, found.Account: OK, found.Listing: OK, found.Rates: want.rates, found.Passwords: want.passwords, found.Certificates: OK,
			} {
				if verdict.State != want || verdict.Text == "" {
					t.Errorf("%+v, want %q", verdict, want)
				}
			}
			for _, z := range found.Zones {
				known, ok := full.Zone(string(z.Zone.Name))
				if !ok || z.Zone.Product != known.Product || z.Verdict != (Verdict{OK, "active"}) {
					t.Errorf("%+v", z)
				}
				if shown := z.Password.Reveal(); shown != "" && shown != demo.Password(known) || (want.passwords == OK && z.Zone.Product.NativeAccess()) != (shown != "") {
					t.Errorf("zone %s has another password", z.Zone.Name)
				}
				if len(z.Accepted) == 0 != z.Password.Empty() || !z.Password.Empty() && (z.Judge(z.Password).State != OK || z.Judge(keystore.NewSecret("another")).State != Failed) {
					t.Errorf("zone %s judges wrongly", z.Zone.Name)
				}
				servicetest.NoSecret(t, "a zone", fmt.Sprintf("%+v", z))
			}
			if want.passwords == OK && found.Proxy.State != OK {
				t.Errorf("proxy: %+v", found.Proxy)
			}
			ca, err := os.ReadFile(full.CA)
			if err != nil || !bytes.Equal(found.CA, ca) {
				t.Errorf("another certificate: %v", err)
			}
			for _, c := range Checks(full, found) {
				if c.Verdict.State == Failed {
					t.Errorf("%+v", c)
				}
			}
		})
	}
}

// What an account lists is not always what a profile took of it.
func TestTheZonesOfAnAccountAndThoseOfTheProfile(t *testing.T) {
	found := Facts{Listing: good("2 zones at the account"), Zones: []Zone{{Zone: model.Zone{Name: "u1"}}, {Zone: model.Zone{Name: "i1"}}}}
	for want, zones := range map[string][]model.Zone{
		"2 zones at the account; none in the profile": {{Name: "another"}},
		"2 zones at the account; 1 in the profile":    {{Name: "i1"}, {Name: "another"}},
		"2 zones at the account; 2 in the profile":    {{Name: "i1"}, {Name: "u1"}},
	} {
		if got := Checks(model.Profile{Zones: zones}, found)[0]; got != (Check{"zones", Verdict{OK, want}}) {
			t.Errorf("%+v, want %q", got, want)
		}
	}
	if got := Checks(model.Profile{}, Facts{Listing: bad("the service answered 500")})[0].Verdict.Text; got != "the service answered 500" {
		t.Errorf("a list that was not read: %q", got)
	}
}

// script is a service with scripted answers, by path.
type script map[string]func(w http.ResponseWriter)

func says(status int, body string) func(w http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

const keyValue = "f00dfeedf00dfeedf00dfeedf00dfeed"

// read asks a scripted service, and lists what was asked for.
func read(t *testing.T, s script, with func(*model.Profile)) (found Facts, asked []string, err error) {
	t.Helper()
	p := servicetest.API(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		if open := r.Header.Get("Authorization") == ""; open != strings.HasSuffix(r.URL.Path, ".zip") {
			t.Errorf("%s: Authorization %v", r.URL.Path, !open)
		}
		answer, ok := s[r.URL.Path]
		if !ok {
			answer = says(http.StatusNotFound, "")
		}
		answer(w)
	})
	draft := model.Profile{Name: "acme", BaseURL: p.BaseURL, Dialect: "brightdata", Verify: true, Local: true}
	if with != nil {
		with(&draft)
	}
	cfg := configOf()
	cfg.Now = func() time.Time { return time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC) }
	found, err = cfg.Read(t.Context(), draft, keystore.NewSecret(keyValue), nil)
	return found, asked, err
}

const active = `{"status":"active","customer":"hl_x1"}`

func TestWhatAnAccountRefusesIsTheVerdictBesideIt(t *testing.T) {
	tests := map[string]struct {
		script  script
		account model.AccountID // that the profile says
		want    func(Facts) Verdict
		verdict Verdict
		fails   bool
	}{
		"a wrong key": {
			script{"/status": says(401, "Auth method is not supported")},
			"",
			func(f Facts) Verdict { return f.Key },
			Verdict{Failed, "HOST refuses the key: check that it is whole, and neither expired nor replaced (the service answered 401: Auth method is not supported)"},
			true,
		},
		"an answer that repeats the key": {
			script{"/status": says(401, "no key "+keyValue)},
			"",
			func(f Facts) Verdict { return f.Key },
			Verdict{Failed, "HOST refuses the key: check that it is whole, and neither expired nor replaced (the service answered 401: no key " + strings.Repeat("*", len(keyValue)) + ")"},
			true,
		},
		"a key that may not even look": {
			script{"/status": says(403, "")}, "", func(f Facts) Verdict { return f.Account }, Verdict{Failed, "the service answered 403"}, true,
		},
		"a service of another kind": {
			script{"/status": says(200, "<html>")}, "", func(f Facts) Verdict { return f.Account }, Verdict{Failed, "the answer names no account"}, true,
		},
		"a key of another account": {
			script{"/status": says(200, active)}, "hl_other", func(f Facts) Verdict { return f.Account }, Verdict{Failed, "the key belongs to account hl_x1, not to hl_other"}, true,
		},
		"a suspended account": {
			script{"/status": says(200, `{"status":"suspend_manual","customer":"hl_x1"}`)},
			"",
			func(f Facts) Verdict { return f.Account },
			Verdict{Warning, "the service calls it suspend_manual"},
			false,
		},
		"no list of zones": {
			script{"/status": says(200, active), "/zone/get_all_zones": says(500, "oops\x1b[2J")},
			"",
			func(f Facts) Verdict { return f.Listing },
			Verdict{Failed, "the service answered 500: oops [2J"},
			false,
		},
		"zones without names": {
			script{"/status": says(200, active), "/zone/get_all_zones": says(200, `[{"name":"a b","type":"dc"},{"name":"c","type":"dc"}]`)},
			"",
			func(f Facts) Verdict { return f.Listing },
			Verdict{Warning, "1 zone at the account, and 1 whose names cannot be read"},
			false,
		},
		"a compromised password": {
			script{
				"/status": says(200, active), "/zone/get_all_zones": says(200, `[{"name":"c","type":"dc"}]`),
				"/zone": says(200, `{"password":["leaked-value","kept-value"],"compromised_password":["leaked-value"]}`),
			},
			"", func(f Facts) Verdict { return f.Zones[0].Verdict },
			Verdict{Warning, "the service calls 1 of its passwords compromised: remove them"},
			false,
		},
		"an endless list": {
			script{"/status": says(200, active), "/zone/get_all_zones": func(w http.ResponseWriter) {
				for range 5 << 10 {
					_, _ = w.Write(bytes.Repeat([]byte(" "), 1<<10))
				}
			}}, "", func(f Facts) Verdict { return f.Listing }, Verdict{Failed, "the answer has more than 4 MB"}, false,
		},
		"an archive that is none": {
			script{"/status": says(200, active), "/static/brightdata_proxy_ca.zip": says(200, "PK")},
			"",
			func(f Facts) Verdict { return f.Certificates },
			Verdict{Warning, "BASE/static/brightdata_proxy_ca.zip: this is not an archive of certificates"},
			false,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			base := ""
			found, _, err := read(t, tt.script, func(p *model.Profile) { p.Account, base = tt.account, p.BaseURL })
			if errors.Is(err, ErrRead) != tt.fails || !tt.fails && err != nil || !found.Answered {
				t.Errorf("%v, answered %v", err, found.Answered)
			}
			got := tt.want(found)
			got.Text = strings.NewReplacer(base, "BASE", strings.TrimPrefix(base, "http://"), "HOST").Replace(got.Text)
			if got != tt.verdict {
				t.Errorf("%+v, want %+v", got, tt.verdict)
			}
			if strings.Contains(fmt.Sprintf("%+v %v", found, err), keyValue) {
				t.Error("the key stands in a verdict")
			}
		})
	}
}

// What is not an answer of the service proves nothing, and is called good nowhere.
func TestGarbageIsNoGoodVerdict(t *testing.T) {
	long := "[" + strings.Repeat(`{"name":"z","type":"dc"},`, answerBytes/25+1) + `{}]`
	for name, garbage := range map[string]string{
		"a page": "<!DOCTYPE html><html><title>Sign in to the network</title>", "nothing": "", "null": "null", "a number": "7", "a text": `"active"`, "another type": `{"status":[],"customer":7,"password":"x","passwords":"y","name":{}}`,
		"an empty object": "{}", "numbers": "[1,2]", "half of it": `{"status":"active","cust`, "too much": long, "bytes": "\x00\xff\x1b[2J", "deep": strings.Repeat("[", 100_000),
	} {
		t.Run(name, func(t *testing.T) {
			found, asked, err := read(t, script{"/status": says(200, garbage)}, nil)
			if !errors.Is(err, ErrRead) || found.Key.State == OK || found.Account.State != Failed || len(asked) != 1 {
				t.Errorf("status: %+v, %+v, asked %v, %v", found.Key, found.Account, asked, err)
			}
			found, _, _ = read(t, script{"/status": says(200, active), "/zone/get_all_zones": says(200, garbage)}, nil)
			if found.Listing.State == OK || len(found.Zones) > 0 || found.Passwords != (Verdict{Unknown, "not asked"}) {
				t.Errorf("zones: %+v, %d", found.Listing, len(found.Zones))
			}
			words := fmt.Sprintf("%+v", found)
			found, _, _ = read(t, script{
				"/status": says(200, active), "/zone/get_all_zones": says(200, `[{"name":"a","type":"dc"}]`),
				"/zone": says(200, garbage), "/zone/passwords": says(200, garbage), "/zone/cost": says(200, garbage),
			}, nil)
			if found.Rates.State == OK || found.Levels != nil || found.Passwords.State == OK || found.Zones[0].Zone.Rate.Priced() || !found.Zones[0].Password.Empty() {
				t.Errorf("a zone: %+v, %+v, %+v", found.Passwords, found.Rates, found.Zones)
			}
			if words += fmt.Sprintf("%+v %v", found, err); strings.ContainsAny(words, "\x1b\x00\n") || len(words) > 5000 {
				t.Errorf("the verdicts hold what was sent: %.300q", words)
			}
		})
	}
}

func TestNothingMoreIsAskedAfterAKeyIsRefused(t *testing.T) {
	if _, asked, _ := read(t, script{"/status": says(401, "")}, nil); !slices.Equal(asked, []string{"/status"}) {
		t.Errorf("asked for %v", asked)
	}
}

func TestAKeyThatMayNotSeePasswordsIsAskedOnce(t *testing.T) {
	found, asked, err := read(t, script{
		"/status": says(200, active), "/zone/get_all_zones": says(200, `[{"name":"a","type":"dc"},{"name":"b","type":"dc"},{"name":"c","type":"dc"}]`),
		"/zone": says(200, `{"plan":{}}`), "/zone/passwords": says(403, ""), "/zone/cost": says(403, ""),
	}, nil)
	n := 0
	for _, path := range asked {
		if path == "/zone/passwords" {
			n++
		}
	}
	if err != nil || n != 1 || found.Level() != model.LevelUser || found.Passwords.State != Unknown {
		t.Errorf("asked %d times, level %s, %+v, %v", n, found.Levels, found.Passwords, err)
	}
}

func TestTheContractAloneListsNothing(t *testing.T) {
	_, err := configOf().Read(t.Context(), model.Profile{Name: "acme", BaseURL: "https://a.example"}, keystore.NewSecret(keyValue), nil)
	if err == nil || err.Error() != `the contract shows no call that lists an account; the dialect "brightdata" knows them` {
		t.Errorf("%v", err)
	}
	if err := Refusal(model.Profile{Dialect: "brightdata"}); err == nil {
		t.Error("a profile without an address")
	}
}

func TestACancelledReadingEndsWithItsCause(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := model.Profile{Name: "acme", BaseURL: "http://127.0.0.1:1", Dialect: "brightdata", Local: true}
	if _, err := configOf().Read(ctx, p, keystore.NewSecret(keyValue), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// archive is a ZIP archive of files by name.
func archive(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range files {
		f, err := z.Create(name)
		if err == nil {
			_, err = io.WriteString(f, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestTheCertificateOfTheProxyIsTakenOutOfItsArchive(t *testing.T) {
	const pem = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"
	two := archive(t, map[string]string{"ca/a_44445.crt": pem, "ca/a_33335.crt": "other", "readme.txt": "x", "__MACOSX/._a.crt": "y"})
	if name, text, err := unpack(two, "a_44445.crt"); err != nil || name != "a_44445.crt" || string(text) != pem {
		t.Errorf("%s %q %v", name, text, err)
	}
	if _, _, err := unpack(two, ""); err == nil || !strings.HasPrefix(err.Error(), "the archive has 2 certificates") {
		t.Errorf("of two: %v", err)
	}
	if _, text, err := unpack(archive(t, map[string]string{"a.crt": "\x30\x00"}), ""); err != nil || !strings.HasPrefix(string(text), "-----BEGIN CERTIFICATE") {
		t.Errorf("DER: %q %v", text, err)
	}
	if _, _, err := unpack(archive(t, map[string]string{"a.crt": strings.Repeat("\x00", bundleFile+1)}), ""); err == nil {
		t.Error("a file without a bound was taken")
	}
	r := reader{cfg: Config{Now: func() time.Time { return time.Unix(0, 0) }}}
	if v := r.judge("x", []byte("no")); v != (Verdict{Failed, "x holds no certificate"}) {
		t.Errorf("%+v", v)
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add(archive(f, map[string]string{"a.crt": "x"}), "a.crt")
	f.Add([]byte("PK\x05\x06"+strings.Repeat("\x00", 18)), "")
	f.Fuzz(func(t *testing.T, b []byte, wanted string) {
		if name, text, err := unpack(b, wanted); err == nil && (len(text) > 2*bundleFile || strings.ContainsAny(name, "\n\x1b")) {
			t.Errorf("%q, %d bytes", name, len(text))
		}
	})
}

// A hostile list cannot bring names that draw over the screen, passwords that are none, or calls for
// zones without a name.
func TestAHostileListOfZonesIsBounded(t *testing.T) {
	names := []string{"good"}
	for i := range 25 {
		names = append(names, fmt.Sprintf("\x1b]0;%d\a", i), fmt.Sprintf("a%d\u202eb", i), strings.Repeat("n", 201+i), fmt.Sprintf("a %d", i))
	}
	names = append(names, "", "*?", "../../etc/passwd", "a&zone=*", "good")
	list := []map[string]string{}
	for _, n := range names {
		list = append(list, map[string]string{"name": n, "type": "dc\x1b[2J" + strings.Repeat("t", 1000), "status": "x\x1b[2J" + strings.Repeat("s", 1000)})
	}
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	hostile := `{"password":["two\nlines"],"passwords":["two\nlines"],"plan":{"disabled":"\u001b[2J"}}`
	found, _, err := read(t, script{
		"/status": says(200, active), "/zone/get_all_zones": says(200, string(text)),
		"/zone": says(200, hostile), "/zone/passwords": says(200, hostile), "/zone/cost": says(200, `{"\u001b[2J":{"back_m1":{"range":{}}}}`),
	}, nil)
	if err != nil || found.Listing != (Verdict{Warning, "4 zones at the account, and 102 whose names cannot be read"}) || len(found.Zones) != 4 {
		t.Errorf("%+v, %d zones, %v", found.Listing, len(found.Zones), err)
	}
	for _, z := range found.Zones {
		if !z.Password.Empty() || z.Verdict.State == OK || len(z.Verdict.Text) > 500 {
			t.Errorf("%+v", z)
		}
	}
	if words := fmt.Sprintf("%+v", found); strings.ContainsAny(words, "\x1b\a\n\u202e") {
		t.Errorf("the verdicts hold what was sent: %.300q", words)
	}
}
