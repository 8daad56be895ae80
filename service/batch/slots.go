package batch

import (
	"context"
	"fmt"
	"sync"
	"time"

	"zonedeck/service/exchange"
	"zonedeck/service/share"
)

// slots bound how many fetches are in flight; the bound may change.
type slots struct {
	mu         sync.Mutex
	limit, now int
	waiting    []chan struct{}
	leased     bool // from other workers, with whom the limit is shared
	lease      share.Lease
	lapsing    context.Context //nolint:containedctx // ends when the lease ends without a new one
	lapse      context.CancelFunc
}

// free reports whether there is a slot. mu is held.
func (s *slots) free() bool {
	if s.leased {
		return s.now < min(s.limit, s.lease.Slots) && s.lease.Covers(time.Now())
	}
	return s.now < s.limit
}

// bound is how many may be in flight.
func (s *slots) bound() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leased {
		return min(s.limit, s.lease.Slots)
	}
	return s.limit
}

// missing says which slots are not back yet, or "".
func (s *slots) missing() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lease.Waiting == 0 {
		return ""
	}
	return fmt.Sprintf("%d of the zone's slots were a dead worker's: they are back in %s", s.lease.Waiting, s.lease.Back.Round(time.Second))
}

// demand is what a worker wants of a shared limit.
func (s *slots) demand() (limit, flying int, wants bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.limit, s.now, !s.leased || len(s.waiting) > 0 || s.now >= s.lease.Slots
}

// lend makes a lease bound what is in flight.
func (s *slots) lend(lease share.Lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leased, s.lease = true, lease
	if s.lapsing == nil || s.lapsing.Err() != nil {
		s.lapsing, s.lapse = context.WithCancel(context.Background())
	}
	s.wake()
}

// expire cuts off what is in flight if the lease has ended: its slots are others' now.
func (s *slots) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lapse != nil && !time.Now().Before(s.lease.Until()) {
		s.lapse()
	}
}

// covered waits until a fetch that begins now ends within the lease, and gives what ends with the lease; nil without one.
func (s *slots) covered(ctx context.Context) (lapsing context.Context, err error) {
	for {
		s.mu.Lock()
		covers := !s.leased || s.lease.Covers(time.Now())
		lapsing = s.lapsing
		s.mu.Unlock()
		if covers {
			return lapsing, nil
		}
		if err := exchange.Pause(ctx, share.RenewEvery/2); err != nil {
			return nil, err
		}
	}
}

func (s *slots) resize(limit int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = limit
	s.wake()
}

// take waits for a slot.
func (s *slots) take(ctx context.Context) error {
	s.mu.Lock()
	if s.free() && len(s.waiting) == 0 && ctx.Err() == nil {
		s.now++
		s.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	s.waiting = append(s.waiting, turn)
	s.mu.Unlock()
	select {
	case <-turn:
		if ctx.Err() == nil {
			return nil
		}
		s.leave()
	case <-ctx.Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		select {
		case <-turn: // it came meanwhile
			s.now--
		default:
			for i, w := range s.waiting {
				if w == turn {
					s.waiting = append(s.waiting[:i], s.waiting[i+1:]...)
					break
				}
			}
		}
		s.wake()
	}
	return context.Cause(ctx)
}

func (s *slots) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now--
	s.wake()
}

// wake gives free slots to those that wait, the first first. mu is held.
func (s *slots) wake() {
	for len(s.waiting) > 0 && s.free() {
		close(s.waiting[0])
		s.waiting = s.waiting[1:]
		s.now++
	}
}
