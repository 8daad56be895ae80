package scenario

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/service/emulator/document"
	"zonedeck/service/emulator/fault"
	"zonedeck/service/emulator/level"
)

const everything = `
name = "own"
account = "hl_ci"
username_prefix = "ci"
page_delay = "0s"
grace404 = "20s"
webhook_secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
clock_start = 2026-01-01T00:00:00Z
balance = 12.5
seed = 42
allow_private = ["10.0.0.0/8", "127.0.0.1", "intranet.example"]

[[keys]]
name = "old"
level = "ops"
duty = "batch job"
expires_in = "-3d"
rotated_ago = "52d"
value = "value-of-old"
[[keys]]
name = "free"
level = "USER"
expires_in = "unlimited"

[[zones]]
name = "z1"
product = "residential"
password = "pw"
more_passwords = ["pw2"]
identity_verified = true
disabled = true
async = "only"
rate = { gb = 8.4, thousand = 1.5 }
allow_ips = ["127.0.0.0/8", "10.0.0.1-10.0.0.9", "192.168.0.0/255.255.0.0", "any", "::1"]
deny_ips = ["127.0.0.9"]
allow_domains = ["lab.test", "*.example.com"]
deny_domains = ["bad.example.com"]
usage_limit = { dollars = 5, cycle = "day" }

[[targets]]
host = "Shop.test"
path = "/page/*"
status = 203
headers = { Content-Type = "text/html" }
body = "<p>hello</p>"
delay = "1s"

[[faults]]
id = "slow"
point = "target"
host = "shop.test"
action = "latency"
delay = { lower = "1ms", upper = "2ms" }
`

func TestEverythingOfAScenarioIsRead(t *testing.T) {
	s, err := Parse("own.toml", []byte(everything))
	noerr.Must(t, err)
	want := &Scenario{
		Name: "own", Account: "hl_ci", Prefix: "ci", Grace404: 20 * time.Second, WebhookSecret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
		ClockStart: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Balance: 12.5, Seed: 42,
		AllowPrivate: []string{"10.0.0.0/8", "127.0.0.1", "intranet.example"},
		Keys: []Key{
			{Name: "old", Level: level.Ops, Duty: "batch job", ExpiresIn: -3 * day, RotatedAgo: 52 * day, Value: "value-of-old"},
			{Name: "free", Level: level.User, Unlimited: true, RotatedAgo: unknownAge},
		},
		Zones: []Zone{{
			Name: "z1", Product: "residential", Password: "pw", MorePasswords: []string{"pw2"}, IdentityVerified: true, Disabled: true, Async: "only",
			Rate:     &Rate{GB: 8.4, Thousand: 1.5},
			AllowIPs: []string{"127.0.0.0/8", "10.0.0.1-10.0.0.9", "192.168.0.0/255.255.0.0", "any", "::1"}, DenyIPs: []string{"127.0.0.9"},
			AllowDomains: []string{"lab.test", "*.example.com"}, DenyDomains: []string{"bad.example.com"},
			UsageLimit: &UsageLimit{Dollars: 5, Cycle: "day"},
		}},
		Targets: []Target{{Host: "shop.test", Path: "/page/*", Status: 203, Header: map[string]string{"Content-Type": "text/html"}, Body: "<p>hello</p>", Delay: time.Second}},
		Faults: []fault.Rule{{
			ID: "slow", Match: fault.Match{Point: fault.Target, Host: "shop.test"},
			Do: fault.Action{Kind: fault.Latency, Delay: fault.Delay{Lower: time.Millisecond, Upper: 2 * time.Millisecond}},
		}},
	}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("got\n%+v\nwant\n%+v", s, want)
	}
}

func TestWhatAScenarioLeavesOutIsTheDemos(t *testing.T) {
	s, err := Parse("empty.toml", nil)
	noerr.Must(t, err)
	s.Faults = nil // an empty list
	if !reflect.DeepEqual(s, Demo()) {
		t.Errorf("got %+v", s)
	}
	if s, err = Parse("none.toml", []byte("keys = []\nzones = []")); err != nil || len(s.Keys)+len(s.Zones) != 0 {
		t.Errorf("no keys and zones: %+v, %v", s, err)
	}
}

func TestAMistakeInAScenarioHasItsPlace(t *testing.T) {
	for text, want := range map[string]string{
		"colour = 'red'":                                                                                 `s.toml:1:1: unknown field "colour"; expected one of account, allow_private, balance, clock_start, faults, grace404,`,
		"account = 'acme'":                                                                               `s.toml:1:1: "acme" is not an account; expected an identifier like hl_1234abcd`,
		"account = 'hl_a-b'":                                                                             `s.toml:1:1: "hl_a-b" is not an account`,
		"username_prefix = 'a-b'":                                                                        `s.toml:1:1: "a-b" cannot begin a username`,
		"allow_private = ['10.0.0.0/99']":                                                                `s.toml:1:1: "10.0.0.0/99" is neither a host nor a range`,
		"page_delay = '1h'":                                                                              `s.toml:1:1: "1h" is too long`,
		"[[keys]]\nname='k'\nlevel='BOSS'":                                                               `s.toml:3:1: "BOSS" is not a level; expected one of ADMIN, FINANCE, OPS, LIMIT, USER`,
		"[[keys]]\nname='k'":                                                                             `s.toml:1:3: "" is not a level`,
		"[[keys]]\nlevel='USER'":                                                                         `s.toml:1:3: the key has no name`,
		"[[keys]]\nname='k'\nlevel='USER'\nexpires_in='soon'":                                            `s.toml:4:1: "soon" is not an expiry; expected a duration like 7d`,
		"[[keys]]\nname='k'\nlevel='USER'\nrotated_ago='-1d'":                                            `s.toml:4:1: "-1d" lies in the past`,
		"[[keys]]\nname='k'\nlevel='USER'\nvalue='a b'":                                                  `s.toml:4:1: the value cannot stand in a header`,
		"balance = 1\n[[fault]]\nid = 'x'":                                                               `s.toml:2:3: unknown field "fault"; expected one of account, allow_private, balance, clock_start, faults, grace404, keys, name, page_delay, seed, suspended, targets, username_prefix, webhook_secret, zones`,
		"[[keys]]\nname='k'\nlevel='USER'\nvaule='a'":                                                    `s.toml:4:1: unknown field "vaule"; expected one of duty, expires_in, level, name, rotated_ago, value`,
		"[[keys]]\nname='k'\nlevel='USER'\n[[keys]]\nname='k'\n":                                         `s.toml:4:3: "" is not a level`,
		"[[zones]]\nname='z'\nproduct='serp'\n[[zones]]\nname='z'\nproduct='isp'":                        `s.toml:5:1: a second zone is named "z"; expected every zone once`,
		"[[zones]]\nname='z'":                                                                            `s.toml:1:3: the zone has no product; expected product = one of datacenter, isp`,
		"[[zones]]\nname='z'\nproduct='phone'":                                                           `s.toml:3:1: "phone" is not a known product; expected one of datacenter, isp`,
		"[[zones]]\nname='a b'\nproduct='isp'":                                                           `s.toml:2:1: the zone has no name that it can have`,
		"[[zones]]\nname='a'\nproduct='isp'\nrate={gb=-1}":                                               `s.toml:4:7: -1 is out of range`,
		"[[zones]]\nname='a'\nproduct='isp'\nrate={gb=2e6}":                                              `s.toml:4:7: 2e+06 is out of range`,
		"[[zones]]\nname='a'\nproduct='isp'\nmore_passwords=['x','']":                                    `s.toml:4:1: an empty password lets everybody in`,
		"[[zones]]\nname='a'\nproduct='isp'\nrate={tb=1}":                                                `s.toml:4:7: unknown field "tb"; expected one of gb, thousand`,
		"[[zones]]\nname='a'\nproduct='isp'\nallow_ips=['10.0.0.300']":                                   `s.toml:4:1: "10.0.0.300" is not an address`,
		"[[zones]]\nname='a'\nproduct='isp'\ndeny_ips='10.0.0.1-::1'":                                    `s.toml:4:1: "10.0.0.1-::1" is not an address`,
		"[[zones]]\nname='a'\nproduct='isp'\ndeny_domains=['a b']":                                       `s.toml:4:1: "a b" is not a domain`,
		"[[zones]]\nname='a'\nproduct='isp'\nusage_limit={cycle='week'}":                                 `s.toml:4:1: the usage limit has no dollars`,
		"[[zones]]\nname='a'\nproduct='isp'\nusage_limit={dollars=1,cycle='week'}":                       `s.toml:4:24: "week" is not a known cycle; expected one of day, month`,
		"[[targets]]\nhost='a:80'":                                                                       `s.toml:2:1: "a:80" is not a host`,
		"[[targets]]\nhost='a.test'\npath='page'":                                                        `s.toml:3:1: "page" is not a path`,
		"[[targets]]\nhost='a.test'\nmethod='GET IT'":                                                    `s.toml:3:1: "GET IT" is not a method`,
		"[[targets]]\nhost='a.test'\nheaders={'a b'='c'}":                                                `s.toml:3:1: "a b" is not a header`,
		"[[faults]]\npoint='api'\naction='captcha'":                                                      `s.toml:3:1: "captcha" is not an action of the api`,
		"[[faults]]\nid='x'\npoint='api'\naction='drop'\n[[faults]]\nid='x'\npoint='api'\n":              `s.toml:5:3: "" is not an action of the api`,
		"[[faults]]\nid='x'\npoint='api'\naction='drop'\n[[faults]]\naction='drop'\nid='x'":              `s.toml:5:3: the fault has no point`,
		"[[faults]]\nid='x'\npoint='job'\naction='fail'\n[[faults]]\nid='x'\npoint='job'\naction='fail'": `s.toml:6:1: a second fault is named "x"`,
		"faults = 3": `s.toml:1:1: faults is a number; expected a list of tables: [[faults]]`,
	} {
		_, err := Parse("s.toml", []byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q:\n got %v\nwant %s", text, err, want)
		}
	}
}

func TestATextIsReadWithinBounds(t *testing.T) {
	var mistake *document.Error
	if _, err := Parse("big.toml", make([]byte, document.MaxBytes+1)); !errors.As(err, &mistake) || mistake.File != "big.toml" {
		t.Errorf("a big text: %v", err)
	}
}

func TestTheTargetsOfAScenarioAreServed(t *testing.T) {
	s, err := Parse("s.toml", []byte(`
[[targets]]
host = "shop.test"
path = "/page/*"
status = 418
headers = { X-A = "b" }
body = "teapot"
[[targets]]
host = "shop.test"
method = "POST"
body = "posted"
[[targets]]
host = "other.test"
body = "other"
`))
	noerr.Must(t, err)
	if got := s.Hosts(); !slices.Equal(got, []string{"other.test", "shop.test"}) {
		t.Errorf("hosts %v", got)
	}
	h := s.Site(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "the lab") }))
	for _, c := range []struct {
		method, host, path string
		status             int
		body               string
	}{
		{"GET", "shop.test", "/page/1", 418, "teapot"},
		{"GET", "SHOP.test:8080", "/page/1", 418, "teapot"},
		{"POST", "shop.test", "/x", 200, "posted"},
		{"GET", "shop.test", "/x", 404, "404 page not found\n"},
		{"GET", "other.test", "/", 200, "other"},
		{"GET", "lab.test", "/", 200, "the lab"},
	} {
		r := httptest.NewRequest(c.method, "http://"+c.host+c.path, nil)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.status || w.Body.String() != c.body {
			t.Errorf("%s %s%s: %d %q", c.method, c.host, c.path, w.Code, w.Body)
		}
	}
	lab := http.NotFoundHandler()
	if none := Demo().Site(lab); reflect.ValueOf(none).Pointer() != reflect.ValueOf(lab).Pointer() {
		t.Error("a scenario without targets wraps the lab")
	}
}

func TestASlowTargetIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		target := Target{Delay: time.Second, Body: "late"}
		w := httptest.NewRecorder()
		target.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
		if w.Body.String() != "late" || time.Since(begun) != time.Second {
			t.Errorf("%q after %s", w.Body, time.Since(begun))
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(everything))
	f.Add([]byte("[[zones]]\nname='z'\nproduct='isp'\n[[faults]]\npoint='webhook'\naction='twice'\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := Parse("s.toml", b)
		var mistake *document.Error
		switch {
		case err != nil && !errors.As(err, &mistake):
			t.Errorf("%q: %v is no mistake with a place", b, err)
		case err == nil && (s.Account == "" || s.Prefix == "" || len(s.Faults) > fault.MaxRules):
			t.Errorf("%q gave %+v", b, s)
		}
	})
}

func TestTheExamplesOfTheDocumentAreRead(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "scenario.md"))
	noerr.Must(t, err)
	n := 0
	for _, m := range regexp.MustCompile("(?s)```(toml|json)\n(.*?)```").FindAllSubmatch(text, -1) {
		n++
		if string(m[1]) == "toml" {
			if _, err := Parse("scenario.md", m[2]); err != nil {
				t.Errorf("%v in\n%s", err, m[2])
			}
			continue
		}
		tab, err := document.JSON(m[2])
		if err == nil {
			fault.Parse(tab)
			err = tab.Err()
		}
		if err != nil {
			t.Errorf("%v in\n%s", err, m[2])
		}
	}
	if n < 3 {
		t.Errorf("%d examples were found", n)
	}
	for _, p := range fault.Points() {
		for _, k := range fault.Kinds(p) {
			if !regexp.MustCompile("`" + string(k) + "`").Match(text) {
				t.Errorf("the action %s is not in the document", k)
			}
		}
	}
}
