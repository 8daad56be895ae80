// Package index answers discover and deep lookup. Its documents are the pages of the lab, so that
// results can be fetched.
//
// Documents are ranked by SQLite's FTS5 (bm25 over title, description, category, text and facts)
// and carry their facts as data. Nothing is invented: a result is a document, and a column of a
// deep lookup is a fact of a document, or null. The shapes on the wire follow public
// documentation; those of deep lookup were generated from a specification and never seen live, so
// its answers are marked as beta.
//
// The emulator's root wires it: [Open], then [Service.Mount] behind its check of keys
// and levels. Tasks and requests are kept in the state: those that the end of the process cut
// begin again at the next start.
//
// A [Service] is safe for concurrent use, and every goroutine it starts has ended when
// [Service.Close] returns.
package index

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"zonedeck/service/emulator/answer"
	strict "zonedeck/service/emulator/document"
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
	// retention is how long a result can be fetched (assumption: public documentation only
	// says that tasks expire).
	retention = 24 * time.Hour
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
	handle("POST "+base+"/request/{id}/cancel", s.answers(basisBeta, s.cancelLookup))
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
type shelf[T any] struct{ items []shelved[T] }

type shelved[T any] struct {
	id    string
	value T
	since time.Time
}

// add makes room for one more: it removes what is too old, then the oldest that is over, and
// gives the ids of what it removed.
func (h *shelf[T]) add(id string, thing T, now time.Time, over func(T) bool) (gone []string) {
	h.items = slices.DeleteFunc(h.items, func(k shelved[T]) bool {
		old := k.expired(now)
		if old {
			gone = append(gone, k.id)
		}
		return old
	})
	if len(h.items) >= maxKept {
		if i := slices.IndexFunc(h.items, func(k shelved[T]) bool { return over(k.value) }); i >= 0 {
			gone = append(gone, h.items[i].id)
			h.items = slices.Delete(h.items, i, i+1)
		}
	}
	h.items = append(h.items, shelved[T]{id, thing, now})
	return gone
}

func (h *shelf[T]) get(id string, now time.Time) (thing T, ok bool) {
	i := slices.IndexFunc(h.items, func(k shelved[T]) bool { return k.id == id && !k.expired(now) })
	if i < 0 {
		return thing, false
	}
	return h.items[i].value, true
}

func (k shelved[T]) expired(now time.Time) bool { return now.Sub(k.since) > retention }

// handler returns the value of an answer, or nil if it has answered itself. An error other
// than a [*refusedError] or errIndex says what is wrong with the request.
type handler func(http.ResponseWriter, *http.Request) (any, error)

// refusedError is an error with its answer. A string as its body is the error of an object.
type refusedError struct {
	status int
	basis  string
	body   any
}

func (e *refusedError) Error() string { return fmt.Sprint(e.body) }

type plain string

func refuseText(text string) error {
	return &refusedError{http.StatusBadRequest, basisBetaGuess, plain(text)}
}

var (
	// errBusy refuses a task when too many of them wait or run.
	errBusy = &refusedError{http.StatusTooManyRequests, basisBusy, "Too many tasks are waiting"}
	// errIndex is a failure of the index, not of the request.
	errIndex = errors.New("the index failed")
)

// answers writes the answer of h. An unknown parameter of the query is refused, or noted if
// the service is loose.
func (s *Service) answers(basis string, h handler, names ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := answer.CheckParameters(w, r, s.cfg.Loose, names...); err != nil {
			s.refuse(w, err)
			return
		}
		switch v, err := h(w, r); {
		case err != nil:
			s.refuse(w, err)
		case v != nil:
			answer.JSON(w, http.StatusOK, basis, v)
		}
	}
}

func (s *Service) refuse(w http.ResponseWriter, err error) {
	no := (*refusedError)(nil)
	if !errors.As(err, &no) {
		no = s.refusalOf(err)
	}
	if no == errBusy {
		w.Header().Set("Retry-After", "5")
	}
	switch body := no.body.(type) {
	case plain:
		answer.Text(w, no.status, no.basis, string(body))
	case string:
		answer.JSON(w, no.status, no.basis, map[string]string{"error": body})
	default:
		answer.JSON(w, no.status, no.basis, body)
	}
}

// refusalOf is 500 for a failure of the index, and otherwise 400 in the form that public
// documentation shows for /request.
func (s *Service) refusalOf(err error) *refusedError {
	if errors.Is(err, errIndex) {
		s.cfg.Log.Error("a request was not answered", "error", err)
		return &refusedError{http.StatusInternalServerError, basisBetaGuess, "Internal server error"}
	}
	return &refusedError{http.StatusBadRequest, basisInvalid, answer.InvalidBody(err)}
}

// fields reads the fields of a body within their bounds.
type fields struct{ *strict.Table }

// parseObject reads an object, or an array of one: the public specification of deep lookup shows
// arrays, its examples objects.
func (s *Service) parseObject(b []byte) (fields, error) {
	list, err := strict.JSONList(b)
	switch {
	case err != nil:
		return fields{}, err
	case len(list) != 1:
		return fields{}, fmt.Errorf("body must be one object, not %d", len(list))
	}
	return fields{list[0].Loose(s.cfg.Loose)}, nil
}

func (f fields) text(name string, limit int) string {
	v := f.Text(name)
	if utf8.RuneCountInString(v) > limit {
		f.Refuse(name, "must have at most %d characters", limit)
		return ""
	}
	return strings.TrimSpace(v)
}

func (f fields) required(name string, limit int) string {
	f.Require(name)
	v := f.text(name, limit)
	if f.Fine(name) && v == "" {
		f.Refuse(name, "must not be empty")
	}
	return v
}

func (f fields) oneOf(name, otherwise string, values ...string) string {
	if f.Raw(name) == nil || f.Text(name) == "" {
		return otherwise
	}
	return f.OneOf(name, values...)
}

func (f fields) texts(name string, count, limit int) []string {
	v := f.List(name)
	if len(v) > count {
		f.Refuse(name, "must have at most %d entries", count)
	}
	for i, s := range v {
		if utf8.RuneCountInString(s) > limit || strings.TrimSpace(s) == "" {
			f.Refuse(name, "must have entries of 1 to %d characters: [%d] has not", limit, i)
			return nil
		}
	}
	return v
}

const maxBodyBytes = 1 << 20

func (s *Service) readObject(w http.ResponseWriter, r *http.Request) (fields, error) {
	b, err := strict.Body(w, r, maxBodyBytes, s.cfg.Loose)
	if err != nil {
		return fields{}, err
	}
	return s.parseObject(b)
}

// readQuery reads a body whose only field is query, and opens the index.
func (s *Service) readQuery(w http.ResponseWriter, r *http.Request) (query string, c *corpus, err error) {
	f, err := s.readObject(w, r)
	if err != nil {
		return "", nil, err
	}
	query = f.required("query", maxQuery)
	if err := f.Finish(w); err != nil {
		return "", nil, err
	}
	c, err = s.corpus()
	return query, c, err
}

// tasksTable are the tasks on disk, as they were begun and, in the end, with what came of them.
// One that was cut by the end of the process begins again at the next start.
const tasksTable = state.Table[stored]("tasks")

// The kinds of tasks.
const (
	kindDiscover = "discover"
	kindPreview  = "preview"
	kindLookup   = "lookup"
)

// stored is the stored form of a task. Status is empty until it is over.
type stored struct {
	Kind   string    `json:"kind"`
	Begun  time.Time `json:"begun"`
	Over   time.Time `json:"over"`
	Status string    `json:"status,omitempty"`
	// Ask is the body of a discover request, Results are its results.
	Ask     json.RawMessage `json:"ask,omitempty"`
	Results []Result        `json:"results,omitempty"`
	Lookup  *storedLookup   `json:"lookup,omitempty"`
}

type storedLookup struct {
	Query   string   `json:"query"`
	Title   string   `json:"title"`
	Limit   int      `json:"limit"`
	Columns []column `json:"columns"`

	Step       string      `json:"step,omitempty"`
	Steps      []stepTime  `json:"steps,omitempty"`
	Progress   int         `json:"progress,omitempty"`
	Considered int         `json:"considered,omitempty"`
	Read       int         `json:"read,omitempty"`
	Skipped    int         `json:"skipped,omitempty"`
	Values     int         `json:"values,omitempty"`
	Rows       []storedRow `json:"rows,omitempty"`
}

type storedRow struct {
	Document int            `json:"document"`
	Values   map[string]any `json:"values"`
}

// save writes a task to disk.
func (s *Service) save(id string, v stored) error {
	if err := s.cfg.State.Update(func(tx *state.Tx) error { return tasksTable.Put(tx, id, v) }); err != nil {
		return fmt.Errorf("%w: keeping a task: %w", errIndex, err)
	}
	return nil
}

// saveEnd writes what came of a task to disk, unless the service ended it: it begins again.
func (s *Service) saveEnd(id string, v stored) {
	if s.ctx.Err() != nil {
		return
	}
	if err := s.save(id, v); err != nil {
		s.cfg.Log.Error("a result will be lost at the end of the process", "error", err)
	}
}

// forget removes tasks from disk.
func (s *Service) forget(ids []string) {
	if len(ids) == 0 {
		return
	}
	err := s.cfg.State.Soon(func(tx *state.Tx) error { return tasksTable.Delete(tx, ids...) })
	if err != nil {
		s.cfg.Log.Error("tasks were not removed", "error", err)
	}
}

func (t *task) stored() stored {
	v := stored{Kind: kindDiscover, Begun: t.begun, Ask: t.ask}
	if t.status != "processing" {
		v.Status, v.Over, v.Results = t.status, t.ended, t.results
	}
	return v
}

func (l *lookup) stored() stored {
	in := &storedLookup{Query: l.query, Title: l.title, Limit: l.limit, Columns: l.requested}
	v := stored{Kind: l.kind, Begun: l.begun, Lookup: in}
	if !l.hasEnded() {
		return v
	}
	v.Status, in.Columns = l.status, l.columns
	in.Step, in.Steps, in.Progress, in.Considered, in.Read, in.Skipped, in.Values = l.step, l.steps, l.progress, l.considered, l.read, l.skipped, l.values
	for _, r := range l.rows {
		in.Rows = append(in.Rows, storedRow{r.document, r.values})
	}
	return v
}

// load reads the tasks, and begins those again that were cut.
func (s *Service) load() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return tasksTable.Each(s.cfg.State, func(id string, v stored) error {
		switch {
		case v.Kind == kindDiscover:
			return s.loadTask(id, v)
		case v.Lookup == nil:
			return errors.New("it has no lookup")
		case v.Kind == kindPreview:
			return s.loadLookup(id, v, &s.previews)
		case v.Kind == kindLookup:
			return s.loadLookup(id, v, &s.lookups)
		default:
			return fmt.Errorf("its kind is %q", v.Kind)
		}
	})
}

func (s *Service) loadTask(id string, v stored) error {
	f, err := s.parseObject(v.Ask)
	if err != nil {
		return err
	}
	t := &task{request: readRequest(f), ask: v.Ask, begun: v.Begun, ended: v.Over, status: v.Status, results: v.Results}
	if t.status == "" {
		t.status = "processing"
		if err := s.beginTask(id, t); err != nil {
			return err
		}
	}
	s.forget(s.tasks.add(id, t, t.begun, taskOver))
	return nil
}

func (s *Service) loadLookup(id string, v stored, on *shelf[*lookup]) error {
	in := v.Lookup
	l := &lookup{id: id, kind: v.Kind, begun: v.Begun, query: in.Query, title: in.Title, limit: in.Limit, requested: in.Columns, columns: in.Columns, status: v.Status}
	l.step, l.steps, l.progress, l.considered, l.read, l.skipped, l.values = in.Step, in.Steps, in.Progress, in.Considered, in.Read, in.Skipped, in.Values
	for _, r := range in.Rows {
		l.rows = append(l.rows, row{r.Document, r.Values})
	}
	if l.status == "" {
		l.status = queued
		if err := s.examineAll(l); err != nil {
			return err
		}
	}
	s.forget(on.add(id, l, l.begun, (*lookup).hasEnded))
	return nil
}
