package rotation

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"zonedeck/keystore"
	"zonedeck/service/keys"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// fill sets the table's rows: the key itself, then what uses it.
func (p *Page) fill() {
	p.table.Columns = []widget.Column{
		{Title: "USES THE " + strings.ToUpper(p.noun()), Width: 16, Flex: true},
		{Title: "NOW", Width: 8},
	}
	for _, w := range keystore.RotationWords() {
		p.table.Columns = append(p.table.Columns, widget.Column{Title: strings.ToUpper(string(w)), Width: 9})
	}
	p.table.SetRows(1+len(p.users()), p.row)
}

func (p *Page) row(i int) []widget.Cell {
	name, now := "the "+p.noun()+" itself", p.valueNow(i)
	if i > 0 {
		name = p.users()[i-1].Name
	}
	out := []widget.Cell{widget.C(name), now}
	steps := p.steps(i)
	for _, w := range keystore.RotationWords() {
		out = append(out, p.cell(steps, w))
	}
	return out
}

// valueNow is the value that a row gives, by its last characters.
func (p *Page) valueNow(i int) widget.Cell {
	th, old, fresh := p.deps.Theme, "••••"+p.Plan.OldLast4, "••••"+p.Plan.NewLast4
	if p.Plan.OldLast4 == "" {
		old = "unknown"
	}
	if i == 0 {
		if p.Plan.NewLast4 == "" || p.Plan.Undone || p.Stop != nil && p.Stop.Value { // none, or one that was taken back or refused
			return widget.Cell{Text: old, Ink: th.Muted}
		}
		return widget.Cell{Text: fresh, Ink: th.Good}
	}
	set := func(s keystore.RotationStep) bool { return s.Kind == keystore.StepSet && s.Done }
	if !p.users()[i-1].InFlight && slices.ContainsFunc(p.steps(i), set) {
		return widget.Cell{Text: fresh, Ink: th.Good}
	}
	return widget.Cell{Text: old, Ink: th.Muted}
}

// cell is what is known of a word in a row: the last of its steps that is done, or the one that
// comes now.
func (p *Page) cell(steps []keystore.RotationStep, w keystore.RotationWord) widget.Cell {
	th := p.deps.Theme
	next, more := p.Step()
	var last keystore.RotationStep
	n, done := 0, 0
	for _, s := range steps {
		if s.Kind.Word() != w {
			continue
		}
		n++
		here := more && s.Kind == next.Kind && s.Subject == next.Subject
		switch {
		case s.Done:
			done++
			// A call is the better proof; of a finish the refusal, not what the watch called.
			if n == 1 || s.Kind != keystore.StepWatch && (s.Status != 0 || last.Status == 0) {
				last = s
			}
		case here && p.slot.Running():
			return widget.Cell{Text: "● …", Ink: th.Accent}
		case here && p.Stop != nil:
			return widget.Cell{Text: "! you", Ink: th.Warn}
		case here && (errors.Is(p.err, keys.ErrRotationRunning) || errors.Is(p.err, keystore.ErrRotationNow)):
			return widget.Cell{Text: "! busy", Ink: th.Warn}
		case here && errors.Is(p.err, errStopped):
			return widget.Cell{Text: "! stopped", Ink: th.Warn}
		case here && p.err != nil:
			return widget.Cell{Text: "✗ failed", Ink: th.Bad}
		case here:
			return widget.Cell{Text: "› next", Ink: th.Strong}
		}
	}
	switch {
	case n == 0:
		return widget.C("")
	case done < n && done == 0:
		return widget.Cell{Text: "·", Ink: th.Muted}
	case done < n:
		return widget.Cell{Text: fmt.Sprintf("%d of %d", done, n), Ink: th.Muted}
	}
	mark, ink := p.mark(last)
	if last.Status != 0 {
		mark += fmt.Sprintf(" %d", last.Status)
	}
	return widget.Cell{Text: mark + " " + p.timeOf(last), Ink: ink}
}

// mark is a done step's glyph: measured ones have a tick, vouched ones a wave.
func (p *Page) mark(s keystore.RotationStep) (string, kit.Ink) {
	if s.By == keystore.Measured {
		return "✓", p.deps.Theme.Good
	}
	return "~", p.deps.Theme.Note
}

// timeOf is the time of day of a step; narrow screens have no seconds.
func (p *Page) timeOf(s keystore.RotationStep) string {
	at := text.ShortClock(s.At, p.deps.Now())
	if p.width < kit.StackBelow && strings.Count(at, ":") == 2 {
		at = at[:strings.LastIndexByte(at, ':')]
	}
	return at
}

// Render draws the rotation in the whole tab: the table, and below it what comes now and the steps,
// where they are too many those of the row under the cursor.
func (p *Page) Render(w, h int) string {
	if p.width != w { // times are shorter on a narrow screen, and columns keep the width of what they showed
		p.width = w
		p.fill()
	}
	return p.panes.Draw(w, h, p.areas, p.pane)
}

// Panes of the page.
const (
	paneUses = iota
	paneSteps
)

// areas puts the table above the steps.
func (p *Page) areas(w, h int) []kit.Area {
	return widget.Stacked(w, h, min(9, h/2), []int{p.panes.At}, widget.Need{Pane: paneUses, Lines: len(p.users()) + 4}, widget.Need{Pane: paneSteps, Lines: h})
}

func (p *Page) pane(a kit.Area) string {
	th, on := p.deps.Theme, p.panes.At == a.Pane
	iw, ih := widget.Inner(a.W, a.H)
	if a.Pane == paneUses {
		return widget.ScrollPane(th, p.title(), &p.table, on, a.W, a.H, p.table.Render(th, on, iw, ih))
	}
	now, title := p.nowLines(iw-2), "Steps"
	lines := append(now, p.stepLines(p.Plan.Steps, iw-2)...)
	if len(lines) > ih { // those of the row
		title = p.rowTitle()
		lines = append(now[:len(now):len(now)], p.stepLines(p.steps(p.table.Cursor()), iw-2)...)
	}
	return p.scroll.Pane(th, title, on, a.W, a.H, lines)
}

func (p *Page) title() string {
	title := "Rotation of " + p.Plan.Named()
	if p.Plan.Zone == "" {
		title += " by " + string(p.Plan.Method)
	}
	switch {
	case p.Plan.Undone && !p.Plan.Over():
		return title + " · being taken back"
	case p.Plan.Undone:
		return title + " · taken back"
	case p.Plan.Abandoned:
		return title + " · given up"
	case p.Plan.Over():
		return title + " · done"
	}
	if !p.Begun() {
		return title + " · not begun"
	}
	measured, vouched := p.Plan.Count()
	return title + fmt.Sprintf(" · %d of %d steps", measured+vouched, len(p.Plan.Steps))
}

func (p *Page) rowTitle() string {
	if i := p.table.Cursor(); i > 0 && i <= len(p.users()) {
		return "Steps of " + p.users()[i-1].Name
	}
	return "Steps of the " + p.noun() + " itself"
}

// noun is what is rotated, in a word.
func (p *Page) noun() string {
	if p.Plan.Zone != "" {
		return "password"
	}
	return "key"
}

// nowLines say what comes now: what runs, what went wrong, what a person has to do.
func (p *Page) nowLines(w int) []string {
	th := p.deps.Theme
	step, more := p.Step()
	var out []string
	switch {
	case p.slot.Running() && more:
		out = widget.Hung(th.Accent.Render("● "), th.Accent, step.Name()+": "+step.Text+" …", w)
	case p.Stop != nil:
		out = widget.Hung(th.Warn.Render("! "), th.Warn, p.Stop.Error(), w)
		out = append(out, widget.Wrapped(th.Muted, p.looked+p.answers(), w)...)
	case errors.Is(p.err, errStopped):
		out = append(widget.Hung(th.Warn.Render("! "), th.Warn, p.err.Error(), w), widget.Wrapped(th.Muted, "enter continues from here.", w)...)
	case p.err != nil:
		out = widget.Hung(th.Bad.Render("✗ "), th.Bad, p.err.Error(), w)
		switch {
		case errors.Is(p.err, keystore.ErrRotationNow):
			out = append(out, widget.Wrapped(th.Muted, "esc goes back to the list, and "+th.Key("keys.rotate")+" shows that rotation.", w)...)
		case errors.Is(p.err, keys.ErrRotationRunning):
			out = append(out, widget.Wrapped(th.Muted, "Its progress is shown here. enter continues when it has ended.", w)...)
		case more:
			out = append(out, widget.Wrapped(th.Muted, "enter continues from here.", w)...)
		}
	case p.Plan.Over():
		out = append(widget.Wrapped(th.Strong, p.outcome()+".", w), p.useLines(w)...)
	case more:
		out = widget.Hung(th.Strong.Render("› "), th.Strong, todo(step), w)
		if p.Plan.Method == keystore.RotateByRefresh && step.Kind == keystore.StepRefresh {
			out = append(out, widget.Wrapped(th.Warn, text.CleanLines(p.Outage()), w)...)
		}
	}
	if more && step.Kind == keystore.StepDelete && p.WorkedByPerson() && !p.slot.Running() {
		if p.Stop == nil {
			out = append(out, widget.Wrapped(th.Muted, "Delete it in the account settings; enter then checks that it is refused.", w)...)
		}
		out = append(out, widget.Wrapped(th.Warn, p.Evidence(), w)...)
	}
	if p.tried.text != "" {
		out = append(out, widget.Hung(th.Good.Render("✓ "), th.Good, p.tried.text, w)...)
	}
	if p.tried.err != nil {
		out = append(out, widget.Hung(th.Bad.Render("✗ "), th.Bad, "the rehearsal failed; nothing real was written: "+p.tried.err.Error(), w)...)
	}
	return append(out, "")
}

// answers are the keys by which a person answers what the rotation waits for. Where the console cannot look,
// enter shows nothing new.
func (p *Page) answers() string {
	copies := p.deps.Theme.Key("rotation.copy-value") + " copies the new " + p.Plan.Value()
	vouches := p.deps.Theme.Key("rotation.vouch") + " vouches for it."
	switch step := p.Stop.Step; {
	case p.Stop.Value && p.Stop.Vouch:
		return "enter asks for the value; " + vouches
	case p.Stop.Value:
		return "enter asks for the value."
	case p.Stop.Vouch && step.Kind == keystore.StepSet:
		return copies + "; " + vouches
	case p.Stop.Vouch && step.Kind != keystore.StepDrain && step.Kind != keystore.StepWatch:
		return vouches
	case p.Stop.Vouch:
		return "enter looks again; " + vouches
	case step.Kind == keystore.StepSet:
		return "enter looks again; " + copies + "."
	}
	return "enter looks again."
}

// stepLines are steps with their proofs.
func (p *Page) stepLines(steps []keystore.RotationStep, w int) []string {
	th := p.deps.Theme
	var out []string
	for _, s := range steps {
		if !s.Done {
			out = append(out, widget.Hung(th.Muted.Render("[ ] "), th.Muted, todo(s), w)...)
			continue
		}
		mark, ink := p.mark(s)
		words := s.Name() + " · " + s.By.Label() + " " + text.Clock(s.At, p.deps.Now())
		if proof := s.Proof(); proof != "" {
			words += " · " + proof
		}
		out = append(out, widget.Hung(ink.Render("["+mark+"] "), ink, words, w)...)
	}
	return out
}

// todo is what is to be done at a step, and why it is open again if it was done before.
func todo(s keystore.RotationStep) string {
	words := s.Name() + ": " + s.Text
	if s.Note != "" {
		words += "; " + s.Note
	}
	return words
}
