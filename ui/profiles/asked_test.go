package profiles_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"zonedeck/model"
	service "zonedeck/service/profiles"
	"zonedeck/ui/uitest"
)

func TestARefusedKeyIsSaidBesideIt(t *testing.T) {
	r := newRig(t, "")
	r.found = service.Facts{Key: service.Verdict{State: service.Failed, Text: "api.test refuses it: the service answered 401"}}
	r.refused = fmt.Errorf("%w: refused", service.ErrRead)
	adding(t, r, 120, 40, func(s *uitest.Screen) {
		fill(s, "acme", "https://api.test", typedKey)
		s.Press("ctrl+r")
		s.Expect("✗ api.test refuses it: the service answered 401")
		r.found, r.refused = shown(), nil
		s.Press("shift+tab")
		s.Type("another-key-of-the-account-9c9c")
		s.Press("ctrl+r")
		s.Expect("••••9c9c", "✓ api.test accepts it")
	})
	if r.saves != 0 || len(r.asked) != 2 {
		t.Errorf("%d writes, asked %d times", r.saves, len(r.asked))
	}
}

func TestAnAnswerAboutAnotherKeyIsDropped(t *testing.T) {
	r := newRig(t, "")
	r.found = shown()
	adding(t, r, 120, 40, func(s *uitest.Screen) {
		r.hold = make(chan struct{})
		fill(s, "acme", "https://api.test", typedKey)
		s.Press("ctrl+r")
		s.Expect("the account is being asked")
		s.Press("shift+tab")
		s.Type("another-key-of-the-account-9c9c")
		s.Press("tab")
		s.Expect("••••9c9c")
		close(r.hold)
		s.After(time.Second)
		s.Expect("the form has changed since: ctrl+r asks again")
		s.ExpectNot("accepts it")
		s.ExpectNot("file:acme-zone-u1")
	})
}

// TestAnAnswerGoesWithTheAddressThatGaveIt changes what the account was asked at, by and trusting.
func TestAnAnswerGoesWithTheAddressThatGaveIt(t *testing.T) {
	for name, change := range map[string]func(s *uitest.Screen){
		"address": func(s *uitest.Screen) { s.Press("shift+tab", "shift+tab", "shift+tab"); s.Type("2") },
		"dialect": func(s *uitest.Screen) { s.Press("shift+tab", "shift+tab", "shift+tab", "shift+tab", "space") },
		"key": func(s *uitest.Screen) {
			s.Press("shift+tab")
			s.Type("another-key-of-the-account-9c9c")
			s.Press("tab")
		},
		"CA": func(s *uitest.Screen) {
			for range 7 {
				s.Press("tab")
			}
			s.Type("/etc/ca.pem")
		},
	} {
		r := newRig(t, "")
		r.found = shown()
		adding(t, r, 120, 60, func(s *uitest.Screen) {
			fill(s, "acme", "https://api.test", typedKey)
			s.Press("ctrl+r")
			s.Expect("✓ api.test accepts it", "✓ hl_x1, active", "u1 unlocker file:acme-zone-u1", "brd.superproxy.io", "44445", "✓ by what the key is allowed")
			change(s)
			s.ExpectNot("accepts it")
			s.ExpectNot("hl_x1")
			s.ExpectNot("file:acme-zone-u1")
			s.ExpectNot("superproxy.io:44445")
			s.ExpectNot("44445")
			s.ExpectNot("by what the key is allowed")
			s.Expect("the form has changed since: ctrl+r asks again")
			if t.Failed() {
				t.Fatal(name)
			}
			if name == "address" {
				s.Press("ctrl+r")
				s.Expect("✓ api.test accepts it", "✓ hl_x1, active", "u1 unlocker file:acme-zone-u1", "44445")
			}
		})
	}
}

// What is pressed while the account is asked says what is under way and how it ends; nothing is lost.
func TestAskingCanBeStoppedAndThenSaved(t *testing.T) {
	r := newRig(t, before)
	r.found = shown()
	adding(t, r, 120, 40, func(s *uitest.Screen) {
		r.hold = make(chan struct{})
		fill(s, "acme", "https://api.test", typedKey)
		s.Press("ctrl+r")
		s.Expect("the account is being asked …", "esc stop asking")
		s.Press("ctrl+s")
		s.Expect("ctrl+s save and use: still asking the account: try again when it has answered, or stop asking with esc")
		s.Press("esc")
		s.Expect("Add profile", "the account was not asked everything: ctrl+r asks again", "ctrl+r ask the account", "••••f2a1")
		s.Press("ctrl+r")
		s.Expect("the account is being asked …")
		close(r.hold)
		s.After(time.Second)
		s.Expect("✓ api.test accepts it")
		s.Press("ctrl+s")
		s.ExpectNot("Add profile")
	})
	if r.stopped != 1 || len(r.asked) != 2 || r.saves != 1 {
		t.Errorf("stopped %d times, asked %d times, saved %d times", r.stopped, len(r.asked), r.saves)
	}
}

// The head of the form leads to ctrl+r only where the dialect has a call for it.
func TestTheFormLeadsToAskingOnlyWhereTheDialectCan(t *testing.T) {
	adding(t, newRig(t, before), 120, 40, func(s *uitest.Screen) {
		s.Expect("fill in the rest by hand: the contract shows no", "call that lists an account. Nothing is written")
		s.ExpectNot("ctrl+r")
		s.Press("tab", "space")
		s.Expect("Type the address and the key, then ctrl+r: the rest is asked for", "ctrl+r ask the account")
	})
	r := newRig(t, before)
	flow(t, r, 120, 40, "edit profile old", func(s *uitest.Screen) {
		s.Expect("Only the lines that differ are written.")
		s.ExpectNot("ctrl+r")
	})
}

// The verdict on a proxy is of the address that was tested, and goes with it; a level that the account
// disputes is said, and not saved.
func TestAVerdictIsOfWhatWasTested(t *testing.T) {
	r := newRig(t, "")
	r.found = shown()
	adding(t, r, 120, 60, func(s *uitest.Screen) {
		fill(s, "acme", "https://api.test", typedKey)
		s.Press("ctrl+r")
		s.Expect("✓ brd.superproxy.io:44445 by zone u1")
		for range 30 {
			if strings.Contains(s.Screen(), "›Proxy host") {
				break
			}
			s.Press("tab")
		}
		s.Type("x")
		s.Expect("not tested: ctrl+r tests it")
		s.ExpectNot("by zone u1")
		r.found.Levels = []model.Level{model.LevelAdmin}
		s.Press("ctrl+r")
		s.Expect("✗ the account shows that it is ADMIN")
		s.Press("ctrl+s")
		s.Expect("key acme is called USER, and the account shows that it is ADMIN", "choose ADMIN as its level")
	})
	if r.saves > 0 {
		t.Error("it was saved")
	}
}

// What the account filled in goes as soon as another key is typed, and saving says so first.
func TestAKeyThatReplacesTheAskedOneIsNotSavedUnasked(t *testing.T) {
	r := newRig(t, "")
	r.found = shown()
	adding(t, r, 120, 60, func(s *uitest.Screen) {
		fill(s, "acme", "https://api.test", typedKey)
		s.Press("ctrl+r")
		s.Expect("✓ api.test accepts it", "u1 unlocker file:acme-zone-u1")
		s.Press("shift+tab")
		s.Paste("totally-wrong-key-value-000")
		s.ExpectNot("accepts it")
		s.Press("ctrl+s")
		s.Expect("The key or address has changed since the account was asked", "ctrl+r asks it, ctrl+s once more saves the")
		if r.saves != 0 {
			t.Error("it was saved unasked")
		}
		s.Press("ctrl+r")
		s.Expect("✓ api.test accepts it", "u1 unlocker file:acme-zone-u1")
		s.Press("ctrl+s")
		s.ExpectNot("Add profile")
	})
	if p, err := r.load().Profile("acme"); err != nil || len(p.Zones) != 2 || p.Account != "hl_x1" || r.saves != 1 || len(r.asked) != 2 {
		t.Errorf("%+v, %v, %d writes, asked %d times", p, err, r.saves, len(r.asked))
	}
}

func TestAProxyThatIsPickedIsNotTheTestedOne(t *testing.T) {
	r := newRig(t, "")
	r.found = shown()
	adding(t, r, 120, 60, func(s *uitest.Screen) {
		fill(s, "acme", "https://api.test", typedKey)
		s.Press("ctrl+r")
		s.Expect("✓ brd.superproxy.io:44445 by zone u1")
		to(s, "Proxy preset")
		s.Press("enter", "down", "enter")
		s.Expect("not tested: ctrl+r tests it")
		s.ExpectNot("by zone u1")
	})
}

// Where more than one level is left, the others are refused all the same; a level that is chosen is
// judged as it is chosen.
func TestALevelIsOneOfThoseThatTheAccountLeaves(t *testing.T) {
	r := newRig(t, "")
	r.found = shown()
	r.found.Levels = []model.Level{model.LevelOps, model.LevelLimit}
	adding(t, r, 120, 60, func(s *uitest.Screen) {
		fill(s, "acme", "https://api.test", typedKey)
		s.Press("ctrl+r")
		s.Expect("(•) unknown")
		to(s, "Key level")
		s.Press("space")
		s.Expect("(•) ADMIN", "✗ the account shows that it is OPS or LIMIT: choose that")
		s.Press("ctrl+s")
		s.Expect("key acme is called ADMIN, and the account shows that it is OPS or LIMIT", "choose OPS or LIMIT as its level")
		s.Press("space", "space")
		s.Expect("(•) OPS", "? the account shows that it is OPS or LIMIT, but not which of them")
		s.Press("ctrl+s")
		s.ExpectNot("Add profile")
	})
	if k, _ := r.inventory.Get("acme"); k.Level != model.LevelOps || r.saves != 1 {
		t.Errorf("%+v, %d writes", k, r.saves)
	}
}

func TestTheVerdictOnALevelGoesWithIt(t *testing.T) {
	r := newRig(t, "")
	r.found = shown()
	adding(t, r, 120, 60, func(s *uitest.Screen) {
		fill(s, "acme", "https://api.test", typedKey)
		s.Press("ctrl+r")
		s.Expect("(•) USER", "✓ by what the key is allowed to do")
		to(s, "Key level")
		s.Press("space")
		s.Expect("(•) unknown")
		s.ExpectNot("allowed to do")
		s.Press("space")
		s.Expect("✗ the account shows that it is USER")
	})
}

// A profile whose key was refused, or that nobody asked about, is saved after that was said, with what it means for
// the next start; of one that the service accepts nothing is said.
func TestAProfileThatIsNotAcceptedIsSavedOnlyAfterThatWasSaid(t *testing.T) {
	r := newRig(t, "")
	adding(t, r, 80, 24, func(s *uitest.Screen) {
		fill(s, "acme", "https://api.test", typedKey)
		s.Press("ctrl+s")
		s.Expect("✗ Nobody has asked the account whether it accepts this key. ctrl+r asks it,", "ctrl+s once more saves", "zonedeck starts with it from then on")
		r.found = service.Facts{Key: service.Verdict{State: service.Failed, Text: "api.test refuses it: the service answered 401"}}
		r.refused = fmt.Errorf("%w: %s", service.ErrRead, r.found.Key.Text)
		s.Press("ctrl+r", "ctrl+s")
		s.Expect("✗ The account could not be read: api.test refuses it", "ctrl+s once more saves")
		s.Press("ctrl+s")
		s.ExpectNot("Add profile")
	})
	if r.saves != 1 || len(r.switched) != 1 {
		t.Errorf("%d writes, switched to %v", r.saves, r.switched)
	}
}

// A profile that is edited is not asked about while its key and its address stay.
func TestAnEditedProfileIsAskedAboutOnlyWithAnotherKeyOrAddress(t *testing.T) {
	r := newRig(t, before+"key = \"etl\"\ndialect = \"brightdata\"\n", model.Key{Name: "etl", Level: model.LevelUser, Secret: "env:ACME_KEY"})
	flow(t, r, 120, 40, "edit profile old", func(s *uitest.Screen) {
		to(s, "Base URL")
		s.Type("/v2")
		s.Press("ctrl+s")
		s.Expect("Edit profile old", "Nobody has asked the account whether it accepts this key")
		for range 3 {
			s.Press("backspace")
		}
		to(s, "Domains")
		s.Type("shop.example.com")
		s.Press("ctrl+s")
		s.ExpectNot("Edit profile old")
	})
}

// The address of the console's own emulator is another one at the next start.
func TestTheConsolesOwnEmulatorIsNotSaved(t *testing.T) {
	r := newRig(t, "")
	r.inUse.SetProfile(model.Profile{Name: model.LocalName, Local: true, BaseURL: "http://127.0.0.1:41000"})
	adding(t, r, 120, 40, func(s *uitest.Screen) {
		fill(s, "acme", "http://localhost:41000", typedKey)
		s.Press("ctrl+s")
		s.Expect("this is the console's own emulator", "use the profile local", "zonedeck emulate --api 127.0.0.1:8099")
	})
	if r.saves > 0 {
		t.Error("it was saved")
	}
}

// enter goes on from a key that is held, and a letter that was pressed there does not replace it.
func TestAPastedKeyStaysUntilTheFormIsDiscarded(t *testing.T) {
	r := newRig(t, "")
	r.found = shown()
	adding(t, r, 120, 60, func(s *uitest.Screen) {
		r.hold = make(chan struct{})
		fill(s, "acme", "https://api.test", typedKey)
		s.Press("ctrl+r", "shift+tab", "tab", "esc", "shift+tab", "enter")
		s.Expect("›Key name", "••••f2a1, stored when you save")
		close(r.hold)
		s.Press("ctrl+r")
		s.Expect("✓ api.test accepts it")
		s.Press("shift+tab")
		s.Type("q")
		s.Press("tab")
		s.Expect("too short to replace ••••f2a1, which stays", "✓ api.test accepts it")
		s.Press("ctrl+s")
		s.Expect("Add profile")
		s.Press("backspace", "ctrl+s")
		s.ExpectNot("Add profile")
	})
	if value, err := r.secrets.Resolve(t.Context(), "file:acme-key"); err != nil || value.Reveal() != typedKey {
		t.Errorf("the stored key is %v, %v", value, err)
	}
}
