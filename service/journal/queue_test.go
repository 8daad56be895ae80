package journal

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/database"
)

// slow is a journal that writes only when its queue is full, beside a writer
// that locks the file until unlock is called.
func slow(t *testing.T, change func(*settings)) (j *Journal, unlock func()) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "journal.db")
	set := defaults()
	set.busy = 50 * time.Millisecond
	set.interval = time.Hour
	change(&set)
	j, _, err := open(t.Context(), path, clock(), set)
	noerr.Must(t, err)
	other := raw(t, j)
	noerr.Must(t, noerr.From(other.ExecContext(t.Context(), "BEGIN IMMEDIATE")))
	return j, func() { noerr.Want(t, noerr.From(other.ExecContext(t.Context(), "ROLLBACK"))) }
}

func line(n int) model.HistoryEntry { return model.HistoryEntry{Text: strings.Repeat("x", n)} }

func TestAFullQueueWaitsForTheDiskAndSaysWhatWasLost(t *testing.T) {
	j, unlock := slow(t, func(s *settings) { s.maxRows = 2 })
	for i, want := range []error{nil, database.ErrLocked, database.ErrLocked, database.ErrLocked, database.ErrLocked, nil} {
		if err := j.PutEntry(t.Context(), line(1)); !errors.Is(err, want) {
			t.Errorf("entry %d: %v, want %v", i+1, err, want)
		}
	}
	// The fifth went beyond twice the bound: five are lost, the sixth waits.
	unlock()
	if err := j.Close(); err == nil || err.Error() != "5 entries of history were not written" {
		t.Errorf("close: %v", err)
	}
	again := openTest(t, j.Path())
	if lines, err := again.Entries(t.Context(), model.HistoryFilter{}); err != nil || len(lines) != 1 {
		t.Errorf("%d lines, %v", len(lines), err)
	}
}

func TestTheQueueIsBoundedInBytesToo(t *testing.T) {
	j, unlock := slow(t, func(s *settings) { s.maxBytes = 10 })
	j.queue.running = true // nobody writes in the background
	for i, c := range []struct {
		bytes int
		want  error
	}{{79, nil}, {1, database.ErrLocked}, {1, database.ErrLocked}, {78, database.ErrLocked}, {2, database.ErrLocked}, {1, nil}} {
		if err := j.PutEntry(t.Context(), line(c.bytes)); !errors.Is(err, c.want) {
			t.Errorf("entry %d: %v, want %v", i+1, err, c.want)
		}
	}
	unlock()
	j.queue.running = false
	if err := j.Close(); err == nil || err.Error() != "5 entries of history were not written" {
		t.Errorf("close: %v", err)
	}
}

func TestEntriesQueuedWhileTheDiskFailsAreWrittenLater(t *testing.T) {
	j, unlock := slow(t, func(*settings) {})
	for range 2 {
		noerr.Must(t, j.PutEntry(t.Context(), line(1)))
	}
	if _, err := j.Entries(t.Context(), model.HistoryFilter{}); !errors.Is(err, database.ErrLocked) {
		t.Errorf("reading beside a writer: %v", err)
	}
	unlock()
	lines, err := j.Entries(t.Context(), model.HistoryFilter{})
	if err != nil || len(lines) != 2 || !lines[1].At.Equal(testTime.Add(time.Second)) {
		t.Errorf("%+v, %v", lines, err)
	}
	noerr.Want(t, j.Close())
	if err := j.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
}

func TestTheContextEndsTheWaitForAnotherGroup(t *testing.T) {
	j := openTest(t, filepath.Join(t.TempDir(), "journal.db"))
	if !j.queue.flushing.TryAcquire(1) {
		t.Fatal("a group is under way")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := j.Entries(ctx, model.HistoryFilter{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	j.queue.flushing.Release(1)
	noerr.Want(t, noerr.From(j.Entries(t.Context(), model.HistoryFilter{})))
}

// A group is complete by its rows or by its bytes, and is then written without waiting for
// the interval.
func TestAGroupIsWrittenWhenItIsComplete(t *testing.T) {
	for name, c := range map[string]struct{ bytes, waiting int }{"rows": {0, 255}, "bytes": {1 << 20, 3}} {
		synctest.Test(t, func(t *testing.T) {
			set := defaults()
			set.interval = 24 * time.Hour
			j, _, err := open(t.Context(), filepath.Join(t.TempDir(), "journal.db"), clock(), set)
			noerr.Must(t, err)
			for n := range c.waiting + 1 {
				noerr.Must(t, j.PutEntry(t.Context(), line(c.bytes)))
				synctest.Wait()
				want := n + 1
				if n == c.waiting {
					want = 0
				}
				if got := len(j.queue.pending); got != want {
					t.Fatalf("%s: %d entries wait after %d, want %d", name, got, n+1, want)
				}
			}
			noerr.Want(t, j.Close())
		})
	}
}
