package records

import (
	"slices"

	"zonedeck/service/jobs"
	"zonedeck/ui/kit/text"
)

// readColumns is how many columns are read at once: more than a wide screen shows.
const readColumns = 40

// How many rows are read above and below the screen, and how close the screen may come to rows that were not
// read.
const (
	rowsAround = 100
	rowsMargin = 20
)

// Widths of columns, in cells.
const (
	minColumn = 6
	maxColumn = 32
)

// grid is the part of a table that was read, and where the screen is. A frame costs what is on the screen.
type grid struct {
	cursor, top int64
	column      int // the chosen column
	firstColumn int // the first column on the screen
	page        int // rows on the screen, as drawn last
	visible     int // columns on the screen, as drawn last, without one that may be cut
	drawn       int // columns with that one
	from        int64
	rows        []jobs.ResultRow // that were read, from row from on
	columns     []string         // the columns that rows have cells for
	reading     []string         // columns being read
}

// home goes to the first row and drops the rows.
func (g *grid) home() { g.cursor, g.top, g.from, g.rows = 0, 0, 0, nil }

// clamp keeps the cursor on a row and the screen on the cursor.
func (g *grid) clamp(total int64) {
	g.cursor = max(min(g.cursor, total-1), 0)
	page := int64(max(g.page, 1))
	g.top = min(g.top, g.cursor)
	g.top = max(g.top, g.cursor-page+1)
	g.top = max(min(g.top, total-page), 0)
}

// missing says which rows to read: none if those near the screen are there.
func (g *grid) missing(total int64, names []string) (from int64, n int) {
	page := int64(max(g.page, 60))
	low, high := max(g.top-rowsMargin, 0), min(g.top+page+rowsMargin, total)
	if slices.Equal(names, g.columns) && low >= g.from && high <= g.from+int64(len(g.rows)) {
		return 0, 0
	}
	from = max(g.top-rowsAround, 0)
	return from, int(min(g.top+page+rowsAround, total) - from)
}

// setRows stores rows that were read.
func (g *grid) setRows(from int64, rows []jobs.ResultRow) {
	g.from, g.rows, g.columns = from, rows, g.reading
}

// row returns a row; ok is false until it is read.
func (g *grid) row(i int64) (jobs.ResultRow, bool) {
	if i < g.from || i >= g.from+int64(len(g.rows)) {
		return jobs.ResultRow{}, false
	}
	return g.rows[i-g.from], true
}

// cell returns a row's cell in a column; ok is false until it is read.
func (g *grid) cell(r jobs.ResultRow, name string) (jobs.ResultCell, bool) {
	for i, c := range g.columns {
		if c == name && i < len(r.Cells) {
			return r.Cells[i], true
		}
	}
	return jobs.ResultCell{}, false
}

// widths fits columns from firstColumn on into w cells, by what is on the screen. The last one may be cut.
func (g *grid) widths(about jobs.ResultProfile, w, h int) []int {
	var out []int
	for i := g.firstColumn; i < len(about.Columns) && w > 0; i++ {
		c := about.Columns[i]
		width := max(minColumn, text.Width(text.Clean(jobs.ShownName(c.Name))), text.Width(facts(c, about)))
		for k := range int64(h) {
			if r, ok := g.row(g.top + k); ok && width < maxColumn {
				cell, _ := g.cell(r, c.Name)
				width = max(width, min(text.Width(text.Clean(cell.Text)), maxColumn))
			}
		}
		width = min(width, maxColumn, w)
		if width < minColumn && len(out) > 0 {
			break
		}
		out = append(out, width)
		w -= width + 1
	}
	return out
}

// facts are a column's type and coverage, for the line under its name.
func facts(c jobs.ResultColumn, about jobs.ResultProfile) string {
	return c.Type() + " " + c.FillWords(about.Rows)
}
