package proxy

import (
	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// areas places the panes at w by h: the form and the test beside the username and its
// uses, or stacked on narrow screens.
func (m *Model) areas(w, h int) []kit.Area {
	if w < kit.StackBelow {
		return m.stacked(w, h)
	}
	parts := widget.Split(w, 2, 3)
	formH := min(m.form.Height(parts[0]-2)+3, h-8)
	nameH := min(len(m.usernameLines(parts[1]-4))+2, h-6)
	return []kit.Area{
		{Pane: paneForm, W: parts[0], H: formH},
		{Pane: paneTest, Y: formH, W: parts[0], H: h - formH},
		{Pane: paneName, X: parts[0], W: parts[1], H: nameH},
		{Pane: paneUse, X: parts[0], Y: nameH, W: parts[1], H: h - nameH},
	}
}

// stacked puts the form above the username and the test, or the uses while they have
// the focus. The form shrinks for the focused pane.
func (m *Model) stacked(w, h int) []kit.Area {
	low := paneTest
	if m.panes.At == paneUse {
		low = paneUse
	}
	formNeed, nameNeed := m.form.Height(w-2)+2, len(m.usernameLines(w-4))+2
	formH, nameH := min(formNeed, max(4, h/3)), min(nameNeed, max(4, h/3))
	if m.panes.At == paneForm && !m.test.slot.Running() && !m.test.done {
		nameH = max(3, min(nameNeed, h-formH-3)) // one line is enough for the test
		formH = min(formNeed, h-nameH-3)
	} else {
		formH = min(formH, max(4, h/4))
		switch m.panes.At {
		case paneName:
			nameH = max(3, min(nameNeed, h-formH-3))
		case paneForm:
			nameH = max(nameH, min(nameNeed, h-formH-8))
		}
	}
	return []kit.Area{
		{Pane: paneForm, W: w, H: formH},
		{Pane: paneName, Y: formH, W: w, H: nameH},
		{Pane: low, Y: formH + nameH, W: w, H: h - formH - nameH},
	}
}

// click focuses the pane under the pointer and acts on the field or line there.
func (m *Model) click(c tea.MouseClickMsg) tea.Cmd {
	hit, ok := m.panes.Under(c.Mouse())
	if !ok {
		return nil
	}
	m.panes.At = hit.Pane
	if hit.Pane == paneForm {
		cmd, _ := m.form.Click(hit.Col, hit.Line)
		return cmd
	}
	m.form.FocusOn(m.form.Focused(), false) // typed text is kept
	if hit.Pane == paneUse {
		m.readings.Click(hit.Line)
	}
	return nil
}
