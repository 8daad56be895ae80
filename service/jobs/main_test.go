package jobs

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"zonedeck/internal/noerr"
	"zonedeck/internal/testrun"
	"zonedeck/model"
	"zonedeck/service/exchange"
	"zonedeck/service/ledger"
	"zonedeck/service/servicetest"
	"zonedeck/service/work"
	"zonedeck/service/work/worktest"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(victimEnv); role != "" {
		os.Exit(victim(role))
	}
	testrun.Parallel(8)
	goleak.VerifyTestMain(m)
}

// remoteList, coverages and owns are what a Runner works with, as tests set it.
type (
	remoteList func(ctx context.Context, key, dataset string, most int) ([]model.RemoteJob, int, error)
	coverages  func(job model.Job) Coverage
	owns       string
)

func (f remoteList) RemoteJobs(ctx context.Context, _ exchange.Source, key, dataset string, most int) ([]model.RemoteJob, int, error) {
	return f(ctx, key, dataset, most)
}
func (f coverages) Coverage(job model.Job) Coverage { return f(job) }
func (ref owns) MayBeKey(other string) bool         { return other == string(ref) }

// newRunner is a Runner with the secrets of the tests.
func newRunner(t testing.TB, p model.Profile, change ...func(*Config)) *Runner {
	t.Helper()
	c := Config{
		Source: servicetest.SourceFor(p),
	}
	for _, f := range change {
		f(&c)
	}
	if c.Clock == nil {
		c.Clock = machine{}
	}
	if c.Ledger != nil && c.Queues == nil {
		queue := worktest.NewMemory()
		c.Queues = servicetest.QueuesFunc(func(context.Context) (work.Queue, error) { return queue, nil })
	}
	if c.Wire == nil {
		c.Wire = exchange.New(exchange.Config{Now: c.Now})
	}
	return New(c)
}

// serving is a Runner with a ledger, whose service answers with h.
func serving(t testing.TB, h http.HandlerFunc, change ...func(*Config)) *Runner {
	t.Helper()
	l, _ := withLedger(t)
	return newRunner(t, servicetest.API(t, h), append([]func(*Config){l}, change...)...)
}

// launched is a job that was launched and came to that state.
func launched(t testing.TB, rn *Runner, r model.TriggerRequest, state model.JobState) model.Job {
	t.Helper()
	job, err := rn.Trigger(t.Context(), r)
	if err != nil || job.State != state {
		t.Fatalf("%+v, %v", job, err)
	}
	return job
}

// changed is a job of the ledger after a change.
func changed(t testing.TB, rn *Runner, id string, change func(*model.Job)) model.Job {
	t.Helper()
	return noerr.Try(rn.cfg.Ledger.Change(t.Context(), id, func(job *model.Job) (string, error) {
		change(job)
		return "", nil
	})).Must(t)
}

// inProfile changes the profile in use.
func inProfile(t testing.TB, rn *Runner, change func(*model.Profile)) {
	t.Helper()
	p := noerr.Try(rn.cfg.Source.Profile(t.Context())).Must(t)
	change(&p)
	rn.cfg.Source = servicetest.Source{Base: rn.cfg.Source, ProfileBy: func(context.Context) (model.Profile, error) { return p, nil }}
}

// ledgerIn is the ledger in a folder that other processes write to, until the test ends.
func ledgerIn(t testing.TB, dir string) *ledger.Ledger {
	t.Helper()
	l, _, err := ledger.Open(t.Context(), filepath.Join(dir, "ledger.db"), time.Now)
	noerr.Must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// withLedger gives the Runner a ledger.
func withLedger(t testing.TB) (change func(*Config), dir string) {
	t.Helper()
	l, dir := servicetest.Ledger(t)
	return func(c *Config) { c.Ledger = l }, dir
}
