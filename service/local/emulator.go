package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"zonedeck/keystore"
	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/emulator"
	"zonedeck/service/rehearsal"
)

const (
	attachTimeout = 5 * time.Second       // for another process to finish its start
	attachPause   = 30 * time.Millisecond // between two reads of its announcement
	answerTimeout = time.Second           // loopback answers quickly even on a busy machine
	endPatience   = 5 * time.Second       // for an emulator that started too late
)

// Emulator is this user's one embedded emulator: run by this process or by
// another one that started it first. The lock on its state folder decides; the
// announcement file tells the other processes where it listens.
type Emulator struct {
	paths    config.Paths
	log      *slog.Logger
	now      func() time.Time
	proxy    string        // address of its proxy; empty is 33335 or the next free port
	chromium string        // the browser's program; empty looks in PATH
	wait     time.Duration // for another process to finish its start

	mu      sync.Mutex       // guards the fields below; never held during network or disk access
	server  *emulator.Server // nil while another process runs it
	ready   emulator.Ready
	known   bool
	closed  bool
	attempt *attempt // the current search; nil if there is none

	// ahead is how far its clock was ahead of the machine's when last read, in
	// nanoseconds. It is cached because a caller that needs the time cannot wait.
	ahead atomic.Int64
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
var errClosed = errors.New("the embedded emulator has been ended")

// Environment variables: EnvProxy is the address of the embedded emulator's proxy. EnvChromium names the browser
// that the emulator runs; other programs use it too.
const (
	EnvProxy    = "ZONEDECK_EMULATOR_PROXY"
	EnvChromium = "CHROME_PATH"
)

// New is the embedded emulator of this user, by the machine's clock. It does no I/O: the first call that needs the
// emulator finds or starts it.
func New(paths config.Paths, getenv func(string) string, now func() time.Time, log *slog.Logger) *Emulator {
	return &Emulator{paths: paths, log: log, now: now, proxy: getenv(EnvProxy), chromium: getenv(EnvChromium), wait: attachTimeout}
}

// WithPatience sets how long another process may take to finish its start; without it, five seconds.
func (e *Emulator) WithPatience(d time.Duration) *Emulator {
	e.wait = d
	return e
}

// ensure returns the addresses of a live emulator and starts one from its saved
// state if necessary. A caller whose context ends returns at once; the search goes
// on for the others.
func (e *Emulator) ensure(ctx context.Context) (emulator.Ready, error) {
	e.mu.Lock()
	switch {
	case e.closed:
		e.mu.Unlock()
		return emulator.Ready{}, errClosed
	case e.server != nil:
		ready, changed := e.current()
		e.mu.Unlock()
		if changed {
			e.announceAgain(ready)
		}
		return ready, nil
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

// current reads the keys, the zones and the clock of the emulator that this process runs. The
// caller holds mu.
func (e *Emulator) current() (ready emulator.Ready, changed bool) {
	e.ahead.Store(int64(e.server.Ahead()))
	now := e.server.Ready()
	changed = !reflect.DeepEqual(now.Keys, e.ready.Keys) || !reflect.DeepEqual(now.Zones, e.ready.Zones)
	e.ready.Keys, e.ready.Zones = now.Keys, now.Zones
	return e.ready, changed
}

// search runs the attempt. If the session ends meanwhile, an emulator that it
// started is shut down again.
func (e *Emulator) search(ctx context.Context, a *attempt) {
	defer a.cancel()
	server, ready, err := e.find(ctx)
	e.mu.Lock()
	late := e.closed
	e.attempt = nil
	switch {
	case late:
		err = errClosed
	case err == nil:
		e.server, e.ready, e.known = server, ready, true
	}
	if a.ready = ready; err != nil {
		a.err = &UnavailableError{err}
	}
	e.mu.Unlock()
	if late && server != nil {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), endPatience)
		defer cancel()
		if err := e.end(stop, server); err != nil {
			e.log.Warn("shutting down an emulator that started after the session ended", "error", err)
		}
	}
	close(a.done)
}

// find returns the emulator that answers, or starts one. server is nil if another
// process runs it.
func (e *Emulator) find(ctx context.Context) (*emulator.Server, emulator.Ready, error) {
	e.mu.Lock()
	ready, known := e.ready, e.known
	e.mu.Unlock()
	if known && e.alive(ctx, ready) {
		if announced, found := e.readAnnouncement(); found && announced.API == ready.API {
			ready = announced // with the keys and zones of now
		}
		return nil, ready, nil
	}
	ctx, cancel := context.WithTimeout(ctx, e.wait)
	defer cancel()
	for {
		server, ready, err := e.attachOrStart(ctx)
		if !errors.Is(err, emulator.ErrStateInUse) {
			return server, ready, err
		}
		select {
		case <-time.After(attachPause):
		case <-ctx.Done():
			return nil, emulator.Ready{}, fmt.Errorf("another zonedeck%s holds %s but its emulator does not answer: end that process and try again", e.owner(), e.paths.EmulatorDir())
		}
	}
}

// owner names the process that announced the emulator, if it is known.
func (e *Emulator) owner() string {
	if r, found := e.readAnnouncement(); found && r.PID > 0 {
		return fmt.Sprintf(" (process %d)", r.PID)
	}
	return ""
}

// attachOrStart starts an emulator if the state folder is free, or else attaches to
// the one its owner announced. If the state cannot be kept (a read-only home, a full
// disk), the emulator runs for this process only, and a note says so.
func (e *Emulator) attachOrStart(ctx context.Context) (*emulator.Server, emulator.Ready, error) {
	none := emulator.Ready{}
	server, err := e.start(ctx, e.paths.EmulatorDir())
	if errors.Is(err, emulator.ErrStateInUse) {
		if announced, found := e.readAnnouncement(); found && e.alive(ctx, announced) {
			return nil, announced, nil
		}
		return nil, none, err
	}
	if err == nil {
		ready := server.Ready()
		if err = e.announce(ready); err == nil {
			e.ahead.Store(int64(server.Ahead()))
			return server, ready, nil
		}
		stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		err = errors.Join(err, server.Shutdown(stopCtx))
	}
	kept := err
	if server, err = e.start(ctx, ""); err != nil {
		return nil, none, fmt.Errorf("start the embedded emulator: %w", kept)
	}
	e.ahead.Store(int64(server.Ahead()))
	ready := server.Ready()
	ready.Notes = append(ready.Notes, fmt.Sprintf("the emulator's jobs and keys end with this process, because its state cannot be kept: %v", kept))
	return server, ready, nil
}

func (e *Emulator) start(ctx context.Context, dir string) (*emulator.Server, error) {
	// The remote browser's usual port is left to a separately served emulator and to
	// the user's own browsers. Chromium is not started before a client needs it.
	return emulator.Start(context.WithoutCancel(ctx), emulator.Options{StateDir: dir, ProxyAddr: e.proxy, CDPAddr: "127.0.0.1:0", LoopbackWebhooks: true, Chromium: e.chromium, Now: e.now, Log: e.log})
}

// Notes are the emulator's notes about its start.
func (e *Emulator) Notes() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ready.Notes
}

// StateNotes are the notes of an emulator run by this process about its state. The
// note about an unusual proxy port is left out: commands print the address where it
// matters.
func (e *Emulator) StateNotes() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.server == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(e.ready.Notes), func(n string) bool {
		return strings.Contains(n, "the proxy listens on")
	})
}

// Place is one run of the emulator, by its process and addresses.
type Place struct {
	API, Proxy string
	PID        int
}

// Place is the emulator that was found last, and whether this process runs it. Its addresses are then dead once it
// is closed.
func (e *Emulator) Place() (at Place, runsHere bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return Place{e.ready.API, e.ready.Proxy, e.ready.PID}, e.server != nil
}

// Close stops the search for an emulator, and the emulator if this process runs it.
func (e *Emulator) Close(ctx context.Context) error {
	e.mu.Lock()
	server, a := e.server, e.attempt
	e.server, e.closed = nil, true
	e.mu.Unlock()
	if a != nil {
		a.cancel()
		select {
		case <-a.done:
		case <-ctx.Done():
			return fmt.Errorf("end the embedded emulator, which is still starting: %w", ctx.Err())
		}
	}
	if server == nil {
		return nil
	}
	return e.end(ctx, server)
}

// end withdraws the announcement and shuts down an emulator of this process. The
// announcement goes first, while this process still holds the state folder, so that
// it never names an emulator that has gone.
func (e *Emulator) end(ctx context.Context, server *emulator.Server) error {
	if announced, found := e.readAnnouncement(); found && announced.API == server.Ready().API {
		_ = os.Remove(e.paths.EmulatorFile()) // a stale announcement is recognised later
	}
	if err := server.Shutdown(ctx); err != nil {
		return fmt.Errorf("end the embedded emulator: %w", err)
	}
	return nil
}

func (e *Emulator) readAnnouncement() (emulator.Ready, bool) {
	raw, err := os.ReadFile(e.paths.EmulatorFile())
	if err != nil {
		return emulator.Ready{}, false
	}
	var ready emulator.Ready
	if json.Unmarshal(raw, &ready) != nil || ready.API == "" {
		return emulator.Ready{}, false
	}
	return ready, true
}

// announce writes where the emulator listens, readable by this user alone.
func (e *Emulator) announce(ready emulator.Ready) error {
	raw, err := json.MarshalIndent(ready, "", "  ")
	if err != nil {
		return fmt.Errorf("announce the emulator: %w", err)
	}
	if err := textfile.Write(e.paths.EmulatorFile(), append(raw, '\n')); err != nil {
		return fmt.Errorf("announce the emulator: %w", err)
	}
	return nil
}

// announceAgain brings the announcement of this process up to date. An emulator whose state
// cannot be kept has none.
func (e *Emulator) announceAgain(ready emulator.Ready) {
	if announced, found := e.readAnnouncement(); !found || announced.API != ready.API {
		return
	}
	if err := e.announce(ready); err != nil {
		e.log.Warn("what changed in the emulator was not announced", "error", err)
	}
}

// alive reports whether an emulator answers at the announced address, and records its
// clock. Another program may have taken the port meanwhile, so the answer must come
// from an emulator that knows the token. The call does not appear in its journal.
func (e *Emulator) alive(ctx context.Context, ready emulator.Ready) bool {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	t, err := rehearsal.New(func(context.Context) (rehearsal.Place, error) { return controlOf(ready), nil }).Time(ctx)
	if err != nil {
		return false
	}
	e.ahead.Store(int64(t.Ahead))
	return true
}

// controlOf returns the address of an emulator's control interface.
func controlOf(r emulator.Ready) rehearsal.Place {
	return rehearsal.Place{URL: r.Control, Token: keystore.NewSecret(r.ControlToken)}
}

// Ahead is how far its clock was ahead of the machine's when last read.
func (e *Emulator) Ahead() time.Duration { return time.Duration(e.ahead.Load()) }

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
