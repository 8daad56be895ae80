package database

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"go/version"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"go.uber.org/goleak"

	"zonedeck/internal/noerr"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var testTime = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// options describe a file with one table.
func options() Options {
	return Options{
		Name: "book", Migrations: []string{"CREATE TABLE lines (n INTEGER PRIMARY KEY, at INTEGER, text TEXT)"}, Tables: []string{"lines"},
		Now: func() time.Time { return testTime }, Busy: Busy,
	}
}

func openTest(t testing.TB, path string) *DB {
	t.Helper()
	return openWith(t, path, options())
}

func openWith(t testing.TB, path string, o Options) *DB {
	t.Helper()
	db, damage, err := Open(t.Context(), path, o)
	if err != nil || damage != nil {
		t.Fatalf("%+v, %v", damage, err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return db
}

func add(t testing.TB, db *DB, text string) error {
	t.Helper()
	return db.Write(t.Context(), "adding a line", func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO lines (at, text) VALUES ($1, $2)", Micros(testTime), text)
		return err
	})
}

func count(t testing.TB, db *DB) (n int) {
	t.Helper()
	noerr.Want(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM lines").Scan(&n))
	return n
}

// fill makes a file of several pages, one of which holds a needle.
func fill(t testing.TB, path string) {
	t.Helper()
	db, _, err := Open(t.Context(), path, options())
	noerr.Must(t, err)
	for i := range 100 {
		text := strings.Repeat("filler ", 40)
		if i == 50 {
			text = "needle-in-the-book"
		}
		noerr.Must(t, add(t, db, text))
	}
	noerr.Must(t, db.Close())
}

// spoil overwrites the head of the 4 KiB page that holds the needle.
func spoil(t testing.TB, path string) {
	t.Helper()
	b := read(t, path)
	i := bytes.Index(b, []byte("needle-in-the-book"))
	if i < 8192 {
		t.Fatalf("the needle is at %d", i)
	}
	copy(b[i/4096*4096:], bytes.Repeat([]byte{0xee}, 64))
	write(t, path, b)
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	noerr.Must(t, err)
	return b
}

func write(t testing.TB, path string, b []byte) {
	t.Helper()
	noerr.Must(t, os.WriteFile(path, b, 0o600))
}

// raw opens the file like any other program.
func raw(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", fileURI(path))
	noerr.Must(t, err)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func exec(t testing.TB, db *sql.DB, query string) {
	t.Helper()
	noerr.Must(t, noerr.From(db.ExecContext(t.Context(), query)))
}

func TestADamagedFileIsKeptAndANewOneBegun(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, path string){
		"garbage in place of the file": func(t *testing.T, path string) {
			write(t, path, bytes.Repeat([]byte("not a database "), 1000))
		},
		"the header is overwritten": func(t *testing.T, path string) {
			b := read(t, path)
			copy(b, "oops")
			write(t, path, b)
		},
		"the tables' page is overwritten": func(t *testing.T, path string) {
			b := read(t, path)
			copy(b[100:], bytes.Repeat([]byte{0xee}, 900))
			write(t, path, b)
		},
		"a page is overwritten and was met": func(t *testing.T, path string) {
			spoil(t, path)
			write(t, suspectPath(path), nil)
		},
		"the table is missing":         func(t *testing.T, path string) { exec(t, raw(t, path), "DROP TABLE lines") },
		"the schema's number is lost":  func(t *testing.T, path string) { exec(t, raw(t, path), "PRAGMA user_version=0") },
		"the schema's number is below": func(t *testing.T, path string) { exec(t, raw(t, path), "PRAGMA user_version=-7") },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "book.db")
			fill(t, path)
			damage(t, path)
			o, replaced := options(), ""
			o.Replaced = func(_ context.Context, fresh *DB, kept string) {
				replaced = kept
				noerr.Want(t, add(t, fresh, "carried over"))
			}
			db, found, err := Open(t.Context(), path, o)
			noerr.Must(t, err)
			defer db.Close()
			if found == nil || !errors.Is(found.Err, ErrCorrupt) || found.SavedAs != replaced || !strings.HasPrefix(filepath.Base(found.SavedAs), "book.db.corrupt-2026") {
				t.Errorf("damage %+v, and the new one was filled from %q", found, replaced)
			}
			if strings.Contains(found.Err.Error(), "\n") {
				t.Errorf("the damage is told in several lines: %q", found.Err)
			}
			if _, err := os.Stat(found.SavedAs); err != nil {
				t.Errorf("the damaged file: %v", err)
			}
			if n := count(t, db); n != 1 {
				t.Errorf("%d lines in the new file", n)
			}
		})
	}
}

func TestDamageIsRememberedForTheNextOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "book.db")
	fill(t, path)
	spoil(t, path)
	db, damage, err := Open(t.Context(), path, options())
	if err != nil || damage != nil {
		t.Fatalf("%+v, %v: the damage is not at the front", damage, err)
	}
	err = Each(t.Context(), db, "SELECT text FROM lines", nil, func(s Scanner) error { return s.Scan(new(string)) })
	if err = db.Fault("reading", err); !errors.Is(err, ErrCorrupt) || !strings.HasSuffix(err.Error(), "; the next start checks the whole file") {
		t.Fatalf("reading the damage: %v", err)
	}
	_ = db.Close()
	db, damage, err = Open(t.Context(), path, options())
	if err != nil || damage == nil {
		t.Fatalf("%+v, %v", damage, err)
	}
	_ = db.Close()
}

func TestASoundFileUnderSuspicionStaysInUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "book.db")
	fill(t, path)
	write(t, suspectPath(path), nil)
	if n := count(t, openTest(t, path)); n != 100 {
		t.Errorf("%d lines", n)
	}
	if _, err := os.Stat(suspectPath(path)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the suspicion was not lifted: %v", err)
	}
}

func TestAFolderThatCannotBeWrittenIsAClearError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "home", "book.db")
	switch {
	case os.Getuid() > 0:
		noerr.Must(t, os.Mkdir(filepath.Dir(path), 0o500))
	case runtime.GOOS == "linux":
		path = "/sys/zonedeck/book.db" // not even the superuser can write there
	default:
		t.Skip("needs a folder that cannot be written: run it as an ordinary user")
	}
	o := options()
	o.Readable = true
	db, _, err := Open(t.Context(), path, o)
	if !errors.Is(err, ErrReadOnly) || !strings.HasPrefix(err.Error(), "opening the book "+path+": ") {
		t.Errorf("%v", err)
	}
	if db != nil {
		_ = db.Close()
	}
}

// readOnly opens a sound file as one that cannot be written.
func readOnly(t *testing.T, path string, o Options) *DB {
	t.Helper()
	db, damage, err := openReadOnly(t.Context(), path, o, ErrReadOnly)
	if err != nil || damage != nil {
		t.Fatalf("it cannot be read: %+v, %v", damage, err)
	}
	return db
}

func TestAFileThatCannotBeWrittenCanBeRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "book.db")
	fill(t, path)
	frozen := func(t *testing.T) {
		t.Helper()
		db := readOnly(t, path, options())
		defer db.Close()
		if n := count(t, db); n < 100 || !errors.Is(db.Frozen(), ErrReadOnly) {
			t.Errorf("%d lines; %v", n, db.Frozen())
		}
		if err := add(t, db, "x"); !errors.Is(err, ErrReadOnly) || err.Error() != "adding a line: "+ErrReadOnly.Error() {
			t.Errorf("writing: %v", err)
		}
	}
	t.Run("as it lies there", frozen)
	t.Run("while another process writes", func(t *testing.T) {
		db := openTest(t, path)
		noerr.Must(t, add(t, db, "in the WAL"))
		frozen(t)
	})
	t.Run("not without its tables", func(t *testing.T) {
		empty := filepath.Join(t.TempDir(), "empty.db")
		write(t, empty, nil)
		if db, _, err := openReadOnly(t.Context(), empty, options(), ErrReadOnly); db != nil || !errors.Is(err, ErrReadOnly) {
			t.Errorf("an empty file was opened for reading: %v", err)
		}
	})
}

func TestAFileOfALaterVersionIsLeftAlone(t *testing.T) {
	for _, version := range []int{2, math.MaxInt32} {
		path := filepath.Join(t.TempDir(), "book.db")
		fill(t, path)
		exec(t, raw(t, path), fmt.Sprintf("PRAGMA user_version=%d", version))
		before := read(t, path)
		if db, _, err := Open(t.Context(), path, options()); !errors.Is(err, errTooNew) || !strings.Contains(err.Error(), fmt.Sprint(version)) {
			t.Errorf("%v", err)
			_ = db.Close()
		}
		if !bytes.Equal(read(t, path), before) {
			t.Error("the file was changed")
		}
	}
}

func TestTheLibrarysWALIsSafe(t *testing.T) {
	var lib string
	noerr.Must(t, raw(t, filepath.Join(t.TempDir(), "book.db")).QueryRowContext(t.Context(), "SELECT sqlite_version()").Scan(&lib))
	if version.Compare("go"+lib, "go3.51.3") < 0 { // before, a WAL can be damaged by two that use it
		t.Errorf("the library is version %s", lib)
	}
}

func TestAnyPathWorks(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b?c#d%20e&mode=memory;ü")
	if runtime.GOOS == "windows" {
		dir = filepath.Join(t.TempDir(), "a b#d%20e&mode=memory;ü")
	}
	path := filepath.Join(dir, "book.db")
	fill(t, path)
	entries, err := os.ReadDir(dir)
	noerr.Must(t, err)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "book.db") {
			t.Errorf("a stray file %q", e.Name())
		}
	}
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestOnlyDamageIsReplaced(t *testing.T) {
	const garbage = "not a database, but long enough to be looked at as one"
	fails := func(t *testing.T, path string, want error) {
		t.Helper()
		db, damage, err := openOrReplace(t.Context(), path, hasty())
		if db != nil || damage != nil || err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%v, %+v, %v; want %v", db, damage, err, want)
		}
	}
	t.Run("another process was quicker", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "book.db")
		fill(t, path)
		db, damage, err := replace(t.Context(), path, options())
		if err != nil || damage != nil {
			t.Fatalf("%+v, %v", damage, err)
		}
		if n := count(t, db); n != 100 {
			t.Errorf("%d lines", n)
		}
		noerr.Want(t, db.Close())
		spoil(t, path)
		write(t, suspectPath(path), nil)
		db, _, err = openOrReplace(t.Context(), path, options())
		noerr.Must(t, err)
		defer db.Close()
		if info, err := os.Stat(path + ".lock"); runtime.GOOS != "windows" && (err != nil || info.Mode().Perm() != 0o600) {
			t.Errorf("the lock: %v, %v", info, err)
		}
		lock := flock.New(path + ".lock")
		if free, err := lock.TryLock(); err != nil || !free {
			t.Errorf("the lock is still held: %v, %v", free, err)
		}
		noerr.Want(t, lock.Close())
	})
	t.Run("a later version", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "book.db")
		fill(t, path)
		exec(t, raw(t, path), "PRAGMA user_version=99")
		fails(t, path, errTooNew)
	})
	t.Run("the lock is held", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "book.db")
		write(t, path, []byte(garbage))
		lock := flock.New(path + ".lock")
		if held, err := lock.TryLock(); err != nil || !held {
			t.Fatal(held, err)
		}
		defer lock.Close()
		fails(t, path, context.DeadlineExceeded)
		if b := read(t, path); string(b) != garbage {
			t.Errorf("the file became %q", b)
		}
	})
	t.Run("a folder", func(t *testing.T) { fails(t, t.TempDir(), nil) })
	t.Run("it cannot be set aside", func(t *testing.T) {
		// Its name is so long that the names next to it are too long.
		path := filepath.Join(t.TempDir(), strings.Repeat("b", 240))
		write(t, path, []byte(strings.Repeat(garbage, 100)))
		fails(t, path, nil)
		if kept, err := setAside(path, testTime); err == nil || kept != "" {
			t.Errorf("kept as %q, %v", kept, err)
		}
		if b := read(t, path); !strings.HasPrefix(string(b), garbage) {
			t.Errorf("the file became %q", b)
		}
	})
}

func TestASuspicionThatStaysIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "book.db")
	write(t, path, []byte("damaged"))
	// A folder that is not empty cannot be removed like a file.
	noerr.Must(t, os.MkdirAll(filepath.Join(suspectPath(path), "x"), 0o700))
	if kept, err := setAside(path, testTime); kept != "" || err == nil || !strings.HasPrefix(err.Error(), "putting the damaged file aside: ") {
		t.Errorf("kept as %q, %v", kept, err)
	}
}

func TestEveryDamagedFileIsKeptUnderANameOfItsOwn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "book.db")
	base := path + ".corrupt-20261121T120000Z"
	for _, want := range []string{base, base + "-2", base + "-3"} {
		for _, tail := range []string{"", "-wal", "-shm", ".suspect"} {
			write(t, path+tail, []byte(want+tail))
		}
		kept, err := setAside(path, testTime)
		if err != nil || kept != want {
			t.Fatalf("kept as %q, %v; want %q", kept, err, want)
		}
		for _, tail := range []string{"", "-wal", "-shm"} {
			if b := read(t, kept+tail); string(b) != want+tail {
				t.Errorf("%s holds %q", kept+tail, b)
			}
		}
		if _, err := os.Stat(suspectPath(path)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the suspicion stays: %v", err)
		}
	}
}

func TestAFileThatCannotBeMigratedIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "book.db")
	exec(t, raw(t, path), "CREATE TABLE other (x)")
	o := options()
	o.Migrations = []string{"CREATE TABLE other (y)"}
	if db, _, err := Open(t.Context(), path, o); db != nil || err == nil || !strings.Contains(err.Error(), "schema 1: ") {
		t.Errorf("%v", err)
	}
}

func TestASuspicionThatCannotBeLiftedIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "book.db")
	fill(t, path)
	noerr.Must(t, os.MkdirAll(filepath.Join(suspectPath(path), "x"), 0o700))
	if db, damage, err := Open(t.Context(), path, options()); db != nil || err == nil || damage != nil {
		t.Errorf("%+v, %v", damage, err)
	}
}
