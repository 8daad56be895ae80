package session

import (
	"errors"
	"testing"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/profile"
)

func TestAReadOnlyProfileChangesNoKey(t *testing.T) {
	s, err := Open(t.Context(), options(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	keys := keyHistory{s.Inventory, s}
	rotations := rotationHistory{keystore.OpenRotations(t.TempDir()), s}
	k := model.Key{Name: "etl", Level: model.LevelUser}
	plan := keystore.PlanRotation(k, keystore.RotateByNewKey, nil, time.Now())
	if err := errors.Join(keys.Add(t.Context(), k), rotations.Start(t.Context(), plan)); err != nil || s.refusal() != "" {
		t.Fatalf("before: %v, %q", err, s.refusal())
	}
	s.Base.ReadOnly = true
	changed := false
	_, update := rotations.Update(t.Context(), plan.ID, func(p keystore.RotationPlan) (keystore.RotationPlan, error) {
		changed = true
		return p, nil
	})
	for what, err := range map[string]error{
		"add":      keys.Add(t.Context(), model.Key{Name: "other"}),
		"change":   keys.Update(t.Context(), "etl", func(k model.Key) (model.Key, error) { changed = true; return k, nil }),
		"remove":   keys.Remove(t.Context(), k),
		"begin":    rotations.Start(t.Context(), plan),
		"continue": update,
	} {
		if !errors.Is(err, profile.ErrReadOnly) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if left := s.Inventory.List(); changed || len(left) != 1 || s.refusal() == "" {
		t.Errorf("changed %v, keys %v, refusal %q", changed, left, s.refusal())
	}
}
