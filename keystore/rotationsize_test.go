package keystore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
)

// filesPlan is a rotation of a key in so many files, in folders with long names.
func filesPlan(n, long int) RotationPlan {
	users := make([]RotationUser, n)
	for i := range users {
		file := fmt.Sprintf("/srv/%s/%04d/.env", strings.Repeat("<long>", long), i)
		users[i] = RotationUser{Name: file + ":1", File: file}
	}
	return PlanRotation(fullKey(), RotateByNewKey, users, today)
}

// TestWhatIsStartedIsReadToItsEnd starts the largest rotation that is taken, with the longest notes.
func TestWhatIsStartedIsReadToItsEnd(t *testing.T) {
	const long, small = 600, 2 << 20
	r := &Rotations{t.TempDir(), small}
	low, high := 1, 100 // files: one that is taken, one that is not
	for high-low > 1 {
		switch err := (&Rotations{t.TempDir(), small}).Start(t.Context(), filesPlan((low+high)/2, long)); {
		case err == nil:
			low = (low + high) / 2
		case errors.Is(err, errRotationSize):
			high = (low + high) / 2
		default:
			t.Fatal(err)
		}
	}
	if err := r.Start(t.Context(), filesPlan(high, long)); !errors.Is(err, errRotationSize) || !strings.Contains(err.Error(), "fewer folders") {
		t.Errorf("%d files: %v", high, err)
	}
	if files, err := filepath.Glob(filepath.Join(r.dir, "*.json")); err != nil || len(files) > 0 {
		t.Errorf("%q, %v", files, err)
	}
	if err := OpenRotations(t.TempDir()).Start(t.Context(), filesPlan(900, 50)); err != nil {
		t.Errorf("900 files: %v", err)
	}
	p := filesPlan(low, long)
	noerr.Must(t, r.Start(t.Context(), p))
	done, err := r.Update(t.Context(), p.ID, func(p RotationPlan) (RotationPlan, error) {
		for i := range p.Steps {
			var err error
			if p, err = p.Record(i, Proof{By: Measured, Status: 407, Duration: 1 << 40, Note: strings.Repeat("<", 5000)}, today); err != nil {
				return p, err
			}
		}
		return p, nil
	})
	if err != nil || !done.Over() {
		t.Fatalf("%d files: over %v, %v", low, done.Over(), err)
	}
	if got, err := r.Get(p.ID); err != nil || len(got.Steps) != len(p.Steps) {
		t.Errorf("%d files: %v", low, err)
	}
}

func TestAnUpdateThatCouldNotBeReadIsNotWritten(t *testing.T) {
	r, p := OpenRotations(t.TempDir()), filesPlan(1, 1)
	noerr.Must(t, r.Start(t.Context(), p))
	path, _ := r.file(p.ID)
	before, err := os.ReadFile(path)
	noerr.Must(t, err)
	_, err = r.Update(t.Context(), p.ID, func(p RotationPlan) (RotationPlan, error) {
		p.OldName = strings.Repeat("x", maxRotation)
		return p, nil
	})
	if after, read := os.ReadFile(path); !errors.Is(err, errRotationSize) || read != nil || string(after) != string(before) {
		t.Errorf("%v, %v", err, read)
	}
	r.max = len(before)
	if _, err := r.Update(t.Context(), p.ID, func(p RotationPlan) (RotationPlan, error) { return p, nil }); err != nil {
		t.Errorf("the largest record that can be read: %v", err)
	}
}
