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
	left, right := widget.SideBySide(w, m.panes.At == paneTest, m.panes.At != paneTest) // the form's fields are short
	formH := min(m.form.Height(left-2, true)+3, h-8)
	nameH := min(len(m.usernameLines(right-4))+2, h-6)
	return []kit.Area{
		{Pane: paneForm, W: left, H: formH},
		{Pane: paneTest, Y: formH, W: left, H: h - formH},
		{Pane: paneName, X: left, W: right, H: nameH},
		{Pane: paneUse, X: left, Y: nameH, W: right, H: h - nameH},
	}
}

// stacked puts the form above the username and the test, or the uses while they have
// the focus. The form has all its fields, as far as there is room, or is a line where they would take more than a third from
// another pane with the focus; then comes that pane, or what a test showed.
func (m *Model) stacked(w, h int) []kit.Area {
	form, name, low, test := m.form.Height(w-2, false)+2, len(m.usernameLines(w-4))+2, paneTest, len(m.testLines(w-4))+2
	if m.panes.At == paneUse {
		low, test = paneUse, h
	}
	first := paneName
	switch tested := m.test.done || m.test.slot.Running(); {
	case m.panes.At != paneForm:
		if first = m.panes.At; form > h/3 {
			form = 1
		}
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
