package proxy_test

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
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

func TestAClickPicksTheFieldOrThePaneUnderIt(t *testing.T) {
	for _, size := range [][2]int{{120, 40}, {80, 24}} {
		flow(t, &fakeProber{}, size[0], size[1], func(s *uitest.Screen) {
			clickOn(t, s, "Session")
			s.Expect("›Session")
			s.Press("enter")
			s.Type("a1")
			clickOn(t, s, "password  ")
			s.Expect("▌Username", "a1")
			s.Press("v") // a key again, not a letter of the field
			s.Expect(password)
			clickOn(t, s, "Country")
			s.Expect("▌Credential")
			if size[0] < kit.StackBelow {
				return
			}
			clickOn(t, s, "URL !")
			s.Expect("›URL !")
		})
	}
}
