package jobs_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"zonedeck/model"
	"zonedeck/ui/uitest"
)

// forgottenJob is a job that the service did not know any more while it ran.
func forgottenJob() model.Job {
	j := readyJob()
	answer := model.Diagnose(model.Outcome{Via: model.ViaAPI, Job: model.CallProgress, ServiceStatus: 404, ServiceText: "Snapshot does not exist"})
	j.State, j.Wire, j.Detail = model.JobExpired, "running", "the service no longer knows it: Snapshot does not exist"
	j.Fault = model.JobFault{Call: model.CallProgress, Diagnosis: model.JobForgotten(answer), At: j.Updated, Seen: j.Updated.Add(-time.Hour)}
	return j
}

// AskNow has a job followed again.
func (f *fakeLedger) AskNow(_ context.Context, id string) (model.Job, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, id)
	i := slices.IndexFunc(f.jobs, func(j model.Job) bool { return j.ID == id })
	if f.jobs[i].Forgotten() { // asked once, and known again where knows says so
		if f.knows != "" {
			f.jobs[i].State, f.jobs[i].Fault = f.knows, model.JobFault{}
		}
		return f.jobs[i], nil
	}
	f.wake <- struct{}{}
	return f.jobs[i], nil
}

func TestAForgottenJobIsAskedForOnceMoreAndTakenBack(t *testing.T) {
	f := &fakeLedger{jobs: []model.Job{forgottenJob()}}
	flow(t, f, "brightdata", 120, 40, func(s *uitest.Screen) {
		s.Expect("- expired (last seen running at ", "do next   [f] look for it in the service's", "do next   [a] launch it again")
		s.Press("f")
		s.Expect("the service still does not know it", "- expired")
		f.mu.Lock()
		f.knows = model.JobReady
		f.mu.Unlock()
		s.Press("f")
		s.Expect("is ready: d downloads", "✓ ready")
		s.ExpectNot("expired", "do next")
	})
}

// What it costs to launch a forgotten job again is said before it is.
func TestAForgottenJobIsLaunchedAgainWithAWarning(t *testing.T) {
	f := &fakeLedger{jobs: []model.Job{forgottenJob()}}
	f.rest.Request = askedFor("etl", "https://a.test/1")
	flow(t, f, "brightdata", 120, 40, func(s *uitest.Screen) {
		s.Press("a")
		s.Expect("the whole job", "the job has expired: no rows to compare with")
		s.Press("w")
		s.Expect("Launch it again?", "did not know it when it was", "the same inputs are billed", "a second time.")
	})
}

// A job that nobody asks for any more was in its state, and no longer is.
func TestAJobThatIsNotAskedForAnyMoreIsNotShownAsRunning(t *testing.T) {
	j := readyJob()
	answer := model.Diagnose(model.Outcome{Via: model.ViaAPI, Job: model.CallProgress, ServiceStatus: 404})
	j.State, j.Profile = model.JobRunning, "other" // its own console gave it up
	j.Fault = model.JobFault{Call: model.CallProgress, Diagnosis: model.JobUnknown(answer, false), At: j.Updated, Seen: j.Updated.Add(-time.Hour), GivenUp: true}
	flow(t, &fakeLedger{jobs: []model.Job{j}}, "brightdata", 120, 40, func(s *uitest.Screen) {
		s.Expect("? was running", "(last seen at ", "It is not asked for any more")
		s.ExpectNot("● running", "waiting to be followed")
		s.Press("/")
		s.Type("was running")
		s.Expect("1 of 1")
	})
}

// While that does not count yet, it says so.
func TestAJobThatTheServiceDoesNotKnowIsAskedForOn(t *testing.T) {
	j := forgottenJob()
	j.State, j.Detail, j.Fault.Diagnosis = model.JobRunning, "", model.JobUnknown(model.Diagnosis{Class: model.ClassOutside}, true)
	flow(t, &fakeLedger{jobs: []model.Job{j}}, "brightdata", 120, 40, func(s *uitest.Screen) {
		s.Expect("● running", "The service says that", "it knows no such job", "followed: the service is asked for some", "minutes before that counts")
	})
}
