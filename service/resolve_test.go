package service

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/emulator"
	"zonedeck/service/emulator/fault"
	"zonedeck/service/emulator/scenario"
	"zonedeck/service/exchange"
	"zonedeck/service/jobs"
	"zonedeck/service/ledger"
	"zonedeck/service/overview"
	"zonedeck/service/servicetest"
)

// dropping is an emulator that starts the jobs of the first triggers but loses its answers.
func dropping(t *testing.T, triggers int64) servicetest.Demo {
	t.Helper()
	sc := scenario.Demo()
	sc.Faults = []fault.Rule{{
		ID: "lost", Match: fault.Match{Point: fault.API, Path: "*/trigger"},
		When: fault.When{Times: triggers},
		Do:   fault.Action{Kind: fault.Drop, Accepted: true},
	}}
	return servicetest.Emulator(t, emulator.Options{StateDir: t.TempDir(), Scenario: sc})
}

func clientOf(t *testing.T, demo servicetest.Demo, l *ledger.Ledger, dir string) *jobs.Jobs {
	t.Helper()
	return joined(jobs.Config{
		Source: demo.Source(demo.Profile), Ledger: l, Queues: servicetest.Work(t), DownloadsDir: dir,
	}, time.Now)
}

func asked(urls ...string) model.TriggerRequest {
	r := model.TriggerRequest{Dataset: "gd_products"}
	for i, u := range urls {
		r.Inputs = append(r.Inputs, model.JobInput{URL: u, Row: i + 1})
	}
	return r
}

func TestAJobThatMayHaveStartedIsFoundInTheServicesList(t *testing.T) {
	demo := dropping(t, 2)
	l, dir := servicetest.Ledger(t)
	c := clientOf(t, demo, l, filepath.Join(dir, "downloads"))
	lost, err := c.Trigger(t.Context(), asked("http://lab.test/product/1", "http://lab.test/product/2"))
	if err != nil || lost.State != model.JobMayHave {
		t.Fatalf("%+v, %v", lost, err)
	}
	alike, err := c.Trigger(t.Context(), asked("http://lab.test/product/3"))
	if err != nil || alike.State != model.JobMayHave {
		t.Fatalf("%+v, %v", alike, err)
	}
	known, err := c.Trigger(t.Context(), asked("http://lab.test/product/4", "http://lab.test/product/5"))
	if err != nil || known.State != model.JobAccepted {
		t.Fatalf("%+v, %v", known, err)
	}
	found, err := c.Settler().Candidates(t.Context(), lost.ID)
	if err != nil || len(found) != 2 { // not the one that the ledger knows
		t.Fatalf("%+v, %v", found, err)
	}
	if !strings.HasPrefix(found[0].For, "2 inputs") || found[1].Inputs != 1 || found[1].Against != "it has 1 input and not 2" {
		t.Errorf("%+v", found)
	}
	if _, err := c.Settler().Claim(t.Context(), lost.ID, "sd_nobody", false); !errors.Is(err, jobs.ErrUnknownJob) {
		t.Errorf("an identifier that the service does not know: %v", err)
	}
	var taken *ledger.TakenError
	if _, err := c.Settler().Claim(t.Context(), lost.ID, known.Snapshot, false); !errors.As(err, &taken) || taken.Job != known.ID {
		t.Errorf("an identifier of another job: %v", err)
	}
	var doubt *jobs.DoubtError
	if _, err := c.Settler().Claim(t.Context(), lost.ID, found[1].Snapshot, false); !errors.As(err, &doubt) || doubt.Against != "it has 1 input and not 2" {
		t.Errorf("one with another number of inputs: %v", err)
	}
	other := asked("http://lab.test/product/6", "http://lab.test/product/7")
	other.Dataset = "gd_pages"
	foreign, foreignDir := servicetest.Ledger(t)
	elsewhere, err := clientOf(t, demo, foreign, filepath.Join(foreignDir, "downloads")).Trigger(t.Context(), other)
	if err != nil || elsewhere.State != model.JobAccepted {
		t.Fatalf("%+v, %v", elsewhere, err)
	}
	if _, err := c.Settler().Claim(t.Context(), lost.ID, elsewhere.Snapshot, false); !errors.As(err, &doubt) || doubt.Against != "the service does not list it among the jobs of gd_products" {
		t.Errorf("one of another data set: %v", err)
	}
	job, err := c.Settler().Claim(t.Context(), lost.ID, found[0].Snapshot, false)
	if err != nil || job.ID != lost.ID || job.Snapshot != found[0].Snapshot || !job.State.Started() || job.Fault.Any() {
		t.Fatalf("%+v, %v", job, err)
	}
	if _, err := c.Settler().Claim(t.Context(), lost.ID, found[1].Snapshot, false); !errors.Is(err, jobs.ErrSettled) {
		t.Errorf("claimed twice: %v", err)
	}
	if _, err := c.Settler().Claim(t.Context(), alike.ID, found[0].Snapshot, true); !errors.As(err, &taken) || taken.Job != lost.ID {
		t.Errorf("one identifier for two jobs: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if job, err = c.Watch(ctx, lost.ID, nil); err != nil || job.State != model.JobReady {
		t.Fatalf("%+v, %v", job, err)
	}
	if job, err = c.Download(ctx, lost.ID, jobs.Destination{}, nil); err != nil || job.Rows.Useful != 2 {
		t.Errorf("%+v, %v", job, err)
	}
	// The other one is marked. A known job is not marked again.
	if job, err = c.Settler().NotStarted(t.Context(), alike.ID); err != nil || job.State != model.JobNotSent || job.Status != 0 {
		t.Errorf("%+v, %v", job, err)
	}
	if _, err = c.Settler().NotStarted(t.Context(), alike.ID); !errors.Is(err, jobs.ErrSettled) {
		t.Errorf("marked twice: %v", err)
	}
	if _, err = c.Settler().Candidates(t.Context(), known.ID); !errors.Is(err, jobs.ErrSettled) {
		t.Errorf("candidates of a job that is known: %v", err)
	}
}

// After an outage, several jobs may have started. Their number of inputs does not tell which is which.
func TestOfSeveralJobsThatMayHaveStartedEachIsFound(t *testing.T) {
	demo := dropping(t, 2)
	l, dir := servicetest.Ledger(t)
	c := clientOf(t, demo, l, filepath.Join(dir, "downloads"))
	var ids []string
	for _, urls := range [][]string{{"http://lab.test/product/1", "http://lab.test/product/2"}, {"http://lab.test/product/3", "http://lab.test/product/4"}} {
		job, err := c.Trigger(t.Context(), asked(urls...))
		if err != nil || job.State != model.JobMayHave {
			t.Fatalf("%+v, %v", job, err)
		}
		ids = append(ids, job.ID)
	}
	// Only its rows tell which job one is.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for i, id := range ids {
		s := noerr.Try(c.Settle(ctx, id)).Must(t)
		one, err := s.Only()
		for ; err != nil; one, err = s.Only() {
			if len(s.Candidates) != 2-i {
				t.Fatalf("%+v", s)
			}
			s = noerr.Try(c.Settle(ctx, id)).Must(t)
		}
		if _, err := c.Decide(ctx, s, jobs.Started(one.Snapshot), nil); err != nil {
			t.Fatal(err)
		}
		noerr.Must(t, noerr.From(c.Watch(ctx, id, nil)))
		table := noerr.Try(c.Records(ctx, id, 5)).Must(t)
		if text := fmt.Sprint(table); !strings.Contains(text, fmt.Sprintf("/product/%d", 2*i+1)) || !strings.Contains(text, fmt.Sprintf("/product/%d", 2*i+2)) {
			t.Errorf("%s was settled as %s: %s", id, one.Snapshot, text)
		}
	}
}

func TestOnlyWhatGaveNothingOrAnErrorIsLaunchedAgain(t *testing.T) {
	demo := servicetest.Emulator(t, emulator.Options{StateDir: t.TempDir(), Scenario: scenario.Demo()})
	l, dir := servicetest.Ledger(t)
	c := clientOf(t, demo, l, filepath.Join(dir, "downloads"))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	job, err := c.Trigger(ctx, asked("http://lab.test/product/99", "http://lab.test/product/1", "http://lab.test/product/2"))
	noerr.Must(t, err)
	if job, err = c.Watch(ctx, job.ID, nil); err != nil || job.State != model.JobReady {
		t.Fatalf("%+v, %v", job, err)
	}
	check := func(from string) {
		t.Helper()
		rest, err := c.Missing(ctx, job.ID)
		if err != nil || rest.Inputs != 3 || rest.Failed != 1 || rest.Nothing != 0 || rest.Unmatched != 0 || len(rest.Request.Inputs) != 1 ||
			rest.Request.Inputs[0].URL != "http://lab.test/product/99" || rest.Request.Repeats != job.ID {
			t.Errorf("from %s: %+v, %v", from, rest, err)
		}
	}
	check("the service")
	for _, format := range []string{"json", "ndjson", "csv"} {
		if job, err = c.Download(ctx, job.ID, jobs.Destination{Format: format}, nil); err != nil {
			t.Fatal(err)
		}
		check(format)
	}
	rest, err := c.Missing(ctx, job.ID)
	noerr.Must(t, err)
	again, err := c.Trigger(ctx, rest.Request)
	if err != nil || again.Repeats != job.ID || again.Inputs != 1 {
		t.Errorf("%+v, %v", again, err)
	}
}

// joined are the jobs of one profile, whose calls are timed by now.
func joined(c jobs.Config, now func() time.Time) *jobs.Jobs {
	c.Wire = exchange.New(exchange.Config{Now: now, Timer: now})
	c.Clock, c.List = clockBy(now), overview.Config{Wire: c.Wire, Now: now}
	return jobs.Join(jobs.Parts{Config: c})
}

type clockBy func() time.Time

func (c clockBy) Now() time.Time { return c() }
