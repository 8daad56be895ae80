package fetch

import (
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/exchange"
	"zonedeck/service/pace"
	"zonedeck/service/servicetest"
)

// bubble is the clock of a test.
type bubble struct{}

func (bubble) Now() time.Time { return time.Now() }

// paced is a process whose calls share the paces of a folder.
func paced(t *testing.T, dir string, h http.HandlerFunc) *Fetcher {
	t.Helper()
	dial, stop := servicetest.Serve(h)
	t.Cleanup(stop)
	return newFetcher(t, servicetest.Profile("http://api.test"), func(c *Config) {
		c.Wire = exchange.New(exchange.Config{Connect: dial})
		c.Pace = &pace.Limiter{Store: pace.Files{Dir: dir}, Clock: bubble{}, Log: slog.New(slog.DiscardHandler)}
	})
}

func TestAServiceThatRefusesAboveANumberOfCallsIsNotRefusedForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most, processes, calls = 3, 8, 6
		var flying, refused atomic.Int32
		h := func(w http.ResponseWriter, _ *http.Request) {
			defer flying.Add(-1)
			if flying.Add(1) > most {
				refused.Add(1)
				w.WriteHeader(http.StatusTooManyRequests)
				return
			}
			time.Sleep(time.Second) //nolint:forbidigo // the bubble's clock
			_, _ = w.Write([]byte(servicetest.Page))
		}
		dir, results := t.TempDir(), make(chan model.FetchResult)
		for range processes {
			c := paced(t, dir, h)
			go func() {
				for range calls {
					r := askFor(servicetest.Profile(""), "unlocker1")
					r.Retries = -1
					res, err := c.Fetch(t.Context(), r, nil)
					noerr.Want(t, err)
					results <- res
				}
			}()
		}
		last := model.FetchResult{}
		for range processes * calls {
			if last = <-results; !last.Diagnosis.OK() {
				t.Errorf("%s", last.Diagnosis.Summary)
			}
		}
		// Five of the first eight, and at most two more when there are four at once.
		if n := refused.Load(); n < processes-most || n > processes-most+2 {
			t.Errorf("%d were refused", n)
		}
		if e := last.Diagnosis.Evidence; last.Pace == "" || e[0] != (model.Evidence{Kind: "note", Text: last.Pace}) {
			t.Errorf("%q, evidence %+v", last.Pace, e)
		}
	})
}

func TestAFetchThatFindsNoPlaceIsNotSentAndSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent atomic.Int32
		asked := "60"
		dir := t.TempDir()
		c := paced(t, dir, func(w http.ResponseWriter, _ *http.Request) {
			sent.Add(1)
			w.Header().Set("Retry-After", asked)
			w.WriteHeader(http.StatusTooManyRequests)
		})
		r := askFor(servicetest.Profile(""), "unlocker1")
		r.Zone.Product, r.Retries, r.Timeout = model.ProductDatacenter, 0, 59*time.Second
		if res := fetched(t, c, r); res.Pace != "zone unlocker1: at most 4 at once, because the service said too fast" {
			t.Errorf("%q", res.Pace)
		}
		res := fetched(t, c, r)
		wantVerdict(t, res, model.ClassTooFast, "")
		if d := res.Diagnosis; sent.Load() != 1 || d.Rule != "pace" || d.RetryAfter != time.Minute || d.Retry || res.Pace == "" ||
			d.Summary != "The console sent nothing: zone unlocker1: at most 4 at once, because the service said too fast; the next call may go in 1m0s." {
			t.Errorf("%d sent; %+v", sent.Load(), d)
		}
		probe, err := c.Probe(t.Context(), ProbeRequest{Zone: r.Zone, Target: "https://lab.test/"}, nil)
		if err != nil || sent.Load() != 1 || probe.Diagnosis.Rule != "pace" || probe.Spend != (model.Spend{}) {
			t.Errorf("a probe: %d sent; %+v, %v", sent.Load(), probe, err)
		}
		var reasons []string
		r.Timeout, asked = 61*time.Second, "20"
		noerr.Must(t, noerr.From(c.Fetch(t.Context(), r, func(e Event) {
			if e.Reason != "" {
				reasons = append(reasons, e.Phase+" "+e.Reason)
			}
		})))
		if want := []string{"queued zone unlocker1: at most 4 at once, because the service said too fast"}; sent.Load() != 2 || !slices.Equal(reasons, want) {
			t.Errorf("%d sent, %q", sent.Load(), reasons)
		}
		if _, err := c.Probe(t.Context(), ProbeRequest{Zone: r.Zone, Target: "https://lab.test/"}, func(step string) { reasons = append(reasons, step) }); err != nil || len(reasons) != 3 || reasons[2] != "waiting: zone unlocker1: at most 3 at once, because the service answered 429 while 4 were allowed; that many are tried again from 00:06:00 UTC" {
			t.Errorf("%q, %v", reasons, err)
		}
	})
}

func TestAHostThatIsHeldBackKeepsNoOtherHostWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := make(chan struct{})
		c := paced(t, t.TempDir(), func(w http.ResponseWriter, r *http.Request) {
			body := string(noerr.Try(io.ReadAll(r.Body)).Must(t))
			switch {
			case strings.Contains(body, "other.test"):
				_, _ = w.Write([]byte(servicetest.Page))
			case strings.Contains(body, "refuses"):
				w.Header().Set("x-brd-status-code", "429")
			default:
				<-busy
			}
		})
		r := askFor(servicetest.Profile(""), "unlocker1")
		r.Zone.Product, r.Retries, r.URL = model.ProductCrawl, 0, "https://lab.test/refuses"
		fetched(t, c, r)
		r.URL = "https://lab.test/"
		ended := make(chan error)
		for range 5 {
			go func() {
				_, err := c.Fetch(t.Context(), r, nil)
				ended <- err
			}()
		}
		synctest.Wait()
		other := r
		other.URL = "https://other.test/"
		began := time.Now()
		if res := fetched(t, c, other); !res.Diagnosis.OK() || time.Since(began) >= time.Second {
			t.Errorf("after %v: %+v", time.Since(began), res.Diagnosis)
		}
		close(busy)
		for range 5 {
			noerr.Want(t, <-ended)
		}
	})
}

func TestWhoSaysTooFastIsWhoIsSpared(t *testing.T) {
	for name, tc := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"the service, by its status": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) }, "zone unlocker1: at most 4 at once, because the service said too fast"},
		"the service, by its code":   {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("x-brd-error-code", "sr_rate_limit") }, "zone unlocker1: at most 4 at once, because the service said too fast"},
		"the target":                 {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("x-brd-status-code", "429") }, "zone unlocker1 for lab.test: at most 4 at once, because it said too fast"},
		"nobody":                     {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := askFor(servicetest.Profile(""), "unlocker1")
				r.Retries = 0
				if res := fetched(t, paced(t, t.TempDir(), tc.answer), r); res.Pace != tc.want {
					t.Errorf("%q; %+v", res.Pace, res.Diagnosis)
				}
			})
		})
	}
}

func TestOnlyAnAnswerOfTheTargetOrAPageIsAGoodOne(t *testing.T) {
	for name, tc := range map[string]struct {
		class model.Class
		o     model.Outcome
		good  bool
	}{
		"a page whose status is not shown": {model.ClassOK, model.Outcome{ServiceStatus: 200}, true},
		"the target's own 404":             {model.ClassOutside, model.Outcome{ServiceStatus: 200, TargetStatus: 404}, true},
		"a refusal by the service":         {model.ClassOutside, model.Outcome{ServiceStatus: 401}, false},
		"a CAPTCHA":                        {model.ClassCaptcha, model.Outcome{TargetStatus: 200}, false},
		"a timeout":                        {model.ClassTimeout, model.Outcome{TargetStatus: 504}, false},
		"too fast":                         {model.ClassTooFast, model.Outcome{TargetStatus: 429}, false},
		"a connection that broke":          {model.ClassOutside, model.Outcome{}, false},
	} {
		if got := answerOf(model.Diagnosis{Class: tc.class}, tc.o); got.Good != tc.good || got.TooFast != (tc.class == model.ClassTooFast) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
