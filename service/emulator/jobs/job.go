package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"zonedeck/service/emulator/clock"
	"zonedeck/service/emulator/state"
)

// meta is the state of a job: its public snapshot, and what only the engine needs.
type meta struct {
	Snapshot
	LimitPerInput int       `json:"limit_per_input,omitempty"`
	LimitTotal    int       `json:"limit_total,omitempty"`
	Fields        []string  `json:"fields,omitempty"`
	Webhooks      []Webhook `json:"hooks,omitempty"`
}

// line is the result of one input.
type line struct {
	I       int               `json:"-"` // the input's number
	Records []json.RawMessage `json:"records,omitempty"`
	Errors  []failure         `json:"errors,omitempty"`
}

// failure is an error row, in the form in which it is downloaded (public documentation).
type failure struct {
	Error string `json:"error"`
	Code  string `json:"error_code"`
	// Input is the job's input, or the page of a crawl.
	Input json.RawMessage `json:"input"`
}

type job struct {
	engine *Engine
	id     string
	cancel context.CancelFunc
	spec   Spec          // without inputs and webhooks; it never changes
	ended  chan struct{} // closed at the end

	emptied bool // the records of an expired job were removed; only keepHouse uses it

	// writing is held during a change on disk. It is taken before mu, which is not held
	// while the disk is written to.
	writing sync.Mutex

	mu   sync.Mutex // guards what follows
	meta meta
	done []bool // by input, while running
}

func (e *Engine) newJob(id string, m meta) *job {
	m.ID, m.Kept = id, strings.HasPrefix(id, keptPrefix)
	return &job{engine: e, id: id, meta: m, spec: m.spec(), ended: make(chan struct{})}
}

// spec is what the job was started with, besides its inputs and webhooks.
func (m meta) spec() Spec {
	return Spec{
		Dataset: m.Dataset, Discover: m.Discover, IncludeErrors: m.IncludeErrors,
		LimitPerInput: m.LimitPerInput, LimitTotal: m.LimitTotal, Fields: m.Fields, Format: m.Format,
	}
}

func (j *job) snapshot() Snapshot { return j.state().Snapshot }

// run works through the inputs that have no line yet, then ends the job. When ctx ends
// first, the job stays unfinished on disk.
func (j *job) run(ctx context.Context) {
	err := j.resume()
	if err == nil {
		err = j.work(ctx)
	}
	j.mu.Lock()
	j.done = nil
	j.mu.Unlock()
	if err == nil && ctx.Err() == nil {
		err = j.build(ctx)
	}
	status, msg := Ready, ""
	var failed *FailedError
	switch {
	case ctx.Err() != nil:
		// Canceled, or left for the next start.
		if j.snapshot().Status.Ended() {
			j.handOver()
		}
		return
	case errors.As(err, &failed):
		status, msg = Failed, failed.Message
	case err != nil:
		j.engine.conf.Log.Error("a job failed", "snapshot", j.id, "error", err)
		status, msg = Failed, "Internal server error"
	case j.nothingFound():
		status, msg = Failed, noDiscovery
	}
	for {
		err := j.end(status, msg)
		if err == nil || errors.Is(err, ErrNotRunning) {
			break
		}
		// Usually the disk is full. A job that never ends would keep its place, and its
		// client waiting.
		j.engine.conf.Log.Error("could not write the end of a job; trying again", "snapshot", j.id, "error", err)
		if clock.Pause(ctx, diskPause) != nil {
			return
		}
	}
	j.handOver()
}

// resume counts the lines of an earlier process, unless that was done.
func (j *job) resume() error {
	j.mu.Lock()
	m, counted := j.meta, j.done != nil
	j.mu.Unlock()
	if counted {
		return nil
	}
	m.Done, m.Succeeded, m.Records, m.Errors, m.Size = 0, 0, 0, 0, 0
	done := make([]bool, m.Inputs)
	err := recordsTable.Each(j.engine.conf.State, j.id, func(i int, b []byte) error {
		l := line{I: i}
		if json.Unmarshal(b, &l) == nil && i < len(done) {
			done[i] = true
			m.count(l)
		}
		return nil
	})
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.meta.Status.Ended() { // canceled meanwhile
		j.meta, j.done = m, done
	}
	return nil
}

func (j *job) state() meta {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.meta
}

func (m *meta) count(l line) {
	m.Status = Running
	m.Done++
	m.Records += len(l.Records)
	m.Errors += len(l.Errors)
	if len(l.Records) > 0 && len(l.Errors) == 0 {
		m.Succeeded++
	}
	m.Size += l.size()
}

// size is the bytes of the records, one a line.
func (l line) size() (n int64) {
	for _, r := range l.Records {
		n += int64(len(r)) + 1
	}
	return n
}

type pending struct {
	i  int
	in json.RawMessage
}

// work feeds the open inputs, read from disk as they are needed, to a few workers.
func (j *job) work(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	queue := make(chan pending)
	var wg sync.WaitGroup
	for range workersPerJob {
		wg.Go(func() {
			for p := range queue {
				if err := j.collectInput(ctx, p); err != nil {
					cancel(err)
				}
			}
		})
	}
	err := j.eachInput(func(i int, in json.RawMessage) error {
		if !j.isOpen(i) {
			return nil
		}
		select {
		case queue <- pending{i, in}:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	close(queue)
	wg.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

func (j *job) isOpen(i int) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return !j.meta.Status.Ended() && i < len(j.done) && !j.done[i]
}

// collectInput collects one input and keeps its line. An error means that the job cannot go on.
func (j *job) collectInput(ctx context.Context, p pending) error {
	l, err := j.collect(ctx, p)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx) // the page did not fail: the input stays open
	}
	return j.writeLine(l)
}

// writeLine writes a line. One that is lost in a power cut is collected again.
func (j *job) writeLine(l line) error {
	b, err := encodeValue(l)
	if err != nil {
		return err
	}
	j.writing.Lock()
	defer j.writing.Unlock()
	if !j.isOpen(l.I) {
		return nil
	}
	if err := j.engine.conf.State.Soon(func(tx *state.Tx) error { return recordsTable.Put(tx, j.id, l.I, b) }); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.done[l.I] = true
	j.meta.count(l)
	return nil
}

// build reads the records back: every input must have its line, and records beyond the
// job's limit do not count. The status building is not written to disk: after a restart the
// job builds again.
func (j *job) build(ctx context.Context) error {
	j.mu.Lock()
	if j.meta.Status.Ended() {
		j.mu.Unlock()
		return nil
	}
	j.meta.Status = Building
	j.mu.Unlock()
	var lines, records int
	var size int64
	err := j.eachLine(func(l line) error {
		lines++
		records += len(l.Records)
		size += l.size()
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.meta.Status.Ended() {
		return nil // canceled meanwhile: its counts stay as they were shown
	}
	if lines != j.meta.Inputs {
		return fmt.Errorf("%d of %d inputs have records or an error", lines, j.meta.Inputs)
	}
	j.meta.Records, j.meta.Size = records, size
	return nil
}

// nothingFound reports whether every input of a discovery found nothing.
func (j *job) nothingFound() bool {
	if j.spec.Discover == "" || j.snapshot().Records > 0 {
		return false
	}
	found := false
	err := j.eachLine(func(l line) error {
		for _, f := range l.Errors {
			found = found || f.Code != codeNoDiscovery
		}
		return nil
	})
	return err == nil && !found
}

// end moves the job to its last state, on disk first; all its lines are durable then. The
// error is [ErrNotRunning] when it had ended before, or the disk's.
func (j *job) end(status Status, msg string) error {
	j.writing.Lock()
	defer j.writing.Unlock()
	m := j.state()
	if m.Status.Ended() {
		return ErrNotRunning
	}
	m.Status, m.Error, m.Ended = status, msg, j.engine.conf.Now().UTC()
	if err := j.engine.conf.State.Update(func(tx *state.Tx) error { return jobsTable.Put(tx, j.id, m) }); err != nil {
		return err
	}
	j.mu.Lock()
	j.meta = m
	j.mu.Unlock()
	j.engine.free(m.Dataset)
	close(j.ended)
	return nil
}

// handOver passes the hooks of an ended job to Config.HandOver, then erases them: they
// hold secrets.
func (j *job) handOver() {
	j.writing.Lock()
	defer j.writing.Unlock()
	m, conf := j.state(), j.engine.conf
	if len(m.Webhooks) == 0 || !m.Status.Ended() {
		return
	}
	if conf.HandOver != nil {
		if err := conf.HandOver(j.snapshot(), m.Webhooks); err != nil {
			conf.Log.Error("could not hand over the webhooks of a job; trying again", "snapshot", j.id, "error", err)
			return
		}
	}
	m.Webhooks = nil
	if err := conf.State.Erase(func(tx *state.Tx) error { return jobsTable.Put(tx, j.id, m) }); err != nil {
		conf.Log.Error("could not erase the webhooks of a job after handing them over", "snapshot", j.id, "error", err)
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.meta = m
}

const (
	// MaxInputs bounds the inputs of one job.
	MaxInputs = 100_000
	// maxRunning bounds the unfinished jobs of one dataset when Config says nothing.
	maxRunning = 1000
	// Retention is how long a snapshot can be fetched (public documentation: 30 days).
	Retention = 30 * 24 * time.Hour
	// MinBatch is the smallest part of a download, in records (public documentation).
	MinBatch = 1000
)

// Errors that callers decide on.
var (
	errNoDataset    = errors.New("dataset does not exist")
	ErrNoCollection = errors.New("dataset does not support collection")
	ErrNoDiscovery  = errors.New("dataset has no such discovery")
	ErrNoSnapshot   = errors.New("snapshot does not exist")
	ErrTooMany      = errors.New("too many running jobs")
	ErrNotRunning   = errors.New("snapshot is not running")
	ErrNotReady     = errors.New("snapshot is not ready")
	ErrExpired      = errors.New("snapshot is expired")
	ErrEmpty        = errors.New("snapshot is empty")
	ErrNotComplete  = errors.New("snapshot did not complete")
	ErrNoInput      = errors.New("snapshot input does not exist")
	ErrNoPart       = errors.New("snapshot has no such part")
	errClosed       = errors.New("the emulator ends")
)

// FailedError fails a whole job rather than one input. Message is what progress shows from
// then on.
type FailedError struct{ Message string }

func (e *FailedError) Error() string { return "the job fails: " + e.Message }

// Status is a job's state as it is spelt on the wire (public documentation).
type Status string

// The states this engine goes through. The words collecting and digesting are seen on
// the wire too, but no source says what they mean, so they are not used.
const (
	Starting Status = "starting"
	Running  Status = "running"
	Building Status = "building"
	Ready    Status = "ready"
	Failed   Status = "failed"
	Canceled Status = "canceled"
)

// Ended reports whether a job will not change any more.
func (s Status) Ended() bool { return s == Ready || s == Failed || s == Canceled }

// Spec is a job to start; its inputs were checked with [CheckInput].
type Spec struct {
	Dataset string
	// Discover is how records are found (discover_by); empty collects what the inputs
	// name.
	Discover string
	// Inputs are JSON objects.
	Inputs        []json.RawMessage
	IncludeErrors bool
	// LimitPerInput bounds the records of one input, LimitTotal those of the whole
	// job; 0 is unlimited.
	LimitPerInput, LimitTotal int
	// Fields keeps only these fields of each record, with dotted paths into objects;
	// empty keeps all.
	Fields []string
	// Format is the default of a download.
	Format string
	// Hooks are sent at the end of the job.
	Webhooks []Webhook
	// Via is the path and query that started the job, without secrets, for its log.
	Via string
}

// Kinds of a [Hook] (public documentation).
const (
	Notify   = "notify"   // snapshot id and status, at every end
	Endpoint = "endpoint" // the records, when the job is ready
)

// Webhook is one of a job.
type Webhook struct {
	Kind string `json:"kind"`
	URL  string `json:"url"`
	// Auth is the Authorization header to send. It is a secret, erased once the webhook is
	// handed over.
	Auth   string `json:"auth,omitempty"`
	Format string `json:"format,omitempty"`
	Plain  bool   `json:"plain,omitempty"` // records without gzip
}

// Snapshot is the public state of a job. Counts grow while it runs.
type Snapshot struct {
	ID       string    `json:"-"`
	Dataset  string    `json:"dataset"`
	Discover string    `json:"discover,omitempty"`
	Created  time.Time `json:"created"`
	Ended    time.Time `json:"ended,omitzero"` // zero while it runs
	Status   Status    `json:"status"`
	Error    string    `json:"error,omitempty"`
	Format   string    `json:"format,omitempty"`
	Via      string    `json:"via,omitempty"`
	Inputs   int       `json:"inputs"`
	Done     int       `json:"done"`
	// Succeeded counts the inputs with a record and without an error.
	Succeeded int   `json:"succeeded"`
	Records   int   `json:"records"`
	Errors    int   `json:"errors"`
	Size      int64 `json:"size"` // bytes of the records, one a line
	// IncludeErrors adds a row for each failure to a download.
	IncludeErrors bool `json:"include_errors,omitempty"`
	// Kept is a snapshot that [Engine.Keep] made, of records collected before.
	Kept bool `json:"-"`
}

// Rows counts the rows of a download: the records, and the failures with IncludeErrors.
func (s Snapshot) Rows() int {
	if s.IncludeErrors {
		return s.Records + s.Errors
	}
	return s.Records
}
