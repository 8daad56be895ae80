package password

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"zonedeck/keystore"
	"zonedeck/model"
)

// numbered gives a rig whose new passwords are told apart.
func numbered(t *testing.T) *rig {
	t.Helper()
	var mu sync.Mutex
	n := 0
	return newRig(t, func(c *Config) {
		c.New = func() string {
			mu.Lock()
			defer mu.Unlock()
			n++
			return fmt.Sprintf("%s-%d", newPassword, n)
		}
	})
}

// heldNow are the references that are not those of zones.
func (r *rig) heldNow() (refs []string) {
	for ref := range r.store {
		if strings.Contains(ref, "renewal") {
			refs = append(refs, ref)
		}
	}
	return refs
}

// A renewal that is killed anywhere goes on to its end, and no password of it stays valid.
func TestARenewalThatIsKilledGoesOn(t *testing.T) {
	for _, step := range []string{"store", "add", "prove", "kept", "keep", "remove", "refused"} {
		r := numbered(t)
		before := r.store["file:isp_demo"].Reveal()
		store := r.cfg.Store
		if step == "kept" { // between the store and the reading back
			r.cfg.Store = func(ctx context.Context, ref string, s keystore.Secret) error {
				if err := store(ctx, ref, s); err != nil || ref != "file:isp_demo" {
					return err
				}
				panic("killed")
			}
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: it was not killed", step)
				}
			}()
			_, _ = New(r.cfg).Renew(t.Context(), r.zone("isp_demo"), "etl-main", func(now model.PasswordRenewal) {
				if now.Steps[len(now.Steps)-1].Name == step {
					panic("killed")
				}
			})
		}()
		r.cfg.Store = store
		if len(r.heldNow()) != 2 {
			t.Errorf("%s: %q are held", step, r.heldNow())
		}
		res, err := r.renew(t, "isp_demo", "etl-main")
		if err != nil || !res.Renewed || !res.OldRefused || !strings.Contains(res.Steps[0].Text, "go on with") || len(r.heldNow()) > 0 {
			t.Errorf("%s: %+v, %v; held %q", step, res, err, r.heldNow())
		}
		after := r.store["file:isp_demo"].Reveal()
		if after != newPassword+"-1" || !r.accepts(t, "isp_demo", after) || r.accepts(t, "isp_demo", before) {
			t.Errorf("%s: the new password is not the only one that counts", step)
		}
	}
}

// What a renewal that was cut short has added is taken back where it cannot go on.
func TestAPasswordOfARenewalThatCannotGoOnIsRemoved(t *testing.T) {
	r := numbered(t)
	func() {
		defer func() { _ = recover() }()
		_, _ = New(r.cfg).Renew(t.Context(), r.zone("isp_demo"), "etl-main", func(now model.PasswordRenewal) {
			if now.Steps[len(now.Steps)-1].Name == "prove" {
				panic("killed")
			}
		})
	}()
	other := keystore.NewSecret("set-by-hand-0123456789")
	hand := renewal{rn: New(r.cfg), z: r.zone("isp_demo"), on: func(model.PasswordRenewal) {}}
	unlock, err := hand.prepare(t.Context(), "etl-main")
	if err != nil {
		t.Fatal(err)
	}
	err = hand.call(t.Context(), hand.d.AddPassword("isp_demo", other.Reveal()))
	unlock()
	if err != nil {
		t.Fatal(err)
	}
	r.store["file:isp_demo"] = other
	res, err := r.renew(t, "isp_demo", "etl-main")
	if err != nil || !res.Renewed || r.calls[0] != "forget true" || r.accepts(t, "isp_demo", newPassword+"-1") || r.accepts(t, "isp_demo", other.Reveal()) {
		t.Errorf("%v, %+v, %v", r.calls, res, err)
	}
	if !r.accepts(t, "isp_demo", newPassword+"-2") || len(r.heldNow()) > 0 {
		t.Errorf("the new password is not the one that counts; held %q", r.heldNow())
	}
}

// Two renewals of a zone do not run at once: each begins with what the one before it kept.
func TestTwoRenewalsOfAZoneRunOneAfterTheOther(t *testing.T) {
	r := numbered(t)
	before := r.store["file:isp_demo"].Reveal()
	running, most := 0, 0
	var mu sync.Mutex
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			first := true
			res, err := New(r.cfg).Renew(t.Context(), r.zone("isp_demo"), "etl-main", func(now model.PasswordRenewal) {
				mu.Lock()
				defer mu.Unlock()
				if first {
					first = false
					running++
					most = max(most, running)
				}
				if now.Steps[len(now.Steps)-1].Name == "refused" {
					running--
				}
			})
			if err != nil || !res.Renewed || !res.OldRefused {
				t.Errorf("%+v, %v", res, err)
			}
		})
	}
	both.Wait()
	after := r.store["file:isp_demo"].Reveal()
	if most != 1 || after != newPassword+"-2" || !r.accepts(t, "isp_demo", after) || r.accepts(t, "isp_demo", newPassword+"-1") || r.accepts(t, "isp_demo", before) {
		t.Errorf("%d ran at once, and %q is kept", most, after)
	}
}

// What something else has written behind the reference meanwhile stays.
func TestAReferenceThatWasGivenAnotherValueMeanwhileStays(t *testing.T) {
	r := newRig(t)
	other := keystore.NewSecret("written-by-another-0123456789")
	prove := r.cfg.Prove
	r.cfg.Prove = func(ctx context.Context, z model.Zone, value keystore.Secret) (model.ProbeResult, error) {
		r.mu.Lock()
		r.store["file:isp_demo"] = other
		r.mu.Unlock()
		return prove(ctx, z, value)
	}
	res, err := r.renew(t, "isp_demo", "etl-main")
	if err == nil || res.Renewed || !slices.Equal(r.calls, []string{"store true", "add true", "prove true", "keep false", "undo true"}) || !strings.Contains(err.Error(), "and it stays") {
		t.Errorf("%v, %+v, %v", r.calls, res, err)
	}
	r.cfg.Prove = prove
	if !r.store["file:isp_demo"].Equal(other) || r.accepts(t, "isp_demo", newPassword) || len(r.heldNow()) > 0 {
		t.Errorf("held %q", r.heldNow())
	}
}

// What cannot be undone stays held, and the next renewal goes on with it.
func TestWhatCannotBeUndoneIsHeld(t *testing.T) {
	r := numbered(t)
	prove, remove := r.cfg.Prove, r.cfg.Remove
	r.cfg.Prove = func(context.Context, model.Zone, keystore.Secret) (model.ProbeResult, error) {
		return model.ProbeResult{}, errors.New("no proxy")
	}
	r.cfg.Remove = func(context.Context, string) error { return errors.New("the disk is gone") }
	if res, err := r.renew(t, "isp_demo", "etl-main"); err == nil || r.calls[len(r.calls)-1] != "undo false" || len(r.heldNow()) != 2 {
		t.Errorf("%+v, %v", res, err)
	}
	r.cfg.Prove, r.cfg.Remove = prove, remove
	if res, err := r.renew(t, "isp_demo", "etl-main"); err != nil || !res.Renewed || r.store["file:isp_demo"].Reveal() != newPassword+"-1" || len(r.heldNow()) > 0 {
		t.Errorf("%+v, %v", res, err)
	}
}
