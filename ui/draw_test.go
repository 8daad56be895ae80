package ui_test

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"zonedeck/model"
	"zonedeck/ui"
	"zonedeck/ui/kit"
)

// spending is what the session has spent.
type spending struct{ model.Spend }

func (s *spending) Spent() model.Spend { return s.Spend }

func (s *spending) Balance() kit.Overlay { return nil }

func TestTheStatusLineSaysWhatTheSessionCosts(t *testing.T) {
	spent := &spending{}
	zones := []model.Zone{{Name: "z"}}
	app := ui.New(ui.Deps{
		Ctx: t.Context(), Now: time.Now, Theme: kit.NewTheme(true, false), FixedTheme: true,
		Tabs: []ui.Tab{{ID: kit.Sandbox, View: &fakeView{title: "Sandbox"}}}, Session: kit.Session{Ready: true, Zones: zones},
		Spending: spent,
	})
	app.Update(tea.WindowSizeMsg{Width: 100, Height: 30})
	say := func(want string) {
		t.Helper()
		app.Update(kit.SessionChanged{Session: kit.Session{Ready: true, Zones: zones}})
		if lines := strings.Split(ansi.Strip(app.View().Content), "\n"); !strings.HasSuffix(strings.TrimRight(lines[len(lines)-1], " "), want+" · 0 running") {
			t.Errorf("%q does not end with %q", lines[len(lines)-1], want)
		}
	}
	say(" unpriced")
	zones[0].Rate.Per1000 = 1
	say(" session $0")
	spent.Add(0.0015, true)
	say(" session $0.0015")
	spent.Add(0, false)
	say(" session $0.0015 + 1 unpriced")
}

func TestTheTitleShowsAColorAndThatNothingIsChanged(t *testing.T) {
	theme := kit.NewTheme(true, false)
	app := ui.New(ui.Deps{
		Ctx: t.Context(), Now: time.Now, Theme: theme, FixedTheme: true,
		Tabs:    []ui.Tab{{ID: kit.Sandbox, View: &fakeView{title: "Sandbox"}}},
		Session: kit.Session{ProfileName: "prod", Ready: true, Profile: model.Profile{Name: "prod", ReadOnly: true, Color: "red"}},
	})
	for _, w := range []int{60, 80, 120} {
		app.Update(tea.WindowSizeMsg{Width: w, Height: 30})
		title, _, _ := strings.Cut(app.View().Content, "\n")
		red, ok := theme.ProfileInk("red")
		if !ok || !strings.Contains(title, red.Render(" prod ")) || !strings.Contains(ansi.Strip(title), "prod  · read-only") && !strings.Contains(ansi.Strip(title), "prod  r/o") {
			t.Errorf("at %d: %q", w, title)
		}
	}
	for _, name := range model.Colors() {
		if ink, ok := theme.ProfileInk(name); !ok || ink.Plain() {
			t.Errorf("%s has no ink", name)
		}
	}
}

// The environment's key takes the place of the profile's own: the title says which.
func TestTheTitleSaysWhichKeyIsNotUsed(t *testing.T) {
	app := ui.New(ui.Deps{
		Ctx: t.Context(), Now: time.Now, Theme: kit.NewTheme(true, false), FixedTheme: true,
		Tabs:    []ui.Tab{{ID: kit.Sandbox, View: &fakeView{title: "Sandbox"}}},
		Session: kit.Session{ProfileName: "acme-of-the-customer", Ready: true, Key: model.Key{Name: "ZONEDECK_API_KEY"}, Replaced: "etl-main"},
	})
	for w, want := range map[int]string{60: "env key, not etl-main", 80: "ZONEDECK_API_KEY, not etl-main", 120: "ZONEDECK_API_KEY, not etl-main"} {
		app.Update(tea.WindowSizeMsg{Width: w, Height: 30})
		if title, _, _ := strings.Cut(ansi.Strip(app.View().Content), "\n"); !strings.Contains(title, want) {
			t.Errorf("at %d: %q", w, title)
		}
	}
}
