package keys_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"zonedeck/model"
)

// TestTheFinishOfARefreshByHandIsTheRefusal has no journal to watch: the watch makes a call that works.
func TestTheFinishOfARefreshByHandIsTheRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := rotating(t, 120, 40)
		r.service.byHand = true
		s.Press("!")
		s.Expect("everything that uses it")
		s.Press("enter") // the console refreshes nothing: it asks nothing
		s.Expect("! refresh: in the account settings, refresh prod")
		s.ExpectNot("Refresh the key?")
		s.Press("esc", "R", "enter") // left, and come back to: it is said again, and not asked
		s.Expect("! refresh: in the account settings, refresh prod")
		s.ExpectNot("Refresh the key?")
		delete(r.service.valid, "old-value-of-prod-1111")
		r.service.valid["made-by-hand-7777"] = "prod"
		s.Press("enter")
		s.Type("made-by-hand-7777")
		s.Press("ctrl+s")
		s.Expect("[✓] set keyring:acme/prod · measured")
		s.Press("enter", "enter")
		s.Expect("the rotation of prod is done", "status 401", "the next call of this console: accepted")
		if line := row(s, "the key itself"); !strings.Contains(line, "✓ 401 ") {
			t.Errorf("its row is %q", line)
		}
	})
}

func TestAValueThatWasRefusedIsGivenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := rotating(t, 120, 40)
		r.service.byHand = true
		r.service.valid["made-by-hand-7777"] = "prod-new"
		s.Press("R", "enter", "enter")
		s.Type("mistyped-by-hand-6666")
		s.Press("ctrl+s")
		s.Expect("! create: the service does not accept the value that was given (••••6666)", "takes the place of that one", "enter asks for the value", "give the value")
		if !strings.Contains(row(s, "the key itself"), "••••1111") {
			t.Errorf("the key gives another value than the old one:\n%s", row(s, "the key itself"))
		}
		s.Press("enter")
		s.Expect("The new value of prod", "empty: the held value is tried again")
		s.Press("ctrl+s") // as it is
		s.Expect("! create: the service does not accept the value that was given (••••6666)")
		s.ExpectNot("The new value of prod")
		s.Press("enter")
		s.Type("made-by-hand-7777")
		s.Press("ctrl+s")
		s.Expect("[✓] create · measured", "status 200", "••••7777")
		for _, name := range r.service.called {
			if name != model.NewValueOf("prod") {
				t.Errorf("the value was tried as that of %q", name)
			}
		}
	})
}
