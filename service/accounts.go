package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/account"
	"zonedeck/service/config"
	"zonedeck/service/journal"
	"zonedeck/service/keys"
	"zonedeck/service/radius"
)

// accountFiles are where the account of a profile is written.
func (s *Service) accountFiles(name string) account.Files {
	return account.Files{
		Config: s.configFile(), CADir: filepath.Join(filepath.Dir(s.configFile()), "ca"),
		Inventory: accountKeys{s.Inventory, s, name}, Secrets: s.Resolver,
	}
}

// accountKeys is the inventory; its changes are written into the timeline of the profile that is
// saved, which need not be the one in use.
type accountKeys struct {
	*keystore.Inventory
	service *Service
	profile string
}

// Add records a key.
func (k accountKeys) Add(ctx context.Context, added model.Key) error {
	err := k.Inventory.Add(ctx, added)
	if err == nil {
		k.service.Keys.Events().Recorded(ctx, k.profile, added, "in the inventory with its account, level "+added.Level.String())
	}
	return err
}

// Update changes a key.
func (k accountKeys) Update(ctx context.Context, name string, change func(model.Key) (model.Key, error)) error {
	err := k.Inventory.Update(ctx, name, change)
	if err == nil {
		k.service.Keys.Events().Put(ctx, k.profile, name, "changed", "in the inventory with its account: its value or its reference")
	}
	return err
}

// Remove drops a key.
func (k accountKeys) Remove(ctx context.Context, seen model.Key) error {
	err := k.Inventory.Remove(ctx, seen)
	if err == nil {
		k.service.Keys.Events().Put(ctx, k.profile, seen.Name, "removed", "from the inventory with its account; it is still valid at the service")
	}
	return err
}

// ReadAccount is Client.ReadAccount. It records in the timeline that it used the profile's key,
// unless a profile is read-only, or a key that is recorded nowhere was refused.
func (s *Service) ReadAccount(ctx context.Context, p config.Profile, key keystore.Secret) (account.Found, error) {
	_, recorded := s.Keys.Key(p.Key)
	if err := cmp.Or(keystore.CheckKeyValue(key), s.Keys.CheckName(p.Key, key)); err != nil {
		return account.Found{}, err
	}
	found, err := s.Client.ReadAccount(ctx, p, key, nil)
	used := found.Key.State == account.OK || recorded && found.Key.State == account.Failed
	if p.Key != "" && used && cmp.Or(s.InUse.Refuse(changeKeys), p.Refuse(changeKeys)) == nil {
		s.Keys.Events().Put(ctx, p.Name, p.Key, journal.EventUsed, "to ask what its account has: "+found.Key.Text)
	}
	return found, err
}

// SaveAccount writes an account; see account.Save.
func (s *Service) SaveAccount(ctx context.Context, d account.Draft) (config.Profile, error) {
	if err := cmp.Or(s.Keys.Inventory().Read(), s.RefuseAccount(d)); err != nil {
		return d.Profile, err
	}
	if d.Key.Secret != "" && d.Values[d.Key.Secret].Empty() {
		if _, known := s.Inventory.Get(d.Key.Name); !known {
			if err := s.stored(ctx, d.Key.Secret); err != nil {
				return d.Profile, err
			}
		}
	}
	if _, recorded := s.Inventory.Get(d.Key.Name); recorded && s.o.Unattended {
		if err := s.Keys.Owners().Refuse(s.before(d.Profile), d.Key); err != nil {
			return d.Profile, err
		}
	}
	if err := s.chooseKey(ctx, d); err != nil {
		return d.Profile, err
	}
	return account.Save(ctx, s.accountFiles(d.Profile.Name), d)
}

// chooseKey refuses an ADMIN key that becomes that of a profile without a reason.
func (s *Service) chooseKey(ctx context.Context, d account.Draft) error {
	before, err := s.Configuration().Profile(d.Profile.Name)
	if err == nil && d.Before != nil && before.Key == d.Profile.Key {
		return nil
	}
	k := d.Key
	if k.Name != d.Profile.Key {
		k = model.Key{Name: d.Profile.Key}
	}
	if recorded, ok := s.Inventory.Get(k.Name); ok {
		k = recorded
	}
	return s.Keys.Choose(ctx, keys.Choice{Profile: d.Profile.Name, Key: k, Value: d.Values[k.Secret], Reason: d.AdminReason})
}

// before is a profile with the key that the configuration gives it, not the key that is being chosen.
func (s *Service) before(p config.Profile) config.Profile {
	known, _ := s.Configuration().Profile(p.Name)
	p.Key = known.Key
	return p
}

// DraftKey is KeyValue for the key of a profile that is being added or changed. A key that is recorded
// with it is the profile's: its reference and the address were named together.
func (s *Service) DraftKey(ctx context.Context, d account.Draft) (keystore.Secret, error) {
	return s.Keys.ValueOfDraft(ctx, d.Profile, s.before(d.Profile), d.Key)
}

// WhatGoes says what RemoveAccount can remove with a profile.
func (s *Service) WhatGoes(name string) (account.Removal, error) {
	if err := s.Keys.Inventory().Read(); err != nil { // it is not known what else needs a secret
		return account.Removal{}, err
	}
	return account.WhatGoes(s.accountFiles(name), name, s.Inventory.List())
}

// RemoveAccount removes a profile; see account.Remove.
func (s *Service) RemoveAccount(ctx context.Context, r account.Removal, withKey, withSecrets bool) error {
	if err := cmp.Or(s.Keys.Inventory().Read(), s.RefuseRemoval(r.Profile)); err != nil {
		return err
	}
	if err := s.rotatedMeanwhile(r, withKey, withSecrets); err != nil {
		return err
	}
	if err := s.neededStill(ctx, r, withKey); err != nil {
		return err
	}
	if err := s.neededByJobs(ctx, r, withKey, withSecrets); err != nil {
		return err
	}
	return account.Remove(ctx, s.accountFiles(r.Profile.Name), r, withKey, withSecrets)
}

// rotatedMeanwhile refuses to remove what a rotation under way needs: it could not go on.
func (s *Service) rotatedMeanwhile(r account.Removal, withKey, withSecrets bool) error {
	plans, err := s.Rotations(nil).List()
	if err != nil {
		return fmt.Errorf("nothing was removed: it is not known what rotations need: %w", err)
	}
	for _, p := range plans {
		if !p.Proven() || p.Over() {
			continue
		}
		needs := p.Calls(r.Profile.Name) || withKey && p.OfKey("", r.Key.Name) || withSecrets && slices.ContainsFunc(r.Secrets, p.NeedsReference)
		if needs {
			return fmt.Errorf("nothing was removed: the rotation of %s needs it. Go on with that one, or end it: zonedeck keys rotate %s --abandon", p.Subject(), p.ID)
		}
	}
	return nil
}

// neededStill refuses to remove the record of a key that a job in flight or a saved request needs.
func (s *Service) neededStill(ctx context.Context, r account.Removal, withKey bool) error {
	if !withKey || r.Key.Name == "" {
		return nil
	}
	report, err := s.Keys.Inventory().Radius(ctx, []radius.Subject{radius.KeySubject(r.Key, "")}, nil, nil)
	if err != nil {
		return err
	}
	for _, u := range report.Uses[0] {
		if u.Kind == radius.RunningJob || u.Kind == radius.SavedRequest {
			return fmt.Errorf("nothing was removed: %s needs key %s", u, r.Key.Name)
		}
	}
	if len(report.Problems) > 0 {
		return fmt.Errorf("nothing was removed: it is not known what needs key %s: %s", r.Key.Name, report.Problems[0])
	}
	return nil
}

// neededByJobs refuses to remove a secret with which the addresses of a job under way are called: launching the job
// again would need it.
func (s *Service) neededByJobs(ctx context.Context, r account.Removal, withKey, withSecrets bool) error {
	if !withSecrets || len(r.Secrets) == 0 {
		return nil
	}
	uses, err := ledgerJobs{s}.AuthUses(ctx)
	if err != nil {
		return fmt.Errorf("nothing was removed: it is not known what the jobs of the ledger need: %w", err)
	}
	for _, u := range uses {
		if !u.State.Final() && slices.Contains(r.Secrets, u.Ref) && (withKey || u.Ref != r.Key.Secret) {
			return fmt.Errorf("nothing was removed: %s (%s) needs %s, the Authorization header of its delivery. Wait for its end, or keep the secrets", u.Job, u.State.Label(), keystore.Ref(u.Ref).Label())
		}
	}
	return nil
}

// Configured are the profiles of the config file in the order of their names, and the default.
func (s *Service) Configured() (profiles []config.Profile, byDefault string) {
	return s.InUse.Configured(), s.Configuration().Default()
}

// DefaultProfile is the default of the config file as it is on disk, empty where there is none.
func (s *Service) DefaultProfile() (string, error) {
	file, err := s.InUse.Read()
	return file.Default(), err
}

// fileStore says who can open the encrypted files.
func (s *Service) fileStore() string {
	if p, _ := s.Resolver.Protection(); p == keystore.ByPassphrase {
		return "age file: opened by a passphrase"
	}
	return "age file: without a passphrase"
}

// SecretStore is a place for secrets and what its probe said: nil is good. Note says more of a good one.
type SecretStore struct {
	Scheme string // keystore.SchemeKeyring or keystore.SchemeFile
	Err    error
	Note   string
}

// SecretStores probes the places where secrets can be stored.
func (s *Service) SecretStores(ctx context.Context) []SecretStore {
	err := s.Resolver.ProbeKeyring(ctx)
	if why, ok := errors.AsType[*keystore.SecretError](err); ok {
		err = fmt.Errorf("%s: %w", why.Problem, cmp.Or(why.Err, why.Kind))
	}
	return []SecretStore{{Scheme: keystore.SchemeKeyring, Err: err}, {Scheme: keystore.SchemeFile, Note: s.fileStore()}}
}
