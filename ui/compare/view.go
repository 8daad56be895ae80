package compare

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// Intent is what a key of the page does. The tab hands it to Update, whether the page is open or not.
type Intent interface{ do(p *Page) tea.Cmd }

// Update handles one message: an intent, or a key or the mouse while the page is open.
func (p *Page) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case Intent:
		return msg.do(p)
	case tea.MouseClickMsg:
		if hit, ok := p.panes.Under(msg.Mouse()); ok {
			if p.panes.At = hit.Pane; hit.Pane == paneTable {
				p.table.Click(hit.Line)
			}
		}
	case tea.MouseWheelMsg:
		if hit, ok := p.panes.Under(msg.Mouse()); ok {
			p.scroll(hit.Pane, msg)
		}
	case tea.KeyPressMsg:
		p.scroll(p.panes.At, msg)
	default:
		p.panes.Update(msg)
	}
	return nil
}

func (p *Page) scroll(pane int, msg tea.Msg) {
	if pane == paneDetails {
		p.foot.Update(msg)
		return
	}
	before := p.table.Cursor()
	if p.table.Update(msg); p.table.Cursor() != before {
		p.foot = widget.Scroll{}
	}
}

// Bindings are the keys of the comparison on screen.
func (p *Page) Bindings() []kit.Binding {
	return widget.WithMotion(p.bindings(), p.panes.Bindings(false)...)
}

// Render draws the comparison: the table with its verdict, and below it the cell under the cursor.
func (p *Page) Render(w, h int) string {
	return p.panes.Draw(w, h, func(w, h int) []kit.Area {
		table := max(len(p.grid.Cells), 1) + len(p.lines(w-3)) + 4
		return widget.Stacked(w, h, h/3, []int{p.panes.At}, widget.Need{Pane: paneTable, Lines: table}, widget.Need{Pane: paneDetails, Lines: h})
	}, func(a kit.Area) string {
		th, focused := p.deps.Theme, p.panes.At == a.Pane
		iw, ih := widget.Inner(a.W, a.H)
		if a.Pane == paneDetails {
			title, lines := p.details(iw - 2)
			return p.foot.Pane(th, title, focused, a.W, a.H, lines)
		}
		lines := widget.Indent(p.lines(iw - 1))
		lines = append([]string{th.Border.Render(strings.Repeat("─", iw))}, lines...)
		table := p.table.Render(th, focused, iw, max(ih-len(lines), 2))
		return widget.ScrollPane(th, p.title(), &p.table, focused, a.W, a.H, widget.Stack(table, strings.Join(lines, "\n")))
	})
}
