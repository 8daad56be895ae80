// Package clock is the emulator's time: the machine's clock with an offset that can
// grow, so that expiry, rotation and idle sessions can be rehearsed without waiting.
// It never runs backwards after its start.
//
// Everything in the emulator that means time of the service (keys, jobs, sessions,
// faults, dates of answers and in them) asks this clock; deadlines on sockets do not. The server
// makes one, its control API moves it, and its state folder keeps the offset.
//
// A Clock is safe for concurrent use.
package clock

import (
	"context"
	"errors"
	"sync"
	"time"
)

// MaxOffset is how far the clock may be ahead of the machine's.
const MaxOffset = 100 * 365 * 24 * time.Hour

// Reasons not to move the clock.
var (
	// ErrBackwards: time was asked to go back.
	ErrBackwards = errors.New("the clock never goes back")
	// ErrTooFar: the clock would leave MaxOffset.
	ErrTooFar = errors.New("the clock would be more than 100 years from the machine's")
)

// Clock is a movable clock. Make it with New.
type Clock struct {
	base func() time.Time

	mu     sync.RWMutex
	offset time.Duration
	moved  chan struct{} // closed by the next move
}

// New makes a clock that runs on base, which is time.Now outside tests. It starts at start,
// or at base's time if start is zero. Only here may the clock be behind the machine's.
// ErrTooFar if start is too far away.
func New(base func() time.Time, start time.Time) (*Clock, error) {
	c := &Clock{base: base, moved: make(chan struct{})}
	if start.IsZero() {
		return c, nil
	}
	return c, c.Restore(start.Sub(base()))
}

// Now is the emulator's time.
func (c *Clock) Now() time.Time {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.base().Add(c.offset)
}

// Offset is how far the clock is ahead of the machine's.
func (c *Clock) Offset() time.Duration {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.offset
}

// Advance moves the clock forward by d and returns the new time. ErrBackwards for a
// negative d, ErrTooFar past MaxOffset; the clock then stays as it is.
func (c *Clock) Advance(d time.Duration) (time.Time, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.move(d)
}

// Set moves the clock forward to t. Errors as for Advance.
func (c *Clock) Set(t time.Time) (time.Time, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.move(t.Sub(c.base().Add(c.offset)))
}

func (c *Clock) move(d time.Duration) (time.Time, error) {
	switch {
	case d < 0:
		return time.Time{}, ErrBackwards
	case d > MaxOffset-c.offset:
		return time.Time{}, ErrTooFar
	case d > 0:
		c.offset += d
		close(c.moved)
		c.moved = make(chan struct{})
	}
	return c.base().Add(c.offset), nil
}

// Wait returns nil once the clock shows until or later, or ctx's cause if that ends first.
func (c *Clock) Wait(ctx context.Context, until time.Time) error {
	for {
		c.mu.RLock()
		left, moved := until.Sub(c.base().Add(c.offset)), c.moved
		c.mu.RUnlock()
		if left <= 0 {
			return nil
		}
		select {
		case <-time.After(left):
		case <-moved:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Pause waits for d of the machine's time, which moving the clock does not shorten. It returns
// ctx's cause if that ends first.
func Pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Restore sets the offset to the value of [Clock.Offset] in an earlier run. Call it before
// anything reads the clock. ErrTooFar past MaxOffset.
func (c *Clock) Restore(offset time.Duration) error {
	if offset > MaxOffset || offset < -MaxOffset {
		return ErrTooFar
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset = offset
	return nil
}
