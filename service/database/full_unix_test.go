//go:build unix

package database

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"zonedeck/internal/noerr"
)

// TestOnAFullDiskAFileCanBeRead simulates the disk by a limit of 0 bytes for every written
// file.
func TestOnAFullDiskAFileCanBeRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "book.db")
	fill(t, path)
	o := options()
	o.Readable = true
	db, err := func() (*DB, error) {
		var limit syscall.Rlimit
		noerr.Must(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit))
		full := limit
		full.Cur = 0
		noerr.Must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &full))
		defer func() { noerr.Want(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit)) }()
		db, _, err := Open(t.Context(), path, o)
		return db, err
	}()
	noerr.Must(t, err)
	defer db.Close()
	if n := count(t, db); n != 100 || !errors.Is(db.Frozen(), ErrReadOnly) {
		t.Errorf("%d lines, frozen by %v", n, db.Frozen())
	}
}
