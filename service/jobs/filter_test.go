package jobs

import (
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/query"
)

func TestTheAgeInAFilterGoesByTheClockOfTheJobsProfile(t *testing.T) {
	machine := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	q, err := query.Parse("since:2h", Fields(func(profile string) time.Time {
		if profile == "local" {
			return machine.Add(240 * time.Hour)
		}
		return machine
	}))
	noerr.Must(t, err)
	for profile, now := range map[string]time.Time{"local": machine.Add(240 * time.Hour), "acme": machine} {
		for before, want := range map[time.Duration]bool{time.Hour: true, 3 * time.Hour: false} {
			if got := q.Match(model.Job{Profile: profile, Created: now.Add(-before)}); got != want {
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
	f.Fuzz(func(_ *testing.T, s string) {
		q, err := query.Parse(s, Fields(func(string) time.Time { return now }))
		if err == nil {
			q.Match(model.Job{ID: "job-1", State: model.JobReady, Created: now})
		}
	})
}
