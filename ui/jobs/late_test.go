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
	job = m.ledger.jobs[0]
	job.Updated = job.Created
	m.ledger.jobs[0], m.ledger.total = job, 1
	return m, job
}

func TestAListThatWasReadBeforeALaunchKeepsTheJob(t *testing.T) {
	m, old := oneJob(t)
	m.deps.Ctx = t.Context()
	_ = kit.Load(kit.Jobs, &m.ledger.slot, t.Context(), func(context.Context) (int, error) { return 0, nil }, nil) // it is being read
	launched := model.Job{ID: "job-7", Created: old.Created.Add(time.Minute), Updated: old.Created.Add(time.Minute)}
	m.put(launched)
	m.setJobs([]model.Job{old}, 1, nil)
	if len(m.ledger.jobs) != 2 || m.ledger.jobs[0].ID != "job-7" || m.ledger.total != 2 {
		t.Errorf("%d of %+v", m.ledger.total, m.ledger.jobs)
	}
	// A list that has it counts it once, and the next one is believed.
	m.setJobs([]model.Job{launched, old}, 2, nil)
	m.setJobs([]model.Job{old}, 1, nil)
	if len(m.ledger.jobs) != 1 || m.ledger.total != 1 {
		t.Errorf("%d of %+v", m.ledger.total, m.ledger.jobs)
	}
}

func TestWhatIsOlderThanTheListChangesNothing(t *testing.T) {
	m, job := oneJob(t)
	job.State, job.Updated = model.JobCanceled, job.Updated.Add(time.Second)
	m.put(job)
	job.State, job.Updated = model.JobRunning, job.Updated.Add(-time.Millisecond)
	m.followed(service.Followed{Job: job, On: true})
	if m.ledger.jobs[0].State != model.JobCanceled {
		t.Errorf("it is %s again", m.ledger.jobs[0].State)
	}
}

func TestAFollowedJobBelowTheListIsNotCountedAsNew(t *testing.T) {
	m := bigLedger(maxListed)
	m.ledger.total = maxListed + 5
	oldest := m.ledger.jobs[maxListed-1]
	m.followed(service.Followed{Job: model.Job{ID: "below", State: model.JobRunning, Created: oldest.Created.Add(-time.Hour)}, On: true})
	if len(m.ledger.jobs) != maxListed || m.ledger.total != maxListed+5 {
		t.Errorf("%d are listed of %d", len(m.ledger.jobs), m.ledger.total)
	}
	m.put(model.Job{ID: "new", Created: m.ledger.jobs[0].Created.Add(time.Second)})
	if len(m.ledger.jobs) != maxListed || m.ledger.jobs[0].ID != "new" || m.ledger.total != maxListed+6 {
		t.Error(fmt.Sprint(len(m.ledger.jobs), m.ledger.jobs[0].ID, m.ledger.total))
	}
}
