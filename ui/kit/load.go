package kit

import (
	"context"
	"io"

	tea "charm.land/bubbletea/v2"
)

// Place is where a result goes: a tab, by its ID, an overlay, by InOverlay, or Root.
type Place interface {
	view() ViewID
	wrap(msg tea.Msg) tea.Msg
}

// Root is the place of results that are taken whatever is on the screen by then.
const Root ViewID = ""

func (v ViewID) view() ViewID             { return v }
func (v ViewID) wrap(msg tea.Msg) tea.Msg { return msg }

// InOverlay is the place of an overlay's results. They are dropped once it has been closed.
func InOverlay(o Overlay) Place { return inOverlay{o} }

type inOverlay struct{ overlay Overlay }

func (inOverlay) view() ViewID               { return "" }
func (o inOverlay) wrap(msg tea.Msg) tea.Msg { return ForOverlay{Overlay: o.overlay, Msg: msg} }

// Loaded is a result on its way to the view that asked for it. Serve takes it.
type Loaded struct {
	deliver func() tea.Cmd
	result  any
}

// Deliver gives the result to the function that waits for it.
func (l Loaded) Deliver() tea.Cmd { return l.deliver() }

// Call is a message that runs f on the program's goroutine, for the view at a place: for what comes back from
// an editor, or from a timer.
func Call(at Place, f func() tea.Cmd) tea.Msg {
	return Addressed{View: at.view(), Msg: at.wrap(Loaded{deliver: f})}
}

// Close closes a result that no view will see, if it holds something open.
func (l Loaded) Close() error {
	if c, ok := l.result.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// Serve gives a message to a view: a result to the function that waits for it, anything else to
// Update. The root calls it, and tests that play the root.
func Serve(v interface{ Update(tea.Msg) tea.Cmd }, msg tea.Msg) tea.Cmd {
	cmd, after := tea.Cmd(nil), tea.Cmd(nil)
	if l, ok := msg.(Loaded); ok {
		cmd = l.Deliver()
	} else {
		cmd = v.Update(msg)
	}
	if a, ok := v.(finisher); ok {
		after = a.AfterMsg()
	}
	return tea.Batch(cmd, after)
}

// Load runs f in a command with a context of the slot, and then takes its result on the program's
// goroutine, unless a newer load was started. f must not read what the view may change meanwhile: it
// gets copies. Call Load from Update: it starts the slot's generation at once.
func Load[T any](at Place, s *Slot, parent context.Context, f func(context.Context) (T, error), then func(T, error) tea.Cmd) tea.Cmd { //nolint:revive // context-as-argument: the address comes first, as in every call of this kind
	ctx, gen := s.Start(parent)
	return func() tea.Msg {
		result, err := f(ctx)
		msg := Loaded{deliver: func() tea.Cmd { return then(result, err) }, result: result}
		return Addressed{View: at.view(), Gen: gen, Msg: at.wrap(msg), slot: s}
	}
}

// Follow is Load for work that reports as it goes. What f emits is given to each in order, at most 20 times per
// second, and f's result to then at the end. emit may be called from any goroutine until f has returned.
func Follow[E, T any](at Place, s *Slot, parent context.Context, f func(ctx context.Context, emit func(E)) (T, error), each func(E) tea.Cmd, then func(T, error) tea.Cmd) tea.Cmd { //nolint:revive // context-as-argument: as in Load
	return stream(at.view(), s, parent, func(ctx context.Context, emit func(tea.Msg)) tea.Msg {
		result, err := f(ctx, func(e E) {
			emit(at.wrap(Loaded{deliver: func() tea.Cmd { return each(e) }}))
		})
		return at.wrap(Loaded{deliver: func() tea.Cmd { return then(result, err) }, result: result})
	})
}
