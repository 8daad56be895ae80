package kit

import (
	tea "charm.land/bubbletea/v2"
)

// ViewID names a view for addressing.
type ViewID string

// The tabs, in the order of their number keys.
const (
	Sandbox ViewID = "sandbox"
	Jobs    ViewID = "jobs"
	Proxy   ViewID = "proxy"
	Keys    ViewID = "keys"
	History ViewID = "activity"
)

// Size thresholds, in cells.
const (
	// MinWidth and MinHeight are the smallest screen the console draws.
	MinWidth  = 60
	MinHeight = 16
	// StackBelow is the width below which panes stack vertically.
	StackBelow = 100
)

// View is a tab, an overlay, or any part with keys. It is mutated in place, always on
// the program's goroutine.
type View interface {
	// Init returns the command to run when the program starts.
	Init() tea.Cmd
	// Update handles one message: the intent of a binding, a message of another view, a key
	// press without a binding, a mouse message with coordinates relative to the view, Resized or
	// SessionChanged. It must not block. Results of loads do not come here; see Load.
	Update(msg tea.Msg) tea.Cmd
	// Render draws exactly h lines of at most w cells. It does no I/O and changes
	// nothing but caches of the drawing.
	Render(w, h int) string
	// Title is the view's name in the tab line or the overlay's frame.
	Title() string
	// Bindings are the keys that work now, the most important first: the footer shows
	// the first ones.
	Bindings() []Binding
}

// Capturer is implemented by views that accept typed text. While it reports true, only
// bindings marked WhileTyping match; every other key press goes to Update.
type Capturer interface{ CapturingText() bool }

// StatusView adds a short text to the right side of the status line.
type StatusView interface{ Status() string }

// Badged is implemented by views whose tab shows on every screen what waits for the operator, in the
// ink of the worst.
type Badged interface{ Badges() ([]Badge, Ink) }

// Badge is a number of things that wait, and the word for them: "3 due". N is -1 if it is not known. Before is how many of
// them the badges before it have counted: a number without words has each thing once.
type Badge struct {
	N, Before int
	Word      string
}

// Worker reports how much work the view has in flight. The status line shows the sum,
// and quitting asks first if it is not zero.
type Worker interface{ Running() int }

// Resumer says what becomes of work in flight that can be gone on with after quitting; "" for none.
type Resumer interface{ Resumable() string }

// finisher has work after each message: a layout to compute again, a draft to keep.
type finisher interface{ AfterMsg() tea.Cmd }

// Focuser is notified when its tab becomes active.
type Focuser interface{ Focus() tea.Cmd }

// Blurrer is notified when its tab stops being active.
type Blurrer interface{ Blur() }

// Overlay is a view drawn in a frame over the active tab. The topmost one gets every
// key.
type Overlay interface {
	View
	// Size is the preferred inner size for a screen of w by h; the root caps it.
	Size(w, h int) (ow, oh int)
}

// Scroller is a list, a text or a form of which there may be more than is drawn: how many lines above, and how many below.
type Scroller interface{ Hidden() (above, below int) }

// Guarded is implemented by overlays that ignore keys for a moment after they appear, so that they do not react to a
// key meant for the view below: a question ignores all, a form those that submit.
type Guarded interface{ Guarded(key string) bool }
