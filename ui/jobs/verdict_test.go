package jobs_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"zonedeck/model"
	"zonedeck/service/catalogue"
	"zonedeck/service/exchange"
	service "zonedeck/service/jobs"
	"zonedeck/ui/uitest"
)

func (f *fakeLedger) CancelJob(_ context.Context, id string) (model.Job, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.canceled = append(f.canceled, id)
	if f.cancels != nil {
		return f.cancels()
	}
	for i := range f.jobs {
		if f.jobs[i].ID == id {
			f.jobs[i].State = model.JobCanceled
			return f.jobs[i], nil
		}
	}
	return model.Job{}, errors.New("no such job")
}

// tooFast is a call that was answered with 429.
func tooFast(doing string) *exchange.CallError {
	return &exchange.CallError{Doing: doing, Status: 429, Text: "slow down", After: 90 * time.Second, Diagnosis: model.Diagnose(model.Outcome{
		Via: model.ViaAPI, Job: model.CallProgress, ServiceStatus: 429, ServiceText: "slow down", RetryAfter: 90 * time.Second,
	})}
}

func TestAPreviewThatFailsIsShownWithItsVerdict(t *testing.T) {
	f := &fakeLedger{listing: products(), local: true, previewErr: &service.PreviewError{State: model.JobRunning, ID: "p1", Err: tooFast("previewing deep_lookup")}}
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
	f := &fakeLedger{jobs: []model.Job{lostJob()}, settleErr: tooFast("the list of jobs of gd_products")}
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
	}{"cancel": {[]string{"c", "y"}, model.CallCancel}, "download": {[]string{"d", "ctrl+s"}, model.CallDownload}} {
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
			f := &fakeLedger{jobs: []model.Job{newer, job}, cancels: failed, downloads: func(context.Context, service.Destination, func(service.Progress)) (model.Job, error) { return failed() }}
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
	f := &fakeLedger{listing: catalogue.Listing{
		Collectors: typedListing().Collectors, Problem: "the list of scrapers: HTTP 429: slow down", Err: tooFast("the list of scrapers"),
	}}
	flow(t, f, "brightdata", 120, 40, func(s *uitest.Screen) {
		s.Press("n", "enter", "shift+tab", "shift+tab", "shift+tab")
		s.Expect("the list of scrapers: HTTP 429: slow down (too")
	})
}

func TestWhyTheFirstRecordsCannotBeShown(t *testing.T) {
	f := &fakeLedger{jobs: []model.Job{readyJob()}, recordsErr: tooFast("reading the records of job job-1")}
	flow(t, f, "brightdata", 80, 24, func(s *uitest.Screen) {
		s.Press("p")
		s.Expect("The records cannot be shown: reading the records of job job-1: HTTP 429:", "! too fast: ", "evidence  429 Too Many Requests", "do next   lower the concurrency and back off")
	})
}
