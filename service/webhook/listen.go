package webhook

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/net/netutil"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
)

// DefaultAddress is where a receiver listens unless another address is given.
const DefaultAddress = "127.0.0.1:8787"

// Errors of Listen.
var (
	// ErrNotLoopback says that an address can be reached from other machines.
	ErrNotLoopback = errors.New("other machines can reach that address")
	// errInUse says that another program listens at the address.
	errInUse = errors.New("another program listens there")
)

// BusyError says that another process receives for the same inbox.
type BusyError struct{ Place Place }

func (e *BusyError) Error() string {
	return fmt.Sprintf("another zonedeck (process %d) receives already, at %s", e.Place.PID, e.Place.URL)
}

// Place is where a receiver listens.
type Place struct {
	URL string `json:"url"`
	PID int    `json:"pid"`
}

// Config is what a Receiver needs. Inbox must be set.
type Config struct {
	Inbox    *Inbox
	Settings Settings
	// Jobs hear of webhooks; may be nil.
	Jobs     Jobs
	Observer Observer // may be nil
	// Wall is the machine's clock, against which signatures are checked; nil for the real one.
	Wall Clock
	Log  *slog.Logger

	disk disk
	// Tests set shorter ones, and their own listener.
	patience, lockPatience, retryPause time.Duration
	listener                           net.Listener
}

// Jobs hear of their webhooks.
type Jobs interface {
	// HeardWebhook tells a job about a webhook and has the service asked. said is the outcome in words. ErrLater means
	// that this is not possible yet.
	HeardWebhook(ctx context.Context, news model.WebhookNews) (job, said string, err error)
}

// Observer sees what a Receiver does.
type Observer interface {
	// Received is called from one goroutine for each processed webhook and each repeat. Receiving does not
	// wait for it: if it is too slow, it misses some.
	Received(e Event)
	// Refused is called for a run of webhooks that were not stored: at the first, every minute while they
	// continue, when the run is over, and before Close returns if the count has grown.
	Refused(r model.WebhookRefusals)
}

// Clock says what time it is.
type Clock interface{ Now() time.Time }

type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }

// disk is where webhooks are written. Tests replace it.
type disk interface {
	// free is how many bytes may still be written on the disk of a folder.
	free(dir string) (uint64, error)
	// step is called before each write of a webhook. Tests kill the process there.
	step(name string)
}

type realDisk struct{}

func (realDisk) free(dir string) (uint64, error) { return freeBytes(dir) }
func (realDisk) step(string)                     {}

// Event is a webhook that an Observer hears of.
type Event struct {
	Webhook model.Webhook
	// Duplicate is true for a repeat.
	Duplicate bool
}

// Receiver listens until Close ends it.
type Receiver struct {
	conf     Config
	settings atomic.Pointer[Settings]
	inbox    *Inbox
	place    Place
	notice   string

	arrivals      chan *arrival
	news          chan placed   // for the observer
	missed        atomic.Int64  // webhooks that the observer missed
	idle          chan struct{} // closed when all but observe has ended
	observed      chan struct{} // closed when observe has ended
	wake          chan struct{}
	full          chan struct{}
	bufferedBytes atomic.Int64 // of bodies that are kept or coming in
	failed        chan error
	refused       refusals
	openRefusals  []model.WebhookRefusals // not over at the end
	server        *http.Server
	unlock        func()
	end           context.CancelFunc // of the work
	stop          context.CancelFunc // of the commits
	stopped       <-chan struct{}    // closed by stop
	running       sync.WaitGroup
	closed        sync.Once
}

// maxNews is how many webhooks may wait for the observer.
const maxNews = 1024

// Listen begins to receive at an address ("127.0.0.1:8787", port 0 for any). An address that other
// machines can reach needs open. Errors: ErrNotLoopback, errInUse, a *BusyError, those of the inbox.
func Listen(ctx context.Context, address string, open bool, c Config) (*Receiver, error) {
	if err := Local(address); err != nil && !open {
		return nil, err
	}
	if c.Wall == nil {
		c.Wall = wallClock{}
	}
	if c.disk == nil {
		c.disk = realDisk{}
	}
	c.patience, c.lockPatience, c.retryPause = cmp.Or(c.patience, closePatience), cmp.Or(c.lockPatience, lockPatience), cmp.Or(c.retryPause, pruneRest)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if frozen := c.Inbox.db.Frozen(); frozen != nil {
		return nil, frozen
	}
	unlock, err := c.Inbox.lock(ctx, c.lockPatience)
	if err != nil {
		return nil, err
	}
	r := &Receiver{
		conf: c, inbox: c.Inbox, unlock: unlock, arrivals: make(chan *arrival), news: make(chan placed, maxNews), idle: make(chan struct{}), observed: make(chan struct{}),
		wake: make(chan struct{}, 1), full: make(chan struct{}, 1), failed: make(chan error, 1), refused: refusals{wake: make(chan struct{}, 1)},
	}
	r.settings.Store(c.Settings.orDefault())
	if err := r.begin(ctx, address); err != nil {
		unlock()
		return nil, err
	}
	return r, nil
}

func (r *Receiver) begin(ctx context.Context, address string) error {
	aside, err := r.inbox.sweepBodies(ctx)
	if err != nil {
		return err
	}
	if aside != "" {
		r.notice = "The inbox had unknown bodies of webhooks. They were moved to " + aside + "."
	}
	held, err := r.inbox.bytes(ctx)
	if err != nil {
		return err
	}
	r.bufferedBytes.Store(held)
	if err := r.inbox.setRefused(nil); err != nil { // left by a killed receiver
		return err
	}
	listener := r.conf.listener
	if listener == nil {
		if listener, err = listenAt(ctx, address); err != nil {
			return err
		}
	}
	r.place = Place{URL: "http://" + listener.Addr().String(), PID: os.Getpid()}
	announced, err := json.Marshal(r.place)
	if err == nil {
		err = textfile.Write(r.inbox.placeFile(), announced)
	}
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	work, end := context.WithCancel(context.WithoutCancel(ctx))
	commits, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.end, r.stop, r.stopped = end, stop, commits.Done()
	r.server = &http.Server{
		Handler: r, ReadHeaderTimeout: headerPatience, IdleTimeout: time.Minute, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(r.conf.Log.Handler(), slog.LevelDebug),
	}
	r.running.Go(func() { r.inbox.commit(commits, r.arrivals) })
	r.running.Go(func() { r.work(work) })
	r.running.Go(func() { r.clean(work) })
	r.running.Go(func() { r.refuse(work) })
	go r.observe()
	r.running.Go(func() {
		if err := r.server.Serve(netutil.LimitListener(listener, maxConnections)); !errors.Is(err, http.ErrServerClosed) {
			r.failed <- fmt.Errorf("%s: %w: %w", r.place.URL, errStopping, err)
		}
	})
	return nil
}

func listenAt(ctx context.Context, address string) (net.Listener, error) {
	var conf net.ListenConfig
	listener, err := conf.Listen(ctx, network(address), address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s: %w: choose another port, or 0 for any", address, errInUse)
	case err != nil:
		return nil, fmt.Errorf("listening at %s: %w", address, err)
	}
	return listener, nil
}

// network is net.Listen's network for an address. An IP address means its own family only: with "tcp",
// 0.0.0.0 would include all IPv6 addresses.
func network(address string) string {
	host, _, _ := net.SplitHostPort(address)
	a, err := netip.ParseAddr(host)
	switch {
	case err != nil: // a name, or empty for every address
		return "tcp"
	case a.Unmap().Is4():
		return "tcp4"
	default:
		return "tcp6"
	}
}

// Notice says which bodies Listen put aside, or is empty.
func (r *Receiver) Notice() string { return r.notice }

// Failed receives an error if the system ends the listening. Close must still be called.
func (r *Receiver) Failed() <-chan error { return r.failed }

// URL is where the receiver listens: "http://127.0.0.1:8787".
func (r *Receiver) URL() string { return r.place.URL }

// closePatience is how long Close waits for incoming webhooks, and then for the observer.
const closePatience = 5 * time.Second

// Close takes no more webhooks, answers those coming in, and ends the work. The next receiver processes
// what is left.
func (r *Receiver) Close() error {
	var err error
	r.closed.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), r.conf.patience)
		defer cancel()
		if err = r.server.Shutdown(ctx); err != nil {
			err = r.server.Close() // unanswered webhooks come again
		}
		r.end()
		r.stop()
		r.running.Wait()
		close(r.idle)
		select {
		case <-r.observed:
		case <-time.After(r.conf.patience):
		}
		err = errors.Join(err, r.inbox.setRefused(nil), os.Remove(r.inbox.placeFile()))
		r.unlock()
	})
	return err
}

// stored wakes the goroutines that process and clean up, and queues news of a repeat.
func (r *Receiver) stored(got placed) {
	if got.duplicate {
		r.queueNews(got)
	}
	poke(r.wake)
	if r.bufferedBytes.Load() > r.settings.Load().Keep.Bytes {
		poke(r.full)
	}
}

func poke(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// queueNews queues a webhook for the observer, unless too many are waiting.
func (r *Receiver) queueNews(p placed) {
	select {
	case r.news <- p:
	default:
		r.missed.Add(1)
	}
}

// observe tells the observer of webhooks until the rest has ended and none is waiting.
func (r *Receiver) observe() {
	defer close(r.observed)
	for {
		select {
		case p := <-r.news:
			r.notify(p)
		case <-r.idle:
			for {
				select {
				case p := <-r.news:
					r.notify(p)
				default:
					return
				}
			}
		}
	}
}

func (r *Receiver) notify(p placed) {
	if r.conf.Observer == nil {
		return
	}
	if d, err := r.inbox.Get(context.Background(), p.id); err == nil {
		r.conf.Observer.Received(Event{Webhook: d, Duplicate: p.duplicate})
	}
	if n := r.missed.Swap(0); n > 0 {
		r.conf.Log.Warn("some webhooks were not reported", "untold", n)
	}
}

// Local returns nil if only this machine can reach an address. If others can, the error wraps ErrNotLoopback.
func Local(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%q is not HOST:PORT", address)
	}
	if loopback(host) {
		return nil
	}
	return fmt.Errorf("%s: %w", address, ErrNotLoopback)
}

// loopback reports whether a host, as written, can only be this machine.
func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && a.Unmap().IsLoopback()
}

func (in *Inbox) lockFile() string  { return filepath.Join(in.dir, "receiving") }
func (in *Inbox) placeFile() string { return filepath.Join(in.dir, "receiving.json") }

// lockPatience is how long to wait for the lock: Listening holds it for a moment, too.
const lockPatience = 2 * time.Second

// lock makes this process the only one that receives.
func (in *Inbox) lock(ctx context.Context, patience time.Duration) (unlock func(), err error) {
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	unlock, err = textfile.Lock(waiting, in.lockFile())
	if err != nil && waiting.Err() != nil && ctx.Err() == nil {
		place, _ := in.readPlace()
		return nil, &BusyError{place}
	}
	return unlock, err
}

func (in *Inbox) readPlace() (p Place, err error) {
	b, err := textfile.ReadBounded(in.placeFile(), 4<<10)
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	return p, err
}

// Listening returns where a process of this user receives; ok is false if none does.
func (in *Inbox) Listening() (p Place, ok bool) {
	p, err := in.readPlace()
	if err != nil || p.URL == "" {
		return Place{}, false
	}
	unlock, free, err := textfile.TryLock(in.lockFile())
	if err != nil || free {
		if free {
			unlock()
		}
		return Place{}, false
	}
	return p, true
}

// signatureHeader reports whether a header is a verifier's. Its value is kept even if its name looks secret: a
// signature is good for these bytes only, and a replay needs it.
func (r *Receiver) signatureHeader(name string) bool {
	return slices.ContainsFunc(r.settings.Load().Verifiers, func(v Verifier) bool { return v.header != "" && strings.EqualFold(v.header, name) })
}
