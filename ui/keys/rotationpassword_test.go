package keys_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/keystore"
	"zonedeck/service/exchange"
	"zonedeck/service/password"
	"zonedeck/service/rehearsal"
	"zonedeck/ui/kit"
	"zonedeck/ui/uitest"
)

// fakePasswords works the zones of the service in memory: a password is valid for its zone.
type fakePasswords struct{ f *fakeService }

func (w fakePasswords) Check(context.Context, keystore.RotationPlan) error { return nil }

func (w fakePasswords) Users(_ context.Context, p keystore.RotationPlan) ([]keystore.RotationUser, error) {
	return []keystore.RotationUser{{Name: "profile acme", Ref: p.Ref, Profile: "acme", Zone: p.Zone}}, nil
}

func (fakePasswords) Make() keystore.Secret { return keystore.NewSecret("new-password-of-isp-3333") }

func (w fakePasswords) Add(_ context.Context, p keystore.RotationPlan, value keystore.Secret) error {
	w.f.mu.Lock()
	defer w.f.mu.Unlock()
	w.f.valid[value.Reveal()] = "zone " + p.Zone
	return nil
}

func (w fakePasswords) Remove(_ context.Context, _ keystore.RotationPlan, value keystore.Secret) error {
	w.f.mu.Lock()
	defer w.f.mu.Unlock()
	delete(w.f.valid, value.Reveal())
	w.f.noLogins = w.f.noLogins || w.f.thenNone
	return nil
}

func (w fakePasswords) Login(_ context.Context, p keystore.RotationPlan, _ keystore.RotationUser, l exchange.LoginProof) (keystore.Proof, error) {
	w.f.mu.Lock()
	defer w.f.mu.Unlock()
	if w.f.noLogins || l.Refusal == (w.f.valid[l.Password.Reveal()] == "zone "+p.Zone) {
		return keystore.Proof{}, password.ErrNotAccepted
	}
	if l.Refusal {
		w.f.refuse(rehearsal.Request{User: "brd-customer-hl_1-zone-" + p.Zone, Status: http.StatusProxyAuthRequired})
		return keystore.Proof{Status: http.StatusProxyAuthRequired, Duration: time.Millisecond}, nil
	}
	return keystore.Proof{Status: http.StatusOK, Duration: 12 * time.Millisecond, Note: "the login was accepted"}, nil
}

func (w fakePasswords) Leads(context.Context, string, keystore.Secret) error { return nil }

// isp starts the tab with a zone's password, which is looked at.
func isp(t *testing.T, w, h int) (*rig, *uitest.Screen) {
	r, s := rotating(t, w, h)
	r.service.valid["old-password-of-isp-2222"], r.service.values["keyring:acme/isp"] = "zone isp", "old-password-of-isp-2222"
	s.Send(kit.Goto{View: kit.Keys, Msg: kit.RotatePassword{Zone: "isp", Key: "prod"}})
	s.Expect("Rotation of the password of zone isp · not begun", "USES THE PASSWORD", "the password itself", "profile acme")
	return r, s
}

func TestAPasswordIsRotatedWordByWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := isp(t, 80, 24)
		if plans, err := r.rotations.List(); err != nil || len(plans) > 0 {
			t.Fatalf("a look wrote %d records, %v", len(plans), err)
		}
		s.Looks("rotation-password-looked")
		s.Press("enter", "enter", "enter")
		if v := r.service.values["keyring:acme/isp"]; v == "old-password-of-isp-2222" || r.service.valid[v] != "zone isp" || r.service.valid["old-password-of-isp-2222"] == "" {
			t.Error("the two are not valid beside each other")
		}
		s.Press("enter")
		s.Expect("Remove the old password?", "account hl_1, profile acme, https://api.example.com", "A login with the old")
		s.Looks("rotation-password-remove")
		s.Press("y")
		s.Expect("the rotation of the password of zone isp is done: 6 steps measured", "✓ 407")
		s.Looks("rotation-password-done")
		if r.service.valid["old-password-of-isp-2222"] != "" || len(r.service.values) != 2 {
			t.Errorf("kept are %d values", len(r.service.values))
		}
	})
}

func TestAPasswordThatIsNotAcceptedIsTakenBackOnThePage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := isp(t, 120, 40)
		r.service.noLogins = true
		s.Press("enter")
		s.Expect("the login is not accepted; the new password was taken back, and the old one stays", "· taken back")
		r.service.noLogins = false
		s.Looks("rotation-password-undone")
		if len(r.service.valid) != 2 || len(r.service.values) != 2 {
			t.Errorf("valid %d, kept %d", len(r.service.valid), len(r.service.values))
		}
		s.Press("esc")
		s.Send(kit.Goto{View: kit.Keys, Msg: kit.RotatePassword{Zone: "isp", Key: "prod"}})
		s.Expect("not begun")
	})
}
