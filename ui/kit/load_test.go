package kit_test

import (
	"context"
	"testing"

	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
)

// layout is a view that counts the messages it worked after.
type layout struct {
	kit.View
	got   []tea.Msg
	after int
}

func (l *layout) Update(msg tea.Msg) tea.Cmd {
	l.got = append(l.got, msg)
	return nil
}

func (l *layout) AfterMsg() tea.Cmd {
	l.after++
	return nil
}

func (l *layout) Size(w, h int) (ow, oh int) { return w, h }

func TestAResultIsTakenByWhatWaitsForItAndTheViewWorksAfterIt(t *testing.T) {
	var slot kit.Slot
	v, taken := &layout{}, 0
	cmd := kit.Load(kit.Jobs, &slot, t.Context(), func(context.Context) (int, error) { return 7, nil },
		func(n int, _ error) tea.Cmd {
			taken = n
			return kit.Info("done")
		})
	a, ok := cmd().(kit.Addressed)
	if !ok || a.View != kit.Jobs {
		t.Fatalf("it comes as %#v", a)
	}
	msgs, more := a.Deliver()
	if len(msgs) != 1 || more != nil || slot.Running() {
		t.Fatalf("%d messages, running %t", len(msgs), slot.Running())
	}
	next := kit.Serve(v, msgs[0])
	if taken != 7 || len(v.got) != 0 || v.after != 1 || next == nil || next() != (kit.Toast{Text: "done"}) {
		t.Errorf("taken %d, the view got %v and worked %d times", taken, v.got, v.after)
	}
	if kit.Serve(v, "a key"); len(v.got) != 1 || v.after != 2 {
		t.Errorf("the view got %v and worked %d times", v.got, v.after)
	}
}

func TestAResultOfAnOverlayIsForThatOverlay(t *testing.T) {
	var slot kit.Slot
	o := &layout{}
	cmd := kit.Load(kit.InOverlay(o), &slot, t.Context(), func(context.Context) (int, error) { return 7, nil },
		func(int, error) tea.Cmd { return nil })
	a, ok := cmd().(kit.Addressed)
	if !ok || a.View != "" {
		t.Fatalf("it comes as %#v", a)
	}
	msgs, _ := a.Deliver()
	if f, ok := msgs[0].(kit.ForOverlay); !ok || f.Overlay != o {
		t.Errorf("it is delivered as %#v", msgs[0])
	}
}
