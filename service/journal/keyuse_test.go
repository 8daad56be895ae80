package journal

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

func TestTheUsesOfAKeyAreOneForEachProfile(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	j := openTest(t, filepath.Join(t.TempDir(), "journal.db"))
	put := func(profile, key string, kind model.HistoryKind, ago time.Duration) {
		t.Helper()
		noerr.Must(t, j.PutEntry(t.Context(), model.HistoryEntry{At: now.Add(-ago), Profile: profile, Key: key, Kind: kind, Text: "x"}))
	}
	put("acme", "etl", model.HistoryFetch, time.Hour)
	put("acme", "etl", model.HistoryJob, 3*time.Hour)
	put("acme", "etl", model.HistoryKey, 0) // what happens to a key is no use of it
	put("beta", "etl", model.HistoryFetch, 2*time.Hour)
	put("beta", "", model.HistoryProbe, time.Hour)
	for event, ago := range map[string]time.Duration{"changed": 6 * time.Hour, EventUsed: 4 * time.Hour} {
		noerr.Must(t, j.PutKeyEvent(t.Context(), KeyEvent{At: now.Add(-ago), Profile: "beta", Key: "etl", Event: event}))
	}
	uses, err := j.KeyUses(t.Context())
	if err != nil || len(uses) != 2 {
		t.Fatalf("%+v, %v", uses, err)
	}
	joined := KeyUse{}
	for _, u := range uses {
		if u.Key != "etl" || u.Profile == "acme" && (!u.First.Equal(now.Add(-3*time.Hour)) || !u.Last.Equal(now.Add(-time.Hour))) {
			t.Errorf("%+v", u)
		}
		joined = joined.Join(u)
	}
	if !joined.First.Equal(now.Add(-4*time.Hour)) || !joined.Last.Equal(now.Add(-time.Hour)) {
		t.Errorf("joined: %+v", joined)
	}
}

// When a key was first seen stays, whatever is forgotten of the history; a key that was only seen has no last use.
func TestTheFirstSightOfAKeyStays(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	j := openTest(t, filepath.Join(t.TempDir(), "journal.db"))
	check := func(what string, want ...KeyUse) {
		t.Helper()
		if got, err := j.KeyUses(t.Context()); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %+v, %v, want %+v", what, got, err, want)
		}
	}
	for _, err := range []error{
		j.PutKeyEvent(t.Context(), KeyEvent{At: now.Add(-time.Hour), Profile: "local", Key: "etl", Event: EventRecorded}),
		j.PutKeysSeen(t.Context(), []KeyUse{{Key: "demo", Profile: "local", First: now}}),
		j.PutKeysSeen(t.Context(), []KeyUse{{Key: "demo", Profile: "local", First: now.Add(time.Hour)}}),
	} {
		noerr.Must(t, err)
	}
	demo, etl := KeyUse{Key: "demo", Profile: "local", First: now, Lasting: true}, KeyUse{Key: "etl", First: now.Add(-time.Hour)}
	check("seen only", demo, etl)
	noerr.Must(t, j.PutEntry(t.Context(), model.HistoryEntry{At: now.Add(2 * time.Hour), Profile: "local", Key: "demo", Kind: model.HistoryFetch}))
	demo.Last = now.Add(2 * time.Hour)
	check("and used", demo, etl)
	noerr.Must(t, j.Prune(t.Context(), Keep{}))
	demo.Last = time.Time{}
	check("after the history was forgotten", demo, etl)
}

// A use that leaves no line, as a look at the account, is told, and stays when the history is forgotten.
func TestTheUsesOfAKeyAreToldWithoutALine(t *testing.T) {
	first := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	now := first
	j, _, err := Open(t.Context(), filepath.Join(t.TempDir(), "journal.db"), func() time.Time { return now })
	noerr.Must(t, err)
	t.Cleanup(func() { _ = j.Close() })
	for _, now = range []time.Time{first, first.Add(time.Hour)} {
		noerr.Must(t, j.PutKeyUsed(t.Context(), now, "acme", "etl", "f1"))
	}
	for range 2 {
		got, err := j.KeyUses(t.Context())
		if want := (KeyUse{Key: "etl", Profile: "acme", First: first, Last: now}); err != nil || !slices.Equal(got, []KeyUse{want}) {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
		noerr.Must(t, j.Prune(t.Context(), Keep{}))
	}
}

// Of a value the earliest sight and the latest use stay; one that is not known has none.
func TestTheDatesOfAValueStay(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	j, _, err := Open(t.Context(), filepath.Join(t.TempDir(), "journal.db"), func() time.Time { return now })
	noerr.Must(t, err)
	t.Cleanup(func() { _ = j.Close() })
	value := func(seen time.Time) []KeyValue {
		return []KeyValue{{Fingerprint: "f1", KeyUse: KeyUse{Key: "etl", Profile: "acme", First: seen}}}
	}
	for _, err := range []error{
		j.PutKeyUsed(t.Context(), now, "acme", "etl", "f1"), j.PutKeyUsed(t.Context(), now, "acme", "etl", ""),
		j.PutKeyValues(t.Context(), value(now.Add(-time.Hour))), j.PutKeyValues(t.Context(), value(now.Add(time.Hour))),
	} {
		noerr.Must(t, err)
	}
	want := value(now.Add(-time.Hour))
	want[0].Last = now
	for range 2 {
		if got, err := j.KeyValues(t.Context()); err != nil || !slices.Equal(got, want) {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
		noerr.Must(t, j.Prune(t.Context(), Keep{}))
	}
}
