package rotate_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/rotate"
)

func TestARehearsalTakesEveryStepAndWritesNothing(t *testing.T) {
	p := newPlace(t, start(t), "real")
	file := filepath.Join(p.Dir, ".env")
	noerr.Must(t, os.WriteFile(file, []byte("KEY=anything\n"), 0o600))
	p.Users = append(p.Users, keystore.RotationUser{Name: ".env:1", File: file}, keystore.RotationUser{Name: "nightly"})
	before := noerr.Try(p.settings().Keys(t.Context())).Must(t)
	for _, method := range []keystore.RotationMethod{keystore.RotateByNewKey, keystore.RotateByRefresh} {
		plan, err := rotate.Rehearse(t.Context(), p.config().whole(), p.Key, method, false)
		if err != nil || !plan.Over() || plan.Key != "real" {
			t.Fatalf("by %s: %v, over %v, %s", method, err, plan.Over(), plan.Key)
		}
		var yours []string
		for _, s := range plan.Steps {
			if s.By == keystore.Vouched {
				yours = append(yours, s.Name())
			}
		}
		if want := []string{"set " + file, "set nightly", "test nightly"}; !slices.Equal(yours, want) {
			t.Errorf("by %s a person does %q, want %q", method, yours, want)
		}
		if s, _ := plan.Step(keystore.StepRefused, ""); s.Status != 401 || s.By != keystore.Measured {
			t.Errorf("by %s the old value's end: %+v", method, s)
		}
	}
	after, err := p.settings().Keys(t.Context())
	if err != nil || !slices.Equal(after, before) {
		t.Errorf("the account has %+v, %v, want as before", after, err)
	}
	for _, u := range p.Users[:2] {
		if got, err := p.secrets().Resolve(t.Context(), u.Ref); err != nil || got.Fingerprint() != p.Key.Fingerprint {
			t.Errorf("%s gives another value, %v", u.Ref, err)
		}
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "KEY=anything\n" {
		t.Errorf("the file is %q, %v", text, err)
	}
	if plans, err := p.records().List(); len(plans) != 0 || err != nil {
		t.Errorf("%d records, %v", len(plans), err)
	}
}

func TestARehearsalNamesWhatAPersonDoesInTheAccountSettings(t *testing.T) {
	p := newPlace(t, start(t), "by-hand")
	for method, want := range map[keystore.RotationMethod][]keystore.RotationStepKind{
		keystore.RotateByNewKey:  {keystore.StepCreate, keystore.StepDelete},
		keystore.RotateByRefresh: {keystore.StepRefresh},
	} {
		plan, err := rotate.Rehearse(t.Context(), p.config().whole(), p.Key, method, true)
		if err != nil || !plan.Over() {
			t.Fatalf("by %s: %v, over %v", method, err, plan.Over())
		}
		var yours []keystore.RotationStepKind
		for _, s := range plan.Steps {
			if s.By == keystore.Vouched {
				yours = append(yours, s.Kind)
			}
		}
		if !slices.Equal(yours, want) {
			t.Errorf("by %s a person does %q, want %q", method, yours, want)
		}
	}
}

func TestARehearsalFindsWhatWouldStopARotation(t *testing.T) {
	p := newPlace(t, start(t), "astray")
	noerr.Must(t, p.secrets().Store(t.Context(), p.Users[1].Ref, keystore.NewSecret("a-third-value-of-it")))
	if _, err := rotate.Rehearse(t.Context(), p.config().whole(), p.Key, keystore.RotateByNewKey, false); err == nil || !strings.Contains(err.Error(), "does not give the recorded value") {
		t.Errorf("%v, want that a reference does not give the recorded value", err)
	}
	c := p.config()
	c.Users = func(context.Context, model.Key) ([]keystore.RotationUser, error) {
		return []keystore.RotationUser{{Name: "profile gone", Ref: "file:nowhere"}}, nil
	}
	if _, err := rotate.Rehearse(t.Context(), c.whole(), p.Key, keystore.RotateByNewKey, false); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("%v, want that a reference gives nothing", err)
	}
}

// Each call says for which step it is made, and whether of a rotation or of a rehearsal.
func TestEachCallSaysWhatItProves(t *testing.T) {
	for _, rehearsed := range []bool{false, true} {
		p := newPlace(t, start(t), "proved")
		c := p.config()
		prove, of := c.Prove, "the rotation of proved, step "
		var proves []string
		c.Prove = func(ctx context.Context, call rotate.Call) (model.FetchResult, error) {
			proves = append(proves, call.Proves)
			return prove(ctx, call)
		}
		var err error
		if rehearsed {
			of = "a rehearsal of " + of
			_, err = rotate.Rehearse(t.Context(), c.whole(), p.Key, keystore.RotateByNewKey, false)
		} else {
			e, plan := p.begin(t, c, keystore.RotateByNewKey)
			_, err = e.Run(t.Context(), plan.ID, "", nil)
		}
		want := []string{of + "create", of + "test profile acme", of + "test saved request shop", of + "refused, by the new value", of + "refused", of + "refused, by the new value"}
		if err != nil || !slices.Equal(proves, want) {
			t.Errorf("%q, %v, want %q", proves, err, want)
		}
	}
}
