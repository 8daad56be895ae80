package rotate_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/password"
	"zonedeck/service/rehearsal"
	"zonedeck/service/rotate"
)

// wantNotRefused runs a rotation up to the proof that the old value is refused, which it must not tick, and then,
// once mend has been called, to its end.
func wantNotRefused(t *testing.T, e *rotate.Engine, id, said string, mend func()) keystore.RotationPlan {
	t.Helper()
	plan, err := e.Run(t.Context(), id, "", nil)
	s, _ := plan.Step(keystore.StepRefused, "")
	if err == nil || !strings.Contains(err.Error(), said) || plan.Over() || s.Done || plan.Steps[plan.Now()].Kind != keystore.StepRefused {
		t.Fatalf("%v, over %v, %+v, want that the old value was not seen refused: %s", err, plan.Over(), s, said)
	}
	mend()
	plan = noerr.Try(e.Run(t.Context(), id, "", nil)).Must(t)
	return plan
}

// Only a rejection of the key itself ends a rotation: after any other answer the old value may still be valid.
func TestOnlyARejectedKeyIsARefusedOne(t *testing.T) {
	demo := start(t)
	for i, tt := range []struct {
		status    int
		diagnosis model.Diagnosis
		want      string
	}{
		{http.StatusOK, model.Diagnosis{Class: model.ClassOK}, "the old value is still accepted (status 200)"},
		{http.StatusOK, model.Diagnosis{Class: model.ClassOutside, Cause: model.CauseTargetError}, "the old value is still accepted (status 200)"},
		{http.StatusForbidden, model.Diagnosis{Class: model.ClassAccessRestricted, Cause: model.CauseMissingPermission, Summary: "not permitted"}, "the old value is still accepted (status 403)"},
		{http.StatusTooManyRequests, model.Diagnosis{Class: model.ClassTooFast, Summary: "too many calls"}, "failed for another reason than the key: too many calls"},
		{http.StatusBadGateway, model.Diagnosis{Class: model.ClassOutside, Cause: model.CauseServiceError, Summary: "the service fails"}, "failed for another reason than the key: the service fails"},
		{0, model.Diagnosis{Class: model.ClassOutside, Cause: model.CauseNetwork, Summary: "no answer"}, "failed for another reason than the key: no answer"},
	} {
		p := newPlace(t, demo, fmt.Sprintf("ended%c", 'a'+i))
		c := p.config()
		prove, mended := c.Prove, false
		c.Prove = func(ctx context.Context, call rotate.Call) (model.FetchResult, error) {
			if call.Value.Fingerprint() == p.Key.Fingerprint && !mended {
				return model.FetchResult{ServiceStatus: tt.status, Diagnosis: tt.diagnosis}, nil
			}
			return prove(ctx, call)
		}
		e, plan := p.begin(t, c, keystore.RotateByNewKey)
		p.wantDone(t, wantNotRefused(t, e, plan.ID, tt.want, func() { mended = true }))
	}
}

// A service that refuses every key, or another service at the address, proves nothing about the old value.
func TestARefusalOfEveryKeyIsNoProof(t *testing.T) {
	t.Parallel() // it waits for a journal that shows nothing
	demo := start(t)
	for name, refused := range map[string]int{"from-before": 0, "from-the-old": 1} { // calls of the step before the service refuses every key
		p := newPlace(t, demo, name)
		c := p.config()
		prove, calls, mended := c.Prove, 0, false
		c.Prove = func(ctx context.Context, call rotate.Call) (model.FetchResult, error) {
			if strings.Contains(call.Proves, "step "+string(keystore.StepRefused)) && !mended {
				if calls++; calls > refused {
					return model.FetchResult{ServiceStatus: http.StatusUnauthorized, Diagnosis: model.Diagnosis{Class: model.ClassOutside, Cause: model.CauseKeyRejected, Summary: "the service does not know the key"}}, nil
				}
			}
			return prove(ctx, call)
		}
		e, plan := p.begin(t, c, keystore.RotateByNewKey)
		p.wantDone(t, wantNotRefused(t, e, plan.ID, "the new value was not accepted beside the old one", func() { mended = true }))
	}
}

// A password that the proxy still takes is not refused, whatever the account said when it was removed.
func TestAnOldPasswordThatStillWorksIsNotRefused(t *testing.T) {
	p := newPlace(t, start(t), "stays").withPassword(t)
	c := p.config()
	mended := false
	c.Passwords = broken{Passwords: c.Passwords, login: func(value keystore.Secret, accepted bool) error {
		if !accepted && !mended && value.Reveal() == p.old() {
			return fmt.Errorf("the login: %w", password.ErrAccepted)
		}
		return nil
	}}
	e, plan := p.beginPassword(t, c)
	p.wantPasswordDone(t, wantNotRefused(t, e, plan.ID, "the old password is still accepted", func() { mended = true }))
}

// A key whose level may fetch works only when a fetch with it was permitted: a 403, or no answer, is no proof of the
// new value, neither when it was made nor when a user's call is tested.
func TestANewValueIsProvedByAFetchThatWorked(t *testing.T) {
	demo := start(t)
	for name, tt := range map[string]struct {
		kind   keystore.RotationStepKind
		status int
		cause  model.Cause
	}{
		"made-refused": {keystore.StepCreate, http.StatusForbidden, model.CauseMissingPermission},
		"made-silent":  {keystore.StepCreate, 0, model.CauseNetwork},
		"user-refused": {keystore.StepTest, http.StatusForbidden, model.CauseMissingPermission},
		"user-silent":  {keystore.StepTest, 0, model.CauseNetwork},
	} {
		p := newPlace(t, demo, name)
		c := p.config()
		prove, broken := c.Prove, true
		c.Prove = func(ctx context.Context, call rotate.Call) (model.FetchResult, error) {
			made := call.Key.Name == model.NewValueOf(name)
			if broken && call.Value.Fingerprint() != p.Key.Fingerprint && made == (tt.kind == keystore.StepCreate) {
				return model.FetchResult{ServiceStatus: tt.status, Diagnosis: model.Diagnosis{Class: model.ClassOutside, Cause: tt.cause, Summary: "it did not work"}}, nil
			}
			return prove(ctx, call)
		}
		e, plan := p.begin(t, c, keystore.RotateByNewKey)
		plan, err := e.Run(t.Context(), plan.ID, "", nil)
		if err == nil || !strings.Contains(err.Error(), "it did not work") || plan.Steps[plan.Now()].Kind != tt.kind {
			t.Errorf("%s: %v, and %+v", name, err, plan.Steps)
		}
		broken = false
		plan = noerr.Try(e.Run(t.Context(), plan.ID, "", nil)).Must(t)
		p.wantDone(t, plan)
	}
}

// If a person deletes the old key, a call with it shows whether it is gone. The console's last call uses the present
// value of its reference, and proves nothing if that is not the new value.
func TestAPersonsDeletionIsSeenAndTheLastCallReadsTheReference(t *testing.T) {
	p := newPlace(t, start(t), "byhand")
	c := p.config()
	c.Settings = nil
	e, plan := p.begin(t, c, keystore.RotateByNewKey)
	made, err := p.settings().CreateKey(t.Context(), rehearsal.Key{Name: "byhand-2", Level: "OPS", Duty: "batch job", Expires: "Unlimited"})
	noerr.Must(t, err)
	noerr.Must(t, noerr.From(e.Give(t.Context(), plan.ID, keystore.NewSecret(made.Value), "")))
	var stop *rotate.StopError
	plan, err = e.Run(t.Context(), plan.ID, "", nil)
	if !errors.As(err, &stop) || stop.Step.Kind != keystore.StepDelete || stop.Vouch || !strings.Contains(stop.Advice, "it is still accepted") {
		t.Fatalf("%v, want that the old key is still accepted", err)
	}
	noerr.Must(t, p.settings().DeleteKey(t.Context(), "byhand"))
	plan, err = e.Run(t.Context(), plan.ID, "", func(now keystore.RotationPlan) {
		if s, _ := now.Step(keystore.StepRefused, ""); s.Done {
			noerr.Want(t, p.secrets().Store(t.Context(), p.Key.Secret, keystore.NewSecret("another-value-0123456789")))
		}
	})
	if err == nil || !strings.Contains(err.Error(), "gives another value than the new one") || plan.Over() {
		t.Errorf("over %v, %v, want that the reference gives another value", plan.Over(), err)
	}
	noerr.Must(t, p.secrets().Store(t.Context(), p.Key.Secret, keystore.NewSecret(made.Value)))
	plan = noerr.Try(e.Run(t.Context(), plan.ID, "", nil)).Must(t)
	p.wantDone(t, plan)
}

// A page that answers 401 through the proxy is no refusal by the service: the watch looks for refused keys.
func TestTheWatchCountsRefusedKeysAlone(t *testing.T) {
	for point, want := range map[string]bool{"proxy": false, "api": true} {
		p := newPlace(t, start(t), "watched")
		settings := &inUse{Client: p.settings()}
		c := p.config()
		c.Settings = func(keystore.RotationPlan) rotate.Settings { return settings }
		e, plan := p.begin(t, c, keystore.RotateByNewKey)
		plan, err := e.Run(t.Context(), plan.ID, "", func(now keystore.RotationPlan) {
			if s, _ := now.Step(keystore.StepRefused, ""); s.Done && len(settings.seen) == 0 {
				settings.seen = []rehearsal.Request{{Seq: 1 << 40, Time: time.Now(), Point: point, Method: "GET", URL: "/", Remote: "127.0.0.1:4", Status: http.StatusUnauthorized}}
			}
		})
		var stop *rotate.StopError
		if stopped := errors.As(err, &stop) && stop.Step.Kind == keystore.StepWatch; stopped != want || plan.Over() == want {
			t.Errorf("a 401 at the %s: %v, over %v", point, err, plan.Over())
		}
	}
}
