package jobs

import (
	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// areas is where the panes are drawn at w by h: the list beside the detail, or
// above it on narrow screens; a zoomed pane alone.
func (m *Model) areas(w, h int) []kit.Area {
	switch {
	case m.ring.Zoomed:
		return []kit.Area{{Pane: m.ring.At, W: w, H: h}}
	case w < kit.StackBelow:
		parts := widget.Split(h, 1, 1)
		return []kit.Area{{Pane: paneList, W: w, H: parts[0]}, {Pane: paneDetail, Y: parts[0], W: w, H: parts[1]}}
	default:
		parts := widget.Split(w, 3, 2)
		return []kit.Area{{Pane: paneList, W: parts[0], H: h}, {Pane: paneDetail, X: parts[0], W: parts[1], H: h}}
	}
}

// click gives the focus to the pane under the pointer, and picks a row of the list.
func (m *Model) click(c tea.MouseClickMsg) {
	if m.preview.open {
		m.preview.table.Click(c.Y - 1)
		return
	}
	a, ok := kit.AreaAt(m.areas(m.w, m.h), c.X, c.Y)
	if !ok {
		return
	}
	m.ring.At = a.Pane
	if a.Pane == paneList && m.ledger.table.Click(c.Y-a.Y-1) {
		m.detailTop = 0
	}
}

// wheel scrolls the pane under the pointer.
func (m *Model) wheel(w tea.MouseWheelMsg) {
	a, ok := kit.AreaAt(m.areas(m.w, m.h), w.X, w.Y)
	switch {
	case m.preview.open:
		m.preview.table.Update(w)
	case ok && a.Pane == paneDetail:
		m.detailTop = max(0, m.detailTop+widget.ScrollBy(w))
	case ok:
		m.moveList(w)
	}
}
