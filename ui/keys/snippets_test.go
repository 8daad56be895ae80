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

func TestTheCopiedCheckHasTheConfiguration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, theme := newRig(t), kit.NewTheme(true, false)
		view := keys.New(keys.Deps{
			Ctx: t.Context(), Now: time.Now, Theme: theme, Inventory: r.inventory, Rotations: r.kept(),
			Config: "/etc/my conf.toml", Uses: fakeUses{},
		})
		copied := ""
		s := uitest.Start(t, ui.New(ui.Deps{
			Ctx: t.Context(), Now: time.Now, Theme: theme, FixedTheme: true, Tabs: []ui.Tab{{ID: kit.Keys, View: view}}, Session: demoSession(),
			Clipboard: func(_ context.Context, text string) (string, error) { copied = text; return "the clipboard", nil },
		}), 120, 40)
		s.Press("x")
		s.Expect("zonedeck keys snippet cron --config '/etc/my conf.toml'", "zonedeck keys snippet gitlab --config '/etc/my conf.toml'")
		s.Press("a")
		s.Expect("copied a workflow of GitHub Actions")
		if copied != "github of /etc/my conf.toml" {
			t.Error(copied)
		}
		s.Press("x", "c")
		s.Expect("copied a line of a crontab")
		if copied != "cron of /etc/my conf.toml" {
			t.Error(copied)
		}
	})
}
