package jobs

import (
	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// areas places the panes at w by h: the list beside the detail, or above it on
// narrow screens. The preview, a zoomed pane and an error fill the tab.
func (m *Model) areas(w, h int) []kit.Area {
	switch {
	case m.preview.open:
		return []kit.Area{{Pane: panePreview, W: w, H: h}}
	case m.ledger.err != "" && len(m.ledger.jobs) == 0:
		return []kit.Area{{Pane: paneList, W: w, H: h}}
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

// click focuses the pane under the pointer and selects a row of the list.
func (m *Model) click(c tea.MouseClickMsg) {
	hit, ok := m.drawn.At(c.X, c.Y)
	switch {
	case !ok:
	case hit.Pane == panePreview:
		m.preview.table.Click(hit.Line)
	default:
		m.ring.At = hit.Pane
		if hit.Pane == paneList && m.ledger.table.Click(hit.Line) {
			m.detailTop = 0
		}
	}
}

// wheel scrolls the pane under the pointer.
func (m *Model) wheel(w tea.MouseWheelMsg) {
	hit, ok := m.drawn.At(w.X, w.Y)
	switch {
	case !ok:
	case hit.Pane == panePreview:
		m.preview.table.Update(w)
	case hit.Pane == paneDetail:
		m.detailTop = max(0, m.detailTop+widget.ScrollBy(w))
	default:
		m.moveList(w)
	}
}
