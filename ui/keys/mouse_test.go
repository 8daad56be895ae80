package keys_test

import (
	"strings"
	"testing"
	"testing/synctest"

	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit/text"
	"zonedeck/ui/uitest"
)

// clickOn clicks on the first cell that shows a text.
func clickOn(t *testing.T, s *uitest.Screen, words string) {
	t.Helper()
	for y, l := range strings.Split(s.Screen(), "\n") {
		if i := strings.Index(l, words); i >= 0 {
			s.Send(tea.MouseClickMsg{X: text.Width(l[:i]), Y: y, Button: tea.MouseLeft})
			return
		}
	}
	t.Fatalf("%q is not on the screen:\n%s", words, s.Screen())
}

func TestAClickPicksTheKeyAndThePaneUnderIt(t *testing.T) {
	for _, size := range [][2]int{{120, 40}, {80, 24}, {60, 16}} {
		synctest.Test(t, func(t *testing.T) {
			s := newRig(t).start(t, demoSession(), size[0], size[1])
			clickOn(t, s, "ci-fetch")
			if row := cursorRow(s); !strings.Contains(row, "ci-fetch") {
				t.Errorf("the cursor is on %q", row)
			}
			clickOn(t, s, "Rotation  ")
			s.Expect("▌Details")
			clickOn(t, s, "etl-main")
			s.Expect("▌Keys")
			if row := cursorRow(s); !strings.Contains(row, "etl-main") {
				t.Errorf("the cursor is on %q", row)
			}
		})
	}
}
