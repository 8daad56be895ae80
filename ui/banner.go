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
		what = "is overdue for rotation"
	}
	line := fmt.Sprintf(" %s %s %s%s · %s", glyph, text.Clean(k.Name), what, clock, widget.Moment(next.At, now))
	return ink.Render(text.Cut(line+a.leadsTo(kit.Keys), a.w-1))
}

// leadsTo names the key that leads to a tab; empty on that tab.
func (a *App) leadsTo(view kit.ViewID) string {
	i := slices.IndexFunc(a.tabs, func(t Tab) bool { return t.ID == view })
	if i < 0 || i == a.active {
		return ""
	}
	return " · " + kit.KeyName(a.Bindings()[i].Key()) + " shows it"
}
