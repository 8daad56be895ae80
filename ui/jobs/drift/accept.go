package drift

import (
	"context"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"zonedeck/service/jobs"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// reason is recorded with each acceptance here.
const reason = "in the console"

// acceptRuns is the intent of the terms page.
type acceptRuns struct{ standing jobs.DriftStanding }

// accept accepts the newest run. If something would stay drift, it asks first.
func (p *Page) accept(s jobs.DriftStanding) tea.Cmd {
	if len(s.Remaining) == 0 {
		return p.acceptRuns(s)
	}
	return kit.OpenOverlay(newTerms(p.deps.Theme, s))
}

func (p *Page) acceptRuns(s jobs.DriftStanding) tea.Cmd {
	m := p.deps.Monitor
	return kit.Load(kit.Jobs, &p.work, p.deps.Ctx, func(ctx context.Context) (jobs.DriftStanding, error) {
		return m.Accept(ctx, s.Run.Kind, s.Run.Name, s.Run.Seq, reason)
	}, func(now jobs.DriftStanding, err error) tea.Cmd { return p.accepted(s.Run.Name, now, err) })
}

// accepted reports how a collector stands now.
func (p *Page) accepted(name string, s jobs.DriftStanding, err error) tea.Cmd {
	switch done := fmt.Sprintf("%s is the new normal of %s · %s undoes this", s.Run.Ref, s.Run.Name, p.deps.Theme.Key("drift.take-back")); {
	case err != nil:
		return p.ended(err, "accept "+name, "")
	case len(s.Remaining) > 0: // the contract changed after the question
		return tea.Batch(kit.Warn(fmt.Sprintf("%s. %s", done, stays(s.Remaining))), p.reload())
	default:
		return p.ended(nil, "", done)
	}
}

// terms is the page that says what stays drift if the newest run is accepted.
type terms struct {
	widget.Page
	standing        jobs.DriftStanding
	contract, fetch bool // what refuses the run
}

func newTerms(th *kit.Theme, s jobs.DriftStanding) *terms {
	t := &terms{standing: s}
	for _, f := range s.Remaining {
		t.contract, t.fetch = t.contract || f.Contract, t.fetch || !f.Contract
	}
	t.Page = widget.Page{
		Heading: "Accept " + text.Clean(s.Run.Name) + "?", Width: 76,
		Lines:   func(w int) []string { return widget.Indent(t.lines(th, w-2)) },
		Closing: kit.Binding{Name: "page.close", Keys: []string{"esc", "q"}, Label: "close", Help: "Change nothing.", Intent: kit.Close{}},
	}
	return t
}

// lines draws the page in lines of w cells.
func (t *terms) lines(th *kit.Theme, w int) []string {
	s := t.standing
	var out []string
	say := func(ink kit.Ink, format string, args ...any) {
		out = append(out, widget.Wrapped(ink, fmt.Sprintf(format, args...), w)...)
	}
	if changed := s.Changed(); len(changed) > 0 {
		say(th.Text, "Accepting %s makes this normal:", s.Run.Ref)
		for _, f := range changed {
			say(th.Muted, "· %s", f.Text)
		}
		out = append(out, "")
		say(th.Text, "This stays wrong, and %s is still drift:", s.Run.Ref)
	} else {
		say(th.Text, "Accepting %s would change nothing. Only this makes it drift:", s.Run.Ref)
	}
	for _, f := range s.Remaining {
		say(th.Warn, "! %s", f.Text)
	}
	out = append(out, "")
	both := t.contract && t.fetch
	if t.fetch {
		what := "it"
		if both {
			what = "some of it"
		}
		say(th.Text, "The fetch requires %s: %s opens it in the Sandbox, where you can change that. The next fetch without it can be accepted.", what, th.Key("accept.open"))
	}
	switch {
	case both:
		say(th.Text, "The contract asks for the rest: %s edits it.", th.Key("accept.edit"))
	case t.contract:
		say(th.Text, "The contract requires it: %s edits it.", th.Key("accept.edit"))
	}
	return out
}

// Guarded ignores keys for a moment: the key that opened the page may be held down.
func (t *terms) Guarded(string) bool { return true }

// Bindings are the keys of the terms page.
func (t *terms) Bindings() []kit.Binding {
	const group = "Accept"
	runs, e, o := "", "", ""
	if !t.contract {
		e = "no contract refuses it"
	}
	if !t.fetch {
		o = "the contract refuses it"
	}
	if len(t.standing.Changed()) == 0 {
		runs = "it does not differ from earlier runs, so accepting it changes nothing"
	}
	out := []kit.Binding{
		{Name: "accept.run", Keys: []string{"a"}, Label: "accept anyway", Help: "Accept the run and leave the contract as it is: the run stays drift.", Group: group, Intent: acceptRuns{t.standing}, Disabled: runs},
		{Name: "accept.edit", Keys: []string{"e"}, Label: "edit", Help: "Edit the contract in $EDITOR.", Group: group, Intent: contract{}, Disabled: e},
		{Name: "accept.open", Keys: []string{"o"}, Label: "open the fetch", Help: "Open the fetch in the Sandbox. Nothing is sent.", Group: group, Intent: openRun{}, Disabled: o},
	}
	return append(out, t.Page.Bindings()...)
}

// Update passes the choice to the page below.
func (t *terms) Update(msg tea.Msg) tea.Cmd {
	switch msg.(type) {
	case acceptRuns, contract, openRun:
		return tea.Sequence(kit.CloseOverlay(t), kit.SendTo(kit.Jobs, msg))
	}
	return t.Page.Update(msg)
}

// stays says why a collector stays drift.
func stays(left []jobs.DriftFinding) string {
	for _, f := range left {
		if f.Contract {
			return "Its contract still refuses it: " + f.Text
		}
	}
	return "The fetch still requires what it did not find: " + left[0].Text
}
