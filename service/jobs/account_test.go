package jobs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/exchange"
	"zonedeck/service/rows"
	"zonedeck/service/servicetest"
)

func TestEveryRowOfAJobOnTheEmulatorIsAccountedFor(t *testing.T) {
	cl := onEmulator(t)
	history, _ := servicetest.Journal(t)
	cl.cfg.Journal = history
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	job, err := cl.Trigger(ctx, trigger("http://lab.test/product/1", "http://lab.test/product/99", "http://lab.test/product/2"))
	if err != nil || job.State != model.JobAccepted {
		t.Fatalf("%+v, %v", job, err)
	}
	if job, err = cl.Watch(ctx, job.ID, nil); err != nil || job.State != model.JobReady {
		t.Fatalf("%+v, %v", job, err)
	}
	for _, format := range rows.Formats() {
		job, err = cl.Download(ctx, job.ID, Destination{Format: format}, nil)
		if err != nil || job.State != model.JobDownloaded {
			t.Fatalf("%s: %+v, %v", format, job, err)
		}
		r := job.Rows
		if !r.Counted || job.ResultRecords() != 2 || r.Returned != 3 || r.Useful != 2 || r.Empty != 0 || r.Failed() != 1 || r.Billed != 2 {
			t.Errorf("%s: %+v", format, r)
		}
		if len(r.Errors) != 1 || r.Errors[0].Code != "dead_page" || r.Errors[0].Cause != model.CauseTargetError || !strings.Contains(r.Errors[0].Text, "404") {
			t.Errorf("%s: %+v", format, r.Errors)
		}
		whole, err := os.ReadFile(job.File)
		if sum := sha256.Sum256(whole); err != nil || hex.EncodeToString(sum[:]) != job.SHA256 {
			t.Errorf("%s: %s, %v", format, job.SHA256, err)
		}
	}
	lines, err := history.Activity(ctx, model.ActivityFilter{Kind: model.ActivityJob})
	if err != nil || !strings.Contains(lines[0].Text, "3 rows: 2 useful, 1 error, 2 billed (unpriced)") {
		t.Errorf("%+v, %v", lines, err)
	}
}

func TestAResultThatTheServiceNoLongerHasHasExpired(t *testing.T) {
	for _, c := range []struct {
		status int
		text   string
		from   model.JobState
		want   model.JobState
		next   string
	}{
		{400, "Snapshot is expired", model.JobReady, model.JobExpired, "no longer has its result"},
		{400, "Snapshot is expired", model.JobAccepted, model.JobExpired, "no longer has its result"},
		{410, "", model.JobDownloaded, model.JobExpired, "no longer has its result"},
		{404, "404 page not found", model.JobReady, model.JobReady, ""},
		{404, "Snapshot does not exist", model.JobAccepted, model.JobAccepted, ""},
		{400, "bad format", model.JobReady, model.JobReady, "correct what the service names"},
		{500, "Snapshot", model.JobReady, model.JobReady, ""},
	} {
		cl, _ := script(t, text(c.status, c.text))
		accepted(t, cl)
		noerr.Must(t, noerr.From(cl.cfg.Ledger.Change(t.Context(), "job-1", func(job *model.Job) (string, error) {
			job.State = c.from
			return "", nil
		})))
		var fault *exchange.CallError
		job, err := cl.Download(t.Context(), "job-1", Destination{File: t.TempDir(), Format: "json"}, nil)
		if !errors.As(err, &fault) || job.State != c.want || job.Fault.Call != model.CallDownload {
			t.Errorf("%d %q from %s: %+v, %v", c.status, c.text, c.from, job, err)
		}
		if steps := job.Fault.Diagnosis.Steps; c.next != "" && (len(steps) != 1 || !strings.Contains(steps[0].Text, c.next)) {
			t.Errorf("%d %q from %s: %+v", c.status, c.text, c.from, steps)
		}
		if kept, err := cl.Job(t.Context(), "job-1"); err != nil || kept.State != c.want {
			t.Errorf("%d %q from %s: the ledger has %s, %v", c.status, c.text, c.from, kept.State, err)
		}
	}
}

// A result whose rows cannot be counted to the end is a result all the same, and nothing is
// counted of it.
func TestRowsThatCannotBeCountedAreNotGuessed(t *testing.T) {
	broken := `{"a":"` + strings.Repeat("x", 2*resultHead) + `"}` + "\n<html>\n{}\n"
	cl, _ := script(t, text(200, broken))
	accepted(t, cl)
	job, err := cl.Download(t.Context(), "job-1", Destination{File: t.TempDir(), Format: "ndjson"}, nil)
	if err != nil || job.State != model.JobDownloaded || job.Rows.Counted || job.Rows.Returned != 0 || !strings.Contains(job.Rows.Problem, "record 2") {
		t.Errorf("%+v, %v", job, err)
	}
}

func TestWhatAJobAskedForIsKept(t *testing.T) {
	cl, _ := script(t, text(200, `{"snapshot_id":"sd_1"}`))
	asked := trigger("http://lab.test/1?a=<b>&c", "http://lab.test/2")
	asked.Inputs[1].Extra = map[string]string{"limit": "10"}
	first := noerr.Try(cl.Trigger(t.Context(), asked)).Must(t)
	again, err := cl.Request(t.Context(), "sd_1")
	if err != nil || again.Repeats != first.ID || string(rows.Body(again.Inputs)) != string(rows.Body(asked.Inputs)) || again.Dataset != asked.Dataset {
		t.Errorf("%+v, %v", again, err)
	}
	second, err := cl.Trigger(t.Context(), again)
	if err != nil || second.Repeats != first.ID {
		t.Errorf("%+v, %v", second, err)
	}
	// An input that holds the key is not written down.
	third := noerr.Try(cl.Trigger(t.Context(), trigger("http://lab.test/?token="+servicetest.KeyValue))).Must(t)
	if _, err := cl.Request(t.Context(), third.ID); !errors.Is(err, ErrNoRequest) {
		t.Errorf("inputs with the key were kept: %v", err)
	}
	if _, err := cl.Request(t.Context(), "job-9"); !errors.Is(err, ErrUnknownJob) {
		t.Errorf("%v", err)
	}
}
