package rotate_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/rotate"
)

// TestTheInventoryIsChangedBeforeTheStepIsTicked fails to change the inventory once.
func TestTheInventoryIsChangedBeforeTheStepIsTicked(t *testing.T) {
	p := newPlace(t, start(t), "took")
	c := p.config()
	var took []model.Key
	broken := errors.New("the disk is full")
	c.TookOver = func(_ context.Context, r keystore.RotationPlan) error {
		if took = append(took, r.Rotated(p.Key)); len(took) == 1 {
			return broken
		}
		return nil
	}
	e, plan := p.begin(t, c, keystore.RotateByNewKey)
	plan, err := e.Run(t.Context(), plan.ID, "", nil)
	if s := plan.Steps[plan.Now()]; !errors.Is(err, broken) || s.Kind != keystore.StepSet || s.Subject != p.Key.Secret {
		t.Fatalf("%v before %s, want the step not ticked", err, s.Name())
	}
	plan = noerr.Try(e.Run(t.Context(), plan.ID, "", nil)).Must(t)
	p.wantDone(t, plan)
	if len(took) != 3 || took[1].Fingerprint != plan.NewFingerprint || took[1].Rotation != p.Key.Rotation || took[2].Rotation.Last.IsZero() {
		t.Errorf("the inventory was given %+v", took)
	}
}

// TestAKeyWithoutASecretIsGivenOne rotates a key that is tracked by its name alone.
func TestAKeyWithoutASecretIsGivenOne(t *testing.T) {
	for _, users := range [][]keystore.RotationUser{nil, {{Name: "cron on host7"}}} {
		p := newPlace(t, start(t), "noref")
		p.Key.Secret, p.Users = "", users
		c := p.config()
		var took []model.Key
		c.TookOver = func(_ context.Context, r keystore.RotationPlan) error {
			took = append(took, r.Rotated(p.Key))
			return nil
		}
		e, plan := p.begin(t, c, keystore.RotateByNewKey)
		for !plan.Over() {
			var err error
			var stop *rotate.StopError
			if plan, err = e.Run(t.Context(), plan.ID, "", nil); errors.As(err, &stop) {
				plan, err = e.Vouch(t.Context(), plan.ID, stop.Step, "seen")
			}
			noerr.Must(t, err)
		}
		if len(took) != 2 || took[0].Fingerprint != plan.NewFingerprint || took[0].Secret == "" {
			t.Fatalf("the inventory was given %+v", took)
		}
		if value, err := p.secrets().Resolve(t.Context(), took[0].Secret); err != nil || value.Fingerprint() != plan.NewFingerprint {
			t.Errorf("the only copy of the new value is gone: %v", err)
		}
	}
}

// TestAnErrorRepeatsNoValue lets a service answer with both values.
func TestAnErrorRepeatsNoValue(t *testing.T) {
	p := newPlace(t, start(t), "masks")
	old, err := p.secrets().Resolve(t.Context(), p.Key.Secret)
	noerr.Must(t, err)
	c := p.config()
	prove, fresh := c.Prove, keystore.Secret{}
	c.Prove = func(ctx context.Context, call rotate.Call) (model.FetchResult, error) {
		if call.User.Name == "" {
			return prove(ctx, call)
		}
		fresh = call.Value
		return model.FetchResult{}, errors.New("you sent " + old.Reveal() + " and " + fresh.Reveal() + " and " + fresh.Reveal())
	}
	e, plan := p.begin(t, c, keystore.RotateByNewKey)
	_, err = e.Run(t.Context(), plan.ID, "", nil)
	if err == nil || fresh.Empty() || strings.Contains(err.Error(), old.Reveal()) || strings.Contains(err.Error(), fresh.Reveal()) {
		t.Errorf("a value is in the error (new one seen: %v)", !fresh.Empty())
	}

	// a stop stays one
	p = newPlace(t, start(t), "masks")
	old = noerr.Try(p.secrets().Resolve(t.Context(), p.Key.Secret)).Must(t)
	p.Users = append(p.Users, keystore.RotationUser{Name: "a file", File: "/a/file"})
	c = p.config()
	c.Holds = func(string, string) (bool, error) { return false, errors.New("it is " + old.Reveal()) }
	e, plan = p.begin(t, c, keystore.RotateByNewKey)
	_, err = e.Run(t.Context(), plan.ID, "", nil)
	var stop *rotate.StopError
	if !errors.As(err, &stop) || stop.Step.Subject != "/a/file" || strings.Contains(err.Error(), old.Reveal()) || !strings.Contains(stop.Advice, old.Last4()) {
		t.Errorf("%T, want a stop without a value", err)
	}
}
