package async

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"zonedeck/service/emulator/state"
)

// Bounds.
const (
	// Retention is how long an answer can be collected (public documentation).
	Retention = 48 * time.Hour

	// MaxPending bounds the fetches that have no answer yet, MaxKept all that is kept.
	MaxPending = 1_000
	MaxKept    = 10_000
	// MaxBody bounds one answer's body, MaxBytes all of them together.
	MaxBody  = 64 << 20
	MaxBytes = 1 << 30

	atOnce = 16
)

// Errors that callers decide on.
var (
	ErrUnknown = errors.New("no response has this id")
	ErrPending = errors.New("the response is not there yet")
	ErrFull    = errors.New("too many responses are waiting or kept")
	// ErrTooLarge is what a [Recorder] answers to a body above [MaxBody].
	ErrTooLarge = fmt.Errorf("the answer is larger than %d MiB", MaxBody>>20)
)

// Ask is one fetch to be made.
type Ask struct {
	Zone string `json:"zone"`
	// Endpoint is where it was submitted; it tells how Fields are to be read.
	Endpoint int `json:"endpoint"`
	// Fields are the call as it was sent: a JSON object, with whatever secrets its
	// headers hold. They are deleted with the fetch's end.
	Fields json.RawMessage `json:"fields"`
	// URL is the address as the notice repeats it.
	URL  string `json:"url"`
	Hook Hook   `json:"hook"`
}

// Config is what a store stands on.
type Config struct {
	State *state.Dir
	Now   func() time.Time
	Log   *slog.Logger
	// Do makes one fetch and writes its answer. When ctx has ended, what was written
	// is thrown away, and the fetch is made again at the next start.
	Do func(ctx context.Context, a Ask, to *Recorder)
	// Send sends one notice and follows no redirect; it decides who may be reached.
	// Nil sends none.
	Send func(*http.Request) (*http.Response, error)
	// Waits are the waits between the attempts at a notice; nil is 1, 5 and 30 s.
	Waits []time.Duration
}

// entry is what is known of one response without looking at the disk.
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

	// noting is held by whoever says that a response was told, through disk, or forgets one;
	// taken before mu, which nobody who waits for the disk holds.
	noting sync.Mutex

	mu      sync.Mutex
	closed  bool
	entries map[string]*entry
	bytes   int64    // of bodies, those that are being written among them
	gone    []string // dropped, and still on disk
}

// Open loads the responses and goes on with what has no answer yet.
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

// Close stops what runs and waits for it, and for what is just being submitted.
func (s *Store) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	s.wg.Wait()
}

// Submit takes a fetch and gives the id of its response. Errors: [ErrFull], or the
// disk's.
func (s *Store) Submit(a Ask) (string, error) {
	s.expire()
	if err := s.room(); err != nil {
		return "", err
	}
	id := newID()
	now := s.conf.Now().UTC()
	r := response{Zone: a.Zone, Created: now, URL: a.URL, Hook: a.Hook, Ask: &a}
	if err := s.put(s.conf.State.Update, id, r); err != nil {
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
		return // it is made at the next start
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
			s.forget(id)
		}
	})
}

// run makes the fetch and keeps its answer, then tells whoever wants to be told.
func (s *Store) run(id string) error {
	r, ok, err := keptResponses.Get(s.conf.State, id)
	if err != nil || !ok || r.Ask == nil {
		return errors.Join(err, errors.New("it has no ask"))
	}
	rec, err := s.newRecorder(s.path(id))
	if err != nil {
		return err
	}
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
	rec.WriteHeader(http.StatusOK) // where nobody wrote one
	if err := rec.file.Replace(); err != nil {
		return err
	}
	r.Ask, r.Told, r.Status, r.Header, r.Size = nil, r.Hook.URL == "", rec.status, rec.header, rec.size
	if err := s.put(s.conf.State.Erase, id, r); err != nil { // its fields hold secrets
		return err
	}
	s.mu.Lock()
	if e := s.entries[id]; e != nil {
		e.done, e.size, kept = true, rec.size, true
	}
	s.mu.Unlock()
	if !r.Told {
		s.wg.Go(func() { s.tell(id, r) }) // not in this slot: a notice may wait
	}
	return nil
}

// Collect gives the answer of a response; its Body is the caller's to close. zone is
// the one that the caller names, or "". Errors: [ErrUnknown], [ErrPending].
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
	r, _, err := keptResponses.Get(s.conf.State, id)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(s.path(id)) // gone, too, where the response is by now
	if err != nil {
		return nil, fmt.Errorf("reading the response: %w", err)
	}
	return &Answer{Zone: r.Zone, Status: r.Status, Header: r.Header, Body: f}, nil
}

// Answer is a fetch's answer as it was.
type Answer struct {
	Zone   string
	Status int
	Header http.Header
	Body   *os.File
}

// room makes room for one more, at the cost of what was collected longest ago made.
func (s *Store) room() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	pending := 0
	for _, e := range s.entries {
		if !e.done {
			pending++
		}
	}
	if pending >= MaxPending {
		return ErrFull
	}
	for len(s.entries) >= MaxKept || s.bytes > MaxBytes-MaxBody {
		id := s.oldestCollected()
		if id == "" {
			return ErrFull
		}
		s.drop(id)
	}
	return nil
}

// take counts in what an answer is about to write, and makes room for it as room does.
func (s *Store) take(n int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.bytes+n > MaxBytes {
		id := s.oldestCollected()
		if id == "" {
			return ErrFull
		}
		s.drop(id)
	}
	s.bytes += n
	return nil
}

func (s *Store) give(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes -= n
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

// expire forgets what was kept for long enough.
func (s *Store) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.conf.Now()
	for id, e := range s.entries {
		if e.done && now.Sub(e.created) >= Retention {
			s.drop(id)
		}
	}
}

// drop forgets a response; called under mu. It goes from disk a moment later, or at the
// next start.
func (s *Store) drop(id string) {
	s.bytes -= s.entries[id].size
	delete(s.entries, id)
	s.gone = append(s.gone, id)
	if len(s.gone) == 1 && !s.closed {
		s.wg.Go(s.remove)
	}
}

// remove takes what was dropped from disk.
func (s *Store) remove() {
	s.noting.Lock()
	defer s.noting.Unlock()
	s.mu.Lock()
	gone := s.gone
	s.gone = nil
	s.mu.Unlock()
	err := s.conf.State.Soon(func(tx *state.Tx) error {
		for _, id := range gone {
			if err := keptResponses.Delete(tx, id); err != nil {
				return err
			}
		}
		return nil
	})
	for _, id := range gone {
		if rerr := os.Remove(s.path(id)); !errors.Is(rerr, os.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
	}
	if err != nil {
		s.conf.Log.Warn("responses could not be removed", "error", err)
	}
}

func (s *Store) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.entries[id] != nil {
		s.drop(id)
	}
}

const idPrefix = "r_"

// newID is random, so that nobody guesses another's response.
func newID() string {
	b := make([]byte, 15)
	rand.Read(b) // never fails (crypto/rand)
	return idPrefix + strings.ToLower(base32.StdEncoding.EncodeToString(b))
}
