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
	return widget.Stacked(w, h, max(7, h/3), []int{m.panes.At},
		widget.Need{Pane: paneList, Lines: max(rows, 5)}, widget.Need{Pane: paneStrip, Lines: stripH}, widget.Need{Pane: paneSide, Lines: h})
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
