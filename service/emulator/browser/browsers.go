package browser

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"zonedeck/service/emulator/state"
)

// ErrClosed is the answer of every call after Close.
var ErrClosed = errors.New("the browsers are closed")

const (
	defaultSessions = 4
	defaultPages    = 4
	defaultIdle     = time.Minute
	// maxPagesPerProcess bounds what a long-lived Chromium may pile up: after so many
	// pages it is replaced by a fresh one.
	maxPagesPerProcess = 200
)

// Config is what the product needs from its surroundings. The zero value works.
type Config struct {
	// Path is the Chromium to run, CHROME_PATH by convention; empty looks in PATH.
	Path string
	// Trust are authorities whose certificates pages may show, although the machine
	// does not know them. The server has to send the authority's own certificate in
	// its chain: Chromium looks for its key there.
	Trust []*x509.Certificate
	// NoSandbox starts Chromium without its sandbox. Root always does; other users
	// should only where the machine offers none (many containers).
	NoSandbox bool
	// Now is the clock that sessions are dated and limited by; nil is time.Now.
	Now func() time.Time
	// Sessions bounds the CDP sessions at one time, each with a Chromium of its own;
	// 0 is 4.
	Sessions int
	// Pages bounds the pages rendered at one time, all in one Chromium; 0 is 4.
	Pages int
	// Idle is how long the Chromium of the rendered pages waits for the next one; 0
	// is a minute.
	Idle time.Duration
	// Captcha is how long a challenge may take once its box is ticked; 0 is 10 s.
	Captcha time.Duration
	// Login checks the login of a CDP connection, see [Login].
	Login Login
	// Limits bound a CDP session.
	Limits Limits
	// Log hears of browsers that do not start; nil is nobody.
	Log *slog.Logger
}

// Browsers is the pool of Chromium processes.
type Browsers struct {
	cfg    Config
	trust  [][]byte
	egress *egress
	temp   *state.Temp // the folder of the profiles
	dir    string      // its path

	pages    chan struct{} // a token per page that may be open
	sessions chan struct{} // a token per CDP session that may be open

	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu     sync.Mutex
	closed bool
	shared *worker
	known  register

	productKnown string
	tickets      tickets
}

// worker is the Chromium that pages are rendered in.
type worker struct {
	ready chan struct{} // closed when the fields below stand
	err   error
	chrom *chromium
	ctx   context.Context // chromedp's
	stop  func()

	// guarded by Browsers.mu
	using int
	used  int
	timer *time.Timer
}

// Open prepares the product. No process starts, no port is opened and no folder made
// before the first call that needs one, so Chromium need not be there. Cancelling ctx ends
// the sessions and the pages; Close still has to be called.
func Open(ctx context.Context, cfg Config) *Browsers {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Sessions <= 0 {
		cfg.Sessions = defaultSessions
	}
	if cfg.Pages <= 0 {
		cfg.Pages = defaultPages
	}
	if cfg.Idle <= 0 {
		cfg.Idle = defaultIdle
	}
	if cfg.Captcha <= 0 {
		cfg.Captcha = defaultSolve
	}
	cfg.Limits = cfg.Limits.filled()
	b := &Browsers{
		cfg: cfg, trust: make([][]byte, 0, len(cfg.Trust)),
		pages: make(chan struct{}, cfg.Pages), sessions: make(chan struct{}, cfg.Sessions),
	}
	b.ctx, b.cancel = context.WithCancel(ctx)
	for _, cert := range cfg.Trust {
		sum := sha256.Sum256(cert.RawSubjectPublicKeyInfo)
		b.trust = append(b.trust, sum[:])
	}
	return b
}

// furnish makes the folder and the way out, at the first call, and clears what killed
// emulators left. b.mu is held.
func (b *Browsers) furnish() error {
	if b.egress != nil {
		return nil
	}
	if b.temp == nil {
		made, err := state.NewTemp("zonedeck-browser-")
		if err != nil {
			return fmt.Errorf("making the browsers' folder: %w", err)
		}
		b.temp, b.dir = made, made.Path
	}
	var err error
	b.egress, err = openEgress(b.ctx)
	return err
}

// clear takes back what furnish made.
func (b *Browsers) clear() error {
	if b.egress != nil {
		b.egress.close()
	}
	var err error
	if b.temp != nil {
		err = b.temp.Remove()
	}
	if err != nil {
		return fmt.Errorf("removing the browsers' folder: %w", err)
	}
	return nil
}

// Close ends every session and every process, waits for them and removes their
// folders.
func (b *Browsers) Close() error {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return nil
	}
	b.closed = true
	w := b.shared
	b.shared = nil
	if w != nil && w.timer != nil {
		w.timer.Stop()
	}
	b.mu.Unlock()
	b.cancel()
	if w != nil {
		w.end()
	}
	b.work.Wait()
	return b.clear()
}

// over reports whether no work is taken any more. b.mu is held.
func (b *Browsers) over() bool { return b.closed || b.ctx.Err() != nil }

// begin counts a call in. Close waits for its work.Done.
func (b *Browsers) begin() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over() {
		return ErrClosed
	}
	if err := b.furnish(); err != nil {
		return err
	}
	b.work.Add(1)
	return nil
}

// launch starts one Chromium.
func (b *Browsers) launch(ctx context.Context) (*chromium, error) {
	program, err := Find(b.cfg.Path)
	if err != nil {
		return nil, err
	}
	l := launch{program: program, dir: b.dir, proxy: b.egress.addr(), trust: b.trust, noSandbox: b.cfg.NoSandbox}
	// One that does not say its version calls itself what it likes.
	if product, err := b.product(ctx); err == nil {
		l.userAgent = userAgent(product)
	}
	return l.start(ctx)
}

// borrow gives the Chromium for one page, starting it where none runs. give takes it
// back.
func (b *Browsers) borrow(ctx context.Context) (*worker, error) {
	for {
		w, starts := b.pick()
		if w == nil {
			return nil, ErrClosed
		}
		if starts {
			w.start(b)
		}
		select {
		case <-w.ready:
		case <-ctx.Done():
			b.give(w)
			return nil, ctx.Err()
		}
		if w.err != nil {
			err := w.err
			b.give(w)
			return nil, err
		}
		if w.chrom.alive() {
			return w, nil
		}
		b.give(w) // it crashed since: the next round starts another
	}
}

// pick counts one user in at the Chromium that is, or is to be, started.
func (b *Browsers) pick() (w *worker, starts bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over() {
		return nil, false
	}
	w = b.shared
	if w == nil {
		w, starts = &worker{ready: make(chan struct{})}, true
		b.shared = w
	}
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
	w.using++
	w.used++
	return w, starts
}

// start runs Chromium in the pool's name, whoever waits for it.
func (w *worker) start(b *Browsers) {
	b.work.Go(func() {
		defer close(w.ready)
		if w.chrom, w.err = b.launch(b.ctx); w.err != nil {
			return
		}
		if w.ctx, w.stop, w.err = drive(b.ctx, w.chrom.mux.own); w.err != nil {
			w.chrom.end()
			return
		}
		w.chrom.mux.root.drop()
	})
}

// give takes a Chromium back: it waits for the next page, or ends where it is
// broken, used up or not the pool's any more.
func (b *Browsers) give(w *worker) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w.using--
	broken := false
	select {
	case <-w.ready:
		broken = w.err != nil || !w.chrom.alive()
	default:
	}
	if b.shared == w && (broken || w.used >= maxPagesPerProcess || b.over()) {
		b.shared = nil
	}
	switch {
	case w.using > 0:
	case b.shared != w:
		b.work.Go(w.end)
	default:
		w.timer = time.AfterFunc(b.cfg.Idle, func() { b.expire(w) })
	}
}

// expire ends a Chromium that nobody used for a while.
func (b *Browsers) expire(w *worker) {
	b.mu.Lock()
	if b.closed || b.shared != w || w.using > 0 {
		b.mu.Unlock()
		return
	}
	b.shared = nil
	b.work.Add(1)
	b.mu.Unlock()
	defer b.work.Done()
	w.end()
}

// end stops the process, started or not.
func (w *worker) end() {
	<-w.ready
	if w.err != nil {
		return
	}
	w.chrom.end()
	w.stop()
}
