package keys

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/journal"
	"zonedeck/service/local"
	"zonedeck/service/radius"
	"zonedeck/service/rehearsal"
)

// A key is first seen when it first appears in a list, however it came there. A call with it is a use.
func TestWhenAKeyWasFirstSeenIsKnownHoweverItCame(t *testing.T) {
	begun := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	var passed atomic.Int64 // since begun; the local service reads the clock, too
	now := func() time.Time { return begun.Add(time.Duration(passed.Load())) }
	o := newOptions(t, nil)
	o.journal, o.now = true, now
	s := openTest(t, o)
	if _, err := s.Profile(t.Context()); err != nil { // starts the local service, whose keys are the demo's
		t.Fatal(err)
	}
	check := func(want map[radius.KeyID]time.Time) {
		t.Helper()
		used := noerr.Try(s.Keys.Inventory().Used(t.Context())).Must(t)
		for id, seen := range want {
			if got := used[id]; !got.First.Equal(seen) || !got.Last.IsZero() {
				t.Errorf("%s was first seen %s and last used %s, want %s and never", id.Name, got.First, got.Last, seen)
			}
		}
	}
	demo := radius.KeyID{Name: "etl-main", Profile: model.LocalName}
	check(map[radius.KeyID]time.Time{demo: begun})

	passed.Add(int64(time.Hour))
	noerr.Must(t, s.Keys.Inventory().Add(t.Context(), model.Key{Name: "by-form", Level: model.LevelUser}))
	noerr.Must(t, noerr.From(s.Keys.Inventory().Import(t.Context(), []model.Key{{Name: "by-import", Level: model.LevelUser}}, false)))
	noerr.Must(t, s.Inventory.Add(t.Context(), model.Key{Name: "by-another-machine", Level: model.LevelUser}))
	added := now()
	passed.Add(int64(time.Hour)) // looked at an hour later: nothing tells when the last one came
	check(map[radius.KeyID]time.Time{{Name: "by-form"}: added, {Name: "by-import"}: added, {Name: "by-another-machine"}: now(), demo: begun})
}

// Another value is another key: it does not inherit when its name was first seen and last used.
func TestAnotherKeyOfANameHasItsOwnDates(t *testing.T) {
	begun := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	var later atomic.Int64 // the session tidies up beside the test
	now := func() time.Time { return begun.Add(time.Duration(later.Load())) }
	o := newOptions(t, map[string]string{"ZONEDECK_API_KEY": "value-of-the-environment", "ZONEDECK_BASE_URL": "http://127.0.0.1:1"})
	o.journal, o.now = true, now
	s := openTest(t, o)
	inventory := s.Keys.Inventory()
	record := func(name, fingerprint string) model.Key {
		t.Helper()
		k := model.Key{Name: name, Level: model.LevelUser, Fingerprint: fingerprint}
		noerr.Must(t, inventory.Add(t.Context(), k))
		return k
	}
	check := func(what, name string, seen, last time.Time) {
		t.Helper()
		for range 2 { // the first look writes down what it sees
			used, err := s.Keys.Inventory().Used(t.Context())
			if got := used[radius.KeyID{Name: name}]; err != nil || !got.First.Equal(seen) || !got.Last.Equal(last) {
				t.Errorf("%s: %s was first seen %s and last used %s, want %s and %s (%v)", what, name, got.First, got.Last, seen, last, err)
			}
		}
	}
	const one, two = "1111111111111111", "2222222222222222"
	first := record("etl", one)
	later.Add(int64(time.Hour))
	s.Events().Sent("acme", "etl", one)
	used := now()
	later.Add(int64(time.Hour))
	check("a key that was used before it was looked at", "etl", begun, used)

	later.Add(int64(time.Hour))
	noerr.Must(t, inventory.Remove(t.Context(), first))
	second, added := record("etl", two), now()
	later.Add(int64(time.Hour))
	check("another key of that name", "etl", added, time.Time{})
	s.Events().Sent("acme", "etl", two)
	check("and used", "etl", added, now())

	later.Add(int64(time.Hour))
	noerr.Must(t, inventory.Update(t.Context(), "etl", func(k model.Key) (model.Key, error) {
		k.Name = "etl-old"
		return k, nil
	}))
	check("under another name", "etl-old", added, now().Add(-time.Hour))
	second.Name = "etl-old"
	noerr.Must(t, inventory.Remove(t.Context(), second))
	record("etl", first.Fingerprint)
	check("the first one again", "etl", begun, used)

	later.Add(int64(time.Hour))
	changed := now()
	noerr.Must(t, inventory.Update(t.Context(), "etl", func(k model.Key) (model.Key, error) {
		k.Fingerprint = "3333333333333333"
		return k, nil
	}))
	check("with a value that was changed in its record", "etl", changed, time.Time{})
}

// The profile in use is the emulator, whose time was moved. A key is sent for a job of another account, too.
func TestTheUseOfAKeyForAnotherProfileGoesByTheMachinesClock(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	o := newOptions(t, map[string]string{local.EnvProxy: "127.0.0.1:0"})
	o.journal, o.now = true, func() time.Time { return now }
	s := openTest(t, o)
	noerr.Must(t, s.Inventory.Add(t.Context(), model.Key{Name: "etl", Level: model.LevelUser}))
	noerr.Must(t, noerr.From(rehearsal.New(s.emulator.Control).Advance(t.Context(), 240*time.Hour)))
	if _, err := s.Profile(t.Context()); err != nil { // it reads the moved clock
		t.Fatal(err)
	}
	for profile, want := range map[string]time.Time{s.inUse.Base().Name: now.Add(240 * time.Hour), "acme": now} {
		s.Events().Sent(profile, "etl", "1111111111111111")
		uses, err := s.journal.KeyUses(t.Context())
		at := slices.IndexFunc(uses, func(u journal.KeyUse) bool { return u.Profile == profile })
		if err != nil || at < 0 || !uses[at].Last.Equal(want) {
			t.Errorf("%s: %+v, %v, want %s", profile, uses, err, want)
		}
	}
}
