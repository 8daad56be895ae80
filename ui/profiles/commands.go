package profiles

import (
	"cmp"
	"context"
	"strconv"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service/ask"
	service "zonedeck/service/profiles"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// Profiles is the use case, as service/profiles has it.
type Profiles interface {
	// Configured are the profiles of the config file as it is now; Names are those to choose from, including the
	// embedded emulator's. Current is the one in use.
	Configured() (profiles []model.Profile, byDefault string)
	Names() []string
	Current() string
	Key(name string) (model.Key, bool)
	// Stores probes the places where the console can store a secret.
	Stores(ctx context.Context) []service.Store

	Check(d service.Draft) (service.Report, error)
	Questions(d service.Draft) []ask.Question
	Probe(ctx context.Context, d service.Draft, a ask.Answers, on func(service.Facts)) (service.Draft, error)
	Save(ctx context.Context, r service.Report, a ask.Answers) (model.Profile, error)
	Removal(name string) (service.Removal, error)
	Remove(ctx context.Context, r service.Removal, withKey, withSecrets bool) error

	SecretUses(ctx context.Context) ([]service.Use, error)
	MoveSecrets(ctx context.Context, to string, refs []string, on func(service.Move)) ([]service.Move, error)
}

// Program goes on with another profile.
type Program interface {
	// Switch goes on with a profile; said is told there.
	Switch(name, said string) tea.Cmd
}

// Deps are the parts the commands work with.
type Deps struct {
	Ctx      context.Context //nolint:containedctx // the commands live as long as the program
	Theme    *kit.Theme
	Profiles Profiles
	Program  Program
	Refused  string // why no profile can be changed, or empty
}

const group = "Profile"

// Commands are the palette's entries: add a profile, move secrets, and for each profile use, edit and remove.
func Commands(d Deps) []kit.Binding {
	out := []kit.Binding{{
		Label: "add profile", Group: group, Help: "Work with a real account: type its address and its key, and ask it for the rest.",
		Intent: tea.Cmd(func() tea.Msg { return open(d, nil, "") }), Disabled: d.Refused,
		Synonyms: "new account connect login sign in",
	}, {
		Label: "move secrets", Group: group, Synonyms: "keyring passwords store", Help: "Move secrets to the keyring or to encrypted files and update what refers to them; each is read back before the old one is deleted.",
		Intent: tea.Cmd(func() tea.Msg { return move(d) }), Disabled: d.Refused,
	}}
	for i, name := range d.Profiles.Names() {
		b := kit.Binding{
			Label: "use profile " + name, Group: group, Synonyms: "switch change", Help: "Leave this profile and work with " + name + ".",
			Intent: d.Program.Switch(name, ""),
		}
		if key := digit(i, name); key != "" {
			b.Help = "Leave this profile and work with " + name + "; " + d.Theme.Key("console.profile") + " and " + key + " do the same."
		}
		if name == d.Profiles.Current() {
			b.Disabled = name + " is the profile in use"
		}
		out = append(out, b)
	}
	zones := []kit.Binding{{
		Label: "add zone", Help: "Add a zone to the profile in use, as a line of its form; " + d.Theme.Key("account.ask") + " there asks the account for them all.",
		Synonyms: "new edit zones",
	}, {
		Label: "remove zone", Help: "Take its line out of the profile in use. The zone itself is deleted in the account settings of the service.", Synonyms: "delete zones",
	}}
	for i := range zones {
		zones[i].Group, zones[i].Disabled = group, "the emulator's zones come from its scenario; a profile of your own lists its zones"
	}
	configured, _ := d.Profiles.Configured()
	for _, p := range configured {
		mayEdit, mayRemove := d.Refused, d.Refused
		if p.ReadOnly { // it is edited to switch that off
			mayEdit, mayRemove = "", cmp.Or(d.Refused, "it is read-only: 'edit profile "+p.Name+"' allows it")
		}
		if p.Name == d.Profiles.Current() {
			for i := range zones {
				zones[i].Intent, zones[i].Disabled = tea.Cmd(func() tea.Msg { return open(d, &p, fieldZones) }), mayEdit
			}
		}
		out = append(out,
			kit.Binding{
				Synonyms: "change settings",
				Label:    "edit profile " + p.Name, Group: group, Help: "Change the profile " + p.Name + ", and check it against the service.",
				Intent: tea.Cmd(func() tea.Msg { return open(d, &p, "") }), Disabled: mayEdit,
			},
			kit.Binding{
				Synonyms: "delete",
				Label:    "remove profile " + p.Name, Group: group, Help: "Remove the profile " + p.Name + "; the question says what goes with it.",
				Intent: tea.Cmd(func() tea.Msg { return removal(d, p.Name) }), Disabled: mayRemove,
			})
	}
	if len(configured) == 0 {
		out = append(out, kit.Binding{Label: "remove profile", Group: group, Synonyms: "delete", Disabled: "no profile is configured; the emulator's is always there"})
	}
	return append(out, zones...)
}

// Switcher opens the profiles to choose from, with a digit each; what is typed filters. The digits are
// those of the file's order, and 0 the emulator's, so that a profile that is added moves none.
func Switcher(d Deps) tea.Cmd {
	var choices []widget.Choice
	for i, name := range d.Profiles.Names() {
		c := widget.Choice{Option: widget.Option{Value: name, Hint: digit(i, name)}, Pick: kit.SendTo("", d.Program.Switch(name, ""))}
		if name == d.Profiles.Current() {
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
	case name == model.LocalName:
		return "0"
	case i < maxDigits:
		return strconv.Itoa(i + 1)
	default:
		return ""
	}
}

// maxDigits is how many configured profiles have a digit.
const maxDigits = 9
