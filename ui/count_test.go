package ui_test

import (
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/ui"
	"zonedeck/ui/kit"
	"zonedeck/ui/uitest"
)

// counting is a view that counts one more with each second.
type counting struct {
	fakeView
	n, rotating, both int
}

func (c *counting) Update(msg tea.Msg) tea.Cmd {
	if _, ok := msg.(kit.Tick); ok {
		c.n++
	}
	return nil
}

func (c *counting) Badges() ([]kit.Badge, kit.Ink) {
	return []kit.Badge{{N: c.n, Word: "due"}, {N: c.rotating, Before: c.both, Word: "unfinished"}}, kit.Ink{}
}

func TestATabShowsWhatWaitsWhileAnotherOneIsActive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		view := &counting{fakeView: fakeView{title: "Keys"}}
		s := uitest.Start(t, ui.New(ui.Deps{
			Ctx: t.Context(), Now: time.Now, Theme: kit.NewTheme(true, false), FixedTheme: true,
			Tabs: []ui.Tab{{ID: kit.Sandbox, View: &fakeView{title: "Sandbox"}}, {ID: kit.Keys, View: view}},
		}), 80, 24)
		s.Expect("[1 Sandbox] 2 Keys  ")
		s.After(2500 * time.Millisecond)
		s.Expect("[1 Sandbox] 2 Keys (2 due)")
		s.Press("2")
		s.Expect("[2 Keys (2 due)]")
		view.rotating = 1
		s.Resize(120, 40)
		s.Expect("[2 Keys (2 due, 1 unfinished)]")
		s.Resize(60, 16)
		s.Expect("[2 Keys (2 due, 1 unfinished)]")
	})
}

func TestBadgesAreNumbersWhereTheirWordsHaveNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		view := &counting{fakeView: fakeView{title: "Keys"}, n: 12, rotating: 1}
		tabs := []ui.Tab{{ID: kit.Keys, View: view}}
		for _, name := range []string{"Sandbox", "Proxy", "History"} {
			tabs = append(tabs, ui.Tab{ID: kit.ViewID(name), View: &fakeView{title: name}})
		}
		s := uitest.Start(t, ui.New(ui.Deps{
			Ctx: t.Context(), Now: time.Now, Theme: kit.NewTheme(true, false), FixedTheme: true, Tabs: tabs,
			Session: kit.Session{ProfileName: "local", Local: true, Ready: true, Faults: 2},
		}), 60, 16)
		s.Expect(" LOCAL !2  [1 Keys !13] 2 Sandbox 3 Proxy 4 History")
		s.Press("3")
		s.Expect(" LOCAL !2  1 Keys !13 2 Sandbox [3 Proxy] 4 History")
		s.Resize(120, 40)
		s.Expect("LOCAL EMULATOR · 2 faults", "1 Keys (12 due, 1 unfinished)  2 Sandbox [3 Proxy] 4 History")
		view.both = 1
		s.Resize(60, 16)
		s.Expect("1 Keys !12 2 Sandbox") // a due key whose rotation is unfinished counts once
		view.n = -1
		s.Press("2")
		s.Expect("1 Keys ? [2 Sandbox]")
	})
}
