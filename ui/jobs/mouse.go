package jobs

import (
	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// areas places the panes at w by h: the list beside the detail, or above it on
// narrow screens. The preview, or the reason why there is no list, fills the tab.
func (m *Model) areas(w, h int) []kit.Area {
	switch {
	case m.preview.open || m.unreadable():
		return []kit.Area{{Pane: paneList, W: w, H: h}}
	case w < kit.StackBelow:
		parts := widget.Split(h, 1, 1)
		return []kit.Area{{Pane: paneList, W: w, H: parts[0]}, {Pane: paneDetail, Y: parts[0], W: w, H: parts[1]}}
	}
	parts := widget.Split(w, 3, 2)
	return []kit.Area{{Pane: paneList, W: parts[0], H: h}, {Pane: paneDetail, X: parts[0], W: parts[1], H: h}}
}

// unreadable reports whether there is no list because the ledger cannot be read.
func (m *Model) unreadable() bool { return m.ledger.err != nil && len(m.ledger.jobs) == 0 }

// click focuses the pane under the pointer and selects a row of the list.
func (m *Model) click(c tea.MouseClickMsg) {
	hit, ok := m.panes.Under(c.Mouse())
	switch {
	case !ok:
	case m.preview.open:
		m.preview.table.Click(hit.Line)
	default:
		m.panes.At = hit.Pane
		if hit.Pane == paneList && m.ledger.table.Click(hit.Line) {
			m.detail = widget.Scroll{}
		}
	}
}

// scroll passes a motion key or the mouse wheel to a pane.
func (m *Model) scroll(pane int, msg tea.Msg) {
	switch {
	case m.preview.open:
		m.preview.table.Update(msg)
	case pane == paneDetail:
		m.detail.Update(msg)
	default:
		before := m.ledger.table.Cursor()
		m.ledger.table.Update(msg)
		if m.ledger.table.Cursor() != before {
			m.detail = widget.Scroll{}
		}
	}
}
