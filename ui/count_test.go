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
	n int
}

func (c *counting) Update(msg tea.Msg) tea.Cmd {
	if _, ok := msg.(kit.Tick); ok {
		c.n++
	}
	return nil
}

func (c *counting) Count() (int, kit.Ink) { return c.n, kit.Ink{} }

func TestATabShowsItsCountWhileAnotherOneIsActive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := uitest.Start(t, ui.New(ui.Deps{
			Ctx: t.Context(), Now: time.Now, Theme: kit.NewTheme(true, false), FixedTheme: true,
			Tabs: []ui.Tab{{ID: kit.Sandbox, View: &fakeView{title: "Sandbox"}}, {ID: kit.Keys, View: &counting{fakeView: fakeView{title: "Keys"}}}},
		}), 80, 24)
		s.ExpectNot("Keys·")
		s.After(2500 * time.Millisecond)
		s.Expect("[1 Sandbox] 2 Keys·2")
		s.Press("2")
		s.Expect("[2 Keys·2]")
	})
}
