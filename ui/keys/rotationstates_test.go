package keys_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/service/rehearsal"
	"zonedeck/service/rotate"
	"zonedeck/ui/uitest"
)

// rotationState is a state of the rotation's page, or one of its dialogs: how it comes about, and what it says.
type rotationState struct {
	name  string
	users []string
	comes func(t *testing.T, r *rig, s *uitest.Screen)
	says  []string
}

// given starts a rotation by hand whose new value is given.
func given(r *rig, s *uitest.Screen) {
	r.service.byHand = true
	r.service.valid["made-by-hand-7777"] = "prod-new"
	s.Press("R", "enter", "enter")
	s.Type("made-by-hand-7777")
	s.Press("ctrl+s")
	s.Expect("[✓] create · measured")
}

// change changes the record of the rotation under way, as another console does, and has it read.
func change(t *testing.T, r *rig, s *uitest.Screen, f func(p *keystore.RotationPlan)) {
	t.Helper()
	plans, err := r.rotations.List()
	if err != nil || len(plans) == 0 {
		t.Fatal(plans, err)
	}
	noerr.Must(t, noerr.From(r.rotations.Update(t.Context(), plans[0].ID, func(p keystore.RotationPlan) (keystore.RotationPlan, error) { f(&p); return p, nil })))
	s.Press("esc", "ctrl+r", "R")
}

func rotationStates() []rotationState {
	return []rotationState{
		{"drain", []string{"job-7"}, func(_ *testing.T, _ *rig, s *uitest.Screen) {
			s.Press("R", "enter")
			s.Expect("looked at 00:00:00. enter looks again")
			s.After(5 * time.Second)
			s.Press("enter")
		}, []string{"! drain job-7: it is in flight", "looked at 00:00:05: nothing has changed.", "v vouches for it"}},
		{"drain-vouch", []string{"job-7"}, func(_ *testing.T, _ *rig, s *uitest.Screen) { s.Press("R", "enter", "v") }, []string{"Vouch for: drain job-7"}},
		{"rehearsal-failed", nil, func(_ *testing.T, r *rig, s *uitest.Screen) {
			r.service.noRehearsal = errors.New("the emulator does not answer")
			s.Press("R", "T")
		}, []string{"✗ the rehearsal failed; nothing real", "› next"}},
		{"rotated-already", nil, func(t *testing.T, r *rig, s *uitest.Screen) {
			s.Press("R")
			k, _ := r.inventory.Get("prod")
			noerr.Must(t, noerr.From(r.service.engine(r).Begin(t.Context(), rotate.Subject{Key: k, Method: keystore.RotateByNewKey})))
			s.Press("enter")
		}, []string{"it is already being rotated", "R shows that rotation"}},
		{"stopped", nil, func(_ *testing.T, r *rig, s *uitest.Screen) {
			r.service.gate = make(chan struct{})
			s.Press("R", "enter", "esc")
		}, []string{"! stopped: what was done is in the record", "enter continues from here"}},
		{"value", nil, func(_ *testing.T, r *rig, s *uitest.Screen) {
			r.service.byHand = true
			s.Press("R", "enter")
		}, []string{"! create: in the account settings, create", "enter asks for the value"}},
		{"value-refused", nil, func(_ *testing.T, r *rig, s *uitest.Screen) {
			r.service.byHand = true
			s.Press("R", "enter", "enter")
			s.Type("mistyped-by-hand-6666")
			s.Press("ctrl+s")
		}, []string{"! create: the service does not accept the value", "enter asks for the value"}},
		{"value-again", nil, func(_ *testing.T, r *rig, s *uitest.Screen) {
			r.service.byHand = true
			s.Press("R", "enter", "enter")
			s.Type("mistyped-by-hand-6666")
			s.Press("ctrl+s", "enter")
		}, []string{"The new value of prod", "empty: the held value is tried again"}},
		{"file", []string{"/srv/app/.env"}, func(t *testing.T, r *rig, s *uitest.Screen) {
			file := filepath.Join(t.TempDir(), ".env")
			noerr.Must(t, os.WriteFile(file, []byte("KEY=old-value-of-prod-1111\n"), 0o600))
			r.service.files = map[string]string{"/srv/app/.env": file}
			s.Press("R", "enter", "enter")
		}, []string{"! set /srv/app/.env: put the new value", "c copies the new value"}},
		{"lost", nil, func(t *testing.T, r *rig, s *uitest.Screen) {
			s.Press("R", "enter", "enter")
			noerr.Must(t, r.service.Store(t.Context(), "keyring:acme/prod", keystore.NewSecret("another-value-of-prod-4444")))
			s.Press("enter")
		}, []string{"gives neither the old value nor the new one", "✗ failed"}},
		{"test-failed", nil, func(_ *testing.T, r *rig, s *uitest.Screen) {
			s.Press("R", "enter", "enter")
			delete(r.service.valid, "new-value-1-of-prod-9f91")
			s.Press("enter")
		}, []string{"✗ the call of profile acme: The service rejects the key.", "enter continues from here"}},
		{"test-person", []string{"nightly"}, func(_ *testing.T, _ *rig, s *uitest.Screen) {
			s.Press("R", "enter", "enter", "v", "ctrl+s", "enter")
		}, []string{"! test nightly: the console cannot make its call", "v vouches for it"}},
		{"delete-vouched", []string{"nightly"}, func(_ *testing.T, _ *rig, s *uitest.Screen) {
			s.Press("R", "enter", "enter", "v", "ctrl+s", "enter", "v", "ctrl+s", "enter")
		}, []string{"Delete the old key?", "Not every"}},
		{"delete-by-hand", nil, func(_ *testing.T, r *rig, s *uitest.Screen) {
			given(r, s)
			s.Press("enter", "enter")
		}, []string{"› delete: delete the old key", "Delete it in the account settings", "Every user above was seen"}},
		{"deleting-by-hand", nil, func(_ *testing.T, r *rig, s *uitest.Screen) {
			given(r, s)
			s.Press("enter", "enter", "enter")
		}, []string{"! delete: in the account settings, delete", "enter looks again."}},
		{"in-use", nil, func(_ *testing.T, r *rig, s *uitest.Screen) {
			s.Press("R", "enter", "enter", "enter")
			r.service.mu.Lock()
			r.service.refuse(rehearsal.Request{Point: "api", Key: "prod", Status: http.StatusOK, Time: time.Now(), Method: "POST", URL: "/request", Remote: "192.0.2.7", Header: map[string]string{"User-Agent": "curl/8.5.0"}})
			r.service.mu.Unlock()
			s.Press("enter", "y")
		}, []string{"! delete: prod is still in use: one call", "enter looks again."}},
		{"not-at-hand", nil, func(t *testing.T, r *rig, s *uitest.Screen) {
			given(r, s)
			s.Press("enter", "enter")
			change(t, r, s, func(p *keystore.RotationPlan) { p.OldHeld = "" })
			s.Press("enter")
		}, []string{"then vouch for it: its value is not at", "v vouches for it"}},
		{"still-accepted", nil, func(_ *testing.T, r *rig, s *uitest.Screen) {
			s.Press("R", "enter", "enter", "enter")
			r.service.stays = true
			s.Press("enter", "y")
		}, []string{"✗ the old value is still accepted", "✗ failed", "enter continues from here"}},
		{"watched", nil, func(_ *testing.T, r *rig, s *uitest.Screen) {
			r.service.stranger = true
			s.Press("R", "enter", "enter", "enter", "enter", "y")
		}, []string{"! watch: one call", "from 192.0.2.7 (POST /request, curl/8.5.0)", "v vouches for it"}},
		{"no-use", nil, func(_ *testing.T, _ *rig, s *uitest.Screen) {
			s.Press("R", "enter", "enter", "enter", "enter", "y", "enter")
		}, []string{"✓ no use of the old value was seen since it ended"}},
		{"blind", nil, func(_ *testing.T, r *rig, s *uitest.Screen) {
			s.Press("R", "enter", "enter", "enter", "enter", "y")
			r.service.byHand = true
			s.Press("enter")
		}, []string{"? not looked at: calls of others"}},
		{"report", nil, func(_ *testing.T, _ *rig, s *uitest.Screen) { s.Press("R", "enter", "x") }, []string{"Report", "copy as Markdown"}},
		{"give-up", nil, func(_ *testing.T, _ *rig, s *uitest.Screen) { s.Press("R", "enter", "X") }, []string{"Give up the rotation?"}},
		{"given-up", nil, func(_ *testing.T, _ *rig, s *uitest.Screen) { s.Press("R", "enter", "X", "y") }, []string{"was given up; its record stays", "given up"}},
		{"refresh-by-hand", nil, func(_ *testing.T, r *rig, s *uitest.Screen) {
			r.service.byHand = true
			s.Press("!", "enter")
		}, []string{"! refresh: in the account settings, refresh prod", "enter asks for the value"}},
		{"refresh-set", []string{"nightly"}, func(_ *testing.T, _ *rig, s *uitest.Screen) { s.Press("!", "enter", "y") }, []string{"[✓] refresh · measured", "! set nightly"}},
		{"refresh-done", nil, func(_ *testing.T, _ *rig, s *uitest.Screen) {
			s.Press("!", "enter", "y", "enter", "enter")
		}, []string{"the rotation of prod is done", "no value worked everywhere for"}},
		{"many", []string{"nightly", "weekly", "monthly", "job-7", "backup", "reports"}, func(_ *testing.T, _ *rig, s *uitest.Screen) {
			s.Press("R", "enter", "v", "ctrl+s", "enter", "j", "j", "j")
		}, []string{"! set nightly"}},
	}
}

// TestEachStateOfARotationHasItsScreen has the states of the page that no other test has.
func TestEachStateOfARotationHasItsScreen(t *testing.T) {
	for _, state := range rotationStates() {
		t.Run(state.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, s := rotating(t, 120, 40, state.users...)
				state.comes(t, r, s)
				s.Expect(state.says...)
				s.Looks("rotation-" + state.name)
			})
		})
	}
}

// TestEachStateOfAPasswordsRotationHasItsScreen is the same for a zone's password.
func TestEachStateOfAPasswordsRotationHasItsScreen(t *testing.T) {
	for _, state := range []rotationState{
		{"give-up", nil, func(_ *testing.T, _ *rig, s *uitest.Screen) { s.Press("enter", "X") }, []string{"Give up the rotation?", "removed again"}},
		{"given-up", nil, func(_ *testing.T, _ *rig, s *uitest.Screen) { s.Press("enter", "enter", "X", "y") }, []string{"both passwords stay valid", "given up"}},
		{"untested", nil, func(_ *testing.T, r *rig, s *uitest.Screen) {
			s.Press("enter", "enter")
			r.service.noLogins = true
			s.Press("enter")
		}, []string{"✗ the login of profile acme: the login is not accepted"}},
		{"not-refused", nil, func(_ *testing.T, r *rig, s *uitest.Screen) {
			s.Press("enter", "enter", "enter")
			r.service.thenNone = true
			s.Press("enter", "y")
		}, []string{"✗ the new password was not accepted beside the old one", "enter continues from here"}},
		{"removed-give-up", nil, func(_ *testing.T, r *rig, s *uitest.Screen) {
			s.Press("enter", "enter", "enter")
			r.service.thenNone = true
			s.Press("enter", "y", "X")
		}, []string{"Give up the rotation?", "the old password is removed"}},
	} {
		t.Run(state.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, s := isp(t, 120, 40)
				state.comes(t, r, s)
				s.Expect(state.says...)
				s.Looks("rotation-password-" + state.name)
			})
		})
	}
}

// Where the steps do not fit below the table, tab goes to them and they scroll.
func TestTheStepsOfARotationScroll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, s := rotating(t, 60, 16, "nightly", "weekly")
		s.Press("R", "enter")
		s.Expect("↓ ")
		s.ExpectNot("↑ ")
		s.Press("tab", "G")
		s.Expect("↑ ", "▌Steps of profile acme")
		s.ExpectNot("↓ ")
		s.Press("tab", "j")
		s.Expect("↓ ")
	})
}
