package jobs

import (
	"math/rand/v2"
	"time"

	"zonedeck/service/exchange"
	"zonedeck/service/journal"
)

// Config is what a Runner needs. Access and Wire must be set.
type Config struct {
	Access exchange.Access
	Wire   *exchange.Wire
	// Journal holds the ledger; without one no job is started.
	Journal *journal.Journal
	// DownloadsDir takes results that are downloaded without a destination.
	DownloadsDir string
	// Now is the clock, nil for time.Now.
	Now func() time.Time
	// Rand gives random bits, from any goroutine; nil means the process's own.
	Rand func() uint64
}

// Runner starts and follows the jobs of one profile.
type Runner struct{ cfg Config }

// New makes a Runner. It does no I/O.
func New(c Config) *Runner {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Rand == nil {
		c.Rand = rand.Uint64
	}
	return &Runner{cfg: c}
}
