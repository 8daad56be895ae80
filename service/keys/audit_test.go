package keys

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/rehearsal"
)

func TestAgesAreTheSameAfterASwitchOfProfilesAndARestart(t *testing.T) {
	env := map[string]string{}
	o := newOptions(t, env)
	config := filepath.Join(o.Getenv("XDG_CONFIG_HOME"), "zonedeck")
	noerr.Must(t, errors.Join(os.MkdirAll(config, 0o700), os.WriteFile(filepath.Join(config, "config.toml"), []byte("[profiles.acme]\nbase_url = \"https://api.example.com\"\nkey = \"own\"\n"), 0o600)))
	now := time.Now() // of every process: what passes between them is not measured
	o.now = func() time.Time { return now }
	// ages are those of the keys as a session of a profile shows them.
	ages := func(profile string, work func(s *rig)) map[string]int {
		t.Helper()
		env["ZONEDECK_PROFILE"] = profile
		s := open(t, o)
		defer func() { noerr.Want(t, s.close(t)) }()
		noerr.Must(t, noerr.From(s.Profile(t.Context())))
		if work != nil {
			work(s)
		}
		audit := noerr.Try(s.Keys.Inventory().Audit(t.Context(), false, model.SoonDays*24*time.Hour, nil)).Must(t)
		out := map[string]int{}
		for _, k := range audit.Keys {
			if days, ok := k.Rotation.AgeDays(audit.Now(k)); ok {
				out[k.Name] = days
			}
		}
		return out
	}
	before := ages("local", func(s *rig) {
		noerr.Must(t, s.Inventory.Add(t.Context(), model.Key{Name: "own", Level: model.LevelUser, Rotation: model.Rotation{Last: now.AddDate(0, 0, -20)}}))
	})
	moved := ages("local", func(s *rig) {
		noerr.Must(t, noerr.From(rehearsal.New(s.emulator.Control).Advance(t.Context(), 30*24*time.Hour)))
		if _, err := s.Profile(t.Context()); err != nil { // it reads the moved clock
			t.Fatal(err)
		}
	})
	if before["own"] != 20 || moved["own"] != 20 || before["batch-user"] != 20 || moved["batch-user"] != 50 {
		t.Fatalf("before %v, moved %v", before, moved)
	}
	if other := ages("acme", nil); !maps.Equal(other, map[string]int{"own": 20}) {
		t.Errorf("with another profile %v", other)
	}
	if again := ages("local", nil); !maps.Equal(again, moved) {
		t.Errorf("after a restart %v, moved %v", again, moved)
	}
}
