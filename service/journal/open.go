package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"modernc.org/sqlite"
)

func open(ctx context.Context, path string, now func() time.Time, set settings) (*Journal, Notice, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, Notice{}, fmt.Errorf("opening the journal: %w", err)
	}
	doing := "opening the journal " + path
	if err := prepare(path); err != nil {
		return nil, Notice{}, fmt.Errorf("%s: %w", doing, classify(err))
	}
	j, err := attach(ctx, path, now, set)
	if err == nil {
		return j, Notice{}, nil
	}
	if !errors.Is(err, ErrCorrupt) {
		return nil, Notice{}, fmt.Errorf("%s: %w", doing, err)
	}
	j, notice, err := replace(ctx, path, now, set)
	if err != nil {
		return nil, Notice{}, fmt.Errorf("%s: %w", doing, err)
	}
	return j, notice, nil
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
func attach(ctx context.Context, path string, now func() time.Time, set settings) (*Journal, error) {
	w, err := connect(path, set, "_txlock", "immediate", "_pragma", "journal_mode(WAL)", "_pragma", "synchronous(FULL)")
	if err != nil {
		return nil, classify(err)
	}
	w.SetMaxOpenConns(1)
	r, err := connect(path, set, "_pragma", "query_only(1)")
	if err != nil {
		_ = w.Close()
		return nil, classify(err)
	}
	r.SetMaxOpenConns(4)
	j := &Journal{path: path, now: now, set: set, w: w, r: r}
	j.queue.init()
	if err := j.check(ctx); err != nil {
		_ = r.Close()
		_ = w.Close()
		return nil, classify(err)
	}
	return j, nil
}

// connect prepares a pool; a connection is made when one is needed. params are
// names and values of the driver's DSN.
func connect(path string, set settings, params ...string) (*sql.DB, error) {
	q := url.Values{}
	q.Add("_pragma", fmt.Sprintf("busy_timeout(%d)", set.busy.Milliseconds()))
	for i := 0; i < len(params); i += 2 {
		q.Add(params[i], params[i+1])
	}
	c, err := sqlite.NewConnector(fileURI(path) + "?" + q.Encode())
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(c)
	db.SetConnMaxIdleTime(0)
	db.SetConnMaxLifetime(0)
	return db, nil
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
func (j *Journal) check(ctx context.Context) error {
	var lib string
	var version int
	row := j.w.QueryRowContext(ctx, "SELECT sqlite_version(), (SELECT user_version FROM pragma_user_version)")
	if err := row.Scan(&lib, &version); err != nil {
		return err
	}
	if olderThan(lib, j.set.minLib) {
		return fmt.Errorf("%w: version %s, and a WAL is safe from %s on", ErrLibrary, lib, j.set.minLib)
	}
	if _, err := os.Stat(suspectPath(j.path)); err == nil {
		if err := j.checkThrough(ctx); err != nil {
			return err
		}
	}
	return j.migrate(ctx, version)
}

// checkThrough reads the whole file, which is done only when something was
// found wrong with it before.
func (j *Journal) checkThrough(ctx context.Context) error {
	var verdict string
	if err := j.w.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&verdict); err != nil {
		return err
	}
	if verdict != "ok" {
		return fmt.Errorf("%w (%s)", ErrCorrupt, verdict)
	}
	if err := os.Remove(suspectPath(j.path)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
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
func replace(ctx context.Context, path string, now func() time.Time, set settings) (*Journal, Notice, error) {
	lock := flock.New(path+".lock", flock.SetPermissions(0o600))
	defer func() { _ = lock.Close() }()
	waiting, cancel := context.WithTimeout(ctx, set.busy)
	defer cancel()
	if _, err := lock.TryLockContext(waiting, 20*time.Millisecond); err != nil {
		return nil, Notice{}, fmt.Errorf("waiting to put the damaged file aside: %w", err)
	}
	if err := prepare(path); err != nil {
		return nil, Notice{}, classify(err)
	}
	j, err := attach(ctx, path, now, set)
	if err == nil {
		return j, Notice{}, nil // another process was quicker
	}
	if !errors.Is(err, ErrCorrupt) {
		return nil, Notice{}, err
	}
	damage := err
	kept, err := setAside(path, now())
	if err != nil {
		return nil, Notice{}, err
	}
	if err := prepare(path); err != nil {
		return nil, Notice{}, classify(err)
	}
	j, err = attach(ctx, path, now, set)
	if err != nil {
		return nil, Notice{}, err
	}
	jobs := j.salvage(ctx, kept)
	return j, Notice{Text: asideText(path, kept, damage, jobs), Kept: kept}, nil
}

func asideText(path, kept string, damage error, jobs int) string {
	text := fmt.Sprintf("The journal %s was damaged (%v). It is kept as %s and a new one was begun; ", path, damage, kept)
	switch jobs {
	case 0:
		return text + "no job could be read from it."
	case 1:
		return text + "1 job was carried over from it."
	default:
		return text + fmt.Sprintf("%d jobs were carried over from it.", jobs)
	}
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
			return "", fmt.Errorf("putting the damaged journal aside: %w", err)
		}
	}
	if err := os.Remove(suspectPath(path)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("putting the damaged journal aside: %w", err)
	}
	return kept, nil
}
