package jobs_test

import (
	"cmp"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"zonedeck/model"
)

// Every next step that a job offers, whichever call failed and how, has a key that acts, or names none where no key
// takes it.
func TestEveryNextStepNamesAKeyThatActsOrNone(t *testing.T) {
	var outcomes []model.Outcome
	for _, status := range []int{200, 400, 401, 402, 403, 404, 407, 409, 429, 500, 502, 503} {
		outcomes = append(outcomes, model.Outcome{ServiceStatus: status}, model.Outcome{ServiceStatus: status, Unread: "brightdata"})
	}
	for _, broke := range []model.Breakage{model.BreakDNS, model.BreakConnect, model.BreakTLSTrust, model.BreakTLS, model.BreakTimeout, model.BreakReset, model.BreakMalformed} {
		outcomes = append(outcomes, model.Outcome{Broke: broke})
	}
	unknown := model.Diagnose(model.Outcome{Job: model.CallProgress, ServiceStatus: 404})
	faults := map[string]model.JobFault{"failed": model.JobFailedFault("no"), "canceled": model.JobCanceledFault("no"), "no identifier": {Call: model.CallTrigger, Diagnosis: model.NoIdentifier(model.CallTrigger, 200)}}
	for name, d := range map[string]model.Diagnosis{"unknown": model.JobUnknown(unknown, true), "not found": model.JobUnknown(unknown, false), "forgotten": model.JobForgotten(unknown)} {
		for _, s := range d.Steps {
			d.Steps = []model.Step{s}
			faults[name+" "+string(s.Action)] = model.JobFault{Call: model.CallProgress, Diagnosis: d}
		}
	}
	for _, call := range []model.JobCall{model.CallTrigger, model.CallProgress, model.CallDownload, model.CallCancel} {
		for _, o := range outcomes {
			o.Job = call
			f := model.JobFault{Call: call, Diagnosis: model.Diagnose(o)}
			for _, s := range f.Diagnosis.Steps {
				f.Diagnosis.Steps = []model.Step{s}
				faults[strings.Join([]string{string(call), string(f.Diagnosis.Class), string(f.Diagnosis.Cause), string(s.Action)}, " ")] = f
			}
		}
	}
	states := map[model.JobCall]model.JobState{model.CallTrigger: model.JobRefused, model.CallProgress: model.JobRunning, model.CallCancel: model.JobRunning, model.CallDownload: model.JobReady}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				job := readyJob()
				job.State, job.Fault = cmp.Or(states[fault.Call], model.JobFailed), fault
				if fault.Diagnosis.Rule == model.RuleJobForgotten {
					job.State = model.JobExpired
				}
				f := &fakeLedger{jobs: []model.Job{job}, watchErr: errors.New("it broke off"), knows: model.JobReady} // a job that is followed is not offered to be followed
				s := start(t, f, "brightdata", 120, 40)
				action := fault.Diagnosis.Steps[0].Action
				if action == model.ActionSlowDown || action == model.ActionFixRequest && job.State != model.JobRefused {
					s.Expect("do next   ·   ")
					s.ExpectNot("do next   [")
					return
				}
				if name == "failed" { // the Sandbox's key, which is the console's
					s.Expect("do next   [1] try a few of its URLs")
					return
				}
				_, offered, ok := strings.Cut(s.Screen(), "do next   [")
				if !ok {
					t.Fatalf("not offered:\n%s", s.Screen())
				}
				before, follows := s.Below(), f.follows()
				s.Press(offered[:1])
				if f.follows() > follows {
					return // the service was asked, and its answer is a message of its own
				}
				if why := s.Refusal(offered[:1], before); why != "" || s.Below() == before {
					t.Errorf("%s does nothing: %s\n%s", offered[:1], why, before)
				}
			})
		})
	}
}

// The step after a trigger goes on with that job: it is launched again if it has not started for certain,
// and looked for if it may have.
func TestTheNextStepOfATriggerIsOfThatJob(t *testing.T) {
	for state, key := range map[model.JobState]string{model.JobRefused: "a", model.JobNotSent: "a", model.JobMayHave: "s"} {
		synctest.Test(t, func(t *testing.T) {
			job := readyJob()
			job.State, job.Snapshot = state, ""
			job.Fault = model.JobFault{Call: model.CallTrigger, Diagnosis: model.Diagnosis{Class: model.ClassTooFast, Steps: []model.Step{{Action: model.ActionRetry, Text: "go on"}}}}
			s := start(t, &fakeLedger{jobs: []model.Job{job}}, "brightdata", 120, 40)
			s.Expect("do next   [" + key + "] go on")
		})
	}
}

// A result that the service has no more is not asked for again: its job is launched again.
func TestTheNextStepOfAnExpiredResultIsAnotherLaunch(t *testing.T) {
	for state, key := range map[model.JobState]string{model.JobExpired: "a", model.JobCanceled: "a", model.JobReady: "d"} {
		synctest.Test(t, func(t *testing.T) {
			job := readyJob()
			job.State = state
			job.Fault = model.JobFault{Call: model.CallDownload, Diagnosis: model.Diagnosis{Class: model.ClassOutside, Steps: []model.Step{{Action: model.ActionRetry, Text: "go on"}}}}
			s := start(t, &fakeLedger{jobs: []model.Job{job}}, "brightdata", 120, 40)
			s.Expect("do next   [" + key + "] go on")
		})
	}
}

// What a refusal names is corrected in the form, which a and then e open.
func TestARefusedJobIsCorrectedByTheKeysOfItsNextStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		job := readyJob()
		job.State, job.Snapshot = model.JobRefused, ""
		job.Fault = model.JobFault{Call: model.CallTrigger, Diagnosis: model.Diagnosis{Class: model.ClassOutside, Steps: []model.Step{{Action: model.ActionFixRequest, Text: "correct it"}}}}
		s := start(t, &fakeLedger{jobs: []model.Job{job}}, "brightdata", 120, 40)
		s.Expect("do next   [a] correct it: a, then e")
		s.Press("a")
		s.Expect("change it first", "in the form")
	})
}

// A step that cannot be taken now is shown with the reason, and offers no key.
func TestANextStepThatCannotBeTakenNowSaysWhy(t *testing.T) {
	again := model.JobFault{Call: model.CallProgress, Diagnosis: model.Diagnosis{
		Class: model.ClassTimeout, Steps: []model.Step{{Action: model.ActionRetry, Text: "ask again"}, {Action: model.ActionCheckKey, Text: "look at the key"}},
	}}
	for name, c := range map[string]struct {
		job  func(*model.Job)
		want string
	}{
		"unknown":  {func(j *model.Job) { j.Snapshot = "" }, "·   ask again · no identifier was received for this job"},
		"followed": {func(*model.Job) {}, "·   ask again · it is already being followed"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				job := readyJob()
				job.State, job.Fault = model.JobRunning, again
				c.job(&job)
				s := start(t, &fakeLedger{jobs: []model.Job{job}}, "brightdata", 200, 40)
				s.Expect("do next   "+c.want, "[K] look at the key")
				s.ExpectNot("] ask again")
			})
		})
	}
}
