package split

import (
	"strconv"
	"strings"

	"zonedeck/model"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// rows renews the table: the refused fetch, and a row for each other.
func (o *overlay) rows() {
	o.table.SetRows(len(o.plan.Cells), func(i int) []widget.Cell {
		c := o.plan.Cells[i]
		if c.Label == model.LabelRefused {
			return o.row(c, o.subjectIs(), "")
		}
		return o.row(c, c.Different(), o.price(c))
	})
}

func (o *overlay) row(c model.Cell, different, cost string) []widget.Cell {
	th := o.deps.Theme
	class, status := o.state(c), "-"
	if len(c.Runs) > 0 {
		r := c.Runs[0]
		ink, mark := th.Bad, "✗ "
		if r.Class == model.ClassOK {
			ink, mark = th.Good, "✓ "
		}
		class = widget.Cell{Text: mark + model.ClassWord(r.Class, r.Cause), Ink: ink}
		if r.Status != 0 {
			status = strconv.Itoa(r.Status)
		}
	}
	return []widget.Cell{widget.C(c.Label.Text()), widget.C(different), class, widget.C(status), widget.C(cost)}
}

func (o *overlay) subjectIs() string {
	c := o.plan.Cells[0]
	parts := []string{string(c.Zone.Name), c.Via.String()}
	if c.Key != "" {
		parts = append(parts, c.Key)
	}
	return strings.Join(append(parts, o.plan.Base.URL), " · ")
}

func (o *overlay) price(c model.Cell) string {
	cost, priced := o.plan.Price(c)
	switch {
	case c.Problem != "" && len(c.Runs) == 0:
		return "-"
	case !priced:
		return "unpriced"
	default:
		return model.SmallDollars(cost)
	}
}

// state says why a cell has no class.
func (o *overlay) state(c model.Cell) widget.Cell {
	th := o.deps.Theme
	switch {
	case c.Active:
		return widget.Cell{Text: "● sending", Ink: th.Warn}
	case c.Problem != "":
		return widget.Cell{Text: "- not sent", Ink: th.Muted}
	default:
		return widget.Cell{Text: "· not yet", Ink: th.Muted}
	}
}

// Render draws the sentence, the table, and what is behind the selected row.
func (o *overlay) Render(w, h int) string {
	th := o.deps.Theme
	head := o.head(w)
	o.above = len(head)
	foot := widget.Foot(th, w, o.detail()...)
	table := o.table.Render(th, true, w, max(h-len(head)-len(foot), 2))
	return widget.Block(widget.Stack(strings.Join(head, "\n"), table, strings.Join(foot, "\n")), w, h)
}

// head is what the operator is asked or told, above the table.
func (o *overlay) head(w int) []string {
	th := o.deps.Theme
	var lines []string
	switch {
	case o.trouble != "":
		lines = widget.Hung(th.Bad.Render("✗ "), th.Text, o.trouble, w-2)
	case o.stage == planning:
		lines = []string{th.Muted.Render("looking for another zone and another key…")}
	case o.stage == asking:
		lines = widget.Hung(th.KeyHint.Render("[y] "), th.Text, "sends at most "+o.bill()+", one after the other, and none that is no longer needed. Each differs in one thing.", w-2)
	case o.leaving:
		lines = []string{th.Warn.Render("● ") + th.Text.Render("cancelling; esc closes at once")}
	case o.stage == sending:
		lines = []string{th.Warn.Render("● ") + th.Text.Render("sending, one after the other; esc cancels")}
	default:
		v := o.plan.Verdict()
		mark := th.Good.Render("✓ ")
		if v.Culprit == model.CulpritUnknown {
			mark = th.Warn.Render("? ")
		}
		lines = widget.Hung(mark, th.Text, v.Text, w-2)
	}
	return append(widget.Indent(lines), "")
}

// bill is how many fetches there may be, and what they cost.
func (o *overlay) bill() string {
	n := 0
	var spend model.Spend
	for _, c := range o.plan.Cells[1:] {
		if c.Problem == "" {
			n++
			spend.Add(o.plan.Price(c))
		}
	}
	return text.Counted(n, "request") + " (" + spend.String() + ")"
}

// detail is about the selected row.
func (o *overlay) detail() []string {
	r, ok := o.result()
	switch i := o.table.Cursor(); {
	case ok:
		lines := []string{r.Summary}
		for _, e := range r.Evidence {
			lines = append(lines, e.Text)
		}
		return lines[:min(len(lines), 3)]
	case i < len(o.plan.Cells):
		return []string{o.plan.Cells[i].Problem}
	default:
		return []string{""}
	}
}
