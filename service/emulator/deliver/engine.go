// Package deliver sends the webhooks of dataset jobs (service.md 6): a notice that a
// job has ended, or its records.
//
// The emulator's root hands it the webhooks of jobs; the dataset endpoints read it. An
// [Engine] is safe for concurrent use; its goroutines have ended when [Engine.Close]
// returns. Readers never wait for a write to disk.
//
// A delivery is on disk before [Engine.Add] returns and before every attempt, so a process
// that dies loses no delivery and repeats none for ever: an attempt counts once it has
// begun. A receiver may therefore see a delivery twice (service.md 6: be idempotent), and a
// delivery has at most one more attempt than its schedule has waits.
//
// The retry schedule and the signature are assumptions: the contract shows neither, and
// public documentation says only that a receiver has 30 seconds.
package deliver

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"zonedeck/service/emulator/state"
)

// Errors that callers decide on.
var (
	errNoDelivery = errors.New("delivery does not exist")
	ErrTooMany    = errors.New("too many deliveries are waiting")
)

// Kinds of a [Message] (public documentation).
const (
	Notify   = "notify"   // snapshot id and status
	Endpoint = "endpoint" // the records
)

// Message is what to send, and where.
type Message struct {
	Snapshot string `json:"snapshot"`
	// Status is the job's, as on the wire.
	Status string `json:"status"`
	Kind   string `json:"kind"`
	// URL may contain a login, which is kept like Auth.
	URL string `json:"url"`
	// Auth is the Authorization header; a secret, kept until the delivery has ended.
	Auth string `json:"auth,omitempty"`
	// Format is json, ndjson, jsonl or csv; Plain sends the records without gzip.
	Format string `json:"format,omitempty"`
	Plain  bool   `json:"plain,omitempty"`
	// Batch is the records of one file, 0 all; Parts the number of files, 0 is 1.
	Batch int `json:"batch,omitempty"`
	Parts int `json:"parts,omitempty"`
	// Name is the files' name without number and extension; empty is the snapshot's
	// id.
	Name string `json:"name,omitempty"`
}

// Status is a delivery's state. Done and failed are public documentation (canceled too, but
// nothing cancels a delivery here); the word for a waiting one is an assumption.
type Status string

// The states of a delivery.
const (
	Waiting Status = "running"
	Done    Status = "done"
	Failed  Status = "failed"
)

func (s Status) ended() bool { return s != Waiting }

// Attempt is one POST.
type Attempt struct {
	At time.Time `json:"at"`
	// Part is the file's number from 1.
	Part int `json:"part"`
	// Status is the receiver's HTTP status, 0 without an answer.
	Status int    `json:"status,omitempty"`
	Error  string `json:"error,omitempty"`
	Millis int64  `json:"ms"`
	// Fault says what a fault of the scenario did to it.
	Fault string `json:"fault,omitempty"`
	// Over is false while it runs. It stays false if the process died meanwhile.
	Over bool `json:"over"`
}

// File is a file that the receiver has acknowledged.
type File struct {
	Name string    `json:"filename"`
	At   time.Time `json:"delivery_ts"`
}

// Delivery is the public state of a delivery. Its message has no secret and its address no
// login.
type Delivery struct {
	ID       string    `json:"id"`
	Message  Message   `json:"message"`
	Created  time.Time `json:"created"`
	Ended    time.Time `json:"ended,omitzero"`
	Status   Status    `json:"status"`
	Files    []File    `json:"files"`
	Attempts []Attempt `json:"attempts"`
	// Next is when a waiting delivery is tried again.
	Next time.Time `json:"next,omitzero"`
}

// Fault is what a scenario does to an attempt; the zero value does nothing.
type Fault struct {
	Delay time.Duration // waits before it is sent
	// Copies is how often it is sent once the receiver acknowledges it; 0 is once.
	Copies int
	Never  bool // does not send it, and fails the delivery
	// Status replaces the receiver's answer; nothing is sent.
	Status int
}

func (f Fault) String() string {
	var words []string
	if f.Delay > 0 {
		words = append(words, "late by "+f.Delay.String())
	}
	if f.Copies > 1 {
		words = append(words, fmt.Sprintf("%d times", f.Copies))
	}
	if f.Never {
		words = append(words, "never")
	}
	if f.Status > 0 {
		words = append(words, fmt.Sprintf("answered %d", f.Status))
	}
	return strings.Join(words, ", ")
}

const idPrefix = "d_"

// idOf is the same for the same webhook of the same job: a job that hands its webhooks over
// again after a crash starts no second delivery.
func idOf(m Message) string {
	sum := sha256.Sum256([]byte(m.Snapshot + "\x00" + m.Kind + "\x00" + m.URL))
	return idPrefix + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:10]))
}

func newID() string { return idPrefix + strings.ToLower(rand.Text()[:16]) }

const (
	// ackTimeout is how long a receiver may take to answer (public documentation).
	ackTimeout = 30 * time.Second
	// maxAttempt bounds one attempt even while its bytes move: a receiver that reads one
	// byte at a time would hold a place for ever.
	maxAttempt = 15 * time.Minute
	// retention is how long a delivery that has ended can be read.
	retention = 30 * 24 * time.Hour

	maxWaiting   = 10_000
	sendAtOnce   = 8
	houseEvery   = time.Hour
	maxSigned    = 64 << 20 // bytes of a signed body, which is held in memory
	maxAnswer    = 64 << 10 // bytes of a receiver's answer that are read
	maxErrorText = 300
	maxCopies    = 16
	diskPause    = time.Minute // after an attempt that could not be written
)

// schedule is the waits between attempts when Config names none.
func schedule() []time.Duration {
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
	// schedule is the waits between the attempts at one file; nil is [schedule].
	Schedule []time.Duration
	// ackTimeout is how long an attempt may make no progress; 0 is [ackTimeout].
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

	mu         sync.Mutex           // never held while the disk is written to
	deliveries map[string]*Delivery // with secrets
	waiting    map[string]*Delivery // a small part of all
	sending    map[string]bool
	delayed    map[string]Fault // whose Late is being waited for
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
		conf.Schedule = schedule()
	}
	conf.AckTimeout = cmp.Or(conf.AckTimeout, ackTimeout)
	e := &Engine{
		conf: conf, slots: make(chan struct{}, sendAtOnce), wake: make(chan struct{}, 1),
		deliveries: map[string]*Delivery{}, waiting: map[string]*Delivery{}, sending: map[string]bool{}, delayed: map[string]Fault{},
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
	known, waiting := e.deliveries[id], len(e.waiting)
	e.mu.Unlock()
	if known != nil {
		return known.public(), nil
	}
	if waiting >= maxWaiting {
		return Delivery{}, ErrTooMany
	}
	now := e.conf.Now().UTC()
	d := &Delivery{ID: id, Message: m, Created: now, Next: now, Status: Waiting, Files: []File{}, Attempts: []Attempt{}}
	if err := e.save(d); err != nil {
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

// Get is one delivery; the error is [errNoDelivery].
func (e *Engine) Get(id string) (Delivery, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	d, ok := e.deliveries[id]
	if !ok {
		return Delivery{}, errNoDelivery
	}
	return d.public(), nil
}

// List is the deliveries of a snapshot, or all for an empty id, the oldest first.
func (e *Engine) List(snapshot string) []Delivery {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := []Delivery{}
	for _, d := range e.deliveries {
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
			e.attempt(id)
			e.mu.Lock()
			delete(e.sending, id)
			e.mu.Unlock()
			e.Wake()
		})
	}
	return next
}

const keptDeliveries = state.Table[Delivery]("deliveries")

// load reads the deliveries. It leaves out one that cannot be read, with a note.
func (e *Engine) load() error {
	return keptDeliveries.Each(e.conf.State, func(id string, d Delivery) error {
		if d.ID != id || d.Message.Parts < 1 {
			return errors.New("its id or its parts are wrong")
		}
		switch d.Status {
		case Waiting, Done, Failed:
			e.publish(&d)
			return nil
		default:
			return fmt.Errorf("status %q", d.Status)
		}
	})
}

// save writes a delivery, then publishes it. The secrets of one that has ended are
// erased. Only the goroutine that adds or sends a delivery calls it, without holding mu.
func (e *Engine) save(d *Delivery) error {
	write := e.conf.State.Update
	if d.Status.ended() {
		write = e.conf.State.Erase
	}
	if err := write(func(tx *state.Tx) error { return keptDeliveries.Put(tx, d.ID, *d) }); err != nil {
		return fmt.Errorf("keeping a delivery: %w", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.publish(d)
	return nil
}

// publish makes a delivery visible to readers. It is called under mu, or before the engine is
// shared. A visible delivery is never changed, only replaced.
func (e *Engine) publish(d *Delivery) {
	e.deliveries[d.ID] = d
	if d.Status == Waiting {
		e.waiting[d.ID] = d
	} else {
		delete(e.waiting, d.ID)
	}
}

// clean removes deliveries that ended long ago.
func (e *Engine) clean() {
	e.mu.Lock()
	var old []string
	for id, d := range e.deliveries {
		if d.Status != Waiting && e.conf.Now().Sub(d.Ended) > retention {
			old = append(old, id)
		}
	}
	e.mu.Unlock()
	if len(old) == 0 {
		return
	}
	err := e.conf.State.Soon(func(tx *state.Tx) error { return keptDeliveries.Delete(tx, old...) })
	if err != nil {
		e.log(err, old[0])
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, id := range old {
		delete(e.deliveries, id)
	}
}

// clone is a copy that can be changed.
func (d *Delivery) clone() *Delivery {
	c := *d
	c.Files, c.Attempts = slices.Clone(d.Files), slices.Clone(d.Attempts)
	return &c
}
