package kit

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
)

// streamInterval bounds a stream to 20 deliveries a second.
const streamInterval = 50 * time.Millisecond

// Slot holds one cancellable load of a view. Starting a new load cancels the previous
// one, and the root drops what the old one still delivers. The zero value is ready; a Slot must not be copied after its first use.
type Slot struct {
	gen     int
	running bool
	cancel  context.CancelFunc
}

// Start cancels the running load and begins a new generation.
func (s *Slot) Start(parent context.Context) (context.Context, int) {
	if s.cancel != nil {
		s.cancel()
	}
	ctx, cancel := context.WithCancel(parent)
	s.gen++
	s.running, s.cancel = true, cancel
	return ctx, s.gen
}

// Current reports whether gen is the slot's newest generation.
func (s *Slot) Current(gen int) bool { return s.gen == gen }

// Running reports whether the newest load has not delivered its result yet.
func (s *Slot) Running() bool { return s.running }

// Running counts the slots with a load in flight.
func Running(slots ...*Slot) int {
	n := 0
	for _, s := range slots {
		if s.Running() {
			n++
		}
	}
	return n
}

// Cancel cancels the load. Its result (usually the cancellation) is still delivered,
// so that the view can show it.
func (s *Slot) Cancel() {
	if s.cancel != nil {
		s.cancel()
	}
}

// Drop cancels the load and discards whatever it still delivers.
func (s *Slot) Drop() {
	s.Cancel()
	s.gen++
	s.running = false
}

func (s *Slot) finish() {
	s.running = false
	s.Cancel() // releases the context's resources
}

// Addressed is a message for one view. The root unpacks it: it drops messages of an
// old generation of the slot and passes the others to the view's Update in order.
type Addressed struct {
	View ViewID
	Gen  int
	Msg  tea.Msg

	slot  *Slot
	batch []tea.Msg // events that come before Msg
	next  tea.Cmd   // the next delivery of a stream; nil when this is the last
}

// Deliver returns the messages for the view and the command that waits for the
// next ones. A stale message has none for the view, and is closed when it is an
// io.Closer: it holds something open that no view will see. What a stale stream
// delivers is waited for to its end for that reason. Only the root calls it (and
// tests that play the root).
func (a Addressed) Deliver() ([]tea.Msg, tea.Cmd) {
	if a.slot != nil {
		if !a.slot.Current(a.Gen) {
			if c, ok := a.Msg.(io.Closer); ok {
				_ = c.Close() // no view is left to tell
			}
			return nil, a.next
		}
		if a.next == nil {
			a.slot.finish()
		}
	}
	msgs := a.batch
	if a.Msg != nil {
		msgs = append(msgs, a.Msg)
	}
	return msgs, a.next
}

// stream runs f in a goroutine that ends with f. The messages f emits reach view in
// order, in at most 20 deliveries per second; f's result comes last.
// emit may be called from any goroutine until f has returned.
func stream(view ViewID, slot *Slot, parent context.Context, f func(ctx context.Context, emit func(tea.Msg)) tea.Msg) tea.Cmd { //nolint:revive // context-as-argument: as in Load
	ctx, gen := slot.Start(parent)
	p := &pump{ctx: ctx, view: view, gen: gen, slot: slot, dirty: make(chan struct{}, 1), done: make(chan struct{})}
	return func() tea.Msg {
		go p.run(f)
		return p.next()
	}
}

// pump carries a stream's events from the goroutine that runs it to the
// command that delivers them.
type pump struct {
	ctx  context.Context // lives as long as the stream
	view ViewID
	gen  int
	slot *Slot

	mu     sync.Mutex
	events []tea.Msg
	result tea.Msg
	panick any // what f panicked with; raised again in the command, where the program restores the terminal

	dirty chan struct{}
	done  chan struct{}
	last  time.Time
}

func (p *pump) run(f func(context.Context, func(tea.Msg)) tea.Msg) {
	defer close(p.done)
	defer func() {
		if r := recover(); r != nil {
			p.panick = r
		}
	}()
	msg := f(p.ctx, p.emit)
	p.mu.Lock()
	p.result = msg
	p.mu.Unlock()
}

func (p *pump) emit(msg tea.Msg) {
	if p.ctx.Err() != nil {
		return // the result is not wanted any more
	}
	p.mu.Lock()
	p.events = append(p.events, msg)
	p.mu.Unlock()
	select {
	case p.dirty <- struct{}{}:
	default:
	}
}

func (p *pump) next() tea.Msg {
	select {
	case <-p.dirty:
	case <-p.done:
	}
	if wait := time.Until(p.last.Add(streamInterval)); wait > 0 {
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-p.done:
			timer.Stop()
		}
	}
	p.last = time.Now()
	finished := false
	select {
	case <-p.done:
		finished = true
	default:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.panick != nil {
		panic(fmt.Sprintf("stream of %s: %v", p.view, p.panick))
	}
	a := Addressed{View: p.view, Gen: p.gen, slot: p.slot, batch: p.events}
	p.events = nil
	if finished {
		a.Msg = p.result
	} else {
		a.next = p.next
	}
	return a
}

// After delivers msg after d, or nothing if ctx ends first.
func After(ctx context.Context, d time.Duration, msg tea.Msg) tea.Cmd {
	return func() tea.Msg {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			return msg
		case <-ctx.Done():
			return nil
		}
	}
}
