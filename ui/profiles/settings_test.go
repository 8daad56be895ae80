package profiles_test

import (
	"strings"
	"testing"

	"zonedeck/ui/uitest"
)

func TestTheCapOnTheCostOfAJobIsAField(t *testing.T) {
	r := newRig(t, before+"max_job_cost = 12.5\n")
	to := func(s *uitest.Screen) { toField(t, s, "Job cap, $") }
	flow(t, r, 120, 40, "edit profile old", func(s *uitest.Screen) {
		to(s)
		s.Expect("12.5")
		s.Press("ctrl+u")
		s.Type("-1")
		s.Press("ctrl+s")
		s.Expect("type dollars above 0")
		s.Press("ctrl+u")
		s.Type("0.25")
		s.Press("ctrl+s")
		s.Expect("saved old: ")
	})
	if p, err := r.load().Profile("old"); err != nil || p.MaxJobCost != 0.25 {
		t.Errorf("%v, %v", p.MaxJobCost, err)
	}
	flow(t, r, 120, 40, "edit profile old", func(s *uitest.Screen) {
		to(s)
		s.Press("ctrl+u", "ctrl+s")
		s.Expect("saved old: ")
	})
	if p, err := r.load().Profile("old"); err != nil || p.MaxJobCost != 0 {
		t.Errorf("%v, %v", p.MaxJobCost, err)
	}
}

// toField moves the focus to a field of the form.
func toField(t *testing.T, s *uitest.Screen, label string) {
	t.Helper()
	for range 30 {
		if strings.Contains(s.Screen(), "›"+label) {
			return
		}
		s.Press("tab")
	}
	t.Fatal("the form has no field " + label)
}

func TestTheTestPageAndTheTimeoutsAreFields(t *testing.T) {
	r := newRig(t, before)
	flow(t, r, 120, 40, "edit profile old", func(s *uitest.Screen) {
		toField(t, s, "Timeouts")
		s.Type("unlocker=4")
		s.Press("ctrl+s")
		s.Expect("the timeout of unlocker is a time")
		s.Type("m")
		toField(t, s, "Test page")
		s.Type("https://own.example/")
		s.Press("ctrl+s")
		s.Expect("without a text to look for")
		toField(t, s, "It shows")
		s.Type("it works")
		s.Press("ctrl+s")
		s.Expect("saved old: ")
	})
	if p, err := r.load().Profile("old"); err != nil || p.TestURL != "https://own.example/" || p.TestText != "it works" || p.Timeouts.String() != "unlocker=4m0s" {
		t.Errorf("%+v, %v", p, err)
	}
}
