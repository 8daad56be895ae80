package emulator

import (
	"math"
	"strings"
	"testing"

	"zonedeck/service/emulator/level"
	"zonedeck/service/emulator/scenario"
)

func same(a, b float64) bool { return math.Abs(a-b) < 1e-6 }

func TestTheBalanceFallsWithTheCost(t *testing.T) {
	g := start(t, Options{Now: newClock().now})
	balance := func() map[string]float64 {
		return decode[map[string]float64](t, g.expect(level.Finance, "GET /customer/balance", "", 200, ""))
	}
	b := balance()
	if !same(b["balance"], scenario.DefaultBalance) {
		t.Errorf("%v", b)
	}
	g.request(map[string]any{"zone": "unlocker_demo", "url": "http://lab.test/ok", "format": "raw"})
	after := balance()
	if !same(b["balance"]-after["balance"], 0.0015) {
		t.Errorf("one fetch: %v, then %v", b, after)
	}
	g.get(g.through("unlocker_demo"), "http://lab.test/ok")
	if third := balance(); !same(after["balance"]-third["balance"], 0.0015) {
		t.Errorf("one fetch by proxy: %v, then %v", after, third)
	}
}

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
