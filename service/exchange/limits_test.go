package exchange

import (
	"errors"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/servicetest"
)

// service.md 8: the browser and crawl products are treated as heavier than the SERP
// product.
func TestHeavyProductsGetFewerPlacesAndMoreTime(t *testing.T) {
	light := LimitOf(model.ProductSERP)
	for _, p := range []model.Product{model.ProductBrowser, model.ProductCrawl} {
		if heavy := LimitOf(p); heavy.Concurrency < 1 || heavy.Concurrency >= light.Concurrency || heavy.Timeout <= light.Timeout {
			t.Errorf("%s: %d at once for %v, beside SERP's %d for %v", p, heavy.Concurrency, heavy.Timeout, light.Concurrency, light.Timeout)
		}
	}
}

func TestEveryProductHasALimitWithItsReason(t *testing.T) {
	for _, p := range append(model.Products(), "", "something new") {
		if l := LimitOf(p); l.Product != p || l.Concurrency < 1 || l.Timeout <= 0 || l.Reason == "" {
			t.Errorf("%q: %+v", p, l)
		}
	}
	unknown, unnamed := LimitOf("something new"), LimitOf("")
	if unknown.Product = unnamed.Product; unknown != unnamed {
		t.Error("two products that are not known differ")
	}
}

// The comment of KeyRate says where the figure comes from.
func TestOneKeyStaysBelowAThousandCallsAMinute(t *testing.T) {
	if calls := KeyBurst + 60*KeyRate; calls > 1000 {
		t.Errorf("%d calls in a minute", calls)
	}
}

func TestAProfileSetsTheRateOfItsKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, began, p := newGates(), time.Now(), model.Profile{KeyRate: 200}
		for range 500 + 400 { // the burst, and two seconds
			noerr.Must(t, g.rate(p, "k").Wait(t.Context()))
		}
		if waited := time.Since(began); waited.Round(time.Millisecond) != 2*time.Second {
			t.Errorf("900 calls took %s", waited)
		}
		began, p.KeyRate = time.Now(), 0.5 // it was changed meanwhile
		for range 3 {
			noerr.Must(t, g.rate(p, "k").Wait(t.Context()))
		}
		if waited := time.Since(began); waited < 4*time.Second || waited > 6*time.Second {
			t.Errorf("3 calls at one in two seconds took %s", waited)
		}
	})
}

func TestCallsAboutTheAccountTakeTheirTurnApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, began := newGates(), time.Now()
		for range accountBurst + 3 {
			noerr.Must(t, g.account("finance").Wait(t.Context()))
		}
		if waited := time.Since(began); waited != 3*time.Second/accountRate {
			t.Errorf("%d calls took %s", accountBurst+3, waited)
		}
		if err := errors.Join(g.account("other").Wait(t.Context()), g.rate(model.Profile{}, "finance").Wait(t.Context())); err != nil || time.Since(began) != 3*time.Second {
			t.Errorf("another key and another kind of call waited: %s, %v", time.Since(began), err)
		}
	})
}

func TestACallThatCouldConcernEveryZoneIsNotSent(t *testing.T) {
	sent := 0
	p := servicetest.API(t, func(http.ResponseWriter, *http.Request) { sent++ })
	w := New(Config{})
	for _, c := range []Call{
		{Method: http.MethodDelete, Path: "/zone"},
		{Method: http.MethodDelete, Path: "/zone", Body: []byte(`{"zone":""}`)},
		{Method: http.MethodPost, Path: "/zone/whitelist", Body: []byte(`{"ip":"10.0.0.1"}`)},
		{Method: http.MethodGet, Path: "/zone/blacklist"},
		{Method: http.MethodPost, Path: "/zone/domain_perm", Body: []byte(`{"type":"whitelist","domain":"a.com"}`)},
		{Method: http.MethodGet, Path: "/zone/cost", Query: url.Values{"zone": {""}}},
	} {
		c.Profile = p
		if resp, tr, err := w.API(t.Context(), c); !errors.Is(err, model.ErrRequest) || tr.Sent() {
			if err == nil {
				resp.Body.Close()
			}
			t.Errorf("%s %s %s: %v", c.Method, c.Path, c.Body, err)
		}
	}
	resp, _, err := w.API(t.Context(), Call{Profile: p, Method: http.MethodDelete, Path: "/zone", Body: []byte(`{"zone":"z1"}`)})
	if err != nil || sent != 1 {
		t.Fatalf("of one zone: %v, %d calls arrived", err, sent)
	}
	resp.Body.Close()
}
