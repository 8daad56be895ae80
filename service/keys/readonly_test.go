package keys

import (
	"errors"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
)

func TestAReadOnlyProfileChangesNoKey(t *testing.T) {
	s := openTest(t, newOptions(t, nil))
	keys, rotations := s.Keys.Inventory(), s.rotations()
	k := model.Key{Name: "etl", Level: model.LevelUser}
	plan := keystore.PlanRotation(k, keystore.RotateByNewKey, nil, time.Now())
	if err := errors.Join(keys.Add(t.Context(), k), rotations.Start(t.Context(), plan)); err != nil {
		t.Fatalf("before: %v", err)
	}
	p := s.inUse.Base()
	p.ReadOnly = true
	s.inUse.SetProfile(p)
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
		"refuse":   rotations.Refuse(plan),
	} {
		if !errors.Is(err, model.ErrReadOnly) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if left := s.Inventory.List(); changed || len(left) != 1 {
		t.Errorf("changed %v, keys %v", changed, left)
	}
}

// A zone's password is changed by way of the profile that uses it, whichever one is in use.
func TestAPasswordOfAReadOnlyProfileIsNotRotated(t *testing.T) {
	a := newServices(t)
	plan := keystore.PlanPassword(keystore.ZonePassword{Zone: "unl", Ref: "file:unl", ChangedBy: "acme"},
		[]keystore.RotationUser{{Name: "profile aaa", Ref: "file:unl", Profile: "aaa", Zone: "unl"}}, time.Now())
	e := a.engine().engine()
	noerr.Must(t, a.rotations().Start(t.Context(), plan))
	a.edit(t, `key = "acme"`, "key = \"acme\"\nread_only = true")
	if _, err := e.Abandon(t.Context(), plan.ID); !errors.Is(err, model.ErrReadOnly) {
		t.Errorf("given up: %v", err)
	}
	if _, err := e.Run(t.Context(), plan.ID, "", nil); !errors.Is(err, model.ErrReadOnly) {
		t.Errorf("gone on with: %v", err)
	}
	a.edit(t, "\nread_only = true", "")
	if plan, err := e.Abandon(t.Context(), plan.ID); err != nil || !plan.Over() {
		t.Errorf("afterwards: %v", err)
	}
}
