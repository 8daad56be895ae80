package fetch

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"time"

	"zonedeck/model"
	"zonedeck/service/exchange"
	"zonedeck/service/pace"
)

// Journal keeps what happened; *journal.Journal is one.
type Journal interface {
	PutFetch(ctx context.Context, profile string, r model.FetchResult) error
	PutComparison(ctx context.Context, g model.Grid) error
	PutProbe(ctx context.Context, profile string, r model.ProbeResult) error
	PutEntry(ctx context.Context, a model.HistoryEntry) error
	// Depart writes down that a call is about to be sent, and landed that its line was put: see
	// journal.Journal.
	Depart(id string, a model.HistoryEntry) (landed func(), err error)
}

// noJournal keeps nothing.
type noJournal struct{}

func (noJournal) PutFetch(context.Context, string, model.FetchResult) error { return nil }
func (noJournal) PutComparison(context.Context, model.Grid) error           { return nil }
func (noJournal) PutProbe(context.Context, string, model.ProbeResult) error { return nil }
func (noJournal) PutEntry(context.Context, model.HistoryEntry) error        { return nil }
func (noJournal) Depart(string, model.HistoryEntry) (func(), error)         { return func() {}, nil }

// Drift learns what the required fields of a fetch by a profile show; *drift.Monitor does. body is the page
// in which they were looked for, nil where they were not. Its error is logged.
type Drift interface {
	Fetched(ctx context.Context, profile string, r model.FetchResult, body []byte) error
}

// Config is what a Fetcher needs. Source and Wire must be set.
type Config struct {
	Source exchange.Source
	Wire   *exchange.Wire
	Bodies exchange.Bodies
	// Journal keeps what happened; nil keeps nothing.
	Journal Journal
	// Pace gives each try its place; nil holds none back.
	Pace *pace.Limiter
	// Drift takes each fetch with required fields; nil takes none.
	Drift Drift
	// Rules gives the rules that the operator added for a profile; its error says why they
	// cannot be used, which every verdict then repeats. Nil means that there are none.
	Rules func(profile string) ([]model.UserRule, error)
	// Now is the clock, nil for time.Now. Timer measures durations, nil for Now.
	Now, Timer func() time.Time
	// proves is FetchResult.Proves of every fetch.
	proves string
	// proof says that every call fetches the test page, to see that a key or a login is accepted.
	proof bool
	// url is what the rules see in place of the request's, for an answer that was saved.
	url *string
	// Rand gives random bits, from any goroutine; nil means the process's own.
	Rand func() uint64
	// Log takes errors that are reported nowhere else; nil discards them.
	Log *slog.Logger
}

// Fetcher sends the fetches of one profile.
type Fetcher struct {
	cfg   Config
	stops stops
}

// New makes a Fetcher. It does no I/O.
func New(c Config) *Fetcher {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Journal == nil {
		c.Journal = noJournal{}
	}
	if c.Timer == nil {
		c.Timer = c.Now
	}
	if c.Rand == nil {
		c.Rand = rand.Uint64
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Fetcher{cfg: c}
}

// newID makes an identifier that sorts by time: the prefix, milliseconds in
// base 36, and 40 random bits.
func (ft *Fetcher) newID(prefix string) string {
	return fmt.Sprintf("%s_%s%08s", prefix,
		strconv.FormatInt(ft.cfg.Now().UnixMilli(), 36), strconv.FormatUint(ft.cfg.Rand()%(1<<40), 36))
}
