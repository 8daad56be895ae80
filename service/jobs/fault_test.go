package jobs

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
	"zonedeck/service/pace"
	"zonedeck/service/servicetest"
	"zonedeck/service/work"
)

func TestWithoutAProfileNoJobIsTouched(t *testing.T) {
	cl, asked := script(t, text(200, "[]"))
	accepted(t, cl)
	gone := errors.New("the profile cannot be read")
	cl.cfg.Source = servicetest.Source{Base: cl.cfg.Source, ProfileBy: func(context.Context) (model.Profile, error) { return model.Profile{}, gone }}
	for name, do := range map[string]func() error{
		"trigger": func() error { _, err := cl.Trigger(t.Context(), trigger("http://lab.test/1")); return err },
		"same": func() error {
			_, err := cl.SameInputs(t.Context(), trigger("http://lab.test/1"), time.Hour)
			return err
		},
		"watch":    func() error { _, err := cl.Watch(t.Context(), "job-1", nil); return err },
		"cancel":   func() error { _, err := cl.CancelJob(t.Context(), "job-1"); return err },
		"download": func() error { _, err := cl.Download(t.Context(), "job-1", Destination{}, nil); return err },
		"records":  func() error { _, err := cl.Records(t.Context(), "job-1", 1); return err },
	} {
		if err := do(); !errors.Is(err, gone) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if jobs, _, err := cl.Jobs(t.Context(), 0); err != nil || len(jobs) != 1 || asked.Load() != 0 {
		t.Errorf("%d jobs, %d calls, %v", len(jobs), asked.Load(), err)
	}
}

func TestAJobWithoutAnIdentifierIsNotAskedFor(t *testing.T) {
	cl, asked := script(t, text(200, "[]"))
	job := noerr.Try(cl.cfg.Ledger.Begin(t.Context(), model.Job{Profile: "test", Dataset: "d", Done: -1, Records: -1}, "", nil, nil)).Must(t)
	if _, err := cl.Download(t.Context(), job.ID, Destination{}, nil); !errors.Is(err, ErrNoSnapshot) {
		t.Errorf("download: %v", err)
	}
	if table, err := cl.Records(t.Context(), job.ID, 1); !errors.Is(err, ErrNoSnapshot) || table.Total != -1 {
		t.Errorf("records: %+v, %v", table, err)
	}
	if table, err := cl.Records(t.Context(), "job-9", 1); !errors.Is(err, ErrUnknownJob) || table.Total != -1 {
		t.Errorf("an unknown job: %+v, %v", table, err)
	}
	if _, err := cl.CancelJob(t.Context(), "job-9"); !errors.Is(err, ErrUnknownJob) {
		t.Errorf("an unknown job is cancelled: %v", err)
	}
	if asked.Load() != 0 {
		t.Errorf("%d calls", asked.Load())
	}
}

func TestATriggerThatCannotBeSentLeavesNoJob(t *testing.T) {
	cl, _ := script(t, text(200, `{"snapshot_id":"sd_1"}`))
	p := noerr.Try(cl.cfg.Source.Profile(t.Context())).Must(t)
	p.BaseURL = "nowhere"
	nowhere := newRunner(t, p, func(c *Config) { c.Ledger = cl.cfg.Ledger })
	var re *model.RequestError
	if _, err := nowhere.Trigger(t.Context(), trigger("http://lab.test/1")); !errors.As(err, &re) || re.Field() != "profile" {
		t.Errorf("no base URL: %v", err)
	}
	if jobs, _, err := cl.Jobs(t.Context(), 0); err != nil || len(jobs) != 0 {
		t.Errorf("%d jobs, %v", len(jobs), err)
	}
	noerr.Must(t, cl.cfg.Ledger.Close())
	if job, err := cl.Trigger(t.Context(), trigger("http://lab.test/1")); err == nil || job.ID != "" {
		t.Errorf("a ledger that is closed: %+v, %v", job, err)
	}
}

func TestAnOutcomeThatCannotBeWrittenDownIsSaid(t *testing.T) {
	var cl *Runner
	cl, _ = script(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_ = cl.cfg.Ledger.Close()
		text(200, `{"snapshot_id":"sd_7"}`)(w, r)
	})
	job, err := cl.Trigger(t.Context(), trigger("http://lab.test/1"))
	if err == nil || !strings.Contains(err.Error(), `"sd_7"`) || !strings.Contains(err.Error(), "could not be written down") ||
		job.ID != "job-1" || job.State != model.JobAccepted || job.Snapshot != "sd_7" {
		t.Errorf("%+v, %v", job, err)
	}
}

func TestACancelThatBreaksSaysWhere(t *testing.T) {
	cl, _ := script(t, breakAfter(""))
	accepted(t, cl)
	job, err := cl.CancelJob(t.Context(), "job-1")
	var d *exchange.CallError
	if !errors.As(err, &d) || d.Doing != "cancelling job job-1" || d.Status != 0 || d.Text == "" || job.State != model.JobAccepted {
		t.Errorf("%+v, %v", job, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cl, _ = script(t, func(_ http.ResponseWriter, r *http.Request) { cancel(); <-r.Context().Done() })
	accepted(t, cl)
	if _, err := cl.CancelJob(ctx, "job-1"); !errors.Is(err, context.Canceled) {
		t.Errorf("the caller left: %v", err)
	}
}

func TestAJobThatEndsWhileItIsCancelledStaysEnded(t *testing.T) {
	var cl *Runner
	cl, _ = script(t, func(w http.ResponseWriter, r *http.Request) {
		_, err := cl.cfg.Ledger.Change(context.WithoutCancel(r.Context()), "job-1", func(job *model.Job) (string, error) {
			job.State = model.JobReady
			return "", nil
		})
		noerr.Want(t, err)
		text(200, "OK")(w, r)
	})
	accepted(t, cl)
	if job, err := cl.CancelJob(t.Context(), "job-1"); err != nil || job.State != model.JobReady {
		t.Errorf("%+v, %v", job, err)
	}
	if _, err := cl.CancelJob(t.Context(), "job-1"); !errors.Is(err, ErrJobOver) {
		t.Errorf("again: %v", err)
	}
}

func TestWhereADownloadCannotGo(t *testing.T) {
	cl, asked := script(t, text(200, "[1]"))
	accepted(t, cl)
	var re *model.RequestError
	if _, err := cl.Download(t.Context(), "job-1", Destination{}, nil); !errors.As(err, &re) || re.Field() != "dest" {
		t.Errorf("no folder is set: %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	noerr.Must(t, os.WriteFile(file, nil, 0o600))
	cl.cfg.DownloadsDir = filepath.Join(file, "downloads")
	if _, err := cl.Download(t.Context(), "job-1", Destination{}, nil); err == nil || !strings.Contains(err.Error(), "the folder of downloads") {
		t.Errorf("a folder that cannot be made: %v", err)
	}
	folder := t.TempDir()
	noerr.Must(t, os.Mkdir(filepath.Join(folder, "job-1_sd_1.json"), 0o700))
	if _, err := cl.Download(t.Context(), "job-1", Destination{File: folder}, nil); err == nil || !strings.Contains(err.Error(), "this is a folder: name a file in it") {
		t.Errorf("a folder has the name of the file: %v", err)
	}
	if asked.Load() != 0 {
		t.Errorf("%d calls", asked.Load())
	}
	cl.cfg.DownloadsDir = filepath.Join(t.TempDir(), "downloads")
	noerr.Want(t, noerr.From(cl.Download(t.Context(), "job-1", Destination{}, nil)))
	if at, err := os.Stat(cl.cfg.DownloadsDir); err != nil || runtime.GOOS != "windows" && at.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", at.Mode(), err)
	}
}

// bomb is an answer that inflates beyond measure.
func bomb(t *testing.T) http.HandlerFunc {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	noerr.Must(t, noerr.From(z.Write(make([]byte, 20<<20))))
	noerr.Must(t, z.Close())
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(b.Bytes())
	}
}

func TestAResultThatInflatesBeyondMeasureIsRefused(t *testing.T) {
	cl, _ := script(t, bomb(t))
	accepted(t, cl)
	dir := t.TempDir()
	_, err := cl.Download(t.Context(), "job-1", Destination{File: filepath.Join(dir, "x.csv")}, nil)
	var d *exchange.CallError
	if !errors.As(err, &d) || !strings.Contains(d.Text, "beyond measure") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "x.csv")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func TestALargeDownloadTellsItsProgress(t *testing.T) {
	body := `"` + strings.Repeat("x", 3*pieceSize) + "\"\n"
	cl, _ := script(t, text(200, body))
	accepted(t, cl)
	var told []int64
	job, err := cl.Download(t.Context(), "job-1", Destination{File: filepath.Join(t.TempDir(), "x.csv")}, func(p Progress) { told = append(told, p.Bytes) })
	if err != nil || job.Rows.Returned != 1 || len(told) < 2 || told[len(told)-1] != int64(len(body)) {
		t.Fatalf("told %v of %d, %v", told, len(body), err)
	}
	for i, n := range told[:len(told)-1] {
		if i > 0 && n-told[i-1] < pieceSize || n < pieceSize {
			t.Errorf("told %v: a step is %d bytes", told, pieceSize)
		}
	}
}

// pipes runs a Runner against h without a network and on the bubble's clock.
func pipes(t *testing.T, h http.HandlerFunc, f func(t *testing.T, cl *Runner)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		dial, stop := servicetest.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !noParts(w, r) {
				h(w, r)
			}
		}))
		j, _ := withLedger(t)
		cl := newRunner(t, servicetest.Profile("http://api.test"), j, func(c *Config) {
			c.Wire = exchange.New(exchange.Config{Connect: dial})
		})
		accepted(t, cl)
		f(t, cl)
		noerr.Want(t, cl.cfg.Ledger.Close())
		stop()
	})
}

func TestADownloadThatStallsIsGivenUp(t *testing.T) {
	pipes(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "[")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}, func(t *testing.T, cl *Runner) {
		began := time.Now()
		_, err := cl.Download(t.Context(), "job-1", Destination{File: filepath.Join(t.TempDir(), "x.json")}, nil)
		var fault *exchange.CallError
		if !errors.As(err, &fault) || fault.Diagnosis.Class != model.ClassTimeout || !strings.Contains(fault.Text, "nothing came for") || time.Since(began) != downloadStall {
			t.Errorf("after %v: %+v, %v", time.Since(began), fault, err)
		}
	})
}

func TestWhatTheServiceSaysOfResultsThatAreNotReady(t *testing.T) {
	for text, want := range map[string]string{"": "the results are not ready yet", "in 10s": "the results are not ready yet: in 10s"} {
		if got := (&notReadyError{Text: text}).Error(); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
	for want, e := range map[string]*exchange.CallError{
		"asking: no answer":   {Doing: "asking", Text: "no answer"},
		"asking: HTTP 500":    {Doing: "asking", Status: 500},
		"asking: HTTP 500: x": {Doing: "asking", Status: 500, Text: "x"},
	} {
		if got := e.Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestACallThatIsHeldBackSaysUntilWhen(t *testing.T) {
	cl, _ := script(t, text(429, "slow down"))
	accepted(t, cl)
	var d *exchange.CallError
	for range pace.MaxRefused {
		if _, err := cl.CancelJob(t.Context(), "job-1"); !errors.As(err, &d) || d.Status != 429 {
			t.Fatal(err)
		}
	}
	_, err := cl.CancelJob(t.Context(), "job-1")
	if !errors.As(err, &d) || d.Status != 0 || d.Diagnosis.Class != model.ClassTooFast || d.After <= 0 || d.After > pace.Window {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestRecordsThatCannotBeRead(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		rows   int
		is     func(error) bool
	}{
		"not ready":                   {text(202, "later"), 0, func(err error) bool { return errors.Is(err, ErrNotReady) }},
		"not ready by another status": {text(409, "Snapshot is not ready yet"), 0, func(err error) bool { return errors.Is(err, ErrNotReady) }},
		"broken off": {breakAfter("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"n\":1}\n"), 1, func(err error) bool {
			var d *exchange.CallError
			return errors.As(err, &d) && d.Doing == "reading the records of job job-1" && strings.Contains(d.Text, "broke off")
		}},
		"no records": {text(200, "{\"n\":1}\n<html>"), 1, func(err error) bool {
			var d *exchange.CallError
			return errors.As(err, &d) && d.Diagnosis.Rule == "malformed_answer" && d.Text == "record 2: invalid character '<' looking for beginning of value"
		}},
		"the caller left": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "{\"n\":1}\n")
			_ = http.NewResponseController(w).Flush()
			cancel()
			<-r.Context().Done()
		}, -1, func(err error) bool { return errors.Is(err, context.Canceled) }},
	} {
		cl, _ := script(t, c.answer)
		accepted(t, cl)
		table, err := cl.Records(ctx, "job-1", 5)
		if !c.is(err) || table.Total != -1 || c.rows >= 0 && len(table.Rows) != c.rows {
			t.Errorf("%s: %+v, %v", name, table, err)
		}
		if name == "the caller left" {
			ctx, cancel = context.WithCancel(t.Context())
		}
	}
	cancel()
	cl, asked := script(t, text(200, "[]"))
	job := accepted(t, cl)
	file := filepath.Join(t.TempDir(), "file")
	noerr.Must(t, os.WriteFile(file, nil, 0o600))
	for path, want := range map[string]bool{filepath.Join(file, "x.json"): false, file + ".gone": true} {
		changed(t, cl, job.ID, func(job *model.Job) { job.File = path })
		before := asked.Load()
		table, err := cl.Records(t.Context(), job.ID, 5)
		if called := asked.Load() != before; called != want || (err == nil) != want || !want && table.Total != -1 {
			t.Errorf("%s: asked %v, %+v, %v", path, called, table, err)
		}
	}
}

func TestAWatchAsksOnWhereThatMayHelp(t *testing.T) {
	for name, c := range map[string]struct {
		answers []http.HandlerFunc
		asked   int
		state   model.JobState
	}{
		"429":     {[]http.HandlerFunc{text(429, ""), text(200, `{"status":"ready"}`)}, 2, model.JobReady},
		"408":     {[]http.HandlerFunc{text(408, ""), text(200, `{"status":"ready"}`)}, 2, model.JobReady},
		"500":     {[]http.HandlerFunc{text(500, ""), text(200, `{"status":"ready"}`)}, 2, model.JobReady},
		"499":     {[]http.HandlerFunc{text(499, "")}, 1, model.JobAccepted},
		"400":     {[]http.HandlerFunc{text(400, "bad request")}, 1, model.JobAccepted},
		"401":     {[]http.HandlerFunc{text(401, "Invalid credentials")}, 1, model.JobAccepted},
		"403":     {[]http.HandlerFunc{text(403, "Access denied.")}, 1, model.JobAccepted},
		"no JSON": {[]http.HandlerFunc{text(200, "<html>"), text(200, `{"status":"ready"}`)}, 2, model.JobReady},
	} {
		asked := 0
		pipes(t, func(w http.ResponseWriter, r *http.Request) {
			asked++
			c.answers[min(asked, len(c.answers))-1](w, r)
		}, func(t *testing.T, cl *Runner) {
			job, err := cl.Watch(t.Context(), "job-1", nil)
			if (err == nil) != (c.state == model.JobReady) || job.State != c.state || asked != c.asked {
				t.Errorf("%s: %s after %d polls, %v", name, job.State, asked, err)
			}
		})
	}
}

func TestAWatchGivesUpAfterManyFailures(t *testing.T) {
	asked := 0
	pipes(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		text(503, "busy")(w, r)
	}, func(t *testing.T, cl *Runner) {
		began, patience := time.Now(), dialect.Embedded().Cadence(false).Patience
		_, err := cl.Watch(t.Context(), "job-1", nil)
		var d *exchange.CallError
		if !errors.As(err, &d) || d.Status != 503 || asked < 10 || time.Since(began) < patience || time.Since(began) > patience+time.Second {
			t.Errorf("after %d polls in %s: %v", asked, time.Since(began), err)
		}
	})
}

// full is a queue that takes nothing.
type full struct{ work.Queue }

func (full) Put(context.Context, work.Item) error { return syscall.ENOSPC }

func TestAFollowerSaysThatItCannotAsk(t *testing.T) {
	pipes(t, text(200, `{"status":"ready"}`), func(t *testing.T, cl *Runner) {
		q := noerr.Try(cl.cfg.Queues.Work(t.Context())).Must(t)
		cl.cfg.Queues = servicetest.QueuesFunc(func(context.Context) (work.Queue, error) { return full{q}, nil })
		ctx, end := context.WithTimeout(t.Context(), time.Minute)
		defer end()
		if err := cl.Follow(ctx, func(Followed) {}); !errors.Is(err, syscall.ENOSPC) {
			t.Error(err)
		}
	})
}

// What ends a run waits for the answer to a question that nobody waits for.
func TestAQuestionOfAFollowerIsUnderWay(t *testing.T) {
	ended, over := context.WithCancel(t.Context())
	over()
	var rn *Runner
	var waits error
	pipes(t, func(w http.ResponseWriter, r *http.Request) {
		waits = rn.cfg.Wire.Wait(ended)
		text(200, `{"status":"ready"}`)(w, r)
	}, func(t *testing.T, cl *Runner) {
		rn = cl
		ctx, end := context.WithCancel(t.Context())
		defer end()
		noerr.Must(t, cl.Follow(ctx, func(f Followed) {
			if f.Job.State == model.JobReady {
				end()
			}
		}))
		if !errors.Is(waits, context.Canceled) {
			t.Errorf("during the question: %v", waits)
		}
	})
}

func TestAnAnswerEndsTheFailureOfTheQuestionBefore(t *testing.T) {
	answers := []http.HandlerFunc{text(503, "busy"), text(200, `{"status":"running"}`), text(200, `{"status":"ready"}`)}
	pipes(t, func(w http.ResponseWriter, r *http.Request) {
		answers[0](w, r)
		answers = answers[min(1, len(answers)-1):]
	}, func(t *testing.T, cl *Runner) {
		ctx, end := context.WithCancel(t.Context())
		defer end()
		var reports []string
		noerr.Must(t, cl.Follow(ctx, func(f Followed) {
			if f.Job.ID != "" {
				reports = append(reports, fmt.Sprint(f.Job.State, " ", f.Err))
			}
			if f.Job.State == model.JobReady {
				end()
			}
		}))
		reports = slices.Compact(reports) // a job that is queued again is reported again
		if want := "accepted <nil>|accepted asking for the state of job job-1: HTTP 503: busy|running <nil>|ready <nil>"; strings.Join(reports, "|") != want {
			t.Errorf("%q", reports)
		}
	})
}

// What failed long before a watch began is no reason to end it.
func TestAnOldFailureDoesNotEndAWatch(t *testing.T) {
	pipes(t, text(200, `{"status":"ready"}`), func(t *testing.T, rn *Runner) {
		changed(t, rn, "job-1", func(job *model.Job) {
			job.State, job.Fault = model.JobRunning, model.JobFault{Call: model.CallProgress, Diagnosis: model.Diagnosis{Class: model.ClassTimeout}}
		})
		rn.cfg.Clock = servicetest.ClockFunc(func() time.Time { return time.Now().Add(time.Hour) })
		if job, err := rn.Watch(t.Context(), "job-1", nil); err != nil || job.State != model.JobReady {
			t.Errorf("%+v, %v", job, err)
		}
	})
}

func TestProgressOfNothingIsProgress(t *testing.T) {
	cl, _ := script(t, text(200, `{"status":"running","inputs_done":2,"records":3}`), text(200, `{"status":"ready","inputs_done":0,"records":0}`))
	accepted(t, cl)
	if job, err := cl.Watch(t.Context(), "job-1", nil); err != nil || job.Done != 0 || job.Records != 0 {
		t.Errorf("%+v, %v", job, err)
	}
}

func TestAPollThatTheCallerEndsIsNotAFault(t *testing.T) {
	for name, begin := range map[string]string{"before the answer": "", "in the middle of the answer": `{"status":`} {
		ctx, cancel := context.WithCancel(t.Context())
		cl, _ := script(t, func(w http.ResponseWriter, r *http.Request) {
			if begin != "" {
				_, _ = io.WriteString(w, begin)
				_ = http.NewResponseController(w).Flush()
			}
			cancel()
			<-r.Context().Done()
		})
		accepted(t, cl)
		if _, err := cl.Watch(ctx, "job-1", nil); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheLedgerKeepsTheStatusOfTheAnswer(t *testing.T) {
	for _, status := range []int{201, 400, 503} {
		cl, _ := script(t, text(status, `{"snapshot_id":"sd_1"}`))
		job, err := cl.Trigger(t.Context(), trigger("http://lab.test/1"))
		if err != nil || job.Status != status || job.Accepted.IsZero() != (status != 201) {
			t.Errorf("%d: the job says %d, accepted %v, %v", status, job.Status, job.Accepted, err)
		}
	}
}

// A call about a job that does not succeed has the verdict that a fetch has, in the
// ledger and in the timeline.
func TestAFailedCallAboutAJobIsKeptWithItsVerdict(t *testing.T) {
	slow := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "90")
		text(429, "You have too many running jobs for this dataset")(w, r)
	}
	launch := func(t *testing.T, cl *Runner) error {
		_, err := cl.Trigger(t.Context(), trigger("http://lab.test/1"))
		return err
	}
	watch := func(t *testing.T, cl *Runner) error {
		accepted(t, cl)
		_, err := cl.Watch(t.Context(), "job-1", nil)
		return err
	}
	for name, c := range map[string]struct {
		do    func(t *testing.T, cl *Runner) error
		call  model.JobCall
		class model.Class
		cause model.Cause
		step  string
		reply http.HandlerFunc
	}{
		"a trigger, too fast":         {launch, model.CallTrigger, model.ClassTooFast, "", "try again after 1m30s", slow},
		"a trigger that is not valid": {launch, model.CallTrigger, model.ClassOutside, model.CauseRequestRefused, "correct what the service names", text(400, `{"error":"Invalid input provided","code":"validation_error"}`)},
		"a trigger that is answered by words of nobody": {func(t *testing.T, cl *Runner) error {
			job, err := cl.Trigger(t.Context(), trigger("http://lab.test/1"))
			const summary = "The answer was 400, in words that the console does not know as the service's refusal."
			if d := job.Fault.Diagnosis; job.State != model.JobMayHave || d.Summary != summary || strings.Contains(d.Next(), "correct") {
				t.Errorf("%s: %s%s", job.State, d.Summary, d.Next())
			}
			return err
		}, model.CallTrigger, model.ClassOutside, model.CauseRequestRefused, "look for the job in the service's list", text(400, "no")},
		"a trigger that a gateway answers": {launch, model.CallTrigger, model.ClassOutside, model.CauseServiceError, "look for the job in the service's list", text(502, "")},
		"a trigger without an identifier":  {launch, model.CallTrigger, model.ClassOutside, model.CauseUnrecognised, "look for the job in the service's list", text(200, "{}")},
		"a poll":                           {watch, model.CallProgress, model.ClassAccessRestricted, "", "check that the key's level", text(403, "no")},
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
		"a job that the service reports as failed": {watch, model.CallNone, model.ClassOutside, model.CauseServiceError, "try a few of its URLs", text(200, `{"status":"failed","error_message":"the collector broke"}`)},
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
			lines, err := j.Entries(t.Context(), model.HistoryFilter{Kind: model.HistoryJob, Class: c.class})
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

// What many answers of 429 come to, with its source, and how many there were: of each trigger, and of other calls.
func TestAnAnswerOf429SaysWhatManyOfThemComeTo(t *testing.T) {
	cl := serving(t, text(429, "slow down"))
	want := func(n int) []string {
		return []string{
			fmt.Sprintf("answer %d of HTTP 429 from it to this run of zonedeck within 5 minutes; at 20 nothing more is sent for a while", n),
			"25 answers of HTTP 429 within 5 minutes block the caller's address on every API until a person lifts it: public documentation of a service of this kind says so; the contract asks to back off and shows no limit (contract 7, 8)",
		}
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

func TestOtherCallsSayOf429WhatHoldsForThem(t *testing.T) {
	cl := serving(t, text(429, "slow down"))
	accepted(t, cl)
	_, err := cl.Download(t.Context(), "job-1", Destination{File: filepath.Join(t.TempDir(), "out.json"), Format: "json"}, nil)
	fault, ok := errors.AsType[*exchange.CallError](err)
	if !ok {
		t.Fatal(err)
	}
	if said := notes(fault.Diagnosis); !strings.HasPrefix(said[len(said)-1], "25 answers of HTTP 429 within 5 minutes block") {
		t.Errorf("%q", said)
	}
	job := noerr.Try(serving(t, text(403, "no")).Trigger(t.Context(), trigger("http://lab.test/1"))).Must(t)
	if said := notes(job.Fault.Diagnosis); len(said) > 0 {
		t.Errorf("another refusal says %q", said)
	}
}
