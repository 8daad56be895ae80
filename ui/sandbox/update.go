package sandbox

import (
	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// Update handles one message; see kit.View.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	cmd := m.update(msg)
	m.refresh()
	return cmd
}

func (m *Model) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case kit.Resized:
		m.width = msg.W
		return nil
	case kit.Tick:
		if !m.form.form.CapturingText() {
			m.options() // updates how long ago the zones were used
		}
		return nil
	case kit.SessionChanged:
		m.newSession(msg.Session)
		return nil
	case kit.OpenFetch:
		return m.reopen(msg.ID)
	case kit.OpenURL:
		return m.openURL(msg)
	case historyLoaded:
		return m.historyLoaded(msg)
	case fetchLoaded:
		return m.fetchLoaded(msg)
	case bodyOpened:
		return m.bodyOpened(msg)
	case ticked, waiting, progressed, fetched:
		return m.updateFlight(msg)
	case savedListed, savedLoaded, savedWritten, editReady, edited, bodyRead:
		return m.updateFiles(msg)
	case tea.MouseClickMsg:
		m.click(m.drawn.At(msg.X, msg.Y))
		return nil
	case tea.MouseWheelMsg:
		return m.wheel(msg)
	}
	if cmd, handled := m.act(msg); handled {
		return cmd
	}
	return m.toPane(msg)
}

// newSession stores a session. If the form holds the old profile's key, it gets the new
// one's.
func (m *Model) newSession(s kit.Session) {
	if key := m.form.form.Value(string(fieldKey)); key == "" || key == m.session.Key.Name {
		m.form.form.SetValue(string(fieldKey), s.Key.Name)
	}
	other := m.session.ProfileName != s.ProfileName
	m.session = s
	if !s.Local && s.ProfileName != "" && m.form.untouched() {
		d := realDraft(s)
		m.form.fill(d)
		if d.Zone != "" {
			m.form.form.FocusOn(string(fieldURL), false) // the next field to fill in
		}
	}
	m.options()
	if other && m.history.loaded {
		m.listHistory()
	}
}

// act carries out the intent of a key.
func (m *Model) act(msg tea.Msg) (cmd tea.Cmd, handled bool) {
	switch msg := msg.(type) {
	case sendNow:
		return m.trySend(false, 0), true
	case sendSure:
		return m.trySend(true, msg.pause), true
	case cancelSend:
		m.work.send.Cancel()
		return nil, true
	case nextPane, prevPane, zoomPane, goBack:
		m.movePane(msg)
		return nil, true
	case nextPage, prevPage:
		by := 1
		if _, back := msg.(prevPage); back {
			by = -1
		}
		m.result.turn(by)
		m.focus(paneResult)
		return nil, true
	case showMark:
		return m.nextMark(), true
	case runStep:
		return m.runStep(msg.step), true
	case requestBack:
		return m.toForm(), true
	case undoForm:
		m.undo()
		return nil, true
	case openFetch:
		if a, ok := m.pickedFetch(); ok {
			return m.reopen(a.Ref), true
		}
		return nil, true
	case copyMenu, copyBody, copyHeaders, copyURL, copyCurl, copyWire:
		return m.copy(msg), true
	case saveRequest, openSaved, editBody, loadSaved, replaceSaved:
		return m.files(msg), true
	}
	return nil, false
}

// toPane passes the other messages (keys, pastes, messages of the parts) to the parts.
func (m *Model) toPane(msg tea.Msg) tea.Cmd {
	if key, ok := msg.(tea.KeyPressMsg); ok {
		switch m.ring.At {
		case paneWire:
			m.scrollWire(key.String())
			return nil
		case paneHistory:
			m.history.table.Update(msg)
			return nil
		case paneResult:
			if v := m.viewer(); v != nil {
				return v.Update(msg)
			}
			m.scrollPage(key.String())
			return nil
		}
	}
	switch msg.(type) {
	case tea.KeyPressMsg, tea.PasteMsg:
		if m.ring.At == paneForm {
			return m.updateForm(msg)
		}
		if v := m.viewer(); v != nil && m.ring.At == paneResult {
			return v.Update(msg)
		}
		return nil
	}
	// Only messages of the parts are left; each part ignores those of the other.
	return tea.Batch(m.updateForm(msg), m.result.body.Update(msg))
}

func (m *Model) updateForm(msg tea.Msg) tea.Cmd {
	cmd, changed := m.form.form.Update(msg)
	if changed {
		m.form.refused = nil
		m.form.fold()
	}
	return cmd
}

func (m *Model) movePane(msg tea.Msg) {
	switch msg.(type) {
	case nextPane:
		m.endEditing()
		m.ring.Next()
	case prevPane:
		m.endEditing()
		m.ring.Prev()
	case zoomPane:
		m.ring.Zoomed = !m.ring.Zoomed
	case goBack:
		if m.ring.Zoomed {
			m.ring.Zoomed = false
		} else {
			m.ring.At = paneForm
		}
	}
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
	m.setForm(d)
	return nil
}

// scrollWire scrolls the request preview.
func (m *Model) scrollWire(key string) {
	a, drawn := m.drawn.Of(paneWire)
	if !drawn || m.ring.At != paneWire { // without the focus it shows only the gist
		return
	}
	w, h := widget.Inner(a.W, a.H)
	room := max(h-len(m.wireNotes(w)), 0)
	m.form.top = scrolled(m.form.top, max(len(m.wireRows(w-2, room))-room, 0)+1, key)
}

// scrollPage scrolls a page of the result that is not the body.
func (m *Model) scrollPage(key string) {
	a, drawn := m.drawn.Of(paneResult)
	if !drawn || !m.result.have() {
		return
	}
	w, h := widget.Inner(a.W, a.H)
	room := max(h-len(m.headLines(w, h)), 1)
	m.result.top = scrolled(m.result.top, max(len(m.pageLines(w))-room, 0)+1, key)
}

// scrolled is the first line on screen after a motion key.
func scrolled(top, n int, key string) int {
	switch key {
	case "down", "j":
		top++
	case "up", "k":
		top--
	case "pgdown", "ctrl+f", "space":
		top += 10
	case "pgup", "ctrl+b":
		top -= 10
	case "home", "g":
		top = 0
	case "end", "G":
		top = n - 1
	}
	return max(min(top, n-1), 0)
}

func wheelKey(msg tea.MouseWheelMsg) string {
	if msg.Button == tea.MouseWheelUp {
		return "up"
	}
	return "down"
}

// click focuses the pane under the pointer and selects a row or a field. The first click
// on the form only focuses it.
func (m *Model) click(hit kit.Hit, ok bool) {
	if !ok {
		return
	}
	before := m.ring.At
	m.focus(hit.Pane)
	switch {
	case hit.Pane == paneHistory:
		m.history.table.Click(hit.Line)
	case hit.Pane == paneForm && before == paneForm:
		m.form.form.Click(hit.Line)
	}
}

// wheel scrolls the pane under the pointer.
func (m *Model) wheel(msg tea.MouseWheelMsg) tea.Cmd {
	hit, ok := m.drawn.At(msg.X, msg.Y)
	switch {
	case !ok:
	case hit.Pane == paneHistory:
		m.history.table.Update(msg)
	case hit.Pane == paneResult:
		if v := m.viewer(); v != nil {
			return v.Update(msg)
		}
		m.scrollPage(wheelKey(msg))
	case hit.Pane == paneWire:
		m.scrollWire(wheelKey(msg))
	}
	return nil
}
