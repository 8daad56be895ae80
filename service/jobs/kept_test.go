package jobs

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"zonedeck/model"
	"zonedeck/service/servicetest"
)

// A call about a job that does not succeed has the verdict that a fetch has, in the
// ledger and in the timeline.
func TestAFailedCallAboutAJobIsKeptWithItsVerdict(t *testing.T) {
	slow := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "90")
		text(429, "You have too many running jobs for this dataset")(w, r)
	}
	for name, c := range map[string]struct {
		do    func(t *testing.T, cl *Runner) error
		call  model.JobCall
		class model.Class
		cause model.Cause
		step  string
		reply http.HandlerFunc
	}{
		"a trigger, too fast": {func(t *testing.T, cl *Runner) error {
			_, err := cl.Trigger(t.Context(), trigger("http://lab.test/1"))
			return err
		}, model.CallTrigger, model.ClassTooFast, "", "try again after 1m30s", slow},
		"a trigger that is not valid": {func(t *testing.T, cl *Runner) error {
			_, err := cl.Trigger(t.Context(), trigger("http://lab.test/1"))
			return err
		}, model.CallTrigger, model.ClassOutside, model.CauseRequestRefused, "correct what the service names", text(400, `{"error":"Invalid input provided","code":"validation_error"}`)},
		"a trigger that is answered by words of nobody": {func(t *testing.T, cl *Runner) error {
			job, err := cl.Trigger(t.Context(), trigger("http://lab.test/1"))
			const summary = "The answer was 400, in words that are not known as a refusal by the service."
			if d := job.Fault.Diagnosis; job.State != model.JobMayHave || d.Summary != summary || strings.Contains(d.Next(), "correct") {
				t.Errorf("%s: %s%s", job.State, d.Summary, d.Next())
			}
			return err
		}, model.CallTrigger, model.ClassOutside, model.CauseRequestRefused, "look for the job in the service's list", text(400, "no")},
		"a trigger that a gateway answers": {func(t *testing.T, cl *Runner) error {
			_, err := cl.Trigger(t.Context(), trigger("http://lab.test/1"))
			return err
		}, model.CallTrigger, model.ClassOutside, model.CauseServiceError, "look for the job in the service's list", text(502, "")},
		"a trigger without an identifier": {func(t *testing.T, cl *Runner) error {
			_, err := cl.Trigger(t.Context(), trigger("http://lab.test/1"))
			return err
		}, model.CallTrigger, model.ClassOutside, model.CauseUnrecognised, "look for the job in the service's list", text(200, "{}")},
		"a poll": {func(t *testing.T, cl *Runner) error {
			accepted(t, cl)
			_, err := cl.Watch(t.Context(), "job-1", nil)
			return err
		}, model.CallProgress, model.ClassAccessRestricted, "", "check that the key's level", text(403, "no")},
		"a download": {func(t *testing.T, cl *Runner) error {
			accepted(t, cl)
			_, err := cl.Download(t.Context(), "job-1", Destination{File: filepath.Join(t.TempDir(), "out.json"), Format: "json"}, nil)
			return err
		}, model.CallDownload, model.ClassTooFast, "", "try again after 1m30s", slow},
		"a cancel": {func(t *testing.T, cl *Runner) error {
			accepted(t, cl)
			_, err := cl.CancelJob(t.Context(), "job-1")
			return err
		}, model.CallCancel, model.ClassOutside, model.CauseServiceError, "ask again later", text(500, "oops")},
		"a job that the service reports as failed": {func(t *testing.T, cl *Runner) error {
			accepted(t, cl)
			_, err := cl.Watch(t.Context(), "job-1", nil)
			return err
		}, model.CallNone, model.ClassOutside, model.CauseServiceError, "try a few of its URLs", text(200, `{"status":"failed","error_message":"the collector broke"}`)},
	} {
		t.Run(name, func(t *testing.T) {
			cl, _ := script(t, c.reply)
			j, _ := servicetest.Journal(t)
			cl.cfg.Journal = j
			_ = c.do(t, cl) // a failed call may be an error too
			kept, err := cl.Job(t.Context(), "job-1")
			d := kept.Fault.Diagnosis
			if err != nil || kept.Fault.Call != c.call || d.Class != c.class || d.Cause != c.cause || d.Summary == "" || len(d.Evidence) == 0 {
				t.Fatalf("%+v, %v", kept, err)
			}
			if !strings.Contains(d.Next(), c.step) || strings.Contains(d.Next(), "zone") {
				t.Errorf("the steps are%s", d.Next())
			}
			lines, err := j.Activity(t.Context(), model.ActivityFilter{Kind: model.ActivityJob, Class: c.class})
			if err != nil || len(lines) != 1 || lines[0].Cause != c.cause || !strings.HasSuffix(lines[0].Text, d.Next()) {
				t.Errorf("the timeline has %+v, %v", lines, err)
			}
		})
	}
}

func TestADownloadThatSucceedsEndsAFault(t *testing.T) {
	cl, _ := script(t, text(500, "oops"), text(200, "[]"))
	accepted(t, cl)
	dest := filepath.Join(t.TempDir(), "out.json")
	if _, err := cl.Download(t.Context(), "job-1", Destination{File: dest, Format: "json", Replace: true}, nil); err == nil {
		t.Fatal("a 500 is a download")
	}
	if job, err := cl.Download(t.Context(), "job-1", Destination{File: dest, Format: "json", Replace: true}, nil); err != nil || job.Fault.Any() {
		t.Errorf("%+v, %v", job, err)
	}
}
