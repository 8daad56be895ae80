package jobs_test

import (
	"testing"
	"time"

	"zonedeck/model"
	"zonedeck/ui/uitest"
)

func TestAJobOfAnotherProcessComesIntoTheListByItself(t *testing.T) {
	f := &fakeLedger{}
	flow(t, f, "documented", 120, 40, func(s *uitest.Screen) {
		s.Expect("no jobs yet")
		change := func(state model.JobState) {
			j := readyJob()
			j.State, j.Created, j.Updated = state, time.Now(), time.Now()
			f.mu.Lock()
			f.jobs = []model.Job{j}
			f.mu.Unlock()
			s.After(12 * time.Second)
		}
		change(model.JobRunning)
		s.Expect("job-9", "running")
		change(model.JobReady)
		s.Expect("job-9", "✓ ready")
		f.mu.Lock()
		reads := f.reads
		f.mu.Unlock()
		s.After(time.Minute)
		f.mu.Lock()
		defer f.mu.Unlock()
		if more := f.reads - reads; more != 0 {
			t.Errorf("the whole list was read %d times although nothing had changed", more)
		}
	})
}
