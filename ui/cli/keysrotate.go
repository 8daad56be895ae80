package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/ask"
	"zonedeck/service/keys"
	"zonedeck/service/view"
	"zonedeck/ui/kit/text"
)

// rotateFlags are the flags of a key's rotation.
type rotateFlags struct {
	Yes      bool     `flag:"yes" help:"begin without asking for confirmation, even if the old value stops at once (--refresh)"`
	Refresh  bool     `flag:"refresh" help:"give the key itself a new value; the old one stops at once (asks first, unless --yes)"`
	Value    string   `flag:"value" help:"reference (env:, cmd:, keyring:, file:) to the new value that the account settings showed"`
	Expires  string   `flag:"expires" help:"with --value: when the new value expires, a date or \"unlimited\"; recorded in the inventory"`
	Again    bool     `flag:"again" help:"without a terminal: begin another rotation though the last one is done"`
	Pipe     string   `flag:"pipe" help:"when a person has to put the new value somewhere, give it to this command on its standard input instead, then check again"`
	Vouch    []string `flag:"vouch" help:"vouch for the step of this name, or do not wait for this job (repeatable)"`
	Scan     []string `flag:"scan" takes:"folder" help:"search this folder too for files that hold the key (repeatable)"`
	Report   bool     `flag:"report" help:"only print the record of the key's newest rotation, as Markdown or --json"`
	Rehearse bool     `flag:"rehearse" help:"take every step with copies on the embedded emulator; references are read, but nothing real is written"`
	Abandon  bool     `flag:"abandon" help:"end the rotation with this key name or id; keys and references stay as they are"`
	reasonFlag
	jsonFlag
}

func (a *app) keysRotateCommand() *cobra.Command {
	return command(a, spec[rotateFlags]{
		use: "rotate KEY", short: "Rotate a key with proof: create, set, test, finish",
		long: `Replaces a key by a new one: creates it, puts it at each reference, makes one
real call as each user of the key, deletes the old key, and checks that it is
refused. Every step is recorded on disk before and after it is taken, so the same
command goes on with a rotation that was left or killed.

On the emulator, the console works the account settings itself. On a real
account the contract shows no endpoint for them: the command says what to do
there and takes the new value by --value. Until the service has accepted that
value, another --value replaces it.

The command proves by measurement what it can. Before a step that needs a person
it ends with exit code 1 and says what to do. --vouch records a person's word for
such a step, or that a job is not waited for.

With --refresh the key itself gets a new value, and the old value is invalid at
once: everything that uses it stops working until its reference gives the new
value.`,
		check: func(f *rotateFlags, _ []string) error {
			switch _, err := model.ParseExpiry(f.Expires); {
			case f.Abandon, f.Report: // they use no value
			case err != nil:
				return usage("--expires: %w", err)
			case f.Expires != "" && f.Value == "":
				return usage("--expires needs --value: it is about the new value")
			}
			return nil
		},
		needs: func(f rotateFlags) needs { return needs{jobs: true, reason: f.Reason} },
		run:   rotateKey,
	})
}

func rotateKey(ctx context.Context, t *task, f rotateFlags, args []string) (printed, error) {
	name := args[0]
	if _, err := t.Profile(ctx); err != nil { // starts the emulator, which knows the demo keys
		return printed{}, fail(exitState, "%w", err)
	}
	rotations := t.Rotations(t.scanned(f.Scan))
	switch {
	case f.Abandon: // the key may be gone from the inventory
		p, found, err := rotations.UnderWay(name)
		switch {
		case err != nil:
			return printed{}, fail(exitState, "%w", err)
		case !found:
			return printed{}, usage("no rotation of %s is under way", name)
		}
		return t.abandonRotation(ctx, p)
	case f.Report: // here too
		p, found, err := rotations.Named(name)
		switch {
		case err != nil && !found:
			return printed{}, fail(exitState, "%w", err)
		case !found:
			return printed{}, usage("there is no record of a rotation of %s", name)
		}
		return rotationReport(p), nil
	}
	k, ok := t.Keys.Key(name)
	if !ok {
		return printed{}, usage("%q is not in the key inventory", name)
	}
	subject := rotations.OfKey(k, keystore.RotateByNewKey)
	if f.Refresh {
		subject.Method = keystore.RotateByRefresh
	}
	if f.Rehearse {
		return t.rehearseRotation(ctx, subject, f)
	}
	r, err := t.rotation(ctx, rotations, subject, f)
	switch {
	case errors.As(err, new(*keys.AdminError)), errors.Is(err, keys.ErrOtherAccount):
		return printed{}, fetchError(ctx, err)
	case errors.Is(err, model.ErrReadOnly), errors.As(err, new(*exitError)):
		return printed{}, err
	case err != nil:
		return printed{}, fail(exitState, "%w", err)
	case r.Begun() && r.Plan.Method != subject.Method:
		return printed{}, usage("a rotation of %s by %s is under way: go on with it, or end it with --abandon", name, r.Plan.Method)
	}
	if err := useful(r, f); err != nil {
		return printed{}, err
	}
	if !r.Begun() {
		r, err = t.beginRotation(ctx, r, f)
		if err != nil && !errors.As(err, new(*exitError)) && !errors.Is(err, model.ErrReadOnly) {
			err = fail(exitState, "%w", err)
		}
		if err != nil {
			return printed{}, err
		}
	}
	r, err = t.advance(ctx, r, f)
	return rotationPrinted(r.Plan, err).withError(rotationError(ctx, err))
}

// scanned is the folders to search for files that hold the key: the configured ones and more.
func (t *task) scanned(more []string) keys.Folders {
	return keys.Scan(slices.Concat(t.Keys.Inventory().ScanFolders(), more))
}

// abandonRotation ends a rotation. If it had made a new value, it says where that is.
func (t *task) abandonRotation(ctx context.Context, p keystore.RotationPlan) (printed, error) {
	r, err := t.Rotations(t.Keys.Inventory()).Resume(p).Abandon(ctx)
	if err == nil {
		_, held := r.Plan.References()
		if _, missing := t.Resolver.Resolve(ctx, held); missing == nil || p.Zone != "" {
			t.app.say("zonedeck: %s", r.Leftovers())
		}
	}
	return rotationPrinted(r.Plan, err).withError(rotationError(ctx, err))
}

// rehearseRotation rehearses a rotation and prints its steps. A step vouched for will need a person.
func (t *task) rehearseRotation(ctx context.Context, s keys.RotationSubject, f rotateFlags) (printed, error) {
	p, err := t.RehearseRotation(ctx, s.Key, s.Method, t.scanned(f.Scan))
	if errors.As(err, new(*keys.AdminError)) {
		return printed{}, fetchError(ctx, err)
	}
	if err == nil {
		_, vouched := p.Count()
		t.app.say("zonedeck: this was a rehearsal on the emulator; nothing real was written. Steps that will need a person: %d", vouched)
	}
	return rotationPrinted(p, err).withError(rotationError(ctx, err))
}

// rotation is the rotation of a subject. Without a terminal one that is done is taken anew only with --again.
func (t *task) rotation(ctx context.Context, rotations keys.Rotations, s keys.RotationSubject, f rotateFlags) (keys.Rotation, error) {
	s.Once = !f.Again && !t.app.answers()
	r, err := rotations.Rotation(ctx, s)
	if done := (*keys.RotationDoneError)(nil); errors.As(err, &done) {
		how := "begins another one"
		if done.Last.Zone != "" {
			how = "replaces it once more"
		}
		err = usage("%s (--report prints it): --again %s", done.Error(), how)
	}
	return r, err
}

// answers reports whether a person is there to answer questions.
func (a *app) answers() bool { return a.StdinTTY && !a.flags.noInput }

// beginRotation asks the questions before a rotation, and writes its record.
func (t *task) beginRotation(ctx context.Context, r keys.Rotation, f rotateFlags) (keys.Rotation, error) {
	given := ask.Answers{}
	_, questions := r.Next()
	for _, q := range questions {
		yes, err := true, error(nil) // without a terminal the command itself is the answer, unless it causes an outage
		switch {
		case q.Kind == ask.RotateAgain && !f.Again && r.Plan.Zone != "": // for a key, another question follows
			yes, err = t.app.confirmed(false, q.Text+". This replaces it once more.")
		case q.Kind == ask.BeginRotation && (t.app.answers() || r.Plan.Method == keystore.RotateByRefresh):
			yes, err = t.app.confirmed(f.Yes, q.Text)
		}
		if err == nil && !yes {
			err = fail(exitChecksFailed, "nothing was begun")
		}
		if err != nil {
			return r, err
		}
		given = given.With(q, ask.Agreed)
	}
	r, err := r.Begin(ctx, given)
	if err == nil {
		by := ""
		if r.Plan.Zone == "" {
			by = " by " + string(r.Plan.Method)
		}
		t.app.say("zonedeck: rotation %s of %s%s: %s, %s", r.Plan.ID, r.Plan.Named(), by, text.Counted(len(r.Plan.Users), "user"), text.Counted(len(r.Plan.Steps), "step"))
	}
	return r, err
}

// names reports whether a name of --vouch names a step or its subject.
func names(name string, s keystore.RotationStep) bool { return name == s.Name() || name == s.Subject }

// useful refuses a value where the console makes the new one, and a name of --vouch that fits no step of a rotation.
func useful(r keys.Rotation, f rotateFlags) error {
	p := r.Plan
	if f.Value != "" && !r.WorkedByPerson() {
		return usage("--value: the console makes the new value of %s by a call: leave --value out", p.Named())
	}
	for _, name := range f.Vouch {
		if slices.ContainsFunc(p.Steps, func(s keystore.RotationStep) bool { return names(name, s) }) {
			continue
		}
		var steps []string
		for _, s := range p.Steps {
			steps = append(steps, s.Name())
		}
		return usage("--vouch %q: the rotation has no such step; it has %s", name, strings.Join(steps, ", "))
	}
	return nil
}

// teller reports steps taken from now on, and steps that are open again.
func (t *task) teller(p keystore.RotationPlan) func(keys.Rotation) {
	told := 0
	for told < len(p.Steps) && p.Steps[told].Done {
		told++
	}
	return func(r keys.Rotation) {
		now := r.Plan
		if n := now.Now(); n >= 0 && n < told { // some place lost the new value
			told = n
			t.app.say("zonedeck: %s is open again: %s", now.Steps[n].Name(), now.Steps[n].Note)
		}
		for ; told < len(now.Steps) && now.Steps[told].Done; told++ {
			s := now.Steps[told]
			how := ""
			if s.By == keystore.Vouched {
				how = s.By.Label() + ": "
			}
			t.app.say("zonedeck: %s: %s%s", s.Name(), how, s.Proof())
		}
	}
}

// advance goes on until it needs a person and the flags have no answer.
func (t *task) advance(ctx context.Context, r keys.Rotation, f rotateFlags) (keys.Rotation, error) {
	on := t.teller(r.Plan)
	var stopped error
	for {
		given, answered, err := t.rotationAnswers(ctx, r, &f)
		if stopped == nil || answered {
			err = cmp.Or(err, ctx.Err())
		}
		if err != nil || stopped != nil && !answered {
			return r, cmp.Or(err, stopped)
		}
		step, _ := r.Next()
		r, stopped = r.Take(ctx, step, given, on)
		if r.Plan.Over() || stopped != nil && !errors.As(stopped, new(*keys.StopError)) { // r.Stop may be an earlier one
			return r, stopped
		}
	}
}

// rotationAnswers is what the flags answer at a step. --value and --pipe answer once, --vouch at each step it names.
func (t *task) rotationAnswers(ctx context.Context, r keys.Rotation, f *rotateFlags) (a ask.Answers, answered bool, err error) {
	a = a.Always(ask.EndsValue)
	_, questions := r.Next()
	for _, q := range questions {
		switch {
		case q.Kind == ask.NewValue && f.Value != "":
			value, err := t.Resolver.Resolve(ctx, f.Value)
			if err != nil {
				return a, false, usage("--value: %w", err)
			}
			f.Value = ""
			return a.With(q, ask.Answer{Secret: value, Text: f.Expires}), true, nil
		case r.Stop != nil && r.Stop.Step.Kind == keystore.StepSet && f.Pipe != "": // below
		case q.Kind == ask.Vouch && slices.ContainsFunc(f.Vouch, func(name string) bool { return names(name, r.Stop.Step) }):
			return a.With(q, ask.Answer{Text: "by --vouch"}), true, nil
		}
	}
	if r.Stop != nil && r.Stop.Step.Kind == keystore.StepSet && f.Pipe != "" {
		err, f.Pipe = t.pipeValue(ctx, f.Pipe, r.Plan), ""
		return a, true, err
	}
	return a, false, nil
}

// rotationPrinted is the output for a rotation, with the reason why it stopped.
func rotationPrinted(p keystore.RotationPlan, stopped error) printed {
	rows := [][]string{{"STEP", "STATE", "BY", "PROOF"}}
	for _, s := range p.Steps {
		state, by := "open", "-"
		if s.Done {
			state, by = "done", s.By.Label()
		}
		rows = append(rows, []string{s.Name(), state, by, strings.TrimSpace(s.Proof())})
	}
	return printed{object: view.NewRotation(p, stopped), rows: rows}
}

// rotationReport is the output for a rotation's record.
func rotationReport(p keystore.RotationPlan) printed {
	return printed{object: view.NewRotation(p, nil), text: keys.Rotation{Plan: p}.Report()}
}

// rotationError gives the error of an unfinished rotation its exit code.
func rotationError(ctx context.Context, err error) error {
	var stop *keys.StopError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &stop):
		words := fmt.Sprintf("%s. The same command goes on afterwards", strings.TrimRight(stop.Error(), "."))
		if stop.Step.Kind == keystore.StepSet {
			words += "; --pipe COMMAND gives the new one to a command on its standard input"
		}
		if stop.Value {
			words += "; --value REFERENCE gives the value"
		}
		if stop.Vouch {
			words += fmt.Sprintf("; --vouch %q records a person's word", stop.Step.Name())
		}
		return fail(exitChecksFailed, "%s", words)
	case errors.Is(err, keys.ErrRotationRunning):
		return fail(exitState, "%w", err)
	}
	if coded := (*exitError)(nil); errors.As(err, &coded) {
		return err
	}
	if lint := fetchError(ctx, err); !errors.Is(lint, err) || ctx.Err() != nil {
		return lint
	}
	return fail(exitChecksFailed, "%w", err)
}
