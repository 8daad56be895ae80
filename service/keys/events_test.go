package keys

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
)

func TestTheTimelineHasTheEventsOfKeys(t *testing.T) {
	o := newOptions(t, nil)
	o.journal = true
	s := openTest(t, o)
	inventory := s.Keys.Inventory()
	rotations := s.rotations()
	rename := func(k model.Key) (model.Key, error) { k.Name = "etl-2"; return k, nil }
	same := func(k model.Key) (model.Key, error) { return k, nil }
	later := func(k model.Key) (model.Key, error) {
		k.Expires, k.Note = model.Unlimited(), "for the night"
		return k, nil
	}
	renew := func(k model.Key) (model.Key, error) {
		k.Rotation.Last, k.Fingerprint = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC), "0123456789abcdef"
		return k, nil
	}
	k := model.Key{Name: "etl", Level: model.LevelUser, UsedBy: []string{"nightly"}}
	remove := func(name string) error {
		seen, _ := s.Inventory.Get(name)
		seen.Name = name
		return inventory.Remove(t.Context(), seen)
	}
	plan := keystore.PlanRotation(k, keystore.RotateByNewKey, []keystore.RotationUser{{Name: "nightly"}}, time.Now())
	record := func(proof keystore.Proof) func(keystore.RotationPlan) (keystore.RotationPlan, error) {
		return func(p keystore.RotationPlan) (keystore.RotationPlan, error) {
			return p.Record(p.Now(), proof, time.Now())
		}
	}
	update := func(f func(keystore.RotationPlan) (keystore.RotationPlan, error)) error {
		_, err := rotations.Update(t.Context(), plan.ID, f)
		return err
	}
	for i, err := range []error{
		inventory.Add(t.Context(), k), inventory.Update(t.Context(), "etl", same),
		inventory.Update(t.Context(), "etl", later), inventory.Update(t.Context(), "etl", renew),
		rotations.Start(t.Context(), plan), update(record(keystore.Proof{By: keystore.Measured, Status: 200, Note: "accepted"})),
		update(record(keystore.Proof{By: keystore.Vouched, Note: "its log"})),
		update(func(p keystore.RotationPlan) (keystore.RotationPlan, error) { return p.Abandon(time.Now()) }),
		inventory.Update(t.Context(), "etl", rename), remove("etl-2"),
	} {
		if err != nil {
			t.Fatalf("change %d: %v", i, err)
		}
	}
	// What fails leaves no line.
	if remove("etl") == nil || inventory.Update(t.Context(), "etl", same) == nil ||
		inventory.Add(t.Context(), model.Key{}) == nil || update(record(keystore.Proof{})) == nil || rotations.Start(t.Context(), plan) == nil {
		t.Error("a change that is not possible was made")
	}
	got := keyLines(t, s)
	want := []string{
		"etl: recorded in the inventory, level USER", "etl: changed in the inventory: expiry, note",
		"etl: refreshed it has another value, made on 2026-11-21", "etl: rotation began, by new key",
		"etl: rotation create, measured, status 200; accepted", "etl: rotation set nightly, vouched by the operator, not measured; its log",
		"etl: rotation abandoned", "etl-2: renamed in the inventory, from etl",
		"etl-2: removed from the inventory; it is still valid at the service",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
	done := plan
	done.Ended = time.Now()
	if got := rotationChanges(plan, done); !slices.Equal(got, []string{"complete"}) {
		t.Errorf("%q", got)
	}
	set := plan
	set.Steps = slices.Clone(plan.Steps)
	set.Steps[0].Done, set.Steps[1].Done = true, true
	if got := rotationChanges(set, set.Reopen("nightly", "it gave nothing")); !slices.Equal(got, []string{"set nightly is open again: it gave nothing"}) {
		t.Errorf("%q", got)
	}
}

// If a process is killed between a step and its line in the history, the next run writes the line.
func TestTheTimelineCatchesUpWithTheRecordOfARotation(t *testing.T) {
	o := newOptions(t, nil)
	o.journal = true
	s := open(t, o)
	defer s.close(t)
	history := s.rotations()
	records := history.Rotations
	record := func(p keystore.RotationPlan) (keystore.RotationPlan, error) {
		return p.Record(p.Now(), keystore.Proof{By: keystore.Measured}, time.Now())
	}
	abandon := func(p keystore.RotationPlan) (keystore.RotationPlan, error) { return p.Abandon(time.Now()) }
	k := model.Key{Name: "etl", Level: model.LevelUser}
	first := keystore.PlanRotation(k, keystore.RotateByNewKey, nil, time.Now())
	second := keystore.PlanRotation(k, keystore.RotateByNewKey, nil, time.Now().Add(time.Second))
	update := func(h interface {
		Update(context.Context, string, func(keystore.RotationPlan) (keystore.RotationPlan, error)) (keystore.RotationPlan, error)
	}, id string, f func(keystore.RotationPlan) (keystore.RotationPlan, error),
	) error {
		_, err := h.Update(t.Context(), id, f)
		return err
	}
	for i, err := range []error{
		history.Start(t.Context(), first), update(history, first.ID, record), update(history, first.ID, abandon),
		records.Start(t.Context(), second), update(records, second.ID, record), // and killed before the lines were written
		update(history, second.ID, record), update(s.rotations(), second.ID, abandon), // by another process, which doubles nothing
	} {
		if err != nil {
			t.Fatalf("change %d: %v", i, err)
		}
	}
	steps := second.Steps
	want := []string{
		"etl: rotation began, by new key", "etl: rotation " + steps[0].Name() + ", measured", "etl: rotation abandoned",
		"etl: rotation began, by new key", "etl: rotation " + steps[0].Name() + ", measured", "etl: rotation " + steps[1].Name() + ", measured", "etl: rotation abandoned",
	}
	if got := keyLines(t, s); !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}

func TestARotationRenewsTheKeyThatComesWithItsProfile(t *testing.T) {
	s := open(t, newOptions(t, nil))
	defer s.close(t)
	k := model.Key{Name: "demo", Level: model.LevelUser, Secret: "demo:key/demo", Rotation: model.Rotation{Last: time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC)}}
	rotate := func(profile, value string, at time.Time, steps int) {
		t.Helper()
		p := keystore.PlanRotation(k, keystore.RotateByRefresh, nil, at)
		p.Profile, p.NewRef = profile, "env:"+value
		for n := range steps {
			p = noerr.Try(p.Record(n, keystore.Proof{By: keystore.Measured}, at)).Must(t)
		}
		p = noerr.Try(p.Abandon(at)).Must(t)
		noerr.Must(t, s.rotations().Start(t.Context(), p))
	}
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	const steps = 2                                 // the refresh, and the key's own reference
	rotate(s.inUse.Base().Name, "ONE", at, steps-1) // not set: the old value is used
	rotate("", "INVENTORY", at.Add(time.Minute), steps)
	rotate("another", "ELSEWHERE", at.Add(2*time.Minute), steps)
	if got := s.renewed([]model.Key{k}); len(got) != 1 || got[0].Secret != k.Secret {
		t.Errorf("%+v", got)
	}
	rotate(s.inUse.Base().Name, "TWO", at.Add(time.Hour), steps)
	refreshed := k
	refreshed.Rotation.Last = at.Add(time.Hour)                                                                                     // as the account settings show it
	if got := s.renewed([]model.Key{refreshed})[0]; got.Secret != "env:TWO" || got.Level != k.Level || got.Rotation != k.Rotation { // the old value was not seen refused
		t.Errorf("%+v", got)
	}
	rotate(s.inUse.Base().Name, "THREE", at.Add(2*time.Hour), steps)
	if got := s.renewed([]model.Key{k}); got[0].Secret != "env:THREE" {
		t.Errorf("after the second rotation: %+v", got)
	}
	if got := s.renewed(nil); len(got) != 1 || got[0].Name != "demo" || got[0].Secret != "env:THREE" {
		t.Errorf("deleted at the service: %+v", got)
	}
	if n, err := s.rotations().Forget(t.Context(), s.inUse.Base().Name); n != 3 || err != nil {
		t.Errorf("forgot %d, %v", n, err)
	}
	if plans, err := s.rotations().List(); len(plans) != 2 || err != nil || s.renewed([]model.Key{k})[0].Secret != k.Secret {
		t.Errorf("left %+v, %v", plans, err)
	}
}

// After two rotations the account no longer lists the first successor. The second one's entry must stay,
// or an ADMIN key would have an unknown level.
func TestAKeyThatWasRotatedTwiceKeepsItsLevelAndDuty(t *testing.T) {
	s := open(t, newOptions(t, nil))
	defer s.close(t)
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for n, name := range []string{"admin-2", "admin-3"} {
		p := keystore.PlanRotation(model.Key{Name: "admin", Secret: "demo:key/admin"}, keystore.RotateByNewKey, nil, at.Add(time.Duration(n)*time.Hour))
		p.Profile, p.NewName, p.NewRef, p.Level = s.inUse.Base().Name, name, "file:"+name, model.LevelAdmin.String()
		for i := range p.Steps {
			p = noerr.Try(p.Record(i, keystore.Proof{By: keystore.Measured}, p.Started)).Must(t)
		}
		noerr.Must(t, s.rotations().Start(t.Context(), p))
	}
	successor := model.Key{Name: "admin-3", Level: model.LevelAdmin, Duty: "setup"}
	for what, keys := range map[string][]model.Key{
		"over": {successor}, "another first": {{Name: "etl"}, successor}, "the account lists none": nil,
	} {
		got := s.renewed(slices.Clone(keys))
		k := named(got, "admin")
		if len(got) != max(len(keys), 1) || k.Level != model.LevelAdmin || k.Secret != "file:admin-3" {
			t.Errorf("%s: %+v", what, got)
		}
		if keys != nil && k.Duty != successor.Duty {
			t.Errorf("%s: duty %q", what, k.Duty)
		}
	}
}

func TestAUseOfAnOldValueIsToldOnce(t *testing.T) {
	o := newOptions(t, nil)
	o.journal = true
	s := openTest(t, o)
	for _, p := range []keystore.RotationPlan{{Key: "etl"}, {Key: "password of zone isp", Zone: "isp", ChangedBy: "ops"}} {
		s.oldValueUsed(t.Context(), p, []string{"one call"})
		s.oldValueUsed(t.Context(), p, []string{"one call", "profile acme gives it"})
	}
	got := keyLines(t, s)
	want := []string{
		"etl: rotation one call", "etl: rotation profile acme gives it",
		"ops: rotation of the password of zone isp: one call", "ops: rotation of the password of zone isp: profile acme gives it",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestAScanFindsTheValuesThatRotationsLeft looks through a folder for a value that a rotation ended and for
// one that it left valid, twice.
func TestAScanFindsTheValuesThatRotationsLeft(t *testing.T) {
	o := newOptions(t, nil)
	o.journal = true
	s := open(t, o)
	defer s.close(t)
	values := []string{"brd-key-that-has-ended-0001", "brd-key-that-is-valid-0002", "brd-key-of-the-record-0003"}
	var prints []string
	dir := t.TempDir()
	for i, v := range values {
		prints = append(prints, keystore.NewSecret(v).Fingerprint())
		noerr.Must(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.env", i)), []byte("KEY="+v+"\n"), 0o600))
	}
	k := model.Key{Name: "etl", Fingerprint: prints[2], Last4: "0003"}
	noerr.Must(t, s.Inventory.Add(t.Context(), k))
	for i, steps := range []int{-1, 1} { // to its end; given up when the new value was made
		k.Fingerprint, k.Last4 = prints[i], values[i][len(values[i])-4:]
		var err error
		p := keystore.PlanRotation(k, keystore.RotateByNewKey, nil, time.Now().Add(time.Duration(i)*time.Minute))
		p.NewFingerprint = prints[i+1]
		for n := range p.Steps {
			if n == steps {
				p, err = p.Abandon(time.Now())
				break
			}
			p = noerr.Try(p.Record(n, keystore.Proof{By: keystore.Measured}, time.Now())).Must(t)
		}
		noerr.Must(t, errors.Join(err, s.rotations().Rotations.Start(t.Context(), p)))
	}
	for range 2 {
		audit := noerr.Try(s.Keys.Inventory().Audit(t.Context(), true, 0, []string{dir})).Must(t)
		if want := []string{filepath.Join(dir, "1.env") + ":1", filepath.Join(dir, "2.env") + ":1"}; !slices.Equal(audit.Keys[0].UsedBy, want) {
			t.Errorf("it is used by %q, want %q", audit.Keys[0].UsedBy, want)
		}
		if !slices.ContainsFunc(audit.Findings, func(f keystore.Finding) bool {
			return f.Rule == "ended-value-in-file" && f.Evidence == filepath.Join(dir, "0.env")+":1"
		}) {
			t.Errorf("the rules say %+v", audit.Findings)
		}
	}
	if got, want := keyLines(t, s), []string{"etl: rotation the old value (••••0001) still stands in " + filepath.Join(dir, "0.env") + ":1"}; !slices.Equal(got, want) {
		t.Errorf("the timeline has %q, want %q", got, want)
	}
}
