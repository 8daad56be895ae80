// Package journal keeps what the console did: the timeline of fetches, probes,
// jobs and key events, the fetches themselves with their bodies, and the ledger
// of dataset jobs. It is one SQLite file in WAL mode.
//
// Two durabilities live in it. The ledger is written with synchronous FULL: when
// BeginJob or ChangeJob returns, the row survives a power cut. History (PutFetch,
// PutActivity, PutKeyEvent) is queued and committed in groups, at the latest
// after 50 ms, at 256 rows, before any query answers, and by Close; a process
// that is killed loses at most the last group.
//
// The service calls it; views never do. A Journal is safe for concurrent use by
// any number of goroutines, and several processes may have the same file open.
// No secret is ever given to it: what it is handed are references, fingerprints
// and masked texts, and it masks the credentials a request carries to its target.
package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// Notice is something that Open did and that the operator has to be told.
type Notice struct {
	// Text is one or two sentences, empty when there is nothing to say.
	Text string
	// Kept is where a damaged file was put aside, or empty.
	Kept string
}

// settings are what tests change.
type settings struct {
	busy      time.Duration // how long a statement waits for another writer
	interval  time.Duration // the longest a queued entry waits
	groupRows int           // rows that end the wait
	maxRows   int           // rows after which a writer flushes by itself
	maxBytes  int64         // bytes of queued bodies that end the wait
	minLib    string        // the oldest SQLite library that is accepted
	keep      Keep          // how much history stays
}

func defaults() settings {
	return settings{
		busy:      5 * time.Second,
		interval:  50 * time.Millisecond,
		groupRows: 256,
		maxRows:   4096,
		maxBytes:  4 << 20,
		minLib:    "3.51.3",
		keep:      defaultKeep(),
	}
}

// Journal is an open journal file. Close ends its goroutine and writes what is
// queued.
type Journal struct {
	path string
	now  func() time.Time
	set  settings

	w *sql.DB // one connection, BEGIN IMMEDIATE
	r *sql.DB // several connections, query_only

	writing sync.Mutex // held for one transaction of w
	relaxed bool       // the writer's connection is at synchronous NORMAL; guarded by writing

	queue queue

	ownerMu sync.Mutex
	owner   *flock.Flock // this process's sign of life, taken with its first job
	token   string
}

// Open opens the journal at path, or makes it with mode 0600. now is the clock
// of entries that carry no time of their own.
//
// A damaged file is renamed to path.corrupt-<time> together with its -wal and
// -shm, the jobs that can still be read are carried over, and the Notice says
// so. The errors are ErrReadOnly, ErrLocked, ErrFull, ErrTooNew and ErrLibrary
// (or another one of the system), all wrapped with the path.
func Open(ctx context.Context, path string, now func() time.Time) (*Journal, Notice, error) {
	return open(ctx, path, now, defaults())
}

// Path is the journal's file.
func (j *Journal) Path() string { return j.path }

// Close writes what is queued, ends the journal's goroutine and closes the
// file. Its error says how many entries of history could not be written.
func (j *Journal) Close() error {
	err := j.queue.close(j)
	j.releaseOwner()
	// The readers go first, so that the last connection is the one that may write
	// and SQLite can fold the WAL into the file.
	return errors.Join(err, j.r.Close(), j.w.Close())
}

// durability of one transaction.
type durability bool

const (
	full    durability = true  // on disk when the call returns
	grouped durability = false // survives a crash of the process at once, of the machine soon
)

// write runs fn in one immediate transaction of the only writing connection.
// ctx can end the wait for the turn; a transaction that has begun is not cut
// off, because a ledger entry must be written even if its caller stops waiting.
func (j *Journal) write(ctx context.Context, d durability, doing string, fn func(context.Context, *sql.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	ctx = context.WithoutCancel(ctx)
	j.writing.Lock()
	defer j.writing.Unlock()
	if err := j.setDurability(ctx, d); err != nil {
		return j.fault(doing, err)
	}
	tx, err := j.w.BeginTx(ctx, nil)
	if err != nil {
		return j.fault(doing, err)
	}
	if err := fn(ctx, tx); err != nil {
		_ = tx.Rollback() // the first error is the one to report
		return j.fault(doing, err)
	}
	if err := tx.Commit(); err != nil {
		_ = tx.Rollback()
		return j.fault(doing, err)
	}
	return nil
}

// setDurability moves the writing connection between synchronous FULL and
// NORMAL. A connection that database/sql replaced begins at FULL (its DSN says
// so), hence the worst that a stale note can do is to sync once too often.
func (j *Journal) setDurability(ctx context.Context, d durability) error {
	want := d == grouped
	if want == j.relaxed {
		return nil
	}
	mode := "PRAGMA synchronous=FULL"
	if want {
		mode = "PRAGMA synchronous=NORMAL"
	}
	if _, err := j.w.ExecContext(ctx, mode); err != nil {
		return err
	}
	j.relaxed = want
	return nil
}

// micros is a time as the file keeps it: microseconds since 1970, UTC; 0 for
// the zero time.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func fromMicros(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}
