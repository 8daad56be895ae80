package service

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/journal"
)

func trigger(urls ...string) model.TriggerRequest {
	r := model.TriggerRequest{Dataset: "gd_products"}
	for i, u := range urls {
		r.Inputs = append(r.Inputs, model.JobInput{URL: u, Row: i + 1})
	}
	return r
}

func TestTriggerBodyIsTheDocumentedArray(t *testing.T) {
	for _, c := range []struct {
		name string
		in   []model.JobInput
		want string
	}{
		{"one", []model.JobInput{{URL: "http://lab.test/a?b=1&c=<d>"}}, `[{"url":"http://lab.test/a?b=1&c=<d>"}]`},
		{"two", []model.JobInput{{URL: "http://lab.test/1"}, {URL: "http://lab.test/2"}}, `[{"url":"http://lab.test/1"},{"url":"http://lab.test/2"}]`},
		{"extra fields by name", []model.JobInput{{URL: "u", Extra: map[string]string{"n": "20", "a": `"x"`, "url": `"other"`}}}, `[{"url":"u","a":"x","n":20}]`},
		{"an extra that is no JSON is a text", []model.JobInput{{URL: "u", Extra: map[string]string{"a": `x"y`}}}, `[{"url":"u","a":"x\"y"}]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := string(TriggerBody(c.in)); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestTriggerByEveryAnswer holds the ledger's promise: whatever the service
// does, one POST at most, and the ledger says what is known.
func TestTriggerByEveryAnswer(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		state  model.JobState
		detail string // a part of it
	}{
		{"200 with an identifier", text(200, `{"snapshot_id":"sd_1"}`), model.JobAccepted, ""},
		{"201 with an identifier", text(201, `{"snapshot_id":"sd_1"}`), model.JobAccepted, ""},
		{"200 without one", text(200, `{"ok":true}`), model.JobMayHave, "HTTP 200 without an identifier"},
		{"200 with an identifier that cannot stand in a path", text(200, `{"snapshot_id":"../../etc"}`), model.JobMayHave, "without an identifier"},
		{"200 with garbage", text(200, "\x00\xff<html>"), model.JobMayHave, "without an identifier"},
		{"200 and nothing", text(200, ""), model.JobMayHave, "without an identifier"},
		{"202 with a text", text(202, "queued"), model.JobMayHave, "queued"},
		{"302", redirect, model.JobMayHave, "HTTP 302"},
		{"400", text(400, `{"error":"Invalid input provided","code":"validation_error"}`), model.JobRefused, "Invalid input provided"},
		{"400 with control characters", text(400, "a\x1b[31mb\nc"), model.JobRefused, "a [31mb c"},
		{"401", text(401, "Invalid credentials"), model.JobRefused, "HTTP 401: Invalid credentials"},
		{"401 that echoes the key", text(401, "Invalid key "+testKey), model.JobRefused, "Invalid key ••••"},
		{"403", text(403, "Access denied."), model.JobRefused, "Access denied."},
		{"404", text(404, "dataset does not exist"), model.JobRefused, "dataset does not exist"},
		{"408, from whom it may be", text(408, ""), model.JobMayHave, "HTTP 408"},
		{"429", text(429, "You have too many running jobs"), model.JobRefused, "too many running jobs"},
		{"500", text(500, "Internal server error"), model.JobMayHave, "HTTP 500: Internal server error"},
		{"502", text(502, ""), model.JobMayHave, "HTTP 502"},
		{"the answer breaks off after the head", breakAfter("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"snapsh"), model.JobMayHave, "broke off"},
		{"the answer breaks off after the identifier", breakAfter("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"snapshot_id\":\"sd_1\"}"), model.JobAccepted, ""},
		{"no answer after the request was read", breakAfter(""), model.JobMayHave, "it broke after sending"},
		{"no HTTP", breakAfter("hello\r\n\r\n"), model.JobMayHave, "it broke after sending"},
		{"an answer without end", endless, model.JobMayHave, "without an identifier"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var posts atomic.Int32
			p := api(t, func(w http.ResponseWriter, r *http.Request) {
				posts.Add(1)
				if _, err := io.Copy(io.Discard, r.Body); err != nil {
					t.Error(err)
				}
				c.answer(w, r)
			})
			j, dir := withJournal(t)
			cl := newTestClient(t, p, j)
			job, err := cl.Trigger(t.Context(), trigger("http://lab.test/1"))
			if err != nil {
				t.Fatal(err)
			}
			if job.State != c.state || !strings.Contains(job.Detail, c.detail) {
				t.Errorf("%s: %q", job.State, job.Detail)
			}
			if want := map[bool]string{true: "sd_1"}[c.state == model.JobAccepted]; job.Snapshot != want {
				t.Errorf("snapshot %q", job.Snapshot)
			}
			if n := posts.Load(); n != 1 {
				t.Errorf("%d POSTs", n)
			}
			kept, err := cl.Job(t.Context(), job.ID)
			if err != nil || kept.State != c.state || kept.Snapshot != job.Snapshot || len(kept.Steps) != 3 {
				t.Errorf("the ledger says %+v, %v", kept, err)
			}
			noSecretUnder(t, dir)
		})
	}
}

func text(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func redirect(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, "/elsewhere", http.StatusFound)
}

// breakAfter writes raw bytes and closes the connection.
func breakAfter(raw string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, buf, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = buf.WriteString(raw)
		_ = buf.Flush()
		_ = conn.Close()
	}
}

func endless(w http.ResponseWriter, _ *http.Request) {
	for range 4096 { // 4 MiB, of which the client reads little
		if _, err := w.Write(make([]byte, 1024)); err != nil {
			return
		}
	}
}

// noSecretUnder reads every file of a folder.
func noSecretUnder(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if err == nil && (strings.Contains(string(raw), testKey) || strings.Contains(string(raw), testPassword)) {
			t.Errorf("%s holds a secret", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestWhatCertainlyWasNotSentIsNotSent(t *testing.T) {
	closed := func() string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		return "http://" + l.Addr().String()
	}()
	untrusted := httptest.NewUnstartedServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = log.New(io.Discard, "", 0) // it would complain of the client
	untrusted.StartTLS()
	defer untrusted.Close()
	for _, c := range []struct{ name, base string }{
		{"nobody listens", closed},
		{"no such name", "http://no-such-name.invalid"},
		{"the certificate is not trusted", untrusted.URL},
	} {
		t.Run(c.name, func(t *testing.T) {
			j, _ := withJournal(t)
			cl := newTestClient(t, testProfile(c.base), j)
			job, err := cl.Trigger(t.Context(), trigger("http://lab.test/1"))
			if err != nil || job.State != model.JobNotSent || job.Detail == "" {
				t.Errorf("%s %q, %v", job.State, job.Detail, err)
			}
		})
	}
}

func TestTheIntentIsOnDiskBeforeThePost(t *testing.T) {
	j, dir := withJournal(t)
	var cl *Client
	seen := make(chan model.Job, 1)
	p := api(t, func(w http.ResponseWriter, r *http.Request) {
		// Another process looks into the ledger while the POST is being answered.
		other, _, err := journal.Open(context.Background(), filepath.Join(dir, "journal.db"), time.Now)
		if err != nil {
			t.Error(err)
			return
		}
		defer other.Close()
		if settled, err := other.Recover(r.Context()); err != nil || len(settled) != 0 {
			t.Errorf("a living process's job was settled: %v, %v", settled, err)
		}
		job, err := other.Job(r.Context(), "job-1")
		if err != nil {
			t.Error(err)
		}
		seen <- job
		text(200, `{"snapshot_id":"sd_9"}`)(w, r)
	})
	cl = newTestClient(t, p, j)
	if _, err := cl.Trigger(t.Context(), trigger("http://lab.test/1")); err != nil {
		t.Fatal(err)
	}
	if job := <-seen; job.State != model.JobSending || job.Inputs != 1 {
		t.Errorf("%+v", job)
	}
}

func TestACancelledTriggerIsWrittenDown(t *testing.T) {
	j, _ := withJournal(t)
	ctx, cancel := context.WithCancel(t.Context())
	p := api(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		cancel()
		<-r.Context().Done()
	})
	cl := newTestClient(t, p, j)
	job, err := cl.Trigger(ctx, trigger("http://lab.test/1"))
	if !errors.Is(err, context.Canceled) || job.State != model.JobMayHave {
		t.Errorf("%s, %v", job.State, err)
	}
	if kept, err := cl.Job(t.Context(), job.ID); err != nil || kept.State != model.JobMayHave {
		t.Errorf("%+v, %v", kept, err)
	}
}

func TestABadTriggerLeavesNoTrace(t *testing.T) {
	j, _ := withJournal(t)
	var posts atomic.Int32
	p := api(t, func(http.ResponseWriter, *http.Request) { posts.Add(1) })
	cl := newTestClient(t, p, j)
	for _, c := range []struct {
		name, field string
		change      func(*model.TriggerRequest)
	}{
		{"no inputs", "inputs", func(r *model.TriggerRequest) { r.Inputs = nil }},
		{"too many", "inputs", func(r *model.TriggerRequest) { r.Inputs = make([]model.JobInput, MaxInputs+1) }},
		{"a relative address", "inputs", func(r *model.TriggerRequest) { r.Inputs[0].URL = "/a" }},
		{"no dataset", "dataset", func(r *model.TriggerRequest) { r.Dataset = "" }},
		{"a dataset with a line break", "dataset", func(r *model.TriggerRequest) { r.Dataset = "a\nb\x00" }},
		{"an unknown key", "key", func(r *model.TriggerRequest) { r.Key = "nobody" }},
		{"a key without a value", "key", func(r *model.TriggerRequest) { r.Key = "lost" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := trigger("http://lab.test/1")
			c.change(&r)
			_, err := cl.Trigger(t.Context(), r)
			var re *RequestError
			if !errors.As(err, &re) || re.Field != c.field {
				t.Errorf("%v", err)
			}
		})
	}
	if jobs, err := cl.Jobs(t.Context()); err != nil || len(jobs) != 0 || posts.Load() != 0 {
		t.Errorf("%d jobs, %d POSTs, %v", len(jobs), posts.Load(), err)
	}
	if _, err := newTestClient(t, p).Trigger(t.Context(), trigger("http://lab.test/1")); !errors.Is(err, ErrNoLedger) {
		t.Errorf("without a ledger: %v", err)
	}
}

func TestByTheContractAloneAJobIsStartedAndNotAskedFor(t *testing.T) {
	j, _ := withJournal(t)
	var query atomic.Value
	p := api(t, func(w http.ResponseWriter, r *http.Request) {
		query.Store(r.URL.RawQuery)
		text(200, `{"job_id":"j_7"}`)(w, r)
	})
	p.Dialect = dialect.Documented
	cl := newTestClient(t, p, j)
	r := trigger("http://lab.test/1")
	job, err := cl.Trigger(t.Context(), r)
	if err != nil || job.State != model.JobAccepted || job.Snapshot != "j_7" || query.Load() != "" {
		t.Fatalf("%+v, %v, query %q", job, err, query.Load())
	}
	if _, err := cl.Watch(t.Context(), job.ID, nil); !errors.Is(err, ErrNotShown) {
		t.Errorf("watch: %v", err)
	}
	if _, err := cl.Download(t.Context(), job.ID, "", "", nil); !errors.Is(err, ErrNotShown) {
		t.Errorf("download: %v", err)
	}
	if _, err := cl.CancelJob(t.Context(), job.ID); !errors.Is(err, ErrNotShown) {
		t.Errorf("cancel: %v", err)
	}
	r.Inputs[0].Extra = map[string]string{"a": "1"}
	if _, err := cl.Trigger(t.Context(), r); !errors.Is(err, ErrNotShown) {
		t.Errorf("further fields: %v", err)
	}
}

func TestSameInputsAreFoundInAnyOrder(t *testing.T) {
	j, _ := withJournal(t)
	cl := newTestClient(t, api(t, text(200, `{"snapshot_id":"sd_1"}`)), j)
	if _, err := cl.Trigger(t.Context(), trigger("http://lab.test/1", "http://lab.test/2")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		r    model.TriggerRequest
		n    int
	}{
		{"another order", trigger("http://lab.test/2", "http://lab.test/1"), 1},
		{"other inputs", trigger("http://lab.test/2"), 0},
	} {
		got, err := cl.SameInputs(t.Context(), c.r, time.Hour)
		if err != nil || len(got) != c.n {
			t.Errorf("%s: %v, %v", c.name, got, err)
		}
	}
}

// accepted makes a journal with one accepted job.
func accepted(t *testing.T, cl *Client) model.Job {
	t.Helper()
	job, err := cl.o.Journal.BeginJob(t.Context(), model.Job{Profile: "test", Dataset: "d", KeyName: "batch-user", Inputs: 3, Done: -1, Records: -1}, "")
	if err == nil {
		job, err = cl.o.Journal.ChangeJob(t.Context(), job.ID, func(job *model.Job) (journal.JobChange, error) {
			job.State, job.Snapshot, job.Accepted = model.JobAccepted, "sd_1", cl.o.Now()
			return journal.JobChange{}, nil
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return job
}

// script is a client of an API that gives one answer after the other, the last
// one again and again.
func script(t *testing.T, answers ...http.HandlerFunc) (*Client, *atomic.Int32) {
	t.Helper()
	var asked atomic.Int32
	p := api(t, func(w http.ResponseWriter, r *http.Request) {
		n := int(asked.Add(1)) - 1
		answers[min(n, len(answers)-1)](w, r)
	})
	p.Local = true
	j, _ := withJournal(t)
	return newTestClient(t, p, j), &asked
}

func TestWatchFollowsToTheEnd(t *testing.T) {
	cl, asked := script(t,
		text(404, "Snapshot does not exist"),
		text(200, `{"status":"starting"}`),
		text(503, "busy"),
		text(200, `{"status":"a word nobody knows","inputs":3,"inputs_done":1,"records":10}`),
		text(200, `{"status":"ready","inputs_done":3,"records":30}`))
	job := accepted(t, cl)
	var states []string
	got, err := cl.Watch(t.Context(), "sd_1", func(j model.Job) { states = append(states, string(j.State)+" "+j.Wire) })
	if err != nil {
		t.Fatal(err)
	}
	want := "accepted |running starting|running a word nobody knows|ready ready"
	if strings.Join(states, "|") != want {
		t.Errorf("seen %v", states)
	}
	if got.State != model.JobReady || got.Done != 3 || got.Records != 30 || asked.Load() != 5 {
		t.Errorf("%+v after %d polls", got, asked.Load())
	}
	kept, err := cl.Job(t.Context(), job.ID)
	if err != nil || kept.State != model.JobReady || len(kept.Steps) != 5 {
		t.Errorf("kept %+v, %v", kept, err)
	}
	if _, err := cl.Watch(t.Context(), job.ID, nil); err != nil || asked.Load() != 5 {
		t.Errorf("a job that is over was asked for again: %v", err)
	}
}

func TestWatchEndsWhenAskingIsRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		class  model.Class
	}{
		{"401", text(401, "Invalid credentials"), model.ClassOutside},
		{"403", text(403, "Access denied."), model.ClassAccessRestricted},
		{"400", text(400, "Snapshot is expired"), model.ClassOutside},
	} {
		t.Run(c.name, func(t *testing.T) {
			cl, asked := script(t, c.answer)
			accepted(t, cl)
			job, err := cl.Watch(t.Context(), "job-1", nil)
			var d *DiagnosisError
			if !errors.As(err, &d) || d.Diagnosis.Class != c.class || asked.Load() != 1 {
				t.Errorf("%v after %d polls", err, asked.Load())
			}
			if job.State != model.JobAccepted {
				t.Errorf("a refused poll says nothing of the job, and it is %s", job.State)
			}
		})
	}
}

func TestAFailedJobSaysWhy(t *testing.T) {
	cl, _ := script(t, text(200, `{"status":"failed","error_message":"collector\u001b broke"}`))
	accepted(t, cl)
	job, err := cl.Watch(t.Context(), "job-1", nil)
	if err != nil || job.State != model.JobFailed || job.Detail != "collector broke" {
		t.Errorf("%+v, %v", job, err)
	}
}

func TestWatchEndsWithTheContext(t *testing.T) {
	cl, _ := script(t, text(200, `{"status":"running"}`))
	accepted(t, cl)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	job, err := cl.Watch(ctx, "job-1", func(j model.Job) {
		if j.State == model.JobRunning {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || job.State != model.JobRunning {
		t.Errorf("%s, %v", job.State, err)
	}
}

func TestWatchSeesWhatOthersCancelled(t *testing.T) {
	cl, _ := script(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			text(200, "OK")(w, r)
			return
		}
		text(200, `{"status":"running"}`)(w, r)
	})
	accepted(t, cl)
	job, err := cl.Watch(t.Context(), "job-1", func(j model.Job) {
		if j.State == model.JobRunning {
			if _, err := cl.CancelJob(t.Context(), "job-1"); err != nil {
				t.Error(err)
			}
		}
	})
	if err != nil || job.State != model.JobCanceled {
		t.Errorf("%s, %v", job.State, err)
	}
	if _, err := cl.CancelJob(t.Context(), "job-1"); !errors.Is(err, ErrJobOver) {
		t.Errorf("again: %v", err)
	}
}

func TestCancelIsRefusedByTheService(t *testing.T) {
	cl, _ := script(t, text(400, "Snapshot is not running"))
	accepted(t, cl)
	job, err := cl.CancelJob(t.Context(), "job-1")
	var d *DiagnosisError
	if !errors.As(err, &d) || d.Text != "Snapshot is not running" || job.State != model.JobAccepted {
		t.Errorf("%s, %v", job.State, err)
	}
}

// TestPollsAreApart drives the waits with a fake clock.
func TestPollsAreApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cl := New(Options{Rand: fixedRand(0)})
		start := time.Now()
		for _, d := range []time.Duration{pollFirst, pollLast, time.Nanosecond} {
			before := time.Now()
			if err := cl.pause(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			if got := time.Since(before); got != d*4/5 {
				t.Errorf("waited %s for %s", got, d)
			}
		}
		cl.o.Rand = fixedRand(1<<62 - 1)
		before := time.Now()
		if err := cl.pause(t.Context(), time.Minute); err != nil || time.Since(before) < 48*time.Second || time.Since(before) > 72*time.Second {
			t.Errorf("waited %s, %v", time.Since(before), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := cl.pause(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if time.Since(start) > 3*time.Minute {
			t.Error("the end of the context was not noticed")
		}
	})
}

type fixedRand uint64

func (f fixedRand) Uint64() uint64 { return uint64(f) }

func TestAJobOfAnotherProfileIsLeftAlone(t *testing.T) {
	cl, asked := script(t, text(200, `{"status":"ready"}`))
	accepted(t, cl)
	p, err := cl.o.Profile(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p.Name = "staging"
	other := newTestClient(t, p, func(o *Options) { o.Journal = cl.o.Journal })
	var re *RequestError
	if _, err := other.Watch(t.Context(), "job-1", nil); !errors.As(err, &re) || re.Field != "profile" {
		t.Errorf("%v", err)
	}
	if asked.Load() != 0 {
		t.Error("it was asked for")
	}
	if _, err := cl.Watch(t.Context(), "job-9", nil); !errors.Is(err, ErrUnknownJob) {
		t.Errorf("unknown: %v", err)
	}
}

func TestDownloadIsWholeOrNotThere(t *testing.T) {
	const records = `[{"a":1},{"a":2}]`
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		check  func(error) bool
	}{
		{"whole", text(200, records), func(err error) bool { return err == nil }},
		{"not ready", text(202, `{"status":"running","message":"Snapshot is not ready yet, try again in 10s"}`), func(err error) bool {
			var n *NotReadyError
			return errors.Is(err, ErrNotReady) && errors.As(err, &n) && strings.Contains(n.Text, "try again in 10s")
		}},
		{"expired", text(400, "Snapshot is expired"), func(err error) bool {
			var d *DiagnosisError
			return errors.As(err, &d) && d.Text == "Snapshot is expired"
		}},
		{"breaks off", breakAfter("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n[{}"), func(err error) bool {
			var d *DiagnosisError
			return errors.As(err, &d) && strings.Contains(d.Text, "broke off")
		}},
		{"breaks off between chunks", breakAfter("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n[{}\r\n"), func(err error) bool {
			var d *DiagnosisError
			return errors.As(err, &d)
		}},
		{"no answer", breakAfter(""), func(err error) bool {
			var d *DiagnosisError
			return errors.As(err, &d)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cl, _ := script(t, c.answer)
			accepted(t, cl)
			dir := t.TempDir()
			dest := filepath.Join(dir, "out.json")
			if err := os.WriteFile(dest, []byte("before"), 0o600); err != nil {
				t.Fatal(err)
			}
			var last int64
			job, err := cl.Download(t.Context(), "job-1", "", dest, func(n int64) { last = n })
			if !c.check(err) {
				t.Errorf("%v", err)
			}
			got, readErr := os.ReadFile(dest)
			if readErr != nil {
				t.Fatal(readErr)
			}
			if err != nil && string(got) != "before" {
				t.Errorf("an attempt left %q", got)
			}
			if err == nil && (string(got) != records || job.State != model.JobReady || job.File != dest || job.Bytes != int64(len(records)) || last != job.Bytes) {
				t.Errorf("%q, %+v, last %d", got, job, last)
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
				t.Errorf("left behind: %v, %v", entries, err)
			}
		})
	}
}

func TestWhereADownloadGoes(t *testing.T) {
	var format atomic.Value
	cl, _ := script(t, func(w http.ResponseWriter, r *http.Request) {
		format.Store(r.URL.Query().Get("format"))
		text(200, "a,b\n1,2\n")(w, r)
	})
	cl.o.DownloadsDir = filepath.Join(t.TempDir(), "downloads")
	accepted(t, cl)
	folder := t.TempDir()
	for _, c := range []struct{ name, format, dest, want, asked string }{
		{"the default", "", "", filepath.Join(cl.o.DownloadsDir, "job-1_sd_1.json"), "json"},
		{"a format", "csv", "", filepath.Join(cl.o.DownloadsDir, "job-1_sd_1.csv"), "csv"},
		{"a folder", "ndjson", folder, filepath.Join(folder, "job-1_sd_1.ndjson"), "ndjson"},
		{"the name's ending", "", filepath.Join(folder, "x.CSV"), filepath.Join(folder, "x.CSV"), "csv"},
		{"the format before the ending", "json", filepath.Join(folder, "y.csv"), filepath.Join(folder, "y.csv"), "json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			job, err := cl.Download(t.Context(), "job-1", c.format, c.dest, nil)
			if err != nil || job.File != c.want || format.Load() != c.asked {
				t.Errorf("%s as %v, %v", job.File, format.Load(), err)
			}
			if at, err := os.Stat(c.want); err != nil || runtime.GOOS != "windows" && at.Mode().Perm() != 0o600 {
				t.Errorf("%v, %v", at, err)
			}
		})
	}
	var re *RequestError
	if _, err := cl.Download(t.Context(), "job-1", "xml", "", nil); !errors.As(err, &re) || re.Field != "format" {
		t.Errorf("%v", err)
	}
	if _, err := cl.Download(t.Context(), "job-1", "", filepath.Join(folder, "no", "such", "folder.json"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func TestADownloadEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cl, _ := script(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "[")
		_ = http.NewResponseController(w).Flush()
		cancel()
		<-r.Context().Done()
	})
	accepted(t, cl)
	if _, err := cl.Download(ctx, "job-1", "", filepath.Join(t.TempDir(), "x.json"), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestRecordsComeFromTheServiceOrFromTheFile(t *testing.T) {
	cl, asked := script(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("format") == "json" {
			text(200, `[{"from":"file"}]`)(w, r)
			return
		}
		for i := 0; ; i++ { // without end: only what is needed may be read
			if _, err := fmt.Fprintf(w, "{\"n\":%d}\n", i); err != nil {
				return
			}
		}
	})
	accepted(t, cl)
	table, err := cl.Records(t.Context(), "job-1", 3)
	if err != nil || len(table.Rows) != 3 || table.Rows[2][0] != "2" || table.Total != -1 {
		t.Fatalf("%+v, %v", table, err)
	}
	if _, err := cl.Download(t.Context(), "job-1", "", filepath.Join(t.TempDir(), "x.json"), nil); err != nil {
		t.Fatal(err)
	}
	before := asked.Load()
	table, err = cl.Records(t.Context(), "job-1", 3)
	if err != nil || len(table.Rows) != 1 || table.Rows[0][0] != "file" || table.Total != 1 || asked.Load() != before {
		t.Errorf("%+v, %v", table, err)
	}
}

func TestPollsKeepTheKeyOutOfTheLedger(t *testing.T) {
	cl, _ := script(t,
		text(200, `{"status":"running `+testKey+`"}`),
		text(200, `{"status":"failed","error_message":"`+testKey+`"}`))
	accepted(t, cl)
	job, err := cl.Watch(t.Context(), "job-1", nil)
	if err != nil || strings.Contains(fmt.Sprintf("%+v", job), testKey) {
		t.Errorf("%+v, %v", job, err)
	}
	noSecretUnder(t, filepath.Dir(cl.o.Journal.Path()))
}

// The bytes of a trigger, as a socket received them.
func TestTriggerBytesOnTheWire(t *testing.T) {
	got := make(chan string, 1)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		req, err := http.ReadRequest(bufio.NewReader(conn))
		if err != nil {
			got <- err.Error()
			return
		}
		body, _ := io.ReadAll(req.Body)
		got <- fmt.Sprintf("%s %s %s %s\n%s", req.Method, req.URL, req.Header.Get("Content-Type"), req.Header.Get("Authorization"), body)
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 22\r\n\r\n{\"snapshot_id\":\"sd_1\"}")
	}()
	j, _ := withJournal(t)
	cl := newTestClient(t, testProfile("http://"+l.Addr().String()), j)
	r := trigger("http://lab.test/a?x=1&y=2")
	if _, err := cl.Trigger(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	want := "POST /datasets/v3/trigger?dataset_id=gd_products application/json Bearer " + testKey + "\n" + `[{"url":"http://lab.test/a?x=1&y=2"}]`
	if s := <-got; s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
}

func FuzzTriggerBody(f *testing.F) {
	f.Add("http://lab.test/", "a", `"x"`)
	f.Add("\xff\x00", "\"", "{")
	f.Fuzz(func(t *testing.T, address, name, value string) {
		body := TriggerBody([]model.JobInput{{URL: address, Extra: map[string]string{name: value}}, {URL: address}})
		var back []map[string]json.RawMessage
		if err := json.Unmarshal(body, &back); err != nil || len(back) != 2 {
			t.Fatalf("%q: %v", body, err)
		}
		var u string
		if err := json.Unmarshal(back[1]["url"], &u); err != nil || u != strings.ToValidUTF8(address, "\ufffd") && u == "" && address != "" {
			t.Fatalf("%q became %q, %v", address, u, err)
		}
	})
}
