package jobs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/model"
	"zonedeck/service/exchange"
	"zonedeck/service/servicetest"
)

// told is a timeline in memory.
type told struct {
	departed, lines []model.HistoryEntry
	full            error // why nothing departs
}

func (t *told) Depart(_ string, a model.HistoryEntry) (func(), error) {
	if t.full != nil {
		return func() {}, t.full
	}
	t.departed = append(t.departed, a)
	return func() { t.departed = t.departed[:len(t.departed)-1] }, nil
}

func (t *told) PutEntry(_ context.Context, a model.HistoryEntry) error {
	t.lines = append(t.lines, a)
	return nil
}

func (t *told) PutKeyRejected(context.Context, time.Time, string, string) error { return nil }

// silence is an answer that never comes.
const silence = "silence"

// says is a whole answer of the service.
func says(status int, body string, headers ...string) string {
	head := strings.Join(append(headers, ""), "\r\n")
	return fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Length: %d\r\n%s\r\n%s", status, http.StatusText(status), len(body), head, body)
}

// calls are what a service was asked.
type calls struct {
	mu   sync.Mutex
	list []string
}

// add counts a call.
func (c *calls) add(call string) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, call)
	return len(c.list)
}

func (c *calls) all() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.list)
}

// previewing is a Runner in a synctest bubble whose service gives one answer after the other, the last one again and
// again: bytes as they go over the wire, "" for a connection that is closed. asked are the calls.
func previewing(t *testing.T, answers ...string) (rn *Runner, timeline *told, asked *calls) {
	timeline, asked = &told{}, &calls{}
	rn = newRunner(t, servicetest.Profile("http://service.test"), func(c *Config) {
		c.Journal = timeline
		c.Wire = exchange.New(exchange.Config{Connect: func(context.Context, string, string) (net.Conn, error) {
			if len(answers) == 0 {
				return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
			}
			here, there := net.Pipe()
			go func() {
				defer there.Close()
				in := bufio.NewReader(there)
				req, err := http.ReadRequest(in)
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, req.Body)
				n := asked.add(req.Method + " " + req.URL.Path)
				answer := answers[min(n, len(answers))-1]
				if answer == silence {
					_, _ = io.Copy(io.Discard, in)
				}
				_, _ = io.WriteString(there, answer)
			}()
			return here, nil
		}})
	})
	return rn, timeline, asked
}

var lookup = model.TriggerRequest{Dataset: "deep_lookup", Inputs: []model.JobInput{{Extra: map[string]string{"query": `"lamps"`}}}}

const (
	previewAt = "/datasets/deep_lookup/v1/preview"
	another   = "ask for another preview only if it is worth paying twice: this one may be billed, and public sources do not show what a preview costs"
	backOff   = "lower the concurrency and back off"
	network   = "check the base URL, the proxy host and port, and the network"
)

func TestAPreviewThatFailsSaysWhatItLeftAndWhatToDo(t *testing.T) {
	begun := says(200, `{"preview_id":"p1"}`)
	for _, c := range []struct {
		name     string
		answers  []string
		state    model.JobState
		id, text string
		rule     string
		after    time.Duration
		steps    []string
		calls    int
	}{
		{"nobody listens", nil, model.JobNotSent, "", "POST " + previewAt + ": dial: connection refused", "no_connection", 0, []string{network, "try again, a few times at most"}, 0},
		{"dropped after it was sent", []string{""}, model.JobMayHave, "", "POST " + previewAt + ": EOF", "reset_before_answer", 0, []string{network, another}, 1},
		{"silence", []string{silence}, model.JobMayHave, "", "POST " + previewAt + ": the client's own deadline passed", "client_timeout", 0, []string{another}, 1},
		{
			"a key that is refused",
			[]string{says(401, "Invalid credentials")},
			model.JobRefused, "", "HTTP 401: Invalid credentials", "key_401", 0,
			[]string{"check the key: its value, its expiry, and whether someone refreshed it"},
			1,
		},
		{
			"no money",
			[]string{says(402, `{"error":"Your current balance is 0"}`)},
			model.JobRefused, "", "HTTP 402: Your current balance is 0", "request_refused", 0,
			[]string{"correct what the service names in its answer"},
			1,
		},
		{
			"a 403",
			[]string{says(403, `{"error":"no"}`)},
			model.JobRefused, "", "HTTP 403: no", "service_403", 0,
			[]string{"check that the key's level permits this call", "check the dataset and the URLs of the inputs"},
			1,
		},
		{
			"too fast",
			[]string{says(429, "slow down", "Retry-After: 90")},
			model.JobRefused, "", "HTTP 429: slow down", "too_fast_429", 90 * time.Second,
			[]string{backOff, "try again after 1m30s, as the answer asks"},
			1,
		},
		{"a service that fails", []string{says(502, "oops")}, model.JobMayHave, "", "HTTP 502: oops", "service_5xx", 0, []string{another}, 1},
		{"no identifier", []string{says(200, `{}`)}, model.JobMayHave, "", "HTTP 200: the answer names no preview: {}", "no_identifier", 0, []string{another}, 1},
		{
			"a path in place of an identifier",
			[]string{says(200, `{"preview_id":"../zone"}`)},
			model.JobMayHave, "", `HTTP 200: the answer names no preview: {"preview_id":"../zone"}`, "no_identifier", 0,
			[]string{another},
			1,
		},
		{"an answer that is cut", []string{"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"pre"}, model.JobMayHave, "", "the answer broke off after 5 bytes: unexpected EOF", "incomplete", 0, []string{another}, 1},
		{
			"questions that are refused",
			[]string{begun, says(403, "no")},
			model.JobAccepted, "p1", "HTTP 403: no", "service_403", 0,
			[]string{"check that the key's level permits this call", "check the dataset and the URLs of the inputs", another},
			2,
		},
		{"questions that break", []string{begun, says(200, `{"status":"pending"}`), ""}, model.JobRunning, "p1", "GET " + previewAt + "/p1: EOF", "reset_before_answer", 0, []string{network, another}, 6},
		{
			"a question that is too fast for the time that is left",
			[]string{begun, says(429, "slow down", "Retry-After: 300")},
			model.JobAccepted, "p1", "HTTP 429: slow down", "too_fast_429", 300 * time.Second,
			[]string{backOff, another},
			2,
		},
		{"another shape", []string{begun, says(200, `[]`)}, model.JobAccepted, "p1", "HTTP 200: the answer is not a preview", "malformed_answer", 0, []string{network, another}, 2},
		{"a preview that fails", []string{begun, says(200, `{"status":"failed","error":"no luck"}`)}, model.JobFailed, "p1", "it has failed: no luck", "preview_failed", 0, []string{another}, 2},
		{"a preview that is cancelled", []string{begun, says(200, `{"status":"cancelled"}`)}, model.JobCanceled, "p1", "it was cancelled", "preview_canceled", 0, []string{another}, 2},
		{
			"a preview that never ends",
			[]string{begun, says(200, `{"status":"pending"}`)},
			model.JobRunning, "p1", "The preview was not over 5m0s after it was asked for, so it is no longer waited for.", "preview_not_over", 0,
			[]string{another},
			-1,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rn, timeline, asked := previewing(t, c.answers...)
				began := time.Now()
				_, err := rn.PreviewJob(t.Context(), lookup)
				var lost *PreviewError
				var call *exchange.CallError
				if !errors.As(err, &lost) || !errors.As(err, &call) {
					t.Fatal(err)
				}
				d := call.Diagnosis
				var steps []string
				for _, s := range d.Steps {
					steps = append(steps, s.Text)
				}
				if lost.State != c.state || lost.ID != c.id || lost.Overdue != (c.rule == "preview_not_over") || err.Error() != "previewing deep_lookup: "+c.text {
					t.Errorf("%s, %q: %v", lost.State, lost.ID, err)
				}
				if d.Rule != c.rule || d.RetryAfter != c.after || d.Summary == "" || len(d.Evidence) == 0 {
					t.Errorf("%+v", d)
				}
				if !slices.Equal(steps, c.steps) {
					t.Errorf("steps %q", steps)
				}
				if got := asked.all(); len(got) != c.calls && c.calls >= 0 || len(got) > 1 && strings.HasPrefix(got[1], "POST") {
					t.Errorf("calls: %q", got)
				}
				if len(timeline.lines) != 1 || len(timeline.departed) != 0 {
					t.Fatalf("%+v, under way %+v", timeline.lines, timeline.departed)
				}
				want := err.Error() + "; " + lost.AtService() + " · next: " + strings.Join(steps, "; ")
				if a := timeline.lines[0]; a.Class != d.Class || a.Cause != d.Cause || a.Text != want || !a.At.Equal(began) || a.Kind != model.HistoryJob || a.Ref != "" {
					t.Errorf("%+v\n%s", a, want)
				}
			})
		})
	}
}

func TestAPreviewOutlivesQuestionsThatFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rn, timeline, asked := previewing(t, says(200, `{"preview_id":"p1"}`), "", says(500, "oops"), says(429, "slow", "Retry-After: 60"),
			says(200, `{"status":"pending"}`), says(503, "no"), says(200, `{"status":"completed","columns":[{"name":"n"}],"sample_data":[{"n":1}]}`))
		began := time.Now()
		got, err := rn.PreviewJob(t.Context(), lookup)
		if err != nil || len(got.Rows) != 1 || len(asked.all()) != 7 {
			t.Fatalf("%+v, %v after %q", got, err, asked.all())
		}
		if took := time.Since(began); took < time.Minute || took > 3*time.Minute {
			t.Errorf("it took %v: a 429 that asks for a minute is waited for", took)
		}
		if len(timeline.lines) != 1 || timeline.lines[0].Text != "deep_lookup: previewed as p1" || timeline.lines[0].Class != "" {
			t.Errorf("%+v", timeline.lines)
		}
	})
}

func TestAPreviewThatIsInterruptedSaysWhatItLeft(t *testing.T) {
	for name, c := range map[string]struct {
		answers []string
		state   model.JobState
		line    string
	}{
		"before the answer": {[]string{silence}, model.JobMayHave, "previewing deep_lookup: interrupted; a preview may have begun, and may be billed"},
		"while it is made": {
			[]string{says(200, `{"preview_id":"p1"}`), says(200, `{"status":"pending"}`)},
			model.JobRunning,
			"previewing deep_lookup: interrupted; preview p1 was begun, and may be billed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rn, timeline, _ := previewing(t, c.answers...)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				_, err := rn.PreviewJob(ctx, lookup)
				var lost *PreviewError
				if !errors.As(err, &lost) || lost.State != c.state || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%+v, %v", lost, err)
				}
				if len(timeline.lines) != 1 || timeline.lines[0].Text != c.line || timeline.lines[0].Class != "" || len(timeline.departed) != 0 {
					t.Errorf("%+v", timeline.lines)
				}
			})
		})
	}
	rn, timeline, _ := previewing(t, silence)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := rn.PreviewJob(ctx, lookup); !errors.Is(err, context.Canceled) || len(timeline.lines)+len(timeline.departed) != 0 {
		t.Errorf("before anything was sent: %v, %+v", err, timeline)
	}
}

func TestAPreviewIsWrittenDownBeforeItIsSent(t *testing.T) {
	rn, asked := script(t, text(200, `{}`))
	timeline := &told{}
	rn.cfg.Journal = timeline
	var before []model.HistoryEntry
	rn.cfg.Source = servicetest.Source{Base: rn.cfg.Source, SecretBy: servicetest.Secret}
	rn.cfg.Wire = exchange.New(exchange.Config{Connect: func(ctx context.Context, network, addr string) (net.Conn, error) {
		before = slices.Clone(timeline.departed)
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}})
	if _, err := rn.PreviewJob(t.Context(), lookup); err == nil || asked.Load() != 1 {
		t.Errorf("%v after %d calls", err, asked.Load())
	}
	if len(before) != 1 || before[0].Kind != model.HistoryJob || before[0].Text != "the preview of deep_lookup, which may be billed, " || before[0].At != timeline.lines[0].At {
		t.Errorf("%+v", before)
	}
	// It is asked for all the same when that cannot be written, and the log has the reason.
	var log strings.Builder
	timeline.full, rn.cfg.Log = errors.New("the disk is full"), slog.New(slog.NewTextHandler(&log, nil))
	if _, err := rn.PreviewJob(t.Context(), lookup); err == nil || asked.Load() != 2 || !strings.Contains(log.String(), "the disk is full") {
		t.Errorf("%v after %d calls; the log: %s", err, asked.Load(), log.String())
	}
}

func TestNoKeyIsInWhatAPreviewSays(t *testing.T) {
	escaped := strings.NewReplacer("4", `\u0034`, "a", `\u0061`).Replace(servicetest.KeyValue)
	for name, answers := range map[string][]string{
		"refused":       {says(400, `{"error":"`+escaped+`"}`)},
		"no identifier": {says(200, `{"id":"`+escaped+`"}`)},
		"failed":        {says(200, `{"preview_id":"p1"}`), says(200, `{"status":"failed","error":"`+escaped+`"}`)},
	} {
		synctest.Test(t, func(t *testing.T) {
			rn, timeline, _ := previewing(t, answers...)
			_, err := rn.PreviewJob(t.Context(), lookup)
			var call *exchange.CallError
			if !errors.As(err, &call) || !strings.Contains(err.Error(), "***") {
				t.Fatalf("%s: %v", name, err)
			}
			said := err.Error() + fmt.Sprint(call.Diagnosis) + timeline.lines[0].Text
			if servicetest.NoSecret(t, name, said); strings.Contains(said, escaped) {
				t.Errorf("%s: %s", name, said)
			}
		})
	}
}
