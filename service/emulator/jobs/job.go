package jobs

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// meta is job.json.
type meta struct {
	SchemaVersion int       `json:"schema_version"`
	Dataset       string    `json:"dataset"`
	Created       time.Time `json:"created"`
	Status        Status    `json:"status"`
	Error         string    `json:"error,omitempty"`
	Inputs        int       `json:"inputs"`
	Done          int       `json:"done"`
	Records       int       `json:"records"`
	Errors        int       `json:"errors"`
	IncludeErrors bool      `json:"include_errors,omitempty"`
	LimitPerInput int       `json:"limit_per_input,omitempty"`
	Fields        []string  `json:"fields,omitempty"`
	Format        string    `json:"format,omitempty"`
}

// input is a line of input.ndjson.
type input struct {
	URL string `json:"url"`
}

// line is a line of records.ndjson: all that one input gave.
type line struct {
	I       int               `json:"i"`
	URL     string            `json:"url"`
	Records []json.RawMessage `json:"records,omitempty"`
	Code    string            `json:"error_code,omitempty"`
	Error   string            `json:"error,omitempty"`
}

type job struct {
	engine *Engine
	id     string
	dir    string
	cancel context.CancelFunc
	shape  shape

	mu      sync.Mutex // guards what follows, and the order of lines
	meta    meta
	done    []bool // by input, while running
	records *os.File
}

// shape is what a job asks of its records. It never changes, so that it is read
// without the lock.
type shape struct {
	dataset string
	fields  []string
	limit   int // records of one input; 0 is no bound
	errors  bool
}

func (m meta) shape() shape {
	return shape{dataset: m.Dataset, fields: m.Fields, limit: m.LimitPerInput, errors: m.IncludeErrors}
}

func (j *job) snapshot() Snapshot {
	j.mu.Lock()
	defer j.mu.Unlock()
	m := j.meta
	return Snapshot{
		ID: j.id, Dataset: m.Dataset, Created: m.Created, Status: m.Status, Error: m.Error, Format: m.Format,
		Inputs: m.Inputs, Done: m.Done, Records: m.Records, Errors: m.Errors, IncludeErrors: m.IncludeErrors,
	}
}

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
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		j.engine.conf.Log.Error("a job failed", "snapshot", j.id, "error", err)
		err = j.end(Failed, "Internal server error")
	default:
		err = j.end(Ready, "")
	}
	if err != nil && !errors.Is(err, ErrNotRunning) {
		j.engine.conf.Log.Error("a job's end could not be kept; it ends again after a restart", "snapshot", j.id, "error", err)
	}
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
	j.meta.Done, j.meta.Records, j.meta.Errors = 0, 0, 0
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
	if l.Error != "" {
		j.meta.Errors++
	}
}

// scanLines calls fn for each whole line of f with its offset, and gives the offset
// behind the last one.
func scanLines(f io.Reader, fn func(at int64, b []byte) error) (end int64, err error) {
	r := bufio.NewReaderSize(f, 64<<10)
	for {
		b, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return end, nil
		}
		if err != nil {
			return end, err
		}
		if err := fn(end, bytes.TrimSuffix(b, []byte("\n"))); err != nil {
			return end, err
		}
		end += int64(len(b))
	}
}

type pending struct {
	i   int
	url string
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
		var in input
		if err := json.Unmarshal(b, &in); err != nil {
			return fmt.Errorf("reading input %d: %w", i, err)
		}
		select {
		case queue <- pending{i, in.URL}:
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
	select {
	case j.engine.slots <- struct{}{}:
		defer func() { <-j.engine.slots }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := pause(ctx, j.engine.conf.PageDelay); err != nil {
		return err
	}
	l := line{I: p.i, URL: p.url}
	page, err := j.engine.conf.Fetch(ctx, p.url, maxPageBytes)
	if ctx.Err() != nil {
		return context.Cause(ctx) // not the page's fault: the input stays open
	}
	if err == nil {
		l.Records, err = j.extract(page)
	}
	if err != nil {
		l.Code, l.Error = "crawl_failed", err.Error()
		if fe := (*FetchError)(nil); errors.As(err, &fe) {
			l.Code = fe.Code
		}
	}
	return j.keep(l)
}

func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// keep appends a line with one write. It is not synced: a line that a power cut takes
// is fetched again.
func (j *job) keep(l line) error {
	b, err := json.Marshal(l)
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

// end moves the job to its last state, on disk first. The error is [ErrNotRunning]
// when it had ended before, or the disk's.
func (j *job) end(status Status, msg string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.meta.Status.Ended() {
		return ErrNotRunning
	}
	m := j.meta
	m.Status, m.Error = status, msg
	if err := syncFile(filepath.Join(j.dir, recordsName)); err != nil {
		return err
	}
	if err := writeMeta(j.dir, m); err != nil {
		return err
	}
	j.meta = m
	return nil
}
