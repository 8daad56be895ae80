package emulator

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"zonedeck/service/emulator/scenario"
)

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

func TestSectionsOfAResultPage(t *testing.T) {
	g := start(t, Options{})
	for query, sections := range map[string]string{
		"q=minutes&brd_json=1":               "recipes",
		"q=lindenport&brd_json=parsed_light": "organic top_stories",
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
