package keys_test

import (
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/ui/keys"
	"zonedeck/ui/kit"
)

func TestAnOpenRotationFollowsWhatAnotherProcessRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := rotating(t, 120, 40)
		k, _ := r.inventory.Get("prod")
		if _, err := r.service.engine(r).Begin(t.Context(), k, "", keystore.RotateByNewKey); err != nil {
			t.Fatal(err)
		}
		s.Send(kit.Addressed{View: kit.Keys, Msg: keys.RotationsChanged{}})
		s.Press("R")
		s.Expect("0 of 6 steps", "enter create")
		plans, err := r.rotations.List()
		if err != nil || len(plans) != 1 {
			t.Fatalf("%v, %v", plans, err)
		}
		if _, err := r.rotations.Update(t.Context(), plans[0].ID, func(p keystore.RotationPlan) (keystore.RotationPlan, error) {
			p, err := p.Made(keystore.NewSecret("a-value-made-elsewhere-4321"), "keyring:acme/prod")
			if err != nil {
				return p, err
			}
			return p.Record(0, keystore.Proof{By: keystore.Measured}, time.Now())
		}); err != nil {
			t.Fatal(err)
		}
		s.Send(kit.Addressed{View: kit.Keys, Msg: keys.RotationsChanged{}})
		s.Expect("1 of 6 steps", "••••4321", "enter set")
	})
}

func TestWhatWasReadBeforeARotationWentOnIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := rotating(t, 120, 40)
		r.service.byHand = true
		k, _ := r.inventory.Get("prod")
		if _, err := r.service.engine(r).Begin(t.Context(), k, "", keystore.RotateByNewKey); err != nil {
			t.Fatal(err)
		}
		s.Send(kit.Addressed{View: kit.Keys, Msg: keys.RotationsChanged{}})
		s.Press("R")
		s.Expect("0 of 6 steps", "enter create")
		read := make(chan struct{})
		hold := func() { <-read }
		r.reading.Store(&hold)
		s.Send(kit.Addressed{View: kit.Keys, Msg: keys.RotationsChanged{}})
		s.Press("enter")
		s.Expect("! create: in the account settings, create a key", "enter takes the value")
		close(read)
		s.Press("?", "esc")
		s.Expect("! create: in the account settings, create a key", "enter takes the value")
	})
}

func TestTheListFollowsTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := ownKey()
		k.Rotation.Last, k.Expires = fakeDay(-1), model.ExpiresAt(fakeDay(14).Add(90*time.Second))
		s := newRig(t, k).start(t, demoSession(), 120, 40)
		s.Expect("[1 Keys (3)]", "Keys (6) · 3 due", "✓ ok          prod")
		s.After(2 * time.Minute)
		s.Expect("[1 Keys (4)]", "Keys (6) · 4 due", "! expires     prod")
	})
}
