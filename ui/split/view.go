package split

import (
	"strconv"
	"strings"

	"zonedeck/model"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// rows renews the table: the refused fetch, and a row for each probe.
func (o *overlay) rows() {
	o.table.SetRows(1+len(o.plan.Probes), func(i int) []widget.Cell {
		if i == 0 {
			return o.row("refused", o.subjectIs(), "", &o.plan.Subject)
		}
		p := o.plan.Probes[i-1]
		return o.row(p.Kind.Label(), p.Different(), o.price(p), p.Result, o.state(i-1))
	})
}

// row is a row; state stands in place of a class that is not there.
func (o *overlay) row(what, different, cost string, r *model.FetchResult, state ...widget.Cell) []widget.Cell {
	th := o.deps.Theme
	class, status := widget.C(""), "-"
	switch {
	case r != nil:
		ink, mark := th.Bad, "✗ "
		if r.Diagnosis.OK() {
			ink, mark = th.Good, "✓ "
		}
		class = widget.Cell{Text: mark + model.ClassWord(r.Diagnosis.Class, r.Diagnosis.Cause), Ink: ink}
		if r.Status != 0 {
			status = strconv.Itoa(r.Status)
		}
	case len(state) > 0:
		class = state[0]
	}
	return []widget.Cell{widget.C(what), widget.C(different), class, widget.C(status), widget.C(cost)}
}

func (o *overlay) subjectIs() string {
	s := o.plan.Subject
	parts := []string{string(s.Request.Zone.Name), s.Request.Via.String()}
	if s.KeyName != "" {
		parts = append(parts, s.KeyName)
	}
	return strings.Join(append(parts, s.Request.URL), " · ")
}

func (o *overlay) price(p model.SplitProbe) string {
	cost, priced := o.plan.Cost(p)
	switch {
	case p.Problem != "" && p.Result == nil:
		return "-"
	case !priced:
		return "unpriced"
	default:
		return model.SmallDollars(cost)
	}
}

// state says of a probe without a result why.
func (o *overlay) state(i int) widget.Cell {
	th, p := o.deps.Theme, o.plan.Probes[i]
	switch {
	case i == o.at:
		return widget.Cell{Text: "● sending", Ink: th.Warn}
	case p.Problem != "":
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
		culprit, sentence := o.plan.Verdict()
		mark := th.Good.Render("✓ ")
		if culprit == model.CulpritUnknown {
			mark = th.Warn.Render("? ")
		}
		lines = widget.Hung(mark, th.Text, sentence, w-2)
	}
	return append(widget.Indent(lines), "")
}

// bill is how many fetches there may be, and what they cost.
func (o *overlay) bill() string {
	n := 0
	var spend model.Spend
	for _, p := range o.plan.Probes {
		if p.Problem == "" {
			n++
			spend.Add(o.plan.Cost(p))
		}
	}
	return text.Counted(n, "request") + " (" + spend.String() + ")"
}

// detail is about the selected row.
func (o *overlay) detail() []string {
	r := o.result()
	switch i := o.table.Cursor(); {
	case r != nil:
		lines := []string{r.Diagnosis.Summary}
		for _, e := range r.Diagnosis.Evidence {
			lines = append(lines, e.Text)
		}
		return lines[:min(len(lines), 3)]
	case i > 0 && i <= len(o.plan.Probes) && o.plan.Probes[i-1].Problem != "":
		return []string{o.plan.Probes[i-1].Problem}
	default:
		return []string{""}
	}
}
