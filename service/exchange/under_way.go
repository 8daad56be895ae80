package exchange

import (
	"context"
	"fmt"
	"sync"
)

// underWay counts the calls whose outcomes still have to be journalled.
type underWay struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed when n is 0 again; nil while nothing waits for that
}

// Begin counts a call whose outcome will be journalled; the caller calls end once it
// has been.
func (w *Wire) Begin() (end func()) {
	u := &w.calls
	u.mu.Lock()
	defer u.mu.Unlock()
	u.n++
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.n--; u.n == 0 && u.idle != nil {
			close(u.idle)
			u.idle = nil
		}
	}
}

// Wait waits until every call that began has ended, or until ctx ends.
func (w *Wire) Wait(ctx context.Context) error {
	u := &w.calls
	u.mu.Lock()
	if u.n == 0 {
		u.mu.Unlock()
		return nil
	}
	if u.idle == nil {
		u.idle = make(chan struct{})
	}
	idle := u.idle
	u.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("calls are still under way: %w", context.Cause(ctx))
	}
}
