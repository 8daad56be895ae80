package account_test

import (
	"strings"
	"testing"

	"zonedeck/ui/uitest"
)

// The way out of a read-only profile is its own form.
func TestAReadOnlyProfileIsOpenedToSwitchThatOff(t *testing.T) {
	r := newRig(t, before+"read_only = true\n[profiles.other]\nbase_url = \"https://other.example.com\"\n")
	r.locked = "profile old is read-only"
	for command, why := range map[string]string{"add account": r.locked, "edit account other": r.locked, "remove account old": r.locked} {
		flow(t, r, 120, 40, command, func(s *uitest.Screen) { s.Expect(command + ": " + why) })
	}
	flow(t, r, 120, 40, "edit account old", func(s *uitest.Screen) {
		s.Expect("Edit account old", "nothing is saved unless you switch Read-only off")
		for range 20 {
			if strings.Contains(s.Screen(), "›Read-only") {
				break
			}
			s.Press("tab")
		}
		s.Press("space", "ctrl+s")
		s.Expect("profile old is saved")
	})
	if p, err := r.load().Profile("old"); err != nil || p.ReadOnly {
		t.Errorf("%+v, %v", p, err)
	}
	r = newRig(t, before+"read_only = true\n")
	flow(t, r, 120, 40, "remove account old", func(s *uitest.Screen) { s.Expect("it is read-only: 'edit account old' lifts that") })
}
