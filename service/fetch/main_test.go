package fetch

import (
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"zonedeck/internal/noerr"
	"zonedeck/internal/testrun"
	"zonedeck/model"
	"zonedeck/service/exchange"
	"zonedeck/service/journal"
	"zonedeck/service/servicetest"
)

func TestMain(m *testing.M) {
	serveTarget()
	testrun.Parallel(8) // most wait for timeouts
	goleak.VerifyTestMain(m)
}

// fetched is the result of a fetch that comes to one.
func fetched(t *testing.T, f *Fetcher, r model.FetchRequest) model.FetchResult {
	t.Helper()
	res, err := f.Fetch(t.Context(), r, nil)
	noerr.Must(t, err)
	return res
}

// newFetcher is a Fetcher with the secrets of the tests. change sees its Config
// before it is made, with the Config of its Wire.
func newFetcher(t testing.TB, p model.Profile, change ...func(*Config)) *Fetcher {
	t.Helper()
	c := Config{
		Source: servicetest.SourceFor(p),
		Bodies: exchange.Bodies{Dir: filepath.Join(t.TempDir(), "bodies")},
	}
	for _, f := range change {
		f(&c)
	}
	if c.Wire == nil {
		c.Wire = exchange.New(exchange.Config{Now: c.Now, Timer: c.Timer})
	}
	return New(c)
}

// withJournal gives the Fetcher a journal.
func withJournal(t *testing.T) (change func(*Config), j *journal.Journal, dir string) {
	t.Helper()
	j, dir = servicetest.Journal(t)
	return func(c *Config) { c.Journal = j }, j, dir
}
