package fetch

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/service/exchange"
	"zonedeck/service/servicetest"

	"zonedeck/model"
	"zonedeck/service/pace"
)

// inBubble runs a Fetcher against h without a network and on the bubble's clock.
func inBubble(t *testing.T, h http.HandlerFunc, f func(t *testing.T, c *Fetcher)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		dial, stop := servicetest.Serve(h)
		f(t, newFetcher(t, servicetest.Profile("http://api.test"), func(c *Config) {
			c.Wire = exchange.New(exchange.Config{Connect: dial})
		}))
		stop()
	})
}

func TestRetriesWaitExactlyTheDocumentedBackoff(t *testing.T) {
	for name, tc := range map[string]struct {
		after   string
		retries int
		waits   []time.Duration
	}{
		"by default one per documented delay":  {"", -1, []time.Duration{0, 1000 * time.Millisecond, 3000 * time.Millisecond, 5000 * time.Millisecond}},
		"the last delay stays":                 {"", 5, []time.Duration{0, time.Second, 3 * time.Second, 5 * time.Second, 5 * time.Second, 5 * time.Second}},
		"none when none is asked for":          {"", 0, []time.Duration{0}},
		"Retry-After in seconds goes first":    {"7", 2, []time.Duration{0, 7 * time.Second, 7 * time.Second}},
		"Retry-After as long as is waited for": {"300", 1, []time.Duration{0, 5 * time.Minute}},
		"Retry-After beyond that":              {"301", 1, []time.Duration{0}},
		"Retry-After without an end":           {"99999999999999999999", 1, []time.Duration{0}},
		"Retry-After that is negative":         {"-7", 1, []time.Duration{0, time.Second}},
		"Retry-After in parts of a second":     {"2.5", 1, []time.Duration{0, 2500 * time.Millisecond}},
		"Retry-After as a date":                {"Sat, 01 Jan 2000 00:00:42 GMT", 1, []time.Duration{0, 42 * time.Second}},
		"Retry-After in the past":              {"Fri, 31 Dec 1999 00:00:42 GMT", 1, []time.Duration{0, time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			var at []time.Time
			inBubble(t, func(w http.ResponseWriter, _ *http.Request) {
				at = append(at, time.Now())
				if tc.after != "" {
					w.Header().Set("Retry-After", tc.after)
				}
				w.WriteHeader(http.StatusServiceUnavailable)
			}, func(t *testing.T, c *Fetcher) {
				r := askFor(servicetest.Profile(""), "unlocker1")
				r.Retries = tc.retries
				var waiting []time.Duration
				res, err := c.Fetch(t.Context(), r, func(e Event) {
					if e.Phase == PhaseWaiting {
						waiting = append(waiting, e.Waiting)
					}
				})
				noerr.Must(t, err)
				comesBack := slices.ContainsFunc(res.Diagnosis.Evidence, func(e model.Evidence) bool {
					return strings.Contains(e.Text, "longer than 5m0s; come back at 2000-01-0")
				})
				if long := strings.HasSuffix(name, "an end") || strings.HasSuffix(name, "beyond that"); comesBack != long {
					t.Errorf("it says when to come back: %v", comesBack)
				}
				if len(res.Attempts) != len(tc.waits) || len(at) != len(tc.waits) || len(waiting) != len(tc.waits)-1 {
					t.Fatalf("%d attempts, %d calls, want %d", len(res.Attempts), len(at), len(tc.waits))
				}
				for i, want := range tc.waits {
					if got := res.Attempts[i]; got.Wait != want || got.N != i+1 || got.Class != model.ClassOutside {
						t.Errorf("attempt %d is %+v, want a wait of %v", i+1, got, want)
					}
					if i > 0 && at[i].Sub(at[i-1]) != want {
						t.Errorf("call %d came after %v, want exactly %v", i+1, at[i].Sub(at[i-1]), want)
					}
				}
			})
		})
	}
}

func TestOutcomesThatARetryCannotChangeAreNotRetried(t *testing.T) {
	for _, status := range []int{400, 401, 402, 403, 404} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			var calls atomic.Int32
			inBubble(t, func(w http.ResponseWriter, _ *http.Request) { calls.Add(1); w.WriteHeader(status) }, func(t *testing.T, c *Fetcher) {
				r := askFor(servicetest.Profile(""), "unlocker1")
				r.Retries = -1
				if _, err := c.Fetch(t.Context(), r, nil); err != nil || calls.Load() != 1 {
					t.Errorf("%d calls: %v", calls.Load(), err)
				}
			})
		})
	}
}

func TestCancelDuringTheBackoffEndsAtOnce(t *testing.T) {
	inBubble(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }, func(t *testing.T, c *Fetcher) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		begin := time.Now()
		r := askFor(servicetest.Profile(""), "unlocker1")
		r.Retries = -1
		_, err := c.Fetch(ctx, r, func(e Event) {
			if e.Waiting == 3*time.Second {
				time.AfterFunc(500*time.Millisecond, cancel)
			}
		})
		if elapsed := time.Since(begin); !errors.Is(err, context.Canceled) || elapsed != 1500*time.Millisecond {
			t.Errorf("error %v after %v", err, elapsed)
		}
	})
}

func TestBreakerStopsShortOfABlockedAddress(t *testing.T) {
	var calls atomic.Int32
	inBubble(t, func(w http.ResponseWriter, _ *http.Request) { calls.Add(1); w.WriteHeader(http.StatusTooManyRequests) }, func(t *testing.T, c *Fetcher) {
		r := askFor(servicetest.Profile(""), "unlocker1")
		r.Retries = 0
		for range pace.MaxRefused {
			if res, err := c.Fetch(t.Context(), r, nil); err != nil || res.Diagnosis.Rule == "breaker" {
				t.Fatalf("%+v: %v", res.Diagnosis, err)
			}
		}
		res := fetched(t, c, r)
		wantVerdict(t, res, model.ClassTooFast, "")
		if res.Diagnosis.Rule != "breaker" || calls.Load() != pace.MaxRefused || res.Diagnosis.Retry || !strings.Contains(res.Diagnosis.Summary, "sent nothing") {
			t.Errorf("after %d calls: %+v", calls.Load(), res.Diagnosis)
		}
		time.Sleep(pace.Window) //nolint:forbidigo // the bubble's clock
		if _, err := c.Fetch(t.Context(), r, nil); err != nil || calls.Load() != pace.MaxRefused+1 {
			t.Errorf("after the window: %d calls, %v", calls.Load(), err)
		}
	})
}

func TestARetryThatIsHeldBackLeavesTheAnswerBeforeIt(t *testing.T) {
	var calls atomic.Int32
	inBubble(t, func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = w.Write([]byte("not so fast"))
	}, func(t *testing.T, c *Fetcher) {
		r := askFor(servicetest.Profile(""), "unlocker1")
		r.Retries = 0
		for range pace.MaxRefused - 1 {
			fetched(t, c, r)
		}
		r.Retries = 3
		var last Event
		res, err := c.Fetch(t.Context(), r, func(e Event) { last = e })
		noerr.Must(t, err)
		if calls.Load() != pace.MaxRefused || res.ServiceStatus != http.StatusTooManyRequests || string(res.Body.Bytes) != "not so fast" || len(res.Attempts) != 1 || last != (Event{Phase: PhaseDone, Attempt: res.Attempts[0]}) {
			t.Errorf("after %d calls: %+v, the last event %+v", calls.Load(), res, last)
		}
		d, n := res.Diagnosis, len(res.Diagnosis.Evidence)
		const why = "the service answered HTTP 429 20 times within 5 minutes, and is said to block an address at 25; the next call may go in 4m59s"
		if d.Class != model.ClassTooFast || d.Rule == "breaker" || d.RetryAfter != pace.Window-time.Second || !strings.HasSuffix(d.Summary, " It was not sent again: "+why+".") || strings.Contains(d.Summary, "nothing") ||
			d.Evidence[0].Kind != "service_status" || d.Evidence[n-2] != (model.Evidence{Kind: "error", Text: "held back: " + why}) {
			t.Errorf("%+v", d)
		}
	})
}

func TestFetchesInFlightCountAsRefusedBeforeTheyAre(t *testing.T) {
	var calls atomic.Int32
	inBubble(t, func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		time.Sleep(time.Second) //nolint:forbidigo // the bubble's clock
		w.WriteHeader(http.StatusTooManyRequests)
	}, func(t *testing.T, c *Fetcher) {
		r := askFor(servicetest.Profile(""), "unlocker1")
		r.Zone.Product, r.Retries = model.ProductDatacenter, 0
		rules := make(chan string)
		const parallel = 40
		for range parallel {
			go func() {
				res, err := c.Fetch(t.Context(), r, nil)
				noerr.Want(t, err)
				rules <- res.Diagnosis.Rule
			}()
		}
		held := 0
		for range parallel {
			if <-rules == "breaker" {
				held++
			}
		}
		if calls.Load() != pace.MaxRefused || held != parallel-pace.MaxRefused {
			t.Errorf("of %d at once %d were sent, %d held back", parallel, calls.Load(), held)
		}
	})
}

func TestTargetsOwn429DoesNotCountAgainstTheAddress(t *testing.T) {
	inBubble(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("x-brd-status-code", "429") }, func(t *testing.T, c *Fetcher) {
		r := askFor(servicetest.Profile(""), "unlocker1")
		for range pace.MaxRefused + 1 {
			if res, err := c.Fetch(t.Context(), r, nil); err != nil || res.Diagnosis.Rule == "breaker" {
				t.Fatalf("%+v: %v", res.Diagnosis, err)
			}
		}
	})
}

func TestEachProductHasItsLimitOfConcurrentFetches(t *testing.T) {
	var now, most atomic.Int64
	inBubble(t, func(w http.ResponseWriter, _ *http.Request) {
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		time.Sleep(time.Second) //nolint:forbidigo // the bubble's clock
		now.Add(-1)
		w.WriteHeader(http.StatusNoContent)
	}, func(t *testing.T, c *Fetcher) {
		for _, product := range []model.Product{model.ProductCrawl, model.ProductBrowser, model.ProductSERP} {
			most.Store(0)
			r := askFor(servicetest.Profile(""), "unlocker1")
			r.Zone.Product = product
			done := make(chan error)
			const calls = 20
			for range calls {
				go func() {
					_, err := c.Fetch(t.Context(), r, nil)
					done <- err
				}()
			}
			for range calls {
				noerr.Want(t, <-done)
			}
			if want := exchange.LimitOf(product).Concurrency; most.Load() != want {
				t.Errorf("%s: %d at once, want %d", product, most.Load(), want)
			}
		}
	})
	serp := exchange.LimitOf(model.ProductSERP).Concurrency
	if exchange.LimitOf(model.ProductBrowser).Concurrency >= serp || exchange.LimitOf(model.ProductCrawl).Concurrency >= serp {
		t.Error("browser and crawl must be held lower than SERP (contract 8)")
	}
	for _, p := range model.Products() {
		l := exchange.LimitOf(p)
		if l.Timeout <= 0 || l.Concurrency <= 0 || l.Reason == "" {
			t.Errorf("%s has no limit: %+v", l.Product, l)
		}
	}
}

func TestOneKeyIsHeldToItsRate(t *testing.T) {
	inBubble(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, func(t *testing.T, c *Fetcher) {
		begin := time.Now()
		for range exchange.KeyBurst + 2*exchange.KeyRate {
			noerr.Must(t, noerr.From(c.Fetch(t.Context(), askFor(servicetest.Profile(""), "serp1"), nil)))
		}
		if elapsed := time.Since(begin).Round(10 * time.Millisecond); elapsed != 2*time.Second {
			t.Errorf("%d calls took %v", exchange.KeyBurst+2*exchange.KeyRate, elapsed)
		}
	})
}

func TestBreakerHoldsBackTheProxyToo(t *testing.T) {
	var calls atomic.Int32
	inBubble(t, func(w http.ResponseWriter, _ *http.Request) { calls.Add(1); w.WriteHeader(http.StatusTooManyRequests) }, func(t *testing.T, c *Fetcher) {
		r := native(servicetest.Profile(""), "https://lab.test/")
		for range pace.MaxRefused {
			if res, err := c.Fetch(t.Context(), r, nil); err != nil || res.Diagnosis.Rule == "breaker" {
				t.Fatalf("%+v: %v", res.Diagnosis, err)
			}
		}
		res, err := c.Fetch(t.Context(), r, nil)
		if err != nil || res.Diagnosis.Rule != "breaker" || calls.Load() != pace.MaxRefused {
			t.Errorf("after %d calls: %+v, %v", calls.Load(), res.Diagnosis, err)
		}
		probe, err := c.Probe(t.Context(), ProbeRequest{Zone: r.Zone, Target: "https://lab.test/"}, nil)
		if err != nil || probe.Diagnosis.Rule != "breaker" || calls.Load() != pace.MaxRefused {
			t.Errorf("a probe after %d calls: %+v, %v", calls.Load(), probe.Diagnosis, err)
		}
	})
}
