package drift

import (
	"cmp"
	"fmt"
	"strings"

	"zonedeck/model"
	"zonedeck/service/jobs"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// mark says how a collector stands, with its glyph.
func (p *Page) mark(s jobs.DriftStanding) (words string, ink kit.Ink) {
	t := p.deps.Theme
	switch {
	case s.Dead():
		return fmt.Sprintf("✗ no useful row ×%d", s.Silent), t.Bad
	case s.Verdict.State == jobs.DriftDrift:
		return "! drift", t.Warn
	case s.Verdict.State == jobs.DriftFew:
		return "· too few rows", t.Muted
	case s.Verdict.State == jobs.DriftEmpty:
		return "· no useful row", t.Muted
	case s.Verdict.State == jobs.DriftFirst:
		return "· first run", t.Muted
	default:
		return "✓ ok", t.Good
	}
}

func (p *Page) fillBoard() {
	b := &p.board
	b.table.Columns = []widget.Column{
		{Title: "STATE", Width: 19},
		{Title: "COLLECTOR", Width: 16, Flex: true},
		{Title: "KIND", Width: 7, Priority: 3},
		{Title: "RUNS", Width: boardRuns, Priority: 1},
		{Title: "USEFUL", Width: 9, Right: true, Priority: 1},
		{Title: "LAST RUN", Width: 8, Priority: 4},
		{Title: "AGE", Width: 4, Right: true, Priority: 2},
		{Title: "SAYS", Width: 16, Flex: true},
	}
	b.table.Empty = "no collector has a run yet: download a result, or fetch with required fields"
	list := b.standings
	b.table.SetRowsKeyed(len(list), func(i int) string { return string(list[i].Run.Kind) + " " + list[i].Run.Name }, func(i int) []widget.Cell {
		s := list[i]
		words, ink := p.mark(s)
		names := jobs.DriftAlarms(s.Verdict.Findings)
		says, useful := strings.Join(names, ", "), fmt.Sprintf("%d of %d", s.Run.UsefulRows(), s.Run.Returned)
		if len(names) > 1 { // the cell is cut
			says = fmt.Sprintf("%d fields: %s", len(names), says)
		}
		if s.Dead() {
			says = model.ClassWord(s.SilentClass, s.SilentCause)
		}
		if s.Run.Seq == 0 {
			useful = "-"
		}
		return []widget.Cell{
			{Text: words, Ink: ink},
			widget.C(s.Run.Name),
			{Text: string(s.Run.Kind), Ink: p.deps.Theme.Muted},
			p.runMarks(s), widget.C(useful), widget.C(s.Run.Ref),
			{Text: text.Ago(s.Run.At, p.deps.Now()), Ink: p.deps.Theme.Muted},
			widget.C(cmp.Or(says, "-")),
		}
	})
}

// runMarks are the marks of a collector's last runs, the newest last.
func (p *Page) runMarks(s jobs.DriftStanding) (out widget.Cell) {
	s.Silent = 0
	for _, s.Verdict.State = range s.States[max(len(s.States)-boardRuns, 0):] {
		words, ink := p.mark(s)
		out.Text, out.Inks = out.Text+string([]rune(words)[:1]), append(out.Inks, ink)
	}
	return out
}

// bars is how many runs a field's bars show, boardRuns how many of a collector the board marks.
const (
	bars      = 24
	boardRuns = 8
)

func (p *Page) fillDetail() {
	d := &p.detail
	runs := 4
	for _, l := range d.Lines {
		runs = max(runs, min(len(l.History), bars))
	}
	d.table.Columns = []widget.Column{
		{Title: "FIELD", Width: 22},
		{Title: "NOW", Width: 6, Right: true},
		{Title: "BEFORE", Width: 6, Right: true},
		{Title: "RUNS", Width: runs},
		{Title: "TYPE", Width: 7, Priority: 1},
		{Title: "SAYS", Width: 14, Flex: true},
	}
	d.table.Empty = "its runs have no useful row: nothing is known about fields"
	lines := d.Lines
	d.table.SetRowsKeyed(len(lines), func(i int) string { return lines[i].Field }, func(i int) []widget.Cell {
		l, t := lines[i], p.deps.Theme
		says := widget.Cell{Text: "-", Ink: t.Muted}
		if !l.Requested {
			says.Text = "not asked for"
		}
		if len(l.Findings) > 0 {
			f := l.Findings[0]
			says.Text = string(f.Word)
			if f.Word.Alarm() {
				says.Short, says.Ink = "! "+says.Text, t.Warn
				says.Text = says.Short
				if l.Since != "" {
					says.Text += " since " + l.Since
				}
			}
		}
		return []widget.Cell{
			widget.C(l.Field), widget.C(jobs.DriftPercent(l.Now)),
			{Text: jobs.DriftPercent(l.Before), Ink: t.Muted},
			widget.C(jobs.DriftSparkline(l.History, bars)),
			{Text: cmp.Or(l.Type, "-"), Ink: t.Muted},
			says,
		}
	})
}

// Render draws the page at w by h.
func (p *Page) Render(w, h int) string {
	t := p.deps.Theme
	if p.detail.open {
		return p.renderDetail(w, h)
	}
	b := &p.board
	iw, ih := widget.Inner(w, h)
	if b.err != nil {
		return widget.Pane(t, "Drift", true, w, h, strings.Join(widget.Wrapped(kit.Ink{}, "The stored runs cannot be read: "+b.err.Error()+". "+t.Key("drift.reload")+" tries again, esc goes back.", iw-2), "\n"))
	}
	if !b.loaded {
		return widget.Pane(t, "Drift", true, w, h, "\n "+t.Muted.Render("reading the stored runs…"))
	}
	var foot []string
	if b.wrong != nil {
		foot = widget.WrappedTo(t.Warn, "! a contract is left out: "+oneLine(b.wrong), iw-2, max(3, ih/3))
	}
	if s, ok := p.selected(); ok {
		foot = append(foot, p.summary(s, iw-2, max(2, ih/4))...)
	}
	return widget.ScrollPane(t, p.title(), &b.table, true, w, h, widget.Stack(b.table.Render(t, true, iw, ih-len(foot)), strings.Join(widget.Indent(foot), "\n")))
}

// oneLine puts joined errors in one line.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

func (p *Page) title() string {
	dead, drifts := 0, 0
	for _, s := range p.board.standings {
		switch {
		case s.Dead():
			dead++
		case s.Verdict.State == jobs.DriftDrift:
			drifts++
		}
	}
	title := "Drift"
	if n := len(p.board.standings); n > 0 {
		title += " · " + text.Counted(n, "collector")
	}
	if drifts > 0 {
		title += fmt.Sprintf(" · %d with drift", drifts)
	}
	if dead > 0 {
		title += fmt.Sprintf(" · %d without useful rows", dead)
	}
	return title
}

// summary describes the selected collector's newest run in at most limit lines.
func (p *Page) summary(s jobs.DriftStanding, w, limit int) []string {
	t := p.deps.Theme
	var out []string
	if s.Dead() {
		out = widget.Wrapped(t.Bad, fmt.Sprintf("no useful row in the last %d runs, since %s: %s", s.Silent, text.ClockAndAge(s.Since, p.deps.Now()), model.ClassWord(s.SilentClass, s.SilentCause)), w)
		if s.SilentCause == model.CauseUnrecognised {
			out = append(out, widget.Wrapped(t.Muted, unrecognised(s.Run.Kind), w)...)
		}
	}
	if s.Incomplete != "" {
		out = append(out, widget.Wrapped(t.Warn, "! the result of "+s.Incomplete+" is incomplete and not judged; "+t.Key("jobs.download")+" in Jobs downloads it again", w)...)
	}
	for _, f := range s.Verdict.Findings {
		out = append(out, p.finding(f, w)...)
	}
	if len(out) == 0 {
		switch s.Verdict.State {
		case jobs.DriftFirst:
			out = widget.Wrapped(t.Muted, s.Verdict.First+": later runs are compared with it", w)
		case jobs.DriftGood:
			if s.Verdict.Accepted {
				return widget.Wrapped(t.Muted, "its newest run is accepted: later runs are compared with it", w)
			}
			out = widget.Wrapped(t.Muted, "nothing has changed since "+goodBefore(s.Verdict.Against), w)
		}
	}
	if len(out) > limit {
		out = append(out[:limit-1], t.Muted.Render("… enter shows all fields"))
	}
	return out
}

// goodBefore names the n good runs that something is compared with.
func goodBefore(n int) string {
	if n == 1 {
		return "the good run before"
	}
	return fmt.Sprintf("the %d good runs before", n)
}

// unrecognised says what unrecognised errors of a collector mean, and what to do.
func unrecognised(kind jobs.DriftKind) string {
	if kind == jobs.DriftTarget {
		return "unrecognised: no rule knows these answers. Look at one in History; a rule of your own in rules.toml can name it"
	}
	return "unrecognised: the console does not know these errors. The jobs show their text: look it up in the service's documentation"
}

func (p *Page) finding(f jobs.DriftFinding, w int) []string {
	t := p.deps.Theme
	if !f.Word.Alarm() {
		return widget.Wrapped(t.Muted, "· "+f.Text, w)
	}
	return widget.Wrapped(t.Warn, "! "+f.Text, w)
}

func (p *Page) renderDetail(w, h int) string {
	t, d := p.deps.Theme, &p.detail
	iw, ih := widget.Inner(w, h)
	words, ink := p.mark(d.Standing)
	head := widget.Wrapped(kit.Ink{}, fmt.Sprintf("%s · %d of %s useful in %s, %s", d.Run.Kind, d.Run.UsefulRows(), text.Counted(d.Run.Returned, "row"), text.Clean(d.Run.Ref), text.ClockAndAge(d.Run.At, p.deps.Now())), iw-2)
	head[0] = text.Cut(ink.Render(words)+"  "+head[0], iw-2)
	if a := d.Accepted; a.Seq > 0 {
		head = append(head, widget.Wrapped(t.Muted, fmt.Sprintf("normal since %s; accepted by %s at %s: %s", a.Ref, a.Person, text.ClockAndAge(a.At, p.deps.Now()), cmp.Or(a.Reason, "no reason was given")), iw-2)...)
	}
	if d.Run.Beyond {
		head = append(head, t.Muted.Render(text.Cut(fmt.Sprintf("it has more than %d fields: the others are not looked at", jobs.DriftMaxFields), iw-2)))
	}
	if d.wrong != nil {
		head = append(head, widget.Wrapped(t.Warn, "! a contract is left out: "+oneLine(d.wrong), iw-2)...)
	}
	var foot []string
	if l, ok := p.line(); ok {
		for _, f := range l.Findings {
			foot = append(foot, p.finding(f, iw-2)...)
		}
		if failure := l.Failure(); failure != "" {
			foot = append(foot, widget.Wrapped(t.Warn, "! "+failure, iw-2)...)
		}
		if len(l.Findings) == 0 {
			foot = widget.Wrapped(t.Muted, l.Field+" is as in "+goodBefore(l.Against), iw-2)
			switch {
			case !l.Requested:
				foot = widget.Wrapped(t.Muted, l.Field+": the newest fetch did not ask for it", iw-2)
			case d.Verdict.Accepted:
				foot = widget.Wrapped(t.Muted, l.Field+": the newest run is accepted; later runs are compared with it", iw-2)
			case l.Against == 0:
				foot = widget.Wrapped(t.Muted, l.Field+": no good run before", iw-2)
			}
		}
	}
	if most := max(2, ih/3); len(foot) > most {
		foot = append(foot[:most-1], t.Muted.Render("…"))
	}
	table := d.table.Render(t, true, iw, max(ih-len(head)-len(foot), 1))
	return widget.ScrollPane(t, "Drift · "+text.Clean(d.Run.Name), &d.table, true, w, h, widget.Stack(table, strings.Join(widget.Indent(append(foot, head...)), "\n")))
}
