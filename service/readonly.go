package service

import (
	"cmp"
	"maps"
	"slices"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/account"
	"zonedeck/service/config"
)

// What a read-only profile refuses of this machine's files.
const (
	changeConfig  = "change the configuration"
	changeKeys    = "change the key inventory"
	changeSecrets = "change its secrets"
)

// RefuseAccounts is why no account is added or changed, or nil: the keys are not known, or the profile is read-only
// (*config.ReadOnlyError). It waits for nothing.
func (s *Service) RefuseAccounts() error {
	return cmp.Or(s.Keys.Inventory().Unread(), s.InUse.Refuse(changeConfig))
}

// RefuseAccount says why an account is not saved, or is nil. It does not refuse to switch read-only off.
func (s *Service) RefuseAccount(d account.Draft) error {
	if err := keystore.CheckKeyValue(d.Values[d.Key.Secret]); err != nil {
		return err
	}
	before, err := s.Configuration().Profile(d.Profile.Name)
	if kept := err == nil && d.Before != nil && before.Key == d.Profile.Key; !kept {
		if err := s.Keys.CheckName(d.Profile.Key, d.Values[d.Key.Secret]); err != nil {
			return err
		}
	}
	if known := err == nil && d.Before != nil; known && before.ReadOnly {
		if d.Profile.ReadOnly || !d.Before.ReadOnly {
			return before.Refuse(changeConfig)
		}
		return nil
	}
	return s.InUse.Refuse(changeConfig)
}

// RefuseRemoval says why an account is not removed, or is nil.
func (s *Service) RefuseRemoval(p config.Profile) error {
	return cmp.Or(s.InUse.Refuse(changeConfig), p.Refuse(changeConfig))
}

// refuseSecret is why the secret behind a reference is not changed: a profile with that reference is
// read-only.
func (s *Service) refuseSecret(ref string) error {
	if err := s.Keys.Inventory().Read(); err != nil {
		return err
	}
	for _, p := range s.readOnly() {
		if p.refers(ref) {
			return p.Refuse(changeSecrets)
		}
	}
	return nil
}

// readOnly are the profiles of the configuration that are read-only.
func (s *Service) readOnly() (out []owner) {
	for _, p := range s.InUse.Configured() {
		if p.ReadOnly {
			k, _ := s.Inventory.Get(p.Key)
			out = append(out, owner{p, k})
		}
	}
	return out
}

// owner is a profile of the configuration with its key as the inventory records it.
type owner struct {
	config.Profile
	key model.Key
}

// refers reports whether a profile takes a secret from a reference.
func (o owner) refers(ref string) bool {
	return ref != "" && (o.key.Secret == ref || slices.Contains(slices.Collect(maps.Values(o.Variables)), ref) ||
		slices.ContainsFunc(o.Zones, func(z model.Zone) bool { return z.Password == ref }))
}
