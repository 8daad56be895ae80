package cli

import (
	"cmp"
	"context"
	"errors"

	"github.com/spf13/cobra"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/keys"
	"zonedeck/service/password"
	"zonedeck/service/view"
)

type passwordFlags struct {
	Key     string   `flag:"key" takes:"key" help:"key of the inventory to change the password by, of level ADMIN, OPS or LIMIT (default: the profile's)"`
	Rotate  bool     `flag:"rotate" help:"rotate the password, or go on with its rotation"`
	Again   bool     `flag:"again" help:"without a terminal: rotate the password once more though its last rotation is done"`
	Pipe    string   `flag:"pipe" help:"when a person has to put the new password somewhere, give it to this command on its standard input instead, then check again"`
	Value   string   `flag:"value" help:"reference (env:, cmd:, keyring:, file:) to the new password that the zone's access details showed, where no call changes it"`
	Vouch   []string `flag:"vouch" help:"vouch for the step of this name (repeatable)"`
	Scan    []string `flag:"scan" takes:"folder" help:"search this folder too for files that hold the password (repeatable)"`
	Report  bool     `flag:"report" help:"only print the record of the password's newest rotation, as Markdown or --json"`
	Abandon bool     `flag:"abandon" help:"end the rotation of the password; a new password that no reference gives yet is taken back"`
	Reason  string   `flag:"admin-reason" help:"why an ADMIN key is used; shown in History"`
	jsonFlag
}

func (f passwordFlags) needs() needs { return needs{key: f.Key, journal: true, reason: f.Reason} }

func (a *app) zonesPasswordCommand() *cobra.Command {
	return command(a, spec[passwordFlags]{
		use:   "password ZONE",
		short: "Show what uses a zone's proxy password, and replace it with --rotate",
		long: `Says what uses a zone's proxy password, what stops when it is replaced, and
whether it can be replaced: where the profile's dialect knows the calls, the
reference must be a keyring: or file: one, so that the new password is not lost.
Where it knows none, you regenerate the password in the zone's access details,
and --value gives it.

The references of the account's profiles are read and their values compared,
because a rotation sets all references with the same value. cmd: references are
not run for this, because they may ask a person. Nothing is changed, and the
service is not asked which password it takes.

--rotate rotates the password like a key, in four stages: create (another password
is added to the zone), set (each reference gives it), test (each user logs in
with it), finish (the old one is removed and seen to be refused). Every step is
recorded on disk before and after it is taken, so the same command goes on with a
rotation that was left or killed. If it fails before a reference was set, it is
taken back. Neither password is ever shown.`,
		run: zonesPassword,
	})
}

func zonesPassword(ctx context.Context, t *task, f passwordFlags, args []string) (printed, error) {
	if len(f.Vouch) > 0 && !f.Rotate {
		return printed{}, usage("--vouch needs --rotate: it is for a step of a rotation")
	}
	p, err := t.Profile(ctx)
	if err != nil {
		return printed{}, fail(exitState, "%w", err)
	}
	z, err := t.Zone(p, args[0])
	if err != nil {
		return printed{}, err
	}
	if f.Report || f.Abandon {
		rotations := t.Rotations(nil)
		r, found, err := rotations.Newest(rotations.OfPassword(p, z, f.Key))
		switch {
		case err != nil && !found:
			return printed{}, fail(exitState, "%w", err)
		case f.Abandon && (!found || r.Over()):
			return printed{}, usage("no rotation of the password of zone %s is under way", args[0])
		case f.Abandon:
			return t.abandonRotation(ctx, r)
		case !found:
			return printed{}, usage("there is no record of a rotation of the password of zone %s", z.Name)
		}
		return rotationReport(r), nil
	}
	name := cmp.Or(f.Key, p.Key)
	k, _ := t.Keys.Key(name)
	k.Name = name
	uses, usesErr := t.Keys.Inventory().PasswordUses(ctx, p, z)
	if usesErr != nil {
		t.app.say("zonedeck: not everything could be searched: %s", usesErr)
	}
	out := view.Password{
		Zone: string(z.Name), Key: name, Stops: append([]string{}, uses.Stops...),
		GoOn: append([]string{}, uses.GoOn...), Compared: uses.Compared, Steps: []view.RotationStep{},
	}
	if z.Password != "" {
		out.Reference = keystore.Ref(z.Password).Label()
	}
	if refused := t.Passwords.Refusal(p, z, k); refused != nil {
		out.Refusal = refused.Error()
		return passwordPrinted(out).withError(usage("%w", refused))
	}
	if !f.Rotate {
		return passwordPrinted(out), nil
	}
	if !f.JSON {
		if err := t.app.conclude(passwordPrinted(out), nil); err != nil {
			return printed{}, err
		}
	}
	r, err := t.goOnWithPassword(ctx, p, z, f)
	now := view.NewRotation(r, err)
	out.ID, out.Steps, out.Next, out.Rotated = now.ID, now.Steps, now.Next, r.ID != "" && !r.Undone && r.HasTakenOver()
	refused, _ := r.Step(keystore.StepRefused, "")
	out.OldRefused = refused.Done && refused.By == keystore.Measured
	err = passwordError(ctx, r, err)
	if f.JSON {
		return passwordPrinted(out).withError(err)
	}
	if err == nil {
		t.app.say("zonedeck: zone %s has a new password behind %s; the old one is refused (%s)", z.Name, out.Reference, refused.By.Label())
	}
	return printed{}, err
}

// goOnWithPassword begins the rotation of a zone's password, or goes on with the one under way, until
// it needs a person.
func (t *task) goOnWithPassword(ctx context.Context, p model.Profile, z model.Zone, f passwordFlags) (keystore.RotationPlan, error) {
	rotations, flags := t.Rotations(t.scanned(f.Scan)), rotateFlags{Value: f.Value, Vouch: f.Vouch, Pipe: f.Pipe, Again: f.Again}
	r, err := t.rotation(ctx, rotations, rotations.OfPassword(p, z, f.Key), flags)
	switch {
	case err != nil:
		return r.Plan, beginError(ctx, err)
	case r.Begun() && f.Key != "" && f.Key != r.Plan.ChangedBy:
		return r.Plan, usage("a rotation of the %s is under way, by key %s: go on with that key, or end the rotation with --abandon", r.Plan.Key, r.Plan.ChangedBy)
	}
	if err := useful(r, flags); err != nil {
		return keystore.RotationPlan{}, err
	}
	if r.Begun() {
		t.app.say("zonedeck: going on with rotation %s of %s", r.Plan.ID, r.Plan.Named())
	} else if r, err = t.beginRotation(ctx, r, flags); errors.As(err, new(*exitError)) {
		return keystore.RotationPlan{}, err
	} else if err != nil {
		return r.Plan, beginError(ctx, err)
	}
	r, err = t.advance(ctx, r, flags)
	return r.Plan, err
}

// beginError gives an exit code to the error of a password rotation that did not begin.
func beginError(ctx context.Context, err error) error {
	if errors.Is(err, keystore.ErrRotationNow) || errors.Is(err, keystore.ErrRotationFile) {
		return fail(exitState, "%w", err)
	}
	return fetchError(ctx, err)
}

// passwordError gives an exit code to the error of an unfinished password rotation.
func passwordError(ctx context.Context, p keystore.RotationPlan, err error) error {
	n := p.Now()
	switch stop, coded := (*keys.StopError)(nil), (*exitError)(nil); {
	case err == nil, errors.As(err, &coded):
		return err
	case errors.As(err, &stop), errors.Is(err, keys.ErrRotationRunning):
		return rotationError(ctx, err)
	case ctx.Err() != nil:
		return fail(ExitInterrupted, "interrupted; the same command goes on: %w", err)
	case n < 0 || p.HasTakenOver():
		return fail(exitChecksFailed, "%w", err)
	case errors.Is(err, password.ErrNotAccepted):
		return fail(exitRejected, "%w", err)
	case p.Steps[n].Kind == keystore.StepSet || p.NewHeld == "":
		return fail(exitState, "%w", err)
	}
	return fail(exitRefused, "%w", err)
}

// passwordPrinted is the output for a password and what uses it.
func passwordPrinted(out view.Password) printed {
	rows := [][]string{{"zone", out.Zone}, {"reference", out.Reference}, {"key", out.Key}}
	for _, s := range out.Stops {
		rows = append(rows, []string{"stops", s})
	}
	for _, s := range out.GoOn {
		rows = append(rows, []string{"goes on", s})
	}
	rows = append(rows, []string{"compared", out.Compared})
	switch {
	case out.Refusal != "":
	case out.Rotated && out.OldRefused:
		rows = append(rows, []string{"is", "replaced; the old password is refused"})
	case out.Rotated:
		rows = append(rows, []string{"is", "replaced; the old password was not seen to be refused"})
	case out.ID == "":
		rows = append(rows, []string{"can be", "replaced: the same command with --rotate"})
	}
	return printed{object: out, rows: rows}
}
