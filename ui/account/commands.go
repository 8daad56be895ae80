package account

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service/profile"
	"zonedeck/ui/kit"
)

// Account is what the form describes: a profile, and the key it names.
type Account struct {
	Profile profile.Profile
	Key     model.Key
}

// Deps are the parts the commands work with.
type Deps struct {
	Ctx   context.Context //nolint:containedctx // the commands live as long as the program
	Theme *kit.Theme
	// Add writes the profile and its key; it is called in a command.
	Add func(ctx context.Context, a Account) error
	// Profiles are the names to choose from, including the embedded emulator's;
	// Current is the one in use.
	Profiles []string
	Current  string
	// Keys returns the current keys of the inventory; it does no I/O.
	Keys func() []model.Key
	// Refused is why no account can be added, or empty.
	Refused string
	// Switch changes to another profile.
	Switch func(name string) tea.Cmd
}

const group = "Account"

// Commands are the palette's entries: add an account, and one per profile.
func Commands(d Deps) []kit.Binding {
	out := []kit.Binding{{
		Label: "add account", Group: group, Help: "Add a real account: base URL, proxy host, account id, a key reference.",
		Intent: tea.Cmd(func() tea.Msg { return kit.Open{Overlay: newForm(d).FormDialog} }), Disabled: d.Refused,
	}}
	for _, name := range d.Profiles {
		b := kit.Binding{
			Label: "use profile " + name, Group: group, Help: "Leave this profile and work with " + name + ".",
			Intent: d.Switch(name),
		}
		if name == d.Current {
			b.Disabled = name + " is the profile in use"
		}
		out = append(out, b)
	}
	return out
}
