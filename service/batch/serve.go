package batch

import (
	"context"
	"errors"
	"sync"
	"time"

	"zonedeck/service/batch/store"
	"zonedeck/service/exchange"
)

// ErrNoServer says that a worker has no database to work on.
var ErrNoServer = errors.New("no database is named: a worker takes part in the batches of a PostgreSQL server")

// How often a worker looks for batches, and how long it leaves one alone that it cannot work on.
const (
	lookEvery  = time.Second
	failedWait = 15 * time.Second
)

// Serve takes part in all batches of a profile on a server that want work, until ctx ends. It tells watcher what becomes of
// each batch, also why this worker cannot take part, such as a secret that it lacks: before it takes anything of it.
func (b *Batches) Serve(ctx context.Context, profile string, watcher Watcher) error {
	st, err := b.Files.Batches(ctx)
	if err == nil && st.Server == nil {
		err = ErrNoServer
	}
	if err != nil {
		return err
	}
	w := &service{b: b, watcher: watcher, last: "not asked yet", busy: map[string]bool{}, until: map[string]time.Time{}}
	defer w.all.Wait()
	for {
		all, err := b.List(ctx)
		if ctx.Err() != nil {
			return nil
		}
		w.say("", State{}, err)
		for _, s := range all {
			if s.State == store.Running && s.Profile == profile && w.begin(s.ID) {
				w.all.Go(func() { w.attend(ctx, s) })
			}
		}
		if exchange.Pause(ctx, lookEvery) != nil {
			return nil
		}
	}
}

// Watcher hears of the batches that a worker takes part in, one call at a time. An identifier "" is about the database
// itself, which may be gone for a while.
type Watcher interface {
	Batch(id string, s State, err error)
}

// service is a worker at its batches.
type service struct {
	b       *Batches
	watcher Watcher
	all     sync.WaitGroup

	mu    sync.Mutex
	busy  map[string]bool
	until map[string]time.Time // when a batch that failed is tried again
	last  string               // that was said of the database
}

func (w *service) begin(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy[id] || time.Now().Before(w.until[id]) {
		return false
	}
	w.busy[id] = true
	return true
}

func (w *service) attend(ctx context.Context, s State) {
	w.say(s.ID, s, nil)
	end, err := w.b.attend(ctx, s, func(State) {})
	w.mu.Lock()
	delete(w.busy, s.ID)
	if err != nil {
		w.until[s.ID] = time.Now().Add(failedWait)
	}
	w.mu.Unlock()
	if ctx.Err() == nil || end.Over() {
		w.say(s.ID, end, err)
	}
}

// say tells what is new.
func (w *service) say(id string, s State, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if id == "" {
		text := ""
		if err != nil {
			text = err.Error()
		}
		if text == w.last {
			return
		}
		w.last = text
	}
	w.watcher.Batch(id, s, err)
}
