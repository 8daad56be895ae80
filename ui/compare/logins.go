package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service/history"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// loginCalls is how many calls each zone gets.
const loginCalls = 3

// logins compares the proxy logins of zones: which work, and what has changed since the baseline.
type logins struct{ *Page }

// baseline is the comparison of logins that later ones of the profile are compared with.
type baseline struct {
	slot kit.Slot // it is read or written
	last model.Baseline
	have bool
}

// Intents of a comparison of logins.
type (
	testLogins   struct{}
	keepBaseline struct{ replace bool } // after the question
	stopCalls    struct{}
	openLogin    struct{}
)

// Logins shows the zones with native access and the baseline. Nothing is sent: page is what would be
// fetched.
func (p *Page) Logins(page string) tea.Cmd {
	if p.grid.Kind != model.CompareLogins {
		r := request{preset: model.Preset{Kind: model.CompareLogins, Repeat: loginCalls}}
		p.show(model.Grid{Kind: model.CompareLogins, Repeat: loginCalls}, r)
	}
	p.open, p.request.base.URL = true, page
	b, from, profile := &p.base, p.deps.History, p.session.ProfileName
	read := kit.Load(p.at, &b.slot, p.deps.Ctx, func(ctx context.Context) (model.Baseline, error) {
		return from.LoadBaseline(ctx, profile)
	}, func(kept model.Baseline, err error) tea.Cmd {
		if b.last, b.have = kept, err == nil; err != nil && !errors.Is(err, history.ErrNone) {
			return kit.Fail("the baseline: " + err.Error())
		}
		return nil
	})
	if p.sent {
		return read
	}
	return tea.Batch(read, p.preview(p.request, func() tea.Cmd { return nil }))
}

func (p logins) columns() []widget.Column {
	return []widget.Column{
		{Title: "ZONE", Width: 14, Flex: true},
		{Title: "RESULT", Width: 14},
		{Title: "OK", Width: 6},
		{Title: "TCP", Width: 6, Priority: 2},
		{Title: "CONNECT", Width: 7},
		{Title: "TLS", Width: 7},
		{Title: "MEDIAN", Width: 6},
		{Title: "EXITS", Width: 6},
		{Title: "IN", Width: 8, Priority: 1},
		{Title: "SIGNED BY", Width: 16, Flex: true, Priority: 3},
	}
}

func (p logins) row(i int) []widget.Cell {
	t, c := p.deps.Theme, p.grid.Cells[i]
	r := c.LoginRow()
	name := widget.Cell{Text: string(r.Zone), Ink: t.Strong}
	switch {
	case r.Made == 0 && c.Active:
		return []widget.Cell{name, {Text: "● calling", Ink: t.Accent}}
	case r.Made == 0 && r.Problem == "" && !p.sent:
		return []widget.Cell{name, {Text: "not tested", Ink: t.Muted}}
	case !r.Ran():
		return []widget.Cell{name, {Text: "- not called", Ink: t.Muted}}
	}
	mark, ink := t.ClassMark(r.Class)
	trust := t.Text
	if r.Trust == model.ChainUntrusted || r.Trust == model.ChainUnchecked {
		trust = t.Warn
	}
	return []widget.Cell{
		name,
		{Text: mark + " " + model.ClassWord(r.Class, r.Cause), Ink: ink},
		widget.C(fmt.Sprintf("%d/%d", r.OK, p.grid.Repeat)),
		widget.C(text.Duration(r.Connect)), widget.C(fmt.Sprint(r.ConnectStatus)),
		{Text: cmp.Or(string(r.Trust), "-"), Ink: trust},
		widget.C(text.Duration(r.Median)), widget.C(fmt.Sprintf("%d/%d", r.Unique, r.Known)), widget.C(cmp.Or(strings.Join(r.Countries, " "), "-")),
		{Text: cmp.Or(r.Root, "-"), Ink: t.Muted},
	}
}

func (p logins) title() string {
	return fmt.Sprintf("Logins · %s with native access · %s each", text.Counted(len(p.grid.Cells), "zone"), text.Counted(p.grid.Repeat, "call"))
}

// lines are the verdict, or what is to be done.
func (p logins) lines(w int) []string {
	t := p.deps.Theme
	var out []string
	if p.problem != "" {
		out = widget.Wrapped(t.Warn, "! "+p.problem, w)
	}
	switch {
	case p.work.Running():
		out = append(out, p.elapsed())
	case p.sent:
		words := p.verdict.Text
		if spent := p.grid.Spend(); spent != (model.Spend{}) {
			words += " · " + spent.String()
		}
		out = append(out, widget.Wrapped(t.Strong, words+" · "+text.ClockAndAge(p.grid.Started, p.deps.Now()), w)...)
	case p.problem == "":
		out = widget.Wrapped(t.Muted, fmt.Sprintf("%s makes %d calls to each zone with native access, all at once within the limits", t.Key("logins.test"), loginCalls), w)
	}
	return out
}

// details compare with the baseline and say more of the zone under the cursor.
func (p logins) details(w int) (title string, out []string) {
	t, b := p.deps.Theme, p.base
	switch when := text.ClockAndAge(b.last.Started, p.deps.Now()); {
	case !b.have:
		out = widget.Wrapped(t.Muted, "profile "+p.session.ProfileName+" has no baseline yet: "+t.Key("logins.baseline")+" keeps a test of all logins as the baseline", w)
	case !p.sent || p.work.Running():
		out = widget.Wrapped(t.Muted, "baseline from "+when+": "+b.last.Verdict(), w)
	default:
		out = p.changeLines(w, when)
	}
	if at, ok := p.cell(); ok {
		out = append(append(out, ""), p.zoneLines(p.grid.Cells[at].LoginRow(), w)...)
	}
	return "Against the baseline", out
}

// changeLines are the differences from the baseline.
func (p logins) changeLines(w int, when string) []string {
	t := p.deps.Theme
	changes := model.CompareBaseline(p.base.last, p.grid.Baseline())
	if len(changes) == 0 {
		return widget.Wrapped(t.Good, "✓ nothing differs from the baseline from "+when, w)
	}
	out := widget.Wrapped(t.Muted, "since the baseline from "+when+":", w)
	for _, c := range changes {
		ink := t.Note
		switch c.Kind {
		case model.ChangeWorse:
			ink = t.Bad
		case model.ChangeBetter:
			ink = t.Good
		}
		head := ink.Render(text.Fit(string(c.Kind), 8)) + t.Strong.Render(text.Fit(text.Clean(string(c.Zone)), 22)) + " "
		out = append(out, widget.Hung(head, t.Text, c.Text, w)...)
	}
	return out
}

// zoneLines say what the table has no room for.
func (p logins) zoneLines(r model.LoginRow, w int) []string {
	t := p.deps.Theme
	out := widget.Wrapped(t.Strong, string(r.Zone)+" · "+r.Product.Label(), w)
	switch {
	case r.Problem != "":
		return append(out, widget.Wrapped(t.Muted, r.Problem, w)...)
	case r.Class != model.ClassOK && r.Summary != "":
		out = append(out, widget.Wrapped(t.Text, r.Summary, w)...)
	}
	if r.Code != "" {
		out = append(out, widget.Fact(t, "reason", model.CodeText(r.Code, r.Reason), w)...)
	}
	if r.Root != "" {
		out = append(out, widget.Fact(t, "signed by", r.Root, w)...)
	}
	if r.Spend != (model.Spend{}) {
		out = append(out, widget.Fact(t, "cost", r.Spend.String()+" for "+text.Counted(r.Made, "call"), w)...)
	}
	return out
}

func (p logins) question(_ request, g model.Grid) widget.ConfirmSpec {
	spec := widget.ConfirmSpec{Title: "Test every zone?", Yes: "test them"}
	if list := zonesOf(g); !p.session.Local {
		spec.Body = fmt.Sprintf("%s to each of %s. %s", text.Counted(g.Repeat, "call"), text.Counted(len(list), "zone"), p.PriceWords(g.Repeat, list...))
	}
	return spec
}

func (p logins) ended(err error) tea.Cmd {
	if err == nil || errors.Is(err, context.Canceled) {
		return nil
	}
	return kit.Fail(string(p.grid.Kind) + ": " + p.problem)
}

func (p logins) bindings() []kit.Binding {
	const group = "Comparison"
	return []kit.Binding{
		{Name: "logins.test", Keys: []string{"t", "ctrl+t", "f5"}, Label: "test every zone", Help: fmt.Sprintf("Make %d calls to each zone with native access, all at once within the limits.", loginCalls), Group: group, Intent: testLogins{}, Disabled: p.whyNotTest(), Dangerous: true},
		{Name: "logins.baseline", Keys: []string{"C"}, Label: "keep as baseline", Help: "Keep this test as the baseline for later tests of this profile.", Group: group, Intent: keepBaseline{}, Disabled: p.whyNotKeep(), Dangerous: true},
		p.cancelOrClose(),
		{Name: "logins.open", Keys: []string{"enter"}, Label: "login of the zone", Help: "Compose the login of the zone under the cursor.", Group: group, Intent: openLogin{}},
	}
}

// cancelOrClose stops the calls, or closes the page.
func (p logins) cancelOrClose() kit.Binding {
	if p.work.Running() {
		return kit.Binding{Name: "logins.stop", Keys: []string{"esc"}, Label: "stop", Help: "Stop the calls.", Group: "Comparison", Intent: stopCalls{}, Stops: true}
	}
	return kit.Binding{Name: "logins.back", Keys: []string{"esc"}, Label: "back", Help: "Go back to the login.", Group: "Comparison", Intent: closePage{}}
}

// whyNotTest says why the logins cannot be tested now, or is empty.
func (p logins) whyNotTest() string {
	switch why := p.session.NotReady(); {
	case p.work.Running():
		return "the zones are being tested: esc stops it"
	case why != "":
		return why
	case !p.sent && p.problem != "":
		return p.problem
	}
	return ""
}

func (p logins) whyNotKeep() string {
	switch {
	case p.work.Running():
		return "the zones are being tested"
	case !p.sent || p.problem != "":
		return "test the zones first"
	case p.base.slot.Running():
		return "the baseline is being read or written"
	}
	return ""
}

func (testLogins) do(p *Page) tea.Cmd { return p.try(p.request) }

func (stopCalls) do(p *Page) tea.Cmd { //nolint:unparam // an intent
	p.Stop()
	return nil
}

func (openLogin) do(p *Page) tea.Cmd {
	at, ok := p.cell()
	if !ok {
		return nil
	}
	return kit.SendTo(p.deps.View, Login{Zone: string(p.grid.Cells[at].Zone.Name)})
}

// do keeps the first baseline at once, and asks before it replaces one.
func (i keepBaseline) do(p *Page) tea.Cmd {
	b := &p.base
	if b.have && !i.replace {
		return widget.Confirm(p.deps.Theme, widget.ConfirmSpec{
			Title: "Replace the baseline?",
			Body:  fmt.Sprintf("Profile %s has a baseline from %s, of %s. Replacing it cannot be undone.", b.last.Profile, text.Clock(b.last.Started, p.deps.Now()), text.Counted(len(b.last.Rows), "zone")),
			Yes:   "replace it", View: p.deps.View, Intent: keepBaseline{replace: true},
		})
	}
	to, now := p.deps.History, p.grid.Baseline()
	return kit.Load(p.at, &b.slot, p.deps.Ctx, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, to.KeepBaseline(ctx, now)
	}, func(_ struct{}, err error) tea.Cmd {
		if err != nil {
			return kit.Fail("the baseline was not kept: " + err.Error())
		}
		b.last, b.have = now, true
		return kit.Info("kept as the baseline of profile " + now.Profile + " · later tests are compared with it")
	})
}

// exits makes calls by one login and counts their exits: whether it changes. Its row is that of a
// comparison of logins.
type exits struct{ logins }

// usualCalls is how many calls are offered.
const usualCalls = 20

// Exits asks for how many calls by a login, says what they cost, and makes them.
func (p *Page) Exits(base model.FetchRequest, params []model.Param, session string) tea.Cmd {
	form := widget.NewForm(p.deps.Theme, widget.Field{
		Name: "calls", Label: "Calls", Value: strconv.Itoa(usualCalls), Help: fmt.Sprintf("One after the other, at most %d.", model.MaxExitCalls), Check: checkCalls(model.MaxExitCalls),
	})
	d := widget.NewFormDialog(p.deps.Theme, "Count the exits", form)
	intro := func() {
		n, _ := callsOf(form.Value("calls"), model.MaxExitCalls)
		how := "without a session, each on its own connection"
		if session != "" {
			how = "all in session " + session
		}
		d.Intro = fmt.Sprintf("Zone %s: %s %s. %s", text.Clean(string(base.Zone.Name)), text.Counted(n, "call"), how, p.PriceWords(n, base.Zone))
	}
	intro()
	d.Submit = "count"
	d.OnChange = func(*widget.Form) { intro() }
	d.OnSubmit = func(f *widget.Form) tea.Cmd {
		r := request{base: base, preset: model.Preset{Kind: model.CompareExits, Params: params, Session: session}}
		r.preset.Repeat, _ = callsOf(f.Value("calls"), model.MaxExitCalls)
		return tea.Sequence(kit.CloseOverlay(d), kit.Send(kit.Call(p.at, func() tea.Cmd { return p.try(r) })))
	}
	return kit.OpenOverlay(d)
}

func (p exits) title() string {
	c := p.grid.Cells[0]
	title := fmt.Sprintf("Exits of %s · %d of %s", text.Clean(string(c.Zone.Name)), len(c.Runs), text.Counted(p.grid.Repeat, "call"))
	if c.Session != "" {
		title += " · session " + c.Session
	}
	return title
}

func (p exits) lines(w int) []string {
	t, c := p.deps.Theme, p.grid.Cells[0]
	var out []string
	if len(c.Runs) > 0 {
		out = widget.Wrapped(t.Text, p.verdict.Text, w)
	}
	if p.work.Running() {
		out = append(out, p.elapsed())
	}
	if ended := cmp.Or(p.problem, c.Ended); ended != "" {
		out = append(out, widget.Wrapped(t.Warn, "! ended early: "+ended, w)...)
	}
	return out
}

// details are the exits, and what the calls have in common.
func (p exits) details(w int) (title string, out []string) {
	t, c := p.deps.Theme, p.grid.Cells[0]
	out = p.zoneLines(c.LoginRow(), w)
	for _, e := range c.Exits() {
		out = append(out, t.Muted.Render(text.Cut(fmt.Sprintf("%s ×%d", text.Clean(e.Address), e.Calls), w)))
	}
	return "Exits", out
}

// question is none: the dialog that asked for the number of calls has said what they cost.
func (exits) question(request, model.Grid) widget.ConfirmSpec { return widget.ConfirmSpec{} }

func (p exits) bindings() []kit.Binding { return []kit.Binding{p.cancelOrClose()} }
