package database

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
)

func TestAPathOfAnySystemIsAnAddress(t *testing.T) {
	for path, want := range map[string]string{
		"/a/book.db":       "file:///a/book.db",
		"/a b/x?y#z%20.db": "file:///a%20b/x%3Fy%23z%2520.db",
		"C:/a b/book.db":   "file:///C:/a%20b/book.db",
	} {
		if got := fileURI(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

// names returns the names of the files in a folder.
func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	noerr.Must(t, err)
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func TestAFileThatCannotBeWrittenIsOpenedForReading(t *testing.T) {
	path := filepath.Join(t.TempDir(), "book.db")
	fill(t, path)
	// A link into a missing folder: no WAL can be made.
	if err := os.Symlink(filepath.Join(path, "nowhere", "wal"), path+"-wal"); err != nil {
		if runtime.GOOS == "windows" {
			t.Skip("needs the right to make symbolic links")
		}
		t.Fatal(err)
	}
	o := options()
	if db, damage, err := Open(t.Context(), path, o); db != nil || damage != nil || !errors.Is(err, ErrReadOnly) {
		t.Fatalf("not for reading alone: %+v, %v", damage, err)
	}
	o.Readable = true
	db, damage, err := Open(t.Context(), path, o)
	if err != nil || damage != nil {
		t.Fatalf("%+v, %v", damage, err)
	}
	defer db.Close()
	if n := count(t, db); n != 100 || !errors.Is(db.Frozen(), ErrReadOnly) {
		t.Errorf("%d lines, frozen by %v", n, db.Frozen())
	}
}

func TestReadingLeavesNothingBeside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "book.db")
	fill(t, path)
	for _, wal := range []bool{false, true} { // an empty one counts as none
		if wal {
			write(t, path+"-wal", nil)
		}
		before := names(t, filepath.Dir(path))
		db := readOnly(t, path, options())
		if n := count(t, db); n != 100 {
			t.Errorf("%d lines", n)
		}
		if after := names(t, filepath.Dir(path)); !slices.Equal(after, before) {
			t.Errorf("beside it are %q, and were %q", after, before)
		}
		noerr.Want(t, db.Close())
	}
}

func TestWhatTheWALHasIsReadToo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "book.db")
	fill(t, path)
	writer := openTest(t, path)
	noerr.Must(t, add(t, writer, "in the WAL"))
	db := readOnly(t, path, options())
	defer db.Close()
	if n := count(t, db); n != 101 {
		t.Errorf("%d lines", n)
	}
}

func TestAFileThatCannotBeWrittenIsCheckedToo(t *testing.T) {
	const mended = "; make the file and its folder writable, so that this can be mended: "
	o := options()
	o.Checked = o.Tables
	newer := o
	newer.Migrations = append(slices.Clone(o.Migrations), "CREATE TABLE notes (n INTEGER)")
	for _, c := range []struct {
		spoil string
		o     Options
		want  error
		says  string
	}{
		{"SELECT 1", newer, ErrReadOnly, "it has schema 1, this program reads 2" + mended},
		{"PRAGMA user_version = -1", o, ErrCorrupt, "the file is damaged: its schema number is -1" + mended},
		{"ALTER TABLE lines RENAME COLUMN text TO words", o, nil, "its schema is not as it was made"},
		{"CREATE INDEX x ON lines (n)", o, nil, ""},
	} {
		path := filepath.Join(t.TempDir(), "book.db")
		fill(t, path)
		exec(t, raw(t, path), c.spoil)
		db, damage, err := openReadOnly(t.Context(), path, c.o, ErrReadOnly)
		if c.want != nil {
			if db != nil || !errors.Is(err, c.want) || !errors.Is(err, ErrReadOnly) || !strings.HasPrefix(err.Error(), c.says) {
				t.Errorf("%s: %v", c.spoil, err)
			}
			continue
		}
		noerr.Must(t, err)
		if n := count(t, db); n != 100 || (damage != nil) != (c.says != "") || damage != nil && !strings.Contains(damage.Err.Error(), c.says) {
			t.Errorf("%s: %d lines, %+v", c.spoil, n, damage)
		}
		noerr.Want(t, db.Close())
	}
}

// A file that is not filled yet would look like one that lost everything.
func TestNobodyOpensAFileBeforeWhatWasReadableIsInIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "book.db")
	write(t, path, []byte(strings.Repeat("not a database ", 1000)))
	o := hasty()
	o.Replaced = func(context.Context, *DB, string) {
		if other, _, err := Open(t.Context(), path, o); other != nil || !errors.Is(err, ErrLocked) {
			t.Errorf("another one opened it meanwhile: %v", err)
		}
	}
	db, damage, err := Open(t.Context(), path, o)
	if err != nil || damage == nil {
		t.Fatalf("%+v, %v", damage, err)
	}
	noerr.Want(t, db.Close())
	noerr.Want(t, openWith(t, path, o).Frozen())
}

func TestTheTablesThatAreMissingAreNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "book.db")
	o := options()
	o.Migrations = []string{"CREATE TABLE lines (n INTEGER); CREATE TABLE notes (n INTEGER); CREATE TABLE words (n INTEGER)"}
	o.Tables = []string{"lines", "notes", "words"}
	for spoil, says := range map[string]string{
		"DROP TABLE notes": "the table notes is missing",
		"DROP TABLE notes; DROP TABLE words; CREATE VIEW words AS SELECT 1": "the table notes and the table words is missing",
	} {
		db, damage, err := Open(t.Context(), path, o)
		if err != nil || damage != nil {
			t.Fatalf("%+v, %v", damage, err)
		}
		if _, err := db.version(t.Context()); err != nil {
			t.Errorf("whole: %v", err)
		}
		exec(t, db.w, spoil)
		if _, err := db.version(t.Context()); !errors.Is(err, ErrCorrupt) || !strings.HasSuffix(err.Error(), ": "+says) {
			t.Errorf("%s: %v", spoil, err)
		}
		noerr.Want(t, db.Close())
		noerr.Must(t, os.Remove(path))
	}
}

func TestAContentThatCannotBeIsDamageOnceItIsSuspected(t *testing.T) {
	path := filepath.Join(t.TempDir(), "book.db")
	o := options()
	o.Migrations = []string{"CREATE TABLE lines (n INTEGER PRIMARY KEY, at INTEGER, text TEXT CHECK (text <> ''))"}
	db, _, err := Open(t.Context(), path, o)
	noerr.Must(t, err)
	exec(t, db.w, "PRAGMA ignore_check_constraints=1; INSERT INTO lines (text) VALUES ('')")
	if err := db.check(t.Context()); err != nil {
		t.Errorf("without a suspicion: %v", err)
	}
	db.markSuspect()
	if at, err := os.Stat(suspectPath(path)); err != nil || runtime.GOOS != "windows" && at.Mode().Perm() != 0o600 {
		t.Errorf("the note: %v, %v", at.Mode(), err)
	}
	noerr.Want(t, db.Close())
	again, damage, err := Open(t.Context(), path, o)
	if err != nil || damage == nil || !errors.Is(damage.Err, ErrCorrupt) || !strings.Contains(damage.Err.Error(), "CHECK constraint failed in lines") {
		t.Fatalf("%+v, %v", damage, err)
	}
	noerr.Want(t, again.Close())
}

func TestEachEndsWithTheFirstError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "book.db")
	fill(t, path)
	db := openTest(t, path)
	enough := errors.New("enough")
	taken := 0
	err := Each(t.Context(), db, "SELECT n FROM lines WHERE n > $1", []any{90}, func(Scanner) error {
		if taken++; taken == 3 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) || taken != 3 {
		t.Errorf("%d rows, %v", taken, err)
	}
	if err := Each(t.Context(), db, "SELECT n FROM nowhere", nil, nil); err == nil {
		t.Error("a table that is not there was read")
	}
}
