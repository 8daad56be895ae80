package profiles

import (
	"cmp"
	"context"
	"strconv"

	tea "charm.land/bubbletea/v2"

	"zonedeck/keystore"
	"zonedeck/model"
	accounts "zonedeck/service/account"
	"zonedeck/service/config"
	"zonedeck/service/secrets"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// Deps are the parts the commands work with. The functions that take a context are called in
// commands; the others do no network I/O.
type Deps struct {
	Ctx   context.Context //nolint:containedctx // the commands live as long as the program
	Theme *kit.Theme
	// Configured are the profiles of the config file as it is now; Names are those to choose
	// from, including the embedded emulator's. Current is the one in use.
	Configured func() []config.Profile
	Names      func() []string
	Current    string
	// Keys returns the current keys of the inventory.
	Keys func() []model.Key
	// Refused is why no account can be changed, or empty.
	Refused string
	// Stores probes the places where the console can store a secret.
	Stores func(ctx context.Context) []Store
	// Resolve takes a secret by its reference.
	Resolve func(ctx context.Context, ref string) (keystore.Secret, error)
	// Read asks the account of a profile; see account.Read.
	Read func(ctx context.Context, p config.Profile, key keystore.Secret) (accounts.Found, error)
	// Save writes an account.
	Save func(ctx context.Context, d accounts.Draft) (config.Profile, error)
	// WhatGoes and Remove remove one.
	WhatGoes func(name string) (accounts.Removal, error)
	Remove   func(ctx context.Context, r accounts.Removal, withKey, withSecrets bool) error
	// Uses lists the references to secrets, and Migrate moves those behind refs, or all, to a store.
	Uses    func(ctx context.Context) ([]secrets.Use, error)
	Migrate func(ctx context.Context, to string, refs []string) ([]secrets.Move, error)
	// Switch changes to another profile.
	Switch func(name string) tea.Cmd
}

// Store is a place for secrets and what its probe said: nil is good. Note says more of a good one.
type Store struct {
	Scheme string // keystore.SchemeKeyring or keystore.SchemeFile
	Err    error
	Note   string
}

const group = "Account"

// Commands are the palette's entries: add an account, move secrets, and for each profile use, edit and remove.
func Commands(d Deps) []kit.Binding {
	out := []kit.Binding{{
		Label: "add account", Group: group, Help: "Add a real account: an address and a key; the rest is asked for.",
		Intent: tea.Cmd(func() tea.Msg { return open(d, nil) }), Disabled: d.Refused,
	}, {
		Label: "move secrets", Group: group, Help: "Move secrets to the keyring or to encrypted files, and what refers to them; each is read back before the old one is deleted.",
		Intent: tea.Cmd(func() tea.Msg { return move(d) }), Disabled: d.Refused,
	}}
	for i, name := range d.Names() {
		b := kit.Binding{
			Label: "use profile " + name, Group: group, Help: "Leave this profile and work with " + name + ".",
			Intent: d.Switch(name),
		}
		if key := digit(i, name); key != "" {
			b.Help = "Leave this profile and work with " + name + "; @ and " + key + " do so, too."
		}
		if name == d.Current {
			b.Disabled = name + " is the profile in use"
		}
		out = append(out, b)
	}
	for _, p := range d.Configured() {
		mayEdit, mayRemove := d.Refused, d.Refused
		if p.ReadOnly { // it is edited to switch that off
			mayEdit, mayRemove = "", cmp.Or(d.Refused, "it is read-only: 'edit account "+p.Name+"' lifts that")
		}
		out = append(out,
			kit.Binding{
				Label: "edit account " + p.Name, Group: group, Help: "Change the profile " + p.Name + ", and check it against the service.",
				Intent: tea.Cmd(func() tea.Msg { return open(d, &p) }), Disabled: mayEdit,
			},
			kit.Binding{
				Label: "remove account " + p.Name, Group: group, Help: "Remove the profile " + p.Name + "; the question says what goes with it.",
				Intent: tea.Cmd(func() tea.Msg { return removal(d, p.Name) }), Disabled: mayRemove,
			})
	}
	return out
}

// Switcher opens the profiles to choose from, with a digit each; what is typed filters. The digits are
// those of the file's order, and 0 the emulator's, so that a profile that is added moves none.
func Switcher(d Deps) tea.Cmd {
	var choices []widget.Choice
	for i, name := range d.Names() {
		c := widget.Choice{Option: widget.Option{Value: name, Hint: digit(i, name)}, Pick: kit.SendTo("", d.Switch(name))}
		if name == d.Current {
			c.Disabled = "it is in use"
		}
		choices = append(choices, c)
	}
	f := widget.NewFinder(d.Theme, "Use profile", "type to filter, or a digit", choices)
	f.Digits = true
	return kit.OpenOverlay(f)
}

// digit is what picks a profile after @, or empty.
func digit(i int, name string) string {
	switch {
	case name == config.LocalName:
		return "0"
	case i < maxDigits:
		return strconv.Itoa(i + 1)
	default:
		return ""
	}
}

// maxDigits is how many configured profiles have a digit.
const maxDigits = 9
