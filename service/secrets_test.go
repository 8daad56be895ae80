package service

import (
	"slices"
	"testing"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
)

func TestWhatRotationsHoldIsListedAmongTheSecrets(t *testing.T) {
	s, err := Open(t.Context(), options(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(t.Context())
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	want := map[string]string{}
	for name, use := range map[string]string{
		"left": "rotation of key left (abandoned)", "open": "rotation of key open (under way)", "used": "key used, since its rotation",
	} {
		p := keystore.PlanRotation(model.Key{Name: name}, keystore.RotateByNewKey, nil, now)
		_, held := p.References()
		switch name {
		case "left":
			if p, err = p.Abandon(now); err != nil {
				t.Fatal(err)
			}
		case "used":
			p.NewRef = held
			for i := range p.Steps {
				if p, err = p.Record(i, keystore.Proof{By: keystore.Measured}, now); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := s.Rotations(nil).Start(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if err := s.Resolver.Store(t.Context(), held, keystore.NewSecret("a-value-of-"+name)); err != nil {
			t.Fatal(err)
		}
		want[held] = use
	}
	states, err := s.SecretStates(t.Context())
	if err != nil || len(states) != len(want) {
		t.Errorf("%+v, %v", states, err)
	}
	for _, state := range states {
		if state.State != "present" || !slices.Equal(state.Uses, []string{want[state.Ref]}) {
			t.Errorf("%+v, want %q", state, want[state.Ref])
		}
	}
}
