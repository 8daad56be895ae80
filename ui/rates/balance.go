package rates

import (
	"cmp"
	"math"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// balance is the overlay with the balance, and what was spent on each day of this month.
type balance struct {
	widget.Page
	deps    Deps
	money   model.Money
	trouble string
	asked   bool // the account has answered
	work    kit.Slot
}

// readAgain is the intent to ask again.
type readAgain struct{}

// Balance makes the overlay, which asks the account once it is open.
func Balance(d Deps) kit.Overlay {
	b := &balance{deps: d}
	b.Page = widget.Page{Heading: "Balance of " + text.Clean(d.Profile), Width: 76, Lines: b.lines}
	return b
}

// Init asks the account.
func (b *balance) Init() tea.Cmd {
	b.asked = false
	return kit.Load(kit.InOverlay(b), &b.work, b.deps.Ctx, b.deps.Account.Money, func(m model.Money, err error) tea.Cmd {
		b.money, b.trouble, b.asked = m, errorText(err), true
		return nil
	})
}

// Bindings are reload, close and the motions.
func (b *balance) Bindings() []kit.Binding {
	return append([]kit.Binding{
		{Name: "balance.read", Keys: []string{"r"}, Label: "reload", Help: "Ask the account again.", Group: "Balance", Intent: readAgain{}},
		{Name: "balance.close", Keys: []string{"esc", "q", b.deps.Theme.Rebound.Key("console.balance")}, Label: "close", Help: "Close; what is being asked is cancelled.", Group: "Balance", Intent: leave{}},
	}, widget.MotionBindings()...)
}

// Update handles intents and motions.
func (b *balance) Update(msg tea.Msg) tea.Cmd {
	switch msg.(type) {
	case readAgain:
		return b.Init()
	case leave:
		b.work.Drop()
		return kit.CloseOverlay(b)
	}
	return b.Page.Update(msg)
}

// lines are the balance, this month's spend, and a bar for each day, the newest first.
func (b *balance) lines(w int) []string {
	th, m := b.deps.Theme, b.money
	switch {
	case !b.asked:
		return []string{" " + th.Accent.Render("● ") + "asking the account; esc cancels"}
	case b.trouble != "":
		return widget.Indent(widget.Hung(th.Bad.Render("✗ "), th.Text, b.trouble, w-2))
	}
	spent := model.SmallDollars(m.Spent) + " this month (UTC)"
	var out []string
	for _, f := range [][3]string{{"balance", m.Balance.String(), m.BalanceProblem}, {"used", spent, m.SpentProblem}, {"key", m.Key}} {
		if f[2] != "" {
			f[1] = "unknown: " + f[2]
		}
		out = append(out, widget.Fact(th, f[0], f[1], w-2)...)
	}
	if b.deps.Profile == model.LocalName {
		out = append(out, widget.Wrapped(th.Muted, "The emulator invents these dollars: nobody pays them.", w-2)...)
	}
	most, column := 0.0, 10
	for _, d := range m.Days {
		most, column = max(most, d.Dollars), max(column, len(model.SmallDollars(d.Dollars))+1)
	}
	room := max(w-12-column, 1)
	for _, d := range slices.Backward(m.Days) {
		eighths := int(math.Ceil(d.Dollars / cmp.Or(most, 1) * float64(8*room))) // of a cell
		bar := strings.Repeat("█", eighths/8) + []string{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"}[eighths%8]
		out = append(out, th.Muted.Render(text.Fit(d.Day.Format("01-02 Mon"), 10))+th.Accent.Render(text.Fit(bar, room))+text.FitRight(model.SmallDollars(d.Dollars), column))
	}
	return widget.Indent(out)
}
