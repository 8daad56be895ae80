package keystore

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

func proven(method RotationMethod) RotationPlan {
	return PlanRotation(fullKey(), method, []RotationUser{
		{Name: "nightly"},
		{Name: "/srv/.env:1", File: "/srv/.env"},
		{Name: "job-7", InFlight: true},
		{Name: "profile acme", Ref: "file:acme"},
		{Name: "profile beta", Ref: "file:acme"},
		{Name: "nightly", Ref: "file:again"},
	}, today)
}

func TestThePlanSetsEachPlaceOnceAndTestsEachUser(t *testing.T) {
	var names []string
	for _, s := range proven(RotateByNewKey).Steps {
		names = append(names, s.Name())
	}
	want := []string{
		"drain job-7", "create", "set " + Ref(fullKey().Secret).Label(), "set file:acme", "set /srv/.env", "set nightly",
		"test profile acme", "test profile beta", "test /srv/.env:1", "test nightly", "delete", "refused", "watch",
	}
	if !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	refresh := proven(RotateByRefresh)
	if refresh.Steps[1].Kind != StepRefresh || slices.ContainsFunc(refresh.Steps, func(s RotationStep) bool { return s.Kind == StepDelete || s.Kind == StepCreate }) {
		t.Errorf("a refresh: %+v", refresh.Steps)
	}
}

// A record that would make or end a key twice is nobody's.
func TestNoStepIsThereTwice(t *testing.T) {
	whole := proven(RotateByNewKey)
	noerr.Must(t, checkSteps(whole))
	for i, s := range whole.Steps {
		twice := whole.copied()
		twice.Steps = slices.Insert(twice.Steps, i, s)
		one := slices.Contains([]RotationStepKind{StepCreate, StepDelete, StepRefused, StepWatch}, s.Kind)
		if err := checkSteps(twice); one != (err != nil) {
			t.Errorf("%s twice: %v", s.Name(), err)
		}
	}
	odd := whole.copied()
	odd.Steps = slices.Insert(odd.Steps, 0, RotationStep{Kind: "hand over"})
	if err := checkSteps(odd); err == nil {
		t.Error("a step of no kind is taken")
	}
}

// TestNoStepIsDoneBeforeAnEarlierOne records steps in any order: only the open one is taken, and a
// plan of any length can be kept and read.
func TestNoStepIsDoneBeforeAnEarlierOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := proven(rapid.SampledFrom([]RotationMethod{RotateByNewKey, RotateByRefresh}).Draw(t, "method"))
		for range rapid.IntRange(0, 30).Draw(t, "tries") {
			i := rapid.IntRange(-1, len(p.Steps)).Draw(t, "step")
			next, err := p.Record(i, Proof{By: Measured, Status: 200}, today)
			if ok := i >= 0 && i == p.Now() && !p.Over(); ok != (err == nil) {
				t.Fatalf("step %d of %d: %v", i, p.Now(), err)
			}
			if err == nil {
				p = next
			}
			noerr.Must(t, checkSteps(p))
		}
		if p.Over() != (p.Now() < 0) {
			t.Fatalf("over %v with step %d open", p.Over(), p.Now())
		}
	})
}

func TestTheProofOfAStepIsOneLine(t *testing.T) {
	for want, s := range map[string]RotationStep{
		"status 200 in 41ms, accepted": {Status: 200, Duration: 41 * time.Millisecond, Note: "accepted"},
		"status 401 in 900µs":          {Status: 401, Duration: 900 * time.Microsecond},
		"read in its log":              {Note: "read in its log", Duration: time.Second},
	} {
		if got := s.Proof(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestARecordWithProofsHoldsNoValue(t *testing.T) {
	p := proven(RotateByNewKey)
	fresh := NewSecret("the-new-value-9876")
	if _, err := p.RecordNewValue(NewSecret(sample), "file:new"); !errors.Is(err, errSecretUnusable) {
		t.Errorf("the old value as the new one: %v", err)
	}
	if _, err := p.RecordNewValue(fresh, sample); !errors.Is(err, errRefForm) || leaks(err.Error()) {
		t.Errorf("a secret for a reference: %v", err)
	}
	p, err := p.RecordNewValue(fresh, "file:new")
	if err != nil || p.NewLast4 != "9876" || p.NewHeld != "file:new" {
		t.Fatalf("%+v, %v", p, err)
	}
	for _, note := range []string{sample, "old=" + sample, "it is the-new-value-9876"} {
		if _, err := p.Record(0, Proof{By: Vouched, Note: note}, today); !errors.Is(err, errHoldsSecret) || leaks(err.Error()) {
			t.Errorf("note %q: %v", note, err)
		}
	}
	over, err := p.Abandon(today)
	noerr.Must(t, err)
	if _, err := over.RecordNewValue(fresh, "file:new"); !errors.Is(err, errRotationOver) {
		t.Errorf("a value after the end: %v", err)
	}
}

func TestTheNewValueTakesOverWithTheKeysOwnReference(t *testing.T) {
	p := proven(RotateByNewKey)
	p.NewFingerprint, p.NewLast4, p.NewRef, p.NewExpires = "f00", "9876", "file:new", "2027-02-20T00:00:00Z"
	for n := range p.Steps {
		if got, want := p.HasTakenOver(), n > 2; got != want {
			t.Errorf("before %s: %v", p.Steps[n].Name(), got)
		}
		// The old value lives and comes due until it was seen refused.
		k := p.Rotated(fullKey())
		if own := fullKey(); n > 2 && (k.Last4 != "9876" || (k.Rotation == own.Rotation && k.Expires == own.Expires) != (p.Steps[n].Kind != StepWatch)) {
			t.Errorf("before %s: %+v", p.Steps[n].Name(), k)
		}
		var err error
		if p, err = p.Record(n, Proof{By: Measured}, today.Add(time.Duration(n)*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	k := p.Rotated(fullKey())
	if !k.Rotation.Last.Equal(today.Add(time.Hour)) || !k.Created.Equal(k.Rotation.Last) || k.Secret != "file:new" || k.Last4 != "9876" || k.Expires.Kind != model.ExpiryDate || !p.Over() {
		t.Errorf("%+v", k)
	}
}

func TestARecordWithProofsThatCannotBeIsRefused(t *testing.T) {
	for name, spoil := range map[string]func(*RotationPlan){
		"steps in another order": func(p *RotationPlan) { p.Steps[1], p.Steps[2] = p.Steps[2], p.Steps[1] },
		"an unknown step":        func(p *RotationPlan) { p.Steps[0].Kind = "magic" },
		"done before an earlier": func(p *RotationPlan) { p.Steps[len(p.Steps)-1].Done = true },
		"no steps":               func(p *RotationPlan) { p.Steps = nil },
		"a later version":        func(p *RotationPlan) { p.Version = 3 },
		"no version":             func(p *RotationPlan) { p.Version = 0 },
		"known by magic":         func(p *RotationPlan) { p.Steps[0].By = "magic" },
	} {
		r := OpenRotations(t.TempDir())
		p := proven(RotateByNewKey)
		noerr.Must(t, r.Start(t.Context(), p))
		noerr.Must(t, noerr.From(r.Update(t.Context(), p.ID, func(p RotationPlan) (RotationPlan, error) { spoil(&p); return p, nil })))
		if _, err := r.Get(p.ID); !errors.Is(err, ErrRotationFile) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRemovingASecret(t *testing.T) {
	r := NewResolver(ResolverOptions{SecretsDir: filepath.Join(t.TempDir(), "secrets")})
	if err := r.Remove(t.Context(), "file:none"); err != nil {
		t.Errorf("one that is not there: %v", err)
	}
	noerr.Must(t, r.Store(t.Context(), "file:a", NewSecret(sample)))
	noerr.Must(t, r.Remove(t.Context(), "file:a"))
	if _, err := r.Resolve(t.Context(), "file:a"); !errors.Is(err, ErrSecretMissing) {
		t.Errorf("after it: %v", err)
	}
	if err := r.Remove(t.Context(), "env:A"); !errors.Is(err, ErrNotStorable) {
		t.Errorf("a variable: %v", err)
	}
	if err := r.Remove(t.Context(), sample); !errors.Is(err, errRefForm) || strings.Contains(err.Error(), sample) {
		t.Errorf("no reference: %v", err)
	}
}
