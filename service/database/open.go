package database

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sync/semaphore"
)

// Damage is a file that could not be used as it was.
type Damage struct {
	Err     error  // what is wrong with it, an ErrCorrupt
	SavedAs string // where it lies now
}

// Open opens the file at path, or makes it with mode 0600. A damaged file is
// renamed to path.corrupt-<time> together with its -wal and -shm, a new one takes
// its place (see Options.Replaced), and the Damage is returned beside the DB.
//
// The errors are ErrReadOnly, ErrLocked, ErrFull, ErrTooNew, ErrTooOld, ErrCorrupt (tables
// that are not this program's) and ErrLibrary, or another one of the system, all
// wrapped with the path.
func Open(ctx context.Context, path string, o Options) (*DB, *Damage, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, nil, fmt.Errorf("opening the %s: %w", o.Name, err)
	}
	db, damage, err := openOrReplace(ctx, path, o)
	if errors.Is(err, ErrReadOnly) && o.Readable {
		if frozen := attachReadOnly(ctx, path, o, err); frozen != nil {
			return frozen, nil, nil
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("opening the %s %s: %w", o.Name, path, err)
	}
	return db, damage, nil
}

func openOrReplace(ctx context.Context, path string, o Options) (*DB, *Damage, error) {
	if err := prepare(path); err != nil {
		return nil, nil, Classify(err)
	}
	db, err := attachPatiently(ctx, path, o)
	if err == nil || !errors.Is(err, ErrCorrupt) {
		return db, nil, err
	}
	return replace(ctx, path, o)
}

// attachPatiently attaches a file that others may be opening for the first time, too: SQLite
// gives one of them up at once, whatever its busy timeout, while another gives the file its WAL.
func attachPatiently(ctx context.Context, path string, o Options) (*DB, error) {
	began := time.Now()
	for {
		db, err := attach(ctx, path, o)
		if !errors.Is(err, ErrLocked) || time.Since(began) >= o.Busy {
			return db, err
		}
		select {
		case <-ctx.Done():
			return db, err
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// prepare makes the folder and the file with the modes we want (SQLite would
// take the umask's), which also finds out early whether they can be written.
func prepare(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// attach opens the file's connections and brings its tables up to date. Its
// error is already classified.
func attach(ctx context.Context, path string, o Options) (*DB, error) {
	synchronous := "synchronous(NORMAL)"
	if o.Synced {
		synchronous = "synchronous(FULL)"
	}
	w := connect(path, o, "_txlock", "immediate", "_pragma", "journal_mode(WAL)", "_pragma", synchronous)
	w.SetMaxOpenConns(1)
	r := connect(path, o, "_pragma", "query_only(1)")
	r.SetMaxOpenConns(4)
	db := &DB{path: path, o: o, w: w, r: r, writing: semaphore.NewWeighted(1)}
	if err := db.check(ctx); err != nil {
		_ = db.Close()
		return nil, Classify(err)
	}
	return db, nil
}

// attachReadOnly opens a file that cannot be written, or returns nil. A file
// without a WAL is read as it lies there, because SQLite cannot make the WAL's
// index in a folder that it cannot write.
func attachReadOnly(ctx context.Context, path string, o Options, reason error) *DB {
	params := []string{"mode", "ro"}
	if info, err := os.Stat(path + "-wal"); err != nil || info.Size() == 0 {
		params = append(params, "immutable", "1")
	}
	r := connect(path, o, params...)
	db := &DB{path: path, o: o, r: r, frozen: reason}
	if version, err := db.version(ctx, r); err != nil || version != o.newest() {
		_ = db.Close()
		return nil
	}
	return db
}

// connect prepares a pool; a connection is made when one is needed. params are
// names and values of the driver's DSN.
func connect(path string, o Options, params ...string) *sql.DB {
	q := url.Values{}
	q.Add("_pragma", fmt.Sprintf("busy_timeout(%d)", o.Busy.Milliseconds()))
	q.Add("_pragma", "cache_size(-512)") // KiB for each connection; what is read again is in the system's cache
	for i := 0; i < len(params); i += 2 {
		q.Add(params[i], params[i+1])
	}
	db, err := sql.Open("sqlite", fileURI(path)+"?"+q.Encode())
	if err != nil {
		panic(err) // the driver is not in this program
	}
	return db
}

// fileURI is an absolute path as SQLite's URI file names want it: slashes, and
// everything with a meaning in a URI escaped.
func fileURI(path string) string {
	p := filepath.ToSlash(path)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p // C:/… on Windows
	}
	return (&url.URL{Scheme: "file", Path: p}).String()
}

// check reads what decides whether the file can be used, and migrates it.
func (db *DB) check(ctx context.Context) error {
	version, err := db.version(ctx, db.w)
	if err != nil {
		return err
	}
	if _, err := os.Stat(suspectPath(db.path)); err == nil {
		if err := db.checkThrough(ctx); err != nil {
			return err
		}
	}
	return db.migrate(ctx, version)
}

// version is the schema that the file has, between none and the newest known.
func (db *DB) version(ctx context.Context, pool *sql.DB) (int, error) {
	var lib string
	var version int
	row := pool.QueryRowContext(ctx, "SELECT sqlite_version(), (SELECT user_version FROM pragma_user_version)")
	if err := row.Scan(&lib, &version); err != nil {
		return 0, err
	}
	want := cmp.Or(db.o.minLib, minLib)
	switch {
	case olderThan(lib, want):
		return 0, fmt.Errorf("%w: version %s, and a WAL is safe from %s on", errLibrary, lib, want)
	case version < 0:
		return 0, fmt.Errorf("%w: its schema has the number %d", ErrCorrupt, version)
	case version > db.o.newest():
		return 0, fmt.Errorf("%w: it has schema %d, this program knows up to %d", errTooNew, version, db.o.newest())
	case version > 0 && version < db.o.Oldest:
		return 0, fmt.Errorf("%w: it has schema %d, this program knows %d and later", ErrTooOld, version, db.o.Oldest)
	}
	missing, err := db.missing(ctx, pool)
	switch {
	case err != nil:
		return 0, err
	case version == db.o.newest() && len(missing) > 0:
		return 0, fmt.Errorf("%w: the table %s is missing", ErrCorrupt, strings.Join(missing, " and the table "))
	case version == 0 && len(missing) < len(db.o.Tables): // as sqlite3's .dump and .recover leave it
		return 0, fmt.Errorf("%w: it has tables, and its schema has no number", ErrCorrupt)
	}
	return version, nil
}

// missing are the tables that the migrations make and the file has not.
func (db *DB) missing(ctx context.Context, pool *sql.DB) ([]string, error) {
	missing := slices.Clone(db.o.Tables)
	err := Each(ctx, pool, "SELECT name FROM sqlite_schema WHERE type = 'table'", nil, func(row Scanner) error {
		var name string
		err := row.Scan(&name)
		missing = slices.DeleteFunc(missing, func(table string) bool { return table == name })
		return err
	})
	return missing, err
}

// checkThrough reads the whole file, which is done only when something was
// found wrong with it before.
func (db *DB) checkThrough(ctx context.Context) error {
	var verdict string
	if err := db.w.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&verdict); err != nil {
		return err
	}
	if verdict != "ok" {
		return fmt.Errorf("%w (%s)", ErrCorrupt, strings.TrimPrefix(verdict, "*** in database main ***\n"))
	}
	return liftSuspicion(db.path)
}

// olderThan compares dotted version numbers; a part that is not a number counts as 0.
func olderThan(have, want string) bool {
	h, w := strings.Split(have, "."), strings.Split(want, ".")
	for i := range max(len(h), len(w)) {
		a, b := part(h, i), part(w, i)
		if a != b {
			return a < b
		}
	}
	return false
}

func part(parts []string, i int) int {
	if i >= len(parts) {
		return 0
	}
	n, _ := strconv.Atoi(parts[i]) // 0 where it is not one
	return n
}

// replace puts the damaged file aside and begins a new one. Two processes may
// find the damage at once: a lock lets one of them do it, and the other looks
// again afterwards.
func replace(ctx context.Context, path string, o Options) (*DB, *Damage, error) {
	lock := flock.New(path+".lock", flock.SetPermissions(0o600))
	defer func() { _ = lock.Close() }()
	waiting, cancel := context.WithTimeout(ctx, o.Busy)
	defer cancel()
	if _, err := lock.TryLockContext(waiting, 20*time.Millisecond); err != nil {
		return nil, nil, fmt.Errorf("waiting to put the damaged file aside: %w", err)
	}
	if err := prepare(path); err != nil {
		return nil, nil, Classify(err)
	}
	db, damage := attach(ctx, path, o)
	if damage == nil {
		return db, nil, nil // another process was quicker
	}
	if !errors.Is(damage, ErrCorrupt) {
		return nil, nil, damage
	}
	kept, err := setAside(path, o.Now())
	if err != nil {
		return nil, nil, err
	}
	if err := prepare(path); err != nil {
		return nil, nil, Classify(err)
	}
	if db, err = attach(ctx, path, o); err != nil {
		return nil, nil, err
	}
	if o.Replaced != nil {
		o.Replaced(ctx, db, kept)
	}
	return db, &Damage{Err: damage, SavedAs: kept}, nil
}

// setAside renames the file and what belongs to it. The names keep SQLite's own
// pattern (X, X-wal, X-shm), so that the sqlite3 tool can still look into it.
func setAside(path string, now time.Time) (string, error) {
	base := path + ".corrupt-" + now.UTC().Format("20060102T150405Z")
	kept := base
	for n := 2; ; n++ {
		if _, err := os.Lstat(kept); err != nil {
			break // there is no such file, or renaming will say what is wrong
		}
		kept = fmt.Sprintf("%s-%d", base, n)
	}
	// The WAL goes first: a new file beside an old WAL would be the worse mix.
	for _, tail := range []string{"-wal", "-shm", ""} {
		if err := os.Rename(path+tail, kept+tail); err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("putting the damaged file aside: %w", err)
		}
	}
	if err := liftSuspicion(path); err != nil {
		return "", fmt.Errorf("putting the damaged file aside: %w", err)
	}
	return kept, nil
}

// migrate brings the file up to date. have is the version that was read before;
// it is read again inside the transaction, because another process may have
// been quicker.
func (db *DB) migrate(ctx context.Context, have int) error {
	if have == db.o.newest() {
		return nil
	}
	return db.Write(ctx, "making the "+db.o.Name+"'s tables", func(ctx context.Context, tx *sql.Tx) error {
		if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have); err != nil {
			return err
		}
		first := max(db.o.Oldest, 1)
		for ; have < db.o.newest(); have++ {
			have = max(have, first-1) // a new file
			if _, err := tx.ExecContext(ctx, db.o.Migrations[have+1-first]); err != nil {
				return fmt.Errorf("schema %d: %w", have+1, err)
			}
		}
		_, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version=%d", db.o.newest()))
		return err
	})
}

// Peek opens a file that was put aside, for reading alone.
func Peek(path string) *DB {
	r := connect(path, Options{Busy: Busy}, "_pragma", "query_only(1)")
	r.SetMaxOpenConns(2) // a query while another one's rows are read
	return &DB{path: path, r: r, frozen: ErrReadOnly}
}
