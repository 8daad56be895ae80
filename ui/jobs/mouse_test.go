package jobs_test

import (
	"testing"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/uitest"
)

func TestAClickPicksTheJobAndThePaneUnderIt(t *testing.T) {
	for _, size := range [][2]int{{120, 40}, {80, 24}} {
		jobs := []model.Job{readyJob(), readyJob(), readyJob()}
		for i := range jobs {
			jobs[i].ID, jobs[i].Snapshot = "job-"+string(rune('a'+i)), "sd_"+string(rune('a'+i))
		}
		flow(t, &fakeLedger{jobs: jobs}, "brightdata", size[0], size[1], func(s *uitest.Screen) {
			s.Expect("job-a · gd_products")
			s.Click("job-c")
			s.Expect("job-c · gd_products", "▌Jobs")
			s.Click("profile")
			s.Expect("▌job-c · gd_products")
			s.Send(tea.MouseWheelMsg{X: 5, Y: 4, Button: tea.MouseWheelUp})
			s.Expect("▌job-a · gd_products") // the list scrolls under the pointer, the focus stays
		})
	}
}
