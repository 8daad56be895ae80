package profiles_test

import (
	"fmt"
	"strings"
	"testing"

	"zonedeck/keystore"
	"zonedeck/model"
	service "zonedeck/service/profiles"
	"zonedeck/ui/uitest"
)

func TestASecretMovesToAnotherStore(t *testing.T) {
	r := newRig(t, before, model.Key{Name: "etl", Level: model.LevelUser, Secret: "env:ACME_KEY"})
	flow(t, r, 120, 40, "move secrets", func(s *uitest.Screen) {
		s.Expect("Move secrets", "all in the other store", "only then is the old copy deleted", "! there is no session bus")
		s.Press("ctrl+s") // nothing is in the keyring
		s.Expect("✗ nothing to move")
		s.Press("enter")
		s.Expect("env:ACME_KEY", "key etl")
		s.Type("etl")
		s.Press("enter", "ctrl+s")
		s.ExpectNot("Move secrets")
		s.Expect("moved 1 secret: env:ACME_KEY is file:", "the variable or command still gives the old copy")
		s.ExpectNot("value-of-the-variable")
	})
	k, _ := r.inventory.Get("etl")
	got, err := r.secrets.Resolve(t.Context(), k.Secret)
	if !strings.HasPrefix(k.Secret, "file:") || err != nil || got.Reveal() != "value-of-the-variable" {
		t.Errorf("%s: %v", k.Secret, err)
	}
}

func TestASecretThatCannotBeMovedStays(t *testing.T) {
	r := newRig(t, before, model.Key{Name: "etl", Level: model.LevelUser, Secret: "file:etl"})
	if err := r.secrets.Store(t.Context(), "file:etl", keystore.NewSecret("the-value")); err != nil {
		t.Fatal(err)
	}
	r.noRing = nil // it answers the probe, and takes nothing
	flow(t, r, 80, 24, "move secrets", func(s *uitest.Screen) {
		s.Press("tab", "space")
		s.Expect("(•) keyring")
		s.Press("ctrl+s")
		s.Expect("Move secrets", "✗")
	})
	k, _ := r.inventory.Get("etl")
	if got, err := r.secrets.Resolve(t.Context(), k.Secret); k.Secret != "file:etl" || err != nil || got.Reveal() != "the-value" {
		t.Errorf("%s: %v", k.Secret, err)
	}
}

func TestWithoutAReferenceNothingIsMoved(t *testing.T) {
	flow(t, newRig(t, before), 120, 40, "move secrets", func(s *uitest.Screen) { s.Expect("refers to a secret that can be moved") })
}

func TestEachZoneHasItsVerdict(t *testing.T) {
	r := newRig(t, before)
	r.found = shown()
	for i := range 40 {
		z := service.Zone{Zone: model.Zone{Name: model.ZoneName(fmt.Sprintf("z%02d", i)), Product: model.ProductISP}, Verdict: service.Verdict{State: service.OK, Text: "active"}}
		r.found.Zones = append(r.found.Zones, z)
	}
	adding(t, r, 120, 60, func(s *uitest.Screen) {
		s.Press("ctrl+l")
		s.Expect("the account has not listed its zones yet")
		fill(s, "acme", "https://api.test", typedKey)
		s.Press("ctrl+r")
		s.Expect("! zone old: the service calls it disabled", "✓ zone u1: active", "… and 36 more: ctrl+l shows each zone")
		s.Press("ctrl+l")
		s.Expect("Zones by the account", "! old: the service calls it disabled", "✓ z39: active")
		s.Resize(80, 24)
		s.ExpectNot("✓ z39: active")
		s.Press("end")
		s.Expect("✓ z39: active")
		s.Press("esc")
		s.Expect("Add profile")
	})
}

func TestTheFirstAccountIsSaidToBecomeTheDefault(t *testing.T) {
	const words = "zonedeck starts with it from then on"
	adding(t, newRig(t, ""), 120, 40, func(s *uitest.Screen) { s.Expect(words) })
	adding(t, newRig(t, before), 120, 40, func(s *uitest.Screen) { s.ExpectNot(words) })
}
