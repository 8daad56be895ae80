// Package worktest is shared by tests of durable work: a queue in memory for tests with a fake clock.
package worktest

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"zonedeck/service/work"
)

// Memory is a work.Queue of one process. Make it with NewMemory.
type Memory struct {
	mu    sync.Mutex
	items map[[2]string]*queued
	wake  chan struct{} // closed and replaced at each change
}

type queued struct {
	work.Item
	busy     bool
	hastened *work.Item // while it was busy
}

// NewMemory makes an empty queue.
func NewMemory() *Memory {
	return &Memory{items: map[[2]string]*queued{}, wake: make(chan struct{})}
}

// Put implements work.Queue.
func (m *Memory) Put(_ context.Context, item work.Item) error {
	m.put(item, false)
	return nil
}

// Hasten implements work.Queue.
func (m *Memory) Hasten(_ context.Context, item work.Item) error {
	m.put(item, true)
	return nil
}

func (m *Memory) put(item work.Item, hasten bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name := [2]string{item.Lane, item.Key}
	old, ok := m.items[name]
	switch {
	case !ok:
		item.Due = time.Now()
		m.items[name] = &queued{Item: item}
	case hasten && old.busy:
		if old.hastened == nil || item.Outlasts(*old.hastened) {
			old.hastened = &item
		}
	case hasten:
		old.hasten(item)
	}
	m.changed()
}

func (h *queued) hasten(item work.Item) {
	if h.Due.After(time.Now()) {
		h.Due = time.Now()
	}
	if item.Outlasts(h.Item) {
		h.Until = item.Until
	}
}

func (m *Memory) changed() {
	close(m.wake)
	m.wake = make(chan struct{})
}

// Items implements work.Queue.
func (m *Memory) Items(_ context.Context, lane string) ([]work.Item, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var items []work.Item
	for name, h := range m.items {
		if name[0] == lane {
			items = append(items, h.Item)
		}
	}
	slices.SortFunc(items, func(a, b work.Item) int { return cmp.Compare(a.Key, b.Key) })
	return items, nil
}

// Work implements work.Queue.
func (m *Memory) Work(ctx context.Context, lane string, n int, handle work.Handler) error {
	var handlers sync.WaitGroup
	defer handlers.Wait()
	for places := make(chan struct{}, n); ; {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		h, ok := m.next(ctx, lane)
		if !ok {
			return nil
		}
		handlers.Go(func() {
			again, err := handle(ctx, h.Item)
			m.give(ctx, h, again, err)
			<-places
		})
	}
}

// next waits for the item that is due first.
func (m *Memory) next(ctx context.Context, lane string) (*queued, bool) {
	for {
		m.mu.Lock()
		var first *queued
		for name, h := range m.items {
			if name[0] == lane && !h.busy && (first == nil || h.Due.Before(first.Due)) {
				first = h
			}
		}
		wake, wait := m.wake, time.Hour
		if first != nil {
			wait = time.Until(first.Due)
		}
		if first != nil && wait <= 0 && ctx.Err() == nil {
			first.busy = true
			m.mu.Unlock()
			return first, true
		}
		m.mu.Unlock()
		due := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-wake:
		case <-due.C:
		}
		due.Stop()
		if ctx.Err() != nil {
			return nil, false
		}
	}
}

func (m *Memory) give(ctx context.Context, h *queued, again time.Duration, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h.busy = false
	switch {
	case err != nil && ctx.Err() != nil:
		h.Due = time.Now()
	case err != nil:
		h.Due = time.Now().Add(work.RetryAfter)
	case again > 0:
		h.Due = time.Now().Add(again)
	default:
		delete(m.items, [2]string{h.Lane, h.Key})
	}
	if h.hastened != nil {
		h.hasten(*h.hastened)
		h.hastened = nil
	}
	m.changed()
}

// Close implements work.Queue.
func (m *Memory) Close() error { return nil }
