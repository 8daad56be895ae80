package keys

import (
	"context"
	"errors"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/fetch"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
)

// Prover makes one call with a key's value; *service.Client is one.
type Prover interface {
	ProveKey(ctx context.Context, k model.Key, value keystore.Secret, on func(fetch.Event)) (model.FetchResult, error)
}

// Results of a proof.
type (
	proofMoved struct{ line string }
	proofEnded struct {
		note string // what was measured
		err  error
	}
)

// whyNoProof says why the console cannot make the call that proves a rotation's new value,
// or is empty.
func (m *Model) whyNoProof(p keystore.RotationPlan) string {
	k := m.keyNamed(p.Key)
	_, err := fetch.ProofCall(m.session.Profile)
	switch {
	case m.session.NotReady() != "":
		return m.session.NotReady()
	case m.session.Local && m.list.recorded[p.Key]:
		return "a key of the inventory is not sent to the local emulator"
	case k.Level.Permission(model.CapUse) == model.PermNo:
		return k.Level.String() + " has no proxy and API use, contract 5.3"
	case err != nil:
		return err.Error()
	}
	return ""
}

// proofHint says what enter does at the step that proves the new value.
func (w *wizard) proofHint() string {
	if w.progress != "" {
		return w.progress + " · esc stops it"
	}
	if why := w.m.whyNoProof(w.plan); why != "" {
		return "the console cannot make it (" + why + "): make a call elsewhere, and vouch for it"
	}
	r, _ := fetch.ProofCall(w.m.session.Profile)
	return fmt.Sprintf("enter makes it: %s by API through %s, profile %s, one request", r.URL, r.Zone.Name, w.m.session.ProfileName)
}

// prove makes the call with the new value and, after a refresh, one with the old value, which
// has to be refused.
func (w *wizard) prove() tea.Cmd {
	k := w.m.keyNamed(w.plan.Key)
	k.Name, k.Secret = w.plan.Key, w.plan.NewRef
	plan, old, secrets, prover := w.plan, w.old, w.m.deps.Secrets, w.m.deps.Prover
	w.err, w.progress = nil, "taking the new value from its reference"
	return kit.Stream(kit.Keys, &w.slot, w.m.deps.Ctx, func(ctx context.Context, emit func(tea.Msg)) tea.Msg {
		value, err := secrets.Resolve(ctx, plan.NewRef)
		switch {
		case err != nil:
			return proofEnded{err: err}
		case value.Fingerprint() != plan.NewFingerprint:
			return proofEnded{err: errors.New("the reference gives another value than the one that was stored: u takes the step back")}
		}
		call := func(k model.Key, value keystore.Secret, which string) (model.FetchResult, error) {
			return prover.ProveKey(ctx, k, value, func(e fetch.Event) { emit(proofMoved{"a call with the " + which + " value: " + e.Phase}) })
		}
		res, err := call(k, value, "new")
		switch {
		case err != nil:
			return proofEnded{err: err}
		case !res.Diagnosis.OK():
			return proofEnded{err: errors.New("the call with the new value failed: " + outcome(res))}
		}
		note := "accepted: " + measure(res)
		if plan.Method != keystore.RotateByRefresh {
			return proofEnded{note: note}
		}
		if old.Empty() {
			return proofEnded{note: note + "; the old value was not at hand to see it refused"}
		}
		k.Name += " (old value)"
		res, err = call(k, old, "old")
		switch {
		case err != nil:
			return proofEnded{err: err}
		case res.Diagnosis.OK():
			return proofEnded{err: errors.New("the old value is still accepted: " + measure(res))}
		case res.Diagnosis.Cause != model.CauseKeyRejected:
			return proofEnded{err: errors.New("the call with the old value failed for another reason than the key: " + outcome(res))}
		}
		return proofEnded{note: note + "; the old value is refused: " + measure(res)}
	})
}

// measure is the service's status and how long the call took.
func measure(r model.FetchResult) string {
	return fmt.Sprintf("status %d in %s", r.ServiceStatus, text.Took(r.Timing.Total))
}

// outcome is what a call came to.
func outcome(r model.FetchResult) string {
	return model.ClassWord(r.Diagnosis.Class, r.Diagnosis.Cause) + ", " + r.Diagnosis.Summary
}

// proofEnded ticks the step if the calls showed what they had to.
func (w *wizard) proofEnded(msg proofEnded) tea.Cmd {
	w.progress = ""
	if msg.err != nil {
		if w.err = msg.err; errors.Is(msg.err, context.Canceled) {
			w.err = errors.New("stopped: nothing is proved")
		}
		return nil
	}
	now := w.m.clock(w.plan.Key)
	return w.save(func(p keystore.RotationPlan) (keystore.RotationPlan, error) {
		return p.Tick(keystore.StepProve, keystore.Measured, msg.note, now)
	})
}
