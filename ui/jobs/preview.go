package jobs

import (
	"context"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// preview is the table of a job's first records.
type preview struct {
	m       *Model
	open    bool
	job     model.Job
	records model.RecordTable
	table   widget.Table
	column  int // first column drawn, for tables wider than the screen
	err     error
	slot    kit.Slot
}

// Widths of the preview's columns, in cells.
const (
	minColumn = 8
	maxColumn = 32
	sampled   = 20 // rows that determine a column's width
)

// lay lays out the columns from the first visible one.
func (p *preview) lay() {
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

func (p *preview) render(w, h int) string {
	t := p.m.deps.Theme
	iw, ih := widget.Inner(w, h)
	title := "Records of " + jobTitle(p.job)
	var body string
	switch {
	case p.err != nil && len(p.records.Columns) == 0:
		lines := widget.Wrapped(kit.Ink{}, "The records cannot be shown: "+p.err.Error()+". esc goes back.", iw-2)
		body = strings.Join(append(lines, p.m.detail.errorLines(p.err, time.Time{}, iw-2)...), "\n")
	case p.slot.Running():
		body = "\n " + t.Muted.Render("reading the first records…")
	case len(p.records.Columns) == 0:
		body = "\n " + t.Muted.Render("the result holds no records")
	default:
		title += fmt.Sprintf(" · first %d", len(p.records.Rows))
		if p.records.Total >= 0 {
			title += fmt.Sprintf(" of %d", p.records.Total)
		}
		foot := p.columnLines(iw, max(1, ih/3))
		if p.err != nil {
			foot = append(foot, t.Warn.Render(text.Cut(" ! the rest cannot be shown: "+text.Clean(p.err.Error()), iw)))
		}
		body = widget.Stack(p.table.Render(t, true, iw, ih-len(foot)), strings.Join(foot, "\n"))
	}
	return widget.ScrollPane(t, title, &p.table, true, w, h, body)
}

// columnLines shows each column's type and fill rate in at most limit lines.
func (p *preview) columnLines(w, limit int) []string {
	t, r := p.m.deps.Theme, p.records
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

func (p *preview) show(j model.Job) tea.Cmd {
	p.open, p.job, p.err = true, j, nil
	p.records, p.column = model.RecordTable{}, 0
	p.lay()
	jobs := p.m.deps.Jobs
	return kit.Load(kit.Jobs, &p.slot, p.m.deps.Ctx, func(ctx context.Context) (model.RecordTable, error) {
		return jobs.Records(ctx, j.ID, previewRecords)
	}, func(t model.RecordTable, err error) tea.Cmd { // with an error: the records before it
		p.records, p.err = t, err
		p.lay()
		return nil
	})
}

// record opens the record under the cursor: each column with its whole value.
func (p *preview) record() tea.Cmd {
	at, r := p.table.Cursor(), p.records
	if at >= len(r.Rows) {
		return nil
	}
	return kit.OpenOverlay(&widget.Page{
		Heading: fmt.Sprintf("Record %d of %s", at+1, jobTitle(p.job)), Width: 100,
		Lines: func(w int) (out []string) {
			for i, v := range r.Rows[at] {
				out = append(out, widget.Hung(" "+p.m.deps.Theme.Muted.Render(text.Clean(r.Columns[i].Name))+"  ", kit.Ink{}, v, w)...)
			}
			return out
		},
		Closing: kit.Binding{Name: "page.close", Keys: []string{"esc", "enter", "q"}, Label: "close", Help: "Go back to the records.", Intent: kit.Close{}},
	})
}

func (p *preview) shift(i intent) {
	if !p.open {
		return
	}
	by := 1
	if i == intentLeft {
		by = -1
	}
	p.column = max(0, min(p.column+by, len(p.records.Columns)-1))
	p.lay()
}
