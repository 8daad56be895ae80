package database

import (
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"zonedeck/internal/noerr"
)

// hasty are options for a file that stays locked.
func hasty() Options {
	o := options()
	o.Busy = 50 * time.Millisecond
	return o
}

func TestALockedFileIsAClearError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "book.db")
	db := openWith(t, path, hasty())
	other := raw(t, path)
	exec(t, other, "BEGIN IMMEDIATE")
	if err := add(t, db, "x"); !errors.Is(err, ErrLocked) || !strings.HasPrefix(err.Error(), "adding a line: ") {
		t.Errorf("writing beside a writer: %v", err)
	}
	if n := count(t, db); n != 0 {
		t.Errorf("%d lines", n)
	}
	exec(t, other, "ROLLBACK")
	if err := add(t, db, "x"); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestAFileHeldExclusivelyIsAClearError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "book.db")
	fill(t, path)
	other := raw(t, path)
	exec(t, other, "PRAGMA locking_mode=EXCLUSIVE")
	exec(t, other, "UPDATE lines SET text = ''")
	if db, _, err := Open(t.Context(), path, hasty()); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), path) {
		t.Errorf("%v", err)
		_ = db.Close()
	}
}

// SQLite does not wait for others while it gives a new file its WAL.
func TestANewFileIsOpenedByManyAtOnce(t *testing.T) {
	for range 100 {
		path := filepath.Join(t.TempDir(), "new.db")
		var opening sync.WaitGroup
		for range 8 {
			opening.Go(func() {
				db, _, err := Open(t.Context(), path, options())
				if err != nil {
					t.Error(err)
					return
				}
				noerr.Want(t, db.Close())
			})
		}
		opening.Wait()
	}
}
