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
	formH := min(m.form.Height(parts[0]-2, true)+3, h-8)
	nameH := min(len(m.usernameLines(parts[1]-4))+2, h-6)
	return []kit.Area{
		{Pane: paneForm, W: parts[0], H: formH},
		{Pane: paneTest, Y: formH, W: parts[0], H: h - formH},
		{Pane: paneName, X: parts[0], W: parts[1], H: nameH},
		{Pane: paneUse, X: parts[0], Y: nameH, W: parts[1], H: h - nameH},
	}
}

// stacked puts the form above the username and the test, or the uses while they have
// the focus. The form has all its fields, as far as there is room; then comes the pane with
// the focus, or what a test showed.
func (m *Model) stacked(w, h int) []kit.Area {
	form, name, low, test := m.form.Height(w-2, false)+2, len(m.usernameLines(w-4))+2, paneTest, len(m.testLines(w-4))+2
	if m.panes.At == paneUse {
		low, test = paneUse, h
	}
	first := paneName
	switch tested := m.test.done || m.test.slot.Running(); {
	case m.panes.At != paneForm:
		form, first = min(form, max(3, h/3)), m.panes.At
	case tested:
		first = paneTest
	case form+name+3 > h: // the test has but a hint
		name, test = h-form, 0
	}
	return widget.Stacked(w, h, 3, []int{paneForm, first, paneName, low},
		widget.Need{Pane: paneForm, Lines: form}, widget.Need{Pane: paneName, Lines: name}, widget.Need{Pane: low, Lines: test})
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
