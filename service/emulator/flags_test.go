package emulator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/service/emulator/scenario"
)

// loggedIn is a client of the proxy with a whole login name.
func (g *rig) loggedIn(name, password string) *http.Client {
	u := &url.URL{Scheme: "http", Host: g.r.Proxy, User: url.UserPassword(name, password)}
	tr := &http.Transport{Proxy: http.ProxyURL(u), DisableKeepAlives: true}
	return &http.Client{Transport: tr, Timeout: time.Minute}
}

func TestEveryFlagOfAUsername(t *testing.T) {
	g := start(t, Options{})
	const all = "datacenter isp residential mobile unlocker browser"
	for _, c := range []struct {
		flags, takes string
		// what zones that do not take it answer
		status int
		code   string
	}{
		{"-country-de", all, 0, ""},
		{"-country-eu", all, 0, ""},
		{"-country-us-state-nv", "residential mobile", 407, "client_10001"},
		{"-country-us-city-reno", "residential mobile", 407, "client_10001"},
		{"-zip-89501", "residential mobile", 407, "client_10001"},
		{"-asn-7922", "residential mobile", 407, "client_10001"},
		{"-os-windows", "residential", 407, "client_10001"},
		{"-os-osx", "residential", 407, "client_10001"},
		{"-os-macos", "residential", 407, "client_10001"},
		{"-os-android", "residential", 407, "client_10001"},
		{"-carrier-dtag", "mobile", 407, "client_10001"},
		{"-gip-us_7922_fl_hollywood_0", "residential mobile", 407, "client_10001"},
		{"-session-a1", all, 0, ""},
		{"-session-a1-const", all, 0, ""},
		{"-dns-local", all, 0, ""},
		{"-dns-remote", all, 0, ""},
		{"-direct", all, 0, ""},
		{"-route_err-pass_dyn", all, 0, ""},
		{"-route_err-block", all, 0, ""},
		{"-c_tag-t1", all, 0, ""},
		{"-debug-full", all, 0, ""},
		{"-debug-none", all, 0, ""},
		{"-raw-info-unblocker-mobile-vip-1-cid-2", all, 0, ""},
		{"-ua-mobile", all, 0, ""},
		{"-country-usa", "", 407, "client_10001"},
		{"-country-xx", "", 400, "client_10062"},
		{"-state-nv", "", 407, "client_10001"},
		{"-city-reno", "", 407, "client_10001"},
		{"-asn-x", "", 407, "client_10001"},
		{"-os-beos", "", 407, "client_10001"},
		{"-const", "", 407, "client_10001"},
		{"-session-a.b", "", 407, "client_10001"},
		{"-dns-near", "", 407, "client_10001"},
		{"-route_err-maybe", "", 407, "client_10001"},
		{"-debug-some", "", 407, "client_10001"},
		{"-ua-old", "", 407, "client_10001"},
		{"-gip-a.b", "", 407, "client_10001"},
		{"-ip-300.1.1.1", "", 400, "client_10063"},
	} {
		for product := range strings.FieldsSeq(all) {
			login := product + "_demo" + c.flags
			a := g.get(g.through(login), "http://lab.test/whoami")
			want, code := 200, ""
			if !strings.Contains(" "+c.takes+" ", " "+product+" ") {
				want, code = c.status, c.code
			}
			if a.status != want || a.header.Get("x-brd-err-code") != code {
				t.Errorf("%s: %d %v", login, a.status, a.header)
			}
		}
	}
}

func TestWhatFlagsDo(t *testing.T) {
	g := start(t, Options{})
	ask := func(login string) reply {
		t.Helper()
		a := g.get(g.through(login), "http://lab.test/whoami")
		if a.status != 200 {
			t.Fatalf("%s: %+v", login, a)
		}
		return a
	}
	if a := ask("isp_demo-country-de-c_tag-t1"); a.header.Get("x-brd-c_tag") != "t1" || !strings.Contains(a.header.Get("x-brd-debug"), "country=de") || !strings.Contains(a.header.Get("x-brd-debug"), "req_id=") {
		t.Errorf("%v", a.header)
	}
	if a := ask("isp_demo-debug-full"); !strings.Contains(a.header.Get("x-brd-timeline"), "ready:") {
		t.Errorf("%v", a.header)
	}
	if a := ask("isp_demo-debug-none"); a.header.Get("x-brd-debug") != "" || a.header.Get("x-brd-ip") == "" {
		t.Errorf("%v", a.header)
	}
	if a := ask("residential_demo-gip-us_1"); a.header.Get("x-brd-gip") != "us_1" || a.header.Get("x-brd-ip") != ask("residential_demo-gip-us_1").header.Get("x-brd-ip") {
		t.Errorf("%v", a.header)
	}
	if a := ask("isp_demo-direct"); a.header.Get("x-brd-ip") != "127.0.0.1" {
		t.Errorf("%v", a.header)
	}
	if a := ask("mobile_demo-ua-mobile"); !strings.Contains(a.body, "Android") {
		t.Errorf("%s", a.body)
	}
	for _, name := range []string{
		"lum-customer-hl_demo01-zone-isp_demo", "brd-cu-hl_demo01-z-isp_demo-cy-de-s-a1", "lum-cu-hl_demo01-z-isp_demo-d-ub-k-x",
	} {
		if a := g.get(g.loggedIn(name, g.password("isp_demo")), "http://lab.test/whoami"); a.status != 200 {
			t.Errorf("%s: %+v", name, a)
		}
	}
	for _, name := range []string{"isp_demo-ip-8.8.8.8", "residential_demo-ip-127.12.33.161"} {
		a := g.get(g.through(name), "http://lab.test/whoami")
		if code := a.header.Get("x-brd-err-code"); code != "client_10060" && code != "policy_20120" {
			t.Errorf("%s: %+v", name, a)
		}
	}
	// On a CONNECT the same is said by its answer.
	_, resp := tryConnect(t, g.r.Proxy, loginHeader("datacenter_demo-c_tag-t2-debug-full", g.password("datacenter_demo")), "lab.test:443", nil)
	resp.Body.Close()
	if h := resp.Header; h.Get("x-brd-ip") == "" || h.Get("x-brd-c_tag") != "t2" || h.Get("x-brd-timeline") == "" || h.Get("x-brd-debug") == "" {
		t.Errorf("CONNECT: %v", h)
	}
}

func TestPoliciesHoldForBothMethods(t *testing.T) {
	s := scenario.Demo()
	s.Zones = append(s.Zones, scenario.Zone{Name: "verified", Product: "residential", IdentityVerified: true})
	g := start(t, Options{Scenario: s})
	for _, c := range []struct {
		zone, target string
		status       int
		code         string
	}{
		{"isp_demo", "http://www.google.com/search?q=x", 403, "policy_20110"},
		{"mobile_demo", "http://bing.com/", 403, "policy_20110"},
		{"residential_demo", "http://www.example.gov/", 403, "policy_20051"},
		{"residential_demo", "http://www.example.gov.uk/", 403, "policy_20051"},
		{"isp_demo", "http://mail.example:25/", 403, "policy_20020"},
		{"isp_demo", "http://10.0.0.1/", 403, "policy_20030"},
	} {
		a := g.get(g.through(c.zone), c.target)
		if a.status != c.status || a.header.Get("x-brd-err-code") != c.code || !strings.Contains(a.header.Get("Proxy-Status"), fmt.Sprintf(`received-status=%d; error="http_request_denied"; details="%s: `, c.status, c.code)) {
			t.Errorf("%s to %s: %+v", c.zone, c.target, a)
		}
		var body struct {
			Error struct {
				Code, Message, Action, Docs string
				Alternatives                []string
			}
		}
		if err := json.Unmarshal([]byte(a.body), &body); (err == nil) != (c.code == "policy_20051") || err == nil && (body.Error.Code != c.code || body.Error.Message == "" || body.Error.Action == "" || len(body.Error.Alternatives) == 0) {
			t.Errorf("%s to %s: %s", c.zone, c.target, a.body)
		}
		a = g.request(call{"zone": c.zone, "url": c.target, "format": "raw"})
		if a.status != 200 || a.body != "" || a.header.Get("x-brd-err-code") != c.code || a.header.Get("x-brd-status-code") != fmt.Sprint(c.status) {
			t.Errorf("%s to %s by API: %+v", c.zone, c.target, a)
		}
	}
	auth := "Proxy-Authorization: " + loginHeader("isp_demo", g.password("isp_demo")) + "\r\n"
	for first, code := range map[string]string{
		"GET / HTTP/1.1\r\nHost: lab.test\r\n":               "client_10070",
		"GET ftp://lab.test/ HTTP/1.1\r\nHost: lab.test\r\n": "policy_20010",
		"CONNECT lab.test HTTP/1.1\r\nHost: lab.test\r\n":    "client_10080",
	} {
		if got := answered(t, g.r.Proxy, first+auth+"\r\n"); got.StatusCode != http.StatusForbidden || got.Header.Get("x-brd-err-code") != code {
			t.Errorf("%q: %d %v", first, got.StatusCode, got.Header)
		}
	}
}

func TestParametersOfASearch(t *testing.T) {
	g := start(t, Options{})
	for params, want := range map[string]string{
		"tbm=nws": `"search_type":"nws"`, "tbm=isch": `"search_type":"isch"`, "tbm=shop": `"search_type":"shop"`,
		"tbm=vid": `"search_type":"vid"`, "tbm=lcl": `"search_type":"lcl"`,
		"udm=2": `"search_type":"isch"`, "udm=28": `"search_type":"shop"`, "udm=39": `"search_type":"vid"`,
		"hl=de&gl=at": `"language":"de","country":"at"`, "brd_mobile=1": `"device":"mobile"`, "brd_mobile=ios": `"device":"ios"`,
		"engine=bing&setLang=fr&cc=fr&mkt=fr-FR&first=11": `"search_engine":"bing"`,
	} {
		a := g.fetched("serp_demo", "/search?q=lamp&brd_json=1&"+params, nil)
		if a.status != 200 || !strings.Contains(a.body, want) {
			t.Errorf("%s: %d %.300s", params, a.status, a.body)
		}
	}
	for _, name := range []string{"brd_rects", "brd_ai_overview", "brd_browser", "brd_trends", "brd_lens"} {
		a := g.fetched("serp_demo", "/search?q=lamp&brd_json=1&"+name+"=1", nil)
		if a.status != 200 || !strings.Contains(a.header.Get("x-emulator-note"), name+" has no effect here") {
			t.Errorf("%s: %d %v", name, a.status, a.header)
		}
	}
	if a := g.fetched("serp_demo", "/search?q=lamp&engine=bing", call{"data_format": "parsed_bing"}); !strings.Contains(a.body, `"organic"`) {
		t.Errorf("parsed_bing: %+v", a)
	}
}

func TestWhereAZoneSeemsToBe(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("source addresses in 127/8 work on Linux only")
	}
	g := start(t, Options{})
	for zone, network := range map[string]string{"datacenter_demo": "datacenter", "residential_demo": "residential", "mobile_demo": "mobile"} {
		a := g.get(g.through(zone+"-country-de"), "http://lab.test/mygeo.json")
		v := decode[struct {
			IP, Country string
			ASN         struct {
				OrgName string `json:"org_name"`
			}
		}](t, a)
		if v.IP != a.header.Get("x-brd-ip") || v.Country != "DE" || !strings.Contains(v.ASN.OrgName, network) {
			t.Errorf("%s: %s", zone, a.body)
		}
		if a := g.get(g.through(zone+"-country-de"), "http://lab.test/welcome.txt?product=x"); !strings.HasPrefix(a.body, "Welcome") || !strings.Contains(a.body, network) {
			t.Errorf("%s: %s", zone, a.body)
		}
	}
}

func TestUnknownPathsHaveABasis(t *testing.T) {
	g := start(t, Options{})
	for _, c := range []struct {
		method, path string
		status       int
	}{
		{"POST", "/dca/trigger?collector=c_1", 404},
		{"GET", "/webarchive/searches", 404},
		{"GET", "/shield/class", 404},
		{"GET", "/api/partner/x", 404},
		{"GET", "/datasets/views", 404},
		{"PUT", "/request", 405},
		{"GET", "/", 404},
	} {
		if a := g.do(c.method, g.r.API+c.path, g.key("batch-user"), nil); a.status != c.status || a.header.Get("x-emulator-basis") == "" {
			t.Errorf("%s %s: %d %v", c.method, c.path, a.status, a.header)
		}
	}
	if a := g.control("GET", "/nothing", nil); a.status != 404 || a.header.Get("x-emulator-basis") == "" {
		t.Errorf("control: %+v", a)
	}
}

// answered sends bytes by hand and gives the head of the answer.
func answered(t *testing.T, addr, text string) *http.Response {
	t.Helper()
	resp, err := sendRaw(addr, text)
	noerr.Must(t, err)
	return resp
}

func TestSectionsOfAResultPage(t *testing.T) {
	g := start(t, Options{})
	for query, sections := range map[string]string{
		"q=brass+desk+lamp&brd_json=1":         "general organic paid knowledge_graph people_also_ask related_searches videos pagination",
		"q=minutes&brd_json=1":                 "recipes",
		"q=lindenport&brd_json=1&tbm=nws":      "news",
		"q=lighthouse&brd_json=1&tbm=lcl":      "maps",
		"q=lamp&brd_json=1&tbm=shop":           "shopping",
		"q=soup&brd_json=1&tbm=isch":           "images",
		"q=lindenport&brd_json=parsed_light":   "organic top_stories",
		"q=brass+desk+lamp&brd_json=1&start=0": "pagination",
	} {
		a := g.fetched("serp_demo", "/search?"+query, nil)
		v := decode[map[string]json.RawMessage](t, a)
		for name := range strings.FieldsSeq(sections) {
			if len(v[name]) < 3 {
				t.Errorf("%s: no %s in %.200s", query, name, a.body)
			}
		}
	}
}
