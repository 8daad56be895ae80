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
	case kit.Resized:
		m.width = msg.W
		m.filter.input.SetWidth(max(m.width-8, 10))
		return nil
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
		return m.closeFilter(m.setFilter(m.filter.text))
	case openFilter, applyFilter, closeFilter, clearFilter:
		return m.updateFilter(msg)
	case tea.KeyPressMsg, tea.PasteMsg:
		if m.filter.open {
			m.filter.problem = ""
			typing := widget.UpdateInput(&m.filter.input, msg)
			narrowing, _ := m.narrow() // half a word may be no filter yet: enter says what is wrong
			return tea.Batch(typing, narrowing)
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

func (m *Model) updateFilter(msg tea.Msg) tea.Cmd {
	switch msg.(type) {
	case openFilter:
		m.filter.open, m.filter.problem = true, ""
		m.filter.before.text, m.filter.before.every = m.filter.text, m.filter.every
		m.filter.input = widget.NewInput(m.deps.Theme) // the theme may have changed
		m.filter.input.Prompt = "/ "
		m.filter.input.Placeholder = "words class:captcha zone:x kind:fetch since:2h profile:all"
		m.filter.input.SetWidth(max(m.width-8, 10))
		m.filter.input.SetValue(m.filter.text)
		m.filter.input.CursorEnd()
		return m.filter.input.Focus()
	case closeFilter:
		before := m.filter.before
		if m.filter.text == before.text && m.filter.every == before.every {
			return m.closeFilter(nil, nil)
		}
		m.filter.every = before.every
		return m.closeFilter(m.setFilter(before.text))
	case clearFilter:
		return m.closeFilter(m.setFilter(""))
	default:
		return m.closeFilter(m.narrow())
	}
}

// narrow shows what passes the filter as it stands in the field.
func (m *Model) narrow() (tea.Cmd, error) {
	typed := m.filter.input.Value()
	if typed == m.filter.text {
		return nil, nil
	}
	m.filter.every = m.filter.every && !strings.Contains(typed, "profile") // what is said last counts
	return m.setFilter(typed)
}

// closeFilter closes the field. An invalid filter keeps it open and says why.
func (m *Model) closeFilter(cmd tea.Cmd, err error) tea.Cmd {
	if err != nil {
		m.filter.problem = err.Error()
		return nil
	}
	m.filter.open, m.filter.problem = false, ""
	m.filter.input.Blur()
	return cmd
}

// setFilter shows what passes a filter.
func (m *Model) setFilter(text string) (tea.Cmd, error) {
	parsed, err := history.ParseFilter(text, m.session.ProfileName, m.deps.Now())
	if err != nil {
		return nil, err
	}
	if m.filter.every {
		parsed.Profile = ""
	}
	m.filter.text, m.filter.parsed = text, parsed
	m.table.Columns = m.columns()
	m.table.Empty = "Nothing matches this filter. esc clears it."
	if text == "" {
		m.table.Empty = m.emptyJournal()
	}
	m.table.SetCursor(0)
	return m.reload(), nil
}
