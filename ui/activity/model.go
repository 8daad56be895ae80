package activity

import (
	"context"
	"time"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// Journal is where the timeline is read from. Entries come newest first.
type Journal interface {
	Activity(ctx context.Context, f model.ActivityFilter) ([]model.Activity, error)
}

// Deps is what the tab needs.
type Deps struct {
	Ctx     context.Context
	Now     func() time.Time
	Theme   *kit.Theme
	Journal Journal
	// Requests is the local emulator's own journal; nil where there is none.
	Requests Requests
}

// Model is the tab. See kit.View.
type Model struct {
	deps   Deps
	win    window
	table  widget.Table
	load   kit.Slot
	walk   kit.Slot
	filter filter
	strip  strip
	// loaded says that the first page came; problem is why it did not.
	loaded  bool
	problem string
	loading bool
	drawn   kit.Regions
	session kit.Session
	seen    seen
	focused bool // the tab is the active one: somebody may look
}

// filter is what narrows the timeline, and the field it is typed into.
type filter struct {
	text    string // applied
	parsed  model.ActivityFilter
	input   textinput.Model
	open    bool
	problem string
}

// strip is the line of rates, worked out when the window changes.
type strip struct {
	counts map[model.Class]int
	total  int
}

// New makes the tab. Nothing is read before Init.
func New(d Deps) *Model {
	m := &Model{deps: d, seen: newSeen()}
	m.table.Columns = []widget.Column{
		{Title: "TIME", Width: 8},
		{Title: "KIND", Width: 5, Priority: 5},
		{Title: "CLASS", Width: 19},
		{Title: "ZONE", Width: 16, Priority: 1},
		{Title: "VIA", Width: 6, Priority: 6},
		{Title: "KEY", Width: 12, Priority: 7},
		{Title: "STATUS", Width: 6, Right: true, Priority: 4},
		{Title: "TOOK", Width: 8, Right: true, Priority: 3},
		{Title: "WHAT", Width: 26, Flex: true},
	}
	m.table.Empty = "Nothing has happened yet. A fetch, a proxy test, a job or a key event will be listed here."
	m.filter.input = textinput.New()
	m.filter.input.Prompt = "/ "
	m.filter.input.Placeholder = "words class:captcha zone:x key:k kind:fetch since:2h"
	return m
}

// Title is the tab's word.
func (m *Model) Title() string { return "Activity" }

// Init loads the first page.
func (m *Model) Init() tea.Cmd { return m.reload() }

// Focus reads the newest page again when the operator comes to the tab and
// stands at the top; further down the rows are left where they are.
func (m *Model) Focus() tea.Cmd {
	m.focused = true
	if m.seen.shown {
		return m.watch()
	}
	if m.loaded && m.table.Cursor() > 0 {
		return nil
	}
	return m.reload()
}

// Blur stops following the emulator: nobody looks.
func (m *Model) Blur() {
	m.focused = false
	m.seen.tail.Drop()
}

// CapturingText reports whether the filter is being typed.
func (m *Model) CapturingText() bool { return m.filter.open }

// Running is 1 while the way to the oldest entry is walked: a load that takes
// its time and is worth a sign in the status line.
func (m *Model) Running() int {
	if m.walk.Running() {
		return 1
	}
	return 0
}
