package fetch

import (
	"net/http"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/servicetest"
)

func TestAFetchCostsByTheRateOfItsZone(t *testing.T) {
	p := servicetest.Profile("http://api.test")
	p.Zones[0].Rate = model.Rate{Per1000: 1.5, PerGB: 1e6}
	calls := 0
	inBubble(t, func(w http.ResponseWriter, _ *http.Request) {
		if calls++; calls == 1 {
			w.Header().Set("X-Brd-Status-Code", "503")
			return
		}
		_, _ = w.Write([]byte("<p>a page</p>"))
	}, func(t *testing.T, c *Fetcher) {
		priced := newFetcher(t, p, func(conf *Config) { conf.Wire = c.cfg.Wire })
		if s := priced.cfg.Wire.Spent(); s != (model.Spend{}) {
			t.Errorf("before the first: %+v", s)
		}
		r := askFor(p, string(p.Zones[0].Name))
		r.Retries = -1
		r.Zone.Rate = model.Rate{} // as an old result has it: the profile's counts
		res, err := priced.Fetch(t.Context(), r, nil)
		if err != nil || len(res.Attempts) != 2 || res.Attempts[1].Bytes != 13 {
			t.Fatalf("%+v, %v", res, err)
		}
		// Two requests at 0.0015, and 13 bytes at 0.001.
		if cost, ok := res.Cost(); !ok || cost < 0.01599 || cost > 0.01601 {
			t.Errorf("%v, %v", cost, ok)
		}
		if s := priced.cfg.Wire.Spent(); s.Priced != 1 || s.Unpriced != 0 || s.String() != "$0.0160" {
			t.Errorf("%+v", s)
		}
	})
}

func TestTheCallsOfTestsOfLoginsAreBilledAsFetchesAre(t *testing.T) {
	p, _ := told(t, `{"ip":"203.0.113.1"}`)
	for i := range p.Zones {
		p.Zones[i].Rate = model.Rate{Per1000: 1500}
	}
	z := servicetest.Zone(p, "dc1")
	z.Rate = model.Rate{} // the profile's counts
	change, j, _ := withJournal(t)
	ft := newFetcher(t, p, change)
	q := ProbeRequest{Zone: z, Target: "http://lab.test/", Rounds: 3, Session: "s"} // and two within the session
	noerr.Must(t, noerr.From(ft.Probe(t.Context(), q, nil)))
	noerr.Must(t, noerr.From(exits(t.Context(), ft, q, 4, nil)))
	unpriced := model.Zone{Name: "free", Product: model.ProductDatacenter, Password: z.Password}
	m, err := logins(t.Context(), ft, q.Target, 2, []model.Zone{z, unpriced}, nil)
	if err != nil || m.Spend() != (model.Spend{Dollars: 3, Priced: 2, Unpriced: 2}) {
		t.Errorf("the matrix cost %+v, %v", m.Spend(), err)
	}
	if s := ft.cfg.Wire.Spent(); s != (model.Spend{Dollars: 16.5, Priced: 11, Unpriced: 2}) {
		t.Errorf("the session cost %+v", s)
	}
	lines, err := j.Entries(t.Context(), model.HistoryFilter{Kind: model.HistoryProbe})
	if err != nil || len(lines) != 3 {
		t.Fatalf("%+v, %v", lines, err)
	}
	for i, want := range []float64{3, 6, 7.5} {
		if lines[i].Cost != want || !lines[i].Priced {
			t.Errorf("%q costs %v, want %v", lines[i].Text, lines[i].Cost, want)
		}
	}
	if text := lines[0].Text; text != "matrix: 2 of 2 zones ok; 2 of 4 calls are unpriced" {
		t.Errorf("the line of the matrix: %q", text)
	}
	noerr.Must(t, noerr.From(logins(t.Context(), ft, q.Target, 1, []model.Zone{z}, nil)))
	if lines, err := j.Entries(t.Context(), model.HistoryFilter{Kind: model.HistoryProbe}); err != nil || lines[0].Cost != 1.5 || !lines[0].Priced {
		t.Errorf("one call: %+v, %v", lines[0], err)
	}
}

func TestACallThatTheTargetDidNotAnswerCostsNothing(t *testing.T) {
	p := nativeProfile(t, &loopProxy{Plain: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusProxyAuthRequired)
	})})
	z := servicetest.Zone(p, "dc1")
	z.Rate = model.Rate{Per1000: 1500}
	ft := newFetcher(t, p)
	res, err := ft.Probe(t.Context(), ProbeRequest{Zone: z, Target: "http://lab.test/"}, nil)
	if err != nil || res.Diagnosis.OK() || res.Spend != (model.Spend{Priced: 1}) || ft.cfg.Wire.Spent() != res.Spend {
		t.Errorf("%+v, %+v, %v", res.Spend, res.Diagnosis, err)
	}
}

func TestWhatAFetchMayCostAtMost(t *testing.T) {
	perRequest, perGB := model.Rate{Per1000: 1500}, model.Rate{PerGB: 8}
	for name, c := range map[string]struct {
		r      model.FetchRequest
		want   float64
		priced bool
	}{
		"three tries":           {model.FetchRequest{Via: model.ViaAPI, Retries: 2, Zone: model.Zone{Product: model.ProductUnlocker, Rate: perRequest}}, 4.5, true},
		"three bodies":          {model.FetchRequest{Via: model.ViaNative, Retries: 2, BodyLimit: 1e9, Zone: model.Zone{Product: model.ProductResidential, Rate: perGB}}, 24, true},
		"without a rate":        {model.FetchRequest{Via: model.ViaAPI, Zone: model.Zone{Product: model.ProductUnlocker}}, 0, false},
		"in the remote browser": {model.FetchRequest{Via: model.ViaBrowser, BodyLimit: 1e9, Zone: model.Zone{Product: model.ProductBrowser, Rate: perGB}}, 0, false},
		"by its zone":           {model.FetchRequest{Via: model.ViaNative, BodyLimit: 1e9, Zone: model.Zone{Product: model.ProductBrowser, Rate: perGB}}, 0, false},
	} {
		if got, priced := UpperBound(c.r); got != c.want || priced != c.priced {
			t.Errorf("%s: %v, %v; want %v, %v", name, got, priced, c.want, c.priced)
		}
	}
}
