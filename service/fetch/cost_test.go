package fetch

import (
	"net/http"
	"testing"

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
		if s := priced.Spent(); s != (model.Spend{}) {
			t.Errorf("before the first: %+v", s)
		}
		r := servicetest.Ask(p, string(p.Zones[0].Name))
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
		if s := priced.Spent(); s.Priced != 1 || s.Unpriced != 0 || s.String() != "$0.0160" {
			t.Errorf("%+v", s)
		}
	})
}
