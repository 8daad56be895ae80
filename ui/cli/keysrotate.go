package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/keys"
	"zonedeck/service/rotate"
	"zonedeck/service/view"
	"zonedeck/ui/kit/text"
)

type rotateFlags struct {
	yes, again, refresh, report, abandon, rehearse, json bool
	value, expires, pipe, adminReason                    string
	vouch, scan                                          []string
}

func (a *app) keysRotateCommand() *cobra.Command {
	var f rotateFlags
	cmd := &cobra.Command{
		Use:   "rotate NAME",
		Short: "Rotate a key with proof: create, set, test, finish",
		Long: `Replaces a key by a new one: creates it, puts it at each reference, makes one
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
once: everything that uses it stands still until its reference gives the new
value.`,
		Args: oneArg("the key to rotate, as 'zonedeck keys list' names it"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withSession(cmd.Context(), needs{jobs: true, reason: f.adminReason}, func(t *task) error {
				return t.rotateKey(cmd.Context(), args[0], f)
			})
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&f.yes, "yes", false, "begin without asking for confirmation, even if the old value stops at once (--refresh)")
	fl.BoolVar(&f.refresh, "refresh", false, "give the key itself a new value; the old one stops at once (asks first, unless --yes)")
	fl.StringVar(&f.value, "value", "", "reference (env:, cmd:, keyring:, file:) to the new value that the account settings showed")
	fl.StringVar(&f.expires, "expires", "", "with --value: when the new value expires, a date or \"unlimited\"; recorded in the inventory")
	fl.BoolVar(&f.again, "again", false, "without a terminal: begin another rotation though the last one is done")
	fl.StringVar(&f.pipe, "pipe", "", "when a person has to put the new value somewhere, give it to this command on its standard input instead, then check again")
	fl.StringArrayVar(&f.vouch, "vouch", nil, "vouch for the step of this name, or do not wait for this job (repeatable)")
	fl.StringArrayVar(&f.scan, "scan", nil, "search this folder too for files that hold the key (repeatable)")
	fl.BoolVar(&f.report, "report", false, "only print the record of the key's newest rotation, as Markdown or --json")
	fl.BoolVar(&f.rehearse, "rehearse", false, "take every step with copies on the embedded emulator; references are read, but nothing real is written")
	fl.BoolVar(&f.abandon, "abandon", false, "end the rotation with this key name or id; keys and references stay as they are")
	fl.BoolVar(&f.json, "json", false, "print one JSON object")
	adminFlag(cmd, &f.adminReason)
	return cmd
}

func (t *task) rotateKey(ctx context.Context, name string, f rotateFlags) error {
	if _, err := t.Profile(ctx); err != nil { // the emulator knows the demo keys
		return fail(exitState, "%w", err)
	}
	switch _, err := model.ParseExpiry(f.expires); {
	case f.abandon:
		return t.abandonRotation(ctx, name, f.json)
	case f.report:
		return t.reportRotation(name, f.json)
	case err != nil:
		return usage("--expires: %w", err)
	case f.expires != "" && f.value == "":
		return usage("--expires needs --value: it is about the new value")
	}
	k, ok := t.Keys.Key(name)
	if !ok {
		return usage("%q is not in the key inventory", name)
	}
	p, found, err := t.Rotations(nil).ForKey(k)
	if err != nil && !found {
		return fail(exitState, "%w", err)
	}
	if err := t.Keys.RefuseAdmin(k); err != nil {
		return fetchError(ctx, err)
	}
	if f.rehearse {
		return t.rehearseRotation(ctx, k, f)
	}
	if err := t.Rotations(nil).RefuseKey(k); err != nil {
		return err
	}
	engine := t.Rotations(t.scanned(f.scan)).Engine()
	if asks := t.app.StdinTTY && !t.app.flags.noInput; found && p.Over() && !p.Abandoned && !f.again && !asks {
		return usage("the rotation of %s was done at %s (--report prints it): --again begins another one", name, p.Ended.UTC().Format(view.StampFormat))
	}
	if !found || p.Over() {
		if p, err = t.beginRotation(ctx, engine, k, f); err != nil {
			return err
		}
	} else if f.refresh != (p.Method == keystore.RotateByRefresh) {
		return usage("a rotation of %s by %s is under way: go on with it, or end it with --abandon", name, p.Method)
	} else if err := vouchable(p, f.vouch); err != nil {
		return err
	}
	p, err = t.advance(ctx, engine, p, f)
	if err := t.printRotation(p, err, f.json); err != nil {
		return err
	}
	return rotationError(ctx, err)
}

// reportRotation prints the newest record of the rotations of a key, by the key's name or the record's
// id. The key need not be there any more.
func (t *task) reportRotation(name string, asJSON bool) error {
	p, found, err := t.Rotations(nil).Named(name)
	switch {
	case err != nil && !found:
		return fail(exitState, "%w", err)
	case !found:
		return usage("there is no record of a rotation of %s", name)
	}
	return t.printReport(p, asJSON)
}

// printReport prints the record of a rotation for people, or as an object.
func (t *task) printReport(p keystore.RotationPlan, asJSON bool) error {
	if asJSON {
		return t.printRotation(p, nil, true)
	}
	return t.app.printText(false, rotate.Report(p))
}

// scanned are the folders to search for files that hold the key.
func (t *task) scanned(more []string) keys.Folders {
	return keys.Scan(slices.Concat(t.Keys.Inventory().ScanFolders(), more))
}

// abandonRotation ends a rotation by its key's name or its id. The key need not be in the inventory.
func (t *task) abandonRotation(ctx context.Context, name string, asJSON bool) error {
	p, found, err := t.Rotations(nil).UnderWay(name)
	switch {
	case err != nil:
		return fail(exitState, "%w", err)
	case !found:
		return usage("no rotation of %s is under way", name)
	}
	if p, err = t.Rotations(t.Keys.Inventory()).Engine().Abandon(ctx, p.ID); err == nil {
		t.sayWhatIsLeft(ctx, p)
	}
	if err := t.printRotation(p, err, asJSON); err != nil {
		return err
	}
	return rotationError(ctx, err)
}

// sayWhatIsLeft says where the new value of an abandoned rotation is, if one was made.
func (t *task) sayWhatIsLeft(ctx context.Context, p keystore.RotationPlan) {
	_, held := p.References()
	if _, err := t.Resolver.Resolve(ctx, held); err == nil {
		t.app.say("zonedeck: %s", rotate.Leftovers(p))
	}
}

// rehearseRotation prints the steps of a rehearsal. Those that are vouched for will need a person.
func (t *task) rehearseRotation(ctx context.Context, k model.Key, f rotateFlags) error {
	method := keystore.RotateByNewKey
	if f.refresh {
		method = keystore.RotateByRefresh
	}
	p, err := t.RehearseRotation(ctx, k, method, t.scanned(f.scan))
	if failed := t.printRotation(p, err, f.json); failed != nil {
		return failed
	}
	if err == nil {
		_, vouched := p.Count()
		t.app.say("zonedeck: this was a rehearsal on the emulator; nothing real was written. Steps that will need a person: %d", vouched)
	}
	return rotationError(ctx, err)
}

func (t *task) beginRotation(ctx context.Context, engine *rotate.Engine, k model.Key, f rotateFlags) (p keystore.RotationPlan, err error) {
	method := keystore.RotateByNewKey
	question := fmt.Sprintf("This creates a new key for %s, %s, sets it at each reference, and deletes the old key once nothing uses it any more.", sanitizeLine(k.Name), sanitizeLine(t.Keys.Owners().Text(k)))
	if f.refresh {
		method = keystore.RotateByRefresh
		question = fmt.Sprintf("A refresh ends the old value at once (contract 3): everything that uses %s, %s, stands still until its reference gives the new value. Without --refresh there is no outage.", sanitizeLine(k.Name), sanitizeLine(t.Keys.Owners().Text(k)))
	}
	if len(f.vouch) > 0 {
		if p, err = engine.Plan(ctx, k, t.Keys.Origin(k), method); err != nil {
			return p, fail(exitState, "%w", err)
		}
		if err := vouchable(p, f.vouch); err != nil {
			return p, err
		}
	}
	// Without a terminal the command itself counts as the answer, unless there is an outage.
	if f.refresh || t.app.StdinTTY && !t.app.flags.noInput {
		ok, err := t.app.confirmed(f.yes, question)
		switch {
		case err != nil:
			return p, err
		case !ok:
			return p, fail(exitChecksFailed, "nothing was begun")
		}
	}
	p, err = engine.Begin(ctx, k, t.Keys.Origin(k), method)
	switch {
	case errors.Is(err, config.ErrReadOnly):
		return p, err
	case err != nil:
		return p, fail(exitState, "%w", err)
	}
	t.app.say("zonedeck: rotation %s of %s by %s: %s, %s", p.ID, sanitizeLine(p.Key), p.Method, text.Counted(len(p.Users), "user"), text.Counted(len(p.Steps), "step"))
	return p, nil
}

// names reports whether a name of --vouch is that of a step or of the step's subject.
func names(name string, s keystore.RotationStep) bool { return name == s.Name() || name == s.Subject }

// vouchable refuses a name of --vouch that no step of a rotation has.
func vouchable(p keystore.RotationPlan, vouch []string) error {
	for _, name := range vouch {
		if slices.ContainsFunc(p.Steps, func(s keystore.RotationStep) bool { return names(name, s) }) {
			continue
		}
		var steps []string
		for _, s := range p.Steps {
			steps = append(steps, sanitizeLine(s.Name()))
		}
		return usage("--vouch %q: the rotation has no such step; it has %s", name, strings.Join(steps, ", "))
	}
	return nil
}

// teller reports the steps that are taken from now on, and those that are open again.
func (t *task) teller(p keystore.RotationPlan) func(keystore.RotationPlan) {
	told := 0
	for told < len(p.Steps) && p.Steps[told].Done {
		told++
	}
	return func(now keystore.RotationPlan) {
		if n := now.Now(); n >= 0 && n < told { // a place lost the new value
			told = n
			t.app.say("zonedeck: %s is open again: %s", sanitizeLine(now.Steps[n].Name()), sanitizeLine(now.Steps[n].Note))
		}
		for ; told < len(now.Steps) && now.Steps[told].Done; told++ {
			s := now.Steps[told]
			t.app.say("zonedeck: %s: %s", sanitizeLine(s.Name()), sanitizeLine(s.Proof()))
		}
	}
}

// advance goes on until a person is needed, past the steps that --vouch names.
func (t *task) advance(ctx context.Context, engine *rotate.Engine, p keystore.RotationPlan, f rotateFlags) (keystore.RotationPlan, error) {
	on := t.teller(p)
	id, given, piped := p.ID, false, false
	give := func() (keystore.RotationPlan, error) {
		given = true
		value, err := t.Resolver.Resolve(ctx, f.value)
		if err != nil {
			return p, usage("--value: %w", err)
		}
		return engine.Give(ctx, id, value, f.expires)
	}
	if n := p.Now(); f.value != "" && p.NewHeld != "" && n >= 0 && p.Steps[n].Kind.Word() == keystore.WordCreate { // it was not accepted yet
		if p, err := give(); err != nil && !errors.Is(err, keystore.ErrStepOrder) {
			return p, err
		}
	}
	for {
		p, err := engine.Run(ctx, id, "", on)
		var stop *rotate.StopError
		if !errors.As(err, &stop) {
			return p, err
		}
		switch {
		case stop.Value && f.value != "" && !given:
			if p, err := give(); err != nil {
				return p, err
			}
		case stop.Step.Kind == keystore.StepSet && f.pipe != "" && !piped:
			piped = true
			if err := t.pipeValue(ctx, f.pipe, p); err != nil {
				return p, err
			}
		case stop.Vouch && slices.ContainsFunc(f.vouch, func(name string) bool { return names(name, stop.Step) }):
			p, err := engine.Vouch(ctx, id, stop.Step, "by --vouch")
			if err != nil {
				return p, err
			}
			on(p)
		default:
			return p, err
		}
	}
}

func (t *task) printRotation(p keystore.RotationPlan, stopped error, asJSON bool) error {
	if asJSON {
		return t.app.printJSON(view.NewRotation(p, stopped))
	}
	rows := [][]string{{"STEP", "STATE", "BY", "PROOF"}}
	for _, s := range p.Steps {
		state, by := "open", "-"
		if s.Done {
			state, by = "done", s.By.Label()
		}
		rows = append(rows, []string{s.Name(), state, by, strings.TrimSpace(s.Proof())})
	}
	return printColumns(t.app.Stdout, rows)
}

// rotationError gives the error of an unfinished rotation its exit code.
func rotationError(ctx context.Context, err error) error {
	var stop *rotate.StopError
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
	case errors.Is(err, rotate.ErrElsewhere):
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
