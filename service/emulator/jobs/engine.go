// Package jobs runs the emulator's dataset jobs (service.md 2.4, 4.2): it collects
// what each input asks for, extracts records, and keeps both on disk so that a job
// survives the process.
//
// The emulator's dataset endpoints call it. An [Engine] is safe for concurrent use; its
// goroutines have ended when [Engine.Close] returns. Readers never wait for a write to
// disk.
//
// A job and its inputs are written in one transaction. Each finished input adds one line,
// under the input's number. A process that dies leaves only whole lines, and the next one
// works through the inputs that have none: no record is lost and none comes twice.
//
// A job goes through starting, running and building (the records are read back,
// checked and measured) to ready, failed or canceled. Its webhooks are handed over once
// the last state is on disk. If the process dies in between, the next one hands them over
// again, so the receiver of a hand-over must recognise a repeated one.
package jobs

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"zonedeck/service/emulator/state"
)

const (
	workersPerJob = 4
	pagesAtOnce   = 16
	sweepEvery    = time.Hour
	diskPause     = 5 * time.Second // before a failed write is tried again
)

// Page is a page as a job received it.
type Page struct {
	URL         string
	Status      int
	ContentType string
	Location    string // of a redirect, as the target wrote it
	Body        []byte
}

// FetchError is a page that could not be fetched; Code is the service's error code.
type FetchError struct{ Code, Reason string }

func (e *FetchError) Error() string { return e.Reason }

// Request is a page that a job wants.
type Request struct {
	URL string
	// Dataset is the job's, so that the crawl can leave through other exits than the
	// scrapers.
	Dataset string
	// Limit bounds the bytes of the body that are read.
	Limit int64
}

// Config is what an engine needs.
type Config struct {
	State *state.Dir
	// Fetch gets one page without following redirects. Its error is a [*FetchError], or
	// anything when ctx has ended.
	Fetch func(ctx context.Context, r Request) (Page, error)
	Now   func() time.Time
	// Shop is the address of the site that keyword discovery searches, without a
	// path; empty is http://lab.test.
	Shop string
	// PageDelay is waited before each page.
	PageDelay time.Duration
	// Grace is how long a new job cannot be seen (about 20 seconds on the real service);
	// 0 shows it at once.
	Grace time.Duration
	// maxRunning bounds the unfinished jobs of one dataset; 0 is [maxRunning].
	MaxRunning int
	// Fault is called before every input. Its error fails the input, like Fetch's; a
	// [FailedError] fails the whole job. Nil does nothing.
	Fault func(ctx context.Context, dataset, url string) error
	// HandOver takes the webhooks of a job that has ended. They are on disk when it
	// returns; it may be given the same ones again. Nil drops them.
	HandOver func(Snapshot, []Webhook) error
	Log      *slog.Logger
}

// Engine runs jobs.
type Engine struct {
	conf  Config
	ctx   context.Context
	stop  context.CancelFunc
	wg    sync.WaitGroup
	slots chan struct{}
	wake  chan struct{}

	mu     sync.Mutex // taken before a job's, never after
	closed bool
	jobs   map[string]*job
	// running counts the unfinished jobs by dataset, including those being written.
	running map[string]int
}

// Open loads the jobs and resumes those that had not ended.
func Open(ctx context.Context, conf Config) (*Engine, error) {
	conf.Shop = strings.TrimSuffix(cmp.Or(conf.Shop, "http://lab.test"), "/")
	conf.MaxRunning = cmp.Or(conf.MaxRunning, maxRunning)
	e := &Engine{
		conf: conf, slots: make(chan struct{}, pagesAtOnce), wake: make(chan struct{}, 1),
		jobs: map[string]*job{}, running: map[string]int{},
	}
	e.ctx, e.stop = context.WithCancel(ctx)
	if err := e.load(); err != nil {
		e.stop()
		return nil, err
	}
	for _, j := range e.jobs {
		if !j.meta.Status.Ended() {
			_ = j.resume() // before anybody asks how far it is; the run tries again, and tells
			e.start(j)
		}
	}
	e.wg.Go(e.keepHouse)
	return e, nil
}

// Close stops the running jobs where they are, and waits for them and for jobs that are
// being written.
func (e *Engine) Close() error {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.stop()
	e.wg.Wait()
	return nil
}

// Trigger starts a job. When it returns, the job is on disk and survives the process.
// Errors: [errNoDataset], [ErrNoCollection], [ErrNoDiscovery], [ErrTooMany], [errClosed],
// or the disk's.
func (e *Engine) Trigger(spec Spec) (Snapshot, error) {
	if _, err := InputFields(spec.Dataset, spec.Discover); err != nil {
		return Snapshot{}, err
	}
	return e.add(newID(idPrefix), spec, nil)
}

// add starts a job. done is the line of its only input, nil when it is still to be
// collected.
func (e *Engine) add(id string, spec Spec, done *line) (Snapshot, error) {
	if err := e.reserve(spec.Dataset); err != nil {
		return Snapshot{}, err
	}
	defer e.wg.Done()
	j := e.newJob(id, meta{
		Snapshot: Snapshot{
			Dataset: spec.Dataset, Discover: spec.Discover, Created: e.conf.Now().UTC(), Status: Starting,
			Inputs: len(spec.Inputs), IncludeErrors: spec.IncludeErrors, Format: spec.Format, Via: spec.Via,
		},
		LimitPerInput: spec.LimitPerInput, LimitTotal: spec.LimitTotal, Fields: spec.Fields, Webhooks: spec.Webhooks,
	})
	if err := e.create(j, spec.Inputs, done); err != nil {
		e.free(spec.Dataset)
		return Snapshot{}, fmt.Errorf("keeping the job: %w", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.jobs[j.id] = j
	e.start(j) // which an engine that is closing leaves for the next start
	return j.snapshot(), nil
}

// reserve takes a place among the unfinished jobs of a dataset. Close waits until the
// caller has called wg.Done.
func (e *Engine) reserve(dataset string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return errClosed
	}
	if e.running[dataset] >= e.conf.MaxRunning {
		return ErrTooMany
	}
	e.running[dataset]++
	e.wg.Add(1)
	return nil
}

func (e *Engine) free(dataset string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.running[dataset]--; e.running[dataset] == 0 {
		delete(e.running, dataset)
	}
}

// MaxRunning is the most jobs of one dataset that can run at a time.
func (e *Engine) MaxRunning() int { return e.conf.MaxRunning }

// start runs a job; called under mu or before the engine is shared.
func (e *Engine) start(j *job) {
	ctx, cancel := context.WithCancel(e.ctx)
	j.cancel = cancel
	e.wg.Go(func() {
		defer cancel()
		j.run(ctx)
	})
}

// Get is one snapshot; the error is [ErrNoSnapshot], also for one that is younger than
// Config.Grace.
func (e *Engine) Get(id string) (Snapshot, error) {
	j, err := e.job(id)
	if err != nil {
		return Snapshot{}, err
	}
	s := j.snapshot()
	if e.conf.Grace > 0 && e.conf.Now().Sub(s.Created) < e.conf.Grace {
		return Snapshot{}, ErrNoSnapshot
	}
	return s, nil
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

func (e *Engine) openJobs() []*job {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Collect(maps.Values(e.jobs))
}

// List is all snapshots, the newest first.
func (e *Engine) List() []Snapshot {
	all := e.openJobs()
	out := make([]Snapshot, len(all))
	for i, j := range all {
		out[i] = j.snapshot()
	}
	slices.SortFunc(out, func(a, b Snapshot) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// Wait returns the snapshot when the job or ctx has ended. The error is [ErrNoSnapshot] or
// ctx's.
func (e *Engine) Wait(ctx context.Context, id string) (Snapshot, error) {
	j, err := e.job(id)
	if err != nil {
		return Snapshot{}, err
	}
	select {
	case <-j.ended:
		return j.snapshot(), nil
	case <-ctx.Done():
		return j.snapshot(), context.Cause(ctx)
	}
}

// Cancel ends a running job. Errors: [ErrNoSnapshot], [ErrNotRunning], or the disk's.
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

// Rerun starts a job like another one. Errors: those of [Engine.Trigger],
// [ErrNoSnapshot], [ErrNoInput] when the inputs were removed.
func (e *Engine) Rerun(id, via string) (Snapshot, error) {
	j, err := e.job(id)
	if err != nil {
		return Snapshot{}, err
	}
	if j.snapshot().Kept {
		return Snapshot{}, ErrNoInput // its input is a filter
	}
	inputs, err := e.Inputs(id)
	if err != nil {
		return Snapshot{}, err
	}
	spec := j.spec
	spec.Inputs, spec.Via = inputs, via
	return e.Trigger(spec)
}

// Prefixes of ids (public documentation): the snapshot of a job, and one of records that
// were already collected.
const (
	idPrefix   = "sd_"
	keptPrefix = "snap_"
)

// newID is random, so that ids cannot be guessed.
func newID(prefix string) string {
	return prefix + strings.ToLower(rand.Text()[:16])
}

// expiredFor is how long a snapshot is listed as expired.
const expiredFor = Retention

// Wake starts a sweep: it removes expired snapshots and hands over hooks that could not be
// handed over before. Call it after moving the clock; otherwise it happens every hour.
func (e *Engine) Wake() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

func (e *Engine) keepHouse() {
	t := time.NewTicker(sweepEvery)
	defer t.Stop()
	for {
		e.sweep()
		select {
		case <-t.C:
		case <-e.wake:
		case <-e.ctx.Done():
			return
		}
	}
}

// sweep hands over the hooks that are left, removes the records of expired jobs from disk,
// and the jobs themselves some time later.
func (e *Engine) sweep() {
	for _, j := range e.openJobs() {
		s := j.snapshot()
		if !s.Status.Ended() {
			continue
		}
		j.handOver()
		age := e.conf.Now().Sub(s.Created)
		var err error
		switch {
		case age > Retention+expiredFor:
			e.mu.Lock()
			delete(e.jobs, j.id)
			e.mu.Unlock()
			err = j.drop(true)
		case age > Retention && !j.emptied:
			err = j.drop(false)
			j.emptied = err == nil
		}
		if err != nil {
			e.conf.Log.Error("could not remove an expired job", "snapshot", j.id, "error", err)
		}
	}
}

// MaxKept and MaxKeptBytes bound the records of a snapshot that [Engine.Keep] makes.
const (
	MaxKept      = maxInputRecords
	MaxKeptBytes = maxInputBytes
)

// ErrTooLarge refuses records that are too many, or too long, for one snapshot.
var ErrTooLarge = errors.New("the records are too many for one snapshot")

// Select calls fn for each record of a dataset that jobs here have collected, once, the
// newest job first, until fn wants no more. It leaves out expired snapshots, and jobs that
// kept only some fields.
func (e *Engine) Select(ctx context.Context, dataset string, fn func(json.RawMessage) (more bool)) error {
	seen := map[[sha256.Size]byte]bool{}
	for _, s := range e.List() {
		if s.Dataset != dataset || s.Status != Ready || s.Kept || e.conf.Now().Sub(s.Created) > Retention {
			continue
		}
		j, err := e.job(s.ID)
		if err != nil || len(j.spec.Fields) > 0 {
			continue // removed meanwhile, or without some fields
		}
		err = j.eachLine(func(l line) error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			for _, r := range l.Records {
				sum := sha256.Sum256(r)
				if seen[sum] {
					continue
				}
				seen[sum] = true
				if !fn(r) {
					return errEnough
				}
			}
			return nil
		})
		switch {
		case errors.Is(err, errEnough):
			return nil
		case err != nil:
			return fmt.Errorf("reading the records of %s: %w", s.ID, err)
		}
	}
	return nil
}

// Keep makes a snapshot of collected records, as the result of the one input of the spec. Errors: [ErrTooMany], [ErrTooLarge], or the disk's.
func (e *Engine) Keep(spec Spec, records []json.RawMessage) (Snapshot, error) {
	size := 0
	for _, r := range records {
		size += len(r) + 1
	}
	if len(records) > MaxKept || size > MaxKeptBytes {
		return Snapshot{}, ErrTooLarge
	}
	return e.add(newID(keptPrefix), spec, &line{Records: records})
}

// A job is kept as its state, its inputs (several to a line), and a line for each input
// that is done.
const (
	jobsTable     = state.Table[meta]("jobs")
	inputsTable   = state.Lines("inputs")
	recordsTable  = state.Lines("records")
	inputsPerLine = 256
)

// load reads the jobs. It leaves out a job that cannot be read, with a note.
func (e *Engine) load() error {
	return jobsTable.Each(e.conf.State, func(id string, m meta) error {
		j := e.newJob(id, m)
		// Records that were kept were neither collected nor discovered by this job.
		if _, err := InputFields(m.Dataset, m.Discover); err != nil && (errors.Is(err, errNoDataset) || !j.meta.Kept) {
			return fmt.Errorf("dataset %q: %w", m.Dataset, err)
		}
		if m.Status.Ended() {
			close(j.ended)
		} else {
			e.running[m.Dataset]++
		}
		e.jobs[id] = j
		return nil
	})
}

// create writes a new job in one transaction.
func (e *Engine) create(j *job, inputs []json.RawMessage, done *line) error {
	return e.conf.State.Update(func(tx *state.Tx) error {
		if err := jobsTable.Put(tx, j.id, j.meta); err != nil {
			return err
		}
		n := 0
		for chunk := range slices.Chunk(inputs, inputsPerLine) {
			b, err := encodeValue(chunk)
			if err == nil {
				err = inputsTable.Put(tx, j.id, n, b)
			}
			if err != nil {
				return err
			}
			n += len(chunk)
		}
		if done == nil {
			return nil
		}
		b, err := encodeValue(done)
		if err != nil {
			return err
		}
		return recordsTable.Put(tx, j.id, done.I, b)
	})
}

// drop deletes a job, or only its inputs and records. If a power cut undoes it, the next
// sweep repeats it.
func (j *job) drop(withState bool) error {
	return j.engine.conf.State.Soon(func(tx *state.Tx) error {
		err := errors.Join(inputsTable.Delete(tx, j.id), recordsTable.Delete(tx, j.id))
		if withState && err == nil {
			err = jobsTable.Delete(tx, j.id)
		}
		return err
	})
}

// eachInput calls fn for the inputs in their order, and ends with its first error.
func (j *job) eachInput(fn func(i int, in json.RawMessage) error) error {
	return inputsTable.Each(j.engine.conf.State, j.id, func(first int, b []byte) error {
		var chunk []json.RawMessage
		if err := json.Unmarshal(b, &chunk); err != nil {
			return fmt.Errorf("reading the inputs from %d: %w", first, err)
		}
		for i, in := range chunk {
			if err := fn(first+i, in); err != nil {
				return err
			}
		}
		return nil
	})
}

// eachLine calls fn for the line of each input that has one, in the order of the inputs.
// It leaves out records beyond the limit of the job.
func (j *job) eachLine(fn func(line) error) error {
	left := j.spec.LimitTotal
	return recordsTable.Each(j.engine.conf.State, j.id, func(i int, b []byte) error {
		l := line{I: i}
		if err := json.Unmarshal(b, &l); err != nil {
			return fmt.Errorf("reading the records of input %d: %w", i, err)
		}
		if j.spec.LimitTotal > 0 {
			l.Records = l.Records[:min(len(l.Records), left)]
			left -= len(l.Records)
		}
		return fn(l)
	})
}

// Inputs reads the inputs of a job. Errors: [ErrNoSnapshot], [ErrNoInput] when they
// were removed, or the disk's.
func (e *Engine) Inputs(id string) ([]json.RawMessage, error) {
	j, err := e.job(id)
	if err != nil {
		return nil, err
	}
	var all []json.RawMessage
	err = j.eachInput(func(_ int, in json.RawMessage) error {
		all = append(all, in)
		return nil
	})
	if err == nil && len(all) < j.snapshot().Inputs {
		err = ErrNoInput
	}
	if err != nil {
		return nil, err
	}
	return all, nil
}
