package ui_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
	"zonedeck/ui/uitest"
)

// paletteApp is a root whose palette has something of everything.
func paletteApp(ctx context.Context, d ui.Deps) (app *ui.App, sandbox, jobs *fakeView) {
	sandbox = &fakeView{title: "Sandbox", extra: append([]kit.Binding{
		{Keys: []string{"ctrl+j"}, Label: "send", Help: "Send the request.", Group: "Request", Intent: hello{1}},
	}, widget.MotionBindings()...)}
	jobs = &fakeView{title: "Jobs", extra: []kit.Binding{
		{Keys: []string{"n"}, Label: "new job", Help: "Launch a job.", Group: "Job", Intent: hello{2}},
		{Keys: []string{"c"}, Label: "cancel", Help: "Cancel it.", Group: "Job", Intent: hello{3}, Disabled: "no job is selected"},
	}}
	d.Ctx, d.Now, d.Theme, d.FixedTheme = ctx, time.Now, kit.NewTheme(true, false), true
	d.Tabs = []ui.Tab{{ID: kit.Sandbox, View: sandbox}, {ID: kit.Jobs, View: jobs}}
	d.Session = kit.Session{ProfileName: "acme", Ready: true, Zones: []model.Zone{{Name: "unlocker_demo", Product: model.ProductUnlocker}}}
	return ui.New(d), sandbox, jobs
}

func TestThePaletteFindsWhatOtherTabsDoAndGoesThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		app, sandbox, jobs := paletteApp(t.Context(), ui.Deps{})
		s := start(t, app)
		s.Press("ctrl+p")
		s.Expect("Sandbox", "send", "Jobs", "new job", "(no job is selected)", "Everywhere", "Zones", "unlocker_demo")
		s.ExpectNot("page down", "half a page")
		lines := strings.Split(s.Screen(), "\n")
		column := func(word string) int {
			i := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, word) })
			return utf8.RuneCountInString(lines[i][:strings.Index(lines[i], word)])
		}
		if column("Send the request.") != column("Launch a job.") {
			t.Errorf("the notes are not aligned:\n%s", s.Screen())
		}
		s.Type("job")
		s.Expect("new job")
		s.ExpectNot("Send the request.")
		s.Press("enter")
		s.Expect("[2 Jobs]")
		if !jobs.has("hello 2") {
			t.Errorf("the action did not reach its tab: %v", jobs.got)
		}
		s.Press("ctrl+p")
		s.Type("cancel")
		s.Press("enter")
		s.Expect("no job is selected")
		if jobs.has("hello 3") {
			t.Error("a disabled action was done")
		}
		s.Press("esc", "ctrl+p")
		s.Type("unlocker zone")
		s.Press("enter")
		s.Expect("[1 Sandbox]")
		if !slices.ContainsFunc(sandbox.got, func(g string) bool { return strings.Contains(g, "unlocker_demo") }) {
			t.Errorf("the zone did not reach the Sandbox: %v", sandbox.got)
		}
	})
}

// named is a root whose palette has the given commands, beside those of each tab and of everywhere.
func named(ctx context.Context, commands ...kit.Binding) *ui.App {
	app, _, _ := paletteApp(ctx, ui.Deps{Commands: func() []kit.Binding {
		for i := range commands {
			commands[i].Group, commands[i].Intent = "Profile", kit.Toast{Text: "picked " + commands[i].Label}
		}
		return commands
	}})
	return app
}

func TestTheBestMatchOfThePaletteComesFirst(t *testing.T) {
	for typed, want := range map[string]string{
		"add":             "add profile",     // a word of the name, before its beginning
		"profile":         "profile",         // the whole name, before a word of one
		"rese":            "move preset",     // stands in the name, before letters that are scattered
		"del prof":        "remove profile",  // begins a synonym and the name
		"delete":          "remove profile",  // a synonym, before what the note says
		"address":         "addressbook",     // begins the name
		"job":             "new job",         // another tab's
		"where it sends":  "remove profile",  // the note
		"light":           "theme",           // everywhere
		"mvp":             "move preset",     // scattered
		"unlocker_demo":   "unlocker_demo",   // a zone
		"record":          "record a key",    // a name, before a note
		"new record note": "nothing matches", // no word may be missing
	} {
		synctest.Test(t, func(t *testing.T) {
			s := uitest.Start(t, named(t.Context(),
				kit.Binding{Label: "addressbook", Help: "Delete from it."}, kit.Binding{Label: "record a key", Synonyms: "add new"},
				kit.Binding{Label: "add profile", Help: "Record it."}, kit.Binding{Label: "move preset"},
				kit.Binding{Label: "remove profile", Synonyms: "delete", Help: "Says where it sends."},
			), 100, 40)
			s.Press("ctrl+p")
			s.Type(typed)
			first := ""
			for line := range strings.SplitSeq(s.Screen(), "\n") {
				if _, after, ok := strings.Cut(line, " ›"); ok && after[0] != ' ' {
					first = after
				} else if first == "" && strings.Contains(line, "nothing matches") {
					first = "nothing matches"
				}
			}
			if !strings.HasPrefix(first, want) {
				t.Errorf("%q finds first %q, want %q\n%s", typed, first, want, s.Screen())
			}
		})
	}
}

func TestTheThemeIsSwitchedByName(t *testing.T) {
	flow(t, func(t *testing.T) {
		s := start(t, named(t.Context()))
		ink := func() string { return fmt.Sprint(s.CellAt(2, 0).Style.Fg) }
		before := ink()
		s.Press("ctrl+p")
		s.Type("theme")
		s.Press("enter")
		if ink() == before {
			t.Errorf("the title has the colour %s as before", before)
		}
	})
}

func TestWhatAnActionIsIsAskedAgainInItsTab(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		app, _, jobs := paletteApp(t.Context(), ui.Deps{})
		s := start(t, app)
		s.Press("ctrl+p")
		jobs.extra[0].Disabled = "the profile has just changed"
		s.Type("new job")
		s.Press("enter")
		s.Expect("[2 Jobs]", "the profile has just changed")
		jobs.extra[0].Disabled = ""
		s.Press("1", "ctrl+p")
		s.Type("new job")
		jobs.extra = nil
		s.Press("enter")
		s.Expect("new job is not available there now")
		if jobs.has("hello 2") {
			t.Error("it was done all the same")
		}
	})
}

func TestThePaletteFindsSavedRequestsAndHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // searches that follow each other run side by side
		asked := map[string]bool{}
		hits := []model.HistoryEntry{
			{ID: 3, Kind: model.HistoryFetch, Ref: "f3", Zone: "unlocker_demo", Via: model.ViaAPI, URL: "http://lab.test/shop", Class: model.ClassCaptcha, Profile: "acme", At: time.Now()},
			{ID: 2, Kind: model.HistoryFetch, Ref: "f2", Zone: "unlocker_demo", Via: model.ViaAPI, URL: "http://lab.test/shop", Class: model.ClassCaptcha, Profile: "acme", At: time.Now()},
			{ID: 1, Kind: model.HistoryJob, Ref: "j1", Text: "shop job \x1b[31mready", At: time.Now()},
		}
		app, _, jobs := paletteApp(t.Context(), ui.Deps{
			Search: search{[]ui.SavedRequest{{Name: "shop v2", Zone: "serp_demo", URL: "http://lab.test/shop"}, {Name: "other"}, {Name: "old shop", Problem: "it cannot be read"}}, func(f model.HistoryFilter) ([]model.HistoryEntry, error) {
				mu.Lock()
				defer mu.Unlock()
				asked[strings.Join(f.Words, " ")] = true
				return hits, nil
			}},
		})
		s := start(t, app)
		s.Press("ctrl+p")
		s.Type("s")
		if len(asked) != 0 {
			t.Errorf("one letter is searched for: %v", asked)
		}
		s.Type("hop")
		s.Expect("Saved requests", "shop v2", "(it cannot be read)", "History", "CAPTCHA", "job")
		s.ExpectNot("other", "\x1b[31m")
		if strings.Count(s.Screen(), "CAPTCHA") != 1 {
			t.Errorf("what looks the same is listed twice:\n%s", s.Screen())
		}
		if !asked["shop"] || asked["s"] {
			t.Errorf("asked for %v", asked)
		}
		for !strings.Contains(s.Screen(), "›job") {
			s.Press("down")
		}
		s.Press("enter")
		s.Expect("[2 Jobs]")
		if !slices.ContainsFunc(jobs.got, func(g string) bool { return strings.Contains(g, "j1") }) {
			t.Errorf("Jobs was not asked: %v", jobs.got)
		}
		hits = nil
		s.Press("1", "ctrl+p")
		s.Type("nothing like it")
		s.Expect("nothing matches")
		s.Press("enter")
		s.Expect("Commands")
	})
}

// search has saved requests and a history.
type search struct {
	saved   []ui.SavedRequest
	history func(model.HistoryFilter) ([]model.HistoryEntry, error)
}

func (s search) Saved(context.Context) ([]ui.SavedRequest, error) { return s.saved, nil }

func (s search) Entries(_ context.Context, f model.HistoryFilter) ([]model.HistoryEntry, error) {
	return s.history(f)
}

func TestASearchOfThePaletteThatFailsSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		app, _, _ := paletteApp(t.Context(), ui.Deps{
			Search: search{nil, func(model.HistoryFilter) ([]model.HistoryEntry, error) {
				return nil, errors.New("the journal is on fire")
			}},
		})
		s := start(t, app)
		s.Press("ctrl+p")
		s.Type("shop")
		s.Expect("History", "cannot be searched", "the journal is on fire")
	})
}

func TestAClickPicksALineOfThePalette(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		app, _, jobs := paletteApp(t.Context(), ui.Deps{})
		s := start(t, app)
		s.Press("ctrl+p")
		click := func(word string) {
			for y, l := range strings.Split(s.Screen(), "\n") {
				if at := strings.Index(l, word); at >= 0 {
					s.Send(tea.MouseClickMsg{X: len([]rune(l[:at])), Y: y, Button: tea.MouseLeft})
					return
				}
			}
			t.Fatalf("%q is not on the screen:\n%s", word, s.Screen())
		}
		click("Commands") // its frame
		s.Expect("Commands")
		click("Launch a job.")
		s.Expect("[2 Jobs]")
		if !jobs.has("hello 2") {
			t.Errorf("%v", jobs.got)
		}
	})
}

// BenchmarkPaletteKey is a letter typed into a palette of 2,000 lines, and its frame.
func BenchmarkPaletteKey(b *testing.B) {
	group := widget.CommandGroup{Title: "Zones"}
	for i := range 2000 {
		group.Commands = append(group.Commands, widget.Command{Label: fmt.Sprintf("residential_zone_%d", i), Note: "Use this zone in the Sandbox."})
	}
	p := widget.NewCommands(kit.NewTheme(true, false), "", []widget.CommandGroup{group}, nil)
	keys := []tea.KeyPressMsg{{Code: '1', Text: "1"}, {Code: tea.KeyBackspace}}
	for i := 0; b.Loop(); i++ {
		p.Update(keys[i%2])
		p.Render(110, 36)
	}
}

func TestThePaletteTellsComparisonsOfTwoPagesApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const none = "4 cells compared: no cell was ok in every run"
		app, _, _ := paletteApp(t.Context(), ui.Deps{
			Search: search{nil, func(model.HistoryFilter) ([]model.HistoryEntry, error) {
				return []model.HistoryEntry{
					{ID: 3, Kind: model.HistoryComparison, Ref: "t3", URL: "http://lab.test/shop", Text: none, At: time.Now()},
					{ID: 2, Kind: model.HistoryComparison, Ref: "t2", URL: "http://lab.test/lamps", Text: none, At: time.Now()},
					{ID: 1, Kind: model.HistoryComparison, Ref: "t1", URL: "http://lab.test/shop", Text: none, At: time.Now()},
				}, nil
			}},
		})
		s := start(t, app)
		s.Press("ctrl+p")
		s.Type("lab.test")
		s.After(time.Second)
		s.Expect("http://lab.test/shop  4 cells", "http://lab.test/lamps  4 cells")
		if n := strings.Count(s.Screen(), "comparison  http"); n != 2 {
			t.Errorf("%d entries of two pages:\n%s", n, s.Screen())
		}
	})
}
