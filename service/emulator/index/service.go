package index

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"zonedeck/service/emulator/state"
)

// Bases of this package's answers; see [answer.BasisHeader].
const (
	basisDiscover  = "public documentation; search and ranking: this emulator's own index"
	basisMode      = "public documentation; mode, include_images: seen in public clients"
	basisInvalid   = "assumption: status, body and texts as public documentation has them for /request"
	basisLost      = "public documentation: 404; text: assumption"
	basisBusy      = "public documentation: 429; bound and text: assumption"
	basisBeta      = "public documentation, beta: from a specification, never seen live; contents: this emulator's own index"
	basisBetaGuess = "assumption, beta: public documentation does not show this answer"
)

// Bounds of the work in the background.
const (
	// maxActive tasks wait or run at a time; the next one is refused with 429.
	maxActive = 100
	// atOnce of them run.
	atOnce = 8
	// maxKept finished ones are remembered per kind; the oldest makes room.
	maxKept = 1000
	// keptFor is how long a result can be fetched (assumption: public documentation only
	// says that tasks expire).
	keptFor = 24 * time.Hour
	// taskTimeout bounds a task.
	taskTimeout = 10 * time.Minute
)

// The durations of the steps, so that clients see work in progress.
const (
	discoverPace = 200 * time.Millisecond
	stepPace     = 100 * time.Millisecond
	recordPace   = 2 * time.Millisecond
)

// Config configures a [Service]. All of it is needed.
type Config struct {
	// Documents returns the documents to index. The first request calls it; indexing takes a few
	// milliseconds.
	Documents func() []Document
	// Now is the emulator's clock.
	Now func() time.Time
	// Wait waits for d, or returns the context's error.
	Wait func(ctx context.Context, d time.Duration) error
	// Loose accepts unknown parameters and fields, and notes them in x-emulator-note.
	Loose bool
	// RecordRate is the price of a record of a deep lookup, ColumnRate that of a value that is
	// added later, both in dollars.
	RecordRate, ColumnRate float64
	// Fail is called before a task's work; its error fails the task.
	Fail func() error
	// State keeps the tasks over a restart.
	State *state.Dir
	Log   *slog.Logger
}

// Service answers discover and deep lookup. It is safe for concurrent use.
type Service struct {
	cfg Config

	indexing sync.Mutex
	indexed  *corpus // guarded by indexing; nil until it is needed

	ctx  context.Context
	stop context.CancelFunc
	wg   sync.WaitGroup
	run  chan struct{}

	mu       sync.Mutex
	active   int
	closed   bool
	tasks    shelf[*task]
	previews shelf[*lookup]
	lookups  shelf[*lookup]
}

// Open makes a service, and begins the tasks again that were cut when the one before it ended.
// Its work ends with ctx; [Service.Close] waits for it.
func Open(ctx context.Context, cfg Config) (*Service, error) {
	s := &Service{cfg: cfg, run: make(chan struct{}, atOnce)}
	s.ctx, s.stop = context.WithCancel(ctx)
	if err := s.load(); err != nil {
		s.Close()
		return nil, fmt.Errorf("opening the index: %w", err)
	}
	return s, nil
}

// corpus returns the index, and fills it at the first call.
func (s *Service) corpus() (*corpus, error) {
	s.indexing.Lock()
	defer s.indexing.Unlock()
	if s.indexed != nil {
		return s.indexed, nil
	}
	c, err := openCorpus(s.ctx, s.cfg.Documents())
	if err != nil {
		return nil, err
	}
	s.indexed = c
	return c, nil
}

// Close ends all work and waits for it. Later calls are refused.
func (s *Service) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	s.wg.Wait()
	s.indexing.Lock()
	defer s.indexing.Unlock()
	if s.indexed == nil {
		return
	}
	if err := s.indexed.close(); err != nil {
		s.cfg.Log.Error("the index was not closed", "error", err)
	}
}

// Mount passes every endpoint to handle, with its pattern for [http.ServeMux]. The caller checks
// the key.
func (s *Service) Mount(handle func(pattern string, h http.HandlerFunc)) {
	const base = "/datasets/deep_lookup/v1"
	handle("POST /discover", s.answers(basisDiscover, s.start))
	handle("GET /discover", s.answers(basisDiscover, s.collect, "task_id"))
	handle("POST "+base+"/preview", s.answers(basisBeta, s.preview))
	handle("GET "+base+"/preview/{id}", s.answers(basisBeta, s.previewResult))
	handle("POST "+base+"/enhance_query", s.answers(basisBeta, s.enhance))
	handle("POST "+base+"/trigger", s.answers(basisBeta, s.trigger))
	handle("GET "+base+"/request/{id}/status", s.answers(basisBeta, s.status))
	handle("GET "+base+"/request/{id}", s.answers(basisBeta, s.result))
	handle("GET "+base+"/request/{id}/download", s.answers(basisBeta, s.download, "format"))
	handle("POST "+base+"/request/{id}/cancel", s.answers(basisBeta, s.halt))
	handle("POST "+base+"/request/{id}/enrich", s.answers(basisBeta, s.addColumn))
}

// begin runs work in the background; ended is called with s.mu held when it is over. The context
// ends with the service, after taskTimeout, or by the returned function. The caller holds s.mu.
func (s *Service) begin(work func(context.Context) error, ended func(error)) (context.CancelFunc, error) {
	if s.closed || s.active >= maxActive {
		return nil, errBusy
	}
	s.active++
	ctx, cancel := context.WithTimeout(s.ctx, taskTimeout)
	s.wg.Go(func() {
		defer cancel()
		var err error
		select {
		case s.run <- struct{}{}:
			err = work(ctx)
			<-s.run
		case <-ctx.Done():
			err = ctx.Err()
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.active--
		ended(err)
	})
	return cancel, nil
}

// newUUID makes an id in the form of discover's tasks.
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// shelf keeps a bounded number of things for a while, the oldest first. Its owner locks it.
type shelf[T any] struct{ all []kept[T] }

type kept[T any] struct {
	id    string
	thing T
	since time.Time
}

// put makes room for one more: it removes what is too old, then the oldest that is over, and
// gives the ids of what it removed.
func (h *shelf[T]) put(id string, thing T, now time.Time, over func(T) bool) (gone []string) {
	h.all = slices.DeleteFunc(h.all, func(k kept[T]) bool {
		old := k.expired(now)
		if old {
			gone = append(gone, k.id)
		}
		return old
	})
	if len(h.all) >= maxKept {
		if i := slices.IndexFunc(h.all, func(k kept[T]) bool { return over(k.thing) }); i >= 0 {
			gone = append(gone, h.all[i].id)
			h.all = slices.Delete(h.all, i, i+1)
		}
	}
	h.all = append(h.all, kept[T]{id, thing, now})
	return gone
}

func (h *shelf[T]) get(id string, now time.Time) (thing T, ok bool) {
	i := slices.IndexFunc(h.all, func(k kept[T]) bool { return k.id == id && !k.expired(now) })
	if i < 0 {
		return thing, false
	}
	return h.all[i].thing, true
}

func (k kept[T]) expired(now time.Time) bool { return now.Sub(k.since) > keptFor }
