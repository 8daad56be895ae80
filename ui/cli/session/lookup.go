package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/exchange"
	"zonedeck/service/local"
	"zonedeck/ui/kit"
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

// Keys returns the demo account's keys if the emulator is in use, then those of the
// inventory. Where the value of a demo key is not known, the key that the inventory records
// under its name takes its place.
func (s *Session) Keys() []model.Key {
	_ = s.Inventory.Read()
	return s.knownKeys()
}

// recorded are the keys of the inventory, with the intervals of the configuration and what was seen
// of their values.
func (s *Session) recorded() []model.Key {
	_ = s.Inventory.Read() // of one that cannot be read no key is known, and nothing is sent
	keys, _ := s.known()
	return keys
}

// known is recorded for where nothing may wait; unread is why the inventory's keys are not known.
func (s *Session) known() (keys []model.Key, unread error) {
	keys, unread = s.Inventory.Known()
	set := s.configured().Keys()
	s.seen.fill(keys)
	for i, k := range keys {
		keys[i] = set.Apply(k)
	}
	return keys, unreadable(unread)
}

// readAtOnce is the size of an inventory, in bytes, that is read before the first paint: 200 keys, some
// milliseconds.
const readAtOnce = 64 << 10

// readKeys has the inventory read, unless it was, and says why it could not be.
func (s *Session) readKeys() error { return unreadable(s.Inventory.Read()) }

func unreadable(err error) error {
	if err == nil || errors.Is(err, keystore.ErrKeysUnread) {
		return err
	}
	return fmt.Errorf("read the key inventory: %w; correct the file, or put a copy of it back: nothing is written to it before", err)
}

// skew is how far the service's clock is ahead, as last measured.
func (s *Session) skew() (exchange.Skew, bool) { return s.Client.Skew(s.CurrentProfile()) }

// ScanFolders are the folders that the configuration names to be looked through.
func (s *Session) ScanFolders() []string { return s.configured().Keys().Scan }

// Intervals are the days that values are used, by level, where the configuration says them.
func (s *Session) Intervals() map[model.Level]int { return s.configured().Keys().Intervals }

// KeyClock gives the time by which a key's clocks run: the service's for the keys that come with
// the profile, the machine's for the inventory's, which serve every profile.
func (s *Session) KeyClock() func(model.Key) time.Time {
	now, described := s.Now(), kit.Session{Ahead: s.ahead(), Given: s.given(s.Inventory.List())}
	return func(k model.Key) time.Time { return described.KeyNow(k, now) }
}

// given are the keys that come with the profile.
func (s *Session) given(recorded []model.Key) (keys []model.Key) {
	if s.embedded != nil {
		if demo, first := s.embedded.Keys(); demo != nil {
			keys = s.renewed(demo)
			s.noteExpired(keys, first)
		}
	} else if s.o.Getenv(EnvKey) != "" {
		keys = append(keys, s.environmentKey(recorded))
	}
	for i, k := range keys {
		keys[i] = s.configured().Keys().Apply(k)
	}
	return slices.DeleteFunc(keys, func(k model.Key) bool {
		return k.Secret == "" && slices.ContainsFunc(recorded, func(r model.Key) bool { return r.Name == k.Name })
	})
}

// environmentKey is the key that the environment has. What the inventory has recorded of
// the same value, under whatever name, holds for it too: an ADMIN key stays one.
func (s *Session) environmentKey(recorded []model.Key) model.Key {
	value := keystore.NewSecret(s.o.Getenv(EnvKey))
	k := model.Key{Note: "from the environment: level and age are not known"}
	for _, known := range recorded {
		if s.seen.is(known, value.Fingerprint()) {
			k = known
			k.Note = "from the environment: key " + known.Name + " of the inventory"
		}
	}
	k.Name, k.Secret, k.Fingerprint, k.Last4 = EnvKey, "env:"+EnvKey, value.Fingerprint(), value.Last4()
	return k
}

// noteExpired says at keys that have expired since the emulator's first start how to begin again.
func (s *Session) noteExpired(keys []model.Key, first time.Time) {
	for i, k := range keys {
		if k.Expires.State(s.Now(), 0) != model.ExpiryStateExpired || !k.Expires.At.After(first) {
			continue
		}
		why := "the key's dates count from the emulator's first start on " + first.Format(time.DateOnly)
		if k.Expires.At.After(s.o.Now()) {
			why = "the emulator's time is " + aheadOfMachine(s.ahead())
		}
		keys[i].Note = why + "; to begin again, end every zonedeck and run 'zonedeck emulator reset'"
	}
}

// renewed puts the new values of rotations into the keys that come with the profile. A key
// that was deleted at the end of its rotation is there again, under its name.
func (s *Session) renewed(keys []model.Key) []model.Key {
	plans, _ := s.rotations().List()           // the Keys tab tells the error
	gone := map[string]bool{}                  // the keys, by name, that the account lists no more
	for _, p := range slices.Backward(plans) { // the oldest first: one follows the other
		if p.Profile != s.Base.Name || p.Zone != "" || !p.HasTakenOver() {
			continue
		}
		at := func(name string) int {
			return slices.IndexFunc(keys, func(k model.Key) bool { return k.Name == name })
		}
		if gone[p.Key] && at(p.NewName) >= 0 { // the successor's entry has the level and the duty
			keys = slices.Delete(keys, at(p.Key), at(p.Key)+1)
			delete(gone, p.Key)
		}
		i := at(p.Key)
		if made := at(p.NewName); made >= 0 && made != i { // the successor goes by the key's name
			if i < 0 {
				i, keys[made].Name = made, p.Key
			} else {
				keys = slices.Delete(keys, made, made+1)
				i = at(p.Key)
			}
		}
		if i < 0 {
			gone[p.Key] = true
			i, keys = len(keys), append(keys, model.Key{Name: p.Key})
		}
		keys[i] = p.Renewed(keys[i])
		keys[i].Note, keys[i].UsedBy = "", slices.Clone(local.KeyUsers(p.Key))
		for n, user := range keys[i].UsedBy {
			if user == "demo:key/"+p.Key { // what read the scenario's own value follows
				keys[i].UsedBy[n] = keys[i].Secret
			}
		}
	}
	return keys
}

// rotations are the records of rotations.
func (s *Session) rotations() *keystore.Rotations {
	return keystore.OpenRotations(s.Paths.RotationsDir())
}

// knownKeys is Keys for where nothing may wait.
func (s *Session) knownKeys() []model.Key {
	recorded, _ := s.known()
	return append(s.given(recorded), recorded...)
}

// knownKey is a key, or the profile's for an empty name, for where nothing may wait.
func (s *Session) knownKey(name string) model.Key {
	return named(s.knownKeys(), cmp.Or(name, s.CurrentProfile().Key))
}

// Key finds a key by name.
func (s *Session) Key(name string) (model.Key, bool) {
	k := named(s.Keys(), name)
	return k, k.Name != ""
}

// named returns the first key of a name, or no key.
func named(keys []model.Key, name string) (k model.Key) {
	if i := slices.IndexFunc(keys, func(k model.Key) bool { return k.Name == name }); i >= 0 {
		k = keys[i]
	}
	return k
}

func (s *Session) demoSecret(name string) (keystore.Secret, bool) {
	if s.embedded == nil {
		return keystore.Secret{}, false
	}
	return s.embedded.Secret(name)
}

// Zone finds the zone a command names. A profile without a list of zones accepts
// every valid name.
func (s *Session) Zone(p config.Profile, name string) (model.Zone, error) {
	if z, ok := p.Zone(name); ok {
		return z, nil
	}
	if len(p.Zones) > 0 {
		return model.Zone{}, config.Mistake("zone %q is not in profile %q: it has %s", name, p.Name, zoneNames(p.Zones))
	}
	zone, err := model.ParseZoneName(name)
	if err != nil {
		return model.Zone{}, config.Mistake("%w", err)
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
