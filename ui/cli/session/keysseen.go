package session

import (
	"context"
	"time"

	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/journal"
	"zonedeck/service/radius"
)

// keysUsed is when each key was first seen and last used, those among them that are seen now for the first
// time. The keys of the emulator are known by its profile, all others whatever the profile was. A key goes by its
// value where that is known here, else by its name: another key may get the name of one that is gone.
func (s *Session) keysUsed(ctx context.Context) (map[radius.KeyID]journal.KeyUse, error) {
	if s.journal == nil {
		return nil, nil
	}
	list, err := s.journal.KeyUses(ctx)
	used := map[radius.KeyID]journal.KeyUse{}
	for _, u := range list {
		id := radius.KeyID{Name: u.Key, Profile: scopeOf(u.Profile)}
		used[id] = used[id].Join(u)
	}
	if err != nil {
		return used, err
	}
	values, err := s.journal.KeyValues(ctx)
	if err != nil {
		return used, err
	}
	return used, s.keysSeen(ctx, used, values)
}

// scopeOf is the profile that a key is known by, which is used with a profile.
func scopeOf(used string) string {
	if used == config.LocalName {
		return used
	}
	return ""
}

// keysSeen puts the dates of the keys that there are into used, and what is seen of them for the first time into
// the history.
func (s *Session) keysSeen(ctx context.Context, used map[radius.KeyID]journal.KeyUse, values []journal.KeyValue) error {
	var fresh []journal.KeyUse
	var freshValues []journal.KeyValue
	see := func(keys []model.Key, scope string, now time.Time) {
		for _, k := range keys {
			id := radius.KeyID{Name: k.Name, Profile: scope}
			named := used[id]
			if !named.Kept {
				seen := named.Join(journal.KeyUse{Seen: now, Kept: true})
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
	recorded, _ := s.known() // of an inventory that cannot be read no key is seen
	see(recorded, "", s.o.Now())
	scope := ""
	if s.embedded != nil {
		scope = config.LocalName
	}
	see(s.given(recorded), scope, s.Now())
	if len(fresh) > 0 {
		if err := s.journal.PutKeysSeen(context.WithoutCancel(ctx), fresh); err != nil {
			return err
		}
	}
	if len(freshValues) == 0 {
		return nil
	}
	return s.journal.PutKeyValues(context.WithoutCancel(ctx), freshValues)
}

// datesOf are the dates of the key that has a name and a value now. named are the dates that are known by the name
// alone: they count if the name never had another value. kept says that the history already has the result.
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
	seen := u.Seen
	if !other {
		u = u.Join(named)
	}
	if u.Seen.IsZero() {
		u.Seen = now
	}
	u.Key, u.Profile = id.Name, id.Profile
	return u, u.Seen.Equal(seen)
}

// keyRecorded writes into the timeline that a key came into the inventory with a profile, and keeps when its value was
// seen.
func (s *Session) keyRecorded(ctx context.Context, profile string, k model.Key, text string) {
	s.putKeyEventOf(ctx, profile, k.Name, journal.EventRecorded, text)
	if s.journal == nil || k.Fingerprint == "" {
		return
	}
	value := journal.KeyValue{Fingerprint: k.Fingerprint, KeyUse: journal.KeyUse{Key: k.Name, Seen: s.o.Now()}}
	if err := s.journal.PutKeyValues(context.WithoutCancel(ctx), []journal.KeyValue{value}); err != nil {
		s.o.Log.Warn("when a key was first seen was not kept", "key", k.Name, "error", err)
	}
}
