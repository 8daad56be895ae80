package deliver

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"zonedeck/service/emulator/state"
)

const (
	// AckTimeout is how long a receiver may take to answer (public documentation).
	AckTimeout = 30 * time.Second
	// MaxAttempt bounds one attempt even while its bytes move: a receiver that reads one
	// byte at a time would hold a place for ever.
	MaxAttempt = 15 * time.Minute
	// Retention is how long a delivery that has ended can be read.
	Retention = 30 * 24 * time.Hour

	maxWaiting   = 10_000
	sendAtOnce   = 8
	houseEvery   = time.Hour
	maxSigned    = 64 << 20 // bytes of a signed body, which is held in memory
	maxAnswer    = 64 << 10 // bytes of a receiver's answer that are read
	maxErrorText = 300
	maxCopies    = 16
	diskPause    = time.Minute // after an attempt that could not be written
)

// Schedule is the waits between attempts when Config names none.
func Schedule() []time.Duration {
	return []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour}
}

// Config is what an engine needs.
type Config struct {
	State *state.Dir
	// Send does one POST without following redirects. It decides which receivers may
	// be reached.
	Send func(*http.Request) (*http.Response, error)
	// Source opens the records of a snapshot; part counts from 1, batch 0 is all of them.
	Source func(snapshot, format string, batch, part int) (write func(io.Writer) error, err error)
	// Now is the emulator's clock, for the schedule. Wall is the clock of signatures, which
	// receivers compare with their own. Nil is time.Now.
	Now, Wall func() time.Time
	// Secret signs every webhook by Standard Webhooks ("whsec_" and base64). Empty is
	// unsigned.
	Secret string
	// Schedule is the waits between the attempts at one file; nil is [Schedule].
	Schedule []time.Duration
	// AckTimeout is how long an attempt may make no progress; 0 is [AckTimeout].
	AckTimeout time.Duration
	// Fault is called before every attempt. Nil does nothing.
	Fault func(d Delivery) Fault
	Log   *slog.Logger
}

// Engine delivers.
type Engine struct {
	conf   Config
	signer *standardwebhooks.Webhook // nil is unsigned
	ctx    context.Context
	stop   context.CancelFunc
	wg     sync.WaitGroup
	slots  chan struct{}
	wake   chan struct{}

	adding sync.Mutex // serialises new deliveries, including their writes; taken before mu

	mu      sync.Mutex           // never held while the disk is written to
	all     map[string]*Delivery // with secrets
	waiting map[string]*Delivery // a small part of all
	sending map[string]bool
	delayed map[string]Fault // whose Late is being waited for
}

// Open loads the deliveries. Nothing is sent before [Engine.Start]. The error is the
// disk's, or an invalid secret.
func Open(ctx context.Context, conf Config) (*Engine, error) {
	if conf.Now == nil {
		conf.Now = time.Now
	}
	if conf.Wall == nil {
		conf.Wall = time.Now
	}
	if conf.Schedule == nil {
		conf.Schedule = Schedule()
	}
	conf.AckTimeout = cmp.Or(conf.AckTimeout, AckTimeout)
	e := &Engine{
		conf: conf, slots: make(chan struct{}, sendAtOnce), wake: make(chan struct{}, 1),
		all: map[string]*Delivery{}, waiting: map[string]*Delivery{}, sending: map[string]bool{}, delayed: map[string]Fault{},
	}
	if conf.Secret != "" {
		w, err := standardwebhooks.NewWebhook(conf.Secret)
		if err != nil {
			// The library's error repeats parts of the secret.
			return nil, errors.New("the webhook secret is not whsec_ and base64")
		}
		e.signer = w
	}
	e.ctx, e.stop = context.WithCancel(ctx)
	if err := e.load(); err != nil {
		e.stop()
		return nil, err
	}
	return e, nil
}

// Start begins sending.
func (e *Engine) Start() { e.wg.Go(e.run) }

// Close stops the attempts, and waits for them and for deliveries that are being added.
// Waiting deliveries go on at the next start.
func (e *Engine) Close() error {
	e.stop()
	e.wg.Wait()
	e.adding.Lock()
	defer e.adding.Unlock()
	return nil
}

// Wake looks for deliveries that are due. Call it after moving the clock.
func (e *Engine) Wake() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// Add takes the webhooks of a job. They are on disk when it returns. It ignores one that
// was added before. Errors: [ErrTooMany], or the disk's.
func (e *Engine) Add(ms ...Message) error {
	for _, m := range ms {
		if _, err := e.add(idOf(m), m); err != nil {
			return err
		}
	}
	e.Wake()
	return nil
}

// Deliver adds a delivery apart from the webhooks of jobs; every call adds one. Errors: as
// [Engine.Add].
func (e *Engine) Deliver(m Message) (Delivery, error) {
	d, err := e.add(newID(), m)
	e.Wake()
	return d, err
}

func (e *Engine) add(id string, m Message) (Delivery, error) {
	m.Parts = max(m.Parts, 1)
	e.adding.Lock()
	defer e.adding.Unlock()
	e.mu.Lock()
	known, waiting := e.all[id], len(e.waiting)
	e.mu.Unlock()
	if known != nil {
		return known.public(), nil
	}
	if waiting >= maxWaiting {
		return Delivery{}, ErrTooMany
	}
	now := e.conf.Now().UTC()
	d := &Delivery{ID: id, Message: m, Created: now, Next: now, Status: Waiting, Files: []File{}, Attempts: []Attempt{}}
	if err := e.keep(d); err != nil {
		return Delivery{}, err
	}
	return d.public(), nil
}

// withoutLogin masks the login in an address.
func withoutLogin(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.User == nil {
		return address
	}
	u.User = url.User("***")
	return u.String()
}

// public is a copy without secrets.
func (d *Delivery) public() Delivery {
	c := d.clone()
	c.withoutSecrets()
	return *c
}

func (d *Delivery) withoutSecrets() {
	d.Message.Auth, d.Message.URL = "", withoutLogin(d.Message.URL)
}

// Get is one delivery; the error is [ErrNoDelivery].
func (e *Engine) Get(id string) (Delivery, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	d, ok := e.all[id]
	if !ok {
		return Delivery{}, ErrNoDelivery
	}
	return d.public(), nil
}

// List is the deliveries of a snapshot, or all for an empty id, the oldest first.
func (e *Engine) List(snapshot string) []Delivery {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := []Delivery{}
	for _, d := range e.all {
		if snapshot == "" || d.Message.Snapshot == snapshot {
			out = append(out, d.public())
		}
	}
	slices.SortFunc(out, func(a, b Delivery) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// end moves a delivery to its last state and removes its secrets.
func (e *Engine) end(d *Delivery, status Status) {
	d.Status, d.Ended, d.Next = status, e.conf.Now().UTC(), time.Time{}
	d.withoutSecrets()
}

// run sends what is due until the engine is closed.
func (e *Engine) run() {
	var cleaned time.Time
	for {
		// By the emulator's clock, which may have been moved.
		if now := e.conf.Now(); now.Sub(cleaned) >= houseEvery {
			e.clean()
			cleaned = now
		}
		select {
		case <-time.After(e.sendDue()):
		case <-e.wake:
		case <-e.ctx.Done():
			return
		}
	}
}

// sendDue starts an attempt at every delivery that is due. It returns the time until the
// next one is.
func (e *Engine) sendDue() time.Duration {
	now := e.conf.Now()
	next := houseEvery
	e.mu.Lock()
	defer e.mu.Unlock()
	for id, d := range e.waiting {
		if e.sending[id] {
			continue
		}
		if wait := d.Next.Sub(now); wait > 0 {
			next = min(next, wait)
			continue
		}
		e.sending[id] = true
		e.wg.Go(func() {
			e.one(id)
			e.mu.Lock()
			delete(e.sending, id)
			e.mu.Unlock()
			e.Wake()
		})
	}
	return next
}
