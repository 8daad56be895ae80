// Package statetest makes the disk under a state folder slow or full, and has a clock that is
// moved by hand, for tests of the packages that keep their tables in it. Only tests import it.
package statetest

import (
	"bytes"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"modernc.org/sqlite"

	"zonedeck/internal/noerr"
	"zonedeck/service/emulator/state"
)

// Open opens a state folder, which closes with the test. One that [Hold] makes slow has to
// come from here.
func Open(t testing.TB, dir string) *state.Dir {
	t.Helper()
	noerr.Must(t, registered())
	d, err := state.Open(dir, time.Now)
	noerr.Must(t, err)
	t.Cleanup(func() { noerr.Want(t, d.Close()) })
	return d
}

// Killed is a copy of a folder as a process leaves it that is killed now.
func Killed(t testing.TB, d *state.Dir) (dir string) {
	t.Helper()
	dir = t.TempDir()
	// A copy takes longer than a kill: nothing is written meanwhile.
	noerr.Must(t, d.Update(func(*state.Tx) error { return os.CopyFS(dir, os.DirFS(d.Path("."))) }))
	return dir
}

// Holds reports whether a text lies in any file of the folder.
func Holds(t testing.TB, d *state.Dir, text string) bool {
	t.Helper()
	found := false
	noerr.Must(t, filepath.WalkDir(d.Path("."), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		found = found || bytes.Contains(b, []byte(text))
		return err
	}))
	return found
}

// Refuse makes every write to a table of the database in dir fail, as a full disk does,
// until mend.
func Refuse(t testing.TB, dir, table string) (mend func()) {
	t.Helper()
	run(t, dir, "CREATE TRIGGER refused BEFORE INSERT ON "+table+" BEGIN SELECT RAISE(ABORT, 'the disk is full'); END")
	return func() { run(t, dir, "DROP TRIGGER refused") }
}

// Hold makes every write to a table stand still, as a slow disk does, until release, which
// the end of the test calls as well. begun is closed once a write has come.
func Hold(t testing.TB, d *state.Dir, table string) (begun <-chan struct{}, release func()) {
	t.Helper()
	h := &hold{begun: make(chan struct{}), released: make(chan struct{})}
	key := d.Path(table)
	holds.Store(key, h)
	run(t, d.Path("."), fmt.Sprintf("CREATE TRIGGER held BEFORE INSERT ON %s BEGIN SELECT statetest_hold('%s'); END", table, key))
	release = sync.OnceFunc(func() { close(h.released) })
	t.Cleanup(func() {
		release()
		holds.Delete(key)
	})
	return h.begun, release
}

type hold struct {
	once            sync.Once
	begun, released chan struct{}
}

// holds are the tables that stand still: a function of SQLite belongs to the whole process.
var holds sync.Map

var registered = sync.OnceValue(func() error {
	return sqlite.RegisterScalarFunction("statetest_hold", 1, func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
		found, ok := holds.Load(args[0])
		if !ok {
			return nil, nil
		}
		h := found.(*hold)
		h.once.Do(func() { close(h.begun) })
		<-h.released
		return nil, nil
	})
})

// run runs a statement as another program would.
func run(t testing.TB, dir, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(filepath.Join(dir, "state.db"))+"?_pragma=busy_timeout(5000)")
	noerr.Must(t, err)
	noerr.Must(t, errors.Join(noerr.From(db.ExecContext(t.Context(), statement)), db.Close()))
}

// Clock is moved by hand.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock is a clock at noon of a day.
func NewClock() *Clock { return &Clock{now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)} }

// Now is what the clock shows.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Forward moves the clock.
func (c *Clock) Forward(d time.Duration) {
	c.mu.Lock()
	c.now = c.now.Add(d)
	c.mu.Unlock()
}
