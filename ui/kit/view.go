package kit

import (
	tea "charm.land/bubbletea/v2"
)

// ViewID names a view for addressing.
type ViewID string

// The tabs, in the order of their number keys.
const (
	Sandbox  ViewID = "sandbox"
	Jobs     ViewID = "jobs"
	Proxy    ViewID = "proxy"
	Keys     ViewID = "keys"
	Activity ViewID = "activity"
)

// Width thresholds, in cells.
const (
	// MinWidth and MinHeight are the smallest screen the console draws.
	MinWidth  = 60
	MinHeight = 16
	// StackBelow is the width below which panes stack vertically.
	StackBelow = 100
)

// View is a tab, an overlay, or any part that owns keys. It is mutated in
// place, always on the program's own goroutine.
type View interface {
	// Init returns what has to run once when the program starts.
	Init() tea.Cmd
	// Update takes one message: an intent of a binding, the result of a command
	// that was addressed to the view, a key press that matched no binding, a
	// mouse message with coordinates relative to the view, Resized or
	// SessionChanged. It must not block.
	Update(msg tea.Msg) tea.Cmd
	// Render draws exactly h lines of at most w cells. It does no I/O and
	// changes nothing but caches of what it drew.
	Render(w, h int) string
	// Title is the view's word in the tab line or the overlay's frame.
	Title() string
	// Bindings are the keys that mean something now, the most important first:
	// the footer shows the first ones.
	Bindings() []Binding
}

// Capturer is implemented by views that take typed text: while it reports true,
// only bindings marked WhileTyping match, and every other key press goes to
// Update as it is.
type Capturer interface{ CapturingText() bool }

// StatusView adds a short text to the right side of the status line.
type StatusView interface{ Status() string }

// Worker reports how many pieces of work are in flight in the view. The status
// line shows the sum, and quitting asks first while it is not zero.
type Worker interface{ Running() int }

// Focuser is told when its tab becomes the active one and when it stops being it.
type Focuser interface {
	Focus() tea.Cmd
	Blur()
}

// Overlay is a view drawn in a frame over the active tab. The topmost one gets
// every key.
type Overlay interface {
	View
	// Size is the overlay's wish for its inner size, given the screen's; the root
	// caps it.
	Size(w, h int) (ow, oh int)
}

// Guarded is implemented by overlays that ignore keys for a moment after they
// appeared, so that they cannot swallow one meant for what was there before.
type Guarded interface{ Guarded() bool }
