package database

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
)

func TestSyncedSaysHowAFileIsWritten(t *testing.T) {
	for synced, want := range map[bool]int{true: 2, false: 1} { // FULL, NORMAL
		o := options()
		o.Synced = synced
		db, _, err := Open(t.Context(), filepath.Join(t.TempDir(), "book.db"), o)
		noerr.Must(t, err)
		var mode int
		var wal string
		if err := errors.Join(
			db.w.QueryRowContext(t.Context(), "PRAGMA synchronous").Scan(&mode),
			db.w.QueryRowContext(t.Context(), "PRAGMA journal_mode").Scan(&wal),
			db.Close(),
		); err != nil || mode != want || wal != "wal" {
			t.Errorf("synced %t is synchronous=%d, journal mode %s, %v", synced, mode, wal, err)
		}
	}
}

func TestACommitThatFailsIsAnErrorAndTheNextOneWorks(t *testing.T) {
	o := options()
	o.Migrations = []string{"CREATE TABLE lines (n INTEGER PRIMARY KEY, at INTEGER, text TEXT, of INTEGER REFERENCES lines (n) DEFERRABLE INITIALLY DEFERRED)"}
	db, _, err := Open(t.Context(), filepath.Join(t.TempDir(), "book.db"), o)
	noerr.Must(t, err)
	defer db.Close()
	noerr.Must(t, noerr.From(db.w.ExecContext(t.Context(), "PRAGMA foreign_keys=ON")))
	err = db.Write(t.Context(), "a line of none", func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO lines (of) VALUES (99)")
		return err
	})
	if err == nil || !strings.HasPrefix(err.Error(), "a line of none: ") {
		t.Errorf("the commit: %v", err)
	}
	if n := count(t, db); n != 0 {
		t.Errorf("%d lines", n)
	}
	if err := add(t, db, "x"); err != nil {
		t.Errorf("the next transaction: %v", err)
	}
}

func TestAWriteThatHasBegunIsNotCutOff(t *testing.T) {
	db := openTest(t, filepath.Join(t.TempDir(), "book.db"))
	ctx, cancel := context.WithCancel(t.Context())
	err := db.Write(ctx, "adding a line", func(ctx context.Context, tx *sql.Tx) error {
		cancel()
		_, err := tx.ExecContext(ctx, "INSERT INTO lines (text) VALUES ('x')")
		return err
	})
	if err != nil || count(t, db) != 1 {
		t.Errorf("%v, %d lines", err, count(t, db))
	}
	if err := db.Write(ctx, "adding a line", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a write that had not begun: %v", err)
	}
}

func TestATimeThatCannotBeIsDamage(t *testing.T) {
	db := openTest(t, filepath.Join(t.TempDir(), "book.db"))
	for _, c := range []struct {
		stored any
		want   time.Time
		err    error
	}{
		{Micros(testTime), testTime, nil},
		{Micros(time.Time{}), time.Time{}, nil},
		{int64(math.MaxInt64), time.Time{}, ErrCorrupt},
		{int64(math.MinInt64), time.Time{}, ErrCorrupt},
		{int64(253402300800000000), time.Time{}, ErrCorrupt}, // the year 10000
		{int64(253402300799999999), time.Date(9999, 12, 31, 23, 59, 59, 999999000, time.UTC), nil},
		{int64(-62135596800000000), time.Time{}, nil}, // the first moment of the year 1
		{int64(-62135596800000001), time.Time{}, ErrCorrupt},
		{"yesterday", time.Time{}, ErrCorrupt},
		{nil, time.Time{}, ErrCorrupt},
		{1.5, time.Time{}, ErrCorrupt},
	} {
		var got time.Time
		err := db.QueryRowContext(t.Context(), "SELECT $1", c.stored).Scan(Time(&got))
		if !errors.Is(err, c.err) || !got.Equal(c.want) {
			t.Errorf("%v is read as %v, %v", c.stored, got, err)
		}
	}
}

func TestTheContextEndsTheWaitForAnotherWriter(t *testing.T) {
	db := openTest(t, filepath.Join(t.TempDir(), "book.db"))
	if !db.writing.TryAcquire(1) {
		t.Fatal("a transaction is under way")
	}
	waiting, giveUp := context.WithTimeout(t.Context(), time.Millisecond)
	defer giveUp()
	if err := db.Write(waiting, "adding a line", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	db.writing.Release(1)
	if err := add(t, db, "x"); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestErrorsOfTheDatabaseHaveTheirNames(t *testing.T) {
	db := openTest(t, filepath.Join(t.TempDir(), "book.db"))
	if _, err := db.r.ExecContext(t.Context(), "DELETE FROM lines"); !errors.Is(Classify(err), ErrReadOnly) {
		t.Errorf("a reader that writes: %v", Classify(err))
	}
	noerr.Must(t, noerr.From(db.w.ExecContext(t.Context(), "PRAGMA max_page_count=1")))
	if err := add(t, db, strings.Repeat("x", 1<<20)); !errors.Is(err, ErrFull) {
		t.Errorf("no room: %v", err)
	}
}
