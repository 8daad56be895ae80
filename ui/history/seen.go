package history

import (
	"context"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/service/rehearsal"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// maxSeen is how many of the emulator's requests are kept in memory.
const maxSeen = 1000

// Requests is the local emulator's journal: what clients really sent.
type Requests interface {
	// Newest returns the newest requests, oldest first.
	Newest(ctx context.Context, limit int) (rehearsal.Page, error)
	// Follow calls each for every request that ends after the one with number since,
	// until ctx ends or the emulator stops answering. It always returns an error.
	Follow(ctx context.Context, since uint64, each func(r rehearsal.Request, lost uint64) error) error
}

// seen is the emulator's journal. While it is shown it replaces the timeline.
type seen struct {
	shown bool
	rows  []rehearsal.Request // oldest first; the table shows the newest first
	table widget.Table
	tail  kit.Slot
	// loaded is set once the earlier requests have arrived; problem says why they have not.
	loaded  bool
	problem string
	lost    uint64 // requests that arrived too fast to be read
}

// arrival is what the tail delivers: the earlier requests, or a new one.
type arrival struct {
	earlier []rehearsal.Request
	request *rehearsal.Request
	lost    uint64 // requests before it that arrived too fast to be read
}

func newSeen() seen {
	var s seen
	s.table.Columns = []widget.Column{
		{Title: "TIME", Width: 8},
		{Title: "POINT", Width: 6, Priority: 3},
		{Title: "METHOD", Width: 7},
		{Title: "ANSWER", Width: 9},
		{Title: "ZONE", Width: 16, Priority: 1},
		{Title: "KEY", Width: 12, Priority: 4},
		{Title: "FAULT", Width: 10, Priority: 2},
		{Title: "ADDRESS", Width: 24, Flex: true},
	}
	return s
}

// whyNotSeen returns the reason why the emulator's journal cannot be shown, or "".
func (m *Model) whyNotSeen() string {
	switch {
	case m.deps.Requests == nil || !m.session.Local:
		return "only the local emulator keeps what it saw"
	case !m.session.Ready:
		return "the emulator is still starting"
	}
	return ""
}

// toggleSeen switches between the timeline and the emulator's journal.
func (m *Model) toggleSeen() tea.Cmd {
	if m.seen.shown {
		m.seen.shown = false
		m.seen.tail.Drop()
		return m.reload()
	}
	if m.whyNotSeen() != "" {
		return nil
	}
	m.seen.shown = true
	m.seen.table.SetCursor(0)
	return m.watch()
}

// watch reads the earlier requests and then follows new ones.
func (m *Model) watch() tea.Cmd {
	source := m.deps.Requests
	return kit.Follow(kit.Activity, &m.seen.tail, m.deps.Ctx, func(ctx context.Context, emit func(arrival)) (struct{}, error) {
		page, err := source.Newest(ctx, maxSeen)
		if err != nil {
			return struct{}{}, err
		}
		emit(arrival{earlier: page.Requests})
		return struct{}{}, source.Follow(ctx, page.Last, func(r rehearsal.Request, lost uint64) error {
			emit(arrival{request: &r, lost: lost})
			return nil
		})
	}, m.seen.arrived, func(_ struct{}, err error) tea.Cmd {
		if !canceled(err) {
			m.seen.problem = err.Error()
		}
		return nil
	})
}

// sessionChanged leaves the journal view when the session has no emulator, and
// reloads it when the emulator is a different one: at once, or when the tab gets
// the focus again.
func (m *Model) sessionChanged(s kit.Session) tea.Cmd {
	before := m.session
	m.session = s
	switch {
	case !m.seen.shown:
		return nil
	case !s.Local:
		return m.toggleSeen()
	case s.Ready && s.Profile.BaseURL != before.Profile.BaseURL:
		m.seen.rows, m.seen.loaded = nil, false
		m.seen.fill()
		if m.focused {
			return m.watch()
		}
	}
	return nil
}

func (s *seen) arrived(a arrival) tea.Cmd {
	if a.request == nil {
		s.rows, s.loaded, s.problem, s.lost = a.earlier, true, "", 0
		s.fill()
		return nil
	}
	s.add(*a.request)
	s.lost += a.lost
	return nil
}

// retry restarts a tail that has ended; it is called once a second.
func (m *Model) retry() tea.Cmd {
	if !m.seen.shown || m.seen.tail.Running() || m.whyNotSeen() != "" {
		return nil
	}
	return m.watch()
}

// add puts a request on top. A cursor further down stays on its row.
func (s *seen) add(r rehearsal.Request) {
	s.rows = append(s.rows, r)
	if len(s.rows) >= 2*maxSeen { // copying once per thousand requests costs nothing
		s.rows = slices.Clone(s.rows[len(s.rows)-maxSeen:])
	}
	at := s.table.Cursor()
	s.fill()
	if at > 0 {
		s.table.SetCursor(at + 1)
	}
}

func (s *seen) fill() { s.table.SetRows(min(len(s.rows), maxSeen), nil) }

// at returns the i-th row, newest first.
func (s *seen) at(i int) (rehearsal.Request, bool) {
	if i < 0 || i >= s.table.Len() {
		return rehearsal.Request{}, false
	}
	return s.rows[len(s.rows)-1-i], true
}

func (m *Model) openSeen() tea.Cmd {
	r, ok := m.seen.at(m.seen.table.Cursor())
	if !ok {
		return nil
	}
	return kit.OpenOverlay(&widget.Page{
		Heading: "Request " + strconv.FormatUint(r.Seq, 10), Width: 100, Lines: func(w int) []string { return m.requestLines(r, w) },
		Closing: kit.Binding{Keys: []string{"esc", "enter", "q"}, Label: "close", Help: "Go back to the list.", Intent: kit.Close{}},
	})
}

func (m *Model) copySeen() tea.Cmd {
	r, ok := m.seen.at(m.seen.table.Cursor())
	if !ok {
		return nil
	}
	var items []widget.MenuItem
	add := func(key, what, words string) {
		if words != "" {
			items = append(items, widget.CopyItem(key, what, words))
		}
	}
	add("u", "address", r.URL)
	add("t", "target", r.Target)
	add("h", "headers", strings.Join(headerLines(r), "\n"))
	add("b", "body", r.Body)
	add("l", "line", m.seenFacts(r))
	return widget.OpenMenu(m.deps.Theme, "Copy", kit.Activity, items)
}
