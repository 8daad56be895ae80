package jobs

import (
	"testing"

	"zonedeck/model"
)

func TestAChangeAtTheSameTimeIsTold(t *testing.T) {
	told := 0
	f := follower{reported: map[string]Followed{}, on: func(Followed) { told++ }}
	job := model.Job{ID: "job-1", State: model.JobRunning, Steps: []model.JobStep{{Text: "running"}}}
	f.report(Followed{Job: job})
	f.report(Followed{Job: job})
	if told != 1 {
		t.Errorf("told %d times of a job that stands as it was", told)
	}
	job.Steps = append(job.Steps, model.JobStep{Text: "it is not asked for any more"})
	f.report(Followed{Job: job})
	if told != 2 {
		t.Errorf("told %d times, once of the change", told-1)
	}
	job.Fault.GivenUp = true // the row, read after the steps that belong to it
	f.report(Followed{Job: job})
	if told != 3 {
		t.Errorf("told %d times, twice of the change and its row", told-1)
	}
}
