package keys_test

import (
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/rotate"
	"zonedeck/ui/keys"
	"zonedeck/ui/kit"
)

func TestAnOpenRotationFollowsWhatAnotherProcessRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := rotating(t, 120, 40)
		k, _ := r.inventory.Get("prod")
		noerr.Must(t, noerr.From(r.service.engine(r).Begin(t.Context(), rotate.Subject{Key: k, Method: keystore.RotateByNewKey})))
		s.Send(kit.Addressed{View: kit.Keys, Msg: keys.RotationsChanged{}})
		s.Press("R")
		s.Expect("0 of 6 steps", "enter create")
		plans, err := r.rotations.List()
		if err != nil || len(plans) != 1 {
			t.Fatalf("%v, %v", plans, err)
		}
		noerr.Must(t, noerr.From(r.rotations.Update(t.Context(), plans[0].ID, func(p keystore.RotationPlan) (keystore.RotationPlan, error) {
			p, err := p.RecordNewValue(keystore.NewSecret("a-value-made-elsewhere-4321"), "keyring:acme/prod")
			if err != nil {
				return p, err
			}
			return p.Record(0, keystore.Proof{By: keystore.Measured}, time.Now())
		})))
		s.Send(kit.Addressed{View: kit.Keys, Msg: keys.RotationsChanged{}})
		s.Expect("1 of 6 steps", "••••4321", "enter set")
	})
}

func TestWhatWasReadBeforeARotationWentOnIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := rotating(t, 120, 40)
		r.service.byHand = true
		k, _ := r.inventory.Get("prod")
		noerr.Must(t, noerr.From(r.service.engine(r).Begin(t.Context(), rotate.Subject{Key: k, Method: keystore.RotateByNewKey})))
		s.Send(kit.Addressed{View: kit.Keys, Msg: keys.RotationsChanged{}})
		s.Press("R")
		s.Expect("0 of 6 steps", "enter create")
		read := make(chan struct{})
		hold := func() { <-read }
		r.reading.Store(&hold)
		s.Send(kit.Addressed{View: kit.Keys, Msg: keys.RotationsChanged{}})
		s.Press("enter")
		s.Expect("! create: in the account settings, create a key", "enter asks for the value")
		close(read)
		s.Press("?", "esc")
		s.Expect("! create: in the account settings, create a key", "enter asks for the value")
	})
}

func TestTheListFollowsTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := ownKey()
		k.Rotation.Last, k.Expires = fakeDay(-1), model.ExpiresAt(fakeDay(14).Add(90*time.Second))
		s := newRig(t, k).start(t, demoSession(), 120, 40)
		s.Expect("[1 Keys (3 due)]", "Keys (6) · 3 due", "✓ ok          prod")
		s.After(2 * time.Minute)
		s.Expect("[1 Keys (4 due)]", "Keys (6) · 4 due", "! expires     prod")
	})
}

// begin begins a rotation of a key as another process does.
func begin(t *testing.T, r *rig, name string) {
	t.Helper()
	k, _ := r.inventory.Get(name)
	noerr.Must(t, noerr.From(r.service.engine(r).Begin(t.Context(), rotate.Subject{Key: k, Method: keystore.RotateByNewKey})))
}

func TestARotationThatBeganElsewhereDuringAStepIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := rotating(t, 120, 40)
		other := ownKey()
		other.Name, other.Secret, other.Rotation.Last = "second", "keyring:acme/second", fakeDay(-1)
		noerr.Must(t, r.inventory.Add(t.Context(), other))
		r.service.values["keyring:acme/second"] = "old-value-of-second-2222"
		r.service.gate = make(chan struct{})
		s.Press("R", "enter")
		s.Expect("● create: create a key", "esc stop")
		begin(t, r, "second")
		s.Send(kit.Addressed{View: kit.Keys, Msg: keys.RotationsChanged{}})
		close(r.service.gate)
		s.Press("?", "esc")
		s.Expect("[✓] create · measured")
		s.Press("esc")
		s.Expect("! rotating    second", "Keys (1 due, 2 unfinished)")
	})
}

func TestTheEndOfAScanDoesNotForgetWhatWasBeingRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := ownKey()
		k.UsedBy, k.Rotation.Last = nil, fakeDay(-1)
		r := newRig(t, k)
		find := &uses{go1: make(chan struct{})}
		s := r.startFinding(t, demoSession(), find.find)
		s.Press("b", "s", "ctrl+s")
		s.Expect("1 running")
		begin(t, r, "prod")
		read := make(chan struct{})
		hold := func() { <-read }
		find.reading.Store(&hold)
		s.Send(kit.Addressed{View: kit.Keys, Msg: keys.RotationsChanged{}})
		close(find.go1)
		s.Settle()
		close(read)
		s.Press("?", "esc")
		s.Expect("! rotating", "searched 3 files")
	})
}

func TestReadingTheInventoryAgainDoesNotEndAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ownKey())
		r.writing = make(chan struct{})
		s := r.start(t, kit.Session{ProfileName: "acme", Ready: true}, 120, 40)
		s.Press("X", "y")
		s.Expect("1 running")
		s.Press("ctrl+r")
		s.Expect("1 running")
		close(r.writing)
		s.Press("?", "esc")
		s.Expect("prod is removed from the inventory")
		if _, there := r.inventory.Get("prod"); there {
			t.Error("it is still there")
		}
	})
}
