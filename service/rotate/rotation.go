package rotate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/ask"
)

// Subject is what is rotated: a key by a method, or the password of a zone.
type Subject struct {
	Key     model.Key
	Profile string // the profile that the key comes with; empty for a key of the inventory
	Method  keystore.RotationMethod
	// Password is the password of a zone; nil for a key.
	Password *Password
	// Once refuses to look at another rotation if the last one was completed (*DoneError).
	Once bool
}

// DoneError says that the last rotation of a subject was completed.
type DoneError struct{ Last keystore.RotationPlan }

func (e *DoneError) Error() string {
	done := "the rotation of %s was done at %s"
	if e.Last.Zone != "" {
		done = "%s was replaced at %s"
	}
	return fmt.Sprintf(done, e.Last.Named(), e.Last.Ended.UTC().Format("2006-01-02T15:04:05.000Z07:00"))
}

// Rotation is one rotation as a face sees it, from the preview before it begins to its end. It is a value: methods
// that change it return the changed rotation.
type Rotation struct {
	Plan keystore.RotationPlan
	// Stop is why it does not go on by itself; nil while it does.
	Stop *StopError

	e       *Engine
	subject *Subject              // what is to be rotated; nil once the record is written
	last    keystore.RotationPlan // the subject's last rotation, if it was completed
	reach   []ask.Question        // whether the value may be sent where the rotation proves it
}

// Look is the rotation of a subject as it would begin now. Nothing is written. last is the newest rotation of the
// subject; the zero value for none.
func (e *Engine) Look(ctx context.Context, s Subject, last keystore.RotationPlan) (Rotation, error) {
	r := Rotation{e: e, subject: &s}
	if last.Over() && !last.Abandoned {
		r.last = last
		if s.Once {
			return r, &DoneError{last}
		}
	}
	var err error
	if r.Plan, err = e.Plan(ctx, s); err == nil {
		r.reach, err = e.c.Keys.Reach(r.Plan, nil)
	}
	return r, err
}

// Resume is the rotation with this record.
func (e *Engine) Resume(p keystore.RotationPlan) Rotation { return Rotation{Plan: p, e: e} }

// Begun reports whether the record is written.
func (r Rotation) Begun() bool { return r.subject == nil }

// WorkedByPerson reports whether a person works the account settings, because the console cannot.
func (r Rotation) WorkedByPerson() bool {
	return r.Plan.ByHand() || r.Plan.Zone == "" && r.e.c.Accounts.Settings(r.Plan) == nil
}

// Step is the next step; false if the rotation is over.
func (r Rotation) Step() (keystore.RotationStep, bool) {
	if n := r.Plan.Now(); n >= 0 && !r.Plan.Over() {
		return r.Plan.Steps[n], true
	}
	return keystore.RotationStep{}, false
}

// Next is the next step and its questions; the zero step if the rotation is over. Questions of kind NewValue and
// Vouch may stay open: then Take tries the step again.
func (r Rotation) Next() (keystore.RotationStep, []ask.Question) {
	step, more := r.Step()
	if !more {
		return step, nil
	}
	out := append(r.beginning(), r.reach...)
	if r.ends(step) {
		q := ask.Question{Kind: ask.EndsValue, About: r.Plan.Key, Text: r.deletes()}
		if step.Kind != keystore.StepDelete {
			q.Text = r.Outage()
		}
		out = append(out, q)
	}
	makes := step.Kind == keystore.StepCreate || step.Kind == keystore.StepRefresh
	if r.Stop != nil && r.Stop.Value || makes && r.Plan.NewHeld != "" && r.WorkedByPerson() {
		out = append(out, ask.Question{Kind: ask.NewValue, About: r.Plan.Key, Text: r.advice(), Want: ask.Secret})
	}
	if r.Stop != nil && r.Stop.Vouch {
		out = append(out, ask.Question{Kind: ask.Vouch, About: r.Stop.Step.Name(), Text: r.advice(), Want: ask.Reason})
	}
	return step, out
}

func (r Rotation) advice() string {
	if r.Stop == nil {
		return "the service has not accepted the value that was given"
	}
	return r.Stop.Advice
}

// beginning are the questions before a record is written.
func (r Rotation) beginning() (out []ask.Question) {
	if r.Begun() {
		return nil
	}
	if r.last.Over() {
		out = append(out, ask.Question{Kind: ask.RotateAgain, About: r.Plan.Key, Text: (&DoneError{r.last}).Error()})
	}
	if r.Plan.Zone != "" {
		return out
	}
	text := "This creates a new key for %s, %s, sets it at each reference, and deletes the old key once nothing uses it any more."
	if r.Plan.Method == keystore.RotateByRefresh {
		text = "A refresh ends the old value at once (contract 3): everything that uses %s, %s, stops working until its reference gives the new value. A rotation by a new key has no outage."
	}
	k := r.subject.Key
	return append(out, ask.Question{Kind: ask.BeginRotation, About: k.Name, Text: fmt.Sprintf(text, k.Name, r.e.c.Accounts.OwnerText(k))})
}

// ends reports whether Take would end the old key or the old value at this step. A refresh is taken together with
// the drain steps before it. The console ends nothing if a person works the account settings. A deletion that was
// begun is not asked for again.
func (r Rotation) ends(s keystore.RotationStep) bool {
	switch {
	case r.WorkedByPerson():
		return false
	case s.Kind == keystore.StepDelete:
		return r.Plan.DeletedSeq == 0
	}
	return r.Plan.Method == keystore.RotateByRefresh && s.Kind.Word() == keystore.WordCreate && r.Plan.NewFingerprint == ""
}

// Begin writes the record. The questions of Next that are not about a step must be answered.
func (r Rotation) Begin(ctx context.Context, a ask.Answers) (Rotation, error) {
	open := append(r.beginning(), r.reach...)
	if err := a.Open(open); err != nil {
		return r, err
	}
	var err error
	if r.Plan, err = r.e.Plan(ctx, *r.subject); err != nil { // the plan may be out of date
		return r, err
	}
	if r.reach, err = r.e.c.Keys.Reach(r.Plan, a); err == nil {
		err = a.Open(r.reach)
	}
	if err == nil {
		err = r.e.c.Records.Start(ctx, r.Plan)
	}
	if err == nil {
		r.subject, r.reach = nil, nil
	}
	return r, err
}

// Take first answers what the rotation stopped for, if the answers have that. Then it takes the steps from there to the
// end of their word. It begins a rotation that is not begun. The answer to NewValue is a Secret, and its Text is the
// expiry. on gets the rotation after each step. The error may be the *StopError in Stop, or an *ask.Unanswered: then
// nothing was done.
func (r Rotation) Take(ctx context.Context, step keystore.RotationStep, a ask.Answers, on func(Rotation)) (Rotation, error) {
	emit := func(p keystore.RotationPlan) {
		r.Plan, r.Stop = p, nil
		if on != nil {
			on(r)
		}
	}
	var err error
	if r.Begun() {
		r.reach, err = r.e.c.Keys.Reach(r.Plan, a)
	}
	if err != nil {
		return r, err
	}
	stopped := r.Stop
	plan, answered, err := r.answer(ctx, a)
	if answered {
		if plan.ID == r.Plan.ID {
			r.Plan = plan
		}
		if err != nil { // Stop stays: it can be answered again
			return r, err
		}
		emit(r.Plan)
		next, more := r.Step()
		if !more || stopped != nil && next.Kind.Word() != stopped.Step.Kind.Word() && stopped.Step.Kind != keystore.StepRefresh {
			return r, nil
		}
		step = next
	}
	if err := a.Open(r.required()); err != nil {
		if answered { // the answer was taken
			err = nil
		}
		return r, err
	}
	if !r.Begun() {
		if r, err = r.Begin(ctx, a); err != nil {
			return r, err
		}
		emit(r.Plan)
	}
	plan, err = r.e.Run(ctx, r.Plan.ID, step.Kind.Word(), emit)
	return r.after(plan, err), err
}

// required are the questions of Next that must be answered.
func (r Rotation) required() (out []ask.Question) {
	_, questions := r.Next()
	for _, q := range questions {
		if q.Want == ask.YesNo {
			out = append(out, q)
		}
	}
	return out
}

// answer gives the engine the new value, or a person's word for the step.
func (r Rotation) answer(ctx context.Context, a ask.Answers) (p keystore.RotationPlan, answered bool, err error) {
	_, questions := r.Next()
	for _, q := range questions {
		switch given := a.To(q); {
		case q.Kind == ask.NewValue && given.Answers(ask.Secret):
			p, err = r.e.Give(ctx, r.Plan.ID, given.Secret, given.Text)
			return p, true, err
		case q.Kind == ask.Vouch && (given.Yes || given.Answers(ask.Reason)):
			p, err = r.e.Vouch(ctx, r.Plan.ID, r.Stop.Step, given.Text)
			return p, true, err
		}
	}
	return p, false, nil
}

// after is the rotation after a run.
func (r Rotation) after(p keystore.RotationPlan, err error) Rotation {
	if p.ID == r.Plan.ID {
		r.Plan = p
	}
	r.Stop = nil
	_ = errors.As(err, &r.Stop)
	return r
}

// Abandon ends the rotation; see Engine.Abandon.
func (r Rotation) Abandon(ctx context.Context) (Rotation, error) {
	p, err := r.e.Abandon(ctx, r.Plan.ID)
	return r.after(p, err), err
}

// UsesAfterEnd looks for uses of the old value since the end of the rotation.
func (r Rotation) UsesAfterEnd(ctx context.Context) UsesAfterEnd {
	return r.e.UsesAfterEnd(ctx, r.Plan)
}

// Report is the rotation as Markdown; see Report.
func (r Rotation) Report() string { return Report(r.Plan) }

// Leftovers says what the rotation leaves behind when it is given up; see Leftovers.
func (r Rotation) Leftovers() string { return Leftovers(r.Plan) }

// Abandoning says what giving up would mean.
func (r Rotation) Abandoning() string {
	switch name := line(r.Plan.Key); {
	case r.Plan.Zone != "" && (r.Plan.DeletedSeq != 0 || r.Plan.ByHand()):
		return name + ": " + r.Leftovers() + "."
	case r.Plan.Zone != "":
		return name + ": a new one that no reference gives yet is removed again. Once a reference gives it both stay valid, and references keep what they give now."
	default:
		return name + ": what was done stays as it is. A key that was created is valid until it is deleted in the account settings; references keep what they give now."
	}
}

// Evidence says why the old value can be ended.
func (r Rotation) Evidence() string {
	seen := "Every user above was seen to work with the new one (••••%s)"
	for _, step := range r.Plan.Steps {
		if step.Kind == keystore.StepTest && step.By != keystore.Measured {
			seen = "Not every user above was seen to work with the new one (••••%s): what is marked ~ was vouched for"
		}
	}
	return fmt.Sprintf(seen+". Anything else that uses the old one stops then.", r.Plan.NewLast4)
}

func (r Rotation) account() string { return line(r.e.c.Accounts.AccountText(r.Plan)) }

// deletes says what the deletion of the old key or password means.
func (r Rotation) deletes() string {
	if r.Plan.Zone != "" {
		return fmt.Sprintf("The old %s (••••%s) is removed. %s A login with the old password is then seen to be refused.\n%s.",
			line(r.Plan.Key), r.Plan.OldLast4, r.Evidence(), r.account())
	}
	return fmt.Sprintf("%s (••••%s) is deleted in the account settings. %s A call with the old value is then seen to be refused.\n%s.",
		line(cmp.Or(r.Plan.OldName, r.Plan.Key)), r.Plan.OldLast4, r.Evidence(), r.account())
}

// Outage says what a refresh means, before it is done.
func (r Rotation) Outage() string {
	console, person := r.places()
	body := fmt.Sprintf("%s gets a new value and the old one is invalid at once (contract 3): everything that uses it stops working until it reads the new one.\n%s.\n",
		line(r.Plan.Key), r.account())
	if len(console) > 0 {
		body += fmt.Sprintf("The console writes these within the same second: %s.\n", line(strings.Join(console, ", ")))
	}
	if len(person) > 0 {
		body += fmt.Sprintf("These stop working until you give them the new value: %s.\n", line(strings.Join(person, ", ")))
	}
	return body + "The outage is measured, from the last call with the old value to the last reference set."
}

// places are the places that the console sets, and those that a person has to write.
func (r Rotation) places() (console, person []string) {
	for _, s := range r.Plan.Steps {
		if s.Kind != keystore.StepSet {
			continue
		}
		ref, err := keystore.ParseRef(s.Subject)
		if err == nil && (ref.Storable() || ref.Scheme() == keystore.SchemeDemo) {
			console = append(console, ref.Label())
		} else {
			person = append(person, strings.TrimPrefix(s.Name(), "set "))
		}
	}
	return console, person
}

// line makes a name fit into one line.
func line(s string) string { return strings.ReplaceAll(s, "\n", " ") }
