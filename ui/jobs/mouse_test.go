package jobs_test

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
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

func TestAClickPicksTheJobAndThePaneUnderIt(t *testing.T) {
	for _, size := range [][2]int{{120, 40}, {80, 24}} {
		jobs := []model.Job{readyJob(), readyJob(), readyJob()}
		for i := range jobs {
			jobs[i].ID, jobs[i].Snapshot = "job-"+string(rune('a'+i)), "sd_"+string(rune('a'+i))
		}
		flow(t, &fakeLedger{jobs: jobs}, "brightdata", size[0], size[1], func(s *uitest.Screen) {
			s.Expect("sd_a · gd_products")
			clickOn(t, s, "sd_c")
			s.Expect("sd_c · gd_products", "▌Jobs")
			clickOn(t, s, "ledger id")
			s.Expect("▌sd_c · gd_products")
			s.Send(tea.MouseWheelMsg{X: 5, Y: 4, Button: tea.MouseWheelUp})
			s.Expect("▌sd_a · gd_products") // the list scrolls under the pointer, the focus stays
		})
	}
}
