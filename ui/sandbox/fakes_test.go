package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/agent"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
	"zonedeck/service/fetch"
	"zonedeck/service/history"
	"zonedeck/service/saved"
	"zonedeck/ui"
	"zonedeck/ui/compare"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/body"
	"zonedeck/ui/kit/widget"
	"zonedeck/ui/sandbox"
	"zonedeck/ui/uitest"
)

// fakeService answers fetches as the test says, and keeps what it was asked.
type fakeService struct {
	*fetch.Fetcher // the real preview
	mu             sync.Mutex
	sent           []model.FetchRequest
	history        []model.HistoryEntry
	urls           []string     // of earlier fetches
	compared       []model.Grid // that were kept
	kept           map[string]model.FetchResult
	slow           map[string]time.Duration // how long LoadFetch takes, whoever still waits
	tools          []agent.Tool
	toolsVerdict   model.Diagnosis
	toolsErr       error
	listed         int // how often the tools were listed
	profile        func() model.Profile
	stops          map[int]context.CancelFunc
	answer         func(ctx context.Context, r model.FetchRequest, on func(fetch.Event)) (model.FetchResult, error)
}

func (f *fakeService) Fetch(ctx context.Context, r model.FetchRequest, on func(fetch.Event)) (model.FetchResult, error) {
	f.mu.Lock()
	f.sent = append(f.sent, r)
	answer := f.answer
	f.mu.Unlock()
	return answer(ctx, r, on)
}

// Tools gives the tools that the test has, or why there are none.
func (f *fakeService) Tools(context.Context, string) ([]agent.Tool, model.Diagnosis, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listed++
	return f.tools, f.toolsVerdict, f.toolsErr
}

// Plan marks what the service would refuse.
func (f *fakeService) Plan(ctx context.Context, p model.Preset, base model.FetchRequest) (model.Grid, error) {
	return fetch.New(fetch.Config{Source: exchange.Fixed(f.profile(), model.Key{}, keystore.Secret{})}).Plan(ctx, p, base)
}

// Compare answers each run as Fetch does.
func (f *fakeService) Compare(ctx context.Context, g model.Grid, on func(int, model.Cell)) (model.Grid, error) {
	g.Cells = slices.Clone(g.Cells)
	var mu sync.Mutex
	set := func(i int, c model.Cell) {
		mu.Lock()
		defer mu.Unlock()
		g.Cells[i] = c
		on(i, c)
	}
	var wg sync.WaitGroup
	for i, c := range g.Cells {
		ctx, cancel := context.WithCancel(ctx)
		f.mu.Lock()
		f.stops[i] = cancel
		f.mu.Unlock()
		wg.Go(func() {
			c.Problem, c.Active = "", true
			set(i, c)
			for len(c.Runs) < g.Repeat {
				res, err := f.Fetch(ctx, g.Request(c), nil)
				if err != nil {
					c.Problem = "cancelled"
					break
				}
				c.Runs = append(slices.Clip(c.Runs), model.NewRun(res))
				set(i, c)
			}
			c.Active = false
			set(i, c)
		})
	}
	wg.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	if g.ID == "" {
		g.ID = "t_1"
	}
	if g.Started.IsZero() {
		g.Started = time.Now()
	}
	f.compared = append(f.compared, g)
	return g, ctx.Err()
}

func (f *fakeService) StopCell(_ string, cell int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stops[cell]()
}

func (f *fakeService) LoadComparison(_ context.Context, id string) (model.Grid, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, t := range slices.Backward(f.compared) {
		if t.ID == id {
			return t, nil
		}
	}
	return model.Grid{}, errors.New("the journal has no such comparison")
}

func (f *fakeService) requests() []model.FetchRequest {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]model.FetchRequest(nil), f.sent...)
}

func (f *fakeService) Entries(_ context.Context, filter model.HistoryFilter) ([]model.HistoryEntry, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := slices.DeleteFunc(slices.Clone(f.history), func(a model.HistoryEntry) bool {
		return a.Source != "" && a.Source == filter.Without || filter.Profile != "" && a.Profile != "" && a.Profile != filter.Profile
	})
	if filter.PerZone > 0 {
		return list, nil
	}
	return list[:min(len(list), filter.Limit)], nil
}

func (f *fakeService) URLs(context.Context, string, int) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.urls), nil
}

func (f *fakeService) LoadFetch(_ context.Context, id string) (model.FetchResult, error) {
	if d := f.slow[id]; d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		<-timer.C
	}
	res, ok := f.kept[id]
	if !ok {
		return model.FetchResult{}, errors.New("the journal has no such fetch")
	}
	return res, nil
}

// never answers: the fetch ends with its context.
func never(ctx context.Context, _ model.FetchRequest, _ func(fetch.Event)) (model.FetchResult, error) {
	<-ctx.Done()
	return model.FetchResult{}, context.Cause(ctx)
}

// fakeStore keeps saved requests in memory.
type fakeStore struct {
	kept    map[string]model.FetchRequest
	deleted string // the request that was deleted last
	renamed func(from, to string)
}

// Overlay stands for the collection: a finder over the names.
func (s *fakeStore) Overlay(form *sandbox.Model) kit.Overlay {
	s.renamed = form.RenamedSaved
	var choices []widget.Choice
	for _, name := range slices.Sorted(maps.Keys(s.kept)) {
		choices = append(choices, widget.Choice{Option: widget.Option{Value: name}, Pick: form.OpenSaved(name)})
	}
	return widget.NewFinder(kit.NewTheme(true, false), "Saved requests", "", choices)
}

// fakeVariables are values and answers in memory.
type fakeVariables struct {
	mu     sync.Mutex
	values map[string]model.Variable
}

func (f *fakeVariables) Variable(name string) (model.Variable, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	v, ok := f.values[name]
	return v, ok
}

func (f *fakeVariables) Answer(name, value string, secret bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.values[name] = model.Variable{Value: value}
	if value == "" {
		delete(f.values, name)
	} else if secret {
		f.values[name] = model.Variable{Ref: "asked:" + name}
	}
}

func (s *fakeStore) Load(_ context.Context, name string) (model.FetchRequest, error) {
	return s.kept[name], nil
}

func (s *fakeStore) RestoreLast(context.Context) (string, error) {
	if s.deleted == "" {
		return "", saved.ErrNoneDeleted
	}
	name := s.deleted
	s.deleted = ""
	return name, nil
}

func (s *fakeStore) Save(_ context.Context, name string, r model.FetchRequest, replace bool) ([]string, error) {
	if _, have := s.kept[name]; have && !replace {
		return nil, saved.ErrExists
	}
	s.kept[name] = r
	return nil, nil
}

// fakeFiles are the bodies on disk, by the names of their files.
type fakeFiles struct {
	mu     sync.Mutex
	bodies map[string]string
	// opens and closes count by file.
	opens, closes map[string]int
	// slow is how long it takes to open a file, "editor" how long to prepare an editor, and
	// "kept" how long to keep a body.
	slow map[string]time.Duration
	// editors are those that were prepared.
	editors []*fakeEditor
}

// fakeEditor is a command that ends at once.
type fakeEditor struct{ ran, closed bool }

func (*fakeEditor) SetStdin(io.Reader)  {}
func (*fakeEditor) SetStdout(io.Writer) {}
func (*fakeEditor) SetStderr(io.Writer) {}

func (e *fakeEditor) Run() error {
	e.ran = true
	return nil
}

func (e *fakeEditor) Close() error {
	e.closed = true
	return nil
}

func (*fakeFiles) HasEditor() bool { return true }

func (f *fakeFiles) Edit(context.Context, model.BodyRef, string) (sandbox.Editor, error) {
	f.wait("editor")
	f.mu.Lock()
	defer f.mu.Unlock()
	e := &fakeEditor{}
	f.editors = append(f.editors, e)
	return e, nil
}

func (f *fakeFiles) keep(_ context.Context, res model.FetchResult) (string, error) {
	f.wait("kept")
	return "/kept/" + res.ID + ".html", nil
}

func (f *fakeFiles) wait(name string) {
	if d := f.slow[name]; d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		<-timer.C
	}
}

func (f *fakeFiles) Open(_ context.Context, b model.BodyRef) (body.Source, error) {
	f.wait(b.File)
	if b.File == "" {
		return body.Source{Reader: bytes.NewReader(b.Bytes), Size: int64(len(b.Bytes))}, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	text, ok := f.bodies[b.File]
	if !ok {
		return body.Source{}, errors.New("no file in this test")
	}
	f.opens[b.File]++
	return body.Source{Reader: strings.NewReader(text), Size: int64(len(text)), Close: func() error {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.closes[b.File]++
		return nil
	}}, nil
}

// bench is one screen under test.
type bench struct {
	codes []kit.ShowCode // that were asked for
	*uitest.Screen
	svc   *fakeService
	store *fakeStore
	vars  *fakeVariables
	files *fakeFiles
	view  *sandbox.Model
}

func demoProfile() model.Profile {
	return model.Profile{
		Name: "local", Local: true, BaseURL: "http://127.0.0.1:8080", ProxyHost: "127.0.0.1", ProxyPort: 33335,
		UsernamePrefix: "brd", Account: "hl_demo01", Dialect: "brightdata", Can: dialect.Abilities("brightdata"), Key: "batch-user", Verify: true, Zones: demoZones(),
		AgentURL: "http://127.0.0.1:8080/mcp", BrowserURL: "ws://127.0.0.1:9222",
	}
}

// withoutAgents is a profile without agent access.
func withoutAgents() model.Profile {
	p := demoProfile()
	p.AgentURL = ""
	return p
}

func demoZones() []model.Zone {
	return []model.Zone{
		{Name: "datacenter_demo", Product: model.ProductDatacenter, Password: "demo:datacenter_demo"},
		{Name: "unlocker_demo", Product: model.ProductUnlocker, Password: "demo:unlocker_demo"},
		{Name: "browser_demo", Product: model.ProductBrowser, Password: "demo:browser_demo"},
		{Name: "serp_demo", Product: model.ProductSERP, Password: "demo:serp_demo"},
	}
}

// keptFetches is the history, with the files that are written of it.
type keptFetches struct {
	compare.History
	*fakeService
	files *fakeFiles
}

func (k keptFetches) LoadComparison(ctx context.Context, id string) (model.Grid, error) {
	return k.fakeService.LoadComparison(ctx, id)
}

func (k keptFetches) Answer(context.Context, string, int64) (history.Answer, error) {
	return history.Answer{}, errors.New("no page in this test")
}

func (k keptFetches) KeepBody(ctx context.Context, res model.FetchResult) (string, error) {
	return k.files.keep(ctx, res)
}

func (k keptFetches) OneHAR(_ context.Context, id string) (string, error) {
	return "/downloads/" + id + ".har", nil
}

func demoSession() kit.Session {
	now := time.Now()
	user := model.Key{
		Name: "batch-user", Level: model.LevelUser, Duty: model.DutyBatch, Last4: "f2a1", Secret: "demo:batch-user",
		Expires: model.ExpiresAt(now.AddDate(0, 0, 60)), Rotation: model.Rotation{Last: now.AddDate(0, 0, -20)},
	}
	finance := user
	finance.Name, finance.Level, finance.Last4, finance.Secret = "finance-review", model.LevelFinance, "0c0c", "demo:finance-review"
	return kit.Session{
		Profile:     model.Profile{Can: dialect.Abilities("")},
		ProfileName: "local", Local: true, Ready: true, Key: user, Keys: []model.Key{user, finance}, Zones: demoZones(),
	}
}

// inUse gives the profile in use.
type inUse func() model.Profile

func (f inUse) CurrentProfile() model.Profile { return f() }
func (inUse) Now() time.Time                  { return time.Now() }

// onScreen runs a test of the tab in a bubble of time.
func onScreen(t *testing.T, w, h int, test func(t *testing.T, b *bench), change ...func(*sandbox.Deps)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, open(t, w, h, change...)) })
}

// wantSent checks how many requests were sent so far; why says what follows from it.
func (b *bench) wantSent(t *testing.T, want int, why string) {
	t.Helper()
	if n := len(b.svc.requests()); n != want {
		t.Errorf("%d requests were sent, want %d: %s\n%s", n, want, why, b.Screen.Screen())
	}
}

// answers makes the service answer each fetch with a result.
// compare sends the comparison that the form of ctrl+w has chosen at first.
func (b *bench) compare() {
	b.Press("ctrl+w")
	b.Expect("What to compare")
	b.After(time.Second)
	b.Press("ctrl+s")
}

func (b *bench) answers(result func(model.FetchRequest) model.FetchResult) {
	b.svc.answer = func(_ context.Context, r model.FetchRequest, _ func(fetch.Event)) (model.FetchResult, error) {
		return result(r), nil
	}
}

// open runs the console with the Sandbox as its only tab.
func open(t *testing.T, w, h int, change ...func(*sandbox.Deps)) *bench {
	t.Helper()
	b := &bench{
		svc:   &fakeService{Fetcher: fetch.New(fetch.Config{}), kept: map[string]model.FetchResult{}, profile: withoutAgents, stops: map[int]context.CancelFunc{}},
		store: &fakeStore{kept: map[string]model.FetchRequest{}},
		vars:  &fakeVariables{values: map[string]model.Variable{}},
		files: &fakeFiles{bodies: map[string]string{}, opens: map[string]int{}, closes: map[string]int{}, slow: map[string]time.Duration{}},
	}
	b.answers(okResult)
	theme := kit.NewTheme(true, false)
	deps := sandbox.Deps{
		Ctx: t.Context(), Theme: theme, Fetcher: b.svc, Comparer: b.svc, Tools: b.svc, History: keptFetches{fakeService: b.svc, files: b.files}, Saved: b.store, Profile: inUse(demoProfile),
		Bodies: b.files, Collection: b.store, Variables: b.vars,
	}
	for _, c := range change {
		c(&deps)
	}
	b.view = sandbox.New(deps)
	app := ui.New(ui.Deps{
		Ctx: t.Context(), Now: time.Now, Theme: theme, FixedTheme: true, Session: demoSession(),
		Code: func(c kit.ShowCode) kit.Overlay {
			b.codes = append(b.codes, c)
			return nil
		},
		Tabs: []ui.Tab{{ID: kit.Sandbox, View: b.view}, {ID: kit.Jobs, View: &uitest.OtherTab{}}, {ID: kit.Proxy, View: &uitest.OtherTab{}}, {ID: kit.Keys, View: &uitest.OtherTab{}}},
	})
	b.Screen = uitest.Start(t, app, w, h)
	return b
}

// reload does what coming back to the tab does.
func (b *bench) reload() { b.Send(b.view.Focus()) }

func okResult(r model.FetchRequest) model.FetchResult {
	body := "<!doctype html>\n<html><head><title>The lab</title></head>\n<body><h1>ok</h1></body></html>\n"
	return model.FetchResult{
		ID: "f_1", Request: r, KeyName: "batch-user", Started: time.Now(), Status: 200, ServiceStatus: 200,
		Header: http.Header{"Content-Type": {"text/html; charset=utf-8"}, "X-Brd-Ip": {"127.0.3.17"}}, ContentType: "text/html; charset=utf-8",
		Body: model.BodyRef{Bytes: []byte(body), Size: int64(len(body))},
		Timing: model.Timing{
			DNS: -1, Connect: 1 * time.Millisecond, ProxyConnect: -1, TLS: -1, FirstByte: 38 * time.Millisecond,
			Transfer: 2 * time.Millisecond, Total: 41 * time.Millisecond,
		},
		Attempts:  []model.Attempt{{N: 1, Class: model.ClassOK, Status: 200, Total: 41 * time.Millisecond}},
		Diagnosis: model.Diagnosis{Class: model.ClassOK, Summary: "The target answered 200 with a body.", Evidence: []model.Evidence{{Kind: "status", Text: "200"}}},
	}
}

func captchaResult(r model.FetchRequest) model.FetchResult {
	res := okResult(r)
	body := "<!doctype html>\n<html><head><title>Just a moment</title></head>\n<div class=\"g-recaptcha\"></div>\n"
	res.ID, res.Body = "f_2", model.BodyRef{Bytes: []byte(body), Size: int64(len(body))}
	at := int64(strings.Index(body, "g-recaptcha"))
	res.Attempts = []model.Attempt{
		{N: 1, Class: model.ClassCaptcha, Status: 200, Total: 40 * time.Millisecond},
		{N: 2, Class: model.ClassCaptcha, Status: 200, Wait: time.Second, Total: 44 * time.Millisecond},
	}
	res.Diagnosis = model.Diagnosis{
		Class: model.ClassCaptcha, Summary: "The target answered with a CAPTCHA instead of the page.",
		Evidence: []model.Evidence{{Kind: "service_status", Text: "200 OK"}, {Kind: "status", Text: "200 OK"}, {Kind: "header", Text: "x: y"}, {Kind: "body", Text: "match \"g-recaptcha\"", Offset: at, Length: 11}},
		Steps: []model.Step{
			{Action: model.ActionTryBrowser, Text: "use the specialised product", Documented: true},
			{Action: model.ActionSlowDown, Text: "slow down", Documented: true},
			{Action: model.ActionOtherWay, Text: "compare API and Native"},
		},
	}
	return res
}
