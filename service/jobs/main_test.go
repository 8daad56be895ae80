package jobs

import (
	"context"
	"os"
	"testing"

	"go.uber.org/goleak"

	"zonedeck/model"
	"zonedeck/service/exchange"
	"zonedeck/service/servicetest"
	"zonedeck/service/work"
	"zonedeck/service/work/worktest"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(victimEnv); role != "" {
		os.Exit(victim(role))
	}
	goleak.VerifyTestMain(m)
}

// remoteList, coverages and owns are what a Runner works with, as tests set it.
type (
	remoteList func(ctx context.Context, key, dataset string, most int) ([]model.RemoteJob, int, error)
	coverages  func(job model.Job) Coverage
	owns       string
)

func (f remoteList) RemoteJobs(ctx context.Context, key, dataset string, most int) ([]model.RemoteJob, int, error) {
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

// withLedger gives the Runner a ledger.
func withLedger(t testing.TB) (change func(*Config), dir string) {
	t.Helper()
	l, dir := servicetest.Ledger(t)
	return func(c *Config) { c.Ledger = l }, dir
}
