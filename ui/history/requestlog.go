package history

import (
	"context"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/service/local"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// maxRequests is how many of the emulator's requests are kept in memory.
const maxRequests = 1000

// Requests is the local emulator's journal: what clients really sent.
type Requests interface {
	// Newest returns the newest requests, oldest first.
	Newest(ctx context.Context, limit int) (local.Page, error)
	// Follow calls each for every request that ends after the one with number since,
	// until ctx ends or the emulator stops answering. It always returns an error.
	Follow(ctx context.Context, since uint64, each func(r local.Request, lost uint64) error) error
}

// requestLog is the emulator's journal. While it is shown it replaces the timeline.
type requestLog struct {
	on    bool
	rows  []local.Request // oldest first; the table shows the newest first
	table widget.Table
	tail  kit.Slot
	// loaded is set once the earlier requests have arrived; problem says why they have not.
	loaded  bool
	problem string
	dropped uint64 // requests that arrived too fast to be read
}

// arrival is what the tail delivers: the earlier requests, or a new one.
type arrival struct {
	earlier []local.Request
	request *local.Request
	dropped uint64 // requests before it that arrived too fast to be read
}

func newRequestLog() requestLog {
	var s requestLog
	s.table.Columns = []widget.Column{
		{Title: "TIME", Width: 10},
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

// logUnavailable returns the reason why the emulator's journal cannot be shown, or "".
func (m *Model) logUnavailable() string {
	switch {
	case m.deps.Requests == nil || !m.session.Local:
		return "only the local emulator keeps what it saw"
	case !m.session.Ready:
		return "the emulator is still starting"
	}
	return ""
}

// toggleLog switches between the timeline and the emulator's journal.
func (m *Model) toggleLog() tea.Cmd {
	if m.log.on {
		m.log.on = false
		m.log.tail.Drop()
		return m.reload()
	}
	if m.logUnavailable() != "" {
		return nil
	}
	m.log.on = true
	m.log.table.SetCursor(0)
	return m.watch()
}

// watch reads the earlier requests and then follows new ones.
func (m *Model) watch() tea.Cmd {
	source := m.deps.Requests
	return kit.Follow(kit.History, &m.log.tail, m.deps.Ctx, func(ctx context.Context, emit func(arrival)) (struct{}, error) {
		page, err := source.Newest(ctx, maxRequests)
		if err != nil {
			return struct{}{}, err
		}
		emit(arrival{earlier: page.Requests})
		return struct{}{}, source.Follow(ctx, page.Last, func(r local.Request, lost uint64) error {
			emit(arrival{request: &r, dropped: lost})
			return nil
		})
	}, m.log.arrived, func(_ struct{}, err error) tea.Cmd {
		if !canceled(err) {
			m.log.problem = err.Error()
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
	var entries tea.Cmd
	if s.ProfileName != before.ProfileName || !m.loaded && !m.load.Running() {
		entries = m.narrow()
	}
	return tea.Batch(entries, m.logOf(before))
}

// logOf follows the emulator of the session, which was another before.
func (m *Model) logOf(before kit.Session) tea.Cmd {
	s := m.session
	switch {
	case !m.log.on:
		return nil
	case !s.Local:
		return m.toggleLog()
	case s.Ready && s.Profile.BaseURL != before.Profile.BaseURL:
		m.log.rows, m.log.loaded = nil, false
		m.log.fill()
		if m.focused {
			return m.watch()
		}
	}
	return nil
}

func (s *requestLog) arrived(a arrival) tea.Cmd {
	if a.request == nil {
		s.rows, s.loaded, s.problem, s.dropped = a.earlier, true, "", 0
		s.fill()
		return nil
	}
	s.add(*a.request)
	s.dropped += a.dropped
	return nil
}

// retry restarts a tail that has ended; it is called once a second.
func (m *Model) retry() tea.Cmd {
	if !m.log.on || m.log.tail.Running() || m.logUnavailable() != "" {
		return nil
	}
	return m.watch()
}

// add puts a request on top. A cursor further down stays on its row.
func (s *requestLog) add(r local.Request) {
	s.rows = append(s.rows, r)
	if len(s.rows) >= 2*maxRequests { // copying once per thousand requests costs nothing
		s.rows = slices.Clone(s.rows[len(s.rows)-maxRequests:])
	}
	at := s.table.Cursor()
	s.fill()
	if at > 0 {
		s.table.SetCursor(at + 1)
	}
}

func (s *requestLog) fill() { s.table.SetRows(min(len(s.rows), maxRequests), nil) }

// at returns the i-th row, newest first.
func (s *requestLog) at(i int) (local.Request, bool) {
	if i < 0 || i >= s.table.Len() {
		return local.Request{}, false
	}
	return s.rows[len(s.rows)-1-i], true
}

func (m *Model) openRequest() tea.Cmd {
	r, ok := m.log.at(m.log.table.Cursor())
	if !ok {
		return nil
	}
	return kit.OpenOverlay(&widget.Page{
		Heading: "Request " + strconv.FormatUint(r.Seq, 10), Width: 100, Lines: func(w int) []string { return m.requestLines(r, w) },
		Closing: kit.Binding{Name: "page.close", Keys: []string{"esc", "enter", "q"}, Label: "close", Help: "Go back to the list.", Intent: kit.Close{}},
	})
}

func (m *Model) copyRequest() tea.Cmd {
	r, ok := m.log.at(m.log.table.Cursor())
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
	add("l", "line", m.requestFacts(r))
	return widget.OpenMenu(m.deps.Theme, "Copy", kit.History, items)
}
