package jobs

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/exchange"
)

// A download that broke off says in the ledger how much came, and where that is.
func TestTheLedgerNamesWhatACutDownloadLeft(t *testing.T) {
	cl, _ := script(t, breakAfter("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"n\":1}\n{\"n\""))
	accepted(t, cl)
	dest := filepath.Join(t.TempDir(), "out.ndjson")
	_, err := cl.Download(t.Context(), "job-1", Destination{File: dest}, nil)
	var kept *PartialError
	if !errors.As(err, &kept) {
		t.Fatal(err)
	}
	job := noerr.Try(cl.Job(t.Context(), "job-1")).Must(t)
	d, step := job.Fault.Diagnosis, job.Steps[len(job.Steps)-1].Text
	if d.Cause != model.CauseIncomplete || len(d.Steps) != 1 || d.Steps[0].Text != "ask again: what came is not the whole answer" || d.Summary != "The body ended early, after 12 bytes." {
		t.Errorf("%+v", d)
	}
	for _, e := range d.Evidence {
		if strings.Contains(e.Text, "target") {
			t.Errorf("%q of a call that has no target", e.Text)
		}
	}
	if !strings.Contains(step, "the answer broke off after 12 bytes") || !strings.Contains(step, "7 bytes are kept in "+dest+".part") {
		t.Errorf("%q", step)
	}
}

// So does an answer about a job's state.
func TestAnAnswerAboutAJobThatBreaksOffIsNone(t *testing.T) {
	cl, _ := script(t, breakAfter("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"sta"))
	accepted(t, cl)
	call, err := cl.callFor(t.Context(), "job-1")
	noerr.Must(t, err)
	_, err = cl.poll(t.Context(), call)
	var d *exchange.CallError
	if !errors.As(err, &d) || d.Diagnosis.Summary != "The body ended early, after 5 bytes." || !strings.Contains(d.Text, "broke off after 5 bytes") {
		t.Errorf("%+v, %v", d, err)
	}
}
