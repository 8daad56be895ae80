package jobs

import (
	"testing"
	"time"

	"zonedeck/model"
)

// FuzzParseFilter: any typed text gives a filter or an error.
func FuzzParseFilter(f *testing.F) {
	for _, s := range []string{"", "a b", "state:failed dataset:gd since:2h profile:x", "state:", ":", "https://x", "since:99999w"} {
		f.Add(s)
	}
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, s string) {
		matches, err := ParseFilter(s, now)
		if (matches == nil) == (err == nil) {
			t.Fatalf("%q gives a filter %v and %v", s, matches != nil, err)
		}
		if err == nil {
			matches(model.Job{ID: "job-1", State: model.JobReady, Created: now})
		}
	})
}
