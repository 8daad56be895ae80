package twin

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"zonedeck/model"
	"zonedeck/service/export"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// layout sets the table's columns for w cells: the zone, and one for each method.
func (p *Page) layout(w int) {
	name := 4
	for _, z := range p.zones {
		name = max(name, text.Width(text.Clean(zoneName(z))))
	}
	name = min(name, max(18, w/6))
	n := max(len(p.ways), 1)
	p.room = max((w-1-name-n)/n, 1)
	p.table.Columns = []widget.Column{{Title: "ZONE", Width: name}}
	legend := "  time (first byte)"
	if p.room >= 40 {
		legend += ", cost per 1000"
	}
	for _, v := range p.ways {
		p.table.Columns = append(p.table.Columns, widget.Column{Title: "  " + strings.ToUpper(v.String()) + legend, Width: p.room})
	}
}

// zoneName is the head of a row.
func zoneName(z model.Zone) string { return cmp.Or(string(z.Name), "agent access") }

// row is a zone and its cells; by agent access one across all columns.
func (p *Page) row(n int) []widget.Cell {
	out := []widget.Cell{widget.C(zoneName(p.zones[n]))}
	here := n == p.table.Cursor()
	if p.byAgent() && n == len(p.zones)-1 {
		wide := len(p.ways)
		c := p.drawCell(p.at(n, 0), here, wide*(p.room+1)-1)
		c.Span = wide - 1
		return append(out, c)
	}
	for col := range p.ways {
		out = append(out, p.drawCell(p.at(n, col), here && col == p.col, p.room))
	}
	return out
}

// drawCell is a cell in one line of w cells: class, and as much of the figures as fits. A bar
// says that the cursor is there, a diamond that it is marked, a star that it is the winner.
func (p *Page) drawCell(i int, here bool, w int) widget.Cell {
	th := p.deps.Theme
	c := p.twin.Cells[i]
	head := [2]string{" ", " "}
	if here {
		head[0] = "▌"
	}
	if slices.Contains(p.marks, i) {
		head[1] = "◆"
	}
	lead := strings.Join(head[:], "")
	typical, ran := c.Typical()
	switch {
	case c.Active:
		return widget.Cell{Text: fmt.Sprintf("%s● %d of %d …", lead, len(c.Runs), p.twin.Repeat), Ink: th.Accent}
	case c.Problem != "" && !ran:
		return widget.Cell{Text: lead + "- " + c.Problem, Ink: th.Muted}
	case !ran:
		return widget.Cell{Text: lead + "- not sent", Ink: th.Muted}
	}
	_, ink := th.ClassMark(typical.Class)
	figures := p.figures(c, true)
	line := lead + figures[0]
	if p.winner == i && p.running() == 0 {
		line += " ★"
	}
	for _, f := range figures[1:] {
		if fits := func(s string) bool { return text.Width(line)+3+text.Width(s) <= w }; !fits(f) {
			if total, _, timed := strings.Cut(f, " ("); timed && fits(total) {
				line += " · " + total
			}
			break
		}
		line += " · " + f
	}
	return widget.Cell{Text: line, Ink: ink}
}

// figures are what the runs of a cell have in common, in words: class, how many were ok,
// times, status, size, cost, required fields; brief as the grid has them, whose head explains.
func (p *Page) figures(c model.Cell, brief bool) []string {
	typical, _ := c.Typical()
	glyph, _ := p.deps.Theme.ClassMark(typical.Class)
	out := []string{glyph + " " + model.ClassWord(typical.Class, typical.Cause)}
	if p.twin.Repeat > 1 {
		out = append(out, fmt.Sprintf("%d of %d", c.OK(), len(c.Runs)))
	}
	status, _, cost := export.TwinWords(p.twin, c)
	total, _ := c.Total()
	switch first, _ := c.FirstByte(); {
	case first < 0:
		out = append(out, text.Duration(total))
	case brief:
		out = append(out, text.Duration(total)+" ("+text.Duration(first)+")")
	default:
		out = append(out, text.Duration(total), "first byte "+text.Duration(first))
	}
	if typical.Status > 0 {
		out = append(out, status)
	}
	if _, priced := c.Cost(); priced && !brief {
		cost += " per 1000"
	}
	bytes, _ := c.Bytes()
	out = append(out, text.Bytes(bytes), cost)
	if n := len(p.twin.Base.Required); n > 0 {
		out = append(out, fmt.Sprintf("%d of %s", c.Found(), text.Counted(n, "field")))
	}
	return out
}

// Render draws the comparison in the whole tab: the table with its verdict above, the
// cell under the cursor below.
func (p *Page) Render(w, h int) string {
	th := p.deps.Theme
	iw, _ := widget.Inner(w, h)
	p.layout(iw)
	verdict := widget.Hung(" ", kit.Ink{}, p.verdict(), iw-1)
	if p.loaded {
		when := widget.DateAndAge(p.session, p.twin.Profile, p.twin.Started, p.deps.Now())
		verdict = append(verdict, " "+th.Muted.Render(text.Cut("from history, "+when+", profile "+p.twin.Profile, iw-1)))
	}
	rows := min(len(p.zones)+1, max(h-len(verdict)-10, 3)) // with the heading; the cell has at least 5 lines
	table := widget.Stack(p.table.Render(th, true, iw, rows), th.Border.Render(strings.Repeat("─", iw)), strings.Join(verdict, "\n"))
	top := min(rows+len(verdict)+3, h)
	out := widget.Pane(th, p.title(), true, w, top, table)
	i, ok := p.cell()
	if !ok || h-top < 3 {
		return out
	}
	return widget.Stack(out, p.renderCell(i, w, h-top))
}

func (p *Page) title() string {
	t := p.twin
	title := "Twin"
	if p.foreign() {
		title += " of profile " + t.Profile
	}
	title += " · " + t.Base.URL
	if len(t.Base.Required) > 0 {
		title += " · fields " + strings.Join(t.Base.Required, " ")
	}
	return title + " · " + text.Counted(max(t.Repeat, 1), "run")
}

// verdict is the winner, or how far the comparison is.
func (p *Page) verdict() string {
	if n := p.running(); n > 0 {
		return fmt.Sprintf("%d of %s still running", n, text.Counted(len(p.twin.Cells), "cell"))
	}
	if p.winner < 0 {
		return p.twin.Verdict().Text
	}
	return "★ " + p.twin.Verdict().Text
}

// cellLines are what the table has no room for: what a cell's runs have in common, and
// the newest of them, h lines in all.
func (p *Page) cellLines(c model.Cell, w, h int) []string {
	th, required := p.deps.Theme, len(p.twin.Base.Required)
	var lines []string
	if c.Problem != "" {
		lines = widget.Wrapped(th.Warn, "! "+c.Problem, w)
	}
	if _, ran := c.Total(); ran {
		fastest, slowest, _ := c.Spread()
		words := p.figures(c, false)
		if fastest < slowest {
			words = append(words, "from "+text.Duration(fastest)+" to "+text.Duration(slowest))
		}
		lines = append(lines, widget.Wrapped(kit.Ink{}, strings.Join(words, " · "), w)...)
	}
	for n, r := range slices.Backward(c.Runs) {
		if left := h - len(lines); left == 1 && n > 0 {
			return append(lines, th.Muted.Render(fmt.Sprintf("… %d older", n+1)))
		}
		glyph, ink := th.ClassMark(r.Class)
		words := []string{"status unknown", text.Duration(r.Total), text.Bytes(r.Bytes)}
		if r.Status > 0 {
			words[0] = fmt.Sprintf("status %d", r.Status)
		}
		if required > 0 {
			words = append(words, fmt.Sprintf("%d of %s", r.Found, text.Counted(required, "field")))
		}
		head := fmt.Sprintf("run %-3d ", n+1)
		verdict := glyph + " " + model.ClassWord(r.Class, r.Cause)
		lines = append(lines, th.Muted.Render(head)+ink.Render(verdict)+text.Cut(" · "+strings.Join(words, " · "), w-len(head)-text.Width(verdict)))
	}
	return lines
}
