package compare_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/exchange"
	"zonedeck/service/fetch"
	"zonedeck/service/history"
	"zonedeck/ui"
	"zonedeck/ui/compare"
	"zonedeck/ui/kit"
	"zonedeck/ui/uitest"
)

// rig is a page in a tab, with a service that plans as the real one does.
type rig struct {
	*uitest.Screen
	page    *compare.Page
	profile model.Profile
	// run answers one run of a cell; each takes so long.
	run  func(g model.Grid, c model.Cell) model.Run
	took time.Duration
	// quick is an access method by which a run takes a moment alone.
	quick model.Via
	// stuck is how long the end of a cancelled comparison takes.
	stuck          time.Duration
	planErr, fails error
	doubt          string

	mu        sync.Mutex
	sent      []model.FetchRequest
	kept      []model.Grid // in the history
	answers   map[string]history.Answer
	base      *model.Baseline
	stops     map[int]context.CancelFunc
	confirmed []string
	fills     []compare.Fill
	logins    []compare.Login
	grew      int
	codes     []kit.ShowCode
}

func demo() model.Profile {
	return model.Profile{
		Name: "local", Local: true, BaseURL: "http://127.0.0.1:8080", ProxyHost: "127.0.0.1", ProxyPort: 33335, UsernamePrefix: "brd", Account: "hl_demo01",
		Dialect: "brightdata", Key: "batch-user", Verify: true,
		Zones: []model.Zone{
			{Name: "dc", Product: model.ProductDatacenter, Password: "demo:dc", Rate: model.Rate{Per1000: 1}},
			{Name: "unlocker", Product: model.ProductUnlocker, Password: "demo:unlocker"},
			{Name: "serp", Product: model.ProductSERP, Password: "demo:serp"},
		},
	}
}

// real is the profile of an account that pays.
func real() model.Profile {
	p := demo()
	p.Name, p.Local = "acme", false
	return p
}

// test runs body in fake time, on a screen of w by h, with a page for a profile.
func test(t *testing.T, p model.Profile, w, h int, body func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{profile: p, run: mixed, answers: map[string]history.Answer{}, stops: map[int]context.CancelFunc{}}
		theme := kit.NewTheme(true, false)
		r.page = compare.New(compare.Deps{Ctx: t.Context(), Now: time.Now, Theme: theme, Comparer: r, History: r, Keys: r, View: kit.Sandbox})
		r.Screen = uitest.Start(t, ui.New(ui.Deps{
			Ctx: t.Context(), Now: time.Now, Theme: theme, FixedTheme: true, Tabs: []ui.Tab{{ID: kit.Sandbox, View: tab{r}}},
			Session: session(p),
			Code: func(c kit.ShowCode) kit.Overlay {
				r.codes = append(r.codes, c)
				return nil
			},
		}), w, h)
		body(r)
	})
}

func session(p model.Profile) kit.Session {
	return kit.Session{
		ProfileName: p.Name, Profile: p, Local: p.Local, Ready: true, Zones: p.Zones,
		Keys: []model.Key{{Name: "k1", Level: model.LevelUser, Secret: "env:A"}, {Name: "k2", Level: model.LevelUser, Secret: "env:B"}, {Name: "k3", Level: model.LevelOps, Secret: "env:C"}},
	}
}

// do makes the tab carry out what it would do for a key.
func (r *rig) do(f func() tea.Cmd) { r.Send(kit.Addressed{View: kit.Sandbox, Msg: doing{f}}) }

type doing struct{ f func() tea.Cmd }

var page = model.FetchRequest{URL: "http://lab.test/ok", Zone: model.Zone{Name: "unlocker"}, Via: model.ViaAPI, Key: "k1"}

// asked opens the form of a comparison of zones for the page; zones sends what it has chosen at first.
func (r *rig) asked() {
	r.do(func() tea.Cmd { return r.page.Compare(page, "") })
	r.Expect("What to compare", "ctrl+s send them")
}

func (r *rig) zones() {
	r.asked()
	r.After(time.Second)
	r.Press("ctrl+s")
}

// mixed answers a CAPTCHA by datacenter zones, and Native in half the time of API.
func mixed(_ model.Grid, c model.Cell) model.Run {
	r := model.Run{
		FetchID: "f_" + string(c.Zone.Name) + "_" + string(c.Via), Class: model.ClassOK, Status: 200, Bytes: 90, FirstByte: 38 * time.Millisecond, Total: 41 * time.Millisecond,
		Attempts: 1, Requests: 1, Traffic: 90,
	}
	if c.Zone.Product == model.ProductDatacenter {
		r.Class, r.Total = model.ClassCaptcha, 1100*time.Millisecond
	}
	if c.Via == model.ViaNative {
		r.Total /= 2
	}
	return r
}

func (r *rig) requests() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.sent)
}

func (r *rig) Plan(ctx context.Context, p model.Preset, base model.FetchRequest) (model.Grid, error) {
	if r.planErr != nil {
		return model.Grid{}, r.planErr
	}
	if p.Kind == model.CompareRefusal {
		p.GoodPage = "http://good.example/"
		g := model.NewRefusal(p)
		g.Profile = r.profile.Name
		return g, nil
	}
	return fetch.New(fetch.Config{Source: exchange.Fixed(r.profile, model.Key{}, keystore.NewSecret("k"))}).Plan(ctx, p, base)
}

// Compare fills cells side by side, those of a refusal one after the other.
func (r *rig) Compare(ctx context.Context, g model.Grid, on func(int, model.Cell)) (model.Grid, error) {
	g.Cells = slices.Clone(g.Cells)
	var mu sync.Mutex
	set := func(i int, c model.Cell) {
		mu.Lock()
		defer mu.Unlock()
		g.Cells[i] = c
		on(i, c)
	}
	if g.Started.IsZero() || g.Kind != model.CompareZones {
		g.Started = time.Now()
	}
	if g.Kind == model.CompareRefusal {
		for i, ok := g.Next(); ok; i, ok = g.Next() {
			if r.fill(ctx, g, i, set); ctx.Err() != nil {
				<-time.After(r.stuck)
				return g, ctx.Err()
			}
		}
		for i, c := range g.Cells {
			if len(c.Runs) == 0 && c.Problem == "" {
				c.Problem = "not needed: what was sent decides it"
				set(i, c)
			}
		}
		return g, r.fails
	}
	var wg sync.WaitGroup
	for i, c := range g.Cells {
		if c.Problem != "" && g.Kind != model.CompareZones {
			continue
		}
		cell, cancel := context.WithCancel(ctx)
		r.mu.Lock()
		r.stops[i] = cancel
		r.mu.Unlock()
		wg.Go(func() { r.fill(cell, g, i, set) })
	}
	wg.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = append(r.kept, g)
	return g, errors.Join(ctx.Err(), r.fails)
}

func (r *rig) fill(ctx context.Context, g model.Grid, i int, set func(int, model.Cell)) {
	c := g.Cells[i]
	c.Problem, c.Active = "", true
	set(i, c)
	for len(c.Runs) < max(g.Repeat, 1) {
		r.mu.Lock()
		r.sent = append(r.sent, g.Request(c))
		r.mu.Unlock()
		took := r.took
		if r.quick != "" && c.Via == r.quick {
			took = time.Millisecond
		}
		select {
		case <-time.After(took):
		case <-ctx.Done():
			c.Problem, c.Active = "cancelled", false
			set(i, c)
			return
		}
		c.Runs = append(slices.Clip(c.Runs), r.run(g, c))
		set(i, c)
	}
	c.Active = false
	set(i, c)
}

func (r *rig) StopCell(_ string, cell int) { r.stops[cell]() }

func (r *rig) LoadComparison(_ context.Context, id string) (model.Grid, error) {
	for _, g := range r.kept {
		if g.ID == id {
			return g, nil
		}
	}
	return model.Grid{}, errors.New("the journal has no such comparison")
}

func (r *rig) Answer(_ context.Context, id string, _ int64) (history.Answer, error) {
	a, ok := r.answers[id]
	if !ok {
		return a, errors.New("the journal has no such fetch")
	}
	return a, nil
}

func (r *rig) Difference(ctx context.Context, names, ids [2]string) (history.Difference, error) {
	for i, id := range ids {
		if _, err := r.Answer(ctx, id, 0); err != nil {
			return history.Difference{}, errors.New(names[i] + ": " + err.Error())
		}
	}
	return history.Difference{
		Verdict: []history.Change{{Name: "class", A: "CAPTCHA", B: "ok"}}, Headers: []history.Change{{Name: "Server", B: "lab"}},
		Text: "@@ -1 +1 @@\n-<title>Just a moment</title>\n+<title>The lab</title>\n",
	}, nil
}

func (r *rig) KeepBaseline(_ context.Context, b model.Baseline) error {
	r.base = &b
	return nil
}

func (r *rig) LoadBaseline(context.Context, string) (model.Baseline, error) {
	if r.base == nil {
		return model.Baseline{}, history.ErrNone
	}
	return *r.base, nil
}

func (r *rig) Doubt(string) string { return r.doubt }

func (r *rig) Confirm(key string) { r.confirmed = append(r.confirmed, key) }

// tab holds the page, as the Sandbox and the Proxy tab do.
type tab struct{ r *rig }

func (tab) Init() tea.Cmd { return nil }
func (tab) Title() string { return "Tab" }

func (t tab) Running() int { return t.r.page.Running() }

func (t tab) Bindings() []kit.Binding {
	if t.r.page.Open() {
		return t.r.page.Bindings()
	}
	return nil
}

func (t tab) Render(w, h int) string {
	if t.r.page.Open() {
		return t.r.page.Render(w, h)
	}
	return "the form"
}

func (t tab) Update(msg tea.Msg) tea.Cmd {
	r := t.r
	switch msg := msg.(type) {
	case kit.SessionChanged:
		r.page.SetSession(msg.Session)
	case doing:
		return msg.f()
	case compare.Sent, kit.Resized:
	case compare.Fill:
		r.fills = append(r.fills, msg)
	case compare.Login:
		r.logins = append(r.logins, msg)
	case kit.HistoryGrew:
		r.grew++
	case kit.OpenFetch:
		r.page.Close()
		return kit.Info("fetch " + msg.ID + " of profile " + msg.Profile)
	default:
		return r.page.Update(msg)
	}
	return nil
}

func (t tab) AfterMsg() tea.Cmd { return t.r.page.Look() }
