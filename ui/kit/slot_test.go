package kit_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
)

// handle is a result that holds something open.
type handle struct{ closed *atomic.Int32 }

func (h handle) Close() error {
	h.closed.Add(1)
	return nil
}

// What a stream gives at its end is closed, also if it was dropped while it still gave something else.
func TestTheEndOfADroppedStreamIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var slot kit.Slot
		var closed atomic.Int32
		end := make(chan struct{})
		cmd := kit.Follow(kit.Jobs, &slot, t.Context(), func(_ context.Context, emit func(string)) (handle, error) {
			emit("a part")
			<-end
			return handle{&closed}, nil
		}, func(string) tea.Cmd { return nil }, func(handle, error) tea.Cmd { return nil })
		first := cmd()
		slot.Drop()
		for range 2 {
			a, ok := first.(kit.Addressed)
			if !ok {
				t.Fatalf("%T", first)
			}
			seen, more := a.Deliver()
			if len(seen) > 0 {
				t.Errorf("the view gets %v", seen)
			}
			if more == nil {
				break
			}
			if closed.Load() > 0 {
				t.Error("it was closed before its end")
			}
			close(end)
			first = more()
		}
		if closed.Load() != 1 || slot.Running() {
			t.Errorf("closed %d times, running %t", closed.Load(), slot.Running())
		}
	})
}
