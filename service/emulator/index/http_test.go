package index

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"zonedeck/internal/noerr"
	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/clock"
	"zonedeck/service/emulator/state/statetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a service over the fixtures behind a real socket. Work waits for no time
// unless a test says otherwise; Config's other gaps are filled as in the program.
type bench struct {
	*Service
	t      *testing.T
	server *httptest.Server
	now    atomic.Pointer[time.Time]
	end    context.CancelFunc // of the context that the service was opened with
}

func newBench(t *testing.T, change func(*Config)) *bench {
	t.Helper()
	b := &bench{t: t}
	b.clock(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	cfg := Config{
		Documents: func() []Document { return fixtures(t) }, RecordRate: 1, ColumnRate: 0.05,
		Now:  func() time.Time { return *b.now.Load() },
		Wait: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
		Fail: func() error { return nil },
		Log:  slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&cfg)
	}
	ctx, end := context.WithCancel(context.Background())
	if cfg.State == nil {
		cfg.State = statetest.Open(t, t.TempDir())
	}
	s, err := Open(ctx, cfg)
	noerr.Must(t, err)
	b.Service, b.end = s, end
	mux := http.NewServeMux()
	s.Mount(func(pattern string, h http.HandlerFunc) { mux.HandleFunc(pattern, h) })
	b.server = httptest.NewServer(mux)
	t.Cleanup(func() {
		b.server.Close()
		s.Close()
		end()
	})
	return b
}

func (b *bench) clock(t time.Time) { b.now.Store(&t) }

// call returns status, headers and body.
func (b *bench) call(method, path, body string) (int, http.Header, string) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.server.URL+path, strings.NewReader(body))
	noerr.Must(b.t, err)
	req.Header.Set("Content-Type", "application/json")
	resp, err := b.server.Client().Do(req)
	noerr.Must(b.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	noerr.Must(b.t, err)
	if resp.Header.Get("x-emulator-basis") == "" {
		b.t.Errorf("%s %s: no x-emulator-basis", method, path)
	}
	return resp.StatusCode, resp.Header, string(text)
}

// ask is a call that has to succeed with an object.
func (b *bench) ask(method, path, body string) map[string]any {
	b.t.Helper()
	status, _, text := b.call(method, path, body)
	if status != http.StatusOK {
		b.t.Fatalf("%s %s %s: %d %s", method, path, body, status, text)
	}
	var v map[string]any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		b.t.Fatalf("%s: %v", text, err)
	}
	return v
}

// settle waits until no work is left.
func (b *bench) settle() { b.wg.Wait() }

// stepped lets a test see work between its steps: every wait is announced, and lasts
// until the test goes on.
type stepped struct {
	t       *testing.T
	reached chan struct{}
	goOn    chan struct{}
}

func newStepped(t *testing.T) *stepped {
	return &stepped{t, make(chan struct{}), make(chan struct{})}
}

func (s *stepped) wait(ctx context.Context, _ time.Duration) error {
	select {
	case s.reached <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-s.goOn:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// arrive waits until work has come to its next wait.
func (s *stepped) arrive() {
	s.t.Helper()
	select {
	case <-s.reached:
	case <-time.After(time.Minute):
		s.t.Fatal("work does not come to another wait")
	}
}

// release lets it go on.
func (s *stepped) release() {
	s.t.Helper()
	select {
	case s.goOn <- struct{}{}:
	case <-time.After(time.Minute):
		s.t.Fatal("work is not waiting")
	}
}

func (s *stepped) next() {
	s.t.Helper()
	s.release()
	s.arrive()
}

var errScenario = errors.New("the scenario says so")

func TestRefusalsNameTheField(t *testing.T) {
	b := newBench(t, nil)
	const lookups = "/datasets/deep_lookup/v1"
	for _, tc := range []struct{ path, body, want string }{
		{"/discover", `{}`, "query is required"},
		{"/discover", `{"query":" "}`, "query must not be empty"},
		{"/discover", `{"query":7}`, "query must be a string"},
		{"/discover", `{"query":"` + strings.Repeat("x", maxQuery+1) + `"}`, "query must have at most 1500 characters"},
		{"/discover", `{"query":"x","intent":"` + strings.Repeat("x", maxIntent+1) + `"}`, "intent must have at most"},
		{"/discover", `{"query":"x","num_results":0}`, "num_results must be a whole number from 1 to 1000"},
		{"/discover", `{"query":"x","num_results":1001}`, "num_results"},
		{"/discover", `{"query":"x","num_results":1.5}`, "num_results"},
		{"/discover", `{"query":"x","num_results":"5"}`, "num_results"},
		{"/discover", `{"query":"x","filter_keywords":"a"}`, "filter_keywords must be an array of strings"},
		{"/discover", `{"query":"x","filter_keywords":[""]}`, "filter_keywords"},
		{"/discover", `{"query":"x","include_content":"yes"}`, "include_content must be true or false"},
		{"/discover", `{"query":"x","remove_duplicates":1}`, "remove_duplicates"},
		{"/discover", `{"query":"x","start_date":"21.11.2026"}`, "start_date must be a date"},
		{"/discover", `{"query":"x","start_date":"2026-02-02","end_date":"2026-02-01"}`, "start_date must not be after end_date"},
		{"/discover", `{"query":"x","format":"xml"}`, "format must be one of json, md"},
		{"/discover", `{"query":"x","mode":"slow"}`, "mode must be one of"},
		{"/discover", `{"query":"x","country":"Germany"}`, "country"},
		{"/discover", `{"query":"x","language":"english"}`, "language"},
		{"/discover", `{"query":"x","limit":3}`, "limit is not allowed"},
		{"/discover", `[]`, "body must be one object"},
		{"/discover", `nonsense`, "body must be a JSON object"},
		{lookups + "/preview", `{}`, "query is required"},
		{lookups + "/enhance_query", `[{"query":"x","y":1}]`, "y is not allowed"},
		{lookups + "/trigger", `{}`, "query is required"},
		{lookups + "/trigger", `{"query":"x","spec":[]}`, "spec must be an object"},
		{lookups + "/trigger", `{"query":"x","spec":{}}`, "spec.columns is required"},
		{lookups + "/trigger", `{"query":"x","spec":{"columns":[{"name":"a","kind":"b"}]}}`, "spec.columns[0].kind is not allowed"},
		{lookups + "/trigger", `{"query":"x","spec":{"columns":[{"name":"a","type":"filter"}]}}`, "spec.columns[0].type must be one of"},
		{lookups + "/trigger", `{"query":"x","spec":{"columns":[{"name":"a"},{"name":"a"}]}}`, "spec.columns[1].name is there twice"},
		{lookups + "/trigger", `{"query":"x","result_limit":0}`, "result_limit"},
		{lookups + "/trigger", `{"preview_id":"p","spec":{"columns":[{"name":"a"}]}}`, "preview_id takes"},
	} {
		status, _, text := b.call("POST", tc.path, tc.body)
		if status != http.StatusBadRequest || !strings.Contains(text, tc.want) || !strings.Contains(text, `"error_code":"validation"`) {
			t.Errorf("%s %.80s: %d %s, want %q", tc.path, tc.body, status, text, tc.want)
		}
	}
}

func TestAContentTypeThatIsNotJSONIsRefusedUnlessLoose(t *testing.T) {
	for _, loose := range []bool{false, true} {
		b := newBench(t, func(c *Config) { c.Loose = loose })
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.server.URL+"/discover", strings.NewReader(`{"query":"bread"}`))
		noerr.Must(t, err)
		req.Header.Set("Content-Type", "text/plain")
		resp, err := b.server.Client().Do(req)
		noerr.Must(t, err)
		resp.Body.Close()
		if ok := resp.StatusCode == http.StatusOK; ok != loose {
			t.Errorf("loose %t: %s", loose, resp.Status)
		}
	}
}

func TestUnknownFieldsAreRefusedOrNoted(t *testing.T) {
	loose, strict := newBench(t, func(c *Config) { c.Loose = true }), newBench(t, nil)
	for call, want := range map[string][]string{
		`POST /discover {"query":"x","zebra":1,"ape":2}`:                                                              {"ape", "zebra"},
		`POST /datasets/deep_lookup/v1/trigger {"query":"x","spec":{"columns":[{"name":"a","kind":1}],"owner":"me"}}`: {"spec.columns[0].kind", "spec.owner"},
		`POST /discover?zebra=1 {"query":"x"}`:                                                                        {"query parameter zebra"},
		`GET /discover?task_id=x&zebra=1&ape=2 `:                                                                      {"query parameter ape", "query parameter zebra"},
		`GET /datasets/deep_lookup/v1/request/x/download?format=csv&zebra=1 `:                                         {"query parameter zebra"},
	} {
		method, rest, _ := strings.Cut(call, " ")
		path, body, _ := strings.Cut(rest, " ")
		_, header, text := loose.call(method, path, body)
		for i, note := range header.Values(answer.NoteHeader) {
			if i >= len(want) || note != `"`+want[i]+`" is not known and has no effect` {
				t.Errorf("%s: %q %s", call, note, text)
			}
		}
		if n := len(header.Values(answer.NoteHeader)); n != len(want) {
			t.Errorf("%s: %d notes", call, n)
		}
		status, header, text := strict.call(method, path, body)
		for _, name := range want {
			if status != http.StatusBadRequest || !strings.Contains(text, `"`+name+` is not allowed"`) || header.Get(answer.NoteHeader) != "" {
				t.Errorf("%s: %d %s", call, status, text)
			}
		}
	}
	many := map[string]int{}
	for i := range 10_000 {
		many["a"+strconv.Itoa(i)] = i
	}
	body, err := json.Marshal(many)
	noerr.Must(t, err)
	if _, _, text := strict.call("POST", "/discover", string(body)); len(text) > 10_000 {
		t.Errorf("a refusal of %d bytes", len(text))
	}
}

func TestABodyThatIsTooLongIsRefused(t *testing.T) {
	b := newBench(t, nil)
	status, _, text := b.call("POST", "/discover", `{"query":"`+strings.Repeat("x", maxBodyBytes)+`"}`)
	if status != http.StatusBadRequest || !strings.Contains(text, "at most") {
		t.Errorf("%d %s", status, text)
	}
}

func TestTooManyTasksAreRefusedUntilSomeHaveEnded(t *testing.T) {
	hold := make(chan struct{})
	b := newBench(t, func(c *Config) {
		c.Wait = func(ctx context.Context, _ time.Duration) error {
			select {
			case <-hold:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	})
	for range maxActive {
		b.ask("POST", "/discover", `{"query":"bread"}`)
	}
	for _, path := range []string{"/discover", "/datasets/deep_lookup/v1/preview", "/datasets/deep_lookup/v1/trigger"} {
		if status, header, _ := b.call("POST", path, `{"query":"bread"}`); status != http.StatusTooManyRequests || header.Get("Retry-After") == "" {
			t.Errorf("%s: %d", path, status)
		}
	}
	close(hold)
	b.settle()
	b.ask("POST", "/discover", `{"query":"bread"}`)
}

func TestCloseEndsWorkThatIsWaiting(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Wait = clock.Pause }) // real time
	id := b.ask("POST", "/discover", `{"query":"bread"}`)["task_id"].(string)
	b.Close()
	if v := b.ask("GET", "/discover?task_id="+id, ""); v["status"] != "failed" {
		t.Errorf("%v", v)
	}
	if status, _, _ := b.call("POST", "/discover", `{"query":"bread"}`); status != http.StatusTooManyRequests {
		t.Errorf("a closed service took a task: %d", status)
	}
}

func TestWorkEndsWithTheContextOfTheService(t *testing.T) {
	b := newBench(t, func(c *Config) {
		c.Wait = func(ctx context.Context, _ time.Duration) error {
			<-ctx.Done()
			return ctx.Err()
		}
	})
	id := b.ask("POST", "/discover", `{"query":"bread"}`)["task_id"].(string)
	b.end()
	b.settle()
	if v := b.ask("GET", "/discover?task_id="+id, ""); v["status"] != "failed" {
		t.Errorf("%v", v)
	}
}

func TestResultsAreKeptForADayAndInABoundedNumber(t *testing.T) {
	b := newBench(t, nil)
	id := b.ask("POST", "/discover", `{"query":"bread"}`)["task_id"].(string)
	b.settle()
	b.ask("GET", "/discover?task_id="+id, "")
	b.clock(b.now.Load().Add(retention + time.Second))
	if status, _, _ := b.call("GET", "/discover?task_id="+id, ""); status != http.StatusNotFound {
		t.Errorf("after a day: %d", status)
	}

	var h shelf[int]
	now := time.Unix(0, 0)
	for i := range maxKept + 10 {
		_ = h.add(string(rune('a'+i)), i, now, func(i int) bool { return i != 0 })
	}
	if _, first := h.get("a", now); len(h.items) != maxKept || !first {
		t.Errorf("%d are kept; the one that is not over is there: %t", len(h.items), first)
	}
}

func FuzzBodies(f *testing.F) {
	f.Add("/discover", `{"query":"site:lab.test \"desk lamp\" -oak","filter_keywords":["brass"],"mode":"zeroRanking","include_content":true}`)
	f.Add("/datasets/deep_lookup/v1/trigger", `[{"query":"lamps","spec":{"name":"n","query":"q","title":"t","columns":[{"name":"price","description":"under $50k","type":"constraint"}]},"result_limit":5}]`)
	f.Add("/datasets/deep_lookup/v1/preview", `{"query":"bread with rating and price"}`)
	f.Add("/datasets/deep_lookup/v1/enhance_query", `{"query":"\u0000"}`)
	docs := fixtures(f)
	s, err := Open(context.Background(), Config{
		State:     statetest.Open(f, f.TempDir()),
		Documents: func() []Document { return docs },
		Now:       time.Now,
		Wait:      func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
		Fail:      func() error { return nil },
		Log:       slog.New(slog.DiscardHandler),
	})
	noerr.Must(f, err)
	f.Cleanup(s.Close)
	mux := http.NewServeMux()
	s.Mount(func(pattern string, h http.HandlerFunc) { mux.HandleFunc(pattern, h) })
	f.Fuzz(func(t *testing.T, path, body string) {
		switch path {
		case "/discover", "/datasets/deep_lookup/v1/trigger", "/datasets/deep_lookup/v1/preview", "/datasets/deep_lookup/v1/enhance_query":
		default:
			path = "/discover"
		}
		req := httptest.NewRequestWithContext(t.Context(), "POST", path, strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		w := &deadlined{httptest.NewRecorder()}
		mux.ServeHTTP(w, req)
		s.wg.Wait()
		if w.Code != http.StatusOK && w.Code != http.StatusBadRequest && w.Code != http.StatusNotFound {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		var v map[string]any
		if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
			t.Fatalf("%q: %v", w.Body, err)
		}
	})
}

// deadlined is a recorder that accepts deadlines, like a connection.
type deadlined struct{ *httptest.ResponseRecorder }

func (deadlined) SetReadDeadline(time.Time) error { return nil }
