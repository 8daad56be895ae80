package journal

import (
	"path/filepath"
	"testing"
	"time"

	"zonedeck/model"
)

func TestTheUsesOfAKeyAreOneForEachProfile(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	j := openTest(t, filepath.Join(t.TempDir(), "journal.db"))
	put := func(profile, key string, kind model.ActivityKind, ago time.Duration) {
		t.Helper()
		if err := j.PutActivity(t.Context(), model.Activity{At: now.Add(-ago), Profile: profile, Key: key, Kind: kind, Text: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	put("acme", "etl", model.ActivityFetch, time.Hour)
	put("acme", "etl", model.ActivityJob, 3*time.Hour)
	put("acme", "etl", model.ActivityKey, 0) // what happens to a key is no use of it
	put("beta", "etl", model.ActivityFetch, 2*time.Hour)
	put("beta", "", model.ActivityProbe, time.Hour)
	for event, ago := range map[string]time.Duration{"changed": 5 * time.Hour, EventUsed: 4 * time.Hour} {
		if err := j.PutKeyEvent(t.Context(), KeyEvent{At: now.Add(-ago), Profile: "beta", Key: "etl", Event: event}); err != nil {
			t.Fatal(err)
		}
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
