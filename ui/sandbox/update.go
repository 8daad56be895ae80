package sandbox

import (
	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/compare"
	"zonedeck/ui/kit"
)

// Update handles one message; see kit.View.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case kit.Resized:
		m.width = msg.W
		m.layOut()
		return nil
	case kit.Tick:
		return m.second(msg)
	case kit.SessionChanged:
		return m.newSession(msg.Session)
	case kit.OpenComparison:
		m.work.load.Drop()
		return m.compare.Load(msg.ID, msg.Profile, m.form.request.Zone.Name)
	case compare.Sent:
		m.form.profile = ""
		return nil
	case compare.Fill:
		return m.fillFrom(msg)
	case kit.OpenFetch:
		return m.reopen(msg.ID, msg.Profile)
	case kit.OpenSaved:
		return m.loadSaved(msg.Name)
	case kit.HistoryGrew:
		return m.loadHistory()
	case kit.OpenURL:
		return m.openURL(msg)
	case kit.OpenRequest:
		d := draftOf(msg.Request)
		if m.foreign(msg.Profile) {
			d.Profile, d.Key = msg.Profile, m.session.Key.Name
		}
		m.setForm(d)
		return nil
	case kit.BatchTemplate:
		return kit.GotoTab(kit.Jobs, kit.NewBatch{Request: m.template()})
	case intent:
		return msg.do(m)
	case compare.Intent:
		return m.compare.Update(msg)
	default:
		if m.compare.Open() {
			return m.compare.Update(msg)
		}
		return m.toPane(msg)
	}
}

// AfterMsg derives what follows from the form, and asks for what it lacks.
func (m *Model) AfterMsg() tea.Cmd {
	m.refresh()
	attends := m.form.form.Attend(m.panes.At == paneForm)
	return tea.Batch(m.compare.Look(), m.wantTools(), m.form.retract(), attends)
}

// second updates how long ago the zones were used, and the states of the keys.
func (m *Model) second(msg kit.Tick) tea.Cmd {
	if !m.form.form.Picking() {
		m.zoneOptions()
		if len(m.session.Keys) <= manyKeys {
			m.offerKeys()
		}
	}
	if v := m.viewer(); v != nil {
		return v.Update(msg)
	}
	return nil
}

// newSession stores a session. If the form holds the old profile's key, it gets the new
// one's.
func (m *Model) newSession(s kit.Session) tea.Cmd {
	if key := m.form.form.Value(string(fieldKey)); key == "" || key == m.session.Key.Name {
		m.form.form.SetValue(string(fieldKey), s.Key.Name)
	}
	other := m.session.ProfileName != s.ProfileName
	m.session = s
	m.compare.SetSession(s)
	if other && !s.Local && s.ProfileName != "" && m.form.untouched() {
		d := realDraft(s)
		m.form.fill(d)
		if d.Zone != "" {
			m.form.form.FocusOn(string(fieldURL), false) // the next field to fill in
		}
	}
	m.zoneOptions()
	cmd := m.offerKeys()
	if !other {
		return cmd
	}
	m.history.loaded, m.history.rows, m.history.recent = false, nil, nil
	m.listHistory()
	return tea.Batch(cmd, m.loadHistory())
}

// toPane passes the other messages (keys, pastes, the mouse, intents of the parts) to the parts.
func (m *Model) toPane(msg tea.Msg) tea.Cmd {
	if before := m.panes.At; m.panes.Update(msg) {
		if m.panes.At != before {
			m.endEditing()
		}
		return nil
	}
	switch msg := msg.(type) {
	case tea.MouseClickMsg:
		return m.click(m.panes.Under(msg.Mouse()))
	case tea.MouseWheelMsg:
		switch hit, ok := m.panes.Under(msg.Mouse()); {
		case ok && hit.Pane == areaZones:
			m.zones.Scroll(msg)
		case ok && hit.Pane > paneForm && hit.Pane < panes:
			return m.scroll(hit.Pane, msg)
		}
		return nil
	case tea.PasteMsg:
		if cmd := m.takePaste(msg); cmd != nil {
			return cmd
		}
	case tea.KeyPressMsg:
	default: // an intent of a part; each part ignores those of the other
		return tea.Batch(m.updateForm(msg), m.result.body.Update(msg))
	}
	if m.panes.At == paneForm {
		return m.updateForm(msg)
	}
	return m.scroll(m.panes.At, msg)
}

// scroll passes a key, a paste or the mouse wheel to a pane.
func (m *Model) scroll(pane int, msg tea.Msg) tea.Cmd {
	switch v := m.viewer(); {
	case pane == paneHistory:
		m.history.table.Update(msg)
		m.history.countNews()
	case pane == paneResult && v != nil:
		return v.Update(msg)
	case pane == paneResult && m.result.hasResult():
		m.result.page.Update(msg)
	case pane == paneWire:
		m.form.scroll.Update(msg)
	}
	return nil
}

func (m *Model) updateForm(msg tea.Msg) tea.Cmd {
	before := m.form.draft()
	cmd, changed := m.form.form.Update(msg)
	if changed {
		m.form.edited(before)
		if d := m.form.draft(); d.Zone != before.Zone {
			m.form.form.SetValue(string(fieldVia), m.route(before, d).Via)
		}
	}
	return m.formChanged(cmd, changed)
}

// formChanged follows a change of a value.
func (m *Model) formChanged(cmd tea.Cmd, changed bool) tea.Cmd {
	if changed {
		m.form.refused = nil
		m.form.fold()
	}
	return cmd
}

// openURL fills the form as another tab asks.
func (m *Model) openURL(msg kit.OpenURL) tea.Cmd {
	d := m.form.draft()
	if msg.Zone != "" {
		d.Zone = msg.Zone
	}
	if msg.URL != "" {
		d.URL = msg.URL
	}
	if msg.Via != "" {
		d.Via, d.Country, d.Session = string(msg.Via), msg.Country, msg.Session
	} else {
		d = m.route(m.form.draft(), d)
	}
	m.setForm(d)
	return nil
}

// click focuses the pane under the pointer and acts on what is there.
func (m *Model) click(hit kit.Hit, ok bool) tea.Cmd {
	if !ok {
		return nil
	}
	switch hit.Pane {
	case areaZones:
		if m.zones.Click(hit.Line) {
			d := m.form.draft()
			d.Zone = string(m.session.Zones[m.zones.Cursor()].Name)
			m.setForm(m.route(m.form.draft(), d))
		}
	case areaBar, paneForm:
		m.focus(paneForm)
		return m.formChanged(m.clickField(hit))
	default:
		m.focus(hit.Pane)
		switch hit.Pane {
		case paneHistory:
			m.history.table.Click(hit.Line)
			m.history.countNews()
		case paneResult:
			return m.clickResult(hit)
		}
	}
	return nil
}

// clickField is a press on a field; a zoomed form has its bar on top.
func (m *Model) clickField(hit kit.Hit) (cmd tea.Cmd, changed bool) {
	bar := 0
	if m.wide() && m.panes.Zoomed {
		bar = m.form.form.BarHeight(m.width - 2)
	}
	if hit.Pane == areaBar || hit.Line < bar {
		return m.form.form.ClickBar(hit.Col, hit.Line)
	}
	return m.form.form.Click(hit.Col, hit.Line-bar)
}
