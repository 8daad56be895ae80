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

// columns are the table's columns: the zone, one for each method, the cost.
func columns(ways []model.Via) []widget.Column {
	out := []widget.Column{{Title: "ZONE", Width: 18}}
	for _, v := range ways {
		out = append(out, widget.Column{Title: "  " + strings.ToUpper(v.String()), Width: 24, Flex: true})
	}
	return append(out, widget.Column{Title: "COST/1000", Width: 10, Right: true, Priority: 1})
}

// row is a zone: its cells, and the highest cost of them.
func (p *Page) row(n int) []widget.Cell {
	out := []widget.Cell{widget.C(cmp.Or(string(p.zones[n].Name), "agent access"))}
	cost, priced := 0.0, false
	for col := range p.ways {
		i := n*len(p.ways) + col
		out = append(out, p.drawCell(i, n == p.table.Cursor() && col == p.col))
		if dollars, ok := p.twin.Cells[i].Cost(); ok {
			cost, priced = max(cost, dollars), true
		}
	}
	switch {
	case priced:
		return append(out, widget.C(model.Dollars(cost)))
	case p.zones[n].Rate.Priced():
		return append(out, widget.C("")) // known once a run has ended
	default:
		return append(out, widget.Cell{Text: "unpriced", Ink: p.deps.Theme.Muted})
	}
}

// drawCell is a cell in one line: class, runs that were ok, median time, size. A bar says
// that the cursor is there, a diamond that it is marked.
func (p *Page) drawCell(i int, here bool) widget.Cell {
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
	case p.slots[i].Running():
		return widget.Cell{Text: fmt.Sprintf("%s● %d of %d …", lead, len(c.Runs), p.twin.Repeat), Ink: th.Accent}
	case c.Problem != "" && !ran:
		return widget.Cell{Text: lead + "- " + c.Problem, Ink: th.Muted}
	case !ran:
		return widget.Cell{Text: lead + "- not sent", Ink: th.Muted}
	}
	glyph, ink := th.ClassMark(typical.Class)
	total, _ := c.Total()
	words := []string{glyph + " " + model.ClassWord(typical.Class, typical.Cause), fmt.Sprintf("%d of %d", c.OK(), len(c.Runs)), text.Took(total)}
	if bytes, _ := c.Bytes(); p.width >= kit.StackBelow {
		words = append(words, text.Bytes(bytes))
	}
	if p.winner == i && p.running() == 0 {
		words = append(words, "winner")
	}
	return widget.Cell{Text: lead + strings.Join(words, " · "), Ink: ink}
}

// Render draws the comparison in the whole tab: the table with its verdict above, the
// cell under the cursor below.
func (p *Page) Render(w, h int) string {
	th := p.deps.Theme
	p.width = w
	iw, _ := widget.Inner(w, h)
	verdict := widget.Hung(" ", kit.Ink{}, p.verdict(), iw-1)
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
	title += " · " + t.Request.URL
	if len(t.Request.Required) > 0 {
		title += " · fields " + strings.Join(t.Request.Required, " ")
	}
	return title + " · " + text.Counted(max(t.Repeat, 1), "run")
}

// verdict is the winner, or how far the comparison is.
func (p *Page) verdict() string {
	if n := p.running(); n > 0 {
		return fmt.Sprintf("%d of %s still running", n, text.Counted(len(p.twin.Cells), "cell"))
	}
	return export.TwinVerdict(p.twin)
}

// cellLines are what the table has no room for: what a cell's runs have in common, and
// the newest of them, h lines in all.
func (p *Page) cellLines(c model.TwinCell, w, h int) []string {
	th, required := p.deps.Theme, len(p.twin.Request.Required)
	var lines []string
	if c.Problem != "" {
		lines = widget.Wrapped(th.Warn, "! "+c.Problem, w)
	}
	if total, ran := c.Total(); ran {
		first, _ := c.FirstByte()
		fastest, slowest, _ := c.Spread()
		words := []string{"median " + text.Took(total), "from " + text.Took(fastest) + " to " + text.Took(slowest), "first byte " + text.Took(first), "unpriced"}
		if cost, priced := c.Cost(); priced {
			words[3] = model.Dollars(cost) + " per 1000"
		}
		lines = append(lines, widget.Wrapped(kit.Ink{}, strings.Join(words, " · "), w)...)
	}
	for n, r := range slices.Backward(c.Runs) {
		if left := h - len(lines); left == 1 && n > 0 {
			return append(lines, th.Muted.Render(fmt.Sprintf("… %d older", n+1)))
		}
		glyph, ink := th.ClassMark(r.Class)
		words := []string{"status unknown", text.Took(r.Total), text.Bytes(r.Bytes)}
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
