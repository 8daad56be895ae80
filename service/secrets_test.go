package service

import (
	"context"
	"slices"
	"testing"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/ask"
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
	states, err := s.Profiles.Secrets(t.Context())
	if err != nil || len(states) != len(want) {
		t.Errorf("%+v, %v", states, err)
	}
	for _, state := range states {
		if state.State != "present" || !slices.Equal(state.Uses, []string{want[state.Ref]}) {
			t.Errorf("%+v, want %q", state, want[state.Ref])
		}
	}
}

// A passphrase comes from the environment, from typing, or from an answer. Nobody is asked in the background.
func TestWhereAPassphraseComesFrom(t *testing.T) {
	none := func(string) string { return "" }
	env := func(name string) string { return map[string]string{EnvPassphrase: "of the environment"}[name] }
	typed := keystore.NewSecret("typed before")
	for name, c := range map[string]struct {
		o    Options
		ctx  context.Context //nolint:containedctx // of the call
		want string
	}{
		"the environment":                    {Options{Getenv: env, Passphrase: typed, Ask: answers("answered")}, ask.By(t.Context(), ask.Nobody), "of the environment"},
		"typed before":                       {Options{Getenv: none, Passphrase: typed, Ask: answers("answered")}, ask.By(t.Context(), ask.Nobody), "typed before"},
		"an answer":                          {Options{Getenv: none, Ask: answers("answered")}, t.Context(), "answered"},
		"in the background nobody gives one": {Options{Getenv: none, Ask: answers("answered")}, ask.By(t.Context(), ask.Nobody), ""},
		"without anybody to ask":             {Options{Getenv: none}, t.Context(), ""},
	} {
		if got, err := c.o.passphrase(c.ctx, "the passphrase"); err != nil || got.Reveal() != c.want {
			t.Errorf("%s: %q, %v", name, got.Reveal(), err)
		}
	}
}

// answers is a person who answers with a secret.
type answers string

func (a answers) Ask(context.Context, ask.Question) (ask.Answer, error) {
	return ask.Answer{Secret: keystore.NewSecret(string(a))}, nil
}
