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

func TestTheBannerIsOneLineFromTheWeekOnBeforeAClockRunsOut(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.FixedZone("CET", 3600))
	in := func(days int) model.Key {
		return model.Key{Name: "etl\x1b[31m", Expires: model.ExpiresAt(now.AddDate(0, 0, days)), Rotation: model.Rotation{Last: now}}
	}
	rotated := func(days int) model.Key {
		return model.Key{Name: "etl", Expires: model.Unlimited(), Rotation: model.Rotation{Last: now.AddDate(0, 0, -days)}}
	}
	for name, c := range map[string]struct {
		key   model.Key
		ahead time.Duration
		want  string
	}{
		"eight days before":     {in(8), 0, ""},
		"seven days before":     {in(7), 0, "expires: 7 d left · 2026-11-28 11:00 UTC (12:00 CET here) · 2 shows it"},
		"expired":               {in(-1), 0, " has expired · 2026-11-20 11:00 UTC (12:00 CET here) · 2 shows it"},
		"rotation on the day":   {rotated(90), 0, "etl is due for rotation: due today · 2026-11-21 11:00 UTC (12:00 CET here) · 2 shows it"},
		"overdue for rotation":  {rotated(91), 0, "etl is overdue for rotation: 1 d over · 2026-11-20 11:00 UTC (12:00 CET here) · 2 shows it"},
		"fresh":                 {rotated(1), 0, ""},
		"unknown":               {model.Key{Name: "etl"}, 0, ""},
		"no key":                {model.Key{}, 0, ""},
		"by the machine's time": {rotated(91 - 30), -30 * 24 * time.Hour, "etl is overdue for rotation"},
	} {
		app := ui.New(ui.Deps{
			Ctx: t.Context(), Now: func() time.Time { return now }, Theme: kit.NewTheme(true, false), FixedTheme: true,
			Tabs:    []ui.Tab{{ID: kit.Sandbox, View: &fakeView{title: "Sandbox"}}, {ID: kit.Keys, View: &fakeView{title: "Keys"}}},
			Session: kit.Session{Ready: true, Key: c.key, Ahead: c.ahead},
		})
		for _, w := range []int{60, 120} {
			app.Update(tea.WindowSizeMsg{Width: w, Height: 30})
			lines := strings.Split(ansi.Strip(app.View().Content), "\n")
			banner := lines[len(lines)-2]
			if len(lines) != 30 || ansi.StringWidth(banner) > w || w == 120 && (!strings.Contains(banner, c.want) || c.want == "" && strings.Contains(banner, "etl")) {
				t.Errorf("%s at %d: %d lines, %q", name, w, len(lines), banner)
			}
		}
	}
}
