package rates

import (
	"context"
	"errors"
	"slices"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// Account is the account of the profile in use. Money, Measure and Save may block, and are called in a command.
type Account interface {
	// Refusal says why the costs cannot be asked for by a key, or is nil.
	Refusal(k model.Key) error
	// Money asks for the balance and what was spent this month; see overview.GetMoney.
	Money(ctx context.Context) (model.Money, error)
	// Measure asks the account by a key; see rates.Measure.
	Measure(ctx context.Context, key string) ([]model.ZoneCost, error)
	// Save writes rates into the profile.
	Save(ctx context.Context, rates map[model.ZoneName]model.Rate) error
}

// Deps are the parts the entry works with.
type Deps struct {
	Ctx   context.Context //nolint:containedctx // the entry lives as long as the program
	Theme *kit.Theme
	// Profile is the profile in use, and Keys are the keys that can be named.
	Profile string
	Keys    []model.Key
	Account Account
	// Refused is why rates cannot be saved, or empty.
	Refused string
	// Typed says how to give a zone a rate that no key shows.
	Typed string
}

const group = "Profile"

// Commands are the palette's entries.
func Commands(d Deps) []kit.Binding {
	b := kit.Binding{
		Label: "measure the rates of the zones", Group: group, Synonyms: "prices",
		Help:   "Ask the account what each zone cost, with a FINANCE or ADMIN key. Nothing is written until you save.",
		Intent: tea.Cmd(func() tea.Msg { return kit.Open{Overlay: d.chooseKey()} }),
	}
	if err := d.Account.Refusal(model.Key{}); err != nil {
		b.Disabled = err.Error()
	} else if !slices.ContainsFunc(d.Keys, func(k model.Key) bool { return d.Account.Refusal(k) == nil }) {
		b.Disabled = "no key here may see costs (contract 5.3): " + d.Typed
	}
	return []kit.Binding{b}
}

// chooseKey asks for the key.
func (d Deps) chooseKey() kit.Overlay {
	const field = "key"
	var options []widget.Option
	first := "" // a key of another level, or of none that is known, is chosen by the operator, never for them
	for _, k := range d.Keys {
		o := widget.Option{Value: k.Name, Note: k.Level.String()}
		if err := d.Account.Refusal(k); err != nil {
			o.Disabled = "its level has no access to billing"
		} else if first == "" && k.Level == model.LevelFinance {
			first = k.Name
		}
		options = append(options, o)
	}
	form := widget.NewForm(d.Theme, widget.Field{
		Name: field, Label: "Key", Kind: widget.FieldPick, Options: options, Value: first, Check: widget.Required("pick a FINANCE or ADMIN key; without one, " + d.Typed),
		Help: "Only FINANCE and ADMIN keys may see costs (contract 5.3). Without one, " + d.Typed + ".",
	})
	dialog := widget.NewFormDialog(d.Theme, "What the zones of "+text.Clean(d.Profile)+" cost", form)
	dialog.Intro = "The account is asked what each zone cost, one call per zone. The cost divided by the requests or bytes of the same days is the rate: measured, not from a price list."
	dialog.Submit = "ask"
	dialog.OnSubmit = func(f *widget.Form) tea.Cmd {
		return tea.Sequence(kit.CloseOverlay(dialog), kit.OpenOverlay(newResult(d, f.Value(field))))
	}
	return dialog
}

// measuredRates are the rates that were measured.
func measuredRates(costs []model.ZoneCost) map[model.ZoneName]model.Rate {
	out := map[model.ZoneName]model.Rate{}
	for _, c := range costs {
		if c.Rate.Priced() {
			out[c.Zone.Name] = c.Rate
		}
	}
	return out
}

// errorText are an error for the screen: how a call ended that the operator has cancelled needs none.
func errorText(err error) string {
	if err == nil || errors.Is(err, context.Canceled) {
		return ""
	}
	return err.Error()
}
