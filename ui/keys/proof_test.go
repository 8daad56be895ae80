package keys_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/fetch"
	"zonedeck/service/profile"
	"zonedeck/ui/kit"
	"zonedeck/ui/uitest"
)

// fakeProver is a service that accepts some values, and never answers if it hangs.
type fakeProver struct {
	accepts map[string]bool
	down    bool
	hangs   bool
	calls   []string // the key's name and value
}

func (f *fakeProver) ProveKey(ctx context.Context, k model.Key, value keystore.Secret, on func(fetch.Event)) (model.FetchResult, error) {
	f.calls = append(f.calls, k.Name+" "+k.Secret+" "+value.Reveal())
	on(fetch.Event{Phase: fetch.PhaseSending})
	if f.hangs {
		<-ctx.Done()
		return model.FetchResult{}, context.Cause(ctx)
	}
	res := model.FetchResult{ServiceStatus: 200, Diagnosis: model.Diagnosis{Class: model.ClassOK}, Timing: model.Timing{Total: 12 * time.Millisecond}}
	switch {
	case f.down:
		res.ServiceStatus, res.Diagnosis = 503, model.Diagnosis{Class: model.ClassOutside, Cause: model.CauseServiceError, Summary: "it is down"}
	case !f.accepts[value.Reveal()]:
		res.ServiceStatus, res.Diagnosis = 401, model.Diagnosis{Class: model.ClassOutside, Cause: model.CauseKeyRejected, Summary: "no such key"}
	}
	return res, nil
}

// callable is a session on a profile that a key can be proved with.
func callable() kit.Session {
	p := profile.Profile{Name: "acme", BaseURL: "https://api.test", Dialect: "brightdata", Zones: []model.Zone{{Name: "unlocker1", Product: model.ProductUnlocker}}}
	return kit.Session{ProfileName: p.Name, Ready: true, Profile: p}
}

// toProof goes on with a rotation from its first step to the proof of the value "brand-new".
func toProof(s *uitest.Screen, begin ...string) {
	s.Press(begin...)
	s.Press("ctrl+u")
	s.Type("keyring:acme/prod")
	s.Press("tab")
	s.Type("brand-new")
	s.Press("ctrl+s")
	s.Expect("[›] make one call with the new value")
}

func provedBy(t *testing.T, r *rig) keystore.RotationStep {
	t.Helper()
	plan, _, err := r.rotations.Running("", "prod")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range plan.Steps {
		if s.Kind == keystore.StepProve {
			return s
		}
	}
	return keystore.RotationStep{}
}

func TestANewValueIsProvedByACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ownKey())
		r.prover.accepts = map[string]bool{"brand-new": true}
		s := r.start(t, callable(), 100, 40)
		toProof(s, "R", "enter", "enter", "enter")
		s.Expect("enter makes it: https://", "by API through unlocker1", "profile acme, one request", "enter prove")
		if len(r.prover.calls) != 0 {
			t.Fatalf("called before it was asked to: %q", r.prover.calls)
		}
		s.Press("enter")
		s.Expect("[✓] make one call with the new value · measured", "accepted:", "[›] switch every user")
		if len(r.prover.calls) != 1 || r.prover.calls[0] != "prod keyring:acme/prod brand-new" {
			t.Errorf("called %q", r.prover.calls)
		}
		if step := provedBy(t, r); step.By != keystore.Measured || step.Note != "accepted: status 200 in 12 ms" || step.At.IsZero() {
			t.Errorf("recorded %+v", step)
		}
		s.Press("u")
		if step := provedBy(t, r); step.Done || step.Note != "" {
			t.Errorf("taken back: %+v", step)
		}
	})
}

func TestAFailedProofTicksNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ownKey())
		s := r.start(t, callable(), 100, 40)
		toProof(s, "R", "enter", "enter", "enter")
		s.Press("enter")
		s.Expect("✗ the call with the new value failed: key rejected, no such key", "[›] make one call")
		r.secrets.values["keyring:acme/prod"] = "spoilt"
		s.Press("enter")
		s.Expect("the reference gives another value than the one that was stored")
		delete(r.secrets.values, "keyring:acme/prod")
		s.Press("enter")
		s.Expect("✗ secret missing")
		if step := provedBy(t, r); step.Done || len(r.prover.calls) != 1 {
			t.Errorf("recorded %+v after calls %q", step, r.prover.calls)
		}
		s.Press("v")
		s.Expect("[~] make one call with the new value · vouched for")
		if step := provedBy(t, r); step.By != keystore.Vouched || step.Note != "" {
			t.Errorf("recorded %+v", step)
		}
	})
}

func TestAProofCanBeStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ownKey())
		r.prover.hangs = true
		s := r.start(t, callable(), 100, 40)
		toProof(s, "R", "enter", "enter", "enter")
		s.Press("enter")
		s.Expect("a call with the new value: sending · esc stops it")
		s.Press("v")
		s.Expect("a call is on its way")
		s.Press("esc")
		s.Expect("✗ stopped: nothing is proved", "Rotate prod by new key")
		if step := provedBy(t, r); step.Done {
			t.Errorf("recorded %+v", step)
		}
		s.Press("esc")
		s.ExpectNot("Rotate prod by new key")
	})
}

func TestAfterARefreshTheOldValueHasToBeRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ownKey())
		r.secrets.values["keyring:acme/prod"] = "the-old-one"
		r.prover.accepts = map[string]bool{"brand-new": true, "the-old-one": true}
		s := r.start(t, callable(), 100, 40)
		toProof(s, "r", "y", "enter", "enter", "enter", "enter")
		s.Press("enter")
		s.Expect("✗ the old value is still accepted: status 200 in 12 ms", "[›] make one call")
		delete(r.prover.accepts, "the-old-one")
		s.Press("enter")
		if step, want := provedBy(t, r), "accepted: status 200 in 12 ms; the old value is refused: status 401 in 12 ms"; step.By != keystore.Measured || step.Note != want {
			t.Errorf("recorded %+v", step)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ownKey())
		r.prover.accepts = map[string]bool{"brand-new": true}
		s := r.start(t, callable(), 100, 40)
		toProof(s, "r", "y", "enter", "enter", "enter", "enter")
		s.Press("enter")
		if step, want := provedBy(t, r), "accepted: status 200 in 12 ms; the old value was not at hand to see it refused"; step.Note != want {
			t.Errorf("recorded %+v", step)
		}
	})
}

func TestAnErrorBehindTheStoreLeavesTheOldValueAtHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ownKey())
		r.prover.accepts = map[string]bool{"brand-new": true}
		s := r.start(t, callable(), 100, 40)
		s.Press("r", "y", "enter", "enter", "enter") // the key has no value yet: nothing is at hand
		r.secrets.values["keyring:acme/prod"] = "the-old-one"
		r.secrets.afterStore = errors.New("the keyring is locked")
		s.Press("enter", "ctrl+u")
		s.Type("keyring:acme/prod")
		s.Press("tab")
		s.Type("brand-new")
		s.Press("ctrl+s")
		s.Expect("the keyring is locked")
		r.secrets.fails = nil
		s.Press("ctrl+s")
		s.Expect("[›] make one call with the new value")
		s.Press("enter")
		if step, want := provedBy(t, r), "accepted: status 200 in 12 ms; the old value is refused: status 401 in 12 ms"; step.Note != want {
			t.Errorf("recorded %+v", step)
		}
	})
}

func TestWhereNoCallCanBeMadeTheStepIsVouchedFor(t *testing.T) {
	for why, change := range map[string]func(s *kit.Session){
		"names no zone of a proxy":        func(s *kit.Session) { s.Profile.Zones = nil },
		"a key of the inventory":          func(s *kit.Session) { s.Local = true },
		"the service is still starting":   func(s *kit.Session) { s.Ready = false },
		"the contract shows no test page": func(s *kit.Session) { s.Profile.Dialect = "documented" },
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, ownKey())
			session := callable()
			change(&session)
			s := r.start(t, session, 120, 40)
			toProof(s, "R", "enter", "enter", "enter")
			s.Expect("the console cannot make it", why, "vouch for it")
			s.Press("enter")
			s.Expect("[~] make one call with the new value · vouched for")
			if len(r.prover.calls) != 0 {
				t.Errorf("called %q", r.prover.calls)
			}
		})
	}
}
