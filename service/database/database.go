// Package database keeps one SQLite file in WAL mode: it opens the file with the
// right modes, checks and migrates it, puts it aside if it is damaged, writes
// through one connection and reads through several. The journal, the ledger and
// other stores are such files. A Server is a database of PostgreSQL that several machines share.
//
// A DB is safe for concurrent use by any number of goroutines, and several
// processes may have the same file open.
package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"
)

// Options describe a file.
type Options struct {
	// Name is what texts call the file: "journal", "ledger".
	Name string
	// Migrations make the tables, and change them later. Each makes the next schema, whose number is the file's
	// user_version. A released migration is never edited: a change is a new one.
	Migrations []string
	// Oldest is the schema that the first migration makes; 0 means 1. A file with an older one is refused.
	Oldest int
	// Tables must exist after the migrations.
	Tables []string
	// Now dates the name of a damaged file.
	Now func() time.Time
	// Synced has every transaction on disk when Write returns (synchronous FULL).
	// Without it, a transaction survives a crash of the process at once, and of the
	// machine soon.
	Synced bool
	// Busy is how long a statement waits for another writer.
	Busy time.Duration
	// Replaced fills the new file that replaces a damaged one, before Open returns.
	// kept is the path of the damaged one. May be nil.
	Replaced func(ctx context.Context, fresh *DB, kept string)
	// Checked are tables. If there are any, Open compares the schema with the one that the migrations make, and writes a
	// damaged one anew; and it checks these tables with their indexes. If the file is frozen, their damage is returned.
	Checked []string
	// Readable opens a file that cannot be written for reading only (see Frozen).
	Readable bool
}

// newest is the schema that the last migration makes.
func (o Options) newest() int { return max(o.Oldest, 1) + len(o.Migrations) - 1 }

// Busy is how long a statement waits for another writer, except in some tests.
const Busy = 5 * time.Second

// DB is an open file.
type DB struct {
	path   string
	o      Options
	frozen error // why the file cannot be written, or nil

	w *sql.DB // one connection, BEGIN IMMEDIATE; nil when frozen
	r *sql.DB // several connections, query_only

	writing *semaphore.Weighted // held for one transaction of w
	turn    string              // of a server's DB: the lock that each transaction of w takes first
}

// over makes a DB on open pools instead of a file: w writes, r reads.
func over(w, r *sql.DB) *DB { return &DB{w: w, r: r, writing: semaphore.NewWeighted(1)} }

// InTurn is the server for a room whose transactions, here and on other machines, run one after the other, as those of a
// file do: what one has read does not change before it ends. Files that go with it are next to path. Its Close leaves the
// server open.
func (s *Server) InTurn(room, path string) *DB {
	return &DB{path: path, w: s.w, r: s.r, writing: s.writing, turn: room}
}

// Path is the file.
func (db *DB) Path() string { return db.path }

// Frozen is why the file can be read but not written (an ErrReadOnly), or nil.
func (db *DB) Frozen() error { return db.frozen }

// Writer is the pool with the one writing connection, for a library that brings its own tables;
// nil if the file is frozen. Its errors do not pass through Fault.
func (db *DB) Writer() *sql.DB { return db.w }

// Close closes the file.
func (db *DB) Close() error {
	if db.turn != "" {
		return nil
	}
	// Readers first: SQLite can fold the WAL into the file only if the last
	// connection may write.
	err := db.r.Close()
	if db.w != nil {
		err = errors.Join(err, db.w.Close())
	}
	return err
}

// Write runs fn in one immediate transaction of the only writing connection.
// ctx can end the wait for its turn, but not a transaction that has begun: an
// entry of the ledger must be written even if its caller stops waiting.
func (db *DB) Write(ctx context.Context, doing string, fn func(context.Context, *sql.Tx) error) error {
	if db.frozen != nil {
		return fmt.Errorf("%s: %w", doing, db.frozen)
	}
	if err := db.writing.Acquire(ctx, 1); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	defer db.writing.Release(1)
	ctx = context.WithoutCancel(ctx)
	tx, err := db.w.BeginTx(ctx, nil)
	if err != nil {
		return db.Fault(doing, err)
	}
	if db.turn != "" {
		err = Lock(ctx, tx, db.turn)
	}
	if err == nil {
		err = fn(ctx, tx)
	}
	if err != nil {
		_ = tx.Rollback() // the first error is the one to report
		return db.Fault(doing, err)
	}
	if err := tx.Commit(); err != nil {
		_ = tx.Rollback()
		return db.Fault(doing, err)
	}
	return nil
}

// QueryContext asks the readers.
func (db *DB) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return db.r.QueryContext(ctx, query, args...)
}

// QueryRowContext asks the readers for one row.
func (db *DB) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return db.r.QueryRowContext(ctx, query, args...)
}

// Queryer answers queries: a DB or a transaction.
type Queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// In returns the condition that a column has one of the values, as in "n "+condition. The values are the statement's
// first parameters. There must be at least one.
func In[T any](values []T) (condition string, args []any) {
	for _, v := range values {
		args = append(args, v)
	}
	return "IN " + Places(1, len(values)), args
}

// Places are the places of a statement's parameters: "($1, $2)".
func Places(first, last int) string {
	var places []byte
	for i := first; i <= last; i++ {
		places = fmt.Appendf(places, ", $%d", i)
	}
	return "(" + strings.TrimPrefix(string(places), ", ") + ")"
}

// Scanner is a row.
type Scanner interface{ Scan(dest ...any) error }

// Each calls take with every row of an answer, until take returns an error.
func Each(ctx context.Context, q Queryer, query string, args []any, take func(Scanner) error) (err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := take(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Micros is a time as stored in a file: microseconds since 1970, UTC; 0 for the
// zero time.
func Micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// Time scans a column that Micros wrote. A time outside the years 1 to 9999 was
// not written by this program and is an ErrCorrupt.
func Time(t *time.Time) sql.Scanner { return (*column)(t) }

type column time.Time

// Scan is sql.Scanner's.
func (c *column) Scan(src any) error {
	us, ok := src.(int64)
	if !ok {
		return fmt.Errorf("%w: %v is not a time", ErrCorrupt, src)
	}
	if us == 0 {
		*c = column{}
		return nil
	}
	t := time.UnixMicro(us).UTC()
	if t.Year() < 1 || t.Year() > 9999 {
		return fmt.Errorf("%w: a time of %d microseconds since 1970 is out of range", ErrCorrupt, us)
	}
	*c = column(t)
	return nil
}
