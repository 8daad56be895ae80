package jobs

import (
	"testing"
	"time"

	"zonedeck/model"
)

func TestTheAgeInAFilterGoesByTheClockOfTheJobsProfile(t *testing.T) {
	machine := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	matches, err := ParseFilter("since:2h", func(profile string) time.Time {
		if profile == "local" {
			return machine.Add(240 * time.Hour)
		}
		return machine
	})
	if err != nil {
		t.Fatal(err)
	}
	for profile, now := range map[string]time.Time{"local": machine.Add(240 * time.Hour), "acme": machine} {
		for before, want := range map[time.Duration]bool{time.Hour: true, 3 * time.Hour: false} {
			if got := matches(model.Job{Profile: profile, Created: now.Add(-before)}); got != want {
				t.Errorf("%s: %s old: %t", profile, before, got)
			}
		}
	}
}

// FuzzParseFilter: any typed text gives a filter or an error.
func FuzzParseFilter(f *testing.F) {
	for _, s := range []string{"", "a b", "state:failed dataset:gd since:2h profile:x", "state:", ":", "https://x", "since:99999w"} {
		f.Add(s)
	}
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, s string) {
		matches, err := ParseFilter(s, func(string) time.Time { return now })
		if (matches == nil) == (err == nil) {
			t.Fatalf("%q gives a filter %v and %v", s, matches != nil, err)
		}
		if err == nil {
			matches(model.Job{ID: "job-1", State: model.JobReady, Created: now})
		}
	})
}
