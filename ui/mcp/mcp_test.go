package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/ask"
	"zonedeck/service/batch"
	"zonedeck/service/dialect"
	"zonedeck/service/fetch"
	"zonedeck/service/history"
	"zonedeck/service/jobs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// marked is the secret that the console has used.
const marked = "SECRET-marked-0123456789"

// fake is a console that sends nothing and remembers what it was asked for.
type fake struct {
	mu      sync.Mutex
	fetches []model.FetchRequest
	jobs    []model.TriggerRequest
	// batches are those that were planned, rows what the last one held; begun are those that were worked on.
	batches   []batch.Draft
	rows      string
	begun     []string
	discarded int
	// questions are what a launch asks; allSame says that the last one had the yes to every equal job.
	questions []ask.Question
	allSame   bool
	lines     []model.HistoryEntry
	sends     []bool // of the calls that began
	// during is called while a fetch is under way; err is its error, unsent that of one that is not sent.
	during func()
	err    error
	unsent error
	body   string
	broken error        // of the history
	cells  []model.Cell // what a comparison has when it ends in err
}

func (f *fake) profile() model.Profile {
	return model.Profile{
		Name: "acme", Dialect: dialect.Embedded().Name(), BaseURL: "http://service.test", ProxyHost: "service.test", ProxyPort: 1, BrowserURL: "ws://service.test",
		Zones: []model.Zone{
			{Name: "priced", Product: model.ProductUnlocker, Password: "env:P", Rate: model.Rate{Per1000: 1000}}, // a dollar each
			{Name: "bytes", Product: model.ProductDatacenter, Password: "env:P", Rate: model.Rate{PerGB: 100}},
			{Name: "unpriced", Product: model.ProductUnlocker, Password: "env:P"},
			{Name: "browser", Product: model.ProductBrowser, Password: "env:P", Rate: model.Rate{PerGB: 1}},
		},
	}
}
func (f *fake) Base() model.Profile                            { return f.profile() }
func (f *fake) Profile(context.Context) (model.Profile, error) { return f.profile(), nil }
func (f *fake) Known(p model.Profile) fetch.Known              { return fetch.Known{Profile: p} }
func (f *fake) Now() time.Time                                 { return time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC) }

func (f *fake) Fetch(_ context.Context, r model.FetchRequest, on func(fetch.Event)) (model.FetchResult, error) {
	if f.unsent != nil {
		return model.FetchResult{}, f.unsent
	}
	on(fetch.Event{Phase: fetch.PhaseQueued})
	on(fetch.Event{Phase: fetch.PhaseSending})
	f.mu.Lock()
	f.fetches = append(f.fetches, r)
	f.mu.Unlock()
	if f.during != nil {
		f.during()
	}
	if f.err != nil {
		return model.FetchResult{}, f.err
	}
	body := []byte(f.body)
	return model.FetchResult{
		ID: "f_1", Request: r, Status: 200, ContentType: "text/html", Body: model.BodyRef{Bytes: body, Size: int64(len(body))},
		Attempts: []model.Attempt{{N: 1, Class: model.ClassOK, Status: 200}}, Diagnosis: model.Diagnosis{Class: model.ClassOK, Rule: "ok", Summary: "it came; " + marked},
	}, nil
}

func (f *fake) Compare(_ context.Context, t model.Grid, _ func(int, model.Cell)) (model.Grid, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		for i := range f.cells {
			t.Cells[i].Runs, t.Cells[i].CutOff = f.cells[i].Runs, f.cells[i].CutOff
		}
		return t, f.err
	}
	for i, c := range t.Cells {
		f.fetches = append(f.fetches, t.Request(c))
		t.Cells[i].Runs = []model.Run{{Class: model.ClassOK, Requests: 1, Traffic: 10, Attempts: 1}}
	}
	return t, nil
}

func (f *fake) Diagnose(context.Context, fetch.Saved) (model.FetchResult, error) {
	return model.FetchResult{Diagnosis: model.Diagnosis{Class: model.ClassCaptcha}}, nil
}

// fakeBatches plans what it is given, and has one batch of each profile.
type fakeBatches struct{ f *fake }

func (f *fake) Batches() Batches { return fakeBatches{f} }

func (b fakeBatches) Check(_ context.Context, k fetch.Known, d batch.Draft, _ *atomic.Int64) (batch.Report, error) {
	b.f.mu.Lock()
	defer b.f.mu.Unlock()
	rows, err := io.ReadAll(d.Input.Source)
	b.f.batches, b.f.rows = append(b.f.batches, d), string(rows)
	r := batch.Report{Plan: batch.Plan{Request: d.Request}}
	r.Planned.Items = int64(strings.Count(string(rows), "\n"))
	if z, _ := k.Profile.FindZone(string(d.Request.Zone.Name)); z.Rate.Per1000 > 0 {
		r.Plan.Price = int64(z.Rate.Per1000 * 1e6)
	}
	return r, errors.Join(err, b.f.err)
}

func (b fakeBatches) Start(context.Context, batch.Report) (batch.State, error) {
	s := batch.State{}
	s.ID, s.Profile, s.State = "batch-1", "acme", batch.Running
	return s, b.f.unsent
}

func (b fakeBatches) Discard(batch.Report) error {
	b.f.discarded++
	return nil
}

func (b fakeBatches) Begin(_ context.Context, id string) error {
	b.f.begun = append(b.f.begun, id)
	return nil
}

func (b fakeBatches) Show(_ context.Context, id string) (batch.State, error) {
	s := batch.State{}
	s.ID, s.Profile, s.State, s.Plan.Request.Zone.Name = id, "acme", batch.Running, "priced"
	if id == "batch-other" {
		s.Profile = "other"
	}
	return s, nil
}

func (b fakeBatches) Pause(_ context.Context, id string) (batch.State, error) {
	s, err := b.Show(context.Background(), id)
	s.State = batch.Paused
	return s, err
}

func (b fakeBatches) Newest(_ context.Context, _ string, n int, _ bool) ([]batch.Result, error) {
	return []batch.Result{{N: int64(n), URL: "http://lab.test/1", Class: "captcha", Status: 200, Summary: "it came; " + marked}}, nil
}

func (f *fake) Datasets(context.Context, string, bool) (jobs.Listing, error) {
	return jobs.Listing{Datasets: []model.Dataset{{ID: "gd_1", Name: marked}}}, nil
}
func (f *fake) Jobs(context.Context, int) ([]model.Job, int, error) { return nil, 0, nil }
func (f *fake) Job(context.Context, string) (model.Job, error) {
	return model.Job{Profile: "other"}, nil
}
func (f *fake) Recover(context.Context) ([]model.Job, error) { return nil, nil }
func (f *fake) Watch(context.Context, string, func(model.Job)) (model.Job, error) {
	panic("a job of another profile is watched")
}

func (f *fake) SeeFields(context.Context, string, func(jobs.Progress)) (model.Job, error) {
	panic("the fields of another profile's job are looked at")
}

func (f *fake) Download(context.Context, string, jobs.Destination, func(jobs.Progress)) (model.Job, error) {
	panic("a job of another profile is downloaded")
}

// Check knows no cost.
func (f *fake) Check(_ context.Context, d jobs.Draft) (jobs.Report, error) {
	inputs, _ := d.From.(jobs.ReadyInputs)
	return jobs.Report{Request: model.TriggerRequest{Dataset: d.Dataset, Inputs: inputs}, Estimate: jobs.Estimate{Records: -1, Dollars: -1}, Questions: f.questions}, nil
}

func (f *fake) Launch(_ context.Context, r jobs.Report, a ask.Answers) (jobs.Launched, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.jobs, f.allSame = append(f.jobs, r.Request), a.AllOf(ask.SameInputs)
	return jobs.Launched{Job: model.Job{ID: "job-1", State: model.JobAccepted}}, cmp.Or(a.Open(r.Questions), f.err)
}

func (f *fake) CheckKeys(context.Context, time.Duration) ([]model.Key, []keystore.Finding, error) {
	return []model.Key{{Name: "k", Fingerprint: "f1f1f1f1", Last4: "wxyz"}}, nil, nil
}

func (f *fake) Entries(context.Context, model.HistoryFilter) ([]model.HistoryEntry, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]model.HistoryEntry{{Zone: "other", URL: "http://lab.test/"}, {URL: "http://other.test/"}, {Text: "seen", Kind: model.HistoryComparison}}, f.lines...), nil
}

func (f *fake) LoadFetch(context.Context, string) (model.FetchResult, error) {
	panic("a fetch without an allowed line is loaded")
}

func (f *fake) OpenText(b model.BodyRef) (history.Body, error) {
	return history.Body{ReaderAt: bytes.NewReader(b.Bytes), Size: b.Size}, nil
}
func (f *fake) BodyFile(model.BodyRef) (string, error) { return "/bodies/1", nil }

func (f *fake) BeginCall(ctx context.Context, a model.HistoryEntry, sends bool) error {
	f.mu.Lock()
	f.sends = append(f.sends, sends)
	f.mu.Unlock()
	return f.PutCall(ctx, a)
}

func (f *fake) PutCall(_ context.Context, a model.HistoryEntry) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lines = append(f.lines, a)
	return f.broken
}

func (f *fake) Scrub(b []byte) []byte {
	return bytes.ReplaceAll(b, []byte(marked), bytes.Repeat([]byte("*"), len(marked)))
}
func (f *fake) Close(context.Context) error { return nil }

func newServer(f *fake, r Rules) *Server {
	r.Profiles = []string{"acme"}
	return New(Config{
		Version: "1", Rules: r, Consoles: []Console{f}, Say: func(string, ...any) {},
	})
}

// connect gives a client of a server.
func connect(t testing.TB, s *Server) *sdk.ClientSession {
	t.Helper()
	near, far := sdk.NewInMemoryTransports()
	served, err := s.server().Connect(t.Context(), far, nil)
	noerr.Must(t, err)
	client, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), near, nil)
	noerr.Must(t, err)
	t.Cleanup(func() {
		_ = client.Close()
		_ = served.Wait()
	})
	return client
}

// callTool calls a tool and gives the text of its result, or of its error.
func callTool(t testing.TB, c *sdk.ClientSession, tool, args string) (text string, failed bool) {
	t.Helper()
	r, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
	if err != nil {
		return err.Error(), true
	}
	for _, c := range r.Content {
		text += c.(*sdk.TextContent).Text
	}
	return text, r.IsError
}

func TestTheCapHoldsOverCallsSideBySide(t *testing.T) {
	f := &fake{}
	release := make(chan struct{})
	arrived := make(chan struct{}, 100)
	f.during = func() {
		arrived <- struct{}{}
		<-release
	}
	c := connect(t, newServer(f, Rules{Cost: 3.5, Capped: true}))
	var calls sync.WaitGroup
	refused := make(chan string, 100)
	for range 20 {
		calls.Go(func() {
			if text, failed := callTool(t, c, "fetch", `{"url":"http://lab.test/","zone":"priced"}`); failed {
				refused <- text
			}
		})
	}
	for range 17 { // three are under way, each holding a dollar
		if text := <-refused; !strings.Contains(text, "it may cost up to $1.00, and $0.5000 of the cap of $3.50 are left") {
			t.Errorf("refused with %q", text)
		}
	}
	close(release)
	calls.Wait()
	if len(arrived) != 3 || len(refused) != 0 {
		t.Errorf("%d fetches were sent under a cap of 3.50", len(arrived))
	}
	if text, failed := callTool(t, c, "compare", `{"url":"http://lab.test/","zones":["priced"],"via":["api"]}`); !failed {
		t.Errorf("beyond the cap: %s", text)
	}
}

func TestWhatACallDidNotCostIsGivenBack(t *testing.T) {
	f := &fake{body: "x"}
	s := newServer(f, Rules{Cost: 2, Capped: true})
	c := connect(t, s)
	// By bytes: 5 MB may cost $0.50, the one byte that came costs next to nothing.
	for range 10 {
		if text, failed := callTool(t, c, "fetch", `{"url":"http://lab.test/","zone":"bytes","retries":1}`); failed {
			t.Fatal(text)
		}
	}
	if left := *s.budget.remaining(); left < 1.99 {
		t.Errorf("%v are left", left)
	}
	if r := f.fetches[0]; r.BodyLimit != usualBytes || r.Retries != 1 {
		t.Errorf("%+v", r)
	}
	for _, f.unsent = range []error{&model.RequestError{}, keystore.ErrSecretMissing, context.Canceled} {
		callTool(t, c, "fetch", `{"url":"http://lab.test/","zone":"priced"}`)
		if left := *s.budget.remaining(); left < 1.99 {
			t.Errorf("a request that was never sent costs (%v): %v are left", f.unsent, left)
		}
	}
	f.unsent = nil
	f.err = errors.New("it broke on the way")
	callTool(t, c, "fetch", `{"url":"http://lab.test/","zone":"priced"}`)
	if left := *s.budget.remaining(); left > 1 {
		t.Errorf("one that may have been billed does not count: %v are left", left)
	}
}

func TestAComparisonThatBreaksOffCountsWhatWasSent(t *testing.T) {
	run := model.Run{Class: model.ClassOK, Requests: 1, Traffic: 10}
	for name, tt := range map[string]struct {
		cells []model.Cell
		left  float64
	}{
		"nothing":                    {nil, 10},
		"a run":                      {[]model.Cell{{Runs: []model.Run{run}}}, 9},
		"one that was cut off":       {[]model.Cell{{Runs: []model.Run{run}, CutOff: 1}}, 8},
		"all that a cut one may be":  {[]model.Cell{{}, {CutOff: 1}}, 9.5},
		"each cell by its own price": {[]model.Cell{{CutOff: 2}, {Runs: []model.Run{run}}}, 8},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(&fake{err: context.Canceled, cells: tt.cells}, Rules{Cost: 10, Capped: true})
			if text, failed := callTool(t, connect(t, s), "compare", `{"url":"http://lab.test/","zones":["priced","bytes"],"via":["api"],"repeat":3}`); !failed {
				t.Errorf("it did not fail: %s", text)
			}
			if left := *s.budget.remaining(); math.Abs(left-tt.left) > 1e-5 {
				t.Errorf("%v are left, want %v", left, tt.left)
			}
		})
	}
}

func TestWithACapWhatHasNoPriceIsRefused(t *testing.T) {
	for _, zone := range []string{`"unpriced"`, `"browser"`, `"browser","via":"browser"`} {
		f := &fake{}
		args := `{"url":"http://lab.test/","zone":` + zone + `}`
		if text, failed := callTool(t, connect(t, newServer(f, Rules{Cost: 5, Capped: true})), "fetch", args); !failed || !strings.Contains(text, "is not known") || len(f.fetches) > 0 {
			t.Errorf("%s: %s", zone, text)
		}
		if text, failed := callTool(t, connect(t, newServer(f, Rules{Cost: 5, Capped: true, Unpriced: true})), "fetch", args); failed {
			t.Errorf("%s, allowed: %s", zone, text)
		}
		if text, failed := callTool(t, connect(t, newServer(f, Rules{})), "fetch", args); failed {
			t.Errorf("%s, without a cap: %s", zone, text)
		}
	}
}

func TestWhatHasAPriceCountsBesideWhatHasNone(t *testing.T) {
	f := &fake{}
	s := newServer(f, Rules{Cost: 1.5, Capped: true, Unpriced: true})
	c := connect(t, s)
	text, failed := callTool(t, c, "compare", `{"url":"http://lab.test/","zones":["priced"],"via":["api","browser"],"repeat":3}`)
	if !failed || !strings.Contains(text, "it may cost up to $3.00") || len(f.fetches) > 0 {
		t.Errorf("$3 under a cap of $1.50: %s", text)
	}
	if text, failed = callTool(t, c, "compare", `{"url":"http://lab.test/","zones":["priced","unpriced"],"via":["api"]}`); failed {
		t.Errorf("within the cap: %s", text)
	}
	if left := *s.budget.remaining(); left > 0.5 {
		t.Errorf("the priced run does not count: %v are left", left)
	}
}

func TestAJobWithoutAKnownCostIsRefusedUnderACap(t *testing.T) {
	const args = `{"dataset":"gd_1","inputs":[{"url":"http://lab.test/"}]}`
	f := &fake{}
	s := newServer(f, Rules{Cost: 100, Capped: true, Inputs: 1})
	if text, failed := callTool(t, connect(t, s), "jobs_launch", args); !failed || !strings.Contains(text, "what this call costs is not known") || len(f.jobs) > 0 || s.budget.inputs != 0 {
		t.Errorf("it was launched %d times, and holds %d inputs: %s", len(f.jobs), s.budget.inputs, text)
	}
	for _, rules := range []Rules{{Inputs: 1}, {Cost: 100, Capped: true, Unpriced: true, Inputs: 1}} {
		if text, failed := callTool(t, connect(t, newServer(f, rules)), "jobs_launch", args); failed {
			t.Errorf("%+v: %s", rules, text)
		}
	}
}

func TestNoSecretIsInWhatAnAgentGets(t *testing.T) {
	f := &fake{body: "<p>" + marked + "</p>"}
	c := connect(t, newServer(f, Rules{Inputs: 10}))
	check := func(text string) {
		t.Helper()
		if strings.Contains(text, marked) {
			t.Errorf("the secret is in %s", text)
		}
	}
	for tool, args := range map[string]string{
		"fetch": `{"url":"http://lab.test/?` + marked + `","zone":"priced"}`, "datasets": `{}`, "diagnose": `{"answer":"x"}`,
		"keys_check": `{}`, "history": `{}`, "jobs_list": `{}`,
	} {
		text, failed := callTool(t, c, tool, args)
		if failed || tool == "fetch" && !strings.Contains(text, "****") {
			t.Errorf("%s: %s", tool, text)
		}
		check(text)
		for _, no := range []string{"f1f1f1f1", "wxyz"} {
			if strings.Contains(text, no) {
				t.Errorf("%s tells of a key's value: %s", tool, text)
			}
		}
	}
	f.err = errors.New("it broke: " + marked)
	text, _ := callTool(t, c, "fetch", `{"url":"http://lab.test/","zone":"priced"}`)
	check(text)
	for _, a := range f.lines {
		check(a.Text + a.URL)
	}
}

func TestWhatCannotBeKeptInTheHistoryIsNotDone(t *testing.T) {
	f := &fake{broken: errors.New("the disk is full")}
	c := connect(t, newServer(f, Rules{Inputs: 1}))
	for tool, args := range map[string]string{
		"fetch": `{"url":"http://lab.test/","zone":"priced"}`, "jobs_launch": `{"dataset":"gd_1","inputs":[{"url":"http://lab.test/"}]}`,
	} {
		if text, failed := callTool(t, c, tool, args); !failed || !strings.Contains(text, "nothing was sent") {
			t.Errorf("%s: %s", tool, text)
		}
	}
	if len(f.fetches)+len(f.jobs) > 0 {
		t.Error("something was sent")
	}
	if last := f.lines[len(f.lines)-1]; !strings.Contains(last.Text, "not sent") || last.Ref != f.lines[len(f.lines)-2].Ref {
		t.Errorf("what is left of it in the history: %+v", f.lines)
	}
}

// Of a call whose end is not seen, the history says that it may have been sent only where its tool sends something that counts.
func TestTheHistoryIsToldWhichCallsSendSomething(t *testing.T) {
	f := &fake{}
	c := connect(t, newServer(f, Rules{Inputs: 1}))
	for _, call := range [][2]string{
		{"fetch", `{"url":"http://lab.test/","zone":"priced"}`}, {"keys_check", `{}`}, {"jobs_launch", `{"dataset":"gd_1","inputs":[{"url":"http://lab.test/"}]}`}, {"history", `{}`},
	} {
		callTool(t, c, call[0], call[1])
	}
	if want := []bool{true, false, true, false}; !slices.Equal(f.sends, want) {
		t.Errorf("%v, want %v", f.sends, want)
	}
}

func TestTheHistoryKeepsToTheRules(t *testing.T) {
	c := connect(t, newServer(&fake{}, Rules{Zones: []string{"priced"}, Domains: []string{"lab.test"}}))
	if text, failed := callTool(t, c, "history", `{}`); failed || strings.Contains(text, "other") || strings.Contains(text, "under way") || !strings.Contains(text, "seen") || !strings.Contains(text, `"comparison"`) {
		t.Errorf("it shows %s", text)
	}
	for tool, args := range map[string]string{"history_fetch": `{"id":"f_9"}`, "jobs_watch": `{"id":"job-1"}`, "jobs_download": `{"id":"job-1"}`} {
		if text, failed := callTool(t, c, tool, args); !failed {
			t.Errorf("%s: %s", tool, text)
		}
	}
}

func TestAHostAndThoseBelowItAreAllowedApart(t *testing.T) {
	rules := Rules{Domains: []string{"lab.test", "*.shop.test"}}
	for address, ok := range map[string]bool{
		"http://lab.test/": true, "https://LAB.test.:8080/x": true, "http://a.lab.test/": false, "http://xlab.test/": false, "http://lab.test.evil.example/": false,
		"http://a.shop.test/": true, "http://a.b.shop.test/": true, "http://shop.test/": false, "http://xshop.test/": false, "http://other.test/?lab.test": false,
	} {
		if err := rules.target(address); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestAHeaderNamesNoOtherHost(t *testing.T) {
	f := &fake{}
	c := connect(t, newServer(f, Rules{Domains: []string{"lab.test"}}))
	for _, header := range []string{`"Host":"other.test"`, `" host ":"other.test"`, `"Host:other.test":""`, `"X: y\r\nHost":"other.test"`, `"":"Host: other.test"`} {
		if text, failed := callTool(t, c, "fetch", `{"url":"http://lab.test/","zone":"priced","headers":{`+header+`}}`); !failed || !strings.Contains(text, "header") {
			t.Errorf("%s: %s", header, text)
		}
	}
	if len(f.fetches) > 0 {
		t.Error(len(f.fetches), "were sent")
	}
}

func TestDomainsAreReadStrictly(t *testing.T) {
	for in, want := range map[string]string{
		"lab.test": "lab.test", "*.Lab.TEST": "*.lab.test", "münchen.example": "xn--mnchen-3ya.example", "127.0.0.1": "127.0.0.1",
		"": "", "*.*.lab.test": "", "lab.test/x": "", "http://lab.test": "", "a b": "", "lab.test:80": "", "u@lab.test": "", "*": "", "#": "",
		"!!!": "", "a;b": "", "--zones": "", "...": "",
	} {
		got, err := ParseDomain(in)
		if got != want && err == nil || want != "" && err != nil {
			t.Errorf("%q gives %q, %v; want %q", in, got, err, want)
		}
	}
}

// FuzzArguments calls every tool with any arguments: what reaches the service is within the
// rules, and what the agent gets is bounded.
func FuzzArguments(f *testing.F) {
	tools := []string{"fetch", "compare", "diagnose", "datasets", "jobs_list", "jobs_watch", "jobs_download", "jobs_launch", "zones", "keys_check", "history", "history_fetch", "unknown", "batch_start", "batch_show", "batch_pause"}
	for i, args := range []string{
		`{"url":"http://lab.test/","zone":"priced","headers":{"Host":"x"},"retries":3,"max_bytes":7,"markdown":true}`,
		`{"url":"http://shop.lab.test/","zones":["priced","bytes"],"via":["api","native"],"repeat":2}`,
		`{"answer":"HTTP/1.1 200 OK\r\n\r\nx","via":"api"}`, `{"search":"x","limit":5}`, `{"limit":-1}`, `{"id":"job-1","wait_seconds":1}`, `{"id":"job-1"}`,
		`{"dataset":"gd_1","inputs":[{"url":"http://lab.test/","deep":{"u":["http://other.test/"]}}]}`, `{}`, `{"within_days":3}`, `{"minutes":5,"search":"a b"}`, `{"id":"f_1"}`, `null`,
		`{"rows":[{"url":"http://lab.test/1","n":"2"}],"url":"{{url}}/{{n}}","zone":"priced","max_cost":2}`, `{"id":"batch-1","results":5}`, `{"id":"batch-1"}`,
	} {
		f.Add(i, args)
	}
	rules := Rules{Zones: []string{"priced", "bytes"}, Domains: []string{"lab.test", "*.lab.test"}, Cost: 1000, Capped: true, Inputs: 100}
	f.Fuzz(func(t *testing.T, which int, args string) {
		if !json.Valid([]byte(args)) {
			return
		}
		console := &fake{body: strings.Repeat("<p>é</p>", 50_000)}
		text, _ := callTool(t, connect(t, newServer(console, rules)), tools[uint(which)%uint(len(tools))], args)
		if len(text) > 1_000_000 {
			t.Errorf("%d bytes are given", len(text))
		}
		within := func(address string) {
			u, err := url.Parse(address)
			if host := ""; err == nil {
				host = strings.TrimRight(strings.ToLower(u.Hostname()), ".")
				if host != "lab.test" && !strings.HasSuffix(host, ".lab.test") {
					t.Errorf("%s is sent to %q", args, address)
				}
			} else {
				t.Errorf("%s is sent to %q: %v", args, address, err)
			}
		}
		for _, r := range console.fetches {
			if within(dialect.Embedded().Locate(r).URL); r.Zone.Name != "priced" && r.Zone.Name != "bytes" || r.BodyLimit <= 0 || r.BodyLimit > maxBytes || r.Retries > maxRetries || len(r.Secrets) > 0 || r.BodyFile != "" {
				t.Errorf("%s is sent as %+v", args, r)
			}
		}
		if len(console.begun) > 0 {
			for line := range strings.Lines(console.rows) {
				var row map[string]string
				noerr.Must(t, json.Unmarshal([]byte(line), &row))
				within(model.ExpandVariables(console.batches[0].Request.URL, func(name string) string { return row[name] }))
			}
		}
		for _, j := range console.jobs {
			if len(j.Inputs) > 100 {
				t.Errorf("%d inputs", len(j.Inputs))
			}
			for _, in := range j.Inputs {
				within(in.URL)
			}
		}
	})
}

func TestAnAgentSaysYesToTheJobsThatAreThere(t *testing.T) {
	f := &fake{questions: []ask.Question{{Kind: ask.Cost}, {Kind: ask.SameInputs, About: "job-7", Text: "the same inputs were launched as job-7 (ready)"}}}
	s := newServer(f, Rules{Profiles: []string{"first"}, Inputs: 10})
	const args = `{"dataset":"gd_1","inputs":[{"url":"http://lab.test/"}]%s}`
	text, failed := callTool(t, connect(t, s), "jobs_launch", fmt.Sprintf(args, ""))
	if want := "the same inputs were launched as job-7 (ready); nothing was sent; again launches it"; !failed || !strings.Contains(text, want) || len(f.jobs) > 0 || s.budget.inputs != 0 {
		t.Errorf("without again: %s, %d jobs, %d inputs taken", text, len(f.jobs), s.budget.inputs)
	}
	if text, failed := callTool(t, connect(t, s), "jobs_launch", fmt.Sprintf(args, `,"again":true`)); failed || len(f.jobs) != 1 || f.allSame {
		t.Errorf("with again: %s, %d jobs, a yes to every equal job: %v", text, len(f.jobs), f.allSame)
	}
}

func TestABatchOfAnAgentIsWithinTheRules(t *testing.T) {
	rules := Rules{Zones: []string{"priced", "unpriced"}, Domains: []string{"lab.test"}, Cost: 5, Capped: true}
	f := &fake{}
	s := newServer(f, rules)
	c := connect(t, s)
	for args, want := range map[string]string{
		`{"urls":["http://lab.test/1","http://other.test/"],"zone":"priced","max_cost":2}`:            `item 2: refused by the operator's rules: host "other.test"`,
		`{"rows":[{"host":"other.test"}],"url":"http://{{host}}/","zone":"priced","max_cost":2}`:      `item 1: refused by the operator's rules: host "other.test"`,
		`{"urls":["http://lab.test/1"],"zone":"bytes","max_cost":2}`:                                  `zone "bytes" is not allowed`,
		`{"urls":["http://lab.test/1"],"zone":"priced"}`:                                              "max_cost is missing: one try each costs at most $1.00",
		`{"urls":["http://lab.test/1"],"zone":"priced","max_cost":6}`:                                 "it may cost up to $6.00, and $5.00 of the cap of $5.00 are left",
		`{"urls":["http://lab.test/1"],"zone":"unpriced"}`:                                            "is not known, and there is a cap",
		`{"urls":["http://lab.test/1"],"zone":"priced","max_cost":2,"at_once":-1}`:                    "at_once -1: write a number from 0 to 1000",
		`{"zone":"priced","max_cost":2}`:                                                              "urls or rows: give 1 to 10000",
		`{"urls":["http://lab.test/1"],"zone":"priced","max_cost":2,"headers":{"Host":"other.test"}}`: "the header Host",
		`{"urls":["http://lab.test/1"],"zone":"priced","max_cost":2,"via":"browser2"}`:                "write api, native or browser",
	} {
		if text, failed := callTool(t, c, "batch_start", args); !failed || !strings.Contains(text, want) || len(f.begun) > 0 {
			t.Errorf("%s: %s; want %s", args, text, want)
		}
	}
	if left := *s.budget.remaining(); left != 5 || f.discarded != 3 {
		t.Errorf("%v are left, %d plans discarded", left, f.discarded)
	}
	const args = `{"rows":[{"sku":"7"},{"sku":"8"}],"url":"http://lab.test/{{sku}}","zone":"priced","max_cost":2,"at_once":4,"rate":2.5,"require":[".price"]}`
	text, failed := callTool(t, c, "batch_start", args)
	if failed || !strings.Contains(text, `"id":"batch-1"`) || !strings.Contains(text, `"state":"running"`) || !strings.Contains(text, `"cost_left":3`) || !slices.Equal(f.begun, []string{"batch-1"}) {
		t.Fatalf("started: %s, begun %v", text, f.begun)
	}
	if d := f.batches[len(f.batches)-1]; d.AtOnce != 4 || d.Rate != 2.5 || d.Cap != 2 || d.Request.Required[0] != ".price" || f.rows != "{\"sku\":\"7\"}\n{\"sku\":\"8\"}\n" {
		t.Errorf("planned %+v of %s", d, f.rows)
	}
	first := batch.State{}
	first.ID, first.Name = "batch-other", "nightly"
	f.unsent = &batch.OnceError{State: first}
	if text, failed := callTool(t, c, "batch_start", args); !failed || !strings.Contains(text, "batch batch-other is not of profile") || strings.Contains(text, "nightly") {
		t.Errorf("a name that another profile's batch has: %s", text)
	}
	first.ID = "batch-1"
	f.unsent = &batch.OnceError{State: first}
	if text, failed := callTool(t, c, "batch_start", args); failed || *s.budget.remaining() != 3 || len(f.begun) != 1 {
		t.Errorf("a name that is used: %s, %v left, begun %v", text, *s.budget.remaining(), f.begun)
	}
	if text, failed := callTool(t, c, "batch_show", `{"id":"batch-1","results":5}`); failed || !strings.Contains(text, `"n":6`) || !strings.Contains(text, `"state":"interrupted"`) || strings.Contains(text, marked) {
		t.Errorf("shown: %s", text)
	}
	if text, failed := callTool(t, c, "batch_pause", `{"id":"batch-1"}`); failed || !strings.Contains(text, `"state":"paused"`) {
		t.Errorf("paused: %s", text)
	}
	for _, tool := range []string{"batch_show", "batch_pause"} {
		if text, failed := callTool(t, c, tool, `{"id":"batch-other"}`); !failed || !strings.Contains(text, "batch batch-other is not of profile") {
			t.Errorf("%s of another profile: %s", tool, text)
		}
	}
}
