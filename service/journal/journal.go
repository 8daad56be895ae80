// Package journal keeps the history of this machine: the timeline of fetches,
// probes, jobs and key events, and the fetches themselves with their bodies. It
// is one SQLite file in WAL mode (see package database).
//
// History (PutFetch, PutEntry, PutKeyEvent) is queued and committed in groups,
// at the latest after 50 ms, at 256 rows, before any query answers, and by Close;
// a process that is killed loses at most the last group. What it had under way is told of by the
// next one (Depart). What must not be lost is in package ledger.
//
// The service calls it; views never do. A Journal is safe for concurrent use by
// any number of goroutines, and several processes may have the same file open.
// No secret is ever given to it: it receives references, fingerprints and masked
// texts, and it masks the credentials a request carries to its target.
package journal

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"zonedeck/service/database"
)

// errClosed says that the journal was closed.
var errClosed = errors.New("the journal is closed")

// ErrNoHistory says that this run keeps no history: the journal could not be opened, or none was asked for.
var ErrNoHistory = errors.New("no history is kept in this run")

// settings are what tests change.
type settings struct {
	busy      time.Duration // how long a statement waits for another writer
	interval  time.Duration // the longest a queued entry waits
	groupRows int           // rows that end the wait
	maxRows   int           // rows after which a writer flushes by itself
	maxBytes  int64         // bytes of queued bodies that end the wait
	keep      Keep          // how much history stays
}

func defaults() settings {
	return settings{
		busy:      database.Busy,
		interval:  50 * time.Millisecond,
		groupRows: 256,
		maxRows:   4096,
		maxBytes:  4 << 20,
		keep:      defaultKeep(),
	}
}

// Journal is an open journal file. Close ends its goroutine and writes what is
// queued.
type Journal struct {
	db      *database.DB
	now     func() time.Time
	set     settings
	queue   queue
	flights flights
	source  string // of the lines that it writes
}

// Open opens the journal at path, or makes it with mode 0600. now is the clock
// of entries that carry no time of their own. The errors are those of
// database.Open. A damaged file is put aside, and the notice says so: history is
// not carried over.
func Open(ctx context.Context, path string, now func() time.Time) (j *Journal, notice string, err error) {
	return open(ctx, path, now, defaults())
}

func open(ctx context.Context, path string, now func() time.Time, set settings) (j *Journal, notice string, err error) {
	db, damage, err := database.Open(ctx, path, database.Options{
		Name: "journal", Migrations: migrations[:], Oldest: oldestSchema, Tables: []string{"activity", "activity_costs", "activity_search", "activity_sources", "fetches", "key_events", "key_sightings", "key_uses", "key_values", "twins"}, Now: now, Busy: set.busy,
	})
	if err != nil {
		return nil, "", err
	}
	j = &Journal{db: db, now: now, set: set, flights: flights{dir: path + ".flights"}}
	j.queue.init()
	if damage != nil {
		notice = fmt.Sprintf("The journal %s was damaged (%v). It is kept as %s and a new one was begun.",
			db.Path(), damage.Err, damage.SavedAs)
	}
	if err := j.recoverFlights(ctx); err != nil { // what was not told stays for the next one
		notice = strings.TrimSpace(notice + fmt.Sprintf(" What a killed process had under way is not in the history yet: %v.", err))
	}
	return j, notice, nil
}

// None is a journal that keeps nothing: every call that reads or writes it returns ErrNoHistory.
func None() *Journal { return &Journal{now: time.Now} }

// Keeps reports whether the journal keeps anything.
func (j *Journal) Keeps() bool { return j.db != nil }

// Attribute makes source the one of every line that is put from now on. It is called before
// the first.
func (j *Journal) Attribute(source string) { j.source = source }

// Path is the journal's file.
func (j *Journal) Path() string { return j.db.Path() }

// Close writes what is queued, ends the journal's goroutine and closes the
// file. Its error says how many entries of history could not be written.
func (j *Journal) Close() error {
	if !j.Keeps() {
		return nil
	}
	err := j.queue.close(j)
	j.flights.close()
	return errors.Join(err, j.db.Close())
}
