package jobs

import (
	"context"
	"errors"
	"testing"

	"zonedeck/model"
	"zonedeck/service/profile"
)

func TestAJobOfAnotherProfileIsNotSettled(t *testing.T) {
	cl, asked := script(t, text(503, ""))
	job, err := cl.Trigger(t.Context(), trigger("http://lab.test/1"))
	if err != nil || job.State != model.JobMayHave {
		t.Fatalf("%+v, %v", job, err)
	}
	p, err := cl.cfg.Access.Profile(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p.Name = "other"
	cl.cfg.Access.Profile = func(context.Context) (profile.Profile, error) { return p, nil }
	var re *model.RequestError
	if _, err := cl.NotStarted(t.Context(), job.ID); !errors.As(err, &re) || re.Field() != "profile" {
		t.Errorf("marked as not started: %v", err)
	}
	if _, err := cl.Candidates(t.Context(), job.ID); !errors.As(err, &re) || re.Field() != "profile" {
		t.Errorf("candidates: %v", err)
	}
	if _, err := cl.Claim(t.Context(), job.ID, "sd_1"); !errors.As(err, &re) || re.Field() != "profile" {
		t.Errorf("claimed: %v", err)
	}
	if now, err := cl.Job(t.Context(), job.ID); err != nil || now.State != model.JobMayHave || asked.Load() != 1 {
		t.Errorf("%+v, %v, %d calls", now, err, asked.Load())
	}
}
