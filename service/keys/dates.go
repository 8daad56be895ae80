package keys

import (
	"context"
	"time"

	"zonedeck/model"
	"zonedeck/service/journal"
	"zonedeck/service/radius"
)

// Used is when each key was first seen and last used. It records the keys that are new. Keys of the emulator go by
// its profile, all others by no profile. A key is identified by its value if that is known, else by its name: a new
// key may have the name of one that is gone.
func (v Inventory) Used(ctx context.Context) (map[radius.KeyID]journal.KeyUse, error) {
	if v.ks.history == nil {
		return nil, nil
	}
	list, err := v.ks.history.KeyUses(ctx)
	used := map[radius.KeyID]journal.KeyUse{}
	for _, u := range list {
		id := radius.KeyID{Name: u.Key, Profile: scopeOf(u.Profile)}
		used[id] = used[id].Join(u)
	}
	if err != nil {
		return used, err
	}
	values, err := v.ks.history.KeyValues(ctx)
	if err != nil {
		return used, err
	}
	return used, v.keepDates(ctx, used, values)
}

// scopeOf is the profile that identifies a key which was used with a profile: the emulator's, or none.
func scopeOf(used string) string {
	if used == model.LocalName {
		return used
	}
	return ""
}

// keepDates puts the dates of the present keys into used. It writes keys and values that are seen for the first
// time into the history.
func (v Inventory) keepDates(ctx context.Context, used map[radius.KeyID]journal.KeyUse, values []journal.KeyValue) error {
	var fresh []journal.KeyUse
	var freshValues []journal.KeyValue
	see := func(keys []model.Key, scope string, now time.Time) {
		for _, k := range keys {
			id := radius.KeyID{Name: k.Name, Profile: scope}
			named := used[id]
			if !named.Lasting {
				seen := named.Join(journal.KeyUse{First: now, Lasting: true})
				seen.Key, seen.Profile = k.Name, scope
				fresh, used[id] = append(fresh, seen), seen
			}
			if k.Fingerprint == "" {
				continue
			}
			u, kept := datesOf(id, k.Fingerprint, named, values, now)
			used[id] = u
			if !kept {
				freshValues = append(freshValues, journal.KeyValue{Fingerprint: k.Fingerprint, KeyUse: u})
			}
		}
	}
	recorded, _ := v.Known() // none if the inventory cannot be read
	see(recorded, "", v.ks.cfg.Clock.Machine())
	scope := ""
	if v.ks.cfg.Emulator != nil {
		scope = model.LocalName
	}
	see(v.Supplied(recorded), scope, v.ks.cfg.Clock.Now())
	if len(fresh) > 0 {
		if err := v.ks.history.PutKeysSeen(context.WithoutCancel(ctx), fresh); err != nil {
			return err
		}
	}
	if len(freshValues) == 0 {
		return nil
	}
	return v.ks.history.PutKeyValues(context.WithoutCancel(ctx), freshValues)
}

// datesOf are the dates of the key with this name and value. named are the dates recorded for the name alone: they
// count if the name never had another value. kept says that the history already has the result.
func datesOf(id radius.KeyID, fingerprint string, named journal.KeyUse, values []journal.KeyValue, now time.Time) (u journal.KeyUse, kept bool) {
	other := false
	for _, v := range values {
		switch {
		case scopeOf(v.Profile) != id.Profile:
		case v.Fingerprint == fingerprint:
			u = u.Join(v.KeyUse)
		case v.Key == id.Name:
			other = true
		}
	}
	seen := u.First
	if !other {
		u = u.Join(named)
	}
	if u.First.IsZero() {
		u.First = now
	}
	u.Key, u.Profile = id.Name, id.Profile
	return u, u.First.Equal(seen)
}
