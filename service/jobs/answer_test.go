package jobs

import (
	"cmp"
	"database/sql"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/servicetest"
)

// answering is a service of the contract alone whose every answer is this one. It counts the calls.
func answering(t *testing.T, answer http.HandlerFunc) (*Runner, *atomic.Int32) {
	t.Helper()
	var calls atomic.Int32
	p := servicetest.API(t, func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		noerr.Want(t, noerr.From(io.Copy(io.Discard, r.Body)))
		answer(w, r)
	})
	p.Dialect = "documented"
	l, _ := withLedger(t)
	return newRunner(t, p, l, func(c *Config) { c.DownloadsDir = t.TempDir() }), &calls
}

// typed answers with a content type.
func typed(kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		text(200, body)(w, r)
	}
}

// Whatever a service answers to a trigger: rows without an identifier are the job's result, which nothing is asked for;
// anything else says no more than before.
func TestRowsThatComeAsTheAnswerAreTheResult(t *testing.T) {
	t.Parallel()
	long := `[` + strings.TrimSuffix(strings.Repeat("{\"title\":\""+strings.Repeat("x", 1000)+"\"},\n", 200), ",\n") + `]`
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		rows   int    // or none
		detail string // of what is no result
	}{
		"an array of objects":               {text(200, "[ {\"title\":\"a\"},\n  {\"title\": \"b\"} ]"), 2, ""},
		"rows that are errors":              {text(200, `[{"error":"dead","error_code":"dead_page"}]`), 1, ""},
		"more than the head":                {text(200, long), 200, ""},
		"one object a line":                 {text(200, "{\"title\":\"a\"}\n{\"title\":\"b\",\"items\":[{}]}\n{\"title\":\"c\"}"), 3, ""},
		"one line, by its type":             {typed("application/x-ndjson", "{\"title\":\"a\"}\n"), 1, ""},
		"one line of JSON lines":            {typed("application/jsonl", "{\"title\":\"a\"}\n"), 1, ""},
		"201, an object of records":         {text(201, `{"total":2,"records":[{"title":"a"},{"title":"b"}]}`), 2, ""},
		"an object of data":                 {text(200, `{"data":[{"title":"a"}],"status":"ok"}`), 1, ""},
		"an object of data, beyond a head":  {text(200, `{"status":"ok","results":`+long+`}`), 200, ""},
		"an object":                         {text(200, `{"title":"a"}`), 0, `HTTP 200 without an identifier: {"title":"a"}`},
		"an empty array":                    {text(200, `[]`), 0, "HTTP 200 without an identifier: []"},
		"an empty array of records":         {text(200, `{"records":[]}`), 0, `HTTP 200 without an identifier: {"records":[]}`},
		"an array of texts":                 {text(200, `["queued"]`), 0, `HTTP 200 without an identifier: ["queued"]`},
		"a field that is not one of rows":   {text(200, `{"errors":[{"message":"no"}]}`), 0, `HTTP 200 without an identifier: [{"message":"no"}]`},
		"several identifiers":               {text(200, `[{"snapshot_id":"s_1"},{"snapshot_id":"s_2"}]`), 0, "HTTP 200 without an identifier, but with identifiers or states in a list: the answer is in FILE"},
		"identifiers on lines":              {text(200, "{\"snapshot\":\"s_1\"}\n{\"snapshot\":\"s_2\"}"), 0, "HTTP 200 without an identifier, but with identifiers or states in a list: the answer is in FILE"},
		"an identifier of anything":         {text(200, `{"results":[{"id":"x","status":"queued","message":"wait"}]}`), 0, "HTTP 200 without an identifier, but with identifiers or states in a list: the answer is in FILE"},
		"rows that begin with an id":        {text(200, `[{"id":"x","status":"sold"},{"id":"y","title":"a"}]`), 2, ""},
		"rows beside a list of states":      {text(200, `{"data":[{"status":"ok"}],"rows":[{"title":"a"}],"items":[{"id":"x"}]}`), 1, ""},
		"one identifier in a list":          {text(200, `[{"snapshot_id":"s_1"}]`), 0, ""},
		"one identifier in a list of data":  {text(200, `{"data":[{"job_id":"s_1"}]}`), 0, ""},
		"an error":                          {text(200, `{"error":"no"}`), 0, "HTTP 200 without an identifier: no"},
		"an error, by its type a line":      {typed("application/x-ndjson", `{"error":"no"}`), 0, "HTTP 200 without an identifier: no"},
		"a page":                            {text(200, "<html><h1>Welcome</h1>"), 0, "HTTP 200 without an identifier: Welcome"},
		"rows that are no JSON":             {text(200, "[{\"title\":\"a\"},\n{\"title\""), 0, "HTTP 200 without an identifier, and the rows that came are not whole: they are in FILE"},
		"rows that break off":               {breakAfter("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"title\":\"a\"}\n{\"title\":\"b\"}\n"), 0, "HTTP 200 without an identifier, and the rows that came are not whole: they are in FILE"},
		"rows and an identifier beside":     {text(200, `{"snapshot_id":"s_1","data":[{"title":"a"}]}`), 0, ""},
		"rows that are refused as a status": {text(500, `[{"title":"a"}]`), 0, `HTTP 500: [{"title":"a"}]`},
	} {
		cl, calls := answering(t, c.answer)
		job := noerr.Try(cl.Trigger(t.Context(), trigger("http://lab.test/1"))).Must(t)
		if strings.Contains(name, "one identifier in") || name == "rows and an identifier beside" {
			if job.State != model.JobAccepted || job.Snapshot != "s_1" {
				t.Errorf("%s: %+v", name, job)
			}
			continue
		}
		file := cl.answerFile(job) + ".answer"
		if c.rows == 0 {
			_, err := os.Stat(file)
			if detail := strings.ReplaceAll(job.Detail, file, "FILE"); job.State != model.JobMayHave || detail != c.detail || (err == nil) != strings.Contains(c.detail, "FILE") {
				t.Errorf("%s: %s: %q; %v", name, job.State, detail, err)
			}
			continue
		}
		if job.State != model.JobReady || job.Detail != "the service answered with the rows themselves" || job.Records != c.rows || job.Accepted.IsZero() || job.Fault.Any() || !job.InAnswer() {
			t.Errorf("%s: %+v", name, job)
			continue
		}
		table := noerr.Try(cl.Records(t.Context(), job.ID, 1)).Must(t)
		for _, format := range []string{"json", "ndjson", "csv"} {
			got, err := cl.Download(t.Context(), job.ID, Destination{Format: format}, nil)
			if err != nil || got.State != model.JobDownloaded || got.Rows.Returned != c.rows || got.Lacking() != 0 || filepath.Base(got.File) != job.ID+"."+format {
				t.Errorf("%s as %s: %+v, %v", name, format, got, err)
			}
		}
		if want := map[string]string{"rows that are errors": "error", "rows that begin with an id": "id"}; table.Columns[0].Name != cmp.Or(want[name], "title") || calls.Load() != 1 {
			t.Errorf("%s: %+v after %d calls", name, table, calls.Load())
		}
	}
}

// The key may be repeated in what comes; it is in no file.
func TestRowsThatRepeatTheKeyAreKeptWithoutIt(t *testing.T) {
	cl, _ := answering(t, text(200, `[{"title":"`+servicetest.KeyValue+`"}]`))
	job := launched(t, cl, trigger("http://lab.test/1"), model.JobReady)
	noerr.Must(t, noerr.From(cl.Download(t.Context(), job.ID, Destination{}, nil)))
	servicetest.NoSecretUnder(t, filepath.Dir(cl.cfg.Ledger.Path()))
	servicetest.NoSecretUnder(t, cl.cfg.DownloadsDir)
}

// A process that dies after it kept the rows and before the ledger has them leaves a job that is ready at the next start.
func TestRowsOutliveTheProcessThatKeptThem(t *testing.T) {
	cl, calls := answering(t, text(200, `[{"title":"a"},{"title":"b"}]`))
	failing(t, cl, "UPDATE ON jobs WHEN NEW.state = 'ready'")
	if job, err := cl.Trigger(t.Context(), trigger("http://lab.test/1")); err == nil || job.State != model.JobReady {
		t.Errorf("%+v, %v", job, err)
	}
	dir := filepath.Dir(cl.cfg.Ledger.Path())
	noerr.Must(t, cl.cfg.Ledger.Close())
	raw := noerr.Try(sql.Open("sqlite", cl.cfg.Ledger.Path())).Must(t)
	noerr.Must(t, noerr.From(raw.ExecContext(t.Context(), "DROP TRIGGER full")))
	noerr.Must(t, raw.Close())
	next := newRunner(t, model.Profile{}, func(c *Config) { *c, c.Queues = cl.cfg, nil })
	next.cfg.Ledger = ledgerIn(t, dir)
	for _, want := range []int{1, 0} {
		settled, err := next.Recover(t.Context())
		if err != nil || len(settled) != want || want > 0 && (settled[0].State != model.JobReady || settled[0].Records != 2 || settled[0].Fault.Any()) {
			t.Errorf("%+v, %v", settled, err)
		}
	}
	job := noerr.Try(next.Download(t.Context(), "job-1", Destination{}, nil)).Must(t)
	if job.Rows.Returned != 2 || calls.Load() != 1 {
		t.Errorf("%+v after %d calls", job, calls.Load())
	}
}

// A process dies between two steps of keeping an answer: what is whole is counted by the next one, and of anything else
// the job says where it is. Rows of another ledger's job of this number are not its own.
func TestAnAnswerThatAProcessLeftIsNotLost(t *testing.T) {
	for name, c := range map[string]struct {
		text, ending string
		begun        time.Duration // later than the job
		rows         int
		detail       string
	}{
		"whole, not counted":                {"[{\"title\":\"a\"}]", ".rows", 0, 1, withRows},
		"whole or not":                      {"{\"title\":\"a\"}\n", ".answer", 0, 0, "HTTP 503: what came as the answer is in FILE"},
		"of a job with this number, before": {"[{\"title\":\"a\"}]", ".rows", -time.Second, 0, "HTTP 503"},
	} {
		cl, _ := answering(t, text(503, ""))
		job := launched(t, cl, trigger("http://lab.test/1"), model.JobMayHave)
		other := job
		other.Created = job.Created.Add(c.begun)
		file := cl.answerFile(other) + c.ending
		noerr.Must(t, os.MkdirAll(filepath.Dir(file), 0o700))
		noerr.Must(t, os.WriteFile(file, []byte(c.text), 0o600))
		for range 2 {
			noerr.Must(t, noerr.From(cl.Recover(t.Context())))
			job = noerr.Try(cl.Job(t.Context(), job.ID)).Must(t)
			if detail := strings.ReplaceAll(job.Detail, file, "FILE"); detail != c.detail || c.rows > 0 && job.Records != c.rows || (job.State == model.JobReady) != (c.rows > 0) {
				t.Errorf("%s: %s %q, %d", name, job.State, detail, job.Records)
			}
		}
	}
}

// The folder of the ledger may be named like a pattern.
func TestAnAnswerIsFoundInAnyFolder(t *testing.T) {
	cl, _ := answering(t, text(503, ""))
	dir := filepath.Join(t.TempDir(), "[1]")
	noerr.Must(t, os.Mkdir(dir, 0o700))
	cl.cfg.Ledger = ledgerIn(t, dir)
	file := cl.answerFile(launched(t, cl, trigger("http://lab.test/1"), model.JobMayHave)) + rowsSuffix
	noerr.Must(t, os.MkdirAll(filepath.Dir(file), 0o700))
	noerr.Must(t, os.WriteFile(file, []byte(`[{"title":"a"}]`), 0o600))
	if settled, err := cl.Recover(t.Context()); err != nil || len(settled) != 1 || settled[0].State != model.JobReady {
		t.Errorf("%+v, %v", settled, err)
	}
}

// An answer is named by what it is: one with rows that can be read, and any other.
func TestAnAnswerIsNamedByWhatItIs(t *testing.T) {
	cl, _ := answering(t, text(200, ""))
	file := cl.answerFile(model.Job{ID: "job-1"})
	noerr.Must(t, os.MkdirAll(filepath.Dir(file), 0o700))
	for text, whole := range map[string]bool{"[{\"title\":\"a\"}]": true, "[{\"title\"": false} {
		noerr.Must(t, os.WriteFile(file+answerSuffix, []byte(text), 0o600))
		_, err := cl.takeAnswer(file)
		_, kept := os.Stat(file + map[bool]string{true: rowsSuffix, false: answerSuffix}[whole])
		if (err == nil) != whole || kept != nil {
			t.Errorf("%s: %v, %v", text, err, kept)
		}
	}
}

// What is not whole when the process dies is no result.
func TestAKillWhileTheRowsComeLeavesAJobThatMayHaveStarted(t *testing.T) {
	arrived := make(chan struct{}, 1)
	p := servicetest.API(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "{\"title\":\"a\"}\n{\"title\":\"b\"}\n"+strings.Repeat("{\"title\":\"c\"}\n", 10000))
		noerr.Want(t, http.NewResponseController(w).Flush())
		arrived <- struct{}{}
		<-r.Context().Done()
	})
	dir := t.TempDir()
	_, kill := startVictim(t, "trigger", dir, p.BaseURL)
	select {
	case <-arrived:
	case <-time.After(2 * time.Minute): // ends a hang
		t.Fatal("no POST came")
	}
	kill()
	c := newRunner(t, p, func(o *Config) { o.Ledger = ledgerIn(t, dir) })
	settled, err := c.Recover(t.Context())
	if err != nil || len(settled) != 1 || settled[0].State != model.JobMayHave {
		t.Errorf("%+v, %v", settled, err)
	}
}

// Rows that are gone are said to be.
func TestRowsThatAreGone(t *testing.T) {
	cl, _ := answering(t, text(200, `[{"title":"a"}]`))
	job := launched(t, cl, trigger("http://lab.test/1"), model.JobReady)
	noerr.Must(t, os.RemoveAll(cl.cfg.Ledger.Path()+".answers"))
	_, err := cl.Download(t.Context(), job.ID, Destination{}, nil)
	if err == nil || !strings.Contains(err.Error(), "the service answered with the rows themselves, and they cannot be read: open ") {
		t.Error(err)
	}
}

// Where the rows cannot be kept, the job may have started.
func TestRowsThatCannotBeKept(t *testing.T) {
	cl, _ := answering(t, text(200, `[{"title":"a"}]`))
	noerr.Must(t, os.WriteFile(cl.cfg.Ledger.Path()+".answers", nil, 0o600))
	job := launched(t, cl, trigger("http://lab.test/1"), model.JobMayHave)
	if !strings.HasPrefix(job.Detail, "HTTP 200 without an identifier, and the rows that came could not be kept: ") {
		t.Error(job.Detail)
	}
}
