package account_test

import (
	"fmt"
	"testing"
	"time"

	accounts "zonedeck/service/account"
	"zonedeck/ui/uitest"
)

func TestARefusedKeyIsSaidBesideIt(t *testing.T) {
	r := newRig(t, "")
	r.found = accounts.Found{Key: accounts.Verdict{State: accounts.Failed, Text: "api.test refuses it: the service answered 401"}}
	r.refused = fmt.Errorf("%w: refused", accounts.ErrRead)
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
		s.Expect("what was asked has changed since: ctrl+r asks again")
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
			s.Expect("✓ api.test accepts it", "✓ hl_x1, active", "u1 unlocker file:acme-zone-u1", "brd.superproxy.io", "44445", "✓ by what the key is seen")
			change(s)
			s.ExpectNot("accepts it")
			s.ExpectNot("hl_x1")
			s.ExpectNot("file:acme-zone-u1")
			s.ExpectNot("superproxy.io:44445")
			s.ExpectNot("44445")
			s.ExpectNot("by what the key is seen")
			s.Expect("what was asked has changed since: ctrl+r asks again")
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
