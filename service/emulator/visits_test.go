package emulator

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"zonedeck/service/emulator/record"
	"zonedeck/service/emulator/scenario"
)

// playing starts an emulator with a scenario in TOML.
func playing(t *testing.T, text string) *rig {
	t.Helper()
	sc, err := scenario.Parse("s.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return start(t, Options{Scenario: sc})
}

// recorded are the entries of a point, once there are n.
func (g *rig) recorded(point string, n int) []record.Entry {
	g.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(time.Minute); ; {
		p := g.rehearsal.requests.Read(record.Query{Point: point})
		if len(p.Requests) >= n {
			return p.Requests
		}
		select {
		case <-tick.C:
		case <-end:
			g.t.Fatalf("%d entries of the %s, not %d", len(p.Requests), point, n)
		}
	}
}

func TestTheTargetsOfAScenarioAreReachedByEveryWay(t *testing.T) {
	g := playing(t, `
[[targets]]
host = "shop.example"
path = "/page"
status = 203
headers = { X-Shop = "yes" }
body = "<p>hello</p>"
`)
	for _, url := range []string{"http://shop.example/page", "https://shop.example/page", "http://SHOP.example:8080/page"} {
		got := g.page(fmt.Sprintf(`{"zone":"datacenter_demo","url":%q,"format":"raw"}`, url))
		if got.body != "<p>hello</p>" || got.header.Get("x-brd-status-code") != "203" {
			t.Errorf("%s by the API: %d %q %v", url, got.status, got.body, got.header)
		}
		for _, zone := range []string{"datacenter_demo", "residential_demo"} {
			if got := g.get(g.through(zone), url); got.body != "<p>hello</p>" || got.status != 203 || got.header.Get("X-Shop") != "yes" {
				t.Errorf("%s through %s: %d %q", url, zone, got.status, got.body)
			}
		}
	}
	if got := g.page(`{"zone":"datacenter_demo","url":"http://shop.example/other","format":"raw"}`); got.header.Get("x-brd-status-code") != "404" {
		t.Errorf("another page: %v", got.header)
	}
}

func TestFaultsOfTheProxyHitAfterTheLogin(t *testing.T) {
	g := start(t, Options{})
	set := func(rule string) {
		t.Helper()
		g.control("DELETE", "/faults", nil)
		if got := g.control("POST", "/faults", rule); got.status != 201 {
			t.Fatalf("%s: %s", rule, got.body)
		}
	}
	set(`{"id":"a","point":"proxy","zone":"datacenter_demo","action":"error","code":"peer_30040","status":408,"message":"no peer in time"}`)
	if got := g.get(g.through("datacenter_demo"), "http://lab.test/ok"); got.status != 408 || got.header.Get("x-brd-err-code") != "peer_30040" || got.header.Get("x-emulator-fault") != "a" {
		t.Errorf("a refusal: %d %v", got.status, got.header)
	}
	if got := g.get(g.through("isp_demo"), "http://lab.test/ok"); got.status != 200 {
		t.Errorf("another zone: %d", got.status)
	}
	if _, err := g.through("datacenter_demo").Get("https://lab.test/ok"); err == nil || !strings.Contains(err.Error(), "Request Timeout") {
		t.Errorf("a CONNECT: %v", err)
	}
	set(`{"point":"proxy","action":"drop","nth":1}`)
	if _, err := g.through("datacenter_demo").Get("http://lab.test/ok"); !errors.Is(err, io.EOF) {
		t.Errorf("dropped: %v", err)
	}
	if got := g.get(g.through("datacenter_demo"), "http://lab.test/ok"); got.status != 200 {
		t.Errorf("the second request: %d", got.status)
	}
	set(`{"point":"proxy","action":"cut","after":5,"method":"GET","path":"/ok"}`)
	for _, url := range []string{"http://lab.test/ok", "https://lab.test/ok"} { // plain, and within a re-signed connection
		resp, err := g.through("residential_demo").Get(url)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err == nil || len(b) != 5 {
			t.Errorf("%s cut: %q, %v", url, b, err)
		}
	}
}

func TestFaultsOfTargetsAreSeenByProductsAndThroughTheProxy(t *testing.T) {
	g := start(t, Options{})
	set := func(rule string) {
		t.Helper()
		g.control("DELETE", "/faults", nil)
		if got := g.control("POST", "/faults", rule); got.status != 201 {
			t.Fatalf("%s: %s", rule, got.body)
		}
	}
	set(`{"point":"target","host":"lab.test","path":"/shop","action":"captcha","from":2}`)
	if got := g.get(g.through("datacenter_demo"), "http://lab.test/shop"); strings.Contains(got.body, "g-recaptcha") {
		t.Error("a CAPTCHA at the first request")
	}
	for range 2 {
		if got := g.get(g.through("datacenter_demo"), "http://lab.test/shop"); got.status != 200 || !strings.Contains(got.body, "g-recaptcha") {
			t.Errorf("from the second request: %d %q", got.status, got.body)
		}
	}
	set(`{"point":"target","path":"/shop","action":"drift","in":"1h"}`)
	before := g.get(g.through("datacenter_demo"), "http://lab.test/shop")
	g.control("POST", "/time", `{"advance":"61m"}`)
	after := g.get(g.through("datacenter_demo"), "http://lab.test/shop")
	if !strings.Contains(before.body, `class="`) || before.body == after.body || len(after.body) == 0 {
		t.Errorf("drift from an hour on: %q became %q", before.body, after.body)
	}
	set(`{"point":"target","action":"error","code":"target_40001","status":502}`)
	if got := g.get(g.through("datacenter_demo"), "http://lab.test/ok"); got.status != 502 || got.header.Get("x-brd-err-code") != "target_40001" {
		t.Errorf("an error code: %d %v", got.status, got.header)
	}
	got := g.page(`{"zone":"datacenter_demo","url":"http://lab.test/ok","format":"raw"}`)
	if got.status != 200 || got.body != "" || got.header.Get("x-brd-error-code") != "target_40001" || got.header.Get("x-brd-status-code") != "502" {
		t.Errorf("an error code by the API: %d %q %v", got.status, got.body, got.header)
	}
	set(`{"point":"target","action":"captcha"}`)
	if got := g.page(`{"zone":"datacenter_demo","url":"http://lab.test/ok","format":"raw"}`); !strings.Contains(got.body, "g-recaptcha") {
		t.Errorf("a CAPTCHA by the API: %d %q", got.status, got.body)
	}
	if got := g.page(okPage); got.body != "" || !strings.Contains(got.header.Get("x-brd-error-code"), "captcha") {
		t.Errorf("a CAPTCHA that the unlocker cannot get past: %d %q %v", got.status, got.body, got.header)
	}
	set(`{"point":"target","action":"cut","after":40,"method":"CONNECT"}`)
	if _, err := g.through("datacenter_demo").Get("https://lab.test/ok"); err == nil {
		t.Error("a tunnel that is cut within the handshake carried a page")
	}
}

func TestAZoneTakesRequestsAsTheScenarioSays(t *testing.T) {
	g := playing(t, `
[[zones]]
name = "only"
product = "unlocker"
async = "only"
[[zones]]
name = "off"
product = "unlocker"
async = "off"
[[zones]]
name = "both"
product = "unlocker"
`)
	for _, c := range []struct {
		zone, query string
		status      int
	}{{"only", "", 400}, {"off", "", 200}, {"both", "", 200}, {"only", "?async=true", 200}, {"off", "?async=true", 400}, {"both", "?async=true", 200}} {
		got := g.do("POST", g.r.API+"/request"+c.query, g.key("ci-fetch"), fmt.Sprintf(`{"zone":%q,"url":"http://lab.test/ok","format":"raw"}`, c.zone))
		if got.status != c.status {
			t.Errorf("%s%s: %d %s", c.zone, c.query, got.status, got.body)
		}
	}
}

func TestTheJournalKnowsWhatCameThroughTheProxy(t *testing.T) {
	g := start(t, Options{})
	for _, c := range []struct{ zone, url string }{
		{"datacenter_demo", "http://lab.test/ok?token=abc"}, {"datacenter_demo", "https://lab.test/ok"}, {"residential_demo", "https://lab.test/ok"},
	} {
		client := g.through(c.zone)
		g.get(client, c.url)
		client.CloseIdleConnections()
	}
	entries := g.recorded("proxy", 3)
	plain, tunnel, resigned := entries[0], entries[1], entries[2]
	if tunnel.Zone != "datacenter_demo" {
		tunnel, resigned = resigned, tunnel // a tunnel ends when its connection does
	}
	if plain.URL != "http://lab.test/ok?token=****" || plain.Zone != "datacenter_demo" || plain.Status != 200 || plain.User != "brd-customer-hl_demo01-zone-datacenter_demo" || plain.Header["Proxy-Authorization"] != "Basic ****" || plain.BytesOut == 0 {
		t.Errorf("a plain request: %+v", plain)
	}
	if tunnel.Method != http.MethodConnect || tunnel.URL != "lab.test:443" || tunnel.Status != 200 || tunnel.BytesIn == 0 || tunnel.BytesOut < 500 {
		t.Errorf("a tunnel: %+v", tunnel)
	}
	if resigned.Method != http.MethodConnect || resigned.Zone != "residential_demo" || resigned.Status != 200 {
		t.Errorf("a re-signed connection: %+v", resigned)
	}
	if inner := g.recorded("inner", 1)[0]; inner.Target != "https://lab.test:443/ok" || inner.Zone != "residential_demo" || inner.Status != 200 || inner.User == "" {
		t.Errorf("a request within it: %+v", inner)
	}
	conn, err := net.Dial("tcp", g.r.Proxy)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "CONNECT lab.test:443 HTTP/1.1\r\nHost: lab.test:443\r\n\r\n")
	if e := g.recorded("proxy", 4)[3]; e.Status != 407 || e.Code != "client_10010" || e.Zone != "" {
		t.Errorf("a refused login: %+v", e)
	}
}
