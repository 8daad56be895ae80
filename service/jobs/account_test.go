package jobs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
	"zonedeck/service/journal"
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
	lines, err := history.Entries(ctx, model.HistoryFilter{Kind: model.HistoryJob})
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
		changed(t, cl, "job-1", func(job *model.Job) { job.State = c.from })
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

// The history calls the download of a worthless result as its rows failed, and any other nothing.
func TestTheHistoryOfAWorthlessResultSaysWhy(t *testing.T) {
	for rows, want := range map[string]model.Cause{
		"{\"url\":null}\n{\"error\":\"gone\",\"error_code\":\"dead_page\"}\n": model.CauseTargetError,
		"{\"a\":null}\n": model.CauseEmptyBody,
		"{\"a\":1}\n":    "",
	} {
		cl, _ := script(t, text(200, rows))
		history, _ := servicetest.Journal(t)
		cl.cfg.Journal = history
		accepted(t, cl)
		noerr.Must(t, noerr.From(cl.Download(t.Context(), "job-1", Destination{File: t.TempDir(), Format: "ndjson"}, nil)))
		lines := noerr.Try(history.Entries(t.Context(), model.HistoryFilter{Kind: model.HistoryJob})).Must(t)
		if len(lines) == 0 || !strings.Contains(lines[0].Text, "downloaded") || lines[0].Cause != want || (lines[0].Class == "") != (want == "") {
			t.Errorf("%s: %+v", rows, lines)
		}
	}
}

// A service that repeats what it was asked gives nothing, whether or not its rows name their inputs.
func TestRowsThatHoldOnlyWhatWasAskedAreEmpty(t *testing.T) {
	cl, _ := script(t, text(200, `{"snapshot_id":"sd_1"}`), text(200, `{"url":"http://lab.test/1","name":null}
{"url":"http://lab.test/2","name":"Lamp"}
`))
	noerr.Must(t, noerr.From(cl.Trigger(t.Context(), trigger("http://lab.test/1", "http://lab.test/2"))))
	changed(t, cl, "job-1", func(job *model.Job) { job.State = model.JobReady })
	job, err := cl.Download(t.Context(), "job-1", Destination{File: t.TempDir(), Format: "ndjson"}, nil)
	if err != nil || !job.Rows.Counted || job.Rows.Useful != 1 || job.Rows.Empty != 1 {
		t.Errorf("%+v, %v", job.Rows, err)
	}
	missing, err := cl.Missing(t.Context(), "job-1")
	if err != nil || len(missing.Request.Inputs) != 1 || missing.Request.Inputs[0].URL != "http://lab.test/1" {
		t.Errorf("%+v, %v", missing, err)
	}
}

// What has one of the first codes is counted under it, and whatever comes with a code beyond the bound together.
func TestCodesBeyondTheBoundAreCountedTogether(t *testing.T) {
	var out model.JobRows
	for range 2 {
		for i := range maxRowCodes + 5 {
			addError(&out, dialect.Embedded(), rows.Row{Error: true, Code: fmt.Sprint("code_", i)})
		}
	}
	if n := len(out.Errors); n != maxRowCodes+1 || out.Errors[n-1].Code != "" || out.Errors[n-1].Rows != 10 || out.Errors[0].Rows != 2 {
		t.Errorf("%+v", out.Errors)
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

// seenRows is a Coverage that remembers.
type seenRows struct {
	rows    int
	job     model.Job
	counted model.JobRows
	err     error
}

func (s *seenRows) Row(rows.Row) { s.rows++ }

func (s *seenRows) Keep(_ context.Context, counted model.JobRows) (model.JobDrift, error) {
	s.counted = counted
	return model.JobDrift{Text: "1 field emptied since job-0", Fields: 1, Since: "job-0"}, s.err
}

// due has a downloaded result whose fields are due, and what they will be shown to.
func due(t *testing.T, answer http.HandlerFunc) (*Runner, model.Job, *seenRows) {
	t.Helper()
	cl, _ := script(t, answer)
	history, _ := servicetest.Journal(t)
	seen := &seenRows{}
	cl.cfg.Journal = history
	cl.cfg.Coverages = coverages(func(job model.Job) Coverage {
		seen.job = job
		return seen
	})
	accepted(t, cl)
	job, err := cl.Download(t.Context(), "job-1", Destination{File: t.TempDir()}, nil)
	if err != nil || !job.Rows.FieldsDue || seen.rows != 0 {
		t.Fatalf("%+v, %v, %+v", job.Rows, err, seen)
	}
	return cl, job, seen
}

// drifts are the lines of the timeline that tell of drift.
func drifts(t *testing.T, cl *Runner) []model.HistoryEntry {
	t.Helper()
	lines := noerr.Try(cl.cfg.Journal.(*journal.Journal).Entries(t.Context(), model.HistoryFilter{Kind: model.HistoryJob, Class: model.ClassParsingDrift})).Must(t)
	return lines
}

// The fields of a result are looked at after its download, once, whatever was killed or full in
// between.
func TestTheFieldsOfAResultAreSeenOnce(t *testing.T) {
	cl, _, seen := due(t, text(200, "{\"a\":1}\n{\"error\":\"dead\"}\n"))
	seen.err = errors.New("the disk is full")
	if _, err := cl.SeeFields(t.Context(), "job-1", nil); !errors.Is(err, seen.err) || len(drifts(t, cl)) != 0 {
		t.Errorf("%v", err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := cl.SeeFields(stopped, "job-1", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if list, err := cl.cfg.Ledger.FieldsDue(t.Context(), seen.job.Profile); err != nil || len(list) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
	for _, see := range []func() error{
		func() error { return cl.SeeDue(t.Context()) },
		func() error { return noerr.From(cl.SeeFields(t.Context(), "job-1", nil)) },
	} {
		*seen = seenRows{job: seen.job}
		noerr.Must(t, see())
		if lines := drifts(t, cl); len(lines) != 1 || lines[0].Ref != "job-1" || lines[0].Text != "1 field emptied since job-0 ("+seen.job.Dataset+")" {
			t.Errorf("%+v", lines)
		}
		if list, err := cl.cfg.Ledger.FieldsDue(t.Context(), seen.job.Profile); err != nil || len(list) != 0 {
			t.Errorf("%+v, %v", list, err)
		}
	}
	if job := noerr.Try(cl.Job(t.Context(), "job-1")).Must(t); job.Doubt() != "drift: 1 field emptied since job-0" {
		t.Errorf("the job is %q", job.Label())
	}
	if err := cl.SeeDue(t.Context()); err != nil || seen.rows != 0 {
		t.Errorf("the second look saw %d rows", seen.rows)
	}
}

func TestTheFieldsOfAFileThatHasChangedAreNotSeen(t *testing.T) {
	for name, change := range map[string]func(file string) error{
		"it is gone":             os.Remove,
		"another size":           func(file string) error { return os.WriteFile(file, []byte("[]"), 0o600) },
		"the same size":          func(file string) error { return os.WriteFile(file, []byte("[{\"b\":2}]"), 0o600) },
		"the same size, no JSON": func(file string) error { return os.WriteFile(file, []byte("[{\"b\":2}}"), 0o600) },
	} {
		cl, job, seen := due(t, text(200, "{\"a\":1}\n"))
		noerr.Must(t, change(job.File))
		if _, err := cl.SeeFields(t.Context(), "job-1", nil); err != nil || seen.counted.Counted || len(drifts(t, cl)) != 0 {
			t.Errorf("%s: %v, %+v", name, err, seen)
		}
		job, err := cl.Job(t.Context(), "job-1")
		if err != nil || job.Rows.FieldsDue || !job.Rows.Counted || !strings.Contains(job.Steps[len(job.Steps)-1].Text, "were not looked at") {
			t.Errorf("%s: %+v, %v", name, job, err)
		}
	}
}

// Whoever follows jobs looks at what is due, and at what is downloaded meanwhile.
func TestWhoFollowsLooksAtTheFieldsThatAreDue(t *testing.T) {
	var n atomic.Int32
	cl, _, _ := due(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, "{\"a\":%d}\n", n.Add(1)) // of what is the same the fields may be known already
	})
	p, _, err := exchange.Current(t.Context(), cl.cfg.Source)
	noerr.Must(t, err)
	kept := make(chan struct{}, 2)
	cl.cfg.Coverages = coverages(func(model.Job) Coverage { return keptRows{kept} })
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	end := cl.seeDue(ctx, p.Name)
	defer stop()
	defer end()
	for _, when := range []string{"what was due", "what is downloaded"} {
		select {
		case <-kept:
		case <-ctx.Done():
			t.Fatal("nobody looked at " + when)
		}
		noerr.Must(t, noerr.From(cl.Download(ctx, "job-1", Destination{File: t.TempDir()}, nil)))
	}
}

// keptRows is a Coverage that tells that it was kept.
type keptRows struct{ kept chan<- struct{} }

func (keptRows) Row(rows.Row) {}

func (k keptRows) Keep(context.Context, model.JobRows) (model.JobDrift, error) {
	k.kept <- struct{}{}
	return model.JobDrift{}, nil
}

func TestAResultThatFailedIsNotSeen(t *testing.T) {
	cl, _ := script(t, text(400, "Snapshot is expired"))
	cl.cfg.Coverages = coverages(func(model.Job) Coverage {
		t.Error("its rows are seen")
		return &seenRows{}
	})
	accepted(t, cl)
	if _, err := cl.Download(t.Context(), "job-1", Destination{File: t.TempDir()}, nil); err == nil {
		t.Error("there is no result")
	}
}
