package batches

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"zonedeck/model"
	"zonedeck/service/batch"
	"zonedeck/service/jobs"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// mark says where a batch is, with its glyph.
func (p *Page) mark(s batch.State) (words string, ink kit.Ink) {
	t := p.deps.Theme
	switch words = s.Condition(); {
	case s.State == batch.Running && s.Live:
		return "● " + words, t.Accent
	case s.State == batch.Done:
		return "✓ " + words, t.Good
	case s.State == batch.Paused && s.Reason == "":
		return "- " + words, t.Muted
	default:
		return "! " + words, t.Warn
	}
}

// name is what the operator calls a batch.
func name(s batch.State) string { return text.Clean(cmp.Or(s.Name, s.ID)) }

func count(n int64) string { return text.Count(int(n)) }

func (p *Page) fillBoard() {
	b := &p.board
	b.table.Columns = []widget.Column{
		{Title: "STATE", Width: 13},
		{Title: "BATCH", Width: 20, Flex: true},
		{Title: "ZONE", Width: 12, Flex: true, Priority: 2},
		{Title: "DONE", Width: 9, Right: true},
		{Title: "ITEMS", Width: 9, Right: true, Priority: 1},
		{Title: "OK", Width: 5, Right: true},
		{Title: "COST", Width: 8, Right: true},
		{Title: "AGE", Width: 4, Right: true, Priority: 3},
		{Title: "PROFILE", Width: 8, Priority: 4},
	}
	b.table.Empty = "no batches yet: " + p.deps.Theme.Key("batches.new") + " starts one from a file of addresses"
	t, all := p.deps.Theme, b.states
	b.table.SetRowsKeyed(len(all), func(i int) string { return all[i].ID }, func(i int) []widget.Cell {
		s := all[i]
		words, ink := p.mark(s)
		ok := "-"
		if s.Tally.Answered > 0 {
			ok = batch.Percent(s.Part(s.OK()))
		}
		return []widget.Cell{
			{Text: words, Ink: ink},
			widget.C(name(s)), widget.C(string(s.Plan.Request.Zone.Name)), widget.C(count(s.Tally.Answered)), widget.C(count(s.Wanted())),
			widget.C(ok), widget.C(model.CostWords(batch.Dollars(s.Spent), s.Plan.Price > 0)),
			{Text: text.Ago(s.Created, p.deps.Clock.Now()), Ink: t.Muted},
			{Text: s.Profile, Ink: t.Muted},
		}
	})
}

// Render draws the page at w by h.
func (p *Page) Render(w, h int) string {
	t, b := p.deps.Theme, &p.board
	if p.one.open {
		return p.renderOne(w, h)
	}
	iw, ih := widget.Inner(w, h)
	switch {
	case b.err != nil:
		return widget.Pane(t, "Batches", true, w, h, strings.Join(widget.Wrapped(kit.Ink{}, "The batches cannot be read: "+b.err.Error()+". "+t.Key("batches.reload")+" tries again, esc goes back.", iw-2), "\n"))
	case !b.loaded:
		return widget.Pane(t, "Batches", true, w, h, "\n "+t.Muted.Render("reading the batches…"))
	}
	var foot []string
	if s, ok := p.selected(); ok {
		if why := s.Obstacle(); why != "" {
			foot = widget.WrappedTo(t.Warn, "! "+s.Condition()+": "+why, iw-2, 2)
		}
		foot = append(foot, t.Muted.Render(text.Cut(fmt.Sprintf("%s · %s from %s", s.ID, s.Condition(), text.Clean(s.Plan.Source)), iw-2)))
	}
	return widget.ScrollPane(t, "Batches", &b.table, true, w, h, widget.Stack(b.table.Render(t, true, iw, ih-len(foot)), strings.Join(widget.Indent(foot), "\n")))
}

// mostWorkers bounds the workers that are shown.
const mostWorkers = 6

// tall is the height from which a batch shows its items beside its hosts, and more of its pace.
const tall = 30

func (p *Page) renderOne(w, h int) string {
	t, o := p.deps.Theme, &p.one
	iw, ih := widget.Inner(w, h)
	lines := p.head(iw - 2)
	lines = append(lines, p.classes(iw-2, h >= tall)...)
	lines = append(lines, "")
	lines = append(lines, p.facts(iw-2, h >= tall)...)
	lines = append(lines, "")
	if room := ih - len(lines); !o.byItem || h >= tall {
		if h >= tall && o.byItem {
			room = min(room, 8)
		}
		lines = append(lines, p.hosts(iw-2, room)...)
		if o.byItem {
			lines = append(lines, "")
		}
	}
	body := strings.Join(widget.Indent(lines[:min(len(lines), ih)]), "\n")
	if room := ih - len(lines); o.byItem && room > 0 {
		body = widget.Stack(body, p.renderItems(iw, room))
		return widget.ScrollPane(t, "Batch · "+name(o.State), &o.items.table, true, w, h, body)
	}
	return widget.Pane(t, "Batch · "+name(o.State), true, w, h, body)
}

// head says how far the batch is, and why it does not go on.
func (p *Page) head(w int) []string {
	t, s := p.deps.Theme, p.one.Progress
	words, ink := p.mark(s.State)
	all, done := s.Wanted(), s.Wanted()-s.Remaining()
	share := 1.0
	if all > 0 {
		share = float64(done) / float64(all)
	}
	right := fmt.Sprintf("%s of %s  ", count(done), count(all))
	left, known := s.ETA()
	if !known || w >= kit.StackBelow {
		right += bar(share, 10) + "  "
	}
	right += batch.Percent(100 * share)
	if known {
		right += ", about " + text.Duration(left.Round(roughly(left))) + " left"
	}
	zone := fmt.Sprintf("  %s by %s", text.Clean(string(s.Plan.Request.Zone.Name)), s.Plan.Request.Via)
	lines := []string{text.Edge(ink.Render(words)+t.Muted.Render(zone), right, w)}
	switch {
	case p.one.err != nil:
		lines = append(lines, widget.WrappedTo(t.Bad, "✗ it can no longer be watched: "+p.one.err.Error(), w, 3)...)
	case s.Fault != nil:
		lines = append(lines, widget.WrappedTo(t.Bad, "✗ work on it has stopped: "+s.Fault.Error(), w, 3)...)
	case s.Obstacle() != "":
		lines = append(lines, widget.WrappedTo(t.Warn, s.Condition()+": "+s.Obstacle(), w, 3)...)
	}
	return append(lines, "")
}

// roughly is how exactly it is said how long something takes.
func roughly(d time.Duration) time.Duration {
	if d >= 10*time.Minute {
		return time.Minute
	}
	return time.Second
}

// bar draws a share in w cells.
func bar(share float64, w int) string {
	full := max(0, min(w, int(share*float64(w)+0.5)))
	return strings.Repeat("▇", full) + strings.Repeat("░", w-full)
}

// classes are what became of the items, the most frequent first.
func (p *Page) classes(w int, tall bool) []string {
	t, s := p.deps.Theme, p.one.Progress
	most := 4
	if tall {
		most = 10
	}
	if s.Tally.Answered == 0 {
		return []string{t.Muted.Render("no item has a result yet")}
	}
	var lines []string
	var rest int64
	for i, v := range s.Verdicts() {
		n := s.Tally.Verdicts[v]
		if i >= most {
			rest += n
			continue
		}
		glyph, ink := t.OutcomeMark(v.Class, v.Cause)
		share := s.Part(n)
		line := ink.Render(text.Fit(glyph+" "+model.ClassWord(v.Class, v.Cause), 26)) + text.FitRight(count(n), 10) + text.FitRight(batch.Percent(share), 7)
		if room := min(30, w-45); room > 0 {
			line += "  " + ink.Render(strings.Repeat("▇", int(share*float64(room)/100+0.5)))
		}
		lines = append(lines, line)
	}
	if rest > 0 {
		lines = append(lines, t.Muted.Render(text.Fit("  others", 26)+text.FitRight(count(rest), 10)))
	}
	return lines
}

// facts are pace, speed, cost, what was lost, and the limits.
func (p *Page) facts(w int, tall bool) []string {
	t, s := p.deps.Theme, p.one.Progress
	var lines []string
	add := func(name, value string) { lines = append(lines, widget.Fact(t, name, value, w)...) }
	if !s.Over() {
		add("pace", cmp.Or(append(s.Paces, "")[0], "not held back"))
	}
	if tall && !s.Over() && len(s.Paces) > 1 {
		for _, before := range s.Paces[1:min(4, len(s.Paces))] {
			add("", before)
		}
	}
	var speed []string
	if s.Speed > 0 {
		speed = append(speed, fmt.Sprintf("%.1f/s", s.Speed))
	}
	if s.Flying > 0 { // as far as this process knows
		speed = append(speed, fmt.Sprintf("%d in flight", s.Flying))
	}
	if p50 := s.Tally.Percentile(0.5); p50 >= 0 {
		speed = append(speed, fmt.Sprintf("half within %s, 95 %% within %s", text.Duration(p50), text.Duration(s.Tally.Percentile(0.95))))
	}
	if len(speed) > 0 {
		add("speed", strings.Join(speed, " · "))
	}
	if top := slices.Max(append(slices.Clone(s.Speeds), 0)); tall && top > 0 {
		shares := slices.Clone(s.Speeds)
		for i := range shares {
			shares[i] /= top
		}
		add("", jobs.DriftSparkline(shares, w-12))
	}
	add("cost", s.CostWords())
	if n := s.Tally.Unanswered; n > 0 {
		lines = append(lines, t.Warn.Render(text.Cut(text.Fit("lost", 10)+batch.MaybeSent(n)+": "+t.Key("batches.lost")+" decides", w)))
	}
	if n := s.Tally.Again; n > 0 {
		add("again", batch.MaybeSent(n)+": sent again")
	}
	if n := s.Duplicates; n > 0 {
		add("rows", fmt.Sprintf("%s, %s of them duplicates, fetched once", count(s.Items), count(n)))
	}
	add("limits", s.LimitWords())
	for _, rule := range s.RuleWords() {
		add("rule", text.Clean(rule))
	}
	if tall {
		for _, zone := range s.ZoneWords() {
			add("through", text.Clean(zone))
		}
	}
	switch workers := s.WorkerWords(); {
	case tall:
		for _, worker := range workers[:min(len(workers), mostWorkers)] {
			add("worker", text.Clean(worker))
		}
	case len(workers) > 0:
		add("workers", fmt.Sprintf("%d, on %s: a taller window shows each", len(workers), text.Clean(s.OnServer)))
	}
	return lines
}

// hosts are the worst hosts with what to do, in at most h lines.
func (p *Page) hosts(w, h int) []string {
	t, s := p.deps.Theme, p.one.State
	each := 1
	if w < kit.StackBelow { // the step has a line of its own
		each = 2
	}
	worst := s.WorstHosts(max(0, h-1) / each)
	if len(worst) == 0 {
		return nil
	}
	row := func(host, ok, failed, main string) string {
		return text.Fit(host, w-36-60*(2-each)) + text.FitRight(ok, 8) + text.FitRight(failed, 8) + "  " + text.Fit(main, 18)
	}
	lines := []string{row("WORST HOSTS", "OK", "FAILED", "MAIN FAILURE")}
	if each == 1 {
		lines[0] += "NEXT STEP"
	}
	lines[0] = t.Strong.Render(lines[0])
	for _, host := range worst {
		h := s.Tally.Hosts[host]
		main, _ := h.Main()
		line, step := row(text.Clean(host), count(h.OK), count(h.Failures()), model.ClassWord(main.Class, main.Cause)), s.Step(host).Text
		if each == 1 {
			lines = append(lines, line+text.Cut(step, 60))
		} else {
			lines = append(lines, line, t.Muted.Render(text.Cut("  "+step, w)))
		}
	}
	return lines
}

func (p *Page) fillItems() {
	it, t := &p.one.items, p.deps.Theme
	it.table.Columns = []widget.Column{
		{Title: "ITEM", Width: 7, Right: true},
		{Title: "CLASS", Width: 16},
		{Title: "STATUS", Width: 6, Right: true, Priority: 2},
		{Title: "TIME", Width: 7, Right: true, Priority: 1},
		{Title: "TRIES", Width: 5, Right: true, Priority: 3},
		{Title: "URL", Width: 24, Flex: true},
	}
	it.table.Empty = "no item has a result yet"
	if it.failed {
		it.table.Empty = "no item has failed"
	}
	list, newest := it.list, it.table.Cursor() == 0
	it.table.SetRowsKeyed(len(list), func(i int) string { return fmt.Sprint(list[i].N) }, func(i int) []widget.Cell {
		line := list[i]
		class, cause := model.Class(line.Class), model.Cause(line.Cause)
		glyph, ink := t.OutcomeMark(class, cause)
		return []widget.Cell{
			widget.C(fmt.Sprint(line.N + 1)),
			{Text: glyph + " " + model.ClassWord(class, cause), Ink: ink},
			widget.C(fmt.Sprint(line.Status)),
			widget.C(milliseconds(line.MS)), widget.C(fmt.Sprint(line.Attempts)), widget.C(line.URL),
		}
	})
	if newest { // the first row is the newest one, whichever that is
		it.table.SetCursor(0)
	}
}

// milliseconds is how long something took, which was measured in whole ones.
func milliseconds(n int64) string {
	if n == 0 {
		return "<1 ms"
	}
	return text.Duration(time.Duration(n) * time.Millisecond)
}

func (p *Page) renderItems(w, h int) string {
	it, t := &p.one.items, p.deps.Theme
	switch {
	case it.err != nil:
		return strings.Join(widget.Indent(widget.WrappedTo(t.Bad, "✗ the results cannot be read: "+it.err.Error(), w-2, h)), "\n")
	case !it.loaded:
		return " " + t.Muted.Render("reading the results…")
	}
	return it.table.Render(t, true, w, h)
}
