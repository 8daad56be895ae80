package profiles_test

import (
	"strings"
	"testing"

	"zonedeck/model"
	"zonedeck/ui/uitest"
)

func TestAKeyThatIsStoredIsNotAskedFor(t *testing.T) {
	r := newRig(t, before+"key = \"etl\"\n", model.Key{Name: "etl", Level: model.LevelUser, Secret: "file:old-etl"})
	flow(t, r, 120, 40, "edit profile old", func(s *uitest.Screen) {
		s.Expect("it is stored: file:old-etl; type to replace it")
		s.ExpectNot("type or paste it, once", "Why ADMIN")
	})
}

// An ADMIN key is for people: why it is the key of a profile is asked for.
func TestWhyAnADMINKeyIsChosenIsAskedFor(t *testing.T) {
	r := newRig(t, before, model.Key{Name: "boss", Level: model.LevelAdmin, Secret: "env:ACME_KEY"})
	r.found = shown()
	r.found.Levels = []model.Level{model.LevelAdmin}
	adding(t, r, 120, 40, func(s *uitest.Screen) {
		s.ExpectNot("Why ADMIN")
		fill(s, "acme", "https://api.test/", typedKey)
		s.Press("ctrl+r")
		s.Expect("Why ADMIN", "why it must be this key; it stands in History")
		s.Press("tab", "tab")
		s.Type("there is no other key")
		s.Press("ctrl+s")
	})
	if r.reason != "there is no other key" {
		t.Errorf("the reason is %q", r.reason)
	}
	flow(t, r, 120, 40, "edit profile acme", func(s *uitest.Screen) { s.ExpectNot("Why ADMIN") })
}

// A key of another account is shown with the address that would get it, and sent after a second yes.
func TestAKeyOfAnotherAccountIsSentAfterAQuestion(t *testing.T) {
	r := newRig(t, before+"key = \"etl\"\n", model.Key{Name: "etl", Level: model.LevelUser, Secret: "env:ACME_KEY"})
	r.found = shown()
	adding(t, r, 120, 40, func(s *uitest.Screen) {
		fill(s, "acme", "https://api.test", "")
		s.Type("etl")
		s.Press("tab")
		s.Expect("! in the inventory already, USER, env:ACME_KEY; the key of profile", "old (https://old.example.com)")
		s.Press("ctrl+r")
		s.Expect("Key etl is that of profile old (https://old.example.com). ctrl+r once more to", "use it at https://api.test.")
		if len(r.asked) > 0 {
			t.Fatal("it was sent")
		}
		s.Press("ctrl+r")
		s.Expect("✓ api.test accepts it")
		if len(r.asked) != 1 {
			t.Errorf("the account was asked %d times", len(r.asked))
		}
		s.Press("ctrl+s")
		s.ExpectNot("Add profile")
	})
}

// enter in the empty field of a stored key, pressed to begin typing, does not lead the paste elsewhere; and a
// paste goes where the focus is seen, or says that it went nowhere.
func TestAPastedKeyGoesIntoNoOtherField(t *testing.T) {
	r := newRig(t, before+"key = \"etl\"\n", model.Key{Name: "etl", Level: model.LevelUser, Secret: "file:old-etl"})
	flow(t, r, 120, 40, "edit profile old", func(s *uitest.Screen) {
		s.Press("tab", "tab", "tab")
		s.Press("enter")
		s.Expect("›API key", "API key is empty: type or paste it, or tab skips it")
		s.Press("shift+tab", "j") // it is not edited
		s.Paste(typedKey)
		s.Press("tab")
		s.Expect("••••f2a1, stored when you save", "›Key name     etl")
		s.Press("tab")
		s.Paste(typedKey)
		s.Expect("›Key level", "Key level takes no pasted text")
		s.ExpectNot(typedKey[:12])
	})
}

// What was copied with its header is not taken for the key.
func TestAKeyWithItsHeaderIsNotTaken(t *testing.T) {
	r := newRig(t, before)
	r.found = shown()
	adding(t, r, 80, 24, func(s *uitest.Screen) {
		fill(s, "acme", "https://api.test", "Authorization: Bearer "+typedKey)
		said := []string{"not the value of a key", "begins with"}
		s.Expect(said...)
		s.Press("ctrl+r")
		s.Expect(said...)
		s.Press("ctrl+s")
		s.Expect(said...)
		s.ExpectNot(typedKey[:12])
		s.Press("ctrl+u")
		s.Paste(typedKey)
		s.Press("tab")
		s.Expect("••••f2a1, stored when you save")
	})
	if r.saves > 0 || len(r.asked) > 0 {
		t.Errorf("%d times saved, asked by %d keys", r.saves, len(r.asked))
	}
}

// A value that was put into the field of the name is not saved.
func TestTheValueIsNotTakenForTheKeysName(t *testing.T) {
	r := newRig(t, before)
	r.found = shown()
	adding(t, r, 120, 40, func(s *uitest.Screen) {
		fill(s, "acme", "https://api.test", typedKey)
		s.Type(typedKey)
		if strings.Contains(s.Screen(), typedKey[:12]) {
			t.Errorf("it is shown while it is typed:\n%s", s.Screen())
		}
		s.Press("ctrl+s")
		s.Expect("its name holds its value")
		if strings.Contains(s.Screen(), typedKey[:12]) {
			t.Errorf("it is shown:\n%s", s.Screen())
		}
	})
	if r.saves > 0 {
		t.Errorf("it was saved: %v", r.inventory.List())
	}
}

// A key that was pasted into another field than its own is shown nowhere, as it was pasted or in an error.
func TestAKeyInAnotherFieldIsMasked(t *testing.T) {
	for name, key := range map[string]string{
		"letters and digits": typedKey,
		"a token":            "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dBjftJeZ4CVPmB92K27uhbUJU1p1r_wW1gFWFOEjXk",
		"base64":             "q83vASNFZ4mrze8BI0Vn/iavN7wEjRWeJ+83v==",
		"a blank behind":     typedKey + " ",
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, before)
			r.found = shown()
			adding(t, r, 120, 40, func(s *uitest.Screen) {
				for range 24 {
					s.Paste(key)
					s.ExpectNot(key[:12])
					s.Press("tab")
					s.ExpectNot(key[:12])
				}
				s.Press("ctrl+s")
				s.ExpectNot(key[:12])
			})
		})
	}
}

// What a field is for is shown.
func TestAPathAndAHostAreNotMasked(t *testing.T) {
	r := newRig(t, before)
	adding(t, r, 120, 40, func(s *uitest.Screen) {
		for _, in := range [][2]string{{"Proxy host", "eu-1.proxy-7.example.com"}, {"CA file", "/etc/ssl/0123456789abcdef0123/ca"}} {
			to(s, in[0])
			s.Type(in[1])
			s.Expect(in[1])
		}
	})
}

type adminRefusedError struct{}

func (adminRefusedError) Error() string { return "key acme has the value of boss, which is ADMIN" }
func (adminRefusedError) AsksWhy()      {}

// Where the value shows what the level does not say, the field for the reason appears with the refusal.
func TestARefusedADMINKeyIsAskedForItsReason(t *testing.T) {
	r := newRig(t, before)
	r.fail = adminRefusedError{}
	adding(t, r, 120, 40, func(s *uitest.Screen) {
		fill(s, "acme", "https://api.test/", typedKey)
		s.ExpectNot("Why ADMIN")
		s.Press("ctrl+s", "ctrl+s")
		s.Expect("key acme has the value of boss, which is ADMIN", "›Why ADMIN")
		s.Type("there is no other key")
		r.fail = nil
		s.Press("ctrl+s")
		s.ExpectNot("Add profile")
	})
	if r.reason != "there is no other key" || r.saves != 2 {
		t.Errorf("the reason is %q, %d saves", r.reason, r.saves)
	}
}
