package keys_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/rotate"
)

func TestARotationIsMeasuredWordByWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := rotating(t, 80, 24)
		s.Press("R")
		s.Expect("Rotation of prod by new key · not begun", "CREATE", "SET", "TEST", "FINISH", "profile acme", "› next")
		if plans, err := r.rotations.List(); err != nil || len(plans) > 0 {
			t.Fatalf("a look wrote %d records, %v", len(plans), err)
		}
		s.Looks("rotation-begun")
		s.Press("enter")
		s.Expect("create · measured", "status 200 in 12ms, accepted", "named prod-2", "enter set")
		s.Press("enter")
		s.Expect("written and read back", "enter test")
		if k, _ := r.inventory.Get("prod"); k.Last4 != "9f91" || k.Secret != "keyring:acme/prod" || k.Expires != ownKey().Expires || k.Rotation != ownKey().Rotation {
			t.Errorf("the inventory has %+v", k)
		}
		s.Press("enter")
		if line := row(s, "profile acme"); !strings.Contains(line, "••••9f91") || !strings.Contains(line, "✓ 200 ") {
			t.Errorf("its row is %q", line)
		}
		s.Press("enter")
		s.Expect("Delete the old key?", "uses the old one stops", "account hl_1, profile acme, https://api.example.com")
		s.Looks("rotation-delete")
		s.Press("n")
		if r.service.valid["old-value-of-prod-1111"] == "" {
			t.Fatal("it was deleted after no")
		}
		s.Press("enter", "y")
		s.Expect("the rotation of prod is done: 6 steps measured, 0 vouched for", "status 401", "✓ 401")
		s.Looks("rotation-done")
		if k, _ := r.inventory.Get("prod"); k.Rotation == ownKey().Rotation || k.Expires == ownKey().Expires || k.Expires.Kind != model.ExpiryDate {
			t.Errorf("the inventory has %+v at the end", k)
		}
		if r.service.valid["old-value-of-prod-1111"] != "" || len(r.service.values) != 1 {
			t.Errorf("valid are %v, kept is %d", r.service.valid, len(r.service.values))
		}
		s.Press("x", "s")
		s.Expect("saved the report as /reports/rotation-")
		for _, text := range r.service.saved {
			if !strings.Contains(text, "# Rotation of prod") || strings.Contains(text, "value") && strings.Contains(text, "9f91-") {
				t.Errorf("the report is %q", text)
			}
		}
		s.Press("esc")
		s.Expect("Keys (1)")
		s.ExpectNot("continue rotation")
	})
}

func TestARehearsalComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := rotating(t, 120, 40)
		s.Press("R", "T")
		s.Expect("rehearsed on the emulator with copies, nothing real was written: 5 steps measured; yours will be: set nightly", "enter create")
		s.Looks("rotation-rehearsed")
		if r.service.made != 0 {
			t.Error("a key was created")
		}
		s.Press("enter", "T")
		s.Expect("the rotation has already begun")
	})
}

func TestAVouchedTickLooksDifferent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, s := rotating(t, 120, 40, "nightly")
		s.Press("R", "enter", "enter")
		s.Expect("! set nightly: the console does not know", "c copies the new value; v vouches for it", "! you")
		s.Looks("rotation-person")
		s.Press("v")
		s.Expect("Vouch for: set nightly", "How do you know")
		s.Looks("rotation-vouch")
		s.Type("its log of noon")
		s.Press("enter")
		s.Expect("[~] set nightly · vouched by the operator, not measured", "its log of noon", "[✓] set keyring:acme/prod · measured")
		s.Looks("rotation-vouched")
		if line := row(s, "nightly"); !strings.Contains(line, "~ 0") {
			t.Errorf("its row is %q", line)
		}
		s.Press("v")
		s.ExpectNot("Vouch for")
		s.Press("enter") // test: the console calls as it does itself, and not as nightly
		s.Expect("! test nightly")
		s.Press("v")
		s.Press("ctrl+s", "enter")
		s.Expect("Delete the old key?", "Not every", "is marked ~ was vouched for")
	})
}

func TestAPersonWorksTheAccountSettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := rotating(t, 120, 40)
		r.service.byHand = true
		s.Press("R", "enter")
		s.Expect("! create: in the account settings, create a key", "enter asks for the value")
		s.Press("enter")
		s.Expect("The new value of prod", "New value")
		s.Press("ctrl+s")
		s.Expect("paste the value or name a reference")
		r.service.valid["made-by-hand-7777"] = "prod-new"
		s.Press("enter")
		s.Type("made-by-hand-7777")
		s.ExpectNot("made-by-hand")
		s.Press("ctrl+s")
		s.Expect("[✓] create · measured", "status 200", "••••7777")
		s.Press("enter", "enter")
		s.Expect("› delete: delete the old key", "Every user above was seen to work with the new one (••••7777). Anything else that uses the old one stops")
		s.Press("enter") // the console looks, and ends nothing: it asks nothing
		s.Expect("! delete: in the account settings, delete the old key of prod (••••1111); it is still accepted", "enter looks again.", "Every user above was seen")
		s.ExpectNot("Delete the old key?", "c copies")
		delete(r.service.valid, "old-value-of-prod-1111")
		s.Press("enter")
		s.Expect("the rotation of prod is done: 6 steps measured, 0 vouched for", "the next call of this console: accepted")
		if line := row(s, "the key itself"); !strings.Contains(line, "✓ 401 ") {
			t.Errorf("the finish is told by another call than the refused one: %q", line)
		}
	})
}

func TestARefreshSaysWhatStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := rotating(t, 120, 40, "nightly")
		s.Press("!")
		s.Expect("Rotation of prod by refresh", "The console writes these within the same second: keyring:acme/prod", "These stop working until you give them the new value: nightly", "enter refresh")
		s.Press("enter")
		s.Expect("Refresh the key?", "old one is invalid at once")
		s.Looks("rotation-refresh")
		s.Press("n")
		if r.service.valid["old-value-of-prod-1111"] == "" {
			t.Fatal("it was refreshed after no")
		}
		s.Press("enter", "y")
		s.Expect("[✓] refresh · measured", "[✓] set keyring:acme/prod · measured", "! set nightly")
		s.Press("X")
		s.Expect("Give up the rotation?")
		s.Press("y")
		s.Expect("was given up", "given up")
	})
}

func TestARotationIsStoppedAndGoneOnWith(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := rotating(t, 120, 40)
		r.service.gate = make(chan struct{})
		s.Press("R", "enter")
		s.Expect("● create: create a key", "esc stop")
		s.Looks("rotation-running")
		s.Press("esc")
		s.Expect("stopped: what was done is in the record", "enter continues from here")
		s.Press("esc")
		s.Expect("continue rotation", "Rotating  0 of 6 steps done, next: create")
		close(r.service.gate)
		s.Press("R", "enter")
		s.Expect("[✓] create · measured")
		if r.service.made != 1 {
			t.Errorf("%d keys were created", r.service.made)
		}
	})
}

func TestAnotherConsoleIsAtWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := rotating(t, 120, 40)
		s.Press("R")
		other, ended := r.service.engine(r), make(chan struct{})
		k, _ := r.inventory.Get("prod")
		plan := noerr.Try(other.Begin(t.Context(), rotate.Subject{Key: k, Method: keystore.RotateByNewKey})).Must(t)
		s.Press("enter")
		s.Expect("it is already being rotated", "not begun")
		s.Press("esc", "ctrl+r", "R")
		s.Expect("0 of 6 steps")
		r.service.gate = make(chan struct{})
		go func() {
			defer close(ended)
			noerr.Want(t, noerr.From(other.Run(t.Context(), plan.ID, keystore.WordCreate, nil)))
		}()
		synctest.Wait()
		s.Press("enter")
		s.Expect("another zonedeck is working on this rotation")
		s.Looks("rotation-elsewhere")
		close(r.service.gate)
		<-ended
		s.Press("enter")
		s.Expect("[✓] create · measured")
		if r.service.made != 1 {
			t.Errorf("%d keys were created", r.service.made)
		}
	})
}

func TestStepsThatHaveNoRoomAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, s := rotating(t, 60, 16, "etl", "nightly", "scraper")
		s.Press("R")
		if !strings.HasSuffix(strings.TrimSpace(strings.Split(s.Screen(), "\n")[14]), " ↓ 3 ╯") {
			t.Errorf("the pane of the steps does not say that there are more:\n%s", s.Screen())
		}
		s.Resize(120, 60)
		s.ExpectNot(" ↓ ")
	})
}
