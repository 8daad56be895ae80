package profiles_test

import (
	"os"
	"strings"
	"testing"

	"zonedeck/ui/uitest"
)

// to goes to a field by its label.
func to(s *uitest.Screen, label string) {
	for range 24 {
		if strings.Contains(s.Screen(), "›"+label) {
			return
		}
		s.Press("tab")
	}
	s.Expect("›" + label)
}

// The way out of a read-only profile is its own form.
func TestAReadOnlyProfileIsOpenedToSwitchThatOff(t *testing.T) {
	r := newRig(t, before+"read_only = true\n[profiles.other]\nbase_url = \"https://other.example.com\"\n")
	r.locked = "profile old is read-only"
	for command, why := range map[string]string{"add profile": r.locked, "edit profile other": r.locked, "remove profile old": r.locked} {
		flow(t, r, 120, 40, command, func(s *uitest.Screen) { s.Expect(command + ": " + why) })
	}
	flow(t, r, 120, 40, "edit profile old", func(s *uitest.Screen) {
		s.Expect("Edit profile old", "nothing is saved unless you switch Read-only off")
		to(s, "Read-only")
		s.Press("space", "ctrl+s")
		s.Expect("saved old: ")
	})
	if p, err := r.load().Profile("old"); err != nil || p.ReadOnly {
		t.Errorf("%+v, %v", p, err)
	}
	r = newRig(t, before+"read_only = true\n")
	flow(t, r, 120, 40, "remove profile old", func(s *uitest.Screen) { s.Expect("it is read-only: 'edit profile old' allows it") })
}

// Only what the operator changed in the form is written.
func TestAFormKeepsWhatAnotherProcessChangedMeanwhile(t *testing.T) {
	other := before + "color = \"red\"\nallowed_domains = [\"a.example\"]\nmax_job_cost = 3.0\n"
	r := newRig(t, before)
	flow(t, r, 120, 40, "edit profile old", func(s *uitest.Screen) {
		to(s, "Read-only")
		if err := os.WriteFile(r.config, []byte(other), 0o600); err != nil {
			t.Fatal(err)
		}
		s.Press("space", "ctrl+s")
		s.Expect("saved old: ")
	})
	if text, _ := os.ReadFile(r.config); string(text) != other+"read_only = true\n" {
		t.Errorf("%s", text)
	}
	r = newRig(t, before)
	flow(t, r, 120, 40, "edit profile old", func(s *uitest.Screen) {
		to(s, "Colour")
		s.Press("space")
		if err := os.WriteFile(r.config, []byte(before+"color = \"green\"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		s.Press("ctrl+s")
		s.Expect("color is green now")
	})
}
