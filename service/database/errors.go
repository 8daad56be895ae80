package database

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Errors that callers decide on. Each is wrapped with what was being done.
var (
	// ErrReadOnly says that the file or its folder cannot be written.
	ErrReadOnly = errors.New("the file cannot be written")
	// ErrLocked says that another process kept the file locked for too long (see
	// Options.Busy).
	ErrLocked = errors.New("the file is locked by another process")
	// ErrCorrupt says that the file is damaged. The next Open checks the whole
	// file, and puts it aside if it is.
	ErrCorrupt = errors.New("the file is damaged")
	// ErrFull says that the disk is full.
	ErrFull = errors.New("the disk is full")
	// errTooNew says that a later version of the program wrote the file.
	errTooNew = errors.New("the file was written by a later version")
	// ErrTooOld says that the file's schema is from before the first release.
	ErrTooOld = errors.New("the file was written by a version before the first release: move it away")
	// ErrNotFound says that no entry has an identifier.
	ErrNotFound = errors.New("not in the file")
)

// Faults are the errors caused by a file itself, whatever was asked of it.
func Faults() []error {
	return []error{ErrReadOnly, ErrLocked, ErrCorrupt, ErrFull, errTooNew, ErrTooOld}
}

// Fault wraps an error of a statement; nil stays nil. If the file is damaged, it leaves a note
// next to it, and the next Open checks the whole file.
func (db *DB) Fault(doing string, err error) error {
	err = Classify(err)
	if errors.Is(err, ErrCorrupt) && db.path != "" {
		db.markSuspect()
		err = fmt.Errorf("%w; the next start checks the whole file", err)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", doing, err)
	}
	return err
}

// Classify wraps an error of SQLite, PostgreSQL or the system with the typed one, if any.
func Classify(err error) error {
	var se *sqlite.Error
	if errors.As(err, &se) {
		// The low byte is the primary code; the rest narrows it.
		switch se.Code() & 0xff {
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
			return fmt.Errorf("%w (%w)", ErrLocked, err)
		case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
			return fmt.Errorf("%w (%w)", ErrReadOnly, err)
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
			return fmt.Errorf("%w (%w)", ErrCorrupt, err)
		case sqlite3.SQLITE_FULL:
			return fmt.Errorf("%w (%w)", ErrFull, err)
		case sqlite3.SQLITE_IOERR:
			// The WAL's index cannot be made next to the file, as on a full disk.
			if se.Code() == sqlite3.SQLITE_IOERR_SHMOPEN || se.Code() == sqlite3.SQLITE_IOERR_SHMSIZE {
				return fmt.Errorf("%w (%w)", ErrReadOnly, err)
			}
		}
		return err
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return fmt.Errorf("%w (%w)", ErrReadOnly, err)
	}
	return classifyServer(err)
}

// markSuspect leaves a note for the next Open of a file. If it cannot, nothing is worse
// than before.
func (db *DB) markSuspect() { _ = os.WriteFile(suspectPath(db.path), nil, 0o600) }

// liftSuspicion removes the note, if there is one.
func liftSuspicion(path string) error {
	if err := os.Remove(suspectPath(path)); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func suspectPath(path string) string { return path + ".suspect" }
