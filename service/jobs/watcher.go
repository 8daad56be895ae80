package jobs

import (
	"context"
	"sync"

	"zonedeck/model"
)

// maxWatches bounds how many jobs a Watcher follows at a time: polling hundreds
// of them at once would itself be "sending too fast" (service.md 7).
const maxWatches = 8

// WatchFunc follows one job until its state is final: Runner.Watch.
type WatchFunc func(ctx context.Context, jobID string, on func(model.Job)) (model.Job, error)

// WatchPhase says what a WatchEvent reports.
type WatchPhase int

const (
	// WatchBegan means that the job is followed from now on.
	WatchBegan WatchPhase = iota
	// WatchChanged carries the job's new state.
	WatchChanged
	// WatchEnded means that the job is no longer followed: its state is final, or
	// Err says what ended the watch before.
	WatchEnded
)

// WatchEvent is news of one job.
type WatchEvent struct {
	Phase WatchPhase
	JobID string
	// Job is the job as last seen; zero with WatchBegan.
	Job model.Job
	// Err comes with WatchEnded; it says nothing about the job itself.
	Err error
}

// Watcher follows several jobs, eight at a time: when one ends, the first one
// waiting begins. It is safe for concurrent use. Nothing happens before Run.
type Watcher struct {
	watch WatchFunc
	// wake tells Run that there may be a job to begin.
	wake chan struct{}

	mu      sync.Mutex
	waiting []string // in the order they begin
	urgent  []string // these begin without regard to the limit
	// following has an entry for every job that was begun: true until its watch ends.
	following map[string]bool
	running   int
}

// NewWatcher makes a Watcher that follows each job with watch.
func NewWatcher(watch WatchFunc) *Watcher {
	return &Watcher{watch: watch, wake: make(chan struct{}, 1), following: map[string]bool{}}
}

// Follow replaces the jobs that wait to be followed; the first one begins first.
// A job that was begun before is left out: either it is still followed, or its
// watch ended and only FollowNow begins it again.
func (w *Watcher) Follow(jobIDs []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting = w.waiting[:0]
	for _, id := range jobIDs {
		if _, begun := w.following[id]; !begun {
			w.waiting = append(w.waiting, id)
		}
	}
	w.signal()
}

// FollowNow begins a job without waiting for room, unless it is followed already.
func (w *Watcher) FollowNow(jobID string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.urgent = append(w.urgent, jobID)
	w.signal()
}

func (w *Watcher) signal() {
	select {
	case w.wake <- struct{}{}:
	default: // Run has not yet seen the signal before
	}
}

// Run follows jobs until ctx ends, and returns after the last watch has. It gives
// all events to on, one at a time, from this goroutine; those of one job are in
// order. A watch that ends with ctx has no WatchEnded. Run may be called once.
func (w *Watcher) Run(ctx context.Context, on func(WatchEvent)) {
	events := make(chan WatchEvent)
	send := func(e WatchEvent) {
		select {
		case events <- e:
		case <-ctx.Done():
		}
	}
	var watches sync.WaitGroup
	defer watches.Wait()
	for ctx.Err() == nil {
		for _, id := range w.begin() {
			on(WatchEvent{Phase: WatchBegan, JobID: id})
			watches.Go(func() {
				job, err := w.watch(ctx, id, func(j model.Job) { send(WatchEvent{Phase: WatchChanged, JobID: id, Job: j}) })
				send(WatchEvent{Phase: WatchEnded, JobID: id, Job: job, Err: err})
			})
		}
		select {
		case <-ctx.Done():
		case <-w.wake:
		case e := <-events:
			if e.Phase == WatchEnded {
				w.end(e.JobID)
			}
			on(e)
		}
	}
}

// begin takes the jobs whose watches begin now.
func (w *Watcher) begin() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var ids []string
	add := func(id string) {
		if !w.following[id] {
			w.following[id] = true
			w.running++
			ids = append(ids, id)
		}
	}
	for _, id := range w.urgent {
		add(id)
	}
	w.urgent = nil
	for len(w.waiting) > 0 && w.running < maxWatches {
		if _, begun := w.following[w.waiting[0]]; !begun {
			add(w.waiting[0])
		}
		w.waiting = w.waiting[1:]
	}
	return ids
}

// end makes room for the next job.
func (w *Watcher) end(jobID string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.following[jobID] = false
	w.running--
}
