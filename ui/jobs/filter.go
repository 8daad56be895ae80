package jobs

import (
	"time"

	tea "charm.land/bubbletea/v2"

	service "zonedeck/service/jobs"
	"zonedeck/service/query"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// filterMsg handles what is the filter's.
func (m *Model) filterMsg(msg tea.Msg) (cmd tea.Cmd, handled bool) {
	if m.preview.open {
		return nil, false
	}
	cmd, event := m.ledger.filter.Update(m.deps.Theme, msg, service.Fields(m.nowOf).Examples(), func(s string) error {
		_, err := query.Parse(s, service.Fields(m.nowOf))
		return err
	})
	switch event {
	case widget.FilterOpened:
		m.panes.At = paneList
	case widget.FilterChanged:
		m.filtered()
	}
	return cmd, event != widget.FilterNothing
}

// filtered shows the jobs that match.
func (m *Model) filtered() {
	before, had := m.ledger.table.CursorKey()
	m.fill()
	m.ledger.table.ForgetNews()
	if after, has := m.ledger.table.CursorKey(); !had || !has || before != after {
		m.ledger.table.SetCursor(0)
		m.detail = widget.Scroll{}
	}
}

// filterBindings are the filter's keys.
func (m *Model) filterBindings() []kit.Binding {
	return m.ledger.filter.Bindings("jobs", service.Fields(m.nowOf).Examples(), m.panes.At == paneList && !m.panes.Zoomed)
}

// nowOf is the time by which the jobs of a profile are dated.
func (m *Model) nowOf(profile string) time.Time {
	if s := m.session; s.Local && profile != "" && profile != s.ProfileName {
		return m.deps.Clock.Now().Add(-s.Ahead)
	}
	return m.deps.Clock.Now()
}
