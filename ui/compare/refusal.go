package compare

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// refusal sends a refused fetch with one thing changed: what refuses.
type refusal struct{ *Page }

// overlay is the page over a tab.
type overlay struct{ *Page }

// Intents of the comparison of a refusal.
type (
	sendProbes struct{}
	otherZone  struct{}
	otherKey   struct{}
	openProbe  struct{}
	leave      struct{}
)

// Refusal opens the overlay for a fetch that was refused, over the tab of the page.
func (p *Page) Refusal(subject model.FetchResult) tea.Cmd {
	o := overlay{New(p.deps)}
	o.at = kit.InOverlay(o)
	o.SetSession(p.session)
	preset := model.Preset{Kind: model.CompareRefusal, Subject: subject, Keys: p.session.Keys, Zones: p.session.Zones}
	g := model.NewRefusal(preset)
	g.Cells = g.Cells[:1] // the others are not chosen yet
	o.show(g, request{preset: preset})
	return kit.OpenOverlay(o)
}

// Init begins to plan.
func (o overlay) Init() tea.Cmd { return o.choose() }

// Title is the heading.
func (o overlay) Title() string              { return o.title() }
func (o overlay) Hidden() (above, below int) { return o.table.Hidden() }

// Size is what the table, the sentence and what is behind the selected row need.
func (o overlay) Size(w, h int) (int, int) { return min(112, w-4), min(15, h-4) }

// Render draws the sentence, the table, and what is behind the selected row.
func (o overlay) Render(w, h int) string {
	th := o.deps.Theme
	head := append(widget.Indent(o.lines(w-2)), "")
	_, details := o.details(w - 2)
	foot := widget.Foot(th, w, details[:min(len(details), 3)]...)
	o.above = len(head)
	table := o.table.Render(th, true, w, max(h-len(head)-len(foot), 2))
	return widget.Block(widget.Stack(strings.Join(head, "\n"), table, strings.Join(foot, "\n")), w, h)
}

// Update handles intents, motions and the mouse.
func (o overlay) Update(msg tea.Msg) tea.Cmd {
	if click, ok := msg.(tea.MouseClickMsg); ok {
		o.table.Click(click.Y - o.above)
		return nil
	}
	if _, ok := msg.(tea.MouseWheelMsg); ok {
		o.table.Update(msg)
		return nil
	}
	return o.Page.Update(msg)
}

// Bindings are the keys of the overlay, which has one pane.
func (o overlay) Bindings() []kit.Binding { return append(o.bindings(), widget.MotionBindings()...) }

// choose plans with the choices made so far. With the emulator, which charges nothing, it is sent at once.
func (p *Page) choose() tea.Cmd {
	return p.preview(p.request, func() tea.Cmd {
		if p.session.Local {
			return p.send()
		}
		return nil
	})
}

func (refusal) columns() []widget.Column {
	return []widget.Column{
		{Title: "FETCH", Width: 23},
		{Title: "DIFFERENT", Width: 16, Flex: true},
		{Title: "RESULT", Width: 19},
		{Title: "STATUS", Width: 6, Right: true, Priority: 2},
		{Title: "COST", Width: 8, Right: true, Priority: 1},
	}
}

// row is the refused fetch, or one of the others.
func (p refusal) row(i int) []widget.Cell {
	th, c := p.deps.Theme, p.grid.Cells[i]
	different, result, status := c.Different(), widget.Cell{Text: "· not yet", Ink: th.Muted}, "-"
	switch {
	case len(c.Runs) > 0:
		r := c.Runs[0]
		mark, ink := th.ClassMark(r.Class)
		result = widget.Cell{Text: mark + " " + model.ClassWord(r.Class, r.Cause), Ink: ink}
		if r.Status != 0 {
			status = strconv.Itoa(r.Status)
		}
	case c.Active:
		result = widget.Cell{Text: "● sending", Ink: th.Warn}
	case c.Problem != "":
		result = widget.Cell{Text: "- not sent", Ink: th.Muted}
	}
	if c.Label == model.LabelRefused {
		parts := []string{string(c.Zone.Name), c.Via.String()}
		if c.Key != "" {
			parts = append(parts, c.Key)
		}
		different = strings.Join(append(parts, p.grid.Base.URL), " · ")
	}
	return []widget.Cell{widget.C(c.Label.Text()), widget.C(different), result, widget.C(status), widget.C(p.price(c))}
}

func (p refusal) price(c model.Cell) string {
	cost, priced := p.grid.Price(c)
	switch {
	case c.Label == model.LabelRefused:
		return ""
	case c.Problem != "" && len(c.Runs) == 0:
		return "-"
	case !priced:
		return "unpriced"
	default:
		return model.SmallDollars(cost)
	}
}

func (refusal) title() string { return "What refuses: the key, the zone or the site?" }

// lines are what the operator is asked, or the answer.
func (p refusal) lines(w int) []string {
	th := p.deps.Theme
	switch {
	case p.problem != "" && !p.leaving:
		return widget.Hung(th.Bad.Render("✗ "), th.Text, p.problem, w)
	case p.leaving:
		return []string{th.Warn.Render("● ") + th.Text.Render("cancelling; esc closes at once")}
	case p.work.Running():
		return []string{th.Warn.Render("● ") + th.Text.Render("sending, one at a time; esc cancels")}
	case p.load.Running():
		return []string{th.Muted.Render("looking for another zone and another key…")}
	case !p.sent:
		return widget.Hung(th.KeyHint.Render("["+th.Key("refusal.send")+"] "), th.Text, "sends at most "+p.bill()+", one at a time, until the cause is clear. Each differs in one thing.", w)
	case p.verdict.Culprit == model.CulpritUnknown:
		return widget.Hung(th.Warn.Render("? "), th.Text, p.verdict.Text, w)
	default:
		return widget.Hung(th.Good.Render("✓ "), th.Text, p.verdict.Text, w)
	}
}

// bill is how many fetches there may be, and what they cost.
func (p refusal) bill() string {
	n := 0
	var spend model.Spend
	for _, c := range p.grid.Cells[1:] {
		if c.Problem == "" {
			n++
			spend.Add(p.grid.Price(c))
		}
	}
	return text.Counted(n, "request") + " (" + spend.String() + ")"
}

func (p refusal) details(int) (title string, out []string) {
	i, ok := p.cell()
	if !ok {
		return "", nil
	}
	run, sent := p.newest()
	if !sent {
		return "", []string{p.grid.Cells[i].Problem}
	}
	out = []string{run.Summary}
	for _, e := range run.Evidence {
		out = append(out, e.Text)
	}
	return "", out
}

// question is none: the overlay asks itself.
func (refusal) question(request, model.Grid) widget.ConfirmSpec { return widget.ConfirmSpec{} }

func (p refusal) ended(err error) tea.Cmd {
	if errors.Is(err, context.Canceled) {
		p.problem = ""
	}
	grew := kit.SendTo(kit.Sandbox, kit.HistoryGrew{})
	if p.leaving {
		return tea.Batch(grew, kit.CloseOverlay(overlay(p)))
	}
	return grew
}

func (p refusal) bindings() []kit.Binding {
	const group = "What refuses"
	preset := p.request.preset
	var out []kit.Binding
	if len(p.grid.Cells) > 1 && !p.sent && !p.load.Running() {
		send := kit.Binding{Name: "refusal.send", Keys: []string{"y"}, Label: "send them", Help: "Send them one at a time until the cause is clear.", Group: group, Intent: sendProbes{}, Disabled: p.problem}
		if !slices.ContainsFunc(p.grid.Cells[1:], func(c model.Cell) bool { return c.Problem == "" }) {
			send.Disabled = "there is nothing to compare with"
		}
		zone := kit.Binding{Name: "refusal.other-zone", Keys: []string{"o"}, Label: "other zone", Help: "Compare with the next zone.", Group: group, Intent: otherZone{}}
		if len(preset.OtherZones(preset.Subject.Request)) < 2 {
			zone.Disabled = "there is no other zone"
		}
		key := kit.Binding{Name: "refusal.another-key", Keys: []string{"a"}, Label: "another key", Help: "Compare with the next key of the inventory.", Group: group, Intent: otherKey{}}
		if len(preset.OtherKeys(preset.Subject.KeyName)) < 2 || preset.Subject.Request.Via == model.ViaNative {
			key.Disabled = "there is no other key"
		}
		out = append(out, send, zone, key)
	}
	if p.sent && !p.work.Running() {
		open := kit.Binding{Name: "refusal.open", Keys: []string{"enter"}, Label: "open", Help: "Show this fetch in the Sandbox. Nothing is sent.", Group: group, Intent: openProbe{}}
		if r, ok := p.newest(); !ok || r.FetchID == "" {
			open.Disabled = "it was not sent"
		}
		out = append(out, open)
	}
	end := kit.Binding{Name: "refusal.close", Keys: []string{"esc", "q"}, Label: "close", Help: "Close; what was sent stays in the history.", Group: group, Intent: leave{}}
	if p.work.Running() {
		end.Label, end.Help, end.Stops = "cancel", "Cancel what is under way, and close. The service may still count it.", true
	}
	return append(out, end)
}

func (sendProbes) do(p *Page) tea.Cmd { return p.send() }

func (otherZone) do(p *Page) tea.Cmd {
	preset := &p.request.preset
	preset.OtherZone = following(model.ZoneNames(preset.OtherZones(preset.Subject.Request)), p.different(model.LabelOtherZone))
	return p.choose()
}

func (otherKey) do(p *Page) tea.Cmd {
	preset := &p.request.preset
	preset.OtherKey = following(preset.OtherKeys(preset.Subject.KeyName), p.different(model.LabelOtherKey))
	return p.choose()
}

func (openProbe) do(p *Page) tea.Cmd {
	r, ok := p.newest()
	if !ok {
		return nil
	}
	return tea.Sequence(leave{}.do(p), kit.GotoTab(kit.Sandbox, kit.OpenFetch{ID: r.FetchID, Profile: p.grid.Profile}))
}

// do closes the overlay. What is being sent is cancelled, and waited for until it is in the
// history, or until one leaves once more.
func (leave) do(p *Page) tea.Cmd {
	o := overlay{p}
	switch {
	case !p.work.Running():
		p.load.Drop()
		return kit.CloseOverlay(o)
	case p.leaving:
		p.work.Drop()
		return tea.Batch(kit.SendTo(kit.Sandbox, kit.HistoryGrew{}), kit.CloseOverlay(o))
	}
	p.leaving = true
	p.work.Cancel()
	return nil
}

// different is what a cell of the plan differs in.
func (p *Page) different(l model.Label) string {
	for _, c := range p.grid.Cells {
		if c.Label == l {
			return c.Different()
		}
	}
	return ""
}

// following is the name after one, the first after the last.
func following(all []string, one string) string {
	if len(all) == 0 {
		return ""
	}
	return all[(slices.Index(all, one)+1)%len(all)]
}
