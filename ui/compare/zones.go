package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service/history"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// zones compares zones and access methods: which to use.
type zones struct{ *Page }

// barWidth is how wide the bar of a cell's times is.
const barWidth = 17

func (p zones) columns() []widget.Column {
	out := []widget.Column{
		{Width: 2},
		{Title: "ZONE", Width: 12, Flex: true},
		{Title: "BY", Width: 6},
		{Title: "RESULT", Width: 14},
		{Title: "OK", Width: 7, Priority: 1},
		{Title: "TIME", Width: 7, Right: true},
		{Title: "1ST BYTE", Width: 8, Right: true, Priority: 4},
		{Title: "░ 1ST BYTE █ REST", Width: barWidth, Priority: 5},
		{Title: "STATUS", Width: 6, Right: true, Priority: 2},
		{Title: "SIZE", Width: 8, Right: true, Priority: 3},
		{Title: "PER 1000", Width: 8, Right: true},
	}
	if len(p.grid.Base.Required) > 0 {
		out = append(out, widget.Column{Title: "FIELDS", Width: 6})
	}
	return out
}

// row is a cell in one line. A diamond says that it is marked, a star that it is the winner.
func (p zones) row(i int) []widget.Cell {
	th, c := p.deps.Theme, p.grid.Cells[i]
	mark := ""
	if p.verdict.Winner == i && p.Running() == 0 {
		mark = "★"
	}
	if slices.Contains(p.marks, i) {
		mark += "◆"
	}
	out := []widget.Cell{{Text: mark, Ink: th.Accent}, widget.C(cmp.Or(string(c.Zone.Name), "agent access")), widget.C(c.Via.String())}
	typical, ran := c.Typical()
	say := func(words string, ink kit.Ink) []widget.Cell {
		return append(out, widget.Cell{Text: words, Ink: ink, Span: len(p.columns()) - 4})
	}
	switch {
	case c.Active:
		return say(fmt.Sprintf("● %d of %d …", len(c.Runs), p.grid.Repeat), th.Accent)
	case c.Problem != "" && !ran:
		return say("- "+c.Problem, th.Muted)
	case !ran:
		return say("- not sent", th.Muted)
	}
	glyph, ink := th.ClassMark(typical.Class)
	total, _ := c.Total()
	first, _ := c.FirstByte()
	bytes, _ := c.Bytes()
	status, begun := "-", "-"
	if typical.Status > 0 {
		status = strconv.Itoa(typical.Status)
	}
	if first >= 0 {
		begun = text.Duration(first)
	}
	out = append(out,
		widget.Cell{Text: glyph + " " + model.ClassWord(typical.Class, typical.Cause), Ink: ink}, widget.C(fmt.Sprintf("%d of %d", c.OK(), len(c.Runs))),
		widget.C(text.Duration(total)), widget.C(begun), widget.Cell{Text: p.bar(c), Ink: ink}, widget.C(status), widget.C(text.Bytes(bytes)), widget.C(costOf(c)))
	if n := len(p.grid.Base.Required); n > 0 {
		out = append(out, widget.C(fmt.Sprintf("%d of %d", c.Found(), n)))
	}
	return out
}

// costOf is what 1,000 runs of a cell cost.
func costOf(c model.Cell) string {
	if dollars, priced := c.Cost(); priced {
		return model.Dollars(dollars)
	}
	return "unpriced"
}

// bar is the median time of a cell, on one scale with the others'.
func (p zones) bar(c model.Cell) string {
	slowest := time.Duration(1)
	for _, o := range p.grid.Cells {
		if total, ok := o.Total(); ok {
			slowest = max(slowest, total)
		}
	}
	total, _ := c.Total()
	answered, _ := c.Answered()
	whole := int(total * barWidth / slowest)
	wait := min(max(int(answered*barWidth/slowest), 0), whole)
	return strings.Repeat("░", wait) + strings.Repeat("█", whole-wait)
}

func (p zones) title() string {
	g := p.grid
	title := "Comparison"
	if p.foreign() {
		title += " of profile " + g.Profile
	}
	title += " · " + g.Base.URL
	if len(g.Base.Required) > 0 {
		title += " · fields " + strings.Join(g.Base.Required, " ")
	}
	return title + " · " + text.Counted(max(g.Repeat, 1), "run")
}

// lines are the winner, or how far the comparison is.
func (p zones) lines(w int) []string {
	verdict := p.verdict.Text
	if n := p.Running(); n > 0 {
		verdict = fmt.Sprintf("%d of %s still running", n, text.Counted(len(p.grid.Cells), "cell"))
	} else if p.verdict.Winner >= 0 {
		verdict = "★ " + verdict
	}
	out := widget.Wrapped(kit.Ink{}, verdict, w)
	if p.loaded {
		when := widget.DateAndAge(p.session, p.grid.Profile, p.grid.Started, p.deps.Now())
		out = append(out, p.deps.Theme.Muted.Render(text.Cut("from history, "+when+", profile "+p.grid.Profile, w)))
	}
	return out
}

// details are what the table has no room for: what a cell's runs have in common, each of them, the
// evidence of the newest, and how its page begins.
func (p zones) details(w int) (title string, out []string) {
	i, ok := p.cell()
	if !ok {
		return "", nil
	}
	th, c := p.deps.Theme, p.grid.Cells[i]
	if c.Problem != "" {
		out = widget.Wrapped(th.Warn, "! "+c.Problem, w)
	}
	if len(c.Runs) > 0 {
		out = append(out, widget.Wrapped(kit.Ink{}, strings.Join(p.figures(c), " · "), w)...)
	}
	for n, r := range slices.Backward(c.Runs) {
		glyph, ink := th.ClassMark(r.Class)
		words := []string{"status unknown", text.Duration(r.Total), text.Bytes(r.Bytes)}
		if r.Status > 0 {
			words[0] = fmt.Sprintf("status %d", r.Status)
		}
		if required := len(p.grid.Base.Required); required > 0 {
			words = append(words, fmt.Sprintf("%d of %s", r.Found, text.Counted(required, "field")))
		}
		head := fmt.Sprintf("run %-3d ", n+1)
		verdict := glyph + " " + model.ClassWord(r.Class, r.Cause)
		out = append(out, th.Muted.Render(head)+ink.Render(verdict)+text.Cut(" · "+strings.Join(words, " · "), w-len(head)-text.Width(verdict)))
	}
	return c.Place(), append(out, p.pageLines(w)...)
}

// figures are what the runs of a cell have in common, in words.
func (p zones) figures(c model.Cell) []string {
	total, _ := c.Total()
	out := []string{fmt.Sprintf("%d of %d ok", c.OK(), len(c.Runs)), "median " + text.Duration(total)}
	if fastest, slowest, _ := c.Spread(); fastest < slowest {
		out = append(out, "from "+text.Duration(fastest)+" to "+text.Duration(slowest))
	}
	if first, _ := c.FirstByte(); first >= 0 {
		out = append(out, "first byte "+text.Duration(first))
	}
	bytes, _ := c.Bytes()
	cost := costOf(c)
	if _, priced := c.Cost(); priced {
		cost += " per 1000"
	}
	return append(out, text.Bytes(bytes), cost)
}

// looked is the newest fetch of the cell under the cursor, and how its page begins.
type looked struct {
	id     string // of the fetch
	done   bool
	answer history.Answer
	err    error
}

// lookBytes is how much of a body is read to show how the page begins.
const lookBytes = 16 << 10

// Look reads the newest fetch of the cell under the cursor, unless it has been read. The tab calls
// it after each message.
func (p *Page) Look() tea.Cmd {
	run, ok := p.newest()
	if !p.open || !ok || run.FetchID == "" || run.FetchID == p.lookup.id {
		return nil
	}
	p.lookup = looked{id: run.FetchID}
	from := p.deps.History
	return kit.Load(p.at, &p.look, p.deps.Ctx, func(ctx context.Context) (history.Answer, error) {
		return from.Answer(ctx, run.FetchID, lookBytes)
	}, func(a history.Answer, err error) tea.Cmd {
		p.lookup = looked{id: run.FetchID, done: true, answer: a, err: err}
		return nil
	})
}

// pageLines are the evidence of the newest fetch of the cell under the cursor, and how its page begins.
func (p zones) pageLines(w int) []string {
	th, l := p.deps.Theme, p.lookup
	if run, ok := p.newest(); !ok || !l.done || run.FetchID != l.id || errors.Is(l.err, context.Canceled) {
		return nil
	}
	out := []string{""}
	if l.err != nil {
		return append(out, widget.Wrapped(th.Warn, "! the newest fetch: "+oneLine(l.err), w)...)
	}
	if s := l.answer.Result.Diagnosis.Summary; s != "" {
		out = append(out, widget.Wrapped(th.Strong, s, w)...)
	}
	evidence := kit.Weighed(l.answer.Result.Diagnosis)
	for _, e := range evidence[:min(len(evidence), 4)] {
		out = append(out, text.Cut(th.Muted.Render("evidence")+"  "+strings.ReplaceAll(e.Kind, "_", " ")+": "+text.Clean(e.Text), w))
	}
	if l.answer.Result.Body.Size > 0 {
		const head = "╶ the page begins "
		out = append(out, th.Border.Render(head+strings.Repeat("─", max(w-text.Width(head), 0))))
		for line := range strings.Lines(string(l.answer.Body)) {
			out = append(out, text.Cut(text.Clean(strings.TrimRight(line, "\r\n")), w))
		}
	}
	return out
}

// question is asked before what was compared is sent once more.
func (p zones) question(r request, g model.Grid) widget.ConfirmSpec {
	body := p.doubts(r, g)
	if bill := p.bill(g); !p.session.Local && bill != "" {
		body = append(body, bill)
	}
	return widget.ConfirmSpec{Title: "Compare " + text.Counted(len(zonesOf(g)), "zone") + "?", Body: strings.Join(body, "\n\n"), Yes: "send them"}
}

// doubts are whether a request of another profile is meant, and what may be wrong with the key.
func (p zones) doubts(r request, g model.Grid) (out []string) {
	if r.from != "" {
		out = append(out, fmt.Sprintf("This request was sent with profile %s. The zones and the key come from profile %s.", r.from, p.session.ProfileName))
	}
	byAPI := slices.ContainsFunc(g.Cells, func(c model.Cell) bool { return c.Via == model.ViaAPI })
	if doubt := p.deps.Keys.Doubt(r.base.Key); doubt != "" && byAPI {
		out = append(out, doubt)
	}
	return out
}

// bill is how many requests a comparison sends, and what they cost; empty where it sends none.
func (p zones) bill(g model.Grid) string {
	page := int64(100_000) // bytes, as many pages have
	if sameTarget(g.Base, p.grid.Base) {
		page = p.pageBytes(page)
	}
	var zones []model.Zone
	agent := ""
	for _, c := range g.Cells {
		if c.Problem != "" {
			continue
		}
		if zones = append(zones, c.Zone); c.Via == model.ViaAgent {
			agent = fmt.Sprintf(" (%d by agent access)", g.Repeat)
		}
	}
	if len(zones) == 0 {
		return ""
	}
	return fmt.Sprintf("Sends %s at once%s with profile %s. %s", text.Counted(len(zones)*g.Repeat, "request"), agent, p.session.ProfileName, p.price(g.Repeat, page, zones))
}

// zonesOf are the zones of a comparison, each once; agent access has none.
func zonesOf(g model.Grid) []model.Zone {
	var out []model.Zone
	for _, c := range g.Cells {
		if c.Via != model.ViaAgent && !slices.ContainsFunc(out, func(z model.Zone) bool { return z.Name == c.Zone.Name }) {
			out = append(out, c.Zone)
		}
	}
	return out
}

// chosen are the zones and methods of a comparison, with so many runs of each.
func chosen(g model.Grid, runs int) model.Preset {
	out := model.Preset{Zones: append([]model.Zone{}, zonesOf(g)...), Repeat: runs}
	for _, c := range g.Cells {
		if !slices.Contains(out.Ways, c.Via) {
			out.Ways = append(out.Ways, c.Via)
		}
	}
	return out
}

func (p zones) ended(err error) tea.Cmd {
	p.problem = ""
	var fault tea.Cmd
	if err != nil && !errors.Is(err, context.Canceled) {
		fault = kit.Fail(oneLine(err))
	}
	return tea.Batch(fault, kit.SendTo(p.deps.View, kit.HistoryGrew{}))
}

// ShowFor opens the comparison of a request, if there is one with its zone on screen already; running says that it
// is another one, which has not ended.
func (p *Page) ShowFor(r model.FetchRequest) (shown, running bool) {
	same := p.grid.Profile == p.session.ProfileName && sameTarget(p.grid.Base, r) && p.cellBy(r.Zone.Name, r.Via) >= 0
	if len(p.grid.Cells) == 0 || !same && p.Running() == 0 {
		return false, false
	}
	p.open = true
	return true, !same
}

// Compare asks by which zones and methods a request is to be sent. from is the profile that it was sent with, if that
// is another one.
func (p *Page) Compare(r model.FetchRequest, from string) tea.Cmd {
	return p.try(request{base: r, from: from, preset: model.Preset{Repeat: 1}})
}

// sameTarget reports whether two requests differ in no more than zone, access method and
// retries.
func sameTarget(a, b model.FetchRequest) bool {
	a.Zone, a.Via, a.Retries = b.Zone, b.Via, b.Retries
	a.Format, b.Format = cmp.Or(a.Format, model.FormatRaw), cmp.Or(b.Format, model.FormatRaw)
	return reflect.DeepEqual(a, b)
}

// Load shows a comparison of the history, made with a profile, and asks for the form to hold its
// request by the winner, or without one by a zone. Nothing is sent.
func (p *Page) Load(id, profile string, zone model.ZoneName) tea.Cmd {
	from := p.deps.History
	return kit.Load(p.at, &p.load, p.deps.Ctx, func(ctx context.Context) (model.Grid, error) {
		return from.LoadComparison(ctx, id)
	}, func(g model.Grid, err error) tea.Cmd {
		switch {
		case errors.Is(err, context.Canceled):
			return nil
		case err == nil && len(g.Cells) == 0:
			err = errors.New("it has no cells")
		}
		switch {
		case err != nil:
			return kit.Fail("Comparison " + id + " could not be opened: " + err.Error())
		case p.Running() > 0:
			return kit.Warn("Another comparison is still running: open this one when it has ended.")
		}
		g.Profile = profile
		p.show(g, request{base: g.Base})
		p.sent, p.loaded = true, true
		at := p.verdict.Winner
		if at < 0 {
			at = max(p.cellBy(zone, g.Base.Via), 0)
		}
		fill := p.fillOf(at)
		fill.Loaded = true
		return kit.SendTo(p.deps.View, fill)
	})
}

// Show opens the page with what it showed last.
func (p *Page) Show() { p.open = true }

// fillOf is the request of the comparison by one of its cells.
func (p *Page) fillOf(i int) Fill {
	r := p.grid.Base
	r.Zone, r.Via = p.grid.Cells[i].Zone, p.grid.Cells[i].Via
	return Fill{Request: r, Profile: p.grid.Profile}
}

// foreign reports whether the comparison was made with another profile.
func (p *Page) foreign() bool {
	return p.grid.Profile != "" && p.session.ProfileName != "" && p.grid.Profile != p.session.ProfileName
}

// whyNotAgain returns the reason why the comparison on screen cannot be sent again, or "".
func (p *Page) whyNotAgain() string {
	switch {
	case p.Running() > 0:
		return "cells are still running; " + p.deps.Theme.Key("compare.cancel") + " cancels one"
	case p.foreign():
		return "it was made with profile " + p.grid.Profile
	}
	for name, values := range p.grid.Base.Header {
		if slices.Contains(values, model.Masked) {
			return "the journal does not keep the value of " + name + ": type it in the form, and compare that"
		}
	}
	if u, err := model.ParseTarget(p.grid.Base.URL); err != nil || u.User != nil {
		return "the journal does not keep the login in the address"
	}
	return ""
}
