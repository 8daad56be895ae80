package rates

import (
	"cmp"
	"context"
	"slices"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// result is the overlay with what was measured.
type result struct {
	widget.Page
	deps    Deps
	key     string
	costs   []model.ZoneCost
	trouble string
	work    kit.Slot // the calls, then the writing
	saving  bool
}

// Intents.
type (
	save  struct{}
	leave struct{}
)

func newResult(d Deps, key string) *result {
	r := &result{deps: d, key: key}
	r.Page = widget.Page{Heading: "What the zones of " + text.Clean(d.Profile) + " cost", Width: 112, Lines: r.lines}
	return r
}

// Init asks the account.
func (r *result) Init() tea.Cmd {
	account, key := r.deps.Account, r.key
	return kit.Load(kit.InOverlay(r), &r.work, r.deps.Ctx, func(ctx context.Context) ([]model.ZoneCost, error) {
		return account.Measure(ctx, key)
	}, func(costs []model.ZoneCost, err error) tea.Cmd {
		r.costs, r.trouble = slices.SortedStableFunc(slices.Values(costs), func(a, b model.ZoneCost) int { return cmp.Compare(b.Dollars, a.Dollars) }), errorText(err)
		return nil
	})
}

// Bindings are save, close and the motions.
func (r *result) Bindings() []kit.Binding {
	keep := kit.Binding{Name: "rates.save", Keys: []string{"s"}, Label: "save the rates", Help: "Write the measured rates into the profile in place of the old ones.", Group: "Rates", Intent: save{}}
	switch {
	case r.work.Running():
		keep.Disabled = "the account is being asked"
		if r.saving {
			keep.Disabled = "the rates are being written"
		}
	case len(measuredRates(r.costs)) == 0:
		keep.Disabled = "no rate was measured"
	default:
		keep.Disabled = r.deps.Refused
	}
	end := kit.Binding{Name: "rates.close", Keys: []string{"esc", "q"}, Label: "close", Help: "Close; nothing is written.", Intent: leave{}}
	return append([]kit.Binding{keep, end}, widget.MotionBindings()...)
}

// Update handles intents and motions.
func (r *result) Update(msg tea.Msg) tea.Cmd {
	switch msg.(type) {
	case save:
		r.saving, r.trouble = true, ""
		account, rates, ctx := r.deps.Account, measuredRates(r.costs), r.deps.Ctx // a file that is being written is not left half way
		return kit.Load(kit.InOverlay(r), &r.work, ctx, func(context.Context) (struct{}, error) {
			return struct{}{}, account.Save(ctx, rates)
		}, func(_ struct{}, err error) tea.Cmd {
			r.saving = false
			if err != nil {
				r.trouble = err.Error()
				return nil
			}
			return tea.Batch(kit.CloseOverlay(r), kit.Info("wrote "+text.Counted(len(rates), "rate")+" into profile "+r.deps.Profile))
		})
	case leave:
		if !r.saving {
			r.work.Drop()
		}
		return kit.CloseOverlay(r)
	}
	return r.Page.Update(msg)
}

// lines are what happens, or what was found: of each zone the measured rate, that of the profile, and where it is from.
func (r *result) lines(w int) []string {
	th := r.deps.Theme
	var lines []string
	n := len(measuredRates(r.costs))
	switch {
	case r.trouble != "":
		lines = widget.Hung(th.Bad.Render("✗ "), th.Text, r.trouble, w-2)
	case r.saving:
		lines = []string{th.Accent.Render("● ") + "writing the rates…"}
	case r.work.Running():
		lines = widget.Hung(th.Accent.Render("● "), th.Text, "asking the account with key "+r.key+", one call per zone; esc cancels", w-2)
	case n == 0:
		lines = widget.Hung(th.Warn.Render("! "), th.Text, "No rate was measured: there is nothing to save.", w-2)
	case r.deps.Refused != "":
		lines = widget.Hung(th.Muted.Render("· "), th.Text, "Nothing is written: "+r.deps.Refused+".", w-2)
	default:
		lines = widget.Hung(th.KeyHint.Render("["+th.Key("rates.save")+"] "), th.Text, "writes the measured rates into profile "+r.deps.Profile+" in place of the old ones. Zones without a measured rate keep theirs.", w-2)
	}
	names := 16
	for _, c := range r.costs {
		names = max(names, min(text.Width(text.Clean(string(c.Zone.Name))), w-40))
	}
	for _, c := range r.costs {
		rate := th.Muted.Render("-")
		if c.Rate.Priced() {
			rate = th.Good.Render(c.Rate.String())
		}
		head := th.Strong.Render(text.Fit(text.Clean(string(c.Zone.Name)), names)) + " " + text.Fit(rate, 14) + " "
		lines = append(lines, "")
		lines = append(lines, widget.Hung(head, th.Text, "now "+c.Zone.Rate.String()+"; "+c.Basis(), w-2)...)
	}
	return widget.Indent(lines)
}
