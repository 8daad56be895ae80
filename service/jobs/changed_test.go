package jobs

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/servicetest"
)

// While a job is followed, the config file may change.
func TestAQuestionGoesByTheProfileAsItIsNow(t *testing.T) {
	moved, gone := servicetest.API(t, text(200, `{"status":"ready"}`)), errors.New("nothing is sent by profile test")
	for name, c := range map[string]struct {
		now   func() (config.Profile, error)
		state model.JobState
		err   error
	}{
		"it has another address": {func() (config.Profile, error) { return moved, nil }, model.JobReady, nil},
		"it is gone":             {func() (config.Profile, error) { return config.Profile{}, gone }, model.JobRunning, gone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			first := servicetest.API(t, func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.URL.Path, "/progress/") {
					asked.Add(1)
				}
				text(200, `{"status":"running"}`)(w, r)
			})
			var changed atomic.Bool
			ledger, _ := withLedger(t)
			cl := newRunner(t, first, ledger, func(conf *Config) {
				conf.Source = servicetest.Source{Base: conf.Source, ProfileBy: func(context.Context) (config.Profile, error) {
					if changed.Load() {
						return c.now()
					}
					return first, nil
				}}
			})
			job := accepted(t, cl)
			ctx, end := context.WithTimeout(t.Context(), time.Minute)
			defer end()
			seen := false
			noerr.Must(t, cl.Follow(ctx, func(f Followed) {
				switch {
				case f.Job.State == model.JobRunning && f.On:
					changed.Store(true)
				case f.Job.ID == job.ID && f.Job.State == c.state && errors.Is(f.Err, c.err):
					seen = true
					end()
				}
			}))
			if !seen || asked.Load() != 1 {
				t.Errorf("seen: %t, after %d questions at the first address", seen, asked.Load())
			}
		})
	}
}
