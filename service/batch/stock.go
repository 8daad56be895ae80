package batch

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/time/rate"

	"zonedeck/service/batch/files"
	"zonedeck/service/batch/store"
)

// stock is where a worker gets the items of a batch, and marks those that it sends.
type stock interface {
	// last gives a slice as a worker that died has left it.
	last(ctx context.Context, n int, worker string) (store.Slice, *store.Claim, error)
	// findLost finds what workers that died have sent, and puts what they have left into the queue.
	findLost(ctx context.Context) error
	// load gives the items of a slice, which is the worker's then, and what became of them.
	load(ctx context.Context, n int) ([]files.Item, store.Slice, error)
	// mark says that an item is about to be sent for the times-th time; 0 that it is answered, or was not sent.
	mark(ctx context.Context, at place, times int) error
	// leave returns when others may have a slice of which nothing is in flight. Items at cut were sent and not answered.
	leave(ctx context.Context, n int, cut []int) error
	close() error
}

// pacer spreads what begins over time.
type pacer interface {
	Wait(ctx context.Context) error
	Set(perSecond float64)
}

// bucket is the pacer of one process.
type bucket struct{ *rate.Limiter }

func (b bucket) Set(perSecond float64) {
	limit := rate.Inf
	if perSecond > 0 {
		limit = rate.Limit(perSecond)
	}
	b.SetLimit(limit)
}

// local is the folder of a batch. One process at a time works on it.
type local struct {
	*runner
	items *files.Items
}

func (l local) mark(_ context.Context, at place, times int) error {
	return l.items.MarkSent(int64(at.slice*files.SliceItems+at.at), times)
}

// leave has nothing to do: the next process finds the marks.
func (local) leave(context.Context, int, []int) error { return nil }

func (l local) close() error { return l.items.Close() }

// shared is a batch on a server, which any number of workers work on: each slice has one of them.
type shared struct {
	*runner
	marking sync.Mutex
	marked  map[int]int // of a slice, how many items are marked
}

// findLost settles what dead workers have left, and puts open slices into the queue that it may have lost.
func (s *shared) findLost(ctx context.Context) error {
	if err := s.bury(ctx); err != nil {
		return err
	}
	of, err := s.store.Batch(ctx, s.id)
	if err != nil {
		return err
	}
	return s.store.Slices(ctx, s.id, true, func(n int, _ store.Slice) error {
		if n >= of.Queued {
			return nil
		}
		return s.put(ctx, n)
	})
}

// last gives a slice as it is, with the worker's claim. If another worker has it, results are late: no attempt is theirs.
func (s *shared) last(ctx context.Context, n int, worker string) (store.Slice, *store.Claim, error) {
	slice, err := s.store.Slice(ctx, s.id, n)
	if err != nil {
		return nil, nil, err
	}
	attempt, owned, err := s.store.Owned(ctx, s.id, n, worker)
	if !owned {
		attempt = -1
	}
	return slice, &store.Claim{Attempt: attempt}, err
}

func (s *shared) load(ctx context.Context, n int) ([]files.Item, store.Slice, error) {
	items, err := s.store.Server.Items(ctx, s.id, n)
	if err != nil {
		return nil, nil, err
	}
	slice, attempt, err := s.store.Claim(ctx, s.id, n, s.name, s.plan.repeatable(), s.priceNow())
	if err != nil {
		return nil, nil, err
	}
	s.marking.Lock()
	s.marked[n] = 0
	s.marking.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slices[n], s.claims[n] = slice, &store.Claim{Attempt: attempt}
	return items, slice, nil
}

// mark marks some items ahead at once: after a kill, these are announced though they may not have been sent.
func (s *shared) mark(ctx context.Context, at place, times int) error {
	if times == 0 {
		return nil
	}
	s.mu.Lock()
	c := s.claims[at.slice]
	s.mu.Unlock()
	if c == nil {
		return store.ErrTaken
	}
	s.marking.Lock()
	defer s.marking.Unlock()
	if at.at < s.marked[at.slice] {
		return nil
	}
	upTo := min(at.at+max(8, min(s.leases.limits[0].atOnce(), s.leases.limits[1].atOnce())), files.SliceItems) // of the batch, and of its zone
	err := s.store.Server.Mark(context.WithoutCancel(ctx), s.id, at.slice, c.Attempt, upTo)
	if err == nil {
		s.marked[at.slice] = upTo
	}
	if errors.Is(err, store.ErrTaken) {
		s.drop(at.slice)
	}
	return err
}

// leave commits what came of the slice, and that nothing of it is in flight.
func (s *shared) leave(ctx context.Context, n int, cut []int) error {
	s.mu.Lock()
	if c := s.claims[n]; c != nil {
		s.slices[n].Unanswered(cut, s.plan.repeatable(), 0, &c.Tally) // what they cost is counted
		c.Released = true
		s.touch(n)
	}
	s.mu.Unlock()
	_, err := s.commit(context.WithoutCancel(ctx))
	s.drop(n)
	return err // then the slice stays as the server knows it
}

// drop forgets a slice that is not the worker's any more.
func (s *shared) drop(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(n)
}

func (*shared) close() error { return nil }

// spread puts the planned items on the server.
func (b *Batches) spread(ctx context.Context, on *store.Server, r Report) (err error) {
	items, err := files.OpenItems(b.dir(r.id))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, items.Close()) }()
	const atOnce = 50
	for first := 0; first < r.Planned.Slices; first += atOnce {
		var slices []store.Slice
		var lines [][]byte
		for n := first; n < min(first+atOnce, r.Planned.Slices); n++ {
			of, err := items.Slice(n)
			if err != nil {
				return err
			}
			var text []byte
			for _, it := range of {
				text = append(store.WithDuplicate(text, it), '\n')
			}
			slices, lines = append(slices, fresh(of)), append(lines, text)
		}
		if err := on.AddItems(ctx, r.id, first, slices, lines); err != nil {
			return err
		}
	}
	return nil
}
