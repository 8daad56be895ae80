// Package async keeps the answers of asynchronous fetches until they are collected
// (public documentation: submit, poll, 48 hours). Package fetch submits and collects.
//
// A [Store] is safe for concurrent use. A fetch is on disk before [Store.Submit] returns: a
// process that dies loses none, and the next one repeats those it had begun. Goroutines have
// ended when [Store.Close] returns. Waiting fetches, kept responses, each answer and the sum
// of all answers are bounded.
package async

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"zonedeck/service/emulator/clock"
	"zonedeck/service/emulator/state"
)

// Bounds.
const (
	// retention is how long an answer can be collected (public documentation).
	retention = 48 * time.Hour

	// maxPending bounds the fetches without an answer, maxKept all responses.
	maxPending = 1_000
	maxKept    = 10_000
	// maxBody bounds one answer's body, MaxBytes all of them together.
	maxBody  = 64 << 20
	maxBytes = 1 << 30

	atOnce = 16
)

// Errors that callers decide on.
var (
	ErrUnknown = errors.New("no response has this id")
	ErrPending = errors.New("the response is not there yet")
	ErrFull    = errors.New("too many responses are waiting or kept")
	// ErrTooLarge is the error of a [Recorder] for a body above [maxBody].
	ErrTooLarge = fmt.Errorf("the answer is larger than %d MiB", maxBody>>20)
)

// Ask is one fetch to be made.
type Ask struct {
	Zone string `json:"zone"`
	// Endpoint is where it was submitted, which decides how Fields are read.
	Endpoint int `json:"endpoint"`
	// Fields are the call as it was sent: a JSON object, whose headers may contain secrets.
	// They are erased at the end of the fetch.
	Fields json.RawMessage `json:"fields"`
	// URL is the address as the notice repeats it.
	URL     string  `json:"url"`
	Webhook Webhook `json:"hook"`
}

// Config is what a store needs.
type Config struct {
	State *state.Dir
	Now   func() time.Time
	Log   *slog.Logger
	// Do makes one fetch and writes its answer. If ctx has ended, the answer is discarded,
	// and the fetch is made again at the next start.
	Do func(ctx context.Context, a Ask, to *Recorder)
	// Send sends one notice and follows no redirect; it decides which hosts can be reached.
	Send func(*http.Request) (*http.Response, error)
	// Waits are the waits between the attempts at a notice; nil is 1, 5 and 30 s.
	Waits []time.Duration
}

type entry struct {
	zone      string
	created   time.Time
	done      bool
	collected bool
	size      int64
}

// Store keeps responses.
type Store struct {
	conf  Config
	ctx   context.Context
	stop  context.CancelFunc
	wg    sync.WaitGroup
	slots chan struct{}
	dir   string // of the bodies

	// noting is held while a sent notice is written, or a response removed. It is taken
	// before mu, which is not held while the disk is written to.
	noting sync.Mutex

	mu      sync.Mutex
	closed  bool
	entries map[string]*entry
	bytes   int64    // of bodies, including those being written
	dropped []string // ids still on disk
}

// Open loads the responses and resumes the fetches without an answer.
func Open(ctx context.Context, conf Config) (*Store, error) {
	if conf.Now == nil {
		conf.Now = time.Now
	}
	if conf.Waits == nil {
		conf.Waits = []time.Duration{time.Second, 5 * time.Second, 30 * time.Second}
	}
	s := &Store{conf: conf, slots: make(chan struct{}, atOnce), entries: map[string]*entry{}}
	s.ctx, s.stop = context.WithCancel(ctx)
	if err := s.load(); err != nil {
		s.Close()
		return nil, fmt.Errorf("opening the responses: %w", err)
	}
	s.expire()
	return s, nil
}

// Close stops the fetches and notices, and waits for them and for fetches being submitted.
func (s *Store) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	s.wg.Wait()
}

// Submit takes a fetch and gives the id of its response. Errors: [ErrFull], or the disk's.
func (s *Store) Submit(a Ask) (string, error) {
	s.expire()
	if err := s.room(); err != nil {
		return "", err
	}
	id := newID()
	now := s.conf.Now().UTC()
	r := response{Zone: a.Zone, Created: now, URL: a.URL, Webhook: a.Webhook, Ask: &a}
	if err := s.save(s.conf.State.Update, id, r); err != nil {
		return "", fmt.Errorf("keeping the request: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries[id] = &entry{zone: a.Zone, created: now}
	s.start(id)
	return id, nil
}

// start runs a fetch; called under mu.
func (s *Store) start(id string) {
	if s.closed {
		return // made at the next start
	}
	s.wg.Go(func() {
		select {
		case s.slots <- struct{}{}:
		case <-s.ctx.Done():
			return
		}
		defer func() { <-s.slots }()
		if err := s.run(id); err != nil && s.ctx.Err() == nil {
			s.conf.Log.Error("a response was not kept", "error", err)
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.entries[id] != nil {
				s.drop(id)
			}
		}
	})
}

// run makes the fetch and keeps its answer, then sends the notice.
func (s *Store) run(id string) error {
	r, ok, err := responsesTable.Get(s.conf.State, id)
	if err != nil || !ok || r.Ask == nil {
		return errors.Join(err, errors.New("it has no ask"))
	}
	f, err := state.Create(s.path(id))
	if err != nil {
		return err
	}
	rec := &Recorder{store: s, file: f, header: http.Header{}}
	kept := false
	defer func() {
		if !kept {
			rec.file.Discard()
			rec.release()
		}
	}()
	s.conf.Do(s.ctx, *r.Ask, rec)
	if s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	rec.WriteHeader(http.StatusOK) // if Do wrote no status
	if err := rec.file.Replace(); err != nil {
		return err
	}
	r.Ask, r.Notified, r.Status, r.Header, r.Size = nil, r.Webhook.URL == "", rec.status, rec.header, rec.size
	if err := s.save(s.conf.State.Erase, id, r); err != nil { // its fields hold secrets
		return err
	}
	s.mu.Lock()
	if e := s.entries[id]; e != nil {
		e.done, e.size, kept = true, rec.size, true
	}
	s.mu.Unlock()
	if !r.Notified {
		s.wg.Go(func() { s.notify(id, r) }) // not in this slot: a notice may wait
	}
	return nil
}

// Collect returns the answer of a response; the caller closes its Body. zone is the one that
// the caller names, or "". Errors: [ErrUnknown], [ErrPending].
func (s *Store) Collect(id, zone string) (*Answer, error) {
	s.expire()
	s.mu.Lock()
	e, ok := s.entries[id]
	switch {
	case !ok, zone != "" && zone != e.zone:
		s.mu.Unlock()
		return nil, ErrUnknown
	case !e.done:
		s.mu.Unlock()
		return nil, ErrPending
	}
	e.collected = true
	s.mu.Unlock()
	r, _, err := responsesTable.Get(s.conf.State, id)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(s.path(id)) // fails if the response was removed meanwhile
	if err != nil {
		return nil, fmt.Errorf("reading the response: %w", err)
	}
	return &Answer{Status: r.Status, Header: r.Header, Body: f}, nil
}

// Answer is a fetch's answer as it was.
type Answer struct {
	Status int
	Header http.Header
	Body   *os.File
}

// room makes room for one more response by dropping the oldest collected one.
func (s *Store) room() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	pending := 0
	for _, e := range s.entries {
		if !e.done {
			pending++
		}
	}
	if pending >= maxPending {
		return ErrFull
	}
	return s.dropWhile(func() bool { return len(s.entries) >= maxKept || s.bytes > maxBytes-maxBody })
}

// dropWhile drops the oldest collected responses; called under mu.
func (s *Store) dropWhile(full func() bool) error {
	for full() {
		id := s.oldestCollected()
		if id == "" {
			return ErrFull
		}
		s.drop(id)
	}
	return nil
}

// reserve counts bytes that an answer is about to write, and makes room for them like room.
func (s *Store) reserve(n int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.dropWhile(func() bool { return s.bytes+n > maxBytes }); err != nil {
		return err
	}
	s.bytes += n
	return nil
}

func (s *Store) oldestCollected() string {
	oldest := ""
	for id, e := range s.entries {
		if e.collected && (oldest == "" || e.created.Before(s.entries[oldest].created)) {
			oldest = id
		}
	}
	return oldest
}

// expire drops the responses past their retention.
func (s *Store) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.conf.Now()
	for id, e := range s.entries {
		if e.done && now.Sub(e.created) >= retention {
			s.drop(id)
		}
	}
}

// drop removes a response; called under mu. It is removed from disk a moment later, or at
// the next start.
func (s *Store) drop(id string) {
	s.bytes -= s.entries[id].size
	delete(s.entries, id)
	s.dropped = append(s.dropped, id)
	if len(s.dropped) == 1 && !s.closed {
		s.wg.Go(s.remove)
	}
}

// remove removes dropped responses from disk.
func (s *Store) remove() {
	s.noting.Lock()
	defer s.noting.Unlock()
	s.mu.Lock()
	dropped := s.dropped
	s.dropped = nil
	s.mu.Unlock()
	err := s.conf.State.Soon(func(tx *state.Tx) error { return responsesTable.Delete(tx, dropped...) })
	for _, id := range dropped {
		if rerr := os.Remove(s.path(id)); !errors.Is(rerr, os.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
	}
	if err != nil {
		s.conf.Log.Warn("responses could not be removed", "error", err)
	}
}

const idPrefix = "r_"

// newID is random, so that ids cannot be guessed.
func newID() string {
	b := make([]byte, 15)
	rand.Read(b) // never fails (crypto/rand)
	return idPrefix + strings.ToLower(base32.StdEncoding.EncodeToString(b))
}

const (
	responsesTable = state.Table[response]("responses")
	// bodies is the folder of the bodies, one file for each finished response. They are
	// streams of up to MaxBody, which a database would hold in memory.
	bodies = "responses"
)

// response is the stored form of a response; its body is a file.
type response struct {
	Zone    string    `json:"zone"`
	Created time.Time `json:"created"`
	URL     string    `json:"url"`
	Webhook Webhook   `json:"hook"`
	// Ask is the fetch to make; nil once it is done.
	Ask      *Ask        `json:"ask,omitempty"`
	Notified bool        `json:"told"` // the notice was sent or given up
	Status   int         `json:"status,omitempty"`
	Header   http.Header `json:"header,omitempty"`
	Size     int64       `json:"size,omitempty"`
}

func (s *Store) path(id string) string { return filepath.Join(s.dir, id) }

// load reads the responses, resumes the fetches without an answer, and removes bodies
// without a response.
func (s *Store) load() (err error) {
	if s.dir, err = s.conf.State.Folder(bodies); err != nil {
		return err
	}
	var goOn []func() // called once everything is read and the folder clean
	err = responsesTable.Each(s.conf.State, func(id string, r response) error {
		done := r.Ask == nil
		if done {
			if _, err := os.Stat(s.path(id)); err != nil {
				return err
			}
		}
		s.entries[id] = &entry{zone: r.Zone, created: r.Created, done: done, size: r.Size}
		s.bytes += r.Size
		if !done {
			goOn = append(goOn, func() { s.start(id) })
		} else if !r.Notified {
			goOn = append(goOn, func() { s.wg.Go(func() { s.notify(id, r) }) })
		}
		return nil
	})
	if err != nil {
		return err
	}
	files, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		if e := s.entries[f.Name()]; e == nil || !e.done {
			if err := os.Remove(s.path(f.Name())); err != nil {
				return err
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, do := range goOn {
		do()
	}
	return nil
}

func (s *Store) save(write func(func(*state.Tx) error) error, id string, r response) error {
	return write(func(tx *state.Tx) error { return responsesTable.Put(tx, id, r) })
}

// Recorder writes an answer to disk instead of to a client.
type Recorder struct {
	store  *Store
	file   *state.File
	header http.Header
	status int
	size   int64 // counted in the store's bytes
}

// Header is the header of the answer, kept as it is at the end.
func (r *Recorder) Header() http.Header { return r.header }

// WriteHeader keeps the first status.
func (r *Recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
}

// Write appends to the body; the error is [ErrTooLarge], [ErrFull], or the disk's.
func (r *Recorder) Write(b []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	if r.size+int64(len(b)) > maxBody {
		return 0, ErrTooLarge
	}
	if err := r.store.reserve(int64(len(b))); err != nil {
		return 0, err
	}
	r.size += int64(len(b))
	return r.file.Write(b)
}

// SetWriteDeadline does nothing; streaming answers call it.
func (r *Recorder) SetWriteDeadline(time.Time) error { return nil }

// Flush does nothing.
func (r *Recorder) Flush() {}

// Reset discards everything that was written, for another answer.
func (r *Recorder) Reset() error {
	r.release()
	r.header, r.status = http.Header{}, 0
	if _, err := r.file.Seek(0, 0); err != nil {
		return err
	}
	return r.file.Truncate(0)
}

// release subtracts the body from the bytes of the store.
func (r *Recorder) release() {
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	r.store.bytes -= r.size
	r.size = 0
}

// Webhook is that of a response (public documentation: webhook_url, webhook_method,
// webhook_data).
type Webhook struct {
	URL string `json:"url,omitempty"`
	// Method is GET or POST; empty is POST.
	Method string `json:"method,omitempty"`
	// Payload comes from the caller, and is repeated as hook_data.
	Payload json.RawMessage `json:"payload,omitempty"`
}

const (
	// ackTimeout is how long a receiver may take (public documentation of the other
	// webhooks: 30 s).
	ackTimeout = 30 * time.Second
	maxAck     = 64 << 10
)

// notice is the body of a notification. It says where to collect the page (public documentation).
type notice struct {
	Status     string          `json:"status"`
	ResponseID string          `json:"response_id"`
	RequestURL string          `json:"request_url"`
	HookData   json.RawMessage `json:"hook_data,omitempty"`
}

// notify sends the notice until the receiver acknowledges it, at most once for each wait and once
// more, and keeps the outcome. If the process dies in between, the next one sends it again.
func (s *Store) notify(id string, done response) {
	n := notice{Status: statusWord(done), ResponseID: id, RequestURL: done.URL, HookData: done.Webhook.Payload}
	for i := 0; ; i++ {
		err := s.attempt(done.Webhook, n)
		if err == nil {
			break
		}
		if s.ctx.Err() != nil {
			return // sent at the next start
		}
		if i == len(s.conf.Waits) {
			s.conf.Log.Warn("a notice was not taken", "response", id, "error", err)
			break
		}
		if clock.Pause(s.ctx, s.conf.Waits[i]) != nil {
			return
		}
	}
	done.Notified, done.Webhook = true, Webhook{} // its address can contain a login
	s.noting.Lock()
	defer s.noting.Unlock()
	s.mu.Lock()
	known := s.entries[id] != nil
	s.mu.Unlock()
	if !known {
		return // expired meanwhile
	}
	if err := s.save(s.conf.State.Erase, id, done); err != nil {
		s.conf.Log.Error("a notice was not noted", "error", err)
	}
}

// statusWord says how the fetch ended. The words are assumptions.
func statusWord(done response) string {
	if done.Header.Get("x-brd-error-code") != "" || done.Status >= http.StatusBadRequest {
		return "error"
	}
	return "done"
}

func (s *Store) attempt(h Webhook, n notice) error {
	ctx, cancel := context.WithTimeout(s.ctx, ackTimeout)
	defer cancel()
	req, err := n.request(ctx, h)
	if err != nil {
		return err
	}
	resp, err := s.conf.Send(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxAck)) // only the status counts
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fmt.Errorf("the receiver answered %s", resp.Status)
	}
	return nil
}

func (n notice) request(ctx context.Context, h Webhook) (*http.Request, error) {
	if h.Method == http.MethodGet {
		u, err := url.Parse(h.URL)
		if err != nil {
			return nil, err
		}
		q := u.Query()
		q.Set("status", n.Status)
		q.Set("response_id", n.ResponseID)
		q.Set("request_url", n.RequestURL)
		if n.HookData != nil {
			q.Set("hook_data", string(n.HookData))
		}
		u.RawQuery = q.Encode()
		return http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	}
	b, err := json.Marshal(n)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, bytes.NewReader(b))
	if err == nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, err
}
