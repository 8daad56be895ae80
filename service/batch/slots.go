package batch

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"zonedeck/model"
	"zonedeck/service/share"
)

// slots bound how many of something go at once; the bound may change. Workers may share it by leases.
type slots struct {
	mu         sync.Mutex
	limit, now int
	peak       int // the most at once since the last claim
	waiting    []chan struct{}
	shared     *share.Claim // what of it is the same in each renewal; nil on one machine
	lease      share.Lease
	wish       chan struct{} // asks for a renewal at once
}

// bound is how many may go at once. mu is held.
func (s *slots) bound() int {
	if s.shared != nil {
		return min(s.limit, s.lease.Slots)
	}
	return s.limit
}

func (s *slots) atOnce() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bound()
}

// free reports whether there is a slot. mu is held.
func (s *slots) free() bool {
	return s.now < s.bound() && (s.shared == nil || s.lease.Covers(time.Now()))
}

// missing says which slots are not back yet, or "".
func (s *slots) missing() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lease.Waiting == 0 {
		return ""
	}
	of := "the batch"
	if _, zone, is := strings.Cut(s.shared.Zone, "/"); is {
		of = "zone " + zone
	}
	return fmt.Sprintf("%s of %s were a dead worker's: they are back in %d s", model.Counted(s.lease.Waiting, "slot"), of, int(s.lease.Back.Seconds()+0.5))
}

// claim is what a worker has and wants of a shared limit. Until the next lease it may take all that it has.
func (s *slots) claim(timeout time.Duration) share.Claim {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := *s.shared
	c.Limit, c.Timeout, c.Flying, c.Holds, c.Wants = s.limit, timeout, s.peak, s.now, len(s.waiting) > 0
	s.peak = s.now
	if !s.lease.Over(time.Now()) {
		c.Holds = max(s.now, s.bound())
	}
	return c
}

// lend makes a lease bound what is in flight.
func (s *slots) lend(lease share.Lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lease = lease
	s.wake()
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
		s.begin()
		s.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	s.waiting = append(s.waiting, turn)
	if s.lease.Slots == 0 && len(s.waiting) == 1 {
		select {
		case s.wish <- struct{}{}:
		default:
		}
	}
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

// begin takes a slot. mu is held.
func (s *slots) begin() {
	s.now++
	s.peak = max(s.peak, s.now)
}

// enter takes a slot although there may be none: nothing is sent in it.
func (s *slots) enter() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now++
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
		s.begin()
	}
}
