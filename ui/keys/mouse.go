package keys

import (
	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// paneStrip is the calendar, which cannot have the focus.
const paneStrip = -1

// areas places the panes at w by h: the table, the calendar strip, and the side pane
// below them. A zoomed pane fills the tab.
func (m *Model) areas(w, h int) []kit.Area {
	if m.ring.Zoomed {
		return []kit.Area{{Pane: m.ring.At, W: w, H: h}}
	}
	stripH := 4
	if h < 20 {
		stripH = 0
	}
	listH := max(5, min(len(m.list.keys)+3, h-stripH-max(7, h/3)))
	return []kit.Area{
		{Pane: paneList, W: w, H: listH},
		{Pane: paneStrip, Y: listH, W: w, H: stripH},
		{Pane: paneSide, Y: listH + stripH, W: w, H: h - listH - stripH},
	}
}

// click focuses the pane under the pointer and selects a row of the list.
func (m *Model) click(c tea.MouseClickMsg) {
	hit, ok := m.drawn.At(c.X, c.Y)
	if !ok || hit.Pane == paneStrip {
		return
	}
	m.ring.At = hit.Pane
	if hit.Pane == paneList && m.list.table.Click(hit.Line) && m.side == sideDetail {
		m.top = 0
	}
}

// wheel scrolls the pane under the pointer.
func (m *Model) wheel(w tea.MouseWheelMsg) {
	switch hit, ok := m.drawn.At(w.X, w.Y); {
	case !ok || hit.Pane == paneStrip:
	case hit.Pane == paneSide:
		m.top = max(0, m.top+widget.ScrollBy(w))
	default:
		m.moveList(w)
	}
}
