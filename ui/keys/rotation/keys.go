package rotation

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/rotate"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// Intents of the page's keys.
type (
	closePage  struct{}
	goOn       struct{ sure bool }
	cancelRun  struct{}
	rehearse   struct{}
	giveValue  struct{}
	vouchFor   struct{}
	giveUp     struct{ sure bool }
	showReport struct{}
	saveReport struct{}
	copyValue  struct{}
)

// Bindings are the keys of the rotation on screen.
func (p *Page) Bindings() []kit.Binding {
	const group = "Rotation"
	busy, over := "", ""
	if p.slot.Running() {
		busy = "a step is being taken: esc stops it"
	}
	step, more := p.next()
	if !more {
		over = "the rotation is over"
	}
	either := busy
	if either == "" {
		either = over
	}
	label := "go on"
	if more {
		label = string(step.Kind.Word())
	}
	enter := kit.Binding{Keys: []string{"enter"}, Label: label, Help: "Take the steps of the next word, as far as the console can: it ends where a person is needed, and says what to do.", Group: group, Intent: goOn{}, Disabled: either, Dangerous: more && p.ends(step)}
	switch {
	case p.stop != nil && p.stop.Value:
		enter.Label, enter.Intent = "give the value", giveValue{}
	case p.stop != nil:
		enter.Label = "look again"
	}
	if p.finished() {
		enter = kit.Binding{Keys: []string{"enter"}, Label: "look for uses", Help: "Look for uses of the old " + p.plan.Value() + " since the rotation ended.", Group: group, Intent: lookLate{}, Disabled: busy}
		if p.late.slot.Running() {
			enter.Disabled = "it is being looked for"
		}
	}
	leave := kit.Binding{Keys: []string{"esc"}, Label: "back", Help: "Go back to the list. R comes back, o once it is over.", Group: group, Intent: closePage{}}
	if p.plan.Zone != "" {
		leave.Help = "Go back to the list. R in Proxy comes back."
	}
	unwritten, quit := "", either
	if p.begin != nil {
		unwritten = "nothing was begun: the first step writes the record"
		quit = cmp.Or(either, unwritten)
	}
	if busy != "" {
		leave.Label, leave.Help, leave.Intent = "stop", "Stop what is under way. What was done stands in the record.", cancelRun{}
	}
	vouch := either
	if vouch == "" && (p.stop == nil || !p.stop.Vouch) {
		vouch = "this step is measured: nobody vouches for it"
	}
	rehearsing := either
	if rehearsing == "" && p.plan.Zone != "" {
		rehearsing = "a password is not rehearsed: its new one is taken back when a login fails"
	}
	if rehearsing == "" && p.plan.NewFingerprint != "" {
		rehearsing = "the rotation itself is under way"
	}
	value := "there is no new " + p.plan.Value() + " yet"
	if p.plan.NewHeld != "" {
		value = over
	}
	out := []kit.Binding{
		enter,
		{Keys: []string{"v"}, Label: "vouch", Help: "Record the step on your word, which looks different from a measured one; release a job in flight.", Group: group, Intent: vouchFor{}, Disabled: vouch},
		{Keys: []string{"c"}, Label: "copy value", Help: "Copy the new value, for a place that the console cannot write.", Group: group, Intent: copyValue{}, Disabled: value, Hidden: value != ""},
		{Keys: []string{"t"}, Label: "rehearse", Help: "Take every step on the emulator with copies. References are read, and nothing real is written.", Group: group, Intent: rehearse{}, Disabled: rehearsing},
		{Keys: []string{"x"}, Label: "report", Help: "The record as Markdown: copy it, or save it.", Group: group, Intent: showReport{}, Disabled: unwritten},
		{Keys: []string{"X"}, Label: "give up", Help: "End the rotation before its last step.", Group: group, Intent: giveUp{}, Disabled: quit, Dangerous: true},
		leave,
	}
	return append(out, widget.MotionBindings()...)
}

// ends reports whether what is taken with a step ends something: the old key, or the old value. A
// refresh is taken with the jobs that have ended before it. What a person does in the account settings
// the console only looks at, and a deletion that was begun was asked for.
func (p *Page) ends(s keystore.RotationStep) bool {
	switch {
	case p.deps.Engine.ByHand(p.plan):
		return false
	case s.Kind == keystore.StepDelete:
		return p.plan.DeletedSeq == 0
	}
	return p.plan.Method == keystore.RotateByRefresh && s.Kind.Word() == keystore.WordCreate && p.plan.NewFingerprint == ""
}

// act carries out the intent of a key.
func (p *Page) act(msg tea.Msg) (cmd tea.Cmd, handled bool) {
	switch msg := msg.(type) {
	case closePage:
		p.open = false
	case goOn:
		return p.goOn(msg), true
	case lookLate:
		return p.lookLate(), true
	case cancelRun:
		p.slot.Cancel()
	case rehearse:
		return p.rehearse(), true
	case giveValue:
		return p.askValue(), true
	case vouchFor:
		return p.askVouch(), true
	case giveUp:
		return p.giveUp(msg), true
	case showReport:
		return widget.OpenMenu(p.deps.Theme, "Report", kit.Keys, []widget.MenuItem{
			widget.CopyItem("c", "copy as Markdown", rotate.Report(p.plan)),
			{Key: "s", Label: "save", Note: reportName(p.plan), Intent: saveReport{}},
		}), true
	case saveReport:
		name, words, save := reportName(p.plan), rotate.Report(p.plan), p.deps.Console.SaveReport
		return kit.Load(kit.Keys, &kit.Slot{}, p.deps.Ctx, func(context.Context) (string, error) {
			return save(name, words)
		}, func(file string, err error) tea.Cmd {
			if err != nil {
				return kit.Fail("the report: " + err.Error())
			}
			return kit.Info("the report is in " + file)
		}), true
	case copyValue:
		ref, resolve := p.plan.NewHeld, p.deps.Console.Resolve
		return kit.Load(kit.Keys, &kit.Slot{}, p.deps.Ctx, func(ctx context.Context) (keystore.Secret, error) {
			return resolve(ctx, ref)
		}, func(value keystore.Secret, err error) tea.Cmd {
			if err != nil {
				return kit.Fail("the new " + p.plan.Value() + ": " + err.Error())
			}
			return kit.CopySecret("new "+p.plan.Value(), value.Reveal())
		}), true
	default:
		return nil, false
	}
	return nil, true
}

func reportName(p keystore.RotationPlan) string { return "rotation-" + p.ID + ".md" }

// goOn takes the steps of the next word. It asks before one that ends a key or a value.
func (p *Page) goOn(msg goOn) tea.Cmd {
	step, more := p.next()
	if !more || p.slot.Running() {
		return nil
	}
	if p.ends(step) && !msg.sure {
		ask := widget.ConfirmSpec{Title: "Delete the old key?", Body: p.deletes(), Yes: "delete it", View: kit.Keys, Intent: goOn{sure: true}}
		if p.plan.Zone != "" {
			ask.Title, ask.Yes = "Remove the old password?", "remove it"
		}
		if step.Kind != keystore.StepDelete {
			ask.Title, ask.Body, ask.Yes = "Refresh the key?", p.outage(), "refresh it"
		}
		return widget.Confirm(p.deps.Theme, ask)
	}
	return p.run(step.Kind.Word())
}

// evidence says what the end of the old value rests on.
func (p *Page) evidence() string {
	seen := "Every user above was seen to work with the new one (••••%s)"
	for _, step := range p.plan.Steps {
		if step.Kind == keystore.StepTest && step.By != keystore.Measured {
			seen = "Not every user above was seen to work with the new one (••••%s): what is marked ~ was vouched for"
		}
	}
	return fmt.Sprintf(seen+"; what is not known of stops at that moment.", p.plan.NewLast4)
}

// deletes is what a person is asked before the old key is deleted.
func (p *Page) deletes() string {
	ended := "%s (••••%s) is deleted in the account settings. %s A call with the old value is then seen to be refused.\n%s."
	name := cmp.Or(p.plan.OldName, p.plan.Key)
	if p.plan.Zone != "" {
		ended, name = "The old %s (••••%s) is removed. %s A login with the old password is then seen to be refused.\n%s.", p.plan.Key
	}
	return fmt.Sprintf(ended, text.Clean(name), p.plan.OldLast4, p.evidence(), text.Clean(p.deps.Console.AccountText(p.plan)))
}

// outage is what a refresh means, before it is done.
func (p *Page) outage() string {
	console, person := p.waits()
	body := fmt.Sprintf("%s gets a new value and the old one is invalid at once (contract 3): everything that uses it stands still until it reads the new one.\n%s.\n",
		text.Clean(p.plan.Key), text.Clean(p.deps.Console.AccountText(p.plan)))
	if len(console) > 0 {
		body += fmt.Sprintf("The console writes these within the same second: %s.\n", text.Clean(strings.Join(console, ", ")))
	}
	if len(person) > 0 {
		body += fmt.Sprintf("These stand still until you have written them: %s.\n", text.Clean(strings.Join(person, ", ")))
	}
	return body + "The outage is measured, from the last call with the old value to the last reference set."
}

func (p *Page) giveUp(msg giveUp) tea.Cmd {
	if msg.sure {
		return p.do(false, p.deps.Engine.Abandon)
	}
	body := "%s: what was done stays as it is. A key that was created is valid until it is deleted in the account settings; references keep what they give now."
	switch {
	case p.plan.Zone != "" && p.plan.DeletedSeq != 0:
		body = "%s: " + rotate.Leftovers(p.plan) + "."
	case p.plan.Zone != "":
		body = "%s: a new one that no reference gives yet is removed again. Once a reference gives it both stay valid, and references keep what they give now."
	}
	return widget.Confirm(p.deps.Theme, widget.ConfirmSpec{
		Title: "Give up the rotation?",
		Body:  fmt.Sprintf(body, text.Clean(p.plan.Key)),
		Yes:   "give it up", View: kit.Keys, Intent: giveUp{sure: true},
	})
}

// askVouch asks how a person knows that a step is done.
func (p *Page) askVouch() tea.Cmd {
	if p.stop == nil {
		return nil
	}
	step, t := p.stop.Step, p.deps.Theme
	form := widget.NewForm(t, widget.Field{Name: "reason", Label: "How do you know", Placeholder: "e.g. its log of 12:04", Help: "It stands in the record and in History, marked as vouched for."})
	p.form = widget.NewFormDialog(t, "Vouch for: "+text.Clean(step.Name()), form)
	p.form.Intro, p.form.Submit, p.form.Deliberate = p.stop.Advice, "vouch for it", true
	p.form.OnSubmit = func(f *widget.Form) tea.Cmd {
		p.form.Busy = true
		reason, vouch := strings.TrimSpace(f.Value("reason")), p.deps.Engine.Vouch
		return p.do(true, func(ctx context.Context, id string) (keystore.RotationPlan, error) {
			return vouch(ctx, id, step, reason)
		})
	}
	return kit.OpenOverlay(p.form)
}

// askValue asks for the new value, masked, or for a reference to it. One that is held was refused, and
// is tried again where no other is given.
func (p *Page) askValue() tea.Cmd {
	t, hint, held := p.deps.Theme, "pasted once, never shown again", p.plan.NewHeld != ""
	if held {
		hint = "empty: the one that is held is tried again"
	}
	form := widget.NewForm(
		t,
		widget.Field{Name: "value", Label: "New value", Secret: true, Placeholder: hint, Help: "The rotation holds it encrypted until every reference gives it."},
		widget.Field{Name: "ref", Label: "or reference", Placeholder: "e.g. keyring:acme/etl-main-2", Help: keystore.RefForms, Check: func(s string) error {
			if strings.TrimSpace(s) == "" {
				return nil
			}
			return kit.CheckRef(s)
		}},
		widget.Field{Name: "expires", Label: "Expires", Placeholder: "e.g. 2027-01-31, or Unlimited; empty: not known", Help: "What the account settings show; it is recorded in the inventory.", Check: func(s string) error {
			_, err := model.ParseExpiry(strings.TrimSpace(s))
			return err
		}},
	)
	p.form = widget.NewFormDialog(t, "The new value of "+text.Clean(p.plan.Key), form)
	p.form.Intro, p.form.Submit = p.stop.Advice, "take it"
	p.form.OnSubmit = func(f *widget.Form) tea.Cmd {
		value, ref, expires := keystore.NewSecret(strings.TrimSpace(f.Value("value"))), strings.TrimSpace(f.Value("ref")), strings.TrimSpace(f.Value("expires"))
		if held && value.Empty() && ref == "" {
			closing := kit.CloseOverlay(p.form)
			p.form = nil
			return tea.Batch(closing, p.run(keystore.WordCreate))
		}
		if value.Empty() == (ref == "") {
			p.form.Problem = "paste the value, or name a reference to it: one of the two"
			return nil
		}
		p.form.Busy, p.form.Problem = true, ""
		resolve, give := p.deps.Console.Resolve, p.deps.Engine.Give
		return p.do(true, func(ctx context.Context, id string) (keystore.RotationPlan, error) {
			if value.Empty() {
				var err error
				if value, err = resolve(ctx, ref); err != nil {
					return keystore.RotationPlan{}, err
				}
			}
			return give(ctx, id, value, expires)
		})
	}
	return kit.OpenOverlay(p.form)
}
