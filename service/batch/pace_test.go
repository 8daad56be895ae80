package batch_test

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/service/batch"
	"zonedeck/service/exchange"
	"zonedeck/service/fetch"
	"zonedeck/service/pace"
	"zonedeck/service/servicetest"
)

func TestABatchBeginsLowFollowsATargetAndSaysSoToOtherProcesses(t *testing.T) {
	const most = 5
	r := newRig(t)
	p := r.known.Profile
	r.Fetch = fetch.New(fetch.Config{
		Source: servicetest.SourceFor(p), Wire: exchange.New(exchange.Config{}), Bodies: exchange.Bodies{Dir: r.dir},
		Pace: &pace.Limiter{Store: pace.Files{Dir: t.TempDir()}, Clock: servicetest.ClockFunc(time.Now), Log: slog.New(slog.DiscardHandler)},
	})
	refused := 0
	r.pause = 50 * time.Millisecond // a send takes less, so that as many are in flight as may be
	r.answer = func(w http.ResponseWriter, _ string, _ int) bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.now <= most {
			return false
		}
		refused++
		w.Header().Set("X-Brd-Status-Code", "429")
		w.WriteHeader(http.StatusTooManyRequests)
		return true
	}
	report, err := r.Check(t.Context(), r.known, draft(urls(60)), nil)
	noerr.Must(t, err)
	s, err := r.Start(t.Context(), report)
	noerr.Must(t, err)
	var said []string
	end, err := r.Run(t.Context(), s.ID, func(s batch.State) { said = append(said, s.Pace) })
	noerr.Must(t, err)
	other, err := r.Show(t.Context(), s.ID)
	noerr.Must(t, err)
	if said[0] != "" && !strings.HasPrefix(said[0], "4 of 16: ") || !strings.Contains(other.Pace, " of 16 for shop.test: ") || other.Pace != end.Pace {
		t.Errorf("it said %q; at the end %q", said, other.Pace)
	}
	if refused == 0 {
		t.Error("nothing was refused")
	}
}
