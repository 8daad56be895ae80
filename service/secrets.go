package service

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"

	"zonedeck/keystore"
	"zonedeck/service/jobs"
	"zonedeck/service/secrets"
)

// secretFiles are what the commands about secrets read and change.
func (s *Service) secretFiles() secrets.Files {
	return secrets.Files{
		Config: s.configFile(), Journal: filepath.Join(s.Paths.Data, "migration.json"), Keys: s.Inventory, Store: s.Resolver, Busy: s.busy, Jobs: ledgerJobs{s},
	}
}

// ledgerJobs is the ledger for a command that has not opened it, such as one about secrets.
type ledgerJobs struct{ s *Service }

func (j ledgerJobs) AuthUses(ctx context.Context) (uses []jobs.AuthUse, err error) {
	l, done, err := j.s.files.LedgerIfAny(ctx)
	if l == nil || err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, done()) }()
	return jobs.AuthUses(ctx, l)
}

func (j ledgerJobs) SwitchAuth(ctx context.Context, from, to string) (err error) {
	l, done, err := j.s.files.LedgerIfAny(ctx)
	if l == nil || err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	return jobs.SwitchAuth(ctx, l, from, to)
}

// busy says why the secret behind a reference cannot be moved now, or is nil.
func (s *Service) busy(ref string) error {
	if err := s.refuseSecret(ref); err != nil {
		return err
	}
	if why := s.Rotations(nil).Holds(ref); why != "" {
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

// SecretStates are all references with what is behind them: those of the configuration, of the
// inventory and of the ledger's jobs, and those that rotations left values behind.
func (s *Service) SecretStates(ctx context.Context) ([]SecretState, error) {
	uses, err := secrets.Uses(ctx, s.secretFiles())
	out := make([]SecretState, 0, len(uses))
	for _, u := range uses {
		one := SecretState{Use: u, State: "present"}
		if keystore.Ref(u.Ref).Scheme() == keystore.SchemeCmd {
			one.State, one.Text = "not asked", "the command is not run for a list"
		} else if _, err := s.Resolver.Resolve(ctx, u.Ref); err != nil {
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
	left, unread := s.leftByRotations(ctx, uses)
	return append(out, left...), errors.Join(err, unread)
}

// leftByRotations are the values that rotations hold, and those that abandoned ones held, except
// behind the references that are listed already.
func (s *Service) leftByRotations(ctx context.Context, listed []secrets.Use) (out []SecretState, err error) {
	plans, err := s.Rotations(nil).List()
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
			if _, missing := s.Resolver.Resolve(ctx, ref); missing == nil {
				out = append(out, SecretState{Use: secrets.Use{Ref: ref, Uses: []string{use}}, State: "present"})
			}
		}
	}
	return out, err
}

// SetSecret puts a value behind a reference; see secrets.Set.
func (s *Service) SetSecret(ctx context.Context, ref string, value keystore.Secret) error {
	if err := cmp.Or(s.InUse.Refuse(changeKeys), s.refuseSecret(ref)); err != nil {
		return err
	}
	return secrets.Set(ctx, s.secretFiles(), ref, value)
}

// RemoveSecret deletes the value behind a reference that nothing refers to; see secrets.Remove.
func (s *Service) RemoveSecret(ctx context.Context, ref string) error {
	if err := cmp.Or(s.InUse.Refuse(changeKeys), s.refuseSecret(ref)); err != nil {
		return err
	}
	return secrets.Remove(ctx, s.secretFiles(), ref)
}

// SecretUses lists the references to secrets; see secrets.Uses.
func (s *Service) SecretUses(ctx context.Context) ([]secrets.Use, error) {
	return secrets.Uses(ctx, s.secretFiles())
}

// MigrateSecrets moves secrets into another store; see secrets.Migrate.
func (s *Service) MigrateSecrets(ctx context.Context, to string, refs []string, on func(secrets.Move)) ([]secrets.Move, error) {
	if err := s.InUse.Refuse(changeConfig); err != nil {
		return nil, err
	}
	return secrets.Migrate(ctx, s.secretFiles(), to, refs, on)
}
