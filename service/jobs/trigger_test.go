package jobs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/dialect"
	"zonedeck/service/ledger"
	"zonedeck/service/servicetest"
)

func trigger(urls ...string) model.TriggerRequest {
	r := model.TriggerRequest{Dataset: "gd_products"}
	for i, u := range urls {
		r.Inputs = append(r.Inputs, model.JobInput{URL: u, Row: i + 1})
	}
	return r
}

// TestTriggerByEveryAnswer checks the ledger's promise: whatever the service does,
// there is at most one POST, and the ledger records what is known.
func TestTriggerByEveryAnswer(t *testing.T) {
	t.Parallel()
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
		{"400 with control characters", text(400, "a\x1b[31mb\nc"), model.JobMayHave, "a [31mb c"},
		{"401", text(401, "Invalid credentials"), model.JobRefused, "HTTP 401: Invalid credentials"},
		{"401 that echoes the key", text(401, "Invalid key "+servicetest.KeyValue), model.JobRefused, "Invalid key " + strings.Repeat("*", len(servicetest.KeyValue))},
		{"400 in words that the service does not use", text(400, "Bad Request"), model.JobMayHave, "HTTP 400: Bad Request"},
		{"400 in JSON without a code", text(400, `{"error":"no"}`), model.JobMayHave, "HTTP 400: no"},
		{"401 as a page", text(401, "<html><h1>Sign in to the network</h1>"), model.JobMayHave, "Sign in to the network"},
		{"402", text(402, `{"error":"Your current balance is insufficient ($220 is missing)"}`), model.JobRefused, "balance is insufficient"},
		{"402 from somewhere", text(402, ""), model.JobMayHave, "HTTP 402"},
		{"403 as a page", text(403, "<html><title>Blocked</title>"), model.JobMayHave, "Blocked"},
		{"404 of a web server", text(404, "404 page not found"), model.JobMayHave, "page not found"},
		{"407, from a proxy on the way", text(407, ""), model.JobMayHave, "HTTP 407"},
		{"413, from a gateway", text(413, "Request Entity Too Large"), model.JobMayHave, "HTTP 413"},
		{"a refusal that breaks off", breakAfter("HTTP/1.1 401 Unauthorized\r\nContent-Length: 100\r\n\r\nInva"), model.JobMayHave, "HTTP 401"},
		{"403", text(403, "Access denied."), model.JobRefused, "Access denied."},
		{"404", text(404, "dataset does not exist"), model.JobRefused, "dataset does not exist"},
		{"408, from the service or from something before it", text(408, ""), model.JobMayHave, "HTTP 408"},
		{"429", text(429, "You have too many running jobs"), model.JobRefused, "too many running jobs"},
		{"499, from a gateway that gave up", text(499, ""), model.JobMayHave, "HTTP 499"},
		{"200 with the key as the identifier", text(200, `{"snapshot_id":"`+servicetest.KeyValue+`"}`), model.JobMayHave, "without an identifier"},
		{"500", text(500, "Internal server error"), model.JobMayHave, "HTTP 500: Internal server error"},
		{"502", text(502, ""), model.JobMayHave, "HTTP 502"},
		{"the answer breaks off after the head", breakAfter("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"snapsh"), model.JobMayHave, "broke off"},
		{"the answer breaks off after the identifier", breakAfter("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"snapshot_id\":\"sd_1\"}"), model.JobAccepted, ""},
		{"no answer after the request was read", breakAfter(""), model.JobMayHave, "the call broke after sending"},
		{"no HTTP", breakAfter("hello\r\n\r\n"), model.JobMayHave, "the call broke after sending"},
		{"an answer without end", endless, model.JobMayHave, "without an identifier"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var posts atomic.Int32
			p := servicetest.API(t, func(w http.ResponseWriter, r *http.Request) {
				posts.Add(1)
				noerr.Want(t, noerr.From(io.Copy(io.Discard, r.Body)))
				c.answer(w, r)
			})
			j, dir := withLedger(t)
			cl := newRunner(t, p, j)
			job := noerr.Try(cl.Trigger(t.Context(), trigger("http://lab.test/1"))).Must(t)
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
			if err != nil || kept.State != c.state || kept.Snapshot != job.Snapshot || len(kept.Steps) != 3 ||
				kept.Done != -1 || kept.Records != -1 || kept.Inputs != 1 || kept.Profile != "test" || kept.Dataset != "gd_products" || kept.KeyName != "batch-user" {
				t.Errorf("the ledger says %+v, %v", kept, err)
			}
			servicetest.NoSecretUnder(t, dir)
		})
	}
}

func TestARefusalIsCertainByWhatTheDialectKnows(t *testing.T) {
	const notValid = `{"error":"Invalid input provided","code":"validation_error"}`
	for _, c := range []struct {
		dialect string
		answer  http.HandlerFunc
		state   model.JobState
	}{
		{"documented", text(400, notValid), model.JobMayHave},
		{"", text(400, notValid), model.JobRefused},
		{"brightdata", text(400, notValid), model.JobRefused},
		{"documented", text(404, "dataset does not exist"), model.JobMayHave},
		{"", text(404, "dataset does not exist"), model.JobRefused},
		{"documented", text(401, "Invalid credentials"), model.JobRefused},
		{"documented", text(403, "Forbidden"), model.JobRefused},
		{"documented", text(429, ""), model.JobRefused},
		{"documented", text(429, "<html>"), model.JobMayHave},
	} {
		p := servicetest.API(t, c.answer)
		p.Dialect = c.dialect
		j, _ := withLedger(t)
		job, err := newRunner(t, p, j).Trigger(t.Context(), trigger("http://lab.test/1"))
		if err != nil || job.State != c.state {
			t.Errorf("dialect %q: %s: %s, %v; want %s", c.dialect, job.Detail, job.State, err, c.state)
		}
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

func TestAJobWhoseRequestNeverLeftIsNotSent(t *testing.T) {
	closed := func() string {
		l := noerr.Try(net.Listen("tcp", "127.0.0.1:0")).Must(t)
		defer l.Close()
		return "http://" + l.Addr().String()
	}()
	untrusted := httptest.NewUnstartedServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = log.New(io.Discard, "", 0) // it would complain about the client
	untrusted.StartTLS()
	defer untrusted.Close()
	for _, c := range []struct{ name, base string }{
		{"nothing listens", closed},
		{"no such name", "http://no-such-name.invalid"},
		{"the certificate is not trusted", untrusted.URL},
	} {
		t.Run(c.name, func(t *testing.T) {
			j, _ := withLedger(t)
			cl := newRunner(t, servicetest.Profile(c.base), j)
			job, err := cl.Trigger(t.Context(), trigger("http://lab.test/1"))
			if err != nil || job.State != model.JobNotSent || job.Detail == "" {
				t.Errorf("%s %q, %v", job.State, job.Detail, err)
			}
		})
	}
}

func TestTheIntentIsOnDiskBeforeThePost(t *testing.T) {
	j, dir := withLedger(t)
	var cl *Runner
	seen := make(chan model.Job, 1)
	p := servicetest.API(t, func(w http.ResponseWriter, r *http.Request) {
		// Another process looks into the ledger while the POST is being answered.
		other, _, err := ledger.Open(context.Background(), filepath.Join(dir, "ledger.db"), time.Now)
		if err != nil {
			t.Error(err)
			return
		}
		defer other.Close()
		if settled, err := other.Recover(r.Context()); err != nil || len(settled) != 0 {
			t.Errorf("a living process's job was settled: %v, %v", settled, err)
		}
		job, err := other.Job(r.Context(), "job-1")
		noerr.Want(t, err)
		seen <- job
		text(200, `{"snapshot_id":"sd_9"}`)(w, r)
	})
	cl = newRunner(t, p, j)
	noerr.Must(t, noerr.From(cl.Trigger(t.Context(), trigger("http://lab.test/1"))))
	if job := <-seen; job.State != model.JobSending || job.Inputs != 1 {
		t.Errorf("%+v", job)
	}
}

func TestACancelledTriggerIsWrittenDown(t *testing.T) {
	j, _ := withLedger(t)
	ctx, cancel := context.WithCancel(t.Context())
	p := servicetest.API(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		cancel()
		<-r.Context().Done()
	})
	cl := newRunner(t, p, j)
	job, err := cl.Trigger(ctx, trigger("http://lab.test/1"))
	if !errors.Is(err, context.Canceled) || job.State != model.JobMayHave {
		t.Errorf("%s, %v", job.State, err)
	}
	if kept, err := cl.Job(t.Context(), job.ID); err != nil || kept.State != model.JobMayHave {
		t.Errorf("%+v, %v", kept, err)
	}
}

func TestABadTriggerLeavesNoTrace(t *testing.T) {
	j, _ := withLedger(t)
	var posts atomic.Int32
	p := servicetest.API(t, func(http.ResponseWriter, *http.Request) { posts.Add(1) })
	cl := newRunner(t, p, j)
	for _, c := range []struct {
		name, field string
		change      func(*model.TriggerRequest)
	}{
		{"no inputs", "inputs", func(r *model.TriggerRequest) { r.Inputs = nil }},
		{"too many", "inputs", func(r *model.TriggerRequest) { r.Inputs = make([]model.JobInput, model.MaxInputs+1) }},
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
			var re *model.RequestError
			if !errors.As(err, &re) || re.Field() != c.field {
				t.Errorf("%v", err)
			}
		})
	}
	if jobs, _, err := cl.Jobs(t.Context(), 0); err != nil || len(jobs) != 0 || posts.Load() != 0 {
		t.Errorf("%d jobs, %d POSTs, %v", len(jobs), posts.Load(), err)
	}
	if _, err := newRunner(t, p).Trigger(t.Context(), trigger("http://lab.test/1")); !errors.Is(err, ErrNoLedger) {
		t.Errorf("without a ledger: %v", err)
	}
}

func TestTheContractAloneStartsAJobAndCannotAskForIt(t *testing.T) {
	j, _ := withLedger(t)
	var query atomic.Value
	p := servicetest.API(t, func(w http.ResponseWriter, r *http.Request) {
		query.Store(r.URL.RawQuery)
		text(200, `{"job_id":"j_7"}`)(w, r)
	})
	p.Dialect = dialect.Default().Name()
	cl := newRunner(t, p, j)
	r := trigger("http://lab.test/1")
	job, err := cl.Trigger(t.Context(), r)
	if err != nil || job.State != model.JobAccepted || job.Snapshot != "j_7" || query.Load() != "" {
		t.Fatalf("%+v, %v, query %q", job, err, query.Load())
	}
	if _, err := cl.Watch(t.Context(), job.ID, nil); !errors.Is(err, dialect.ErrNotShown) {
		t.Errorf("watch: %v", err)
	}
	if _, err := cl.Download(t.Context(), job.ID, Destination{}, nil); !errors.Is(err, dialect.ErrNotShown) {
		t.Errorf("download: %v", err)
	}
	if _, err := cl.CancelJob(t.Context(), job.ID); !errors.Is(err, dialect.ErrNotShown) {
		t.Errorf("cancel: %v", err)
	}
	r.Inputs[0].Extra = map[string]string{"a": "1"}
	if _, err := cl.Trigger(t.Context(), r); !errors.Is(err, dialect.ErrNotShown) {
		t.Errorf("further fields: %v", err)
	}
}

func TestSameInputsAreFoundInAnyOrder(t *testing.T) {
	cl := serving(t, text(200, `{"snapshot_id":"sd_1"}`))
	noerr.Must(t, noerr.From(cl.Trigger(t.Context(), trigger("http://lab.test/1", "http://lab.test/2"))))
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

func TestInputsOfASampleAreFoundInTheWhole(t *testing.T) {
	cl := serving(t, text(200, `{"snapshot_id":"sd_1"}`))
	whole := trigger("http://lab.test/1", "http://lab.test/2", "http://lab.test/3")
	for _, r := range []model.TriggerRequest{trigger("http://lab.test/3", "http://lab.test/1"), trigger("http://lab.test/9")} {
		noerr.Must(t, noerr.From(cl.Trigger(t.Context(), r)))
	}
	other, same := whole, trigger("http://lab.test/1", "http://lab.test/3")
	other.Dataset = "gd_other"
	for name, c := range map[string]struct {
		r      model.TriggerRequest
		within time.Duration
		want   string
	}{
		"the whole":        {whole, time.Hour, "job-1 2 of 3 inputs were"},
		"one of them":      {trigger("http://lab.test/1"), time.Hour, "job-1 1 of 1 inputs was"},
		"the same":         {same, time.Hour, "job-1 2 of 2 inputs were"},
		"another data set": {other, time.Hour, ""},
		"long ago":         {whole, -time.Second, ""},
	} {
		got, err := cl.SharedInputs(t.Context(), c.r, c.within)
		words := ""
		for _, s := range got.Overlaps {
			words += s.Job.ID + " " + s.Opening(len(c.r.Inputs))
		}
		if err != nil || words != c.want {
			t.Errorf("%s: %q, %v", name, words, err)
		}
		if left := got.Unlaunched(c.r.Inputs); name == "the whole" && (len(left) != 1 || left[0].URL != "http://lab.test/2") {
			t.Errorf("left: %v", left)
		}
	}
}

// The bytes of a trigger, as a socket received them.
func TestTriggerBytesOnTheWire(t *testing.T) {
	got := make(chan string, 1)
	l := noerr.Try(net.Listen("tcp", "127.0.0.1:0")).Must(t)
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
	j, _ := withLedger(t)
	cl := newRunner(t, servicetest.Profile("http://"+l.Addr().String()), j)
	r := trigger("http://lab.test/a?x=1&y=2")
	noerr.Must(t, noerr.From(cl.Trigger(t.Context(), r)))
	want := "POST /datasets/v3/trigger?dataset_id=gd_products&include_errors=true application/json Bearer " + servicetest.KeyValue + "\n" + `[{"url":"http://lab.test/a?x=1&y=2"}]`
	if s := <-got; s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
}

func TestAJobOutsideTheAllowedDomainsIsNotLaunched(t *testing.T) {
	cl, asked := script(t, text(200, `{"snapshot_id":"sd_1"}`))
	inProfile(t, cl, func(p *model.Profile) { p.AllowedDomains = []string{"lab.test"} })
	for _, r := range []model.TriggerRequest{trigger("http://lab.test/1", "http://other.test/2"), trigger("http://www.lab.test/1"), {
		Dataset: "gd_x", Inputs: []model.JobInput{{Extra: map[string]string{"category_url": `"http://other.test/"`}}},
	}} {
		if _, err := cl.Trigger(t.Context(), r); !errors.Is(err, config.ErrDomain) || !errors.Is(err, model.ErrRequest) {
			t.Errorf("%+v: %v", r.Inputs, err)
		}
	}
	if _, total, err := cl.Jobs(t.Context(), 0); err != nil || total != 0 || asked.Load() != 0 {
		t.Errorf("the ledger has %d jobs, %d calls were made, %v", total, asked.Load(), err)
	}
	if _, err := cl.Trigger(t.Context(), trigger("http://lab.test/1")); err != nil || asked.Load() != 1 {
		t.Errorf("an allowed one: %v after %d calls", err, asked.Load())
	}
}

// Several consoles are asked for the same at once.
func TestOneOfManyGuardedLaunchesIsSent(t *testing.T) {
	cl, posts := script(t, text(200, `{"snapshot_id":"sd_1"}`))
	r := trigger("http://lab.test/1")
	r.Guard = &model.LaunchGuard{Within: time.Hour}
	errs := make([]error, 6)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { _, errs[i] = cl.Trigger(t.Context(), r) })
	}
	all.Wait()
	refused := 0
	for _, err := range errs {
		if same := (*ledger.SameError)(nil); errors.As(err, &same) && same.Job == "job-1" && strings.HasPrefix(err.Error(), "the same was launched as job-1 (") {
			refused++
		} else if err != nil {
			t.Error(err)
		}
	}
	if _, total, err := cl.Jobs(t.Context(), 0); refused != 5 || posts.Load() != 1 || total != 1 || err != nil {
		t.Errorf("%d refused, %d sent, %d jobs, %v", refused, posts.Load(), total, err)
	}
	r.Guard.Known = []string{"job-1"}
	if job, err := cl.Trigger(t.Context(), r); err != nil || job.ID != "job-2" {
		t.Errorf("one that is known: %+v, %v", job, err)
	}
}

func TestASecondLaunchOfAJobIsGuarded(t *testing.T) {
	cl, posts := script(t, text(503, ""))
	first := launched(t, cl, trigger("http://lab.test/1", "http://lab.test/2"), model.JobMayHave)
	rest := trigger("http://lab.test/2")
	rest.Repeats, rest.Guard = first.ID, &model.LaunchGuard{Within: time.Hour}
	noerr.Must(t, noerr.From(cl.Trigger(t.Context(), rest)))
	for name, r := range map[string]model.TriggerRequest{"the same rest": trigger("http://lab.test/2"), "another rest": trigger("http://lab.test/1")} {
		r.Repeats, r.Guard = first.ID, &model.LaunchGuard{}
		var same *ledger.SameError
		if _, err := cl.Trigger(t.Context(), r); !errors.As(err, &same) || same.Job != "job-2" || same.State != model.JobMayHave {
			t.Errorf("%s: %v", name, err)
		}
		if list, err := cl.SameInputs(t.Context(), r, time.Hour); err != nil || len(list) != 1 || list[0].ID != "job-2" {
			t.Errorf("%s is not warned of: %+v, %v", name, list, err)
		}
	}
	if posts.Load() != 2 {
		t.Errorf("%d sent", posts.Load())
	}
}

func TestAReadOnlyProfileLaunchesAndCancelsNothing(t *testing.T) {
	cl, asked := script(t, text(200, "[]"))
	accepted(t, cl)
	inProfile(t, cl, func(p *model.Profile) { p.ReadOnly = true })
	before := asked.Load()
	if _, err := cl.Trigger(t.Context(), trigger("http://lab.test/1")); !errors.Is(err, model.ErrReadOnly) {
		t.Errorf("a trigger: %v", err)
	}
	if _, err := cl.CancelJob(t.Context(), "job-1"); !errors.Is(err, model.ErrReadOnly) {
		t.Errorf("a cancel: %v", err)
	}
	open := noerr.Try(cl.cfg.Ledger.Change(t.Context(), "job-1", func(j *model.Job) (string, error) { j.State = model.JobMayHave; return "lost", nil })).Must(t)
	if _, err := cl.Settler().NotStarted(t.Context(), open.ID); !errors.Is(err, model.ErrReadOnly) {
		t.Errorf("not started: %v", err)
	}
	if _, err := cl.Settler().Claim(t.Context(), open.ID, "sd_other", true); !errors.Is(err, model.ErrReadOnly) {
		t.Errorf("a claim: %v", err)
	}
	if _, total, err := cl.Jobs(t.Context(), 0); err != nil || total != 1 {
		t.Errorf("the ledger has %d jobs, %v", total, err)
	}
	if n := asked.Load() - before; n != 0 {
		t.Errorf("%d calls were made", n)
	}
}
