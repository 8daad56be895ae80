package fetch

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/exchange"
	"zonedeck/service/servicetest"
)

// slowJournal takes a while to write.
type slowJournal struct {
	fetches, probes, lines int
}

const slow = time.Second

func (j *slowJournal) PutFetch(context.Context, string, model.FetchResult) error {
	time.Sleep(slow) //nolint:forbidigo // the bubble's clock
	j.fetches++
	return nil
}

func (j *slowJournal) Depart(string, model.HistoryEntry) (func(), error) { return func() {}, nil }

func (j *slowJournal) PutProbe(context.Context, string, model.ProbeResult) error {
	time.Sleep(slow) //nolint:forbidigo // the bubble's clock
	j.probes++
	return nil
}

func (*slowJournal) PutComparison(context.Context, model.Grid) error { return nil }

func (j *slowJournal) PutEntry(context.Context, model.HistoryEntry) error {
	time.Sleep(slow) //nolint:forbidigo // the bubble's clock
	j.lines++
	return nil
}

func TestWaitingEndsWhenTheOutcomesAreWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		dial, stop := servicetest.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") == "" { // a probe, through the proxy
				w.WriteHeader(http.StatusNoContent)
				return
			}
			select {
			case <-hang:
			case <-r.Context().Done():
			}
		}))
		p := servicetest.Profile("http://api.test")
		wire := exchange.New(exchange.Config{Connect: dial})
		var j slowJournal
		c := newFetcher(t, p, func(c *Config) { c.Wire, c.Journal = wire, &j })
		if err := wire.Wait(t.Context()); err != nil {
			t.Errorf("nothing is under way, and the wait ends with %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() { noerr.Want(t, noerr.From(c.Fetch(t.Context(), askFor(p, "unlocker1"), nil))) }()
		go func() { _, _ = c.Fetch(ctx, askFor(p, "unlocker1"), nil) }() // it is cancelled
		go func() {
			_, _ = c.Probe(t.Context(), ProbeRequest{Zone: servicetest.Zone(p, "dc1"), Target: "http://lab.test/"}, nil)
		}()
		synctest.Wait()
		short, done := context.WithTimeout(t.Context(), time.Millisecond)
		defer done()
		if err := wire.Wait(short); err == nil {
			t.Error("the wait ended while calls were under way")
		}
		cancel()
		close(hang)
		if err := wire.Wait(t.Context()); err != nil || j != (slowJournal{1, 1, 1}) {
			t.Errorf("written: %+v, %v", j, err)
		}
		stop()
	})
}
