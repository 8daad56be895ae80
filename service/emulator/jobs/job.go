package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"zonedeck/service/emulator/clock"
)

// meta is job.json.
type meta struct {
	SchemaVersion int       `json:"schema_version"`
	Dataset       string    `json:"dataset"`
	Discover      string    `json:"discover,omitempty"`
	Created       time.Time `json:"created"`
	Ended         time.Time `json:"ended,omitzero"`
	Status        Status    `json:"status"`
	Error         string    `json:"error,omitempty"`
	Inputs        int       `json:"inputs"`
	Done          int       `json:"done"`
	Succeeded     int       `json:"succeeded"`
	Records       int       `json:"records"`
	Errors        int       `json:"errors"`
	Size          int64     `json:"size"`
	IncludeErrors bool      `json:"include_errors,omitempty"`
	LimitPerInput int       `json:"limit_per_input,omitempty"`
	LimitTotal    int       `json:"limit_total,omitempty"`
	Fields        []string  `json:"fields,omitempty"`
	Format        string    `json:"format,omitempty"`
	Via           string    `json:"via,omitempty"`
	Hooks         []Hook    `json:"hooks,omitempty"`
}

// line is a line of records.ndjson: all that one input gave.
type line struct {
	I       int               `json:"i"`
	Records []json.RawMessage `json:"records,omitempty"`
	Errors  []failure         `json:"errors,omitempty"`
}

// failure is a row of what could not be had, in the form it is downloaded in (public
// documentation).
type failure struct {
	Error string `json:"error"`
	Code  string `json:"error_code"`
	// Input is the job's input, or the page of a crawl.
	Input json.RawMessage `json:"input"`
}

type job struct {
	engine *Engine
	id     string
	dir    string
	cancel context.CancelFunc
	shape  shape
	over   chan struct{} // closed at the end

	handing sync.Mutex // one hand-over at a time; taken before mu

	mu      sync.Mutex // guards what follows, and the order of lines
	meta    meta
	done    []bool // by input, while running
	records *os.File
}

// shape is what a job asks of its records. It never changes, so that it is read
// without the lock.
type shape struct {
	dataset  string
	discover string
	fields   []string
	limit    int // records of one input; 0 is no bound
	total    int // records of the job; 0 is no bound
	errors   bool
}

func (m meta) shape() shape {
	return shape{
		dataset: m.Dataset, discover: m.Discover, fields: m.Fields,
		limit: m.LimitPerInput, total: m.LimitTotal, errors: m.IncludeErrors,
	}
}

func (j *job) snapshot() Snapshot {
	j.mu.Lock()
	defer j.mu.Unlock()
	m := j.meta
	return Snapshot{
		ID: j.id, Dataset: m.Dataset, Discover: m.Discover, Created: m.Created, Ended: m.Ended, Status: m.Status,
		Error: m.Error, Format: m.Format, Via: m.Via, Inputs: m.Inputs, Done: m.Done, Succeeded: m.Succeeded,
		Records: m.Records, Errors: m.Errors, Size: m.Size, IncludeErrors: m.IncludeErrors,
		Kept: j.kept(),
	}
}

func (j *job) kept() bool { return strings.HasPrefix(j.id, keptPrefix) }

// run does the inputs that have no line yet, then ends the job. When ctx ends first,
// the job stays unfinished on disk.
func (j *job) run(ctx context.Context) {
	err := j.resume()
	if err == nil {
		err = j.work(ctx)
	}
	j.mu.Lock()
	if j.records != nil {
		if cerr := j.records.Close(); err == nil {
			err = cerr
		}
		j.records = nil
	}
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
		// A full disk, mostly: a job that never ends would keep its place, and its client
		// waiting.
		j.engine.conf.Log.Error("a job's end could not be kept; it is tried again", "snapshot", j.id, "error", err)
		if clock.Pause(ctx, diskPause) != nil {
			return
		}
	}
	j.handOver()
}

// resume counts the lines that are there and cuts half a last one off.
func (j *job) resume() error {
	f, err := os.OpenFile(filepath.Join(j.dir, recordsName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.records = f
	j.done = make([]bool, j.meta.Inputs)
	j.meta.Done, j.meta.Succeeded, j.meta.Records, j.meta.Errors, j.meta.Size = 0, 0, 0, 0, 0
	end, err := scanLines(f, func(_ int64, b []byte) error {
		var l line
		if json.Unmarshal(b, &l) == nil && l.I >= 0 && l.I < len(j.done) && !j.done[l.I] {
			j.count(l)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := f.Truncate(end); err != nil {
		return err
	}
	_, err = f.Seek(end, io.SeekStart)
	return err
}

// count takes a line into the counters; called under mu.
func (j *job) count(l line) {
	j.done[l.I] = true
	j.meta.Done++
	j.meta.Records += len(l.Records)
	j.meta.Errors += len(l.Errors)
	if len(l.Records) > 0 && len(l.Errors) == 0 {
		j.meta.Succeeded++
	}
	for _, r := range l.Records {
		j.meta.Size += int64(len(r)) + 1
	}
}

type pending struct {
	i  int
	in json.RawMessage
}

// work feeds the open inputs, read from disk as they are needed, to a few workers.
func (j *job) work(ctx context.Context) error {
	f, err := os.Open(filepath.Join(j.dir, inputName))
	if err != nil {
		return err
	}
	defer f.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	queue := make(chan pending)
	var wg sync.WaitGroup
	for range workersPerJob {
		wg.Go(func() {
			for p := range queue {
				if err := j.one(ctx, p); err != nil {
					cancel(err)
				}
			}
		})
	}
	n := 0
	_, err = scanLines(f, func(_ int64, b []byte) error {
		i := n
		n++
		if i >= len(j.done) || j.isDone(i) {
			return nil
		}
		if !json.Valid(b) {
			return fmt.Errorf("input %d is not JSON", i)
		}
		select {
		case queue <- pending{i, b}:
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

func (j *job) isDone(i int) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.done[i]
}

// one does one input and keeps its line. An error means that the job cannot go on.
func (j *job) one(ctx context.Context, p pending) error {
	l, err := j.collect(ctx, p)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx) // not the page's fault: the input stays open
	}
	return j.keep(l)
}

// keep appends a line with one write. It is not synced: a line that a power cut takes
// is fetched again.
func (j *job) keep(l line) error {
	b, err := encodeValue(l)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.meta.Status.Ended() || j.done[l.I] {
		return nil
	}
	if _, err := j.records.Write(append(b, '\n')); err != nil {
		return err
	}
	j.meta.Status = Running
	j.count(l)
	return nil
}

// build reads the records back: every input must have its line, and where the whole
// job has a limit, what lies beyond it does not count. Its status is not kept on disk:
// after a restart a job builds again.
func (j *job) build(ctx context.Context) error {
	j.mu.Lock()
	if j.meta.Status.Ended() {
		j.mu.Unlock()
		return nil
	}
	j.meta.Status = Building
	j.mu.Unlock()
	if err := clock.Pause(ctx, j.engine.conf.BuildTime); err != nil {
		return err
	}
	var lines, records int
	var size int64
	err := j.eachLine(func(l line) error {
		lines++
		records += len(l.Records)
		for _, r := range l.Records {
			size += int64(len(r)) + 1
		}
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.meta.Status.Ended() {
		return nil // canceled meanwhile: what was told of it then stays
	}
	if lines != j.meta.Inputs {
		return fmt.Errorf("%d of %d inputs have records or an error", lines, j.meta.Inputs)
	}
	j.meta.Records, j.meta.Size = records, size
	return nil
}

// nothingFound reports whether a discovery came to nothing at all.
func (j *job) nothingFound() bool {
	if j.shape.discover == "" || j.snapshot().Records > 0 {
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

// end moves the job to its last state, on disk first. The error is [ErrNotRunning]
// when it had ended before, or the disk's.
func (j *job) end(status Status, msg string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.meta.Status.Ended() {
		return ErrNotRunning
	}
	m := j.meta
	m.Status, m.Error, m.Ended = status, msg, j.engine.conf.Now().UTC()
	if err := syncFile(filepath.Join(j.dir, recordsName)); err != nil {
		return err
	}
	if err := writeMeta(j.dir, m); err != nil {
		return err
	}
	j.meta = m
	close(j.over)
	return nil
}
