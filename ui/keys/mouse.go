package keys

import (
	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// paneStrip is the calendar, which takes no focus.
const paneStrip = -1

// areas is where the panes are drawn at w by h: the table, the calendar strip,
// and below them the details with what stands beside them; a zoomed pane alone.
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

// click gives the focus to the pane under the pointer, and picks a row of the list.
func (m *Model) click(c tea.MouseClickMsg) {
	a, ok := kit.AreaAt(m.areas(m.w, m.h), c.X, c.Y)
	if !ok || a.Pane == paneStrip {
		return
	}
	m.ring.At = a.Pane
	if a.Pane == paneList && m.list.table.Click(c.Y-a.Y-1) && m.side == sideDetail {
		m.top = 0
	}
}

// wheel scrolls the pane under the pointer.
func (m *Model) wheel(w tea.MouseWheelMsg) {
	switch a, ok := kit.AreaAt(m.areas(m.w, m.h), w.X, w.Y); {
	case !ok || a.Pane == paneStrip:
	case a.Pane == paneSide:
		m.top = max(0, m.top+widget.ScrollBy(w))
	default:
		m.moveList(w)
	}
}
