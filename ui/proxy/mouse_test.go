package proxy_test

import (
	"testing"

	"zonedeck/ui/kit"
	"zonedeck/ui/uitest"
)

func TestAClickPicksTheFieldOrThePaneUnderIt(t *testing.T) {
	for _, size := range [][2]int{{120, 40}, {80, 24}} {
		flow(t, &fakeProber{}, size[0], size[1], func(s *uitest.Screen) {
			s.Click("Session")
			s.Expect("›Session")
			s.Press("enter")
			s.Type("a1")
			s.Click("password  ")
			s.Expect("▌Username", "a1")
			s.Press("v") // a key again, not a letter of the field
			s.Expect(password)
			s.Click("Country")
			s.Expect("▌Credential", "›Country")
			if size[0] < kit.StackBelow {
				return
			}
			s.Click("--proxy-header @-")
			s.Expect("▌Use it in")
		})
	}
}
