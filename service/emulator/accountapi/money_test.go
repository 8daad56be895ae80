package accountapi

import (
	"fmt"
	"math"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"zonedeck/service/emulator/level"
	"zonedeck/service/emulator/meter"
	"zonedeck/service/emulator/scenario"
)

// spending is a rig with known use: 2027-02-27, 02-28, and today, 2027-03-01.
func spending(t *testing.T) *rig {
	t.Helper()
	g := start(t, false)
	for daysAgo, calls := range map[int]int64{2: 4, 1: 2, 0: 1} {
		at := noon.AddDate(0, 0, -daysAgo)
		g.meter.Record(meter.Call{Zone: "residential_demo", Product: "residential", Host: "a.example", API: true, Secure: true, Up: 1e6 * calls, Down: 99e6 * calls, Requests: calls, Billable: true, At: at})
		g.meter.Record(meter.Call{Zone: "unlocker_demo", Product: "unlocker", Host: "b.example", Down: 5e6, Requests: 1000 * calls, Billable: true, At: at})
		g.meter.Record(meter.Call{Zone: "unlocker_demo", Product: "unlocker", Host: "c.example", Down: 5e6, Requests: 7, At: at})
	}
	g.meter.Record(meter.Call{Product: "scrapers", Host: "lab.test", API: true, Requests: 1000, Billable: true, At: noon})
	return g
}

func same(a, b float64) bool { return math.Abs(a-b) < 1e-6 }

func TestTheBalanceIsWhatTheMeterLeft(t *testing.T) {
	g := spending(t)
	// residential 7 x 0.80, unlocker 7 x 1.50, jobs 1.50; this month 0.80 + 1.50 + 1.50.
	b := decode[map[string]float64](t, g.expect(level.Finance, "GET /customer/balance", "", 200, ""))
	if !same(b["balance"], scenario.DefaultBalance-5.60-10.50-1.50) || !same(b["pending_costs"], 3.80) || b["pending_balance"] != b["pending_costs"] || len(b) != 5 {
		t.Errorf("%v", b)
	}
	g.expect(level.Ops, "GET /customer/balance", "", 403, "")
}

func TestTheCostOfAZoneByWindows(t *testing.T) {
	g := spending(t)
	type window struct {
		BW    int64
		Cost  float64
		Range struct{ From, To string }
		Reqs  int64 `json:"reqs_unblocker"`
	}
	all := decode[map[string]map[string]window](t, g.expect(level.Finance, "GET /zone/cost?zone=residential_demo", "", 200, ""))["hl_demo01"]
	for name, want := range map[string]struct {
		bw       int64
		cost     float64
		from, to string
	}{
		"back_d0": {100e6, 0.80, "2027-03-01", "2027-03-02"},
		"back_d1": {200e6, 1.60, "2027-02-28", "2027-03-01"},
		"back_d2": {400e6, 3.20, "2027-02-27", "2027-02-28"},
		"back_m0": {100e6, 0.80, "2027-03-01", "2027-04-01"},
		"back_m1": {600e6, 4.80, "2027-02-01", "2027-03-01"},
		"back_m2": {0, 0, "2027-01-01", "2027-02-01"},
	} {
		if got := all[name]; got.BW != want.bw || !same(got.Cost, want.cost) || got.Range.From != want.from || got.Range.To != want.to {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	if len(all) != 6 {
		t.Errorf("%d windows", len(all))
	}
	custom := decode[map[string]map[string]window](t, g.expect(level.Admin, "GET /zone/cost?zone=unlocker_demo&from=2027-02-27&to=2027-03-01", "", 200, ""))["hl_demo01"]
	if w := custom["custom"]; len(custom) != 1 || w.Reqs != 6000 || !same(w.Cost, 9) || w.BW != 20e6 {
		t.Errorf("%+v", custom)
	}
	for _, q := range []string{"from=soon&to=2027-03-01", "from=2027-03-01", "to=2027-03-01", "from=2027-03-02&to=2027-03-01", "from=0001-01-01&to=9999-01-01", "from=2027-02-30&to=2027-03-01"} {
		g.expect(level.Finance, "GET /zone/cost?zone=isp_demo&"+q, "", 500, "Internal server error")
		g.expect(level.Ops, "GET /zone/bw?zone=isp_demo&"+q, "", 500, "Internal server error")
	}
}

func TestTheBandwidthOfZones(t *testing.T) {
	g := spending(t)
	type use struct {
		Data map[string]map[string][]int64
		Sums map[string]map[string]map[string]int64
	}
	got := decode[map[string]use](t, g.expect(level.Ops, "GET /zone/bw?zone=residential_demo&from=2027-02-28&to=2027-03-02", "", 200, ""))["hl_demo01"]
	if fmt.Sprint(got.Data["residential_demo"]["bw_sum"], got.Data["residential_demo"]["bw_up"]) != "[200000000 100000000] [2000000 1000000]" {
		t.Errorf("%v", got.Data)
	}
	s := got.Sums["residential_demo"]["custom"]
	if s["bw_sum"] != 300e6 || s["bw_sum_res"] != 300e6 || s["bw_sum_dc"] != 0 || s["bw_api"] != 300e6 || s["https_direct_req"] != 3 || s["http_direct_req"] != 0 {
		t.Errorf("%v", s)
	}
	all := decode[map[string]use](t, g.expect(level.Ops, "GET /customer/bw", "", 200, ""))["hl_demo01"]
	if len(all.Sums) != 13 || all.Sums["unlocker_demo"]["back_m1"]["reqs_unblocker_billable"] != 6000 || all.Sums["unlocker_demo"]["back_d0"]["http_svc_req"] != 1007 {
		t.Errorf("%v", all.Sums["unlocker_demo"])
	}
	if d := all.Data["residential_demo"]["bw_sum"]; len(d) != 30 || d[29] != 100e6 || d[27] != 400e6 {
		t.Errorf("%v", d)
	}
	type domains = map[string]map[string]map[string]int64
	bw := decode[domains](t, g.expect(level.Ops, "GET /domains/bw?from=2027-02-28&to=2027-03-01", "", 200, ""))
	if fmt.Sprint(bw["unlocker_demo"]) != "map[2027-02-28:map[b.example:5000000 c.example:5000000]]" || len(bw) != 13 {
		t.Errorf("%v", bw)
	}
	req := decode[domains](t, g.expect(level.Ops, "GET /domains/req?from=2027-02-28&to=2027-03-01&zones=unlocker_demo", "", 200, ""))
	if fmt.Sprint(req) != "map[unlocker_demo:map[2027-02-28:map[b.example:2000 c.example:7]]]" {
		t.Errorf("%v", req)
	}
	g.expect(level.Ops, "GET /domains/req", "", 500, "")
	g.expect(level.Ops, "GET /domains/dollars?from=2027-02-28&to=2027-03-01", "", 404, "")
}

func TestCostsAreExported(t *testing.T) {
	g := spending(t)
	ask := func(format, dimension, filters string, status int) *httptest.ResponseRecorder {
		t.Helper()
		body := fmt.Sprintf(`{"dimension":%q,"from":"2027-02-28","to":"2027-03-02","filters":%s}`, dimension, filters)
		return g.expect(level.Finance, "POST /costs/export/"+format, body, status, "")
	}
	for dimension, want := range map[string]string{
		"zones":    "map[2027-02-28:map[residential_demo:1.6 unlocker_demo:3] 2027-03-01:map[-:1.5 residential_demo:0.8 unlocker_demo:1.5] total:map[-:1.5 residential_demo:2.4 unlocker_demo:4.5]]",
		"types":    "map[2027-02-28:map[res_rotating:1.6 unblocker:3] 2027-03-01:map[res_rotating:0.8 scrapers:1.5 unblocker:1.5] total:map[res_rotating:2.4 scrapers:1.5 unblocker:4.5]]",
		"products": "map[2027-02-28:map[residential:1.6 unlocker:3] 2027-03-01:map[residential:0.8 scrapers:1.5 unlocker:1.5] total:map[residential:2.4 scrapers:1.5 unlocker:4.5]]",
	} {
		if got := fmt.Sprint(decode[map[string]map[string]float64](t, ask("json", dimension, "{}", 200))); got != want {
			t.Errorf("%s: %s, want %s", dimension, got, want)
		}
	}
	a := ask("csv", "zones", `{"zones":["unlocker_demo"]}`, 200)
	if a.Body.String() != "date,zone,cost\n2027-02-28,unlocker_demo,3\n2027-03-01,unlocker_demo,1.5\ntotal,unlocker_demo,4.5\n" || !strings.HasPrefix(a.Header().Get("Content-Type"), "text/csv") {
		t.Errorf("%+v", a)
	}
	ask("json", "zones", "null", 200)
	ask("json", "domains", "{}", 400)
	ask("json", "moods", "{}", 400)
	ask("json", "zones", `{"colour":"red"}`, 400)
	ask("xml", "zones", "{}", 404)
	g.expect(level.Finance, "POST /costs/export/json", `{"dimension":"zones","from":"soon","to":"2027-03-02"}`, 500, "")
}

// TestSmallCostsAddUp: the cost of each day rounds to nothing, and their sum does not.
func TestSmallCostsAddUp(t *testing.T) {
	g := start(t, false)
	for day := range 10 {
		g.meter.Record(meter.Call{Zone: "residential_demo", Product: "residential", Down: 50, At: noon.AddDate(0, 0, -day)}) // 0.4 millionths of a dollar
	}
	body := fmt.Sprintf(`{"dimension":"zones","from":%q,"to":%q}`, noon.AddDate(0, 0, -9).Format(time.DateOnly), noon.AddDate(0, 0, 1).Format(time.DateOnly))
	costs := decode[map[string]map[string]float64](t, g.expect(level.Finance, "POST /costs/export/json", body, 200, ""))
	if got := costs["total"]["residential_demo"]; got != 0.000004 {
		t.Errorf("the total is %v", got)
	}
}
