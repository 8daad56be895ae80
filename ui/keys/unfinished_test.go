package keys_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"zonedeck/model"
	"zonedeck/ui/kit"
)

// TestAHalfDoneRotationDoesNotLookHealthy leaves a rotation in its middle, and then gives it up. The old
// value lives, and is as due as it was.
func TestAHalfDoneRotationDoesNotLookHealthy(t *testing.T) {
	for _, due := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			k, rotating, givenUp := ownKey(), "✗ overdue", "✗ overdue"
			k.UsedBy = nil
			if !due {
				k.Rotation.Last, k.Expires = fakeDay(-1), model.ExpiresAt(fakeDay(60))
				rotating, givenUp = "! rotating", "! given up"
			}
			s := newRig(t, k).start(t, kit.Session{ProfileName: "acme", Ready: true}, 120, 40)
			counted := func() {
				t.Helper()
				if strings.Contains(s.Screen(), "Keys (1) · 1 due") != due {
					t.Errorf("due %v:\n%s", due, s.Screen())
				}
			}
			s.Press("R", "enter", "enter")
			s.Expect("[✓] set keyring:acme/prod")
			s.Press("esc", "l")
			s.Expect("Rotating  2 of 6 steps done, next: test", "(••••1111)", "it is being rotated: rotating 2 of 6")
			if line := row(s, rotating); !strings.Contains(line, "prod") {
				t.Errorf("its row is %q", line)
			}
			counted()
			if due {
				s.Looks("list-rotating")
			}
			s.Press("R", "X", "y", "esc")
			s.Expect("Rotation  given up, two values valid", "its last rotation was given up", "••••1111", "••••9f91")
			if line := row(s, givenUp); !strings.Contains(line, "prod") {
				t.Errorf("its row is %q", line)
			}
			counted()
			if !due {
				s.Looks("list-given-up")
			}
		})
	}
}

// TestAValueOfAnotherLevelStops gives a key of another level than the old one's.
func TestAValueOfAnotherLevelStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := rotating(t, 120, 40)
		r.service.byHand, r.service.levels = true, []model.Level{model.LevelOps}
		r.service.valid["made-by-hand-7777"] = "prod-new"
		s.Press("R", "enter", "enter")
		s.Type("made-by-hand-7777")
		s.Press("ctrl+s")
		s.Expect("! create: the new value (••••7777) is accepted", "enter asks for the value; v vouches for it", "! you")
		s.Looks("rotation-level")
		s.Press("v")
		s.Type("meant so")
		s.Press("ctrl+s")
		s.Expect("[~] create · vouched by the operator, not measured", "meant so")
		if !strings.Contains(s.Screen(), "›") {
			t.Error("it does not say what comes next")
		}
	})
}
