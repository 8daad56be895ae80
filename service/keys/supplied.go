package keys

import (
	"slices"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/config"
)

// Clock returns the present time by the clock that applies to a key: the service's for keys that
// come with the profile, the machine's for keys of the inventory, which serve every profile.
func (v Inventory) Clock() func(model.Key) time.Time {
	now, ahead, supplied := v.ks.cfg.Clock.Now(), v.ks.ahead(), v.Supplied(v.Inventory.List())
	return func(k model.Key) time.Time {
		if ahead == 0 || slices.ContainsFunc(supplied, func(s model.Key) bool {
			return s.Secret == k.Secret && s.Fingerprint == k.Fingerprint && s.Expires == k.Expires && s.Rotation == k.Rotation
		}) {
			return now
		}
		return now.Add(-ahead)
	}
}

// environmentKey is the key in the environment. If the inventory has the same value under any
// name, that record applies to it: an ADMIN key stays ADMIN.
func (ks *Keys) environmentKey(recorded []model.Key) model.Key {
	text, _ := model.TrimMarks(ks.cfg.Env.Getenv(config.EnvKey)) // the resolver names what is taken off
	value := keystore.NewSecret(text)
	k := model.Key{Note: "from the environment: level and age are not known"}
	for _, known := range recorded {
		if ks.marks.belongs(known, value.Fingerprint()) {
			k = known
			k.Note = "from the environment: key " + known.Name + " of the inventory"
		}
	}
	k.Name, k.Secret, k.Fingerprint, k.Last4 = config.EnvKey, "env:"+config.EnvKey, value.Fingerprint(), value.Last4()
	return k
}

// noteExpired adds a note to keys that have expired since the emulator's first start: how to begin again.
func (ks *Keys) noteExpired(keys []model.Key, first time.Time) {
	for i, k := range keys {
		if k.Expires.State(ks.cfg.Clock.Now(), 0) != model.ExpiryStateExpired || !k.Expires.At.After(first) {
			continue
		}
		why := "the key's dates count from the emulator's first start on " + first.Format(time.DateOnly)
		if k.Expires.At.After(ks.cfg.Clock.Machine()) {
			why = "the emulator's time is " + ks.cfg.Emulator.Time()
		}
		keys[i].Note = why + "; to begin again, end every zonedeck and run 'zonedeck emulate reset'"
	}
}

// renewed puts the new values of rotations into the keys that come with the profile. A key that was
// deleted at the end of its rotation is put back under its name.
func (ks *Keys) renewed(keys []model.Key) []model.Key {
	plans, _ := ks.rotations().List()          // the Keys tab reports the error
	gone := map[string]bool{}                  // the names of the keys that the account no longer lists
	for _, p := range slices.Backward(plans) { // oldest first
		if p.Profile != ks.cfg.Profiles.Base().Name || p.Zone != "" || !p.HasTakenOver() {
			continue
		}
		at := func(name string) int {
			return slices.IndexFunc(keys, func(k model.Key) bool { return k.Name == name })
		}
		if gone[p.Key] && at(p.NewName) >= 0 { // use the successor's entry: it has the level and the duty
			keys = slices.Delete(keys, at(p.Key), at(p.Key)+1)
			delete(gone, p.Key)
		}
		i := at(p.Key)
		if made := at(p.NewName); made >= 0 && made != i { // give the successor the key's name
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
		keys[i] = p.Rotated(keys[i])
		keys[i].Note, keys[i].UsedBy = "", slices.Clone(ks.cfg.Emulator.Users(p.Key))
		for n, user := range keys[i].UsedBy {
			if user == "demo:key/"+p.Key { // it reads the key's present reference now
				keys[i].UsedBy[n] = keys[i].Secret
			}
		}
	}
	return keys
}

// rotations are the records of rotations.
func (ks *Keys) rotations() *keystore.Rotations {
	return keystore.OpenRotations(ks.cfg.Paths.RotationsDir())
}

// named returns the first key with a name, or the zero Key.
func named(keys []model.Key, name string) (k model.Key) {
	if i := slices.IndexFunc(keys, func(k model.Key) bool { return k.Name == name }); i >= 0 {
		k = keys[i]
	}
	return k
}

// ahead is how far the service's time is ahead of the machine's.
func (ks *Keys) ahead() time.Duration {
	if ks.cfg.Emulator == nil {
		return 0
	}
	return ks.cfg.Emulator.Ahead()
}

// nowFor is the present time for what a profile does.
func (ks *Keys) nowFor(profile string) time.Time {
	if profile == "" || profile == ks.cfg.Profiles.Base().Name {
		return ks.cfg.Clock.Now()
	}
	return ks.cfg.Clock.Machine()
}

// Replaced is the name of the profile's own key if the environment's key is used instead, or empty.
func (ks *Keys) Replaced() string {
	if p := ks.cfg.Profiles.Profile(); p.Key == config.EnvKey && ks.cfg.Emulator == nil {
		known, _ := ks.cfg.Profiles.File().Profile(p.Name)
		return known.Key
	}
	return ""
}

// sayReplaced says once that the environment's key is used instead of the profile's.
func (ks *Keys) sayReplaced(k model.Key) {
	if own := ks.Replaced(); own != "" && k.Name == config.EnvKey {
		ks.replaced.Do(func() {
			ks.cfg.Voice.Say("zonedeck: the key of %s is used in place of %s, the key of profile %s", config.EnvKey, own, ks.cfg.Profiles.Base().Name)
		})
	}
}
