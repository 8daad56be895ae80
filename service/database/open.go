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
	"strings"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sync/semaphore"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Damage is a file that could not be used as it was.
type Damage struct {
	Err     error  // what is wrong with the file, an ErrCorrupt
	SavedAs string // where the file is now; empty if it stayed, with its schema written anew or frozen
}

// Open opens the file at path, or makes it with mode 0600. A damaged file is
// renamed to path.corrupt-<time>, with its -wal and -shm, and replaced by a new
// one (see Options.Replaced); Open then returns the Damage with the DB.
//
// Errors are those of Faults (ErrCorrupt for tables of another program) and the
// system's, all wrapped with the path.
func Open(ctx context.Context, path string, o Options) (*DB, *Damage, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, nil, fmt.Errorf("opening the %s: %w", o.Name, err)
	}
	db, damage, err := openOrReplace(ctx, path, o)
	if errors.Is(err, ErrReadOnly) && o.Readable {
		db, damage, err = openReadOnly(ctx, path, o, err)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("opening the %s %s: %w", o.Name, path, err)
	}
	return db, damage, nil
}

// openOrReplace attaches the file, or replaces it if it is damaged. Whoever replaces it holds a lock until the new file
// is filled. Two processes may find the damage at once: one of them replaces it, and the other then checks again.
func openOrReplace(ctx context.Context, path string, o Options) (*DB, *Damage, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, nil, Classify(err)
	}
	lock := flock.New(path+".lock", flock.SetPermissions(0o600))
	defer func() { _ = lock.Close() }()
	take := func(try func(context.Context, time.Duration) (bool, error)) error {
		waiting, cancel := context.WithTimeout(ctx, o.Busy)
		defer cancel()
		_, err := try(waiting, 20*time.Millisecond)
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("%w, which may be putting it aside: try again later (%w)", ErrLocked, err)
		}
		return Classify(err)
	}
	if o.Replaced != nil { // a file that is not filled yet looks like one that lost everything
		if err := take(lock.TryRLockContext); err != nil {
			return nil, nil, err
		}
	}
	db, err := attachPatiently(ctx, path, o)
	if !errors.Is(err, ErrCorrupt) {
		return db, nil, err
	}
	if err := errors.Join(lock.Unlock(), take(lock.TryLockContext)); err != nil {
		return nil, nil, err
	}
	return replace(ctx, path, o)
}

// attachPatiently attaches a file that others may also be opening for the first time. While one of
// them creates the WAL, SQLite fails for the others at once, whatever the busy timeout.
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

// attach opens the file's connections and migrates its tables. It makes a missing file
// with the right mode, because SQLite would use the umask, and fails early if the file
// cannot be written. Its error is classified.
func attach(ctx context.Context, path string, o Options) (*DB, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return nil, Classify(err)
	}
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
		return nil, err
	}
	return db, nil
}

// openReadOnly opens a file that cannot be written. Damage in its tables stays as it is. A file without a WAL is opened
// as immutable, because SQLite cannot make a WAL's index in a folder that it cannot write.
func openReadOnly(ctx context.Context, path string, o Options, reason error) (*DB, *Damage, error) {
	params := []string{"mode", "ro"}
	if info, err := os.Stat(path + "-wal"); err != nil || info.Size() == 0 {
		params = append(params, "immutable", "1")
	}
	db := &DB{path: path, o: o, r: connect(path, o, params...), frozen: reason}
	version, err := db.version(ctx)
	if err == nil && version != o.newest() {
		err = fmt.Errorf("it has schema %d, this program reads %d", version, o.newest())
	}
	if err == nil {
		err = db.checkTables(ctx)
		if errors.Is(err, ErrCorrupt) {
			return db, &Damage{Err: err}, nil
		}
	}
	if err == nil {
		return db, nil, nil
	}
	_ = db.Close()
	if !errors.Is(err, ErrReadOnly) { // there is a file
		reason = fmt.Errorf("%w; make the file and its folder writable, so that this can be mended: %w", err, reason)
	}
	return nil, nil, reason
}

// connect makes a pool, which connects when needed. params are names and values
// of the driver's DSN.
func connect(path string, o Options, params ...string) *sql.DB {
	q := url.Values{}
	q.Add("_pragma", fmt.Sprintf("busy_timeout(%d)", o.Busy.Milliseconds()))
	q.Add("_pragma", "cache_size(-512)") // KiB per connection; the system caches the rest
	for i := 0; i < len(params); i += 2 {
		q.Add(params[i], params[i+1])
	}
	db, err := sql.Open("sqlite", fileURI(path)+"?"+q.Encode())
	if err != nil {
		panic(err) // the driver is not in this program
	}
	return db
}

// fileURI makes an absolute path a URI for SQLite: with slashes, and with
// everything escaped that means something in a URI.
func fileURI(path string) string {
	p := filepath.ToSlash(path)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p // C:/… on Windows
	}
	return (&url.URL{Scheme: "file", Path: p}).String()
}

// check finds out whether the file can be used, and migrates it. Its error is classified.
func (db *DB) check(ctx context.Context) error {
	version, err := db.version(ctx)
	if err != nil {
		return err
	}
	if _, err := os.Stat(suspectPath(db.path)); err == nil { // something was wrong before: read the whole file
		if err := db.integrity(ctx, "1"); err != nil {
			return db.o.classify(err)
		}
		if err := liftSuspicion(db.path); err != nil {
			return Classify(err)
		}
	}
	if err := db.migrate(ctx, version); err != nil {
		return db.o.classify(err)
	}
	return db.checkTables(ctx)
}

// classify is Classify for what Open asks of a file. If it is checked, no statement is wrong by itself.
func (o Options) classify(err error) error {
	var se *sqlite.Error
	if err = Classify(err); len(o.Checked) > 0 && errors.As(err, &se) && se.Code()&0xff == sqlite3.SQLITE_ERROR {
		err = fmt.Errorf("%w (%w)", ErrCorrupt, err)
	}
	return err
}

// pool is the connection that may write, if there is one: Open makes no other.
func (db *DB) pool() *sql.DB { return cmp.Or(db.w, db.r) }

// version is the schema of the file: 0 for a new file, at most the newest known.
func (db *DB) version(ctx context.Context) (version int, err error) {
	var missing []string
	if err = db.pool().QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err == nil {
		missing, err = db.missing(ctx)
	}
	if err != nil {
		return 0, db.o.classify(err)
	}
	newest, misread := db.o.newest(), version < 0
	if version != newest && len(db.o.Checked) > 0 {
		lacking, others, err := db.o.compareSchema(ctx, db.pool())
		misread = misread || err == nil && len(lacking)+len(others) == 0
	}
	switch {
	case misread:
		return 0, fmt.Errorf("%w: its schema number is %d", ErrCorrupt, version)
	case version > newest:
		return 0, fmt.Errorf("%w: it has schema %d, this program knows up to %d", errTooNew, version, newest)
	case version > 0 && version < db.o.Oldest:
		return 0, fmt.Errorf("%w: it has schema %d, this program knows %d and later", ErrTooOld, version, db.o.Oldest)
	case version == newest && len(missing) > 0:
		return 0, fmt.Errorf("%w: the table %s is missing", ErrCorrupt, strings.Join(missing, " and the table "))
	case version == 0 && len(missing) < len(db.o.Tables): // as after sqlite3's .dump and .recover
		return 0, fmt.Errorf("%w: it has tables but no schema number", ErrCorrupt)
	}
	return version, nil
}

// missing returns the tables of Options.Tables that the file does not have.
func (db *DB) missing(ctx context.Context) ([]string, error) {
	missing := slices.Clone(db.o.Tables)
	err := Each(ctx, db.pool(), "SELECT name FROM sqlite_schema WHERE type = 'table'", nil, func(row Scanner) error {
		var name string
		err := row.Scan(&name)
		missing = slices.DeleteFunc(missing, func(table string) bool { return table == name })
		return err
	})
	return missing, err
}

// integrity checks one table with its indexes, or the whole file until as many errors as a number says.
func (db *DB) integrity(ctx context.Context, what string) error {
	var verdict string
	err := db.pool().QueryRowContext(ctx, "PRAGMA integrity_check("+what+")").Scan(&verdict)
	if err == nil && verdict != "ok" {
		err = fmt.Errorf("%w (%s)", ErrCorrupt, strings.TrimPrefix(verdict, "*** in database main ***\n"))
	}
	return err
}

// replace puts the damaged file aside and begins a new one, unless its schema can be written anew. The lock is held.
func replace(ctx context.Context, path string, o Options) (*DB, *Damage, error) {
	db, damage := attach(ctx, path, o)
	if damage == nil {
		return db, nil, nil // another process was quicker
	}
	if !errors.Is(damage, ErrCorrupt) {
		return nil, nil, damage
	}
	if len(o.Checked) > 0 && rewriteSchema(ctx, path, o) == nil {
		if db, err := attach(ctx, path, o); err == nil {
			return db, &Damage{Err: damage}, nil
		}
	}
	kept, err := setAside(path, o.Now())
	if err != nil {
		return nil, nil, err
	}
	if db, err = attach(ctx, path, o); err != nil {
		return nil, nil, err
	}
	if o.Replaced != nil {
		o.Replaced(ctx, db, kept)
	}
	return db, &Damage{Err: damage, SavedAs: kept}, nil
}

// setAside renames the file, its WAL and the WAL's index. The names keep SQLite's
// pattern (X, X-wal, X-shm), so the sqlite3 tool can still open the file.
func setAside(path string, now time.Time) (string, error) {
	base := path + ".corrupt-" + now.UTC().Format("20060102T150405Z")
	kept := base
	for n := 2; ; n++ {
		if _, err := os.Lstat(kept); err != nil {
			break // the name is free, or renaming will say what is wrong
		}
		kept = fmt.Sprintf("%s-%d", base, n)
	}
	// The WAL first: a new file with an old WAL would be worse than the reverse.
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

// migrate applies missing migrations. have is the version read before; it is read
// again inside the transaction, because another process may have been quicker.
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

// Names reads what may be named of a file and what each name stands for, the two columns of a query, beside whoever has it
// open. Nothing is made, checked or mended: without a WAL the file is read as one that nobody changes, and with one it is not
// copied back, which closing it otherwise does.
func Names(ctx context.Context, path, query string) (names [][2]string, err error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	alone := "0"
	if _, err := os.Stat(path + "-wal"); err != nil {
		alone = "1"
	}
	db := &DB{path: path, r: connect(path, Options{Busy: Busy}, "mode", "ro", "immutable", alone), frozen: ErrReadOnly}
	db.r.SetMaxOpenConns(1)
	defer func() { err = errors.Join(err, db.Close()) }()
	err = Each(ctx, db, query, nil, func(row Scanner) error {
		var name [2]string
		err := row.Scan(&name[0], &name[1])
		names = append(names, name)
		return err
	})
	return names, err
}

// Peek opens a file that was put aside, for reading only.
func Peek(path string) *DB {
	r := connect(path, Options{Busy: Busy}, "_pragma", "query_only(1)")
	r.SetMaxOpenConns(2) // for a query while the rows of another are read
	return &DB{path: path, r: r, frozen: ErrReadOnly}
}
