package batch

import (
	"context"
	"sync"
	"time"

	"zonedeck/service/exchange"
)

// background are the batches that this process works on beside other things.
type background struct {
	mu      sync.Mutex
	batches map[string]*attended
	all     sync.WaitGroup
	over    bool
}

// attended is one of them; its fields belong to the mutex of the background.
type attended struct {
	id    string
	stop  context.CancelFunc
	state State // as it was seen last
	fault error // that ended the work
	again bool  // Begin was called once more
	ended bool
}

// Begin works on a batch beside other things, as Run does, until Stop; a batch that this process works on already goes on.
// What ends it is in what Watch gives.
func (b *Batches) Begin(ctx context.Context, id string) error {
	s, err := b.resume(ctx, id) // also where the work on it is just ending
	if err != nil {
		return err
	}
	bg := &b.background
	bg.mu.Lock()
	defer bg.mu.Unlock()
	if bg.over {
		return nil
	}
	if one := bg.batches[s.ID]; one != nil && !one.ended {
		one.again = true
		return nil
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	one := &attended{id: s.ID, stop: stop, state: s}
	if bg.batches == nil {
		bg.batches = map[string]*attended{}
	}
	bg.batches[s.ID] = one
	bg.all.Go(func() {
		defer stop()
		for b.turn(ctx, one) {
		}
	})
	return nil
}

// turn works on a batch until it is over, and reports whether it was begun once more meanwhile.
func (b *Batches) turn(ctx context.Context, one *attended) (again bool) {
	bg := &b.background
	s, err := b.Show(ctx, one.id)
	if err == nil {
		_, err = b.attend(ctx, s, func(s State) {
			bg.mu.Lock()
			defer bg.mu.Unlock()
			one.state = s
		})
	}
	bg.mu.Lock()
	defer bg.mu.Unlock()
	again = one.again && err == nil
	one.ended, one.again = !again, false
	if ctx.Err() == nil {
		one.fault = err
	}
	return again
}

// Attended counts the batches that this process works on beside other things.
func (b *Batches) Attended() (n int) {
	b.background.mu.Lock()
	defer b.background.mu.Unlock()
	for _, one := range b.background.batches {
		if !one.ended {
			n++
		}
	}
	return n
}

// Stop ends what Begin began, for good, and waits for it: what is in flight comes to its end, or is lost after a while.
func (b *Batches) Stop() {
	b.background.mu.Lock()
	b.background.over = true
	for _, one := range b.background.batches {
		one.stop()
	}
	b.background.mu.Unlock()
	b.background.all.Wait()
}

// look gives a batch as it is now, and what ended this process's work on it.
func (b *Batches) look(ctx context.Context, id string) (s State, fault error, err error) {
	bg := &b.background
	attended := false
	bg.mu.Lock()
	if one := bg.batches[id]; one != nil {
		if fault, attended = one.fault, !one.ended; attended && one.state.Live {
			s = one.state
		}
	}
	bg.mu.Unlock()
	st, err := b.Files.Batches(ctx)
	if err != nil || s.ID != "" && st.Server == nil {
		return s, fault, err
	}
	own := s
	if s, err = b.Show(ctx, id); err == nil { // with its other workers
		s.Live, s.Flying = s.Live || attended, own.Flying
	}
	return s, fault, err
}

// Watch gives a batch as it is, whichever process works on it, and then whenever it has changed, at most four times a
// second, until ctx ends.
func (b *Batches) Watch(ctx context.Context, id string, on func(Progress)) error {
	var meter Meter
	var before State
	said := false
	for {
		s, fault, err := b.look(ctx, id)
		if err != nil {
			return err
		}
		every := time.Second
		if s.Live {
			every = commitEvery
		}
		if p := meter.See(s, b.Clock.Now()); !said || s.Live || before.Live || !s.Changed.Equal(before.Changed) || fault != nil {
			p.Fault = fault
			on(p)
		}
		before, said = s, true
		if err := exchange.Pause(ctx, every); err != nil {
			return err
		}
	}
}
