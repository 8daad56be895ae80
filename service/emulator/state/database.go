package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

const (
	databaseName = "state.db"
	// version is PRAGMA user_version of the tables below. Once released, a change of them
	// is a new version that brings the tables of the one before up to date.
	version = 2
	readers = 4
	// busyTimeout is how long a write waits for another program that looks into the file.
	busyTimeout = 5 * time.Second
)

// BuildError says that another build wrote the state, and this one can neither use nor replace it.
type BuildError string

func (e BuildError) Error() string { return string(e) }

const (
	// errNewer: a later version wrote it, and this one would cut it short.
	errNewer BuildError = "a newer version of the emulator wrote this state: use that version, or move the folder away"
	// errOlder: an earlier version wrote it, and it cannot be brought up to date.
	errOlder BuildError = "an older version of the emulator wrote this state, and its folder cannot be written: make it writable, or move it away"
	// errEarlier: a build from before the database wrote it, or the database was removed.
	errEarlier BuildError = "the state folder is of an earlier build"
)

// errClosed: the folder was given back.
var errClosed = errors.New("the state is closed")

// schema makes the tables: of values by id, in the order in which they came
// ([Table]), and of lines by id and number ([Lines]).
func schema() string {
	var b strings.Builder
	for _, name := range valueTables() {
		b.WriteString(valueTable(name))
	}
	for _, name := range [...]string{"inputs", "records"} {
		fmt.Fprintf(&b, "CREATE TABLE %s (id TEXT, n INTEGER, line BLOB NOT NULL, PRIMARY KEY (id, n)) STRICT;\n", name)
	}
	return b.String()
}

func valueTable(name string) string {
	return fmt.Sprintf("CREATE TABLE %s (id TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;\n", name)
}

func valueTables() []string {
	return []string{"settings", "keys", "zones", "usage", "jobs", "deliveries", "responses", "tasks"}
}

// database is the SQLite file: one connection that writes and a few that read.
type database struct {
	path string
	r    *sql.DB

	writing sync.Mutex // one change at a time, and whoever closes waits for it; readers never take it
	w       *sql.DB    // nil where nothing can be written, for the reason in refused
	refused error
	// synced is w's PRAGMA synchronous now; soon and done are those of [Dir.Soon] and
	// [Dir.Update].
	synced, soon, done string
}

// openDatabase opens the file, or makes it. temporary says that it goes with the process;
// readOnly is why nothing can be written, where that is so.
func openDatabase(path string, temporary bool, readOnly error) (*database, error) {
	db := &database{path: path, refused: readOnly, soon: "NORMAL", done: "FULL"}
	if temporary {
		db.soon, db.done = "OFF", "OFF"
	}
	open := db.forWriting
	if readOnly != nil {
		open = db.forReading
	}
	err := open()
	if err == nil {
		err = db.check()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the state %s: %w", db.path, err), db.close())
	}
	return db, nil
}

// forReading opens a file of which nothing can be changed.
func (db *database) forReading() (err error) {
	mode := "mode=ro"
	if _, err := os.Stat(db.path + "-wal"); errors.Is(err, os.ErrNotExist) {
		mode += "&immutable=1" // or SQLite wants to make files beside it
	}
	db.r, err = db.connect(mode)
	return err
}

func (db *database) forWriting() error {
	f, err := os.OpenFile(db.path, os.O_RDWR|os.O_CREATE, 0o600) // with SQLite the mode would be the umask's
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	db.synced = db.done
	// What is deleted is overwritten (secrets), and its room given back (large jobs).
	db.w, err = db.connect("_txlock=immediate&_pragma=synchronous(" + db.synced + ")&_pragma=auto_vacuum(FULL)&_pragma=journal_mode(WAL)&_pragma=secure_delete(ON)")
	if err != nil {
		return err
	}
	db.w.SetMaxOpenConns(1)
	if db.r, err = db.connect("_pragma=query_only(ON)"); err != nil {
		return err
	}
	db.r.SetMaxOpenConns(readers)
	db.r.SetMaxIdleConns(1) // the others hold memory and descriptors for nothing
	found, err := userVersion(db.w)
	if err != nil {
		return err
	}
	var lacks string
	switch found {
	case 0:
		lacks = schema()
	case 1:
		lacks = valueTable("tasks")
	default:
		return nil
	}
	return db.exec(fmt.Sprintf("BEGIN IMMEDIATE; %s PRAGMA user_version = %d; COMMIT", lacks, version))
}

func (db *database) connect(params string) (*sql.DB, error) {
	abs, err := filepath.Abs(db.path)
	if err != nil {
		return nil, err
	}
	slashed := filepath.ToSlash(abs)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // C:/… on Windows
	}
	name := (&url.URL{Scheme: "file", Path: slashed}).String()
	c, err := sqlite.NewConnector(fmt.Sprintf("%s?_pragma=busy_timeout(%d)&%s", name, busyTimeout.Milliseconds(), params))
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(c), nil
}

func (db *database) exec(statements string) error {
	_, err := db.w.ExecContext(context.Background(), statements)
	return err
}

func userVersion(db *sql.DB) (n int, err error) {
	return n, db.QueryRowContext(context.Background(), "PRAGMA user_version").Scan(&n)
}

// check reads everything that is read at a start, so that damage is found before anything
// relies on it.
func (db *database) check() error {
	found, err := userVersion(db.r)
	if err != nil {
		return err
	}
	if found > version {
		return fmt.Errorf("%w (%d, and this one knows %d)", errNewer, found, version)
	}
	if found < version {
		return errOlder
	}
	for _, name := range valueTables() {
		var largest sql.NullString
		if err := db.r.QueryRowContext(context.Background(), "SELECT max(value) FROM "+name).Scan(&largest); err != nil {
			return err
		}
	}
	return nil
}

// damaged reports whether an error means that the file is not, or no longer, a database.
func damaged(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code() & 0xff { // without what SQLite adds to it
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return true
	default:
		return false
	}
}

func (db *database) close() error {
	db.writing.Lock()
	defer db.writing.Unlock()
	var errs []error
	if db.r != nil {
		errs = append(errs, db.r.Close())
	}
	if db.w != nil { // last, so that it takes the log into the file
		errs = append(errs, db.w.Close())
	}
	db.w, db.refused = nil, errClosed
	return errors.Join(errs...)
}

// Tx is one change of the database: all of it is kept, or nothing.
type Tx struct{ tx *sql.Tx }

func (t *Tx) exec(statement string, args ...any) error {
	_, err := t.tx.ExecContext(context.Background(), statement, args...)
	return err
}

// change runs edit in a transaction. With erase, what it replaced or deleted is in no
// file when it returns, unless another program is just reading it.
func (db *database) change(synced string, erase bool, edit func(*Tx) error) error {
	db.writing.Lock()
	defer db.writing.Unlock()
	if db.w == nil {
		return db.refused
	}
	if db.synced != synced {
		if err := db.exec("PRAGMA synchronous = " + synced); err != nil {
			return fmt.Errorf("writing the state: %w", err)
		}
		db.synced = synced
	}
	tx, err := db.w.BeginTx(context.Background(), nil)
	if err != nil {
		return fmt.Errorf("writing the state: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit
	if err := edit(&Tx{tx}); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("writing the state: %w", err)
	}
	if erase {
		if err := db.exec("PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
			return fmt.Errorf("erasing from the state: %w", err)
		}
	}
	return nil
}

// Table names a table of the database that keeps values by id, as JSON:
//
//	const zones = state.Table[record]("zones")
type Table[T any] string

// Put writes the value of an id.
func (t Table[T]) Put(tx *Tx, id string, v T) error {
	b, err := json.Marshal(v)
	if err == nil {
		err = tx.exec("INSERT INTO "+string(t)+" VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET value = excluded.value", id, string(b))
	}
	if err != nil {
		return fmt.Errorf("keeping %s in %s: %w", id, t, err)
	}
	return nil
}

// Delete deletes the values of ids, of those that have one.
func (t Table[T]) Delete(tx *Tx, ids ...string) error {
	for _, id := range ids {
		if err := tx.exec("DELETE FROM "+string(t)+" WHERE id = ?", id); err != nil {
			return fmt.Errorf("deleting %s from %s: %w", id, t, err)
		}
	}
	return nil
}

// Get reads one value. ok is false if the id has none.
func (t Table[T]) Get(d *Dir, id string) (v T, ok bool, err error) {
	var text []byte
	err = d.db.r.QueryRowContext(context.Background(), "SELECT value FROM "+string(t)+" WHERE id = ?", id).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return v, false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		return v, false, fmt.Errorf("reading %s of %s: %w", id, t, err)
	}
	return v, true, nil
}

// Each visits the values in the order in which their ids were added. If a value cannot be
// decoded, or visit refuses it, it stays in the table, with a note.
func (t Table[T]) Each(d *Dir, visit func(id string, v T) error) error {
	type row struct {
		id   string
		text []byte
	}
	var all []row // read to the end first: visit may write
	err := d.query("SELECT id, value FROM "+string(t)+" ORDER BY rowid", nil, func(rows *sql.Rows) (bool, error) {
		var r row
		err := rows.Scan(&r.id, &r.text)
		all = append(all, r)
		return true, err
	})
	if err != nil {
		return fmt.Errorf("reading %s: %w", t, err)
	}
	for _, r := range all {
		var v T
		err := json.Unmarshal(r.text, &v)
		if err == nil {
			err = visit(r.id, v)
		}
		if err != nil {
			d.Note(fmt.Sprintf("%q of %s is left out: it cannot be read (%v)", r.id, t, err))
		}
	}
	return nil
}

// Lines names a table of the database that keeps numbered lines by id.
type Lines string

const (
	// A read takes this many bytes and lines at a time, so that a slow reader holds neither a
	// connection nor the write-ahead log.
	bytesAtOnce = 1 << 20
	linesAtOnce = 256
)

// Put writes the line of a number.
func (l Lines) Put(tx *Tx, id string, n int, line []byte) error {
	if err := tx.exec("INSERT INTO "+string(l)+" VALUES (?, ?, ?) ON CONFLICT (id, n) DO UPDATE SET line = excluded.line", id, n, line); err != nil {
		return fmt.Errorf("keeping line %d of %s in %s: %w", n, id, l, err)
	}
	return nil
}

// Delete deletes all lines of an id.
func (l Lines) Delete(tx *Tx, id string) error {
	if err := tx.exec("DELETE FROM "+string(l)+" WHERE id = ?", id); err != nil {
		return fmt.Errorf("deleting %s from %s: %w", id, l, err)
	}
	return nil
}

// Each visits the lines of an id in the order of their numbers, and ends with visit's first
// error. visit may keep the bytes, and may be slow.
func (l Lines) Each(d *Dir, id string, visit func(n int, line []byte) error) error {
	type numbered struct {
		n    int
		line []byte
	}
	for next := 0; ; {
		var some []numbered
		size := 0
		err := d.query("SELECT n, line FROM "+string(l)+" WHERE id = ? AND n >= ? ORDER BY n LIMIT ?", []any{id, next, linesAtOnce}, func(rows *sql.Rows) (bool, error) {
			var x numbered
			err := rows.Scan(&x.n, &x.line)
			some, size = append(some, x), size+len(x.line)
			return size < bytesAtOnce, err
		})
		if err != nil {
			return fmt.Errorf("reading %s of %s: %w", id, l, err)
		}
		if len(some) == 0 {
			return nil
		}
		for _, x := range some {
			if err := visit(x.n, x.line); err != nil {
				return err
			}
			next = x.n + 1
		}
	}
}

// query calls each for every row until it wants no more.
func (d *Dir) query(statement string, args []any, each func(*sql.Rows) (more bool, err error)) error {
	rows, err := d.db.r.QueryContext(context.Background(), statement, args...)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // what went wrong while reading is in rows.Err
	for rows.Next() {
		if more, err := each(rows); err != nil || !more {
			return err
		}
	}
	return rows.Err()
}
