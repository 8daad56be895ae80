package jobs

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"zonedeck/model"
	"zonedeck/service/exchange"
	"zonedeck/service/ledger"
	"zonedeck/service/work"
)

// Timeline keeps lines of the timeline.
type Timeline interface {
	PutEntry(ctx context.Context, a model.HistoryEntry) error
	// Depart records that a call is about to be sent, and landed that its line was put: see journal.Journal.
	Depart(id string, a model.HistoryEntry) (landed func(), err error)
	PutKeyRejected(ctx context.Context, at time.Time, profile, key string) error
}

// Config is what a Runner needs. Source and Wire must be set.
type Config struct {
	Source exchange.Source
	Wire   *exchange.Wire
	// Ledger accounts for the jobs; without one no job is started.
	Ledger *ledger.Ledger
	// Queues opens the queue that jobs are asked for by. Without it no job is followed.
	Queues Queues
	// Journal takes the lines of the timeline; nil keeps none.
	Journal Timeline
	// Log takes errors that are reported nowhere else; nil discards them.
	Log *slog.Logger
	// List is the service's list of jobs; nil if there is no such call.
	List RemoteList
	// Inventory knows whose references are not sent along with a job; nil knows of none.
	Inventory Inventory
	// Webhooks says how long a webhook is waited for; nil for model.WebhookWait.
	Webhooks Webhooks
	// Coverages take the rows of results; nil takes none.
	Coverages Coverages
	// DownloadsDir takes results that are downloaded without a destination.
	DownloadsDir string
	// Clock is nil for this machine's.
	Clock
	// Rand gives random bits, from any goroutine; nil means the process's own.
	Rand rand.Source
}

// Queues opens the queue of work; it may be called often.
type Queues interface {
	Work(ctx context.Context) (work.Queue, error)
}

// RemoteList lists the newest jobs of a data set as the service lists them, by a key of the inventory or, without a name, by
// the profile's.
type RemoteList interface {
	RemoteJobs(ctx context.Context, of exchange.Source, key, dataset string, most int) (jobs []model.RemoteJob, skipped int, err error)
}

// Inventory reports whether a reference is, or may be, a key's.
type Inventory interface{ MayBeKey(ref string) bool }

// Webhooks says how long the webhook of a job that begins now is waited for, 0 for model.WebhookWait.
type Webhooks interface{ WebhookDue() time.Duration }

// Coverages begin to take the rows of a job's result.
type Coverages interface{ Coverage(job model.Job) Coverage }

// machine is this machine's clock and random bits.
type machine struct{}

func (machine) Now() time.Time { return time.Now() }
func (machine) Uint64() uint64 { return rand.Uint64() }

// Runner starts and follows the jobs of one profile.
type Runner struct {
	cfg      Config
	watching watching
}

// New makes a Runner. It does no I/O.
func New(c Config) *Runner {
	if c.Clock == nil {
		c.Clock = machine{}
	}
	if c.Rand == nil {
		c.Rand = machine{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	rn := &Runner{cfg: c}
	rn.watching.rn = rn
	return rn
}

// note says what to write beside a changed job.
type note struct {
	step  string // text of a new step; a change of state makes a step anyway
	entry string // text of a line in the timeline, or empty for none
}

// change writes a change to the ledger and then its line to the timeline. The
// two share nothing: a history that cannot be written costs no job.
func (rn *Runner) change(ctx context.Context, id string, change func(*model.Job) (note, error)) (model.Job, error) {
	var n note
	job, err := rn.cfg.Ledger.Change(ctx, id, func(job *model.Job) (string, error) {
		var err error
		n, err = change(job)
		return n.step, err
	})
	if err == nil && n.entry != "" {
		rn.log(ctx, job, n.entry)
	}
	return job, err
}

// log puts a line about a job into the timeline.
func (rn *Runner) log(ctx context.Context, job model.Job, line string) {
	class, cause := job.Fault.Diagnosis.Class, job.Fault.Diagnosis.Cause
	if job.State == model.JobDownloaded && !job.Fault.Any() {
		class, cause = job.Rows.Worst()
	}
	rn.put(ctx, model.HistoryEntry{
		At: job.Updated, Kind: model.HistoryJob, Profile: job.Profile, Via: model.ViaAPI,
		Class: class, Cause: cause,
		Key: job.KeyName, Bytes: job.Bytes, Ref: job.ID, Text: line,
	})
}

// put keeps a line of the timeline, even after ctx has ended.
func (rn *Runner) put(ctx context.Context, a model.HistoryEntry) {
	if rn.cfg.Journal == nil {
		return
	}
	if err := rn.cfg.Journal.PutEntry(context.WithoutCancel(ctx), a); err != nil {
		rn.cfg.Log.Warn("a job's line is missing in the timeline", "job", a.Ref, "error", err)
	}
}

// tellKey adds a line to the timeline if an answer says that the key was rejected,
// even if the call's own time is over.
func (rn *Runner) tellKey(ctx context.Context, profile, key string, d model.Diagnosis) {
	if rn.cfg.Journal == nil || key == "" || d.Cause != model.CauseKeyRejected {
		return
	}
	if err := rn.cfg.Journal.PutKeyRejected(context.WithoutCancel(ctx), rn.cfg.Now(), profile, key); err != nil {
		rn.cfg.Log.Warn("an event of a key is missing in the timeline", "key", key, "error", err)
	}
}

// maxDetail bounds a text of the ledger, in bytes.
const maxDetail = 1000

// line makes a text one bounded line, for the ledger.
func line(s string) string { return model.Line(s, maxDetail) }

// joinText joins what is not empty with a colon.
func joinText(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + ": " + b
}
