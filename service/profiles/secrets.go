package profiles

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"zonedeck/keystore"
	"zonedeck/service/secrets"
)

// secretFiles are what is read and changed about secrets.
func (ps *Profiles) secretFiles() secrets.Files {
	return secrets.Files{
		Config: ps.cfg.InUse.Path(), Journal: ps.cfg.Paths.MigrationFile(), Keys: ps.inventory, Store: ps.cfg.Secrets,
		Guard: guard{ps}, Jobs: ps.cfg.Jobs,
	}
}

// guard keeps secrets where they are.
type guard struct{ ps *Profiles }

// Busy says why the secret behind a reference cannot be moved now, or is nil.
func (g guard) Busy(ref string) error {
	if err := g.ps.refuseSecret(ref); err != nil {
		return err
	}
	if why := g.ps.cfg.Rotations.HoldingReference(ref); why != "" {
		return errors.New(why)
	}
	return nil
}

// SecretState says what is behind a reference without giving it away.
type SecretState struct {
	secrets.Use
	// State is present, missing, unreachable, or not asked: a command may ask a question, and is
	// not run. Text says why.
	State, Text string
}

// Secrets are all references with what is behind them: those of the configuration, of the
// inventory and of the ledger's jobs, and those that rotations left values behind.
func (ps *Profiles) Secrets(ctx context.Context) ([]SecretState, error) {
	uses, err := secrets.Uses(ctx, ps.secretFiles())
	out := make([]SecretState, 0, len(uses))
	for _, u := range uses {
		one := SecretState{Use: u, State: "present"}
		if keystore.Ref(u.Ref).Scheme() == keystore.SchemeCmd {
			one.State, one.Text = "not asked", "the command is not run for a list"
		} else if _, err := ps.cfg.Secrets.Resolve(ctx, u.Ref); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			one.State, one.Text = "unreachable", err.Error()
			if errors.Is(err, keystore.ErrSecretMissing) {
				one.State = "missing"
			}
		}
		out = append(out, one)
	}
	held, unread := ps.rotationValues(ctx, uses)
	return append(out, held...), errors.Join(err, unread)
}

// rotationValues are the values that rotations hold, and those that abandoned ones held, except
// behind the references that are listed already.
func (ps *Profiles) rotationValues(ctx context.Context, listed []secrets.Use) (out []SecretState, err error) {
	plans, err := ps.cfg.Rotations.List()
	for _, p := range plans {
		state := "over"
		switch {
		case p.Abandoned:
			state = "abandoned"
		case !p.Over():
			state = "under way"
		}
		before, after := p.References()
		for _, ref := range []string{before, after} {
			if slices.ContainsFunc(listed, func(u secrets.Use) bool { return u.Ref == ref }) {
				continue
			}
			use := "rotation of " + p.Subject() + " (" + state + ")"
			if ref == p.NewRef && p.HasTakenOver() {
				use = "key " + p.Key + ", since its rotation"
			}
			if _, missing := ps.cfg.Secrets.Resolve(ctx, ref); missing == nil {
				out = append(out, SecretState{Use: secrets.Use{Ref: ref, Uses: []string{use}}, State: "present"})
			}
		}
	}
	return out, err
}

// SetSecret puts a value behind a reference; see secrets.Set.
func (ps *Profiles) SetSecret(ctx context.Context, ref string, value keystore.Secret) error {
	if err := cmp.Or(ps.cfg.InUse.Refuse(changeKeys), ps.refuseSecret(ref)); err != nil {
		return err
	}
	return secrets.Set(ctx, ps.secretFiles(), ref, value)
}

// RemoveSecret deletes the value behind a reference that nothing refers to; see secrets.Remove.
func (ps *Profiles) RemoveSecret(ctx context.Context, ref string) error {
	if err := cmp.Or(ps.cfg.InUse.Refuse(changeKeys), ps.refuseSecret(ref)); err != nil {
		return err
	}
	return secrets.Remove(ctx, ps.secretFiles(), ref)
}

// SecretUses lists the references to secrets; see secrets.Uses.
func (ps *Profiles) SecretUses(ctx context.Context) ([]secrets.Use, error) {
	return secrets.Uses(ctx, ps.secretFiles())
}

// MoveSecrets moves secrets into another store; see secrets.Migrate.
func (ps *Profiles) MoveSecrets(ctx context.Context, to string, refs []string, on func(secrets.Move)) ([]secrets.Move, error) {
	if err := ps.cfg.InUse.Refuse(changeConfig); err != nil {
		return nil, err
	}
	return secrets.Migrate(ctx, ps.secretFiles(), to, refs, on)
}

// refuseSecret is why the secret behind a reference is not changed: a profile with that reference is
// read-only.
func (ps *Profiles) refuseSecret(ref string) error {
	if err := ps.cfg.Keys.Inventory().Read(); err != nil {
		return err
	}
	for _, p := range ps.cfg.InUse.Configured() {
		k, _ := ps.inventory.Get(p.Key)
		if ref != "" && p.ReadOnly && (k.Secret == ref || slices.Contains(references(p), ref)) {
			return p.Refuse(changeSecrets)
		}
	}
	return nil
}
