package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"

	"zonedeck/keystore"
	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/emulator"
	"zonedeck/service/rehearsal"
)

const (
	startTimeout  = 20 * time.Second      // for the emulator to serve: everything else on the machine may start meanwhile
	attachPause   = 20 * time.Millisecond // between two looks for it
	answerTimeout = time.Second           // loopback answers quickly even on a busy machine
	endPatience   = 5 * time.Second       // for an emulator to end
)

// Emulator is this user's one embedded emulator as one of its users has it. A process of the same program serves it
// (ServeUsers) and ends after its last user. The lock on the state folder decides which process that is, the
// announcement file says where it listens, and each user holds a lock of its own until it ends, however it ends.
type Emulator struct {
	paths    config.Paths
	log      *slog.Logger
	now      func() time.Time
	program  string        // what serves it; empty serves it in this process
	env      []string      // of the program
	build    string        // of this program
	proxy    string        // address of its proxy; empty is 33335 or the next free port
	chromium string        // the browser's program; empty looks in PATH
	wait     time.Duration // for the emulator to serve

	mu      sync.Mutex       // guards the fields below; never held during network or disk access
	server  *emulator.Server // if this process serves it
	users   *flock.Flock     // this user's lock; nil before the first use
	ready   emulator.Ready
	notes   []string // this user's own
	started bool     // this user has started it
	known   bool
	closed  bool
	attempt *attempt // the current search; nil if there is none

	// ahead is how far its clock was ahead of the machine's when last read, in
	// nanoseconds. It is cached because a caller that needs the time cannot wait.
	ahead atomic.Int64
	// faults is how many of its faults were on then.
	faults atomic.Int64
}

// attempt is one search for a live emulator, shared by all concurrent callers.
type attempt struct {
	cancel context.CancelFunc
	done   chan struct{} // closed once ready and err are set
	ready  emulator.Ready
	err    error
}

// UnavailableError says that the emulator can neither be found nor started.
type UnavailableError struct{ Err error }

func (e *UnavailableError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }

// errClosed is returned after the session has ended.
var errClosed = errors.New("the embedded emulator is no longer used here")

// Environment variables: EnvProxy is the address of the embedded emulator's proxy. EnvChromium names the browser
// that the emulator runs; other programs use it too.
const (
	EnvProxy    = "ZONEDECK_EMULATOR_PROXY"
	EnvChromium = "CHROME_PATH"
)

// New is the embedded emulator of this user, by the machine's clock. It does no I/O: the first call that needs the
// emulator finds it or has it started.
func New(paths config.Paths, getenv func(string) string, now func() time.Time, log *slog.Logger) *Emulator {
	return &Emulator{paths: paths, log: log, now: now, env: environment(getenv), proxy: getenv(EnvProxy), chromium: getenv(EnvChromium), wait: startTimeout}
}

// ServedBy has the emulator served by a process of its own, which runs this program of that version. Without it, the
// process that starts the emulator serves it.
func (e *Emulator) ServedBy(program, version string) *Emulator {
	e.program, e.build = program, version
	if info, ok := debug.ReadBuildInfo(); ok {
		e.build += " " + info.Main.Version // has the revision
	}
	return e
}

// WithPatience sets how long the emulator may take until it serves.
func (e *Emulator) WithPatience(d time.Duration) *Emulator {
	e.wait = d
	return e
}

// ensure returns the addresses of a live emulator and has one started from its saved
// state if necessary. A caller whose context ends returns at once; the search goes
// on for the others.
func (e *Emulator) ensure(ctx context.Context) (emulator.Ready, error) {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return emulator.Ready{}, errClosed
	}
	a := e.attempt
	if a == nil {
		search, cancel := context.WithCancel(context.WithoutCancel(ctx))
		a = &attempt{cancel: cancel, done: make(chan struct{})}
		e.attempt = a
		go e.search(search, a)
	}
	e.mu.Unlock()
	select {
	case <-a.done:
		return a.ready, a.err
	case <-ctx.Done():
		return emulator.Ready{}, fmt.Errorf("waiting for the embedded emulator: %w", ctx.Err())
	}
}

// search runs the attempt.
func (e *Emulator) search(ctx context.Context, a *attempt) {
	defer a.cancel()
	ready, err := e.find(ctx)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.attempt = nil
	switch {
	case e.closed:
		err = errClosed
	case err == nil:
		e.ready, e.known = ready, true
	}
	if a.ready = ready; err != nil {
		a.err = &UnavailableError{err}
	}
	close(a.done)
}

// find returns the emulator that answers, or has one started.
func (e *Emulator) find(ctx context.Context) (emulator.Ready, error) {
	e.mu.Lock()
	ready, known, here := e.ready, e.known, e.server != nil
	e.mu.Unlock()
	if known {
		if now, answers := e.alive(ctx, ready); answers || here {
			return now, nil
		}
	}
	ctx, cancel := context.WithTimeout(ctx, e.wait)
	defer cancel()
	err := e.use(ctx)
	for err == nil {
		if a, found := e.announced(ctx); found {
			e.noteBuild(a)
			return a.Ready, nil
		}
		if err = e.start(ctx); err != nil {
			break
		}
		select {
		case <-time.After(attachPause):
		case <-ctx.Done():
			err = fmt.Errorf("another zonedeck, %s, holds %s but its emulator does not answer: end that process and try again", e.owner(), e.paths.EmulatorDir())
		}
	}
	if ctx.Err() != nil {
		return emulator.Ready{}, err
	}
	return e.serveAlone(ctx, err)
}

// use takes this user's lock, which is held until Close. An emulator of another build that nobody uses ends.
func (e *Emulator) use(ctx context.Context) error {
	e.mu.Lock()
	held := e.users != nil
	e.mu.Unlock()
	if held {
		return nil
	}
	if err := os.MkdirAll(e.paths.State, 0o700); err != nil {
		return err
	}
	lock := e.userLock()
	if a, found := e.readAnnouncement(); found && a.Build != "" && a.Build != e.build {
		if unused, _ := lock.TryLock(); unused {
			_ = errors.Join(os.Remove(e.paths.EmulatorFile()), lock.Unlock())
		}
	}
	if _, err := lock.TryRLockContext(ctx, attachPause); err != nil {
		return fmt.Errorf("locking the embedded emulator: %w", err)
	}
	e.mu.Lock()
	e.users = lock
	e.mu.Unlock()
	return nil
}

// userLock is the lock that all users share; who has it alone knows that there is none.
func (e *Emulator) userLock() *flock.Flock {
	return flock.New(e.paths.EmulatorFile()+".users", flock.SetPermissions(0o600))
}

// noteBuild notes that a process of another build serves the emulator.
func (e *Emulator) noteBuild(a announcement) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.notes = nil; a.Build != e.build {
		e.notes = []string{fmt.Sprintf("process %d, of another build of zonedeck, serves the emulator until its users have ended", a.PID)}
	}
}

// owner says which process holds the emulator's state: the one that announced it, if any.
func (e *Emulator) owner() string {
	if a, found := e.readAnnouncement(); found && a.PID > 0 {
		return fmt.Sprintf("process %d", a.PID)
	}
	return "a process 'emulate --" + ServeUsersFlag + "'"
}

// start has the emulator started and waits until it serves. It does nothing while another user does so, or another
// process has the state folder.
func (e *Emulator) start(ctx context.Context) error {
	unlock, free, err := textfile.TryLock(e.paths.EmulatorFile())
	if err != nil || !free {
		return err
	}
	defer unlock()
	if _, found := e.announced(ctx); found || emulator.StateInUse(e.paths.EmulatorDir()) {
		return nil
	}
	if e.program != "" {
		err = e.startProcess(ctx)
	} else {
		err = e.serveHere(ctx)
	}
	if err == nil {
		e.mu.Lock()
		e.started = true
		e.mu.Unlock()
	}
	return err
}

// serveHere serves the emulator in this process until Close.
func (e *Emulator) serveHere(ctx context.Context) error {
	server, err := e.serve(ctx)
	e.mu.Lock()
	e.server = server
	e.mu.Unlock()
	return err
}

// serveAlone serves an emulator for this process alone, in a temporary folder: its state cannot be kept (a read-only
// home, a full disk), which a note says. It does not where another build has kept accounts: these would be others.
func (e *Emulator) serveAlone(ctx context.Context, kept error) (emulator.Ready, error) {
	if err := emulator.StateRefused(e.paths.EmulatorDir()); err != nil {
		return emulator.Ready{}, fmt.Errorf("start the embedded emulator: %w", err)
	}
	server, err := e.open(ctx, "")
	if err != nil {
		return emulator.Ready{}, fmt.Errorf("start the embedded emulator: %w", kept)
	}
	e.ahead.Store(int64(server.Ahead()))
	e.mu.Lock()
	defer e.mu.Unlock()
	e.server, e.started = server, true
	e.notes = []string{fmt.Sprintf("the emulator's jobs and keys end with this process, because its state cannot be kept: %v", kept)}
	return server.Ready(), nil
}

func (e *Emulator) open(ctx context.Context, dir string) (*emulator.Server, error) {
	// The remote browser's usual port is left to a separately served emulator and to
	// the user's own browsers. Chromium is not started before a client needs it.
	return emulator.Start(context.WithoutCancel(ctx), emulator.Options{StateDir: dir, ProxyAddr: e.proxy, CDPAddr: "127.0.0.1:0", LoopbackWebhooks: true, Chromium: e.chromium, Now: e.now, Log: e.log})
}

// Notes are the emulator's notes about its start.
func (e *Emulator) Notes() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Concat(e.ready.Notes, e.notes)
}

// StateNotes are the notes for the user who started the emulator, and this user's own. The
// note about an unusual proxy port is left out: commands print the address where it
// matters.
func (e *Emulator) StateNotes() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.started {
		return e.notes
	}
	return slices.DeleteFunc(slices.Concat(e.ready.Notes, e.notes), func(n string) bool {
		return strings.Contains(n, "the proxy listens on")
	})
}

// Place is one run of the emulator, by its process and addresses.
type Place struct {
	API, Proxy string
	PID        int
}

// Place is the emulator that was found last.
func (e *Emulator) Place() Place {
	e.mu.Lock()
	defer e.mu.Unlock()
	return Place{e.ready.API, e.ready.Proxy, e.ready.PID}
}

// Close ends this use of the emulator: the search for one, and the emulator if this process serves it.
func (e *Emulator) Close(ctx context.Context) error {
	e.mu.Lock()
	a := e.attempt
	e.closed = true
	e.mu.Unlock()
	if a != nil {
		a.cancel()
		select {
		case <-a.done:
		case <-ctx.Done():
			return fmt.Errorf("end the embedded emulator, which is still starting: %w", ctx.Err())
		}
	}
	e.mu.Lock()
	server, users := e.server, e.users
	e.server, e.users = nil, nil
	e.mu.Unlock()
	if users != nil {
		_ = users.Close() // the kernel drops the lock with the descriptor
	}
	if server == nil {
		return nil
	}
	return e.end(ctx, server)
}

// alive reports whether an emulator answers at the announced address, and returns what it announces now, with the keys
// and zones that were made meanwhile. Its clock is recorded. Another program may have taken the port, so the answer
// must come from an emulator that knows the token. The calls do not appear in its journal.
func (e *Emulator) alive(ctx context.Context, before emulator.Ready) (now emulator.Ready, answers bool) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	control := rehearsal.New(func(context.Context) (rehearsal.Place, error) { return controlOf(before), nil })
	t, err := control.Time(ctx)
	if err == nil {
		err = control.Ready(ctx, &now)
	}
	if err != nil {
		return before, false
	}
	e.ahead.Store(int64(t.Ahead))
	e.faults.Store(int64(t.Faults))
	return now, true
}

// controlOf returns the address of an emulator's control interface.
func controlOf(r emulator.Ready) rehearsal.Place {
	return rehearsal.Place{URL: r.Control, Token: keystore.NewSecret(r.ControlToken)}
}

// Ahead is how far its clock was ahead of the machine's when last read.
func (e *Emulator) Ahead() time.Duration { return time.Duration(e.ahead.Load()) }

// Faults is how many of its faults were on when last read.
func (e *Emulator) Faults() int { return int(e.faults.Load()) }

// Now is the emulator's time as last read, and the machine's time before that.
func (e *Emulator) Now() time.Time { return e.now().Add(e.Ahead()) }

// Control returns the address of the live emulator's control interface.
func (e *Emulator) Control(ctx context.Context) (rehearsal.Place, error) {
	ready, err := e.ensure(ctx)
	return controlOf(ready), err
}

// AheadOfMachine says how far an emulator's clock is from the machine's. It is behind
// if a scenario started in the past.
func AheadOfMachine(d time.Duration) string {
	switch {
	case d > 0:
		return strings.TrimPrefix(model.Ahead(d), "+") + " ahead of the machine's"
	case d < 0:
		return strings.TrimPrefix(model.Ahead(d), "-") + " behind the machine's"
	default:
		return "the machine's"
	}
}
