package profiles_test

import (
	"os"
	"strings"
	"testing"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/ui/uitest"
)

// toZones goes to the field of the zones.
func toZones(t *testing.T, s *uitest.Screen) {
	t.Helper()
	for range 20 {
		if strings.Contains(s.Screen(), "›Zones") {
			return
		}
		s.Press("tab")
	}
	t.Fatalf("the zones are not reached\n%s", s.Screen())
}

func TestATypedPasswordOfAZoneIsMaskedAndStored(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		r := newRig(t, before)
		r.found = shown()
		adding(t, r, size[0], size[1], func(s *uitest.Screen) {
			fill(s, "acme", "https://api.test", typedKey)
			toZones(t, s)
			s.Type("isp1 isp hunter2-typed")
			s.Expect("isp1 isp •••••••••••••")
			s.ExpectNot("hunter2")
			s.Press("enter")
			s.Paste("dc1 datacenter hunter2-pasted\nu1 unlocker env:ACME_KEY")
			s.Expect("dc1 datacenter ••••••••••••••", "u1 unlocker env:ACME_KEY")
			s.ExpectNot("hunter2")
			s.Press("tab")
			s.Expect("isp1 isp file:acme-zone-isp1", "dc1 datacenter file:acme-zone-dc1", "2 typed passwords, stored when you save")
			if _, err := os.Stat(r.dir + "/secrets"); err == nil {
				t.Error("a secret was stored before the account was saved")
			}
			s.Press("ctrl+r")
			s.Expect("2 zones; 2 typed passwords, stored when you save")
			s.Press("ctrl+s")
			s.ExpectNot("Add profile", "hunter2")
		})
		p, err := r.load().Profile("acme")
		if err != nil || len(p.Zones) != 4 {
			t.Fatalf("%+v, %v", p, err)
		}
		for ref, want := range map[string]string{"file:acme-zone-isp1": "hunter2-typed", "file:acme-zone-dc1": "hunter2-pasted"} {
			if got, err := r.secrets.Resolve(t.Context(), ref); err != nil || got.Reveal() != want {
				t.Errorf("%s holds another value: %v", ref, err)
			}
		}
		if _, err := r.secrets.Resolve(t.Context(), "file:acme-zone-u1"); err == nil {
			t.Error("the password that the account showed took the place of the reference that was typed")
		}
		if text, err := os.ReadFile(r.config); err != nil || strings.Contains(string(text), "hunter2") {
			t.Errorf("%v\n%s", err, text)
		}
	}
}

// What is written in the zones' field and is wrong is not repeated where it may be a password.
func TestAWrongLineOfAZoneShowsNoPassword(t *testing.T) {
	for line, want := range map[string]string{
		"isp1 hunter2":          "zone isp1: its second word is not one of",
		"isp1 isp hunter2 pass": "zone isp1: a password has no blanks in it",
		"isp1 isp env:1x":       "not a secret reference: env: needs",
	} {
		adding(t, newRig(t, before), 120, 40, func(s *uitest.Screen) {
			fill(s, "acme", "https://api.test", typedKey)
			toZones(t, s)
			s.Type(line)
			s.ExpectNot("hunter2")
			s.Press("ctrl+s")
			s.Expect("Add profile", want)
			s.ExpectNot("hunter2")
			s.Press("esc")
			s.ExpectNot("hunter2")
		})
	}
}

// References follow the profile's name and the store, whenever these are chosen.
func TestPasswordsGoIntoTheStoreThatIsChosenLast(t *testing.T) {
	r := newRig(t, before)
	r.found, r.noRing = shown(), nil
	adding(t, r, 120, 40, func(s *uitest.Screen) {
		fill(s, "acme", "https://api.test", typedKey)
		toZones(t, s)
		s.Type("isp1 isp hunter2-typed")
		s.Press("tab")
		s.Press("ctrl+r")
		s.Expect("isp1 isp keyring:zonedeck/acme-zone-isp1", "u1 unlocker keyring:zonedeck/acme-zone-u1")
		for range 20 {
			if strings.Contains(s.Screen(), "›Key is in") {
				break
			}
			s.Press("shift+tab")
		}
		s.Press("space")
		s.Expect("(•) age file", "isp1 isp file:acme-zone-isp1", "u1 unlocker file:acme-zone-u1")
		s.Press("ctrl+s")
		s.ExpectNot("Add profile")
	})
	for ref, want := range map[string]string{"file:acme-zone-isp1": "hunter2-typed", "file:acme-zone-u1": "the-password-of-u1"} {
		if got, err := r.secrets.Resolve(t.Context(), ref); err != nil || got.Reveal() != want {
			t.Errorf("%s holds another value: %v", ref, err)
		}
	}
}

func TestANewPasswordTakesThePlaceOfTheOldOne(t *testing.T) {
	r := newRig(t, before+"\n[[profiles.old.zones]]\nname = \"isp1\"\nproduct = \"isp\"\npassword = \"file:old-zone-isp1\"\n", model.Key{Name: "etl", Level: model.LevelUser})
	if err := r.secrets.Store(t.Context(), "file:old-zone-isp1", keystore.NewSecret("the-first-password")); err != nil {
		t.Fatal(err)
	}
	flow(t, r, 120, 40, "edit profile old", func(s *uitest.Screen) {
		toZones(t, s)
		s.Expect("isp1 isp file:old-zone-isp1")
		for range len("file:old-zone-isp1") {
			s.Press("backspace")
		}
		s.Type("hunter2-typed")
		s.Expect("isp1 isp •••••••••••••")
		s.Press("ctrl+s")
		s.Expect("saved old: ")
	})
	if got, err := r.secrets.Resolve(t.Context(), "file:old-zone-isp1"); err != nil || got.Reveal() != "hunter2-typed" {
		t.Errorf("another value: %v", err)
	}
}

// A typed password is held against what the account shows.
func TestATypedPasswordIsJudgedByTheAccount(t *testing.T) {
	for typed, want := range map[string]string{
		"the-password-of-u1": "✓ zone u1: active, and the account has the typed password",
		"the-second-of-u1":   "✓ zone u1: active, and the account has the typed password",
		"a-mistyped-one":     "✗ zone u1: the account does not have the typed password",
	} {
		r := newRig(t, before)
		r.found = shown()
		r.found.Zones[0].Accepted = []keystore.Secret{keystore.NewSecret("the-password-of-u1"), keystore.NewSecret("the-second-of-u1")}
		adding(t, r, 120, 40, func(s *uitest.Screen) {
			fill(s, "acme", "https://api.test", typedKey)
			toZones(t, s)
			s.Type("u1 unlocker " + typed)
			s.Press("tab", "ctrl+r")
			s.Expect(want)
			s.ExpectNot(typed)
		})
	}
}
