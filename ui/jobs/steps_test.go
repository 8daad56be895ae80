package jobs_test

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/model"
	"zonedeck/service/catalogue"
	"zonedeck/service/exchange"
	service "zonedeck/service/jobs"
	"zonedeck/ui/uitest"
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
				f := &fakeJobs{jobs: []model.Job{job}, watchErr: errors.New("it broke off"), knows: model.JobReady} // a job that is followed is not offered to be followed
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

// The step after a trigger goes on with that job: it is launched again if it has not started for certain, and looked for
// if it may have. A result that the service has no more is not asked for again: its job is launched again.
func TestTheNextStepIsOfTheJobAsItStands(t *testing.T) {
	for call, keys := range map[model.JobCall]map[model.JobState]string{
		model.CallTrigger:  {model.JobRefused: "a", model.JobNotSent: "a", model.JobMayHave: "s"},
		model.CallDownload: {model.JobExpired: "a", model.JobCanceled: "a", model.JobReady: "d"},
	} {
		for state, key := range keys {
			job := readyJob()
			job.State = state
			job.Fault = model.JobFault{Call: call, Diagnosis: model.Diagnosis{Class: model.ClassOutside, Steps: []model.Step{{Action: model.ActionRetry, Text: "go on"}}}}
			flow(t, &fakeJobs{jobs: []model.Job{job}}, "brightdata", 120, 40, func(s *uitest.Screen) { s.Expect("do next   [" + key + "] go on") })
		}
	}
}

// What a refusal names is corrected in the form, which a and then e open.
func TestARefusedJobIsCorrectedByTheKeysOfItsNextStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		job := readyJob()
		job.State, job.Snapshot = model.JobRefused, ""
		job.Fault = model.JobFault{Call: model.CallTrigger, Diagnosis: model.Diagnosis{Class: model.ClassOutside, Steps: []model.Step{{Action: model.ActionFixRequest, Text: "correct it"}}}}
		s := start(t, &fakeJobs{jobs: []model.Job{job}}, "brightdata", 120, 40)
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
				s := start(t, &fakeJobs{jobs: []model.Job{job}}, "brightdata", 200, 40)
				s.Expect("do next   "+c.want, "[K] look at the key")
				s.ExpectNot("] ask again")
			})
		})
	}
}

// tooFast is a call that was answered with 429.
func tooFast(doing string) *exchange.CallError {
	return &exchange.CallError{Doing: doing, Status: 429, Text: "slow down", After: 90 * time.Second, Diagnosis: model.Diagnose(model.Outcome{
		Via: model.ViaAPI, Job: model.CallProgress, ServiceStatus: 429, ServiceText: "slow down", RetryAfter: 90 * time.Second,
	})}
}

func TestAPreviewThatFailsIsShownWithItsVerdict(t *testing.T) {
	f := &fakeJobs{listing: products(), local: true, previewErr: &service.PreviewError{State: model.JobRunning, ID: "p1", Err: tooFast("previewing deep_lookup")}}
	flow(t, f, "brightdata", 80, 24, func(s *uitest.Screen) {
		s.Press("n")
		s.Type("deep")
		s.Press("enter")
		s.Type("lamps")
		s.Press("ctrl+l")
		s.Expect("No preview", "previewing deep_lookup: HTTP 429: slow down", "Preview p1 was begun, and may be billed.", "! too fast: The service says that requests come too fast (429)",
			"evidence  429 Too Many Requests from the service", "try again at 00:01:3", "do next   lower the concurrency and back off (contract 7)", "do next   try again after 1m30s, as the answer asks")
		s.Press("esc")
		s.Expect("query *       lamps", "✗ previewing deep_lookup: HTTP 429: slow down; preview p1 was begun, and")
		s.ExpectNot("evidence")
		s.Type(" and rugs")
		s.ExpectNot("HTTP 429")
	})
}

func TestWhyTheServicesListCannotBeReadIsShown(t *testing.T) {
	f := &fakeJobs{jobs: []model.Job{lostJob()}, listErr: tooFast("the list of jobs of gd_products")}
	flow(t, f, "brightdata", 80, 24, func(s *uitest.Screen) {
		s.Press("s")
		s.Expect("The service's list could not be read", "the list of jobs of gd_products: HTTP 429: slow down", "! too fast: ", "evidence  429 Too Many Requests", "try again at", "do next   try again after 1m30s")
		s.Press("esc")
		s.Expect("›l    look again")
	})
}

func TestACallAboutAJobThatFailsIsShownWithTheJob(t *testing.T) {
	for name, c := range map[string]struct {
		press []string
		call  model.JobCall
	}{"cancel": {[]string{"X", "y"}, model.CallCancel}, "download": {[]string{"d", "ctrl+s"}, model.CallDownload}} {
		t.Run(name, func(t *testing.T) {
			job := model.Job{ID: "job-1", Snapshot: "sd_1", Profile: "acme", Dataset: "gd_products", State: model.JobRunning, Inputs: 1, Done: -1, Records: -1}
			if name == "download" {
				job.State = model.JobReady
			}
			newer := job
			newer.ID, newer.Snapshot, newer.State, newer.Created = "job-2", "sd_2", model.JobReady, time.Now()
			fault := tooFast("about job-1")
			failed := func() (model.Job, error) {
				job.Fault = model.JobFault{Call: c.call, Diagnosis: fault.Diagnosis, At: time.Now()}
				return job, fault
			}
			f := &fakeJobs{jobs: []model.Job{newer, job}, cancels: failed, downloads: func(context.Context, service.Destination, func(service.Progress)) (model.Job, error) { return failed() }}
			flow(t, f, "brightdata", 100, 40, func(s *uitest.Screen) {
				s.AllowError("about job-1: HTTP 429: slow down")
				s.Press("j")
				s.Press(c.press...)
				s.Expect("about job-1: HTTP 429: slow down", "! too fast ("+string(c.call)+"): ", "evidence  429 Too Many Requests", "try again at", "do next   ["+c.press[0]+"]")
			})
		})
	}
}

func TestTheFormSaysWhyTheListOfDataSetsIsNotTheServices(t *testing.T) {
	f := &fakeJobs{listing: catalogue.Listing{
		Datasets: typedListing().Datasets, Problem: "the list of scrapers: HTTP 429: slow down", Err: tooFast("the list of scrapers"),
	}}
	flow(t, f, "brightdata", 120, 40, func(s *uitest.Screen) {
		s.Press("n", "enter", "shift+tab", "shift+tab", "shift+tab")
		s.Expect("the list of scrapers: HTTP 429: slow down (too")
	})
}

func TestWhyTheFirstRecordsCannotBeShown(t *testing.T) {
	f := &fakeJobs{jobs: []model.Job{readyJob()}, recordsErr: tooFast("reading the records of job job-1")}
	flow(t, f, "brightdata", 80, 24, func(s *uitest.Screen) {
		s.Press("p")
		s.Expect("The records cannot be shown: reading the records of job job-1: HTTP 429:", "! too fast: ", "evidence  429 Too Many Requests", "do next   lower the concurrency and back off")
	})
}
