package jobs

import (
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/exchange"
	"zonedeck/service/servicetest"
)

// What many answers of 429 come to, with its source, and how many there were: of each trigger, and of other calls.
func TestAnAnswerOf429SaysWhatManyOfThemComeTo(t *testing.T) {
	j, _ := withLedger(t)
	cl := newRunner(t, servicetest.API(t, text(429, "slow down")), j)
	want := func(n int) []string {
		return []string{
			fmt.Sprintf("answer %d of HTTP 429 that this run of zonedeck saw from it within 5 minutes; at 20 nothing more is sent for a while", n),
			"25 answers of HTTP 429 within 5 minutes block the caller's address on every API until a person lifts it: public documentation of a service of this kind says so; the contract asks to back off and shows no limit (contract 7, 8)",
		}
	}
	notes := func(d model.Diagnosis) (out []string) {
		for _, e := range d.Evidence {
			if e.Kind == "note" {
				out = append(out, e.Text)
			}
		}
		return out
	}
	for n := 1; n <= 20; n++ {
		job := noerr.Try(cl.Trigger(t.Context(), trigger(fmt.Sprintf("http://lab.test/%d", n)))).Must(t)
		if got := notes(job.Fault.Diagnosis); !slices.Equal(got, want(n)) {
			t.Fatalf("trigger %d: %q", n, got)
		}
	}
	held, err := cl.Trigger(t.Context(), trigger("http://lab.test/held"))
	if err != nil || held.State != model.JobNotSent {
		t.Fatal(held.State, err)
	}
	if got := notes(held.Fault.Diagnosis); !slices.Equal(got, want(0)[1:]) {
		t.Errorf("held back: %q", got)
	}
}

// What is shown is what the answer asks for, also where the program itself would ask again earlier.
func TestALongWaitThatATriggerIsAskedForIsShownAsItIs(t *testing.T) {
	j, _ := withLedger(t)
	cl := newRunner(t, servicetest.API(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "900")
		w.WriteHeader(http.StatusTooManyRequests)
	}), j)
	job := noerr.Try(cl.Trigger(t.Context(), trigger("http://lab.test/1"))).Must(t)
	at, ok := job.Fault.RetryAt()
	if d := job.Fault.Diagnosis; !ok || at.Sub(job.Fault.At) != 15*time.Minute || !strings.HasSuffix(d.Summary, "asks to wait 15m0s.") {
		t.Errorf("%v after the answer, %v: %s", at.Sub(job.Fault.At), ok, d.Summary)
	}
}

func TestADownloadThatIsTooFastSaysSo(t *testing.T) {
	j, _ := withLedger(t)
	cl := newRunner(t, servicetest.API(t, text(429, "slow down")), j)
	accepted(t, cl)
	_, err := cl.Download(t.Context(), "job-1", Destination{File: filepath.Join(t.TempDir(), "out.json"), Format: "json"}, nil)
	var fault *exchange.CallError
	if !errors.As(err, &fault) {
		t.Fatal(err)
	}
	if last := fault.Diagnosis.Evidence[len(fault.Diagnosis.Evidence)-1].Text; !strings.HasPrefix(last, "25 answers of HTTP 429 within 5 minutes block") {
		t.Errorf("%q", last)
	}
}

func TestAnotherRefusalSaysNothingOf429(t *testing.T) {
	j, _ := withLedger(t)
	cl := newRunner(t, servicetest.API(t, text(403, "no")), j)
	job := noerr.Try(cl.Trigger(t.Context(), trigger("http://lab.test/1"))).Must(t)
	for _, e := range job.Fault.Diagnosis.Evidence {
		if e.Kind == "note" {
			t.Errorf("%q", e.Text)
		}
	}
}
