package session

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
	"zonedeck/service/dialect"
	"zonedeck/service/emulator"
	"zonedeck/service/rehearsal"
)

// DemoKey is the demo account's key that the console uses by default.
const DemoKey = "batch-user"

const (
	attachTimeout = 5 * time.Second       // for another process to finish its start
	attachPause   = 30 * time.Millisecond // between two reads of its announcement
	answerTimeout = time.Second           // loopback answers quickly even on a busy machine
)

// embedded is this user's one embedded emulator: run by this process or by
// another one that started it first. The lock on its state folder decides; the
// announcement file tells the other processes where it listens. Safe for concurrent use.
type embedded struct {
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

// errClosed is returned after the session has ended.
var errClosed = errors.New("the embedded emulator has been ended")

func newEmbedded(o Options, paths config.Paths) *embedded {
	return &embedded{paths: paths, log: o.Log, now: o.Now, proxy: o.Getenv(EnvEmulatorProxy), chromium: o.Getenv(EnvChromium), wait: attachTimeout}
}

// ensure returns the addresses of a live emulator and starts one from its saved
// state if necessary. A caller whose context ends returns at once; the search goes
// on for the others.
func (e *embedded) ensure(ctx context.Context) (emulator.Ready, error) {
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
func (e *embedded) current() (ready emulator.Ready, changed bool) {
	e.ahead.Store(int64(e.server.Ahead()))
	now := e.server.Ready()
	changed = !reflect.DeepEqual(now.Keys, e.ready.Keys) || !reflect.DeepEqual(now.Zones, e.ready.Zones)
	e.ready.Keys, e.ready.Zones = now.Keys, now.Zones
	return e.ready, changed
}

// search runs the attempt. If the session ends meanwhile, an emulator that it
// started is shut down again.
func (e *embedded) search(ctx context.Context, a *attempt) {
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
	a.ready, a.err = ready, err
	e.mu.Unlock()
	if late && server != nil {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), closePatience)
		defer cancel()
		if err := e.end(stop, server); err != nil {
			e.log.Warn("shutting down an emulator that started after the session ended", "error", err)
		}
	}
	close(a.done)
}

// find returns the emulator that answers, or starts one. server is nil if another
// process runs it.
func (e *embedded) find(ctx context.Context) (*emulator.Server, emulator.Ready, error) {
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
func (e *embedded) owner() string {
	if r, found := e.readAnnouncement(); found && r.PID > 0 {
		return fmt.Sprintf(" (process %d)", r.PID)
	}
	return ""
}

// attachOrStart starts an emulator if the state folder is free, or else attaches to
// the one its owner announced. If the state cannot be kept (a read-only home, a full
// disk), the emulator runs for this process only, and a note says so.
func (e *embedded) attachOrStart(ctx context.Context) (*emulator.Server, emulator.Ready, error) {
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

func (e *embedded) start(ctx context.Context, dir string) (*emulator.Server, error) {
	// The remote browser's usual port is left to a separately served emulator and to
	// the user's own browsers. Chromium is not started before a client needs it.
	return emulator.Start(context.WithoutCancel(ctx), emulator.Options{StateDir: dir, ProxyAddr: e.proxy, CDPAddr: "127.0.0.1:0", LoopbackWebhooks: true, Chromium: e.chromium, Now: e.now, Log: e.log})
}

// notes are the emulator's notes about its start.
func (e *embedded) notes() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ready.Notes
}

// stateNotes are the notes of an emulator run by this process about its state. The
// note about an unusual proxy port is left out: commands print the address where it
// matters.
func (e *embedded) stateNotes() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.server == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(e.ready.Notes), func(n string) bool {
		return strings.Contains(n, "the proxy listens on")
	})
}

// where returns the emulator in use, and whether this process runs it.
func (e *embedded) where() (ready emulator.Ready, runsHere bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ready, e.server != nil
}

// EmulatorEnds reports whether this process runs the embedded emulator in use, so that
// its addresses are dead once the session is closed.
func (s *Session) EmulatorEnds() bool {
	if s.embedded == nil {
		return false
	}
	_, runsHere := s.embedded.where()
	return runsHere
}

// close stops the search for an emulator, and the emulator if this process runs it.
func (e *embedded) close(ctx context.Context) error {
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
func (e *embedded) end(ctx context.Context, server *emulator.Server) error {
	if announced, found := e.readAnnouncement(); found && announced.API == server.Ready().API {
		_ = os.Remove(e.paths.EmulatorFile()) // a stale announcement is recognised later
	}
	if err := server.Shutdown(ctx); err != nil {
		return fmt.Errorf("end the embedded emulator: %w", err)
	}
	return nil
}

func (e *embedded) readAnnouncement() (emulator.Ready, bool) {
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
func (e *embedded) announce(ready emulator.Ready) error {
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
func (e *embedded) announceAgain(ready emulator.Ready) {
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
func (e *embedded) alive(ctx context.Context, ready emulator.Ready) bool {
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

// clock is the emulator's time as last read, and the machine's time before that.
func (e *embedded) clock() time.Time { return e.now().Add(time.Duration(e.ahead.Load())) }

// control returns the address of the live emulator's control interface.
func (e *embedded) control(ctx context.Context) (rehearsal.Place, error) {
	ready, err := e.ensure(ctx)
	return controlOf(ready), err
}

// demoProfile is the profile of the demo account at the given addresses.
func demoProfile(r emulator.Ready) (config.Profile, error) {
	host, port, err := splitPort(r.Proxy)
	if err != nil {
		return config.Profile{}, fmt.Errorf("proxy address of the emulator: %w", err)
	}
	account, err := model.ParseAccountID(r.Account)
	if err != nil {
		return config.Profile{}, fmt.Errorf("account of the emulator: %w", err)
	}
	p := config.Profile{
		Name: config.LocalName, BaseURL: r.API, ProxyHost: host, ProxyPort: port, AgentURL: r.API + "/mcp", BrowserURL: r.CDP,
		UsernamePrefix: r.UsernamePrefix, Account: account, Dialect: dialect.Embedded().Name(),
		Key: DemoKey, APIVersion: "v3", CA: r.CA, Verify: true, Local: true,
	}
	for _, z := range r.Zones {
		product, err := model.ParseProduct(z.Product)
		if err != nil {
			return config.Profile{}, fmt.Errorf("zone %s of the emulator: %w", z.Name, err)
		}
		p.Zones = append(p.Zones, model.Zone{
			Name: model.ZoneName(z.Name), Product: product,
			IdentityVerified: z.IdentityVerified, Password: "demo:zone/" + z.Name,
			Rate: model.Rate{Per1000: z.RatePer1000, PerGB: z.RatePerGB},
		})
	}
	return p, nil
}

// demoUsers is what uses the keys of the demo account besides what the console finds: as in an
// inventory, by name or as a reference, which can be proved.
func demoUsers(key string) []string {
	return map[string][]string{
		"etl-main": {"demo:key/etl-main"}, "ci-fetch": {"CI nightly"}, "finance-review": {"demo:key/finance-review"},
		"limit-lists": {"allow lists"}, "expired-user": {"old crawler"}, "ops-zones": {"demo:key/ops-zones"}, "old-admin": {"demo:key/old-admin"},
	}[key]
}

// demoKeys are the demo account's keys as inventory entries.
func demoKeys(r emulator.Ready) []model.Key {
	keys := make([]model.Key, 0, len(r.Keys))
	for _, k := range r.Keys {
		level, _ := model.ParseLevel(string(k.Level))
		expires, _ := model.ParseExpiry(k.Expires)
		key := model.Key{Name: k.Name, Level: level, Duty: model.Duty(k.Duty), Expires: expires, UsedBy: demoUsers(k.Name)}
		if k.Value == "" {
			key.Note = "the emulator showed its value once, when it was made: record the key under this name, with a reference to the value, to use it"
		} else {
			secret := keystore.NewSecret(k.Value)
			key.Fingerprint, key.Last4, key.Secret = secret.Fingerprint(), secret.Last4(), "demo:key/"+k.Name
		}
		key.Rotation.Last, _ = time.Parse(time.RFC3339, k.Rotated) // empty is unknown, which a zero time is, too
		key.Created, _ = time.Parse(time.RFC3339, k.Created)
		keys = append(keys, key)
	}
	return keys
}

// demoSecret resolves "demo:" references from the emulator's announcement.
func (e *embedded) demoSecret(name string) (keystore.Secret, bool) {
	e.mu.Lock()
	r, known := e.ready, e.known
	e.mu.Unlock()
	if !known {
		return keystore.Secret{}, false
	}
	for _, k := range r.Keys {
		if name == "key/"+k.Name && k.Value != "" {
			return keystore.NewSecret(k.Value), true
		}
	}
	for _, z := range r.Zones {
		if name == "zone/"+z.Name {
			return keystore.NewSecret(z.Password), true
		}
	}
	return keystore.Secret{}, false
}
