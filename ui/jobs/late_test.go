package jobs

import (
	"context"
	"fmt"
	"testing"
	"time"

	"zonedeck/model"
	service "zonedeck/service/jobs"
	"zonedeck/ui/kit"
)

// oneJob is the model with a job that was updated at noon.
func oneJob(t *testing.T) (m *Model, job model.Job) {
	t.Helper()
	m = bigLedger(1)
	job = m.list.jobs[0]
	job.Updated = job.Created
	m.list.jobs[0], m.list.total = job, 1
	return m, job
}

func TestAListThatWasReadBeforeALaunchKeepsTheJob(t *testing.T) {
	m, old := oneJob(t)
	m.deps.Ctx = t.Context()
	_ = kit.Load(kit.Jobs, &m.list.slot, t.Context(), func(context.Context) (int, error) { return 0, nil }, nil) // it is being read
	launched := model.Job{ID: "job-7", Created: old.Created.Add(time.Minute), Updated: old.Created.Add(time.Minute)}
	m.list.put(launched)
	m.list.set([]model.Job{old}, 1, nil)
	if len(m.list.jobs) != 2 || m.list.jobs[0].ID != "job-7" || m.list.total != 2 {
		t.Errorf("%d of %+v", m.list.total, m.list.jobs)
	}
	// A list that has it counts it once, and the next one is believed.
	m.list.set([]model.Job{launched, old}, 2, nil)
	m.list.set([]model.Job{old}, 1, nil)
	if len(m.list.jobs) != 1 || m.list.total != 1 {
		t.Errorf("%d of %+v", m.list.total, m.list.jobs)
	}
}

func TestWhatIsOlderThanTheListChangesNothing(t *testing.T) {
	m, job := oneJob(t)
	job.State, job.Updated = model.JobCanceled, job.Updated.Add(time.Second)
	m.list.put(job)
	job.State, job.Updated = model.JobRunning, job.Updated.Add(-time.Millisecond)
	m.follow.event(service.Followed{Job: job, On: true})
	if m.list.jobs[0].State != model.JobCanceled {
		t.Errorf("it is %s again", m.list.jobs[0].State)
	}
}

func TestAFollowedJobBelowTheListIsNotCountedAsNew(t *testing.T) {
	m := bigLedger(maxListed)
	m.list.total = maxListed + 5
	oldest := m.list.jobs[maxListed-1]
	m.follow.event(service.Followed{Job: model.Job{ID: "below", State: model.JobRunning, Created: oldest.Created.Add(-time.Hour)}, On: true})
	if len(m.list.jobs) != maxListed || m.list.total != maxListed+5 {
		t.Errorf("%d are listed of %d", len(m.list.jobs), m.list.total)
	}
	m.list.put(model.Job{ID: "new", Created: m.list.jobs[0].Created.Add(time.Second)})
	if len(m.list.jobs) != maxListed || m.list.jobs[0].ID != "new" || m.list.total != maxListed+6 {
		t.Error(fmt.Sprint(len(m.list.jobs), m.list.jobs[0].ID, m.list.total))
	}
}
