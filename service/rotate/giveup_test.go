package rotate_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/service/password"
	"zonedeck/service/rotate"
)

// counted are passwords of zones whose changes are counted.
type counted struct {
	rotate.Passwords
	changes *int
}

func (c counted) Add(ctx context.Context, r keystore.RotationPlan, value keystore.Secret) error {
	*c.changes++
	return c.Passwords.Add(ctx, r, value)
}

func (c counted) Remove(ctx context.Context, r keystore.RotationPlan, value keystore.Secret) error {
	*c.changes++
	return c.Passwords.Remove(ctx, r, value)
}

// wantHeld checks that the rotation still holds both values.
func (p place) wantHeld(t *testing.T, plan keystore.RotationPlan) {
	t.Helper()
	before, after := plan.References()
	for _, held := range []string{before, after} {
		if _, err := p.secrets().Resolve(t.Context(), held); err != nil {
			t.Errorf("%s is gone: %v", held, err)
		}
	}
}

// wantTakenBack checks a rotation that was taken back: the references give the old password alone,
// which is accepted, the new one is refused, and nothing is held.
func (p place) wantTakenBack(t *testing.T, plan keystore.RotationPlan, fresh keystore.Secret) {
	t.Helper()
	if !plan.Over() || !plan.Abandoned || !plan.Undone {
		t.Fatalf("it is not taken back: %+v", plan)
	}
	for _, u := range p.Users {
		if got, err := p.secrets().Resolve(t.Context(), u.Ref); err != nil || got.Reveal() != p.old() {
			t.Errorf("%s does not give the old password: %v", u.Ref, err)
		}
	}
	p.logsIn(t, p.old(), true)
	p.logsIn(t, fresh.Reveal(), false)
	p.wantNothingHeld(t, plan)
}

// created is a rotation of the place's password whose new one is added, and that password.
func (p place) created(t *testing.T) (keystore.RotationPlan, keystore.Secret) {
	t.Helper()
	e, plan := p.beginPassword(t, p.config())
	plan = noerr.Try(e.Run(t.Context(), plan.ID, keystore.WordCreate, nil)).Must(t)
	fresh := noerr.Try(p.secrets().Resolve(t.Context(), plan.NewHeld)).Must(t)
	return plan, fresh
}

// A rotation that is refused is neither continued nor given up: nothing is sent, and the held values stay.
func TestARefusedRotationIsLeftAsItIs(t *testing.T) {
	p := newPlace(t, start(t), "forbidden").withPassword(t)
	plan, fresh := p.created(t)
	forbidden, changes := errors.New("read-only"), 0
	c := p.config()
	c.Passwords = counted{c.Passwords, &changes}
	c.Refuse = func(keystore.RotationPlan) error { return forbidden }
	e := c.engine()
	_, abandoned := e.Abandon(t.Context(), plan.ID)
	_, ran := e.Run(t.Context(), plan.ID, "", nil)
	if !errors.Is(abandoned, forbidden) || !errors.Is(ran, forbidden) || changes > 0 {
		t.Errorf("given up: %v, gone on: %v, %d changes", abandoned, ran, changes)
	}
	p.wantHeld(t, plan)
	p.logsIn(t, fresh.Reveal(), true)
	if plan, err := p.config().engine().Abandon(t.Context(), plan.ID); err != nil {
		t.Error(err)
	} else {
		p.wantTakenBack(t, plan, fresh)
	}
}

// A rotation whose held values are lost can still be ended, and the text says no more than is known.
func TestARotationWithoutItsHeldValuesIsGivenUp(t *testing.T) {
	for _, lost := range []string{"old", "new"} {
		p := newPlace(t, start(t), "lost-"+lost).withPassword(t)
		plan, _ := p.created(t)
		held := plan.OldHeld
		if lost == "new" {
			held = plan.NewHeld
		}
		noerr.Must(t, p.secrets().Remove(t.Context(), held))
		plan, err := p.config().engine().Abandon(t.Context(), plan.ID)
		if err != nil || !plan.Over() || plan.Undone {
			t.Fatalf("without the %s one: %v, %+v", lost, err, plan)
		}
		if left := rotate.Leftovers(plan); !strings.HasPrefix(left, "the new password could not be taken back") {
			t.Error(left)
		}
		p.logsIn(t, p.old(), true)
	}
}

// If a rotation is given up after the removal began, the old password is not called valid.
func TestGivingUpAfterTheOldPasswordIsRemoved(t *testing.T) {
	for _, c := range []struct {
		want string
		plan keystore.RotationPlan
	}{
		{"both passwords stay valid", keystore.RotationPlan{Steps: []keystore.RotationStep{{Kind: keystore.StepSet, Done: true}}}},
		{"the old password may be removed already", keystore.RotationPlan{DeletedSeq: 1, Steps: []keystore.RotationStep{{Kind: keystore.StepSet, Done: true}, {Kind: keystore.StepDelete}}}},
		{"the old password is removed", keystore.RotationPlan{DeletedSeq: 1, Steps: []keystore.RotationStep{{Kind: keystore.StepSet, Done: true}, {Kind: keystore.StepDelete, Done: true}}}},
		{"the new password was taken back, and the old one stays", keystore.RotationPlan{Undone: true}},
	} {
		c.plan.Zone = "isp_demo"
		if left := rotate.Leftovers(c.plan); !strings.HasPrefix(left, c.want) {
			t.Errorf("%q, want %q", left, c.want)
		}
	}
}

// Days may pass between the test and the removal: the old password stays while the new one cannot log in.
func TestTheLastWorkingPasswordIsNotRemoved(t *testing.T) {
	t.Parallel() // it waits for the proxy as long as a rotation does
	p := newPlace(t, start(t), "lastone").withPassword(t)
	e, plan := p.beginPassword(t, p.config())
	plan = noerr.Try(e.Run(t.Context(), plan.ID, keystore.WordTest, nil)).Must(t)
	fresh, err := p.secrets().Resolve(t.Context(), plan.NewHeld)
	noerr.Must(t, err)
	if err := p.config().Passwords.Remove(t.Context(), plan, fresh); err != nil { // by somebody
		t.Fatal(err)
	}
	changes := 0
	c := p.config()
	c.Passwords = counted{c.Passwords, &changes}
	plan, err = c.engine().Run(t.Context(), plan.ID, "", nil)
	if !errors.Is(err, password.ErrNotAccepted) || changes > 0 || plan.Over() {
		t.Errorf("%v, %d changes", err, changes)
	}
	p.logsIn(t, p.old(), true)
	noerr.Must(t, p.config().Passwords.Add(t.Context(), plan, fresh))
	plan = noerr.Try(p.config().engine().Run(t.Context(), plan.ID, "", nil)).Must(t)
	p.wantPasswordDone(t, plan)
}
