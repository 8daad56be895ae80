package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/profile"
)

// Lookups by name: keys, zones, and their secrets.

// ZonePassword returns a zone's proxy password.
func (s *Session) ZonePassword(ctx context.Context, z model.Zone) (keystore.Secret, error) {
	if z.Password == "" {
		return keystore.Secret{}, fmt.Errorf("zone %q has no password reference: set password in the config file, or %s in the environment", z.Name, EnvPassword)
	}
	return s.Resolver.Resolve(ctx, z.Password)
}

// stored refuses a file: or keyring: reference to a secret that is not there. The other
// kinds are not asked: a variable may be set later, and a command may ask the operator.
func (s *Session) stored(ctx context.Context, ref string) error {
	if !keystore.Ref(ref).Storable() {
		return nil
	}
	if _, err := s.Resolver.Resolve(ctx, ref); errors.Is(err, keystore.ErrSecretMissing) {
		return err
	}
	return nil
}

// Keys returns the keys of the inventory, and the demo account's keys if the emulator
// is in use.
func (s *Session) Keys() []model.Key {
	var keys []model.Key
	if s.embedded != nil {
		s.embedded.mu.Lock()
		ready, known := s.embedded.ready, s.embedded.known
		s.embedded.mu.Unlock()
		if known {
			keys = s.renewed(demoKeys(ready))
		}
	} else if s.o.Getenv(EnvKey) != "" {
		keys = append(keys, s.environmentKey())
	}
	return append(keys, s.Inventory.List()...)
}

// environmentKey is the key that the environment has. What the inventory has recorded of
// the same value, under whatever name, holds for it too: an ADMIN key stays one.
func (s *Session) environmentKey() model.Key {
	value := keystore.NewSecret(s.o.Getenv(EnvKey))
	k := model.Key{Note: "from the environment: level and age are not known"}
	for _, known := range s.Inventory.List() {
		if known.Fingerprint == value.Fingerprint() {
			k = known
			k.Note = "from the environment: key " + known.Name + " of the inventory"
		}
	}
	k.Name, k.Secret, k.Fingerprint, k.Last4 = EnvKey, "env:"+EnvKey, value.Fingerprint(), value.Last4()
	return k
}

// renewed puts the new values of rotations into keys that are in no inventory. A rotation is
// of a value, which its fingerprint tells: it does not touch another key of the same name.
func (s *Session) renewed(keys []model.Key) []model.Key {
	plans, _ := keystore.OpenRotations(s.Paths.RotationsDir()).List() // the Keys tab tells the error
	for i := range keys {
		for _, p := range slices.Backward(plans) { // the oldest first: one follows the other
			if p.Key == keys[i].Name && p.OldFingerprint != "" && p.OldFingerprint == keys[i].Fingerprint && p.HasTakenOver() {
				keys[i] = p.Renewed(keys[i])
			}
		}
	}
	return keys
}

// Key finds a key by name.
func (s *Session) Key(name string) (model.Key, bool) {
	keys := s.Keys()
	if i := slices.IndexFunc(keys, func(k model.Key) bool { return k.Name == name }); i >= 0 {
		return keys[i], true
	}
	return model.Key{}, false
}

func (s *Session) demoSecret(name string) (keystore.Secret, bool) {
	if s.embedded == nil {
		return keystore.Secret{}, false
	}
	return s.embedded.demoSecret(name)
}

// Zone finds the zone a command names. A profile without a list of zones accepts
// every valid name.
func (s *Session) Zone(p profile.Profile, name string) (model.Zone, error) {
	if z, ok := p.Zone(name); ok {
		return z, nil
	}
	if len(p.Zones) > 0 {
		return model.Zone{}, mistake("zone %q is not in profile %q: it has %s", name, p.Name, zoneNames(p.Zones))
	}
	zone, err := model.ParseZoneName(name)
	if err != nil {
		return model.Zone{}, mistake("%w", err)
	}
	z := model.Zone{Name: zone}
	if s.o.Getenv(EnvPassword) != "" {
		z.Password = "env:" + EnvPassword
	}
	return z, nil
}

func zoneNames(zones []model.Zone) string {
	names := ""
	for i, z := range zones {
		if i > 0 {
			names += ", "
		}
		names += string(z.Name)
	}
	return names
}
