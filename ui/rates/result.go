package rates

import (
	"context"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// result is the overlay with what was measured.
type result struct {
	deps    Deps
	key     string
	table   widget.Table
	costs   []model.ZoneCost
	trouble string
	above   int      // lines drawn above the table
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
	r.table.Columns = []widget.Column{
		{Title: "ZONE", Width: 16},
		{Title: "RATE NOW", Width: 14, Priority: 1},
		{Title: "MEASURED", Width: 14},
		{Title: "FROM", Width: 16, Flex: true},
	}
	r.table.Empty = "nothing was measured"
	return r
}

// Init asks the account.
func (r *result) Init() tea.Cmd {
	account, key := r.deps.Account, r.key
	return kit.Load(kit.InOverlay(r), &r.work, r.deps.Ctx, func(ctx context.Context) ([]model.ZoneCost, error) {
		return account.Measure(ctx, key)
	}, func(costs []model.ZoneCost, err error) tea.Cmd {
		r.costs, r.trouble = costs, errorText(err)
		r.table.SetRows(len(r.costs), r.row)
		r.table.SetCursor(max(0, slices.IndexFunc(r.costs, func(c model.ZoneCost) bool { return c.Rate.Priced() })))
		return nil
	})
}

// Title is the heading.
func (r *result) Title() string {
	return "What the zones of " + text.Clean(r.deps.Profile) + " cost"
}
func (r *result) Hidden() (above, below int) { return r.table.Hidden() }

// Size is what the table, the lines above it and its foot need.
func (r *result) Size(w, h int) (int, int) {
	return min(112, w-4), min(max(r.deps.Zones, len(r.costs))+8, h-4)
}

// Bindings are save, close and the motions.
func (r *result) Bindings() []kit.Binding {
	keep := kit.Binding{Name: "rates.save", Keys: []string{"s"}, Label: "save the rates", Help: "Write the measured rates into the profile, in place of those that stand there.", Group: "Rates", Intent: save{}}
	switch {
	case r.work.Running():
		keep.Disabled = "the account is being asked"
		if r.saving {
			keep.Disabled = "they are being written"
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
	switch msg := msg.(type) {
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
			return tea.Batch(kit.CloseOverlay(r), kit.Info(text.Counted(len(rates), "rate")+" written into profile "+r.deps.Profile))
		})
	case leave:
		if !r.saving {
			r.work.Drop()
		}
		return kit.CloseOverlay(r)
	case tea.MouseClickMsg:
		r.table.Click(msg.Y - r.above)
	default:
		r.table.Update(msg)
	}
	return nil
}

func (r *result) row(i int) []widget.Cell {
	th, c := r.deps.Theme, r.costs[i]
	rate := widget.Cell{Text: "-", Ink: th.Muted}
	if c.Rate.Priced() {
		rate = widget.Cell{Text: c.Rate.String(), Ink: th.Good}
	}
	return []widget.Cell{widget.C(string(c.Zone.Name)), widget.C(c.Zone.Rate.String()), rate, widget.C(c.Basis())}
}

// head is what happens, or what was found, above the table.
func (r *result) head(w int) []string {
	th := r.deps.Theme
	var lines []string
	n := len(measuredRates(r.costs))
	switch {
	case r.trouble != "":
		lines = widget.Hung(th.Bad.Render("✗ "), th.Text, r.trouble, w-2)
	case r.saving:
		lines = []string{th.Accent.Render("● ") + "writing the rates…"}
	case r.work.Running():
		lines = widget.Hung(th.Accent.Render("● "), th.Text, "asking the account by key "+r.key+", one call for each zone; esc cancels", w-2)
	case n == 0:
		lines = widget.Hung(th.Warn.Render("! "), th.Text, "No rate was measured: there is nothing to save.", w-2)
	case r.deps.Refused != "":
		lines = widget.Hung(th.Muted.Render("· "), th.Text, "Nothing is written: "+r.deps.Refused+".", w-2)
	default:
		lines = widget.Hung(th.KeyHint.Render("[s] "), th.Text, "writes the measured rates into profile "+r.deps.Profile+", in place of what stands there. Zones without one keep theirs.", w-2)
	}
	return append(widget.Indent(lines), "")
}

// Render draws what was found, the table, and all of the selected row's basis.
func (r *result) Render(w, h int) string {
	th := r.deps.Theme
	head := r.head(w)
	r.above = len(head)
	foot := ""
	if i := r.table.Cursor(); i < len(r.costs) {
		lines := widget.Hung(th.Muted.Render(text.Clean(string(r.costs[i].Zone.Name))+": "), th.Text, r.costs[i].Basis(), w-2)
		foot = strings.Join(append([]string{th.Border.Render(strings.Repeat("─", w))}, widget.Indent(lines)...), "\n")
	}
	if r.work.Running() && !r.saving || len(r.costs) == 0 {
		return widget.Block(strings.Join(head, "\n"), w, h)
	}
	table := r.table.Render(th, true, w, max(h-len(head)-strings.Count(foot, "\n")-1, 2))
	return widget.Block(widget.Stack(strings.Join(head, "\n"), table, foot), w, h)
}
