package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"zonedeck/keystore"
	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/emulator"
	"zonedeck/service/profile"
	"zonedeck/service/rehearsal"
)

// DemoKey is the key of the demo account that the console uses when none is named.
const DemoKey = "batch-user"

const (
	attachTimeout = 5 * time.Second       // for another process to finish its start
	attachPause   = 30 * time.Millisecond // between looks at its announcement
	answerTimeout = time.Second           // loopback answers at once, also on a busy machine
)

// embedded is this user's one embedded emulator: run by this process, or by
// another that started it first. The lock of its state folder decides who; the
// announcement file tells the others where it listens. Safe for concurrent use.
type embedded struct {
	paths    profile.Paths
	log      *slog.Logger
	now      func() time.Time
	proxy    string        // address of its proxy; empty is 33335 or the next free port
	chromium string        // the browser's program; empty looks in PATH
	wait     time.Duration // for another process to finish its start

	mu      sync.Mutex       // held for a look at what follows, never over the network or the disk
	server  *emulator.Server // nil while another process runs it
	ready   emulator.Ready
	known   bool
	closed  bool
	attempt *attempt // the search under way; nil while nobody needs one

	// ahead is how far its clock is ahead of the machine's, in nanoseconds, as it was
	// last seen: who asks for the time cannot wait for an answer.
	ahead atomic.Int64
}

// attempt is one search for a living emulator, which everyone who asks for it
// meanwhile shares.
type attempt struct {
	cancel context.CancelFunc
	done   chan struct{} // closed once ready and err are set
	ready  emulator.Ready
	err    error
}

// errClosed: the session has ended, and with it the right to an emulator.
var errClosed = errors.New("the embedded emulator has been ended")

func newEmbedded(o Options, paths profile.Paths) *embedded {
	return &embedded{paths: paths, log: o.Log, now: o.Now, proxy: o.Getenv(EnvEmulatorProxy), chromium: o.Getenv(EnvChromium), wait: attachTimeout}
}

// ensure returns the addresses of a living emulator, starting it from its
// state where none lives. A caller whose context ends leaves at once; the search
// goes on for the others, and for whoever asks next.
func (e *embedded) ensure(ctx context.Context) (emulator.Ready, error) {
	e.mu.Lock()
	switch {
	case e.closed:
		e.mu.Unlock()
		return emulator.Ready{}, errClosed
	case e.server != nil:
		defer e.mu.Unlock()
		e.ahead.Store(int64(e.server.Ahead()))
		return e.ready, nil
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

// search makes the attempt. An emulator that starts after the session's end is
// ended at once.
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
			e.log.Warn("an emulator that nobody waited for", "error", err)
		}
	}
	close(a.done)
}

// find is the emulator that answers, or a new one; server is nil while another
// process runs it.
func (e *embedded) find(ctx context.Context) (*emulator.Server, emulator.Ready, error) {
	e.mu.Lock()
	ready, known := e.ready, e.known
	e.mu.Unlock()
	if known && e.alive(ctx, ready) {
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

// owner names the process that announced the emulator, where it is known.
func (e *embedded) owner() string {
	if r, found := e.readAnnouncement(); found && r.PID > 0 {
		return fmt.Sprintf(" (process %d)", r.PID)
	}
	return ""
}

// attachOrStart is one try: our own emulator if the state folder is free, else
// the one that its owner announced. Where its state cannot be kept (a home that
// is read-only, a full disk) it runs for this process alone, and a note says so.
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
	// The remote browser's usual port is left to those who serve the emulator alone, and
	// to browsers of one's own. Nothing starts Chromium before a client asks for it.
	return emulator.Start(context.WithoutCancel(ctx), emulator.Options{StateDir: dir, ProxyAddr: e.proxy, CDPAddr: "127.0.0.1:0", Chromium: e.chromium, Now: e.now, Log: e.log})
}

// notes are what the emulator has to say of its start.
func (e *embedded) notes() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ready.Notes
}

// stateNotes are what an emulator that this process runs has to say of its state.
// That its proxy is on another port than usual is no news to a command: it prints
// the address where it matters.
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

// where tells which emulator is in use, and whether this process runs it.
func (e *embedded) where() (ready emulator.Ready, ours bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ready, e.server != nil
}

// close ends the emulator if this process runs it, and the search for one.
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

// end takes the announcement back and ends an emulator of this process. The
// announcement goes first, while the state folder is still ours: it never speaks of
// what is not there.
func (e *embedded) end(ctx context.Context, server *emulator.Server) error {
	if announced, found := e.readAnnouncement(); found && announced.API == server.Ready().API {
		_ = os.Remove(e.paths.EmulatorFile()) // one that stays behind is found to be stale
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

// alive reports whether an emulator answers where one was announced, and notes its
// clock. A port may have passed to a stranger since, so the answer has to be that of an
// emulator that knows the token. What is asked is not in its journal of requests.
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

// controlOf is where an emulator's control interface listens.
func controlOf(r emulator.Ready) rehearsal.Place {
	return rehearsal.Place{URL: r.Control, Token: keystore.NewSecret(r.ControlToken)}
}

// clock is the emulator's time as it was last seen; before that the machine's.
func (e *embedded) clock() time.Time { return e.now().Add(time.Duration(e.ahead.Load())) }

// control is where the living emulator's control interface listens.
func (e *embedded) control(ctx context.Context) (rehearsal.Place, error) {
	ready, err := e.ensure(ctx)
	return controlOf(ready), err
}

// demoProfile is the profile of the demo account at the given addresses.
func demoProfile(r emulator.Ready) (profile.Profile, error) {
	host, port, err := splitPort(r.Proxy)
	if err != nil {
		return profile.Profile{}, fmt.Errorf("proxy address of the emulator: %w", err)
	}
	account, err := model.ParseAccountID(r.Account)
	if err != nil {
		return profile.Profile{}, fmt.Errorf("account of the emulator: %w", err)
	}
	p := profile.Profile{
		Name: profile.LocalName, BaseURL: r.API, ProxyHost: host, ProxyPort: port,
		UsernamePrefix: r.UsernamePrefix, Account: account, Dialect: dialect.Embedded().Name(),
		Key: DemoKey, APIVersion: "v3", CA: r.CA, Verify: true, Local: true,
	}
	for _, z := range r.Zones {
		product, err := model.ParseProduct(z.Product)
		if err != nil {
			return profile.Profile{}, fmt.Errorf("zone %s of the emulator: %w", z.Name, err)
		}
		p.Zones = append(p.Zones, model.Zone{
			Name: model.ZoneName(z.Name), Product: product,
			IdentityVerified: z.IdentityVerified, Password: "demo:zone/" + z.Name,
		})
	}
	return p, nil
}

// demoKeys are the demo account's keys as inventory entries.
func demoKeys(r emulator.Ready) []model.Key {
	keys := make([]model.Key, 0, len(r.Keys))
	for _, k := range r.Keys {
		level, _ := model.ParseLevel(string(k.Level))
		expires, _ := model.ParseExpiry(k.Expires)
		secret := keystore.NewSecret(k.Value)
		key := model.Key{
			Name: k.Name, Level: level, Duty: model.Duty(k.Duty), Expires: expires,
			Fingerprint: secret.Fingerprint(), Last4: secret.Last4(), Secret: "demo:key/" + k.Name,
		}
		if t, err := time.Parse(time.RFC3339, k.Rotated); err == nil {
			key.Rotation.Last = t
		}
		keys = append(keys, key)
	}
	return keys
}

// demoSecret answers "demo:" references from the emulator's announcement.
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
