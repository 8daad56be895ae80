package jobs

import (
	"fmt"
	"strings"
	"time"

	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// Widths of the preview's columns, in cells.
const (
	minColumn = 8
	maxColumn = 32
	sampled   = 20 // rows that determine a column's width
)

// layPreview lays out the columns from the first visible one.
func (m *Model) layPreview() {
	p := &m.preview
	r := p.records
	p.table.Columns = nil
	for i := p.column; i < len(r.Columns); i++ {
		width := max(minColumn, text.Width(text.Clean(r.Columns[i].Name)))
		for _, row := range r.Rows[:min(sampled, len(r.Rows))] {
			if i < len(row) {
				width = max(width, text.Width(text.Clean(row[i])))
			}
		}
		// If the columns do not fit, the rightmost are dropped first.
		p.table.Columns = append(p.table.Columns, widget.Column{Title: r.Columns[i].Name, Width: min(width, maxColumn), Priority: i - p.column})
	}
	from := p.column
	p.table.SetRows(len(r.Rows), func(i int) []widget.Cell {
		row := r.Rows[i]
		cells := make([]widget.Cell, 0, len(row))
		for _, v := range row[min(from, len(row)):] {
			cells = append(cells, widget.C(v))
		}
		return cells
	})
}

func (m *Model) renderPreview(w, h int) string {
	t, p := m.deps.Theme, &m.preview
	iw, ih := widget.Inner(w, h)
	title := "Records of " + jobTitle(p.job)
	var body string
	switch {
	case p.err != nil && len(p.records.Columns) == 0:
		lines := widget.Wrapped(kit.Ink{}, "The records cannot be shown: "+p.err.Error()+". esc goes back.", iw-2)
		body = strings.Join(append(lines, m.errorLines(p.err, time.Time{}, iw-2)...), "\n")
	case p.slot.Running():
		body = "\n " + t.Muted.Render("reading the first records…")
	case len(p.records.Columns) == 0:
		body = "\n " + t.Muted.Render("the result holds no records")
	default:
		title += fmt.Sprintf(" · first %d", len(p.records.Rows))
		if p.records.Total >= 0 {
			title += fmt.Sprintf(" of %d", p.records.Total)
		}
		foot := m.columnLines(iw, max(1, ih/3))
		if p.err != nil {
			foot = append(foot, t.Warn.Render(text.Cut(" ! the rest cannot be shown: "+text.Clean(p.err.Error()), iw)))
		}
		body = widget.Stack(p.table.Render(t, true, iw, ih-len(foot)), strings.Join(foot, "\n"))
	}
	return widget.Pane(t, title, true, w, h, body)
}

// columnLines shows each column's type and fill rate in at most limit lines.
func (m *Model) columnLines(w, limit int) []string {
	t, r := m.deps.Theme, m.preview.records
	var items []string
	for i, c := range r.Columns {
		text := fmt.Sprintf("%s %s %d %%", text.Clean(text.Cut(c.Name, maxColumn)), c.Type, int(r.FillRate(i)*100))
		if c.Filled < len(r.Rows) {
			text = t.Warn.Render("! " + text)
		} else {
			text = t.Muted.Render(text)
		}
		items = append(items, text)
	}
	var lines []string
	line := t.Muted.Render(" filled  ")
	for i, it := range items {
		if text.Width(line)+text.Width(it)+3 > w {
			lines = append(lines, line)
			line = strings.Repeat(" ", 9)
			if len(lines) == limit {
				lines[limit-1] = text.Cut(lines[limit-1], w-14) + t.Muted.Render(fmt.Sprintf(" +%d columns", len(items)-i))
				return lines
			}
		}
		line += it + "   "
	}
	return append(lines, line)
}
