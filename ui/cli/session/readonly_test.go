package session

import (
	"errors"
	"sync"
	"testing"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/account"
	"zonedeck/service/config"
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
	rotations := rotationHistory{keystore.OpenRotations(t.TempDir()), s, &sync.Map{}}
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
		"refuse":   s.rotation(s.ScanFolders).Refuse(plan),
	} {
		if !errors.Is(err, config.ErrReadOnly) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if left := s.Inventory.List(); changed || len(left) != 1 || s.refusal() == "" {
		t.Errorf("changed %v, keys %v, refusal %q", changed, left, s.refusal())
	}
}

// A zone's password is changed by way of the profile that uses it, whichever one is in use.
func TestAPasswordOfAReadOnlyProfileIsNotRotated(t *testing.T) {
	a := newServices(t)
	plan := keystore.PlanPassword(keystore.ZonePassword{Zone: "unl", Ref: "file:unl", ChangedBy: "acme"},
		[]keystore.RotationUser{{Name: "profile aaa", Ref: "file:unl", Profile: "aaa", Zone: "unl"}}, time.Now())
	e := a.Rotator(a.ScanFolders)
	if err := a.rotation(a.ScanFolders).Records.Start(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	a.edit(t, `key = "acme"`, "key = \"acme\"\nread_only = true")
	if _, err := e.Abandon(t.Context(), plan.ID); !errors.Is(err, config.ErrReadOnly) {
		t.Errorf("given up: %v", err)
	}
	if _, err := e.Run(t.Context(), plan.ID, "", nil); !errors.Is(err, config.ErrReadOnly) {
		t.Errorf("gone on with: %v", err)
	}
	a.edit(t, "\nread_only = true", "")
	if plan, err := e.Abandon(t.Context(), plan.ID); err != nil || !plan.Over() {
		t.Errorf("afterwards: %v", err)
	}
}

// A form that was opened before does not switch off what it has not seen.
func TestAProfileThatBecameReadOnlyMeanwhileIsNotSaved(t *testing.T) {
	o := options(t, nil)
	o.NoProfile = true
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(t.Context())
	opened, err := s.SaveAccount(t.Context(), account.Draft{Profile: config.Profile{Name: "acme", BaseURL: "https://api.example.com", APIVersion: config.DefaultAPIVersion, Verify: true}})
	if err != nil {
		t.Fatal(err)
	}
	locked := opened
	locked.ReadOnly = true
	if _, err := s.SaveAccount(t.Context(), account.Draft{Profile: locked, Before: &opened}); err != nil {
		t.Fatal(err)
	}
	s.newWatch().look(t.Context())
	colored := opened
	colored.Color = "red"
	if _, err := s.SaveAccount(t.Context(), account.Draft{Profile: colored, Before: &opened}); !errors.Is(err, config.ErrReadOnly) {
		t.Errorf("%v", err)
	}
	if _, err := s.SaveAccount(t.Context(), account.Draft{Profile: colored, Before: &locked}); err != nil {
		t.Errorf("switched off: %v", err)
	}
}
