package rotation

import (
	"cmp"
	"context"
	"maps"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/ask"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// action is what a key of the page does.
type action int

const (
	closePage action = iota
	goOn
	cancelRun
	rehearse
	giveValue
	vouchFor
	giveUp
	showReport
	saveReport
	copyValue
	lookForUses
)

// Intent is the meaning of a key of the page.
type Intent struct {
	act    action
	agreed ask.Answers // before it goes on
	sure   bool        // that it is given up
}

// Bindings are the keys of the rotation on screen.
func (p *Page) Bindings() []kit.Binding {
	const group = "Rotation"
	busy, over := "", ""
	if p.slot.Running() {
		busy = "a step is running: esc stops it"
	}
	step, more := p.Step()
	if !more {
		over = "the rotation is over"
	}
	either := busy
	if either == "" {
		either = over
	}
	label := "continue"
	switch word := step.Kind.Word(); {
	case more && word == keystore.WordCreate && p.Plan.Method == keystore.RotateByRefresh:
		label = string(keystore.StepRefresh)
	case more:
		label = string(word)
	}
	enter := kit.Binding{Name: "rotation.continue", Keys: []string{"enter"}, Label: label, Help: "Take the next steps as far as the console can. Where a person is needed, it stops and says what to do.", Group: group, Intent: Intent{act: goOn}, Disabled: either}
	_, enter.Dangerous = p.asks(ask.EndsValue)
	switch {
	case p.Stop != nil && p.Stop.Value:
		enter.Label, enter.Intent = "give the value", Intent{act: giveValue}
	case p.Stop != nil:
		enter.Label = "look again"
	}
	if p.finished() {
		enter = kit.Binding{Name: "rotation.uses", Keys: []string{"enter"}, Label: "look for uses", Help: "Look for uses of the old " + p.Plan.Value() + " since the rotation ended.", Group: group, Intent: Intent{act: lookForUses}, Disabled: busy}
		if p.uses.slot.Running() {
			enter.Disabled = "the search is running"
		}
	}
	leave := kit.Binding{Name: "rotation.back", Keys: []string{"esc"}, Label: "back", Help: "Go back to the list. " + p.deps.Theme.Key("keys.rotate") + " returns here, " + p.deps.Theme.Key("keys.last-rotation") + " once it is over.", Group: group, Intent: Intent{act: closePage}}
	if p.Plan.Zone != "" {
		leave.Help = "Go back to the list. " + p.deps.Theme.Key("proxy.rotate") + " in Proxy returns here."
	}
	unwritten, quit := "", either
	if !p.Begun() {
		unwritten = "nothing has begun: the first step writes the record"
		quit = cmp.Or(either, unwritten)
	}
	if busy != "" {
		leave.Label, leave.Help, leave.Intent, leave.Stops = "stop", "Stop the running step. What was done stays in the record.", Intent{act: cancelRun}, true
	}
	vouch := either
	if vouch == "" && (p.Stop == nil || !p.Stop.Vouch) {
		vouch = "this step is measured and needs no word of yours"
	}
	rehearsing := either
	if rehearsing == "" && p.Plan.Zone != "" {
		rehearsing = "passwords are not rehearsed: the new one is taken back when a login fails"
	}
	if rehearsing == "" && p.Plan.NewFingerprint != "" {
		rehearsing = "the rotation has already begun"
	}
	value := "there is no new " + p.Plan.Value() + " yet"
	if p.Plan.NewHeld != "" {
		value = over
	}
	out := []kit.Binding{
		enter,
		{Name: "rotation.copy-value", Keys: []string{"c"}, Label: "copy value", Help: "Copy the new value, for a place that the console cannot write.", Group: group, Intent: Intent{act: copyValue}, Disabled: value, Hidden: value != ""},
		{Name: "rotation.vouch", Keys: []string{"v"}, Label: "vouch", Help: "Record the step on your word, marked as vouched for; it also releases a job in flight.", Group: group, Intent: Intent{act: vouchFor}, Disabled: vouch},
		{Name: "rotation.rehearse", Keys: []string{"T"}, Label: "rehearse", Help: "Take every step on the emulator with copies. References are read; nothing real is written.", Group: group, Intent: Intent{act: rehearse}, Disabled: rehearsing},
		{Name: "rotation.report", Keys: []string{"x"}, Label: "report", Help: "The record as Markdown: copy it, or save it.", Group: group, Intent: Intent{act: showReport}, Disabled: unwritten},
		{Name: "rotation.give-up", Keys: []string{"X"}, Label: "give up", Help: "Give up the rotation before its last step.", Group: group, Intent: Intent{act: giveUp}, Disabled: quit, Dangerous: true},
		leave,
	}
	return append(append(out, p.panes.Bindings(false)...), widget.MotionBindings()...)
}

// Act carries out the intent of a key.
func (p *Page) Act(i Intent) tea.Cmd {
	switch i.act {
	case closePage:
		p.open = false
	case goOn:
		return p.goOn(i)
	case lookForUses:
		return p.lookForUses()
	case cancelRun:
		p.slot.Cancel()
	case rehearse:
		return p.rehearse()
	case giveValue:
		return p.askValue()
	case vouchFor:
		return p.askVouch()
	case giveUp:
		return p.giveUp(i)
	case showReport:
		return widget.OpenMenu(p.deps.Theme, "Report", kit.Keys, []widget.MenuItem{
			widget.CopyItem("c", "copy as Markdown", p.Report()),
			{Key: "s", Label: "save", Note: reportName(p.Plan), Intent: Intent{act: saveReport}},
		})
	case saveReport:
		name, words, save := reportName(p.Plan), p.Report(), p.deps.Rotations.SaveReport
		return kit.Load(kit.Keys, &kit.Slot{}, p.deps.Ctx, func(context.Context) (string, error) {
			return save(name, words)
		}, func(file string, err error) tea.Cmd {
			if err != nil {
				return kit.Fail("the report: " + err.Error())
			}
			return kit.Info("saved the report as " + file)
		})
	case copyValue:
		ref, resolve := p.Plan.NewHeld, p.deps.Rotations.Resolve
		return kit.Load(kit.Keys, &kit.Slot{}, p.deps.Ctx, func(ctx context.Context) (keystore.Secret, error) {
			return resolve(ctx, ref)
		}, func(value keystore.Secret, err error) tea.Cmd {
			if err != nil {
				return kit.Fail("the new " + p.Plan.Value() + ": " + err.Error())
			}
			return kit.CopySecret("new "+p.Plan.Value(), value.Reveal())
		})
	}
	return nil
}

func reportName(p keystore.RotationPlan) string { return "rotation-" + p.ID + ".md" }

// goOn takes the steps of the next word, when what has to be agreed to is: one question after the other.
func (p *Page) goOn(msg Intent) tea.Cmd {
	if _, more := p.Step(); !more || p.slot.Running() {
		return nil
	}
	for _, q := range p.questions {
		if title, yes := p.dialog(q); title != "" && !msg.agreed.To(q).Yes {
			agreed := maps.Clone(msg.agreed)
			return widget.Confirm(p.deps.Theme, widget.ConfirmSpec{
				Title: title, Body: text.CleanLines(q.Text), Yes: yes, View: kit.Keys, Intent: Intent{act: goOn, agreed: agreed.With(q, ask.Agreed)},
			})
		}
	}
	return p.run(msg.agreed)
}

// dialog is the title of the dialog that puts a question, and its yes; empty for what is asked elsewhere.
func (p *Page) dialog(q ask.Question) (title, yes string) {
	switch {
	case q.Kind == ask.OtherAccount:
		return "Send the key to another account?", "send it"
	case q.Kind != ask.EndsValue:
		return "", ""
	case p.step.Kind != keystore.StepDelete:
		return "Refresh the key?", "refresh it"
	case p.Plan.Zone != "":
		return "Remove the old password?", "remove it"
	default:
		return "Delete the old key?", "delete it"
	}
}

func (p *Page) giveUp(msg Intent) tea.Cmd {
	if !msg.sure {
		return widget.Confirm(p.deps.Theme, widget.ConfirmSpec{
			Title: "Give up the rotation?", Body: text.Clean(p.Abandoning()), Yes: "give it up", View: kit.Keys, Intent: Intent{act: giveUp, sure: true},
		})
	}
	return kit.Load(kit.Keys, &p.slot, p.deps.Ctx, p.Abandon, p.ended)
}

// askVouch asks how a person knows that a step is done.
func (p *Page) askVouch() tea.Cmd {
	q, asked := p.asks(ask.Vouch)
	if !asked {
		return nil
	}
	t := p.deps.Theme
	form := widget.NewForm(t, widget.Field{Name: "reason", Label: "How do you know", Placeholder: "e.g. its log of 12:04", Help: "The record and History show it as your word, and not as measured."})
	p.form = widget.NewFormDialog(t, "Vouch for: "+text.Clean(q.About), form)
	p.form.Intro, p.form.Submit, p.form.Guard = q.Text, "vouch for it", true
	p.form.OnSubmit = func(f *widget.Form) tea.Cmd {
		p.form.Busy = true
		return p.run(ask.Answers{}.With(q, ask.Answer{Yes: true, Text: strings.TrimSpace(f.Value("reason"))}))
	}
	return kit.OpenOverlay(p.form)
}

// askValue asks for the new value, masked, or for a reference to it. One that is held was refused, and
// is tried again where no other is given.
func (p *Page) askValue() tea.Cmd {
	q, _ := p.asks(ask.NewValue)
	t, hint, held := p.deps.Theme, "pasted once, never shown again", p.Plan.NewHeld != ""
	if held {
		hint = "empty: the held value is tried again"
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
	p.form = widget.NewFormDialog(t, "The new value of "+text.Clean(p.Plan.Key), form)
	p.form.Intro, p.form.Submit = q.Text, "use it"
	p.form.OnSubmit = func(f *widget.Form) tea.Cmd {
		value, ref, expires := keystore.NewSecret(strings.TrimSpace(f.Value("value"))), strings.TrimSpace(f.Value("ref")), strings.TrimSpace(f.Value("expires"))
		if held && value.Empty() && ref == "" {
			closing := kit.CloseOverlay(p.form)
			p.form = nil
			return tea.Batch(closing, p.run(nil))
		}
		if value.Empty() == (ref == "") {
			p.form.Problem = "paste the value or name a reference to it, not both"
			return nil
		}
		p.form.Busy, p.form.Problem = true, ""
		resolve := p.deps.Rotations.Resolve
		return p.runWith(func(ctx context.Context) (ask.Answers, error) {
			var err error
			if value.Empty() {
				value, err = resolve(ctx, ref)
			}
			return ask.Answers{}.With(q, ask.Answer{Secret: value, Text: expires}), err
		})
	}
	return kit.OpenOverlay(p.form)
}
