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

func TestAJobOutsideTheAllowedDomainsIsNotLaunched(t *testing.T) {
	cl, asked := script(t, text(200, `{"snapshot_id":"sd_1"}`))
	p := noerr.Try(cl.cfg.Source.Profile(t.Context())).Must(t)
	p.AllowedDomains = []string{"lab.test"}
	cl.cfg.Source = servicetest.Source{Base: cl.cfg.Source, ProfileBy: func(context.Context) (config.Profile, error) { return p, nil }}
	for _, r := range []model.TriggerRequest{trigger("http://lab.test/1", "http://other.test/2"), trigger("http://www.lab.test/1"), {
		Dataset: "gd_x", Inputs: []model.JobInput{{Extra: map[string]string{"category_url": `"http://other.test/"`}}},
	}} {
		if _, err := cl.Trigger(t.Context(), r); !errors.Is(err, config.ErrDomain) || !errors.Is(err, model.ErrRequest) {
			t.Errorf("%+v: %v", r.Inputs, err)
		}
	}
	if _, total, err := cl.Jobs(t.Context(), 0); err != nil || total != 0 || asked.Load() != 0 {
		t.Errorf("the ledger has %d jobs, %d calls were made, %v", total, asked.Load(), err)
	}
	if _, err := cl.Trigger(t.Context(), trigger("http://lab.test/1")); err != nil || asked.Load() != 1 {
		t.Errorf("an allowed one: %v after %d calls", err, asked.Load())
	}
}
