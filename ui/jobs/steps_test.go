package jobs_test

import (
	"cmp"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/model"
)

// Every next step that a job offers, whichever call failed and how, has a key that acts.
func TestEveryNextStepHasAKeyThatActs(t *testing.T) {
	var outcomes []model.Outcome
	for _, status := range []int{200, 400, 401, 402, 403, 404, 407, 409, 429, 500, 502, 503} {
		outcomes = append(outcomes, model.Outcome{ServiceStatus: status}, model.Outcome{ServiceStatus: status, Unread: "brightdata"})
	}
	for _, broke := range []model.Breakage{model.BreakDNS, model.BreakConnect, model.BreakTLSTrust, model.BreakTLS, model.BreakTimeout, model.BreakReset, model.BreakMalformed} {
		outcomes = append(outcomes, model.Outcome{Broke: broke})
	}
	faults := map[string]model.JobFault{"failed": model.JobFailedFault("no"), "no identifier": {Call: model.CallTrigger, Diagnosis: model.NoIdentifier(200)}}
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
	states := map[model.JobCall]model.JobState{model.CallProgress: model.JobRunning, model.CallCancel: model.JobRunning, model.CallDownload: model.JobReady}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				job := readyJob()
				job.State, job.Fault = cmp.Or(states[fault.Call], model.JobFailed), fault
				f := &fakeLedger{jobs: []model.Job{job}, watchErr: errors.New("it broke off")} // a job that is followed is not offered to be followed
				s := start(t, f, "brightdata", 120, 40)
				s.After(50 * time.Millisecond) // a stream delivers 20 times a second: the watch's beginning, then its end
				_, offered, ok := strings.Cut(s.Screen(), "do next   [")
				if !ok {
					t.Fatalf("not offered:\n%s", s.Screen())
				}
				before, follows := s.Below(), f.follows()
				s.Press(offered[:1])
				if s.Below() == before && f.follows() == follows {
					t.Errorf("%s does nothing:\n%s", offered[:1], before)
				}
			})
		})
	}
}
