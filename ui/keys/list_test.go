package keys_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/ui/kit"
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

// Keys of the inventory and of the profile come one after the other, whichever is read first.
func TestTheListOpensOnTheWorstKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		early := demoSession()
		early.ProfileKeys, early.Ready = nil, false
		s := newRig(t, ownKey()).start(t, early, 80, 24)
		if row := cursorRow(s); !strings.Contains(row, "prod") {
			t.Fatalf("the cursor is on %q", row)
		}
		s.Send(kit.SessionChanged{Session: demoSession()})
		if row := cursorRow(s); !strings.Contains(row, "✗ expired     gone") {
			t.Errorf("the cursor is on %q", row)
		}
		s.Press("j") // to that of the inventory
		row := cursorRow(s)
		s.Send(kit.SessionChanged{Session: early})
		s.Send(kit.SessionChanged{Session: demoSession()})
		if got := cursorRow(s); got != row {
			t.Errorf("a cursor that was moved is on %q, want %q", got, row)
		}
	})
}

func TestTheFilterHidesRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ownKey())
		s := r.start(t, demoSession(), 120, 40)
		s.Expect("Keys (6) · 4 due")
		s.Press("/")
		s.Type("BATCH") // the name of one, the duty of four
		s.Expect("Keys (4 of 6)", " / BATCH", "4 of 6")
		s.ExpectNot("! expires", "✗ expired  ")
		s.Press("down") // in the list, while letters still go into the filter
		s.Expect("›✗ overdue     prod", "/ BATCH█", "✗ overdue  prod")
		s.Press("enter")
		for term, want := range map[string]string{
			"state:due": "Keys (4 of 6)", "state:exp": "Keys (2 of 6)", "level:admin": "Keys (1 of 6)", "duty:human": "Keys (1 of 6)", "profile:local": "Keys (5 of 6)",
			"user level:user state:due": "Keys (2 of 6)", "q1": "nothing matches: esc shows all keys",
		} {
			s.Press("/", "ctrl+u")
			s.Type(term)
			s.Expect(want)
			s.Press("enter")
			s.Expect("esc shows all")
		}
		s.Press("/", "ctrl+u")
		s.Type("gone")
		s.Expect("Keys (1 of 6)")
		s.Type(" zone:x")
		s.Expect(`unknown term "zone"`, "Keys (0 of 6)")
		s.Press("esc")
		s.ExpectNot("/ gone", "unknown term")
		s.Press("esc")
		s.Expect("Keys (6) · 4 due")
	})
}

func TestTheFilterGoesToTheKeyOfThatName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		user := ownKey()
		user.Name, user.UsedBy, user.Expires = "aa", []string{"batch-user's heir"}, model.ExpiresAt(fakeDay(-1))
		s := newRig(t, user).start(t, demoSession(), 120, 40)
		s.Press("/")
		s.Type("batch-user")
		s.Expect("Keys (2 of 6)")
		if row := cursorRow(s); !strings.Contains(row, "batch-user   USER") {
			t.Errorf("the cursor is on %q", row)
		}
		s.Press("ctrl+u")
		s.Type("heir")
		if row := cursorRow(s); !strings.Contains(row, "✗ expired     aa") {
			t.Errorf("the cursor is on %q", row)
		}
	})
}

func TestAnotherViewsKeyIsShownInSpiteOfTheFilter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newRig(t).start(t, demoSession(), 120, 40)
		s.Press("/")
		s.Type("gone")
		s.Press("enter")
		s.Send(kit.Addressed{View: kit.Keys, Msg: kit.OpenKey{Name: "etl-main"}})
		s.Expect("Keys (5)")
		if row := cursorRow(s); !strings.Contains(row, "etl-main") {
			t.Errorf("the cursor is on %q", row)
		}
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

// Names that do not fit give way to how many there are, and the two clocks keep their cells: nothing is
// cut.
func TestNoCellOfTheListIsCut(t *testing.T) {
	used, long := ownKey(), ownKey()
	used.UsedBy = []string{"the nightly crawler", "CI"}
	long.Name, long.Expires, long.Rotation.Last = "a-name-of-20-letters", model.ExpiresAt(fakeDay(-1200)), fakeDay(-1290)
	for _, c := range []struct {
		width int
		key   model.Key
		want  string
	}{
		{80, used, "│›✗ overdue     prod         USER    2000-01-31 30d    10 d over 2 uses"},
		{120, used, "│›✗ overdue     prod         USER    batch job 2000-01-31 30d    1999-09-23 100d 10 d over the nightly crawler, CI"},
		{80, long, "│›✗ expired     a-name-of-20-letters USER    1996-09-18 1200d ago 1200 d over"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newRig(t, c.key).start(t, demoSession(), c.width, 40)
			s.Press("/")
			s.Type(c.key.Name)
			s.Press("enter")
			if row := strings.TrimRight(cursorRow(s), " │"); row != c.want {
				t.Errorf("at %d:\n%q, want\n%q", c.width, row, c.want)
			}
		})
	}
}

// Another process records a key that comes first: R must not rotate that one in place of the one that was seen.
func TestTheCursorStaysOnTheKeyThatWasSeen(t *testing.T) {
	for name, early := range map[string]bool{"all keys were seen": false, "a key of the console was pressed before": true} {
		synctest.Test(t, func(t *testing.T) {
			r, session := newRig(t, ownKey()), demoSession()
			session.Ready = !early
			s := r.start(t, session, 80, 24)
			row, want := cursorRow(s), "✗ expired     gone"
			if early {
				s.Press("l", "esc")
			}
			k := ownKey()
			k.Name, k.Expires = "aaa-theirs", model.ExpiresAt(fakeDay(-9))
			noerr.Must(t, r.inventory.Add(t.Context(), k))
			s.Send(kit.SessionChanged{Session: session})
			s.Expect("✗ expired     aaa-theirs")
			if got := cursorRow(s); !strings.Contains(row, want) || !strings.Contains(got, want) {
				t.Errorf("%s: the cursor was on %q and is on %q", name, row, got)
			}
		})
	}
}
