package keystore

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

func TestARotationIsLeftAndResumed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "rotations")
	p := PlanRotation(fullKey(), RotateByNewKey, []RotationUser{{Name: "nightly"}}, today)
	noerr.Must(t, OpenRotations(dir).Start(t.Context(), p))
	for range 3 {
		// Each step is taken by another console that knows only the folder.
		r := OpenRotations(dir)
		running, ok, err := r.Running("", "etl-main")
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		_, err = r.Update(t.Context(), running.ID, func(p RotationPlan) (RotationPlan, error) {
			return p.Record(p.Now(), Proof{By: Vouched, Note: "done by hand"}, today)
		})
		noerr.Must(t, err)
	}
	got, err := OpenRotations(dir).Get(p.ID)
	if err != nil || got.Now() != 3 || got.Steps[2].Note != "done by hand" || got.Steps[3].Kind != StepTest {
		t.Errorf("resumed at %d of %+v, %v", got.Now(), got.Steps, err)
	}
	if err := OpenRotations(dir).Start(t.Context(), PlanRotation(fullKey(), RotateByNewKey, nil, today.Add(time.Hour))); !errors.Is(err, ErrRotationNow) {
		t.Errorf("a second rotation at the same time: %v", err)
	}
	_, err = OpenRotations(dir).Update(t.Context(), p.ID, func(p RotationPlan) (RotationPlan, error) { return p.Abandon(today) })
	noerr.Must(t, err)
	later := PlanRotation(fullKey(), RotateByRefresh, nil, today.Add(time.Hour))
	if err := OpenRotations(dir).Start(t.Context(), later); err != nil {
		t.Errorf("after the first was abandoned: %v", err)
	}
	all, err := OpenRotations(dir).List()
	if err != nil || len(all) != 2 || !reflect.DeepEqual(all[0], later) {
		t.Errorf("list %+v, %v", all, err)
	}
}

func TestUpdatesOfOneRotationAreNotLost(t *testing.T) {
	dir := t.TempDir()
	p := proven(RotateByNewKey)
	noerr.Must(t, OpenRotations(dir).Start(t.Context(), p))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			noerr.Want(t, noerr.From(OpenRotations(dir).Update(t.Context(), p.ID, func(p RotationPlan) (RotationPlan, error) { p.OwnRefused++; return p, nil })))
		})
	}
	wg.Wait()
	if got, err := OpenRotations(dir).Get(p.ID); err != nil || got.OwnRefused != 8 {
		t.Errorf("%d updates are kept, %v", got.OwnRefused, err)
	}
}

func TestABrokenRecordIsNamedAndLeftAlone(t *testing.T) {
	dir := t.TempDir()
	r := OpenRotations(dir)
	good := proven(RotateByNewKey)
	noerr.Must(t, r.Start(t.Context(), good))
	for _, text := range []string{"", "{", "[]", `{"id":"bad","secret":"x"}`, `{"id":"other"}`, `{"id":"bad","method":"magic"}`} {
		path := filepath.Join(dir, "bad.json")
		noerr.Must(t, os.WriteFile(path, []byte(text), 0o600))
		all, err := r.List()
		if !errors.Is(err, ErrRotationFile) || !strings.Contains(err.Error(), "bad.json") || len(all) != 1 || all[0].ID != good.ID {
			t.Errorf("%q: %d records, %v", text, len(all), err)
		}
		if _, err := r.Update(t.Context(), "bad", func(p RotationPlan) (RotationPlan, error) { return p, nil }); err == nil {
			t.Errorf("%q was overwritten", text)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != text {
			t.Errorf("%q became %q (%v)", text, b, err)
		}
	}
	for _, id := range []string{"", "..", "../x", "none"} {
		if _, err := r.Get(id); !errors.Is(err, errNoRotation) {
			t.Errorf("id %q: %v", id, err)
		}
	}
}

func FuzzRotationRecord(f *testing.F) {
	f.Add([]byte(`{"id":"a","method":"refresh","users":null}`))
	f.Add([]byte(`[1]`))
	f.Add([]byte(`{"id":"a","version":2,"method":"refresh","users":[],"steps":[{"kind":"set","subject":"x","text":"","done":true}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := decodeRotation(b)
		if err != nil {
			return
		}
		if n := p.Now(); n >= 0 {
			if next, err := p.Record(n, Proof{By: Vouched}, today); err == nil && !next.Steps[n].Done {
				t.Errorf("%q: step %d is not done", b, n)
			}
		}
		p.HasTakenOver()
		p.Rotated(model.Key{})
		PreviousValues([]RotationPlan{p})(p.Profile, p.Key)
		for _, s := range p.Steps {
			if open := p.Reopen(s.Subject, "it gave nothing"); len(open.Steps) != len(p.Steps) {
				t.Fatalf("%d steps are %d", len(p.Steps), len(open.Steps))
			}
		}
		_, _ = p.Abandon(today)
	})
}

func TestAnEndedRotationIsNotAbandoned(t *testing.T) {
	now := time.Date(2026, 11, 22, 9, 0, 0, 5, time.UTC)
	p, err := proven(RotateByNewKey).Abandon(now)
	if err != nil || !p.Over() || !p.Abandoned || !p.Ended.Equal(now.Truncate(time.Second)) {
		t.Fatalf("%+v, %v", p, err)
	}
	again, err := p.Abandon(now.Add(time.Hour))
	if !errors.Is(err, errRotationOver) || !again.Ended.Equal(p.Ended) {
		t.Errorf("abandoned again: ended %v, %v", again.Ended, err)
	}
}

func TestAnUpdateCannotRenameARotation(t *testing.T) {
	r := OpenRotations(t.TempDir())
	p := proven(RotateByNewKey)
	noerr.Must(t, r.Start(t.Context(), p))
	after, err := r.Update(t.Context(), p.ID, func(p RotationPlan) (RotationPlan, error) {
		p.ID, p.Abandoned = "another", true
		return p, nil
	})
	if err != nil || after.ID != p.ID || !after.Abandoned {
		t.Errorf("it became %+v, %v", after, err)
	}
	if list, err := r.List(); err != nil || len(list) != 1 || list[0].ID != p.ID || !list[0].Abandoned {
		t.Errorf("the folder holds %+v, %v", list, err)
	}
}

func TestAnUpdateThatFailsChangesNothing(t *testing.T) {
	r := OpenRotations(t.TempDir())
	if _, err := r.Update(t.Context(), "none", func(RotationPlan) (RotationPlan, error) {
		t.Error("a plan that is not there was changed")
		return RotationPlan{}, nil
	}); !errors.Is(err, errNoRotation) {
		t.Errorf("updating a rotation that is not there: %v", err)
	}
	p := proven(RotateByNewKey)
	noerr.Must(t, r.Start(t.Context(), p))
	before, err := r.Get(p.ID)
	noerr.Must(t, err)
	no := errors.New("no")
	if _, err := r.Update(t.Context(), p.ID, func(p RotationPlan) (RotationPlan, error) {
		p.Abandoned = true
		return p, no
	}); !errors.Is(err, no) {
		t.Errorf("an update that was refused: %v", err)
	}
	if after, err := r.Get(p.ID); err != nil || !reflect.DeepEqual(after, before) {
		t.Errorf("the rotation became %+v, %v", after, err)
	}
}

func TestKeysOfOneNameAreRotatedApart(t *testing.T) {
	r := OpenRotations(t.TempDir())
	demo := PlanRotation(fullKey(), RotateByNewKey, nil, today)
	demo.Profile = "local"
	recorded := PlanRotation(fullKey(), RotateByNewKey, nil, today.Add(time.Hour))
	noerr.Must(t, errors.Join(r.Start(t.Context(), demo), r.Start(t.Context(), recorded)))
	for _, want := range []RotationPlan{demo, recorded} {
		if got, ok, err := r.Running(want.Profile, want.Key); !ok || err != nil || got.ID != want.ID {
			t.Errorf("profile %q: %s, %v, %v", want.Profile, got.ID, ok, err)
		}
	}
	if n, err := r.Forget(t.Context(), ""); n != 0 || err == nil {
		t.Errorf("without a profile: forgot %d, %v", n, err)
	}
	if n, err := r.Forget(t.Context(), demo.Profile); n != 1 || err != nil {
		t.Errorf("forgot %d, %v", n, err)
	}
	if _, ok, err := r.Running("", recorded.Key); !ok || err != nil {
		t.Errorf("the recorded key's: %v, %v", ok, err)
	}
}

func TestARunningRotationIsFoundBesideABrokenRecord(t *testing.T) {
	dir := t.TempDir()
	r := OpenRotations(dir)
	p := PlanRotation(fullKey(), RotateByNewKey, nil, today)
	noerr.Must(t, r.Start(t.Context(), p))
	noerr.Must(t, os.WriteFile(filepath.Join(dir, "bad.json"), []byte("{"), 0o600))
	got, ok, err := r.Running(p.Profile, p.Key)
	if !ok || got.ID != p.ID || !errors.Is(err, ErrRotationFile) {
		t.Errorf("%q, %v, %v", got.ID, ok, err)
	}
	if _, ok, err := r.Running("", "another"); ok || !errors.Is(err, ErrRotationFile) {
		t.Errorf("a key without one: %v, %v", ok, err)
	}
}

func TestAnUnreadableRecordStopsTheRotationsOfItsKeyAlone(t *testing.T) {
	dir := t.TempDir()
	r := OpenRotations(dir)
	broken := PlanRotation(model.Key{Name: "broken"}, RotateByNewKey, nil, today)
	noerr.Must(t, os.WriteFile(filepath.Join(dir, broken.ID+".json"), []byte("{"), 0o600))
	if err := r.Start(t.Context(), PlanRotation(model.Key{Name: "another"}, RotateByNewKey, nil, today.AddDate(0, 0, 1))); err != nil {
		t.Errorf("another key: %v", err)
	}
	if err := r.Start(t.Context(), PlanRotation(model.Key{Name: "broken"}, RotateByNewKey, nil, today.AddDate(0, 0, 1))); !errors.Is(err, ErrRotationFile) {
		t.Errorf("the key itself: %v", err)
	}
	if plans, err := r.List(); len(plans) != 1 || !errors.Is(err, ErrRotationFile) {
		t.Errorf("%+v, %v", plans, err)
	}
}

func TestARecordThatCannotBeUsedIsInTheWayOfWhatItNames(t *testing.T) {
	dir := t.TempDir()
	r := OpenRotations(dir)
	for text, want := range map[string]bool{
		`{"key":"acme <1>"}`:          true,
		`{"users":["acme \u003c1>"]}`: true,
		`{"key":"acme <1>."}`:         false,
		`{"key":""}`:                  false,
		`{"key":"acme <1>`:            true, // what else was in it is not known
	} {
		noerr.Must(t, os.WriteFile(filepath.Join(dir, "bad.json"), []byte(text), 0o600))
		if plans, err := r.Naming("", "acme <1>"); len(plans) > 0 || errors.Is(err, ErrRotationFile) != want {
			t.Errorf("%s: %v, want an error: %v", text, err, want)
		}
		if _, err := r.Naming("file:rotation-bad-new"); !errors.Is(err, ErrRotationFile) {
			t.Errorf("%s: what it may have put behind its own reference: %v", text, err)
		}
	}
}

func TestHowAStepIsKnownIsKept(t *testing.T) {
	r := OpenRotations(t.TempDir())
	p := proven(RotateByNewKey)
	for n, by := range []By{Measured, Vouched} {
		var err error
		if p, err = p.Record(n, Proof{By: by}, today); err != nil {
			t.Fatal(err)
		}
	}
	noerr.Must(t, r.Start(t.Context(), p))
	kept, err := r.Get(p.ID)
	if err != nil || kept.Steps[0].By != Measured || kept.Steps[1].By != Vouched || kept.Steps[2].By != "" {
		t.Fatalf("%+v, %v", kept.Steps, err)
	}
	if measured, vouched := kept.Count(); measured != 1 || vouched != 1 {
		t.Errorf("%d measured, %d vouched for", measured, vouched)
	}
}
