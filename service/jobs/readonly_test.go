package jobs

import (
	"context"
	"errors"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/servicetest"
)

func TestAReadOnlyProfileLaunchesAndCancelsNothing(t *testing.T) {
	cl, asked := script(t, text(200, "[]"))
	accepted(t, cl)
	p := noerr.Try(cl.cfg.Source.Profile(t.Context())).Must(t)
	p.ReadOnly = true
	cl.cfg.Source = servicetest.Source{Base: cl.cfg.Source, ProfileBy: func(context.Context) (config.Profile, error) { return p, nil }}
	before := asked.Load()
	if _, err := cl.Trigger(t.Context(), trigger("http://lab.test/1")); !errors.Is(err, config.ErrReadOnly) {
		t.Errorf("a trigger: %v", err)
	}
	if _, err := cl.CancelJob(t.Context(), "job-1"); !errors.Is(err, config.ErrReadOnly) {
		t.Errorf("a cancel: %v", err)
	}
	open, err := cl.cfg.Ledger.Change(t.Context(), "job-1", func(j *model.Job) (string, error) { j.State = model.JobMayHave; return "lost", nil })
	noerr.Must(t, err)
	if _, err := cl.NotStarted(t.Context(), open.ID); !errors.Is(err, config.ErrReadOnly) {
		t.Errorf("not started: %v", err)
	}
	if _, err := cl.Claim(t.Context(), open.ID, "sd_other", true); !errors.Is(err, config.ErrReadOnly) {
		t.Errorf("a claim: %v", err)
	}
	if _, total, err := cl.Jobs(t.Context(), 0); err != nil || total != 1 {
		t.Errorf("the ledger has %d jobs, %v", total, err)
	}
	if n := asked.Load() - before; n != 0 {
		t.Errorf("%d calls were made", n)
	}
}
