package history

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// Journal is the source of the timeline. Entries come newest first.
type Journal interface {
	Entries(ctx context.Context, f model.HistoryFilter) ([]model.HistoryEntry, error)
	// FilteredHAR writes the newest fetches that a filter lets pass to a file, and names it. n is how many there were:
	// without one there is no file.
	FilteredHAR(ctx context.Context, f model.HistoryFilter) (file string, n int, err error)
}

// Deps are the parts the tab works with.
type Deps struct {
	Ctx     context.Context
	Now     func() time.Time
	Theme   *kit.Theme
	Journal Journal
	// Requests is the local emulator's journal; nil with a real account.
	Requests Requests
}

// Model is the tab. See kit.View.
type Model struct {
	deps   Deps
	win    window
	table  widget.Table
	load   kit.Slot
	walk   kit.Slot
	har    kit.Slot
	filter filter
	strip  strip
	// loaded is set once the first page has arrived; problem says why it has not.
	loaded  bool
	problem string
	drawn   kit.Regions
	session kit.Session
	log     requestLog
	news    news
	focused bool // the tab is the active one
}

// filter narrows the timeline.
type filter struct {
	widget.ListFilter
	parsed model.HistoryFilter
	every  bool // the entries are those of every profile, whichever the text names
	before bool // every, as esc brings it back
}

// strip is the line of rates, recomputed when the window changes.
type strip struct {
	counts map[model.Class]int
	total  int
	spend  map[string]model.Spend // of the fetches, by profile
}

// New makes the tab. Nothing is read before Init.
func New(d Deps) *Model {
	m := &Model{deps: d, log: newRequestLog()}
	m.table.Columns = m.columns()
	m.table.Empty = m.emptyJournal()
	return m
}

// everyProfile reports whether the entries may be of several profiles: then each names its own.
func (m *Model) everyProfile() bool { return m.filter.parsed.Profile == "" }

func (m *Model) columns() []widget.Column {
	out := []widget.Column{
		{Title: "PROFILE", Width: 8},
		{Title: "TIME", Width: 10},
		{Title: "KIND", Width: 10, Priority: 7},
		{Title: "CLASS", Width: 19},
		{Title: "ZONE / KEY", Width: 16, Priority: 1},
		{Title: "VIA", Width: 6, Priority: 2},
		{Title: "KEY", Width: 12, Priority: 8},
		{Title: "STATUS", Width: 6, Right: true, Priority: 4},
		{Title: "TOOK", Width: 8, Right: true, Priority: 5},
		{Title: "COST", Width: 8, Right: true, Priority: 6},
		{Title: "WHAT", Width: 20, Flex: true},
	}
	if !m.everyProfile() {
		out = out[1:]
	}
	return out
}

// Title is the tab's name.
func (m *Model) Title() string { return "History" }

// Init waits for the session, whose profile's entries are then loaded.
func (m *Model) Init() tea.Cmd { return nil }

// Focus reloads the newest page when the cursor is at the top. Further down the
// rows stay where they are.
func (m *Model) Focus() tea.Cmd {
	m.focused = true
	if m.log.on {
		return m.watch()
	}
	if m.loaded && m.table.Cursor() > 0 {
		return m.peek()
	}
	return m.reload()
}

// Blur stops following the emulator while the tab is hidden.
func (m *Model) Blur() {
	m.focused = false
	m.log.tail.Drop()
}

// emptyJournal is shown while the journal has no entries.
func (m *Model) emptyJournal() string {
	return "Nothing has happened yet. A fetch, a proxy test, a job or a key event will be listed here. " + m.deps.Theme.Key("history.profiles") + " shows what other profiles did."
}

// CapturingText reports whether the filter is being edited.
func (m *Model) CapturingText() bool { return m.filter.Typing() }

// Running is 1 during the walk to the oldest entry, which may take long enough
// to be worth showing in the status line.
func (m *Model) Running() int { return kit.Running(&m.walk) }
