package history

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service/history"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// Update handles one message; see kit.View.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case kit.SessionChanged:
		return m.sessionChanged(msg.Session)
	case kit.Tick:
		return tea.Batch(m.retry(), m.peek(), m.watchHead())
	case toggleLog:
		return m.toggleLog()
	case openRequest:
		return m.openRequest()
	case copyRequest:
		return m.copyRequest()
	case refresh:
		m.table.SetCursor(0)
		return m.reload()
	case openRow:
		return m.open()
	case lastRow:
		return m.last()
	case copyMenu:
		return m.copyMenu()
	case writeHAR:
		return m.writeHAR()
	case otherProfiles:
		m.filter.every = !m.filter.every
		m.filter.before = m.filter.every
		return m.narrow()
	case widget.FilterIntent, tea.KeyPressMsg, tea.PasteMsg:
		if cmd, ours := m.updateFilter(msg); ours {
			return cmd
		}
	}
	table := &m.table
	if m.log.on {
		table = &m.log.table
	}
	switch click, ok := msg.(tea.MouseClickMsg); {
	case ok:
		if hit, drawn := m.drawn.At(click.X, click.Y); !drawn || !table.Click(hit.Line) {
			return nil
		}
	case !table.Update(msg):
		return nil
	}
	if m.log.on {
		return nil
	}
	return m.loadMore()
}

func (m *Model) pageLoaded(n int, rows []model.HistoryEntry, anew bool, err error) tea.Cmd {
	if err != nil {
		if canceled(err) {
			return nil
		}
		m.problem = "The journal could not be read: " + err.Error()
		if !m.loaded {
			return nil // the page itself says so
		}
		return kit.Fail(m.problem)
	}
	m.loaded, m.problem = true, ""
	if anew {
		m.win = window{}
	}
	m.win.put(n, rows)
	if n == 0 {
		m.news.at = m.deps.Now()
	}
	m.changed()
	if anew && m.walk.Running() { // it began in the window before
		return m.toEnd()
	}
	return m.loadMore()
}

// tailFound ends a walk to the oldest entry.
func (m *Model) tailFound(starts []int64, rows []model.HistoryEntry, err error) tea.Cmd {
	if err != nil {
		if canceled(err) {
			return nil
		}
		return kit.Fail("The oldest entries could not be read: " + err.Error())
	}
	m.win.tail(starts, rows)
	m.changed()
	m.table.SetCursor(m.win.n - 1)
	return m.loadMore()
}

// changed updates the table and the strip from the window.
func (m *Model) changed() {
	m.table.SetRows(m.win.n, m.row)
	m.strip.counts, m.strip.total = m.win.rates()
	m.strip.spend = m.win.spend()
}

func (m *Model) last() tea.Cmd {
	if !m.loaded || m.win.n == 0 {
		return nil
	}
	if m.win.end {
		m.table.SetCursor(m.win.n - 1)
		return m.loadMore()
	}
	return m.toEnd()
}

func (m *Model) open() tea.Cmd {
	a, ok := m.current()
	if !ok {
		return nil
	}
	return kit.OpenEntry(a)
}

func (m *Model) copyMenu() tea.Cmd {
	a, ok := m.current()
	if !ok {
		return nil
	}
	items := []widget.MenuItem{widget.CopyItem("l", "line", m.lineText(a))}
	if a.URL != "" {
		items = append(items, widget.CopyItem("u", "URL", a.URL))
	}
	if a.Ref != "" {
		items = append(items, widget.CopyItem("i", "identifier", a.Ref))
	}
	return widget.OpenMenu(m.deps.Theme, "Copy", kit.History, items)
}

// terms are examples of what a filter knows.
var terms = []string{"class:captcha", "zone:x", "kind:fetch", "since:2h", "profile:all", "key:x", "by:agent", "by:rotation"}

func (m *Model) parse(text string) (model.HistoryFilter, error) {
	return history.ParseFilter(text, m.session.ProfileName, m.deps.Now())
}

// updateFilter passes a message to the filter. ours is false where it is not the filter's.
func (m *Model) updateFilter(msg tea.Msg) (cmd tea.Cmd, ours bool) {
	was, every := m.filter.Text(), m.filter.every
	cmd, event := m.filter.Update(m.deps.Theme, msg, terms, func(text string) error { _, err := m.parse(text); return err })
	switch {
	case event == widget.FilterChanged && m.filter.Typing():
		m.filter.every = every && !strings.Contains(m.filter.Text(), "profile") // what is said last counts
	case event == widget.FilterChanged:
		m.filter.every = m.filter.before
	case event == widget.FilterOpened, !m.filter.Typing():
		m.filter.before = every
	}
	if m.filter.Text() != was || m.filter.every != every {
		cmd = tea.Batch(cmd, m.narrow())
	}
	return cmd, event != widget.FilterNothing
}

// narrow shows what passes the filter.
func (m *Model) narrow() tea.Cmd {
	m.filter.parsed, _ = m.parse(m.filter.Text()) // it was a filter when it was typed
	if m.filter.every {
		m.filter.parsed.Profile = ""
	}
	m.table.Columns = m.columns()
	m.table.Empty = "Nothing matches this filter. esc shows all."
	if m.filter.Text() == "" {
		m.table.Empty = m.emptyJournal()
	}
	m.table.SetCursor(0)
	return m.reload()
}
