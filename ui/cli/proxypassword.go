package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"zonedeck/keystore"
	"zonedeck/model"
)

type passwordFlags struct {
	zone, key, adminReason string
	renew, json            bool
}

func (a *app) proxyPasswordCommand() *cobra.Command {
	var f passwordFlags
	cmd := &cobra.Command{
		Use:   "password --zone Z",
		Short: "Say what stops when a zone's proxy password is replaced, and replace it with --renew",
		Long: `Says what uses a zone's proxy password, and whether it can be replaced: the profile's dialect has
to know the calls, and the reference has to be a keyring: or file: one, so that the new password
is not lost. Nothing is changed.

With --renew a new password is added to the zone, seen to work, put where the reference leads, and
only then the old one is removed and seen to be refused. Neither is ever shown.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withSession(cmd.Context(), needs{key: f.key, journal: true, reason: f.adminReason}, func(t *task) error {
				return t.proxyPassword(cmd.Context(), f)
			})
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.zone, "zone", "", "zone whose password is meant (required)")
	fl.StringVar(&f.key, "key", "", "key of the inventory to change it by (default: the profile's); its level has to be ADMIN, OPS or LIMIT")
	fl.BoolVar(&f.renew, "renew", false, "replace the password")
	fl.StringVar(&f.adminReason, "admin-reason", "", "why an ADMIN key is used; it stands in Activity")
	fl.BoolVar(&f.json, "json", false, "print one JSON object")
	return cmd
}

// passwordJSON is what "proxy password --json" prints (docs/schema/proxy-password.json).
type passwordJSON struct {
	SchemaVersion int                `json:"schema_version"`
	Zone          string             `json:"zone"`
	Reference     string             `json:"reference"`
	Key           string             `json:"key"`
	Stops         []string           `json:"stops"`
	GoOn          []string           `json:"go_on"`
	Refusal       string             `json:"refusal"`
	Renewed       bool               `json:"renewed"`
	OldRefused    bool               `json:"old_refused"`
	Steps         []passwordStepJSON `json:"steps"`
}

type passwordStepJSON struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	Text string `json:"text"`
}

func (t *task) proxyPassword(ctx context.Context, f passwordFlags) error {
	if f.zone == "" {
		return usage("--zone is missing: name the zone whose password is meant")
	}
	p, err := t.Profile(ctx)
	if err != nil {
		return fail(exitState, "%w", err)
	}
	z, err := t.Zone(p, f.zone)
	if err != nil {
		return err
	}
	name := f.key
	if name == "" {
		name = p.Key
	}
	k, _ := t.Key(name)
	k.Name = name
	uses, usesErr := t.PasswordUses(ctx, p, z)
	if usesErr != nil {
		t.app.say("zonedeck: not everything could be looked through: %s", oneLine(usesErr))
	}
	out := passwordJSON{
		SchemaVersion: schemaVersion, Zone: string(z.Name), Key: name, Stops: append([]string{}, uses.Stops...),
		GoOn: append([]string{}, uses.GoOn...), Steps: []passwordStepJSON{},
	}
	if z.Password != "" {
		out.Reference = keystore.Ref(z.Password).Label()
	}
	if refused := t.Client.RefuseRenewal(p, z, k); refused != nil {
		out.Refusal = refused.Error()
		return t.passwordEnd(f, out, usage("%w", refused))
	}
	if !f.renew {
		return t.passwordEnd(f, out, nil)
	}
	if !f.json {
		if err := t.printPassword(out); err != nil {
			return err
		}
	}
	res, err := t.Client.RenewPassword(ctx, z, f.key, func(now model.PasswordRenewal) {
		if s := now.Steps[len(now.Steps)-1]; !f.json {
			t.app.say("zonedeck: %s", sanitizeLine(passwordStep(s)))
		}
	})
	out.Renewed, out.OldRefused = res.Renewed, res.OldRefused
	for _, s := range res.Steps {
		out.Steps = append(out.Steps, passwordStepJSON(s))
	}
	if err != nil {
		err = renewalError(ctx, res, err)
	}
	if f.json {
		return t.passwordEnd(f, out, err)
	}
	if err == nil {
		t.app.say("zonedeck: zone %s has a new password behind %s; the old one is refused", z.Name, out.Reference)
	}
	return err
}

// renewalError gives a renewal that did not come to its end an exit code.
func renewalError(ctx context.Context, res model.PasswordRenewal, err error) error {
	switch {
	case res.Renewed:
		return fail(exitChecksFailed, "%w", err)
	case ctx.Err() != nil:
		return fail(exitInterrupted, "interrupted: %w", err)
	case len(res.Steps) == 0 && errors.Is(err, model.ErrRequest):
		return usage("%w", err)
	case len(res.Steps) == 0:
		return fetchError(ctx, err)
	}
	codes := map[string]int{"store": exitState, "keep": exitState, "prove": exitRejected}
	for _, s := range res.Steps {
		if code, known := codes[s.Name]; known && !s.OK {
			return fail(code, "%w", err)
		}
	}
	return fail(exitRefused, "%w", err)
}

func passwordStep(s model.PasswordStep) string {
	if s.OK {
		return "done: " + s.Text
	}
	return "failed: " + s.Text
}

// passwordEnd prints the answer and ends with err.
func (t *task) passwordEnd(f passwordFlags, out passwordJSON, err error) error {
	show := t.printPassword
	if f.json {
		show = func(out passwordJSON) error { return t.app.printJSON(out) }
	}
	if failed := show(out); failed != nil {
		return failed
	}
	return err
}

func (t *task) printPassword(out passwordJSON) error {
	rows := [][]string{{"zone", out.Zone}, {"reference", out.Reference}, {"key", out.Key}}
	for _, s := range out.Stops {
		rows = append(rows, []string{"stops", s})
	}
	for _, s := range out.GoOn {
		rows = append(rows, []string{"goes on", s})
	}
	if out.Refusal == "" {
		rows = append(rows, []string{"can be", "replaced: the same command with --renew"})
	}
	return printColumns(t.app.Stdout, rows)
}
