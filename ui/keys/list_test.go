package keys_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"zonedeck/model"
	"zonedeck/ui/uitest"
)

// cursorRow is the row under the cursor of the list.
func cursorRow(s *uitest.Screen) string {
	for _, l := range strings.Split(s.Screen(), "\n") {
		if strings.HasPrefix(l, "│›") {
			return l
		}
	}
	return ""
}

func TestSearchGoesFromKeyToKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newRig(t).start(t, demoSession(), 120, 40)
		s.Press("/")
		s.Type("BATCH") // the name of one, the duty of three
		s.Expect("/ BATCH", "1 of 3")
		s.Press("enter", "n", "n")
		if row := cursorRow(s); !strings.Contains(row, "batch-user") {
			t.Errorf("the third match is %q", row)
		}
		s.Press("n")
		if row := cursorRow(s); !strings.Contains(row, "etl-main") {
			t.Errorf("after the last match comes %q, want the first", row)
		}
		s.Press("esc")
		s.ExpectNot("/ BATCH")
		s.Press("/")
		s.Type("q1") // typed, not commands
		s.Expect("nothing matches")
	})
}

// The session still has a key that was just forgotten: until the next one comes
// the cursor must not stand on another key than afterwards.
func TestAfterForgettingAKeyTheCursorStaysOnItsNeighbour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := ownKey(), ownKey()
		a.Name, b.Name = "aa-prod", "bb-prod"
		r := newRig(t, a, b)
		session := demoSession()
		session.Keys = append([]model.Key{a, b}, session.Keys...)
		s := r.start(t, session, 120, 40)
		s.Press("/")
		s.Type("aa-prod")
		s.Press("enter", "esc")
		if !strings.Contains(cursorRow(s), "aa-prod") {
			t.Fatalf("the cursor is on %q", cursorRow(s))
		}
		s.Press("X", "y")
		s.Expect("aa-prod is removed from the inventory")
		if row := cursorRow(s); !strings.Contains(row, "bb-prod") {
			t.Errorf("the cursor is on %q, want bb-prod", row)
		}
		if strings.Count(s.Screen(), "aa-prod ") > 1 { // the toast
			t.Errorf("the forgotten key is still there:\n%s", s.Screen())
		}
	})
}

func TestANameIsNotCutWhereAnotherColumnCanGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := ownKey()
		k.Name = "finance-review-2027"
		s := newRig(t, k).start(t, demoSession(), 80, 24)
		s.Expect("finance-review-2027 ")
	})
}
