package exchange

import (
	"cmp"
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"zonedeck/model"
)

// Limit is what the client allows one product. The caller keeps limits apart per
// product, with browser and crawl heavier than SERP (service.md 8). The service
// does not show its own limits, so the figures are the console's.
type Limit struct {
	Product model.Product
	// Concurrency is how many fetches may be in flight at once.
	Concurrency int64
	// Timeout bounds one attempt unless the request or the profile says otherwise.
	Timeout time.Duration
	// Reason is why these figures were chosen.
	Reason string
}

// LimitOf is the limit of one product. An unknown product gets a cautious one.
func LimitOf(p model.Product) Limit {
	l := Limit{Product: p}
	switch p {
	case model.ProductDatacenter, model.ProductISP:
		l.Concurrency, l.Timeout, l.Reason = 32, 30*time.Second, "a plain exit near the target: what takes longer is the target"
	case model.ProductResidential:
		l.Concurrency, l.Timeout, l.Reason = 16, 60*time.Second, "exits are home connections: slower and lossy"
	case model.ProductMobile:
		l.Concurrency, l.Timeout, l.Reason = 8, 60*time.Second, "exits share mobile links"
	case model.ProductUnlocker:
		l.Concurrency, l.Timeout, l.Reason = 16, 180*time.Second, "it may solve a challenge before it answers; shorter deadlines pay for pages that are then thrown away"
	case model.ProductSERP:
		l.Concurrency, l.Timeout, l.Reason = 16, 60*time.Second, "light pages, one search each"
	case model.ProductBrowser:
		l.Concurrency, l.Timeout, l.Reason = 4, 240*time.Second, "each fetch is a whole browser (contract 8: heavier than SERP)"
	case model.ProductCrawl:
		l.Concurrency, l.Timeout, l.Reason = 2, 240*time.Second, "each call walks many pages (contract 8: heavier than SERP)"
	case model.ProductScrapers, model.ProductDatasets, model.ProductDiscover:
		l.Concurrency, l.Timeout, l.Reason = 4, 90*time.Second, "each call does work at the service; heavy work belongs in a job (contract 7)"
	case model.ProductDeepLookup, model.ProductAgent:
		l.Concurrency, l.Timeout, l.Reason = 4, 120*time.Second, "each call does long work at the service"
	default:
		l.Concurrency, l.Timeout, l.Reason = 4, 60*time.Second, "the profile names no product: cautious"
	}
	return l
}

// Timeout bounds one attempt through a zone of a product: what the profile says, or else the product's Limit.
func Timeout(p model.Profile, product model.Product) time.Duration {
	return cmp.Or(p.Timeouts[product], LimitOf(product).Timeout)
}

// KeyRate is how many calls a second one key may make, and KeyBurst how many at
// once. Together they stay within 1,000 a minute: public documentation of a service
// of this kind names that for accounts that have not paid yet. The contract shows
// no figure. A profile may have another one (key_rate).
const (
	KeyRate  = 16
	KeyBurst = 40
)

// accountRate is how many calls about the account one key may make a second: public documentation
// of a service of this kind is said to allow one. accountBurst is how many it may make at once,
// enough for a form that asks a handful of things.
const (
	accountRate  = 1
	accountBurst = 5
)

// gates limit how many fetches run at once per product, and calls a second per key.
type gates struct {
	mu       sync.Mutex
	slots    map[model.Product]*semaphore.Weighted
	rates    map[string]*rate.Limiter
	accounts map[string]*rate.Limiter // for calls about the account
}

func newGates() *gates {
	return &gates{slots: map[model.Product]*semaphore.Weighted{}, rates: map[string]*rate.Limiter{}, accounts: map[string]*rate.Limiter{}}
}

func (g *gates) slot(p model.Product) *semaphore.Weighted {
	g.mu.Lock()
	defer g.mu.Unlock()
	s, ok := g.slots[p]
	if !ok {
		s = semaphore.NewWeighted(LimitOf(p).Concurrency)
		g.slots[p] = s
	}
	return s
}

// rate is the limiter of a key, as fast as the profile says now.
func (g *gates) rate(p model.Profile, key string) *rate.Limiter {
	perSecond := cmp.Or(p.KeyRate, KeyRate)
	burst := max(int(perSecond*KeyBurst/KeyRate), 1)
	l := g.limiter(g.rates, key, rate.Limit(perSecond), burst)
	if l.Limit() != rate.Limit(perSecond) {
		l.SetLimit(rate.Limit(perSecond))
		l.SetBurst(burst)
	}
	return l
}

func (g *gates) account(key string) *rate.Limiter {
	return g.limiter(g.accounts, key, accountRate, accountBurst)
}

func (g *gates) limiter(of map[string]*rate.Limiter, key string, perSecond rate.Limit, burst int) *rate.Limiter {
	g.mu.Lock()
	defer g.mu.Unlock()
	l, ok := of[key]
	if !ok {
		l = rate.NewLimiter(perSecond, burst)
		of[key] = l
	}
	return l
}

// Enter waits for a place among the product's fetches; leave frees it.
func (w *Wire) Enter(ctx context.Context, p model.Product) (leave func(), err error) {
	s := w.gates.slot(p)
	if err := s.Acquire(ctx, 1); err != nil {
		return nil, context.Cause(ctx)
	}
	return func() { s.Release(1) }, nil
}
