package session

import (
	"sync/atomic"
	"testing"
	"time"

	"zonedeck/model"
	"zonedeck/service/profile"
	"zonedeck/service/radius"
)

// A key is seen when it first stands in a list, however it came there; it was used when something called with it.
func TestWhenAKeyWasFirstSeenIsKnownHoweverItCame(t *testing.T) {
	begun := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	var passed atomic.Int64 // since begun; the local service reads the clock, too
	now := func() time.Time { return begun.Add(time.Duration(passed.Load())) }
	o := options(t, nil)
	o.Journal, o.Now = true, now
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	if _, err := s.Profile(t.Context()); err != nil { // starts the local service, whose keys are the demo's
		t.Fatal(err)
	}
	check := func(want map[radius.KeyID]time.Time) {
		t.Helper()
		used, err := s.keysUsed(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for id, seen := range want {
			if got := used[id]; !got.Seen.Equal(seen) || !got.Last.IsZero() {
				t.Errorf("%s was first seen %s and last used %s, want %s and never", id.Name, got.Seen, got.Last, seen)
			}
		}
	}
	demo := radius.KeyID{Name: "etl-main", Profile: profile.LocalName}
	check(map[radius.KeyID]time.Time{demo: begun})

	passed.Add(int64(time.Hour))
	if err := (keyHistory{s.Inventory, s}).Add(t.Context(), model.Key{Name: "by-form", Level: model.LevelUser}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ImportKeys(t.Context(), []model.Key{{Name: "by-import", Level: model.LevelUser}}, false); err != nil {
		t.Fatal(err)
	}
	if err := s.Inventory.Add(t.Context(), model.Key{Name: "by-another-machine", Level: model.LevelUser}); err != nil {
		t.Fatal(err)
	}
	added := now()
	passed.Add(int64(time.Hour)) // looked at an hour later: nothing tells when the last one came
	check(map[radius.KeyID]time.Time{{Name: "by-form"}: added, {Name: "by-import"}: added, {Name: "by-another-machine"}: now(), demo: begun})
}
