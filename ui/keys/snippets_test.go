package keys_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/ui"
	"zonedeck/ui/keys"
	"zonedeck/ui/kit"
	"zonedeck/ui/uitest"
)

// clipboard is the machine's.
type clipboard struct{ text string }

func (c *clipboard) Write(_ context.Context, text string) (string, error) {
	c.text = text
	return "the clipboard", nil
}

func (c *clipboard) Read(context.Context) (string, error) { return c.text, nil }

func TestTheCopiedCheckHasTheConfiguration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, theme := newRig(t), kit.NewTheme(true, false)
		view := keys.New(keys.Deps{
			Ctx: t.Context(), Now: time.Now, Theme: theme, Inventory: r.inventory, Rotations: r.kept(),
			Config: "/etc/my conf.toml", Uses: fakeUses{},
		})
		copied := &clipboard{}
		s := uitest.Start(t, ui.New(ui.Deps{
			Ctx: t.Context(), Now: time.Now, Theme: theme, FixedTheme: true, Tabs: []ui.Tab{{ID: kit.Keys, View: view}}, Session: demoSession(),
			Clipboard: copied,
		}), 120, 40)
		s.Press("x")
		s.Expect("zonedeck schedule keys --as cron --config '/etc/my conf.toml'", "zonedeck schedule keys --as gitlab --config '/etc/my conf.toml'")
		s.Press("a")
		s.Expect("copied a workflow of GitHub Actions")
		if copied.text != "github of /etc/my conf.toml" {
			t.Error(copied.text)
		}
		s.Press("x", "c")
		s.Expect("copied a line of a crontab")
		if copied.text != "cron of /etc/my conf.toml" {
			t.Error(copied.text)
		}
	})
}
