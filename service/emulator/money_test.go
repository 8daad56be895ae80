package emulator

import (
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/service/emulator/level"
	"zonedeck/service/emulator/meter"
	"zonedeck/service/emulator/scenario"
)

func TestAZoneThatReachedItsLimitRefuses(t *testing.T) {
	c := newClock()
	sc := scenario.Demo()
	for i := range sc.Zones {
		if sc.Zones[i].Name == "isp_demo" {
			sc.Zones[i].Rate = &scenario.Rate{GB: 1000, Thousand: 500}
			sc.Zones[i].UsageLimit = &scenario.UsageLimit{Dollars: 1, Cycle: "day"}
		}
	}
	g := start(t, Options{Now: c.now, Scenario: sc})
	g.expectBoth(here, "isp_demo", "http://lab.test/empty", "200", "200") // half a dollar each
	g.expectBoth(here, "isp_demo", "http://lab.test/empty", "502 client_10100", "502 client_10100")
	a := g.request(map[string]any{"zone": "isp_demo", "url": "http://lab.test/ok", "format": "raw"})
	if a.status != 502 || !strings.HasSuffix(a.body, "Zone has reached usage limit") || !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") {
		t.Errorf("%+v", a)
	}
	g.expect(level.Ops, "GET /zone?zone=isp_demo", "", 200, `"usage_limit":{"value":1,"unit":"$","cycle":"d"`)
	c.forward(day)
	g.expectBoth(here, "isp_demo", "http://lab.test/empty", "200", "200")
	if a := g.control("POST", "/zones/isp_demo/limit", `{"value":0.1,"cycle":"m"}`); a.status != 200 {
		t.Errorf("%+v", a)
	}
	g.expectBoth(here, "isp_demo", "http://lab.test/empty", "502 client_10100", "502 client_10100")
	if a := g.control("POST", "/zones/isp_demo/limit", `{"value":null}`); a.status != 200 {
		t.Errorf("%+v", a)
	}
	g.expectBoth(here, "isp_demo", "http://lab.test/empty", "200", "200")
	for _, body := range []string{`{"value":-1,"cycle":"d"}`, `{"value":1}`, `{"value":1,"cycle":"y"}`, `{"colour":1}`, `[`} {
		if a := g.control("POST", "/zones/isp_demo/limit", body); a.status != 400 {
			t.Errorf("%s: %+v", body, a)
		}
	}
}

// A zone that is deleted and made anew with another product on the same day is charged,
// and shown, as each of the two.
func TestAZoneMadeAnewWithAnotherProductIsChargedAsThat(t *testing.T) {
	g := start(t, Options{Now: newClock().now})
	for _, plan := range []string{`{"type":"static"}`, `{"type":"resident"}`} {
		g.expect(level.Ops, "POST /zone", `{"zone":{"name":"again"},"plan":`+plan+`}`, 201, "")
		g.request(map[string]any{"zone": "again", "url": "http://lab.test/large?mb=1", "format": "raw"})
		if plan == `{"type":"static"}` {
			g.expect(level.Ops, "DELETE /zone", `{"zone":"again"}`, 200, "")
		}
	}
	got := decode[map[string]map[string]float64](t, g.expect(level.Finance, "POST /costs/export/json", `{"dimension":"products","from":"2027-03-01","to":"2027-03-02"}`, 200, ""))["total"]
	if dc, res := got["datacenter"], got["residential"]; dc < 0.0005 || dc > 0.0007 || res < 0.008 || res > 0.009 {
		t.Errorf("%v", got)
	}
	bytes := decode[map[string]map[string]map[string]int64](t, g.expect(level.Ops, "GET /domains/bw?from=2027-03-01&to=2027-03-02&zones=again", "", 200, ""))
	if n := bytes["again"]["2027-03-01"]["lab.test"]; n < 2<<20 {
		t.Errorf("%v", bytes)
	}
	use := decode[map[string]struct {
		Data map[string]map[string][]int64
	}](t, g.expect(level.Ops, "GET /zone/bw?zone=again&from=2027-03-01&to=2027-03-02", "", 200, ""))["hl_demo01"]
	if sum := use.Data["again"]["bw_sum"]; len(sum) != 1 || sum[0] < 2<<20 {
		t.Errorf("%v", sum)
	}
}

// used is what a zone used today. Bytes are counted before the client gets them.
func (g *rig) used(zone string) meter.Sum {
	g.t.Helper()
	now := g.now()
	return g.meter.Zone(zone, now, now.AddDate(0, 0, 1))
}

func TestAPageIsMeteredTheSameByBothMethods(t *testing.T) {
	c := newClock()
	g := start(t, Options{Now: c.now})
	fetch := map[string]func(zone string) string{
		"API": func(zone string) string {
			return g.request(map[string]any{"zone": zone, "url": "http://lab.test/large?mb=1", "format": "raw"}).body
		},
		"native": func(zone string) string { return g.get(g.through(zone), "http://lab.test/large?mb=1").body },
	}
	for _, zone := range []string{"residential_demo", "datacenter_demo", "unlocker_demo"} {
		got := map[string]meter.Sum{}
		for method, do := range fetch {
			before := g.used(zone)
			n := len(do(zone))
			after := g.used(zone)
			s := meter.Sum{Up: after.Up - before.Up, Down: after.Down - before.Down, HTTP: after.HTTP - before.HTTP, Billable: after.Billable - before.Billable, Nano: after.Nano - before.Nano}
			if s.Down != int64(n) || s.HTTP != 1 || s.Billable != 1 || s.Nano == 0 {
				t.Errorf("%s by %s: %+v of %d bytes", zone, method, s, n)
			}
			got[method] = s
		}
		a, n := got["API"], got["native"]
		// Differences of rounded sums: a billionth of a dollar may be between them.
		if d := a.Nano - n.Nano; a.Bytes() != n.Bytes() || d < -1 || d > 1 {
			t.Errorf("%s costs %+v by API and %+v by proxy", zone, a, n)
		}
	}
	if s := g.used("unlocker_demo"); s.API == 0 || s.API*2 != s.Bytes() {
		t.Errorf("the API's part: %+v", s)
	}
	before := g.used("unlocker_demo")
	g.request(map[string]any{"zone": "unlocker_demo", "url": "http://lab.test/error", "format": "raw"})
	if after := g.used("unlocker_demo"); after.Nano != before.Nano || after.Requests() != before.Requests()+1 {
		t.Errorf("a failed fetch: %+v, then %+v", before, after)
	}
}

func TestATunnelIsMeteredWhileItIsOpen(t *testing.T) {
	c := newClock()
	g := start(t, Options{Now: c.now})
	conn := connect(t, g.r.Proxy, loginHeader("datacenter_demo", g.password("datacenter_demo")), "lab.test:80", nil)
	defer conn.Close()
	noerr.Must(t, noerr.From(conn.Write([]byte("GET /ok HTTP/1.1\r\nHost: lab.test\r\n\r\n"))))
	noerr.Must(t, conn.SetReadDeadline(time.Now().Add(time.Minute)))
	n, err := conn.Read(make([]byte, 4096))
	noerr.Must(t, err)
	if s := g.used("datacenter_demo"); s.Up != 36 || s.Down < int64(n) || s.Requests() != 1 || s.Nano == 0 {
		t.Errorf("%+v after %d bytes", s, n)
	}
}

func TestUsageSurvivesARestart(t *testing.T) {
	dir := t.TempDir()
	c := newClock()
	g := start(t, Options{StateDir: dir, Now: c.now})
	g.request(map[string]any{"zone": "isp_demo", "url": "http://lab.test/ok", "format": "raw"})
	g.trigger("gd_products", "http://lab.test/shop")
	want, total := g.used("isp_demo"), g.meter.Total()
	noerr.Must(t, g.Shutdown(t.Context()))
	h := start(t, Options{StateDir: dir, Now: c.now})
	if got := h.used("isp_demo"); got != want || got.Nano == 0 || h.meter.Total() < total {
		t.Errorf("%+v, want %+v; %d of %d", got, want, h.meter.Total(), total)
	}
}
