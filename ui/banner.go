package ui

import (
	"fmt"
	"slices"
	"time"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// banner is one line about the key in use, on every tab, from the week on before one of its
// clocks runs out; empty otherwise.
func (a *App) banner() string {
	k := a.session.Key
	if !a.session.Ready || k.Name == "" {
		return ""
	}
	now := a.session.KeyNow(k, a.deps.Now())
	reached, ok := k.Threshold(now)
	if !ok || reached > model.BannerDays {
		return ""
	}
	next, _ := k.Next(now)
	state := k.State(now, model.BannerDays*24*time.Hour)
	glyph, ink := a.theme.KeyMark(state)
	clock := ": " + keyClock(k, state, now)
	what := "is due for rotation"
	if next.Expiry {
		what = "expires"
	}
	switch state {
	case model.KeyExpired:
		what, clock, next.At = "has expired", "", k.Expires.At
	case model.KeyOverdue:
		what = "is past its rotation"
	}
	line := fmt.Sprintf(" %s %s %s%s · %s", glyph, text.Clean(k.Name), what, clock, widget.Moment(next.At, now))
	if i := slices.IndexFunc(a.tabs, func(t Tab) bool { return t.ID == kit.Keys }); i >= 0 && i != a.active {
		line += fmt.Sprintf(" · %d shows it", i+1)
	}
	return ink.Render(text.Cut(line, a.w-1))
}
