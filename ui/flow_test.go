package ui_test

import (
	"context"
	"fmt"
	"image/color"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/ui"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
	"zonedeck/ui/uitest"
)

func flow(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

func start(t *testing.T, app *ui.App) *uitest.Screen { return startAt(t, app, 100, 30) }

func startAt(t *testing.T, app *ui.App, w, h int) *uitest.Screen {
	t.Helper()
	return uitest.Start(t, app, w, h)
}

// load starts a load that takes d and answers n.
type load struct {
	n int
	d time.Duration
}

func loader(v *fakeView, ctx context.Context) func(tea.Msg) tea.Cmd { //nolint:revive // context-as-argument: reads as "v's loader in ctx"
	return func(msg tea.Msg) tea.Cmd {
		l, ok := msg.(load)
		if !ok {
			return nil
		}
		return kit.Load(kit.Sandbox, &v.slot, ctx, func(ctx context.Context) (int, error) {
			timer := time.NewTimer(l.d)
			defer timer.Stop()
			select {
			case <-timer.C:
				return l.n, nil
			case <-ctx.Done():
				return -l.n, nil
			}
		}, func(n int, _ error) tea.Cmd { return v.Update(hello{n}) })
	}
}

func TestAStaleResultIsDropped(t *testing.T) {
	flow(t, func(t *testing.T) {
		app, a, _ := newApp(t.Context())
		a.work = loader(a, t.Context())
		s := start(t, app)
		s.Send(kit.Addressed{View: kit.Sandbox, Msg: load{1, 10 * time.Second}})
		s.After(time.Second)
		s.Send(kit.Addressed{View: kit.Sandbox, Msg: load{2, time.Second}})
		s.After(20 * time.Second)
		if !a.has("hello 2") || a.has("hello 1") || a.has("hello -1") {
			t.Errorf("the view got %v", a.got)
		}
		if a.slot.Running() {
			t.Error("the slot still counts as running")
		}
	})
}

// A form says at once that there is nothing to search, and goes on: no letter of it does harm.
func TestAFormWithNothingToSearchSaysSoAndTakesNoKeys(t *testing.T) {
	flow(t, func(t *testing.T) {
		app, a, _ := newApp(t.Context())
		a.extra = []kit.Binding{{Keys: []string{"w"}, Label: "edit", Group: kit.GroupForm, Intent: hello{1}}}
		s := start(t, app)
		s.Press("/")
		s.Expect("/ there is nothing to search here: enter on a list of the form filters it")
		s.ExpectNot("what you type is ignored")
		s.Press("w")
		if !a.has("hello 1") {
			t.Errorf("after the prompt: %v", a.got)
		}
	})
}

func TestAWordAfterAPromptWithoutAMeaningIsNoCommand(t *testing.T) {
	flow(t, func(t *testing.T) {
		app, a, _ := newApp(t.Context())
		a.extra = []kit.Binding{
			{Keys: []string{"w"}, Label: "spend", Intent: hello{1}},
			{Keys: []string{"|"}, Label: "filter", Intent: hello{2}, Disabled: "the body is a picture"},
		}
		s := start(t, app)
		s.Press("/")
		s.Expect("/ there is nothing to search here; what you type is ignored until enter or esc")
		s.Press("w", "2", "q", "backspace", "space", "enter")
		s.ExpectNot("what you type is ignored")
		s.Press("w")
		if n := strings.Count(strings.Join(a.got, " "), "hello 1"); n != 1 {
			t.Errorf("after the word: %v", a.got)
		}
		a.got = nil
		s.Press("|")
		s.Expect("filter: the body is a picture; what you type is ignored")
		s.Press("w", "esc")
		if a.has("hello 1") || a.has("key esc") {
			t.Errorf("in the word: %v", a.got)
		}
		s.Press("/", "w", "down", "w") // a key that is no text ends it, and acts
		if !a.has("key down") || !a.has("hello 1") {
			t.Errorf("after an arrow: %v", a.got)
		}
	})
}

func TestACancelledLoadStillSaysSo(t *testing.T) {
	flow(t, func(t *testing.T) {
		app, a, _ := newApp(t.Context())
		a.work = loader(a, t.Context())
		s := start(t, app)
		s.Send(kit.Addressed{View: kit.Sandbox, Msg: load{1, time.Hour}})
		if !a.slot.Running() {
			t.Fatal("the load does not count as running")
		}
		a.slot.Cancel()
		s.Settle()
		if !a.has("hello -1") || a.slot.Running() {
			t.Errorf("the view got %v", a.got)
		}
	})
}

func TestResultsReachTheirViewInAnyTab(t *testing.T) {
	flow(t, func(t *testing.T) {
		app, a, b := newApp(t.Context())
		a.work = loader(a, t.Context())
		s := start(t, app)
		s.Send(kit.Addressed{View: kit.Sandbox, Msg: load{1, time.Second}})
		s.Press("2")
		s.Resize(70, 20)
		s.After(2 * time.Second)
		if !a.has("hello 1") || b.has("hello 1") {
			t.Errorf("the views got %v and %v", a.got, b.got)
		}
		s.Press("1")
		s.Expect("hello 1")
	})
}

func TestAStreamComesInOrderAndAtMostTwentyTimesASecond(t *testing.T) {
	flow(t, func(t *testing.T) {
		app, a, _ := newApp(t.Context())
		deliveries := map[time.Time]int{}
		a.work = func(msg tea.Msg) tea.Cmd {
			switch msg := msg.(type) {
			case load:
				return kit.Follow(kit.Sandbox, &a.slot, t.Context(), func(ctx context.Context, emit func(hello)) (hello, error) {
					beat := time.NewTicker(time.Millisecond)
					defer beat.Stop()
					for i := range 2000 {
						select {
						case <-beat.C:
							emit(hello{i})
						case <-ctx.Done():
							return hello{}, ctx.Err()
						}
					}
					return hello{9999}, nil
				}, func(h hello) tea.Cmd { return a.Update(h) }, func(h hello, _ error) tea.Cmd { return a.Update(h) })
			case hello:
				deliveries[time.Now()]++
				_ = msg
			}
			return nil
		}
		s := start(t, app)
		s.Send(kit.Addressed{View: kit.Sandbox, Msg: load{}})
		s.After(5 * time.Second)
		var seen []string
		for _, g := range a.got {
			if strings.HasPrefix(g, "hello") {
				seen = append(seen, g)
			}
		}
		if len(seen) != 2001 || seen[0] != "hello 0" || seen[1999] != "hello 1999" || seen[2000] != "hello 9999" {
			t.Fatalf("%d events, from %s to %s", len(seen), seen[0], seen[len(seen)-1])
		}
		for i, g := range seen[:2000] {
			if g != fmt.Sprintf("hello %d", i) {
				t.Fatalf("event %d is %q", i, g)
			}
		}
		if n := len(deliveries); n > 42 || n < 20 {
			t.Errorf("%d deliveries in two seconds", n)
		}
	})
}

func TestTheTitleSaysProfileAndKey(t *testing.T) {
	flow(t, func(t *testing.T) {
		app, _, _ := newApp(t.Context())
		s := startAt(t, app, 120, 20)
		now := time.Now()
		s.Send(kit.SessionChanged{Session: kit.Session{
			ProfileName: "emulator", Local: true, Ready: true,
			Key: model.Key{Name: "batch-user", Level: model.LevelUser, Expires: model.ExpiresAt(now.Add(60*24*time.Hour - time.Hour)), Rotation: model.Rotation{Last: now.Add(-20 * 24 * time.Hour)}},
		}})
		s.Expect("zonedeck · LOCAL EMULATOR", "batch-user USER · 60 d left ✓")
		s.Resize(60, 20)
		s.Expect("LOCAL", "batch-user ✓")
		s.Send(kit.SessionChanged{Session: kit.Session{ProfileName: "acme", Ready: true, Unverified: true}})
		s.Resize(120, 20)
		s.Expect("acme · TLS not verified", "! no key")
		s.Send(kit.SessionChanged{Session: kit.Session{ProfileName: "acme", Ready: true, Profile: model.Profile{Key: "etl-main"}}})
		s.Expect("! key etl-main is not in Keys")
		s.Send(kit.SessionChanged{Session: kit.Session{ProfileName: "acme", Problem: "port taken"}})
		s.Expect("✗ not ready")
	})
}

func TestTheTitleOfFiveTabsFits(t *testing.T) {
	flow(t, func(t *testing.T) {
		tabs := []ui.Tab{}
		for _, name := range []string{"Sandbox", "Jobs", "Proxy", "Keys", "History"} {
			tabs = append(tabs, ui.Tab{ID: kit.ViewID(name), View: &fakeView{title: name}})
		}
		now := time.Now()
		app := ui.New(ui.Deps{Ctx: t.Context(), Now: time.Now, FixedTheme: true, Tabs: tabs, Session: kit.Session{
			Local: true, Ready: true,
			Key: model.Key{Name: "batch-user", Level: model.LevelUser, Expires: model.ExpiresAt(now.Add(60*24*time.Hour - time.Hour)), Rotation: model.Rotation{Last: now.Add(-20 * 24 * time.Hour)}},
		}})
		s := startAt(t, app, 120, 20)
		for _, c := range []struct {
			w    int
			line string
		}{
			{120, " zonedeck · LOCAL EMULATOR          [1 Sandbox] 2 Jobs  3 Proxy  4 Keys  5 History        batch-user USER · 60 d left ✓"},
			{80, " LOCAL EMULATOR [1 Sandbox] 2 Jobs  3 Proxy  4 Keys  5 History  batch-user ✓ ok"},
			{60, " LOCAL   [1 Sandbox] 2 Jobs 3 Proxy 4 Keys 5 History      ✓"},
		} {
			s.Resize(c.w, 20)
			if got := strings.SplitN(s.Screen(), "\n", 2)[0]; got != c.line {
				t.Errorf("at %d:\n%q, want\n%q", c.w, got, c.line)
			}
		}
	})
}

func TestTheThemeFollowsTheTerminal(t *testing.T) {
	flow(t, func(t *testing.T) {
		theme := kit.NewTheme(true, false)
		app := ui.New(ui.Deps{Ctx: t.Context(), Theme: theme, Tabs: []ui.Tab{{ID: kit.Sandbox, View: &fakeView{title: "Sandbox"}}}})
		s := start(t, app)
		s.Send(tea.BackgroundColorMsg{Color: color.White})
		if theme.Dark {
			t.Error("the theme stays dark on a white background")
		}
		s.Send(tea.ColorProfileMsg{Profile: colorprofile.ASCII})
		if !theme.NoColor {
			t.Error("a terminal without colour gets colours")
		}
		s.Expect("[1 Sandbox]")
	})
}

// The cost of a frame depends on the screen and not on the data.
func TestAFrameOfAMillionRowsAsksForAsManyAsOneOfAHundred(t *testing.T) {
	frame := func(rows int) int {
		app, key, asked := busyApp(t, rows)
		app.View()
		before := *asked
		app.Update(key)
		app.View()
		return *asked - before
	}
	if few, many := frame(100), frame(1_000_000); few == 0 || few > 50 || many != few {
		t.Errorf("a key press and its frame ask for %d rows of a hundred and for %d of a million", few, many)
	}
}

// busyApp is a console whose view shows a table of rows at 200x50, a key for it, and how
// many rows it has asked for.
func busyApp(t testing.TB, rows int) (app *ui.App, key tea.Msg, asked *int) {
	t.Helper()
	v := &tableView{theme: kit.NewTheme(true, false)}
	v.table.Columns = []widget.Column{{Title: "TIME", Width: 10}, {Title: "CLASS", Width: 20}, {Title: "ZONE", Width: 20}, {Title: "URL", Width: 20, Flex: true}, {Title: "SIZE", Width: 10, Right: true}}
	asked = new(int)
	v.table.SetRows(rows, func(i int) []widget.Cell {
		*asked++
		return []widget.Cell{{Text: "12:04:31", Ink: v.theme.Muted}, {Text: "✗ captcha", Ink: v.theme.Bad}, widget.C("unlocker_demo"), widget.C(fmt.Sprintf("http://lab.test/shop/%d", i)), widget.C("18.2 KB")}
	})
	app = ui.New(ui.Deps{Ctx: t.Context(), FixedTheme: true, Theme: v.theme, Tabs: []ui.Tab{{ID: kit.Sandbox, View: v}}, Session: kit.Session{ProfileName: "acme", Ready: true}})
	app.Update(tea.WindowSizeMsg{Width: 200, Height: 50})
	return app, uitest.Key("j"), asked
}

type tableView struct {
	theme *kit.Theme
	table widget.Table
}

func (v *tableView) Init() tea.Cmd { return nil }
func (v *tableView) Update(msg tea.Msg) tea.Cmd {
	v.table.Update(msg)
	return nil
}

func (v *tableView) Render(w, h int) string {
	return widget.Pane(v.theme, "Rows", true, w, h, v.table.Render(v.theme, true, w-2, h-2))
}
func (v *tableView) Title() string           { return "Rows" }
func (v *tableView) Bindings() []kit.Binding { return widget.MotionBindings() }

// BenchmarkFrameOfAMillionRows reports how many frames of a hundred rows one of a million costs.
func BenchmarkFrameOfAMillionRows(b *testing.B) {
	few, key, _ := busyApp(b, 100)
	many, _, _ := busyApp(b, 1_000_000)
	var took [2]time.Duration
	for b.Loop() {
		for i, app := range []*ui.App{few, many} {
			began := time.Now()
			app.Update(key)
			app.View()
			took[i] += time.Since(began)
		}
	}
	b.ReportMetric(float64(took[1])/float64(took[0]), "x-for-10000x-rows")
}

// Descriptions of a session that overtake each other: the newest stays.
func TestAnOlderSessionDoesNotReplaceANewerOne(t *testing.T) {
	flow(t, func(t *testing.T) {
		app, _, _ := newApp(t.Context())
		s := startAt(t, app, 120, 20)
		s.Send(kit.SessionChanged{Session: kit.Session{ProfileName: "acme", Turn: 1, Unread: keystore.ErrKeysUnread}})
		s.Expect("reading keys …")
		s.Send(kit.SessionChanged{Session: kit.Session{ProfileName: "acme", Turn: 3, Ready: true, Key: model.Key{Name: "etl-main"}}})
		s.Expect("etl-main")
		s.Send(kit.SessionChanged{Session: kit.Session{ProfileName: "acme", Turn: 2, Unread: keystore.ErrKeysUnread}})
		s.Expect("etl-main")
		s.ExpectNot("reading keys")
	})
}

func TestHelpIsThereInADialog(t *testing.T) {
	flow(t, func(t *testing.T) {
		app, _, _ := newApp(t.Context())
		s := start(t, app)
		s.Send(kit.Open{Overlay: &widget.Page{
			Heading: "A page", Width: 60, Lines: func(int) []string { return []string{"its text"} },
			Closing: kit.Binding{Keys: []string{"esc", "q"}, Label: "close", Help: "Close the page.", Intent: kit.Close{}},
		}})
		s.Expect("its text", "esc close")
		s.Press("?")
		s.Expect("Keys", "A page", "Close the page.", "Everywhere", "Leave the console from anywhere")
		s.ExpectNot("Find a command by name") // it does not work here
		s.Press("?")
		s.Expect("its text")
		s.ExpectNot("Close the page.")
	})
}
