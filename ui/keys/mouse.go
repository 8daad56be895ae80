package keys

import (
	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// paneStrip is the calendar, which cannot have the focus.
const paneStrip = -1

// areas places the panes at w by h: the table, the calendar strip, and the side pane
// below them.
func (m *Model) areas(w, h int) []kit.Area {
	stripH := 4
	if h < 20 {
		stripH = 0
	}
	rows := len(m.list.keys) + 3 // as high with a filter as without
	if f := &m.list.page.Filter; f.Typing() || f.Text() != "" {
		rows++
	}
	listH := max(5, min(rows, h-stripH-max(7, h/3)))
	return []kit.Area{
		{Pane: paneList, W: w, H: listH},
		{Pane: paneStrip, Y: listH, W: w, H: stripH},
		{Pane: paneSide, Y: listH + stripH, W: w, H: h - listH - stripH},
	}
}

// click focuses the pane under the pointer and selects a row of the list.
func (m *Model) click(c tea.MouseClickMsg) {
	hit, ok := m.panes.Under(c.Mouse())
	if !ok || hit.Pane == paneStrip {
		return
	}
	m.panes.At = hit.Pane
	if hit.Pane == paneList && m.list.page.Click(hit.Line) && m.side == sideDetail {
		m.text = widget.Scroll{}
	}
}

// scroll passes a motion key or the mouse wheel to a pane.
func (m *Model) scroll(pane int, msg tea.Msg) {
	switch pane {
	case paneSide:
		m.text.Update(msg)
	case paneList:
		before := m.list.page.Cursor()
		m.list.page.Update(msg)
		if m.list.page.Cursor() != before && m.side == sideDetail {
			m.text = widget.Scroll{}
		}
	}
}
