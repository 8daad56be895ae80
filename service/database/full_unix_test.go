//go:build unix

package database

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
)

// TestOnAFullDiskAFileCanBeRead: a limit of 0 bytes for every file that is written stands
// for the disk.
func TestOnAFullDiskAFileCanBeRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "book.db")
	fill(t, path)
	o := options()
	o.Readable = true
	db, err := func() (*DB, error) {
		var limit syscall.Rlimit
		if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			t.Fatal(err)
		}
		full := limit
		full.Cur = 0
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &full); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
				t.Error(err)
			}
		}()
		db, _, err := Open(t.Context(), path, o)
		return db, err
	}()
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if n := count(t, db); n != 100 || !errors.Is(db.Frozen(), ErrReadOnly) {
		t.Errorf("%d lines, frozen by %v", n, db.Frozen())
	}
}
