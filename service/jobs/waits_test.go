package jobs

import (
	"context"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/exchange"
	"zonedeck/service/servicetest"
	"zonedeck/service/work"
)

// waitingFor gives a job a webhook that is due after some time.
func waitingFor(t *testing.T, cl *Runner, due time.Duration) model.Job {
	t.Helper()
	job, err := cl.cfg.Ledger.Change(t.Context(), accepted(t, cl).ID, func(job *model.Job) (string, error) {
		job.HookDue = cl.cfg.Now().Add(due)
		return "", nil
	})
	noerr.Must(t, err)
	return job
}

// A job that waits costs a write now and then, and the service nothing until its webhook is due.
func TestAJobThatWaitsForItsWebhookIsSeldomLookedAt(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		local     bool
		due, want time.Duration
	}{
		"the emulator, whose clock may be moved": {true, 20 * time.Minute, 15 * time.Second},
		"a service":                              {false, 20 * time.Minute, 5 * time.Minute},
		"a service, nearly due":                  {false, time.Second, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			cl, asked := script(t, text(200, `{"status":"ready"}`))
			p, d, err := exchange.Current(t.Context(), cl.cfg.Source)
			if err != nil || !d.AsksForJobs() {
				t.Fatal(err)
			}
			p.Local = c.local
			cl.cfg.Source = servicetest.Source{Base: cl.cfg.Source, ProfileBy: func(context.Context) (config.Profile, error) { return p, nil }}
			cl.cfg.Clock = servicetest.ClockFunc(func() time.Time { return now })
			job := waitingFor(t, cl, c.due)
			cl.watching.everyJob.all = 1
			cl.watching.calls = map[string]jobCall{}
			item := work.Item{Lane: lane("test"), Key: job.ID}
			again, err := cl.ask(t.Context(), item)
			if err != nil || again != c.want || asked.Load() != 0 {
				t.Errorf("again in %s after %d questions, %v", again, asked.Load(), err)
			}
			now = now.Add(c.due)
			if again, err = cl.ask(t.Context(), item); err != nil || again != 0 || asked.Load() != 1 {
				t.Errorf("due: again in %s after %d questions, %v", again, asked.Load(), err)
			}
			if job, err = cl.Job(t.Context(), job.ID); err != nil || job.State != model.JobReady || !job.HookDue.IsZero() {
				t.Errorf("%+v, %v", job, err)
			}
			now = now.Add(-c.due)
		})
	}
}
