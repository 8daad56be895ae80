package jobs

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// MaxInputs bounds the inputs of one job.
	MaxInputs = 100_000
	// MaxRunning bounds the unfinished jobs.
	MaxRunning = 1000
	// Retention is how long a snapshot can be fetched (public documentation: 30 days).
	Retention = 30 * 24 * time.Hour

	workersPerJob = 4
	pagesAtOnce   = 16
	maxPageBytes  = 4 << 20
)

// Errors that callers decide on.
var (
	ErrNoDataset   = errors.New("dataset does not exist")
	ErrNoSnapshot  = errors.New("snapshot does not exist")
	ErrTooMany     = errors.New("too many running jobs")
	ErrNotRunning  = errors.New("snapshot is not running")
	ErrNotReady    = errors.New("snapshot is not ready")
	ErrExpired     = errors.New("snapshot is expired")
	ErrEmpty       = errors.New("snapshot is empty")
	ErrNotComplete = errors.New("snapshot did not complete")
)

// Status is a job's state as it is spelt on the wire (public documentation).
type Status string

// The states this engine goes through: starting, running, then one of the last three.
const (
	Starting Status = "starting"
	Running  Status = "running"
	Ready    Status = "ready"
	Failed   Status = "failed"
	Canceled Status = "canceled"
)

// Ended reports whether a job will not change any more.
func (s Status) Ended() bool { return s == Ready || s == Failed || s == Canceled }

// Page is a page as a job got it.
type Page struct {
	URL         string
	Status      int
	ContentType string
	Body        []byte
}

// FetchError is a page that could not be had; Code is the service's error code.
type FetchError struct{ Code, Reason string }

func (e *FetchError) Error() string { return e.Reason }

// Fetch gets one page, reading at most limit bytes of its body. Its error is a
// [*FetchError], or anything when ctx has ended.
type Fetch func(ctx context.Context, url string, limit int64) (Page, error)

// Config is what an engine needs.
type Config struct {
	Dir       string // made with 0700
	Fetch     Fetch
	Now       func() time.Time
	PageDelay time.Duration // before each page
	Log       *slog.Logger
}

// Spec is a job to start; its inputs were checked.
type Spec struct {
	Dataset       string
	URLs          []string
	IncludeErrors bool
	// LimitPerInput bounds the records of one input; 0 is no bound.
	LimitPerInput int
	// Fields keeps only these fields of each record; empty keeps all.
	Fields []string
	// Format is the one a download has when it names none.
	Format string
}

// Snapshot is what can be told of a job. Counts grow while it runs.
type Snapshot struct {
	ID      string
	Dataset string
	Created time.Time
	Status  Status
	Error   string
	Format  string
	Inputs  int
	Done    int
	Records int
	Errors  int
	// IncludeErrors adds a row for each input that failed to what is downloaded.
	IncludeErrors bool
}

// Engine runs jobs.
type Engine struct {
	conf  Config
	ctx   context.Context
	stop  context.CancelFunc
	wg    sync.WaitGroup
	slots chan struct{}
	notes []string

	mu     sync.Mutex
	closed bool
	jobs   map[string]*job
}

// Open loads the jobs of a folder and goes on with those that had not ended.
func Open(ctx context.Context, conf Config) (*Engine, error) {
	e := &Engine{conf: conf, slots: make(chan struct{}, pagesAtOnce), jobs: map[string]*job{}}
	e.ctx, e.stop = context.WithCancel(ctx)
	if err := e.load(); err != nil {
		e.stop()
		return nil, err
	}
	for _, j := range e.jobs {
		if !j.meta.Status.Ended() {
			e.start(j)
		}
	}
	return e, nil
}

// Notes tells what was found broken and kept aside.
func (e *Engine) Notes() []string { return slices.Clone(e.notes) }

// Close stops the running jobs where they are and waits for them.
func (e *Engine) Close() error {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.stop()
	e.wg.Wait()
	return nil
}

// Trigger starts a job. When it returns, the job is on disk and survives the process.
// Errors: [ErrNoDataset], [ErrTooMany], or the disk's.
func (e *Engine) Trigger(spec Spec) (Snapshot, error) {
	if _, ok := datasetOf(spec.Dataset); !ok {
		return Snapshot{}, ErrNoDataset
	}
	if e.running() >= MaxRunning {
		return Snapshot{}, ErrTooMany
	}
	j := &job{engine: e, id: newID(), meta: meta{
		SchemaVersion: 1, Dataset: spec.Dataset, Created: e.conf.Now().UTC(), Status: Starting, Inputs: len(spec.URLs),
		IncludeErrors: spec.IncludeErrors, LimitPerInput: spec.LimitPerInput, Fields: spec.Fields, Format: spec.Format,
	}}
	j.dir, j.shape = e.folder(j.id), j.meta.shape()
	if err := e.create(j, spec.URLs); err != nil {
		return Snapshot{}, fmt.Errorf("keeping the job: %w", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		// It is on disk and runs at the next start.
		return j.snapshot(), nil
	}
	e.jobs[j.id] = j
	e.start(j)
	return j.snapshot(), nil
}

func (e *Engine) running() int {
	n := 0
	for _, s := range e.List() {
		if !s.Status.Ended() {
			n++
		}
	}
	return n
}

// start runs a job; called under mu or before the engine is shared.
func (e *Engine) start(j *job) {
	ctx, cancel := context.WithCancel(e.ctx)
	j.cancel = cancel
	e.wg.Go(func() {
		defer cancel()
		j.run(ctx)
	})
}

// Get is one snapshot; the error is [ErrNoSnapshot].
func (e *Engine) Get(id string) (Snapshot, error) {
	j, err := e.job(id)
	if err != nil {
		return Snapshot{}, err
	}
	return j.snapshot(), nil
}

func (e *Engine) job(id string) (*job, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	j, ok := e.jobs[id]
	if !ok {
		return nil, ErrNoSnapshot
	}
	return j, nil
}

// List is all snapshots, the newest first.
func (e *Engine) List() []Snapshot {
	e.mu.Lock()
	all := make([]*job, 0, len(e.jobs))
	for _, j := range e.jobs {
		all = append(all, j)
	}
	e.mu.Unlock()
	out := make([]Snapshot, len(all))
	for i, j := range all {
		out[i] = j.snapshot()
	}
	slices.SortFunc(out, func(a, b Snapshot) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// Cancel ends a running job. Errors: [ErrNoSnapshot], [ErrNotRunning].
func (e *Engine) Cancel(id string) error {
	j, err := e.job(id)
	if err != nil {
		return err
	}
	if err := j.end(Canceled, ""); err != nil {
		return err
	}
	j.cancel()
	return nil
}

const idPrefix = "sd_"

// newID is random, so that nobody guesses another's snapshot.
func newID() string {
	b := make([]byte, 10)
	rand.Read(b) // never fails (crypto/rand)
	return idPrefix + strings.ToLower(base32.StdEncoding.EncodeToString(b))
}
