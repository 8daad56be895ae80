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

	"pgregory.net/rapid"
)

func plan(t *testing.T, method RotationMethod) RotationPlan {
	t.Helper()
	k := fullKey()
	k.UsedBy = []string{"weekly", "nightly", "weekly"}
	return NewRotationPlan(k, method, today)
}

func tick(t *testing.T, p RotationPlan, kinds ...RotationStepKind) RotationPlan {
	t.Helper()
	for _, kind := range kinds {
		var err error
		if p, err = p.Tick(kind, Vouched, "", today); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func TestTheOldKeyIsDeletedOnlyAfterEveryUserWasProved(t *testing.T) {
	p := plan(t, RotateByNewKey)
	if len(p.Users) != 2 || p.Users[0].Name != "nightly" {
		t.Fatalf("blast radius %+v", p.Users)
	}
	refused := func(kind RotationStepKind) {
		t.Helper()
		if _, err := p.Tick(kind, Vouched, "", today); !errors.Is(err, ErrStepOrder) {
			t.Errorf("%s was taken: %v", kind, err)
		}
	}
	refused(StepDelete)
	p = tick(t, p, StepReview, StepIssue)
	refused(StepProve)
	refused(StepSwitch)
	refused(StepDelete)
	p = tick(t, p, StepStore, StepProve, StepSwitch)
	refused(StepDelete)
	refused(StepEach)
	for _, user := range []string{"nightly", "weekly"} {
		refused(StepEach)
		var err error
		if p, err = p.Prove(user, Vouched, today); err != nil {
			t.Fatal(err)
		}
	}
	refused(StepDelete)
	p = tick(t, p, StepEach)
	if p.Over() {
		t.Error("over before the old key is deleted")
	}
	p = tick(t, p, StepDelete)
	if !p.Over() || p.Abandoned || !p.Ended.Equal(today) {
		t.Errorf("not over: %+v", p)
	}
	if _, err := p.Tick(StepDelete, Vouched, "", today); !errors.Is(err, ErrRotationOver) {
		t.Errorf("ticking what is over: %v", err)
	}
}

func TestAnyOrderOfTicksKeepsTheRule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := fullKey()
		p := NewRotationPlan(k, RotateByNewKey, today)
		kinds := []RotationStepKind{StepReview, StepIssue, StepStore, StepProve, StepSwitch, StepEach, StepDelete, StepRefresh}
		for range rapid.IntRange(1, 60).Draw(t, "moves") {
			var next RotationPlan
			var err error
			switch rapid.IntRange(0, 5).Draw(t, "move") {
			case 0:
				next, err = p.Untick(rapid.SampledFrom(kinds).Draw(t, "untick"))
			case 1:
				next, err = p.Prove(rapid.SampledFrom(p.Users).Draw(t, "user").Name, Vouched, today)
			default:
				next, err = p.Tick(rapid.SampledFrom(kinds).Draw(t, "tick"), Vouched, "", today)
			}
			if err == nil {
				p = next
			}
			done := true
			for _, s := range p.Steps {
				if s.Done && !done {
					t.Fatalf("%s is done before an earlier step: %+v", s.Kind, p.Steps)
				}
				done = s.Done
				if s.Kind == StepEach && s.Done && len(p.unproved()) > 0 {
					t.Fatalf("each is done without %v", p.unproved())
				}
			}
		}
	})
}

func TestARefreshPausesBeforeAndHasNothingToDelete(t *testing.T) {
	p := plan(t, RotateByRefresh)
	if _, err := p.Tick(StepRefresh, Vouched, "", today); !errors.Is(err, ErrStepOrder) {
		t.Errorf("refreshed without a look at the users: %v", err)
	}
	if _, err := p.Tick(StepDelete, Vouched, "", today); !errors.Is(err, ErrStepUnknown) {
		t.Errorf("deleting: %v", err)
	}
	p = tick(t, p, StepReview, StepPause, StepRefresh, StepStore, StepProve)
	for _, u := range p.Users {
		p, _ = p.Prove(u.Name, Vouched, today)
	}
	if p = tick(t, p, StepEach); !p.Over() {
		t.Errorf("not over: %+v", p)
	}
	if _, err := p.Untick(StepEach); !errors.Is(err, ErrRotationOver) {
		t.Errorf("taking a step back after the end: %v", err)
	}
}

func TestAStepIsTakenBackFromTheEnd(t *testing.T) {
	p := tick(t, plan(t, RotateByNewKey), StepReview, StepIssue)
	if _, err := p.Untick(StepReview); !errors.Is(err, ErrStepOrder) {
		t.Errorf("taking back an earlier step: %v", err)
	}
	before := p
	p, err := p.Untick(StepIssue)
	if next, ok := p.Next(); err != nil || !ok || next.Kind != StepIssue {
		t.Errorf("next is %v, %v", next.Kind, err)
	}
	if !before.Steps[1].Done {
		t.Error("the plan before was changed too")
	}
}

func TestAPlanTakesNoSecret(t *testing.T) {
	p := plan(t, RotateByNewKey)
	next := NewSecret("the-new-value-9876")
	p, err := p.Stored(next, "env:NEW")
	if err != nil || p.NewLast4 != "9876" || p.NewRef != "env:NEW" || p.NewFingerprint != next.Fingerprint() {
		t.Fatalf("%+v, %v", p, err)
	}
	for _, note := range []string{sample, "old=" + sample, "the new one is the-new-value-9876"} {
		if _, err := p.Tick(StepReview, Vouched, note, today); !errors.Is(err, ErrHoldsSecret) || leaks(err.Error()) {
			t.Errorf("note %q: %v", note, err)
		}
	}
	if _, err := p.Stored(NewSecret(sample), "env:NEW"); !errors.Is(err, ErrSecretUnusable) {
		t.Errorf("the old value as the new one: %v", err)
	}
	if _, err := p.Stored(next, sample); !errors.Is(err, ErrRefForm) || leaks(err.Error()) {
		t.Errorf("a secret for a reference: %v", err)
	}
}

func TestARotationIsLeftAndResumed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "rotations")
	p := PlanRotation(fullKey(), RotateByNewKey, []RotationUser{{Name: "nightly"}}, today)
	if err := OpenRotations(dir).Start(t.Context(), p); err != nil {
		t.Fatal(err)
	}
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
		if err != nil {
			t.Fatal(err)
		}
	}
	got, err := OpenRotations(dir).Get(p.ID)
	if err != nil || got.Now() != 3 || got.Steps[2].Note != "done by hand" || got.Steps[3].Kind != StepTest {
		t.Errorf("resumed at %d of %+v, %v", got.Now(), got.Steps, err)
	}
	if err := OpenRotations(dir).Start(t.Context(), PlanRotation(fullKey(), RotateByNewKey, nil, today.Add(time.Hour))); !errors.Is(err, ErrRotationNow) {
		t.Errorf("a second rotation at the same time: %v", err)
	}
	_, err = OpenRotations(dir).Update(t.Context(), p.ID, func(p RotationPlan) (RotationPlan, error) { return p.Abandon(today) })
	if err != nil {
		t.Fatal(err)
	}
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
	k := fullKey()
	k.UsedBy = []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	p := tick(t, NewRotationPlan(k, RotateByNewKey, today), StepReview, StepIssue, StepStore, StepProve, StepSwitch)
	if err := OpenRotations(dir).Start(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for _, u := range k.UsedBy {
		wg.Go(func() {
			_, err := OpenRotations(dir).Update(t.Context(), p.ID, func(p RotationPlan) (RotationPlan, error) { return p.Prove(u, Vouched, today) })
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got, err := OpenRotations(dir).Get(p.ID); err != nil || len(got.unproved()) != 0 {
		t.Errorf("not proved: %v, %v", got.unproved(), err)
	}
}

func TestABrokenRecordIsNamedAndLeftAlone(t *testing.T) {
	dir := t.TempDir()
	r := OpenRotations(dir)
	good := plan(t, RotateByNewKey)
	if err := r.Start(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "{", "[]", `{"id":"bad","secret":"x"}`, `{"id":"other"}`, `{"id":"bad","method":"new key","steps":[{"kind":"delete"}]}`} {
		path := filepath.Join(dir, "bad.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
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
		if _, err := r.Get(id); !errors.Is(err, ErrNoRotation) {
			t.Errorf("id %q: %v", id, err)
		}
	}
}

func FuzzRotationRecord(f *testing.F) {
	f.Add([]byte(`{"id":"a","method":"refresh","users":null}`))
	f.Add([]byte(`[1]`))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := decodeRotation(b)
		if err != nil {
			return
		}
		if _, err := p.Tick(StepDelete, Vouched, "", today); err == nil && p.Steps[len(p.Steps)-2].Kind == StepEach && !p.Steps[len(p.Steps)-2].Done {
			t.Errorf("%q: the old key is deleted before the users are proved", b)
		}
		p.Next()
		p, _ = p.Untick(StepEach)
		_, _ = p.Abandon(today)
	})
}

func TestAnEndedRotationIsNotAbandoned(t *testing.T) {
	now := time.Date(2026, 11, 22, 9, 0, 0, 5, time.UTC)
	p, err := plan(t, RotateByNewKey).Abandon(now)
	if err != nil || !p.Over() || !p.Abandoned || !p.Ended.Equal(now.Truncate(time.Second)) {
		t.Fatalf("%+v, %v", p, err)
	}
	if _, err := p.Stored(NewSecret("another value"), "env:NEW"); !errors.Is(err, ErrRotationOver) {
		t.Errorf("storing a value after the end: %v", err)
	}
	again, err := p.Abandon(now.Add(time.Hour))
	if !errors.Is(err, ErrRotationOver) || !again.Ended.Equal(p.Ended) {
		t.Errorf("abandoned again: ended %v, %v", again.Ended, err)
	}
}

func TestAnUpdateCannotRenameARotation(t *testing.T) {
	r := OpenRotations(t.TempDir())
	p := plan(t, RotateByNewKey)
	if err := r.Start(t.Context(), p); err != nil {
		t.Fatal(err)
	}
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
	}); !errors.Is(err, ErrNoRotation) {
		t.Errorf("updating a rotation that is not there: %v", err)
	}
	p := plan(t, RotateByNewKey)
	if err := r.Start(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	before, err := r.Get(p.ID)
	if err != nil {
		t.Fatal(err)
	}
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
	if err := errors.Join(r.Start(t.Context(), demo), r.Start(t.Context(), recorded)); err != nil {
		t.Fatal(err)
	}
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
	if err := r.Start(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bad.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, ok, err := r.Running(p.Profile, p.Key)
	if !ok || got.ID != p.ID || !errors.Is(err, ErrRotationFile) {
		t.Errorf("%q, %v, %v", got.ID, ok, err)
	}
	if _, ok, err := r.Running("", "another"); ok || !errors.Is(err, ErrRotationFile) {
		t.Errorf("a key without one: %v, %v", ok, err)
	}
}

func TestHowAStepIsKnownIsKept(t *testing.T) {
	r := OpenRotations(t.TempDir())
	p := plan(t, RotateByNewKey)
	p, err := p.Tick(StepReview, Measured, "", today)
	if err != nil {
		t.Fatal(err)
	}
	p = tick(t, p, StepIssue)
	if err := r.Start(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	kept, err := r.Get(p.ID)
	if err != nil || kept.Steps[0].By != Measured || kept.Steps[1].By != Vouched || kept.Steps[2].By != "" {
		t.Fatalf("%+v, %v", kept.Steps, err)
	}
	if measured, vouched := kept.Count(); measured != 1 || vouched != 1 {
		t.Errorf("%d measured, %d vouched for", measured, vouched)
	}
	// A record from before is one of words; one that knows by magic is refused.
	kept.Steps[0].By = ""
	if measured, vouched := kept.Count(); measured != 0 || vouched != 2 || kept.Steps[0].By.Words() != "vouched for" {
		t.Errorf("%d measured, %d vouched for", measured, vouched)
	}
	if kept, err = kept.Untick(StepIssue); err != nil || kept.Steps[1].By != "" {
		t.Errorf("after taking it back: %+v, %v", kept.Steps[1], err)
	}
	if _, err := r.Update(t.Context(), p.ID, func(p RotationPlan) (RotationPlan, error) {
		p.Users[0].By = "magic"
		return p, nil
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Get(p.ID); !errors.Is(err, ErrRotationFile) {
		t.Errorf("it was read: %v", err)
	}
}
