package rehearse

import (
	"cmp"
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/service/local"
	"zonedeck/ui/kit"
)

// Emulator controls the local emulator.
type Emulator interface {
	Faults(ctx context.Context) ([]local.Fault, error)
	AddFault(ctx context.Context, r local.Rule) (local.Fault, error)
	TurnFault(ctx context.Context, id string, on bool) error
	RemoveFault(ctx context.Context, id string) error
	// Advance moves the clock forward, and gives the message that reports the new time to every view.
	Advance(ctx context.Context, by time.Duration) (tea.Msg, error)
}

// Deps are the parts the commands work with.
type Deps struct {
	Ctx   context.Context //nolint:containedctx // the commands live as long as the program
	Now   func() time.Time
	Theme *kit.Theme
	// Profile is the profile in use; Emulator is nil for a real account.
	Profile  string
	Emulator Emulator
	Zones    []string // of the emulator, by name
}

const group = "Emulator"

// Commands are the palette's entries.
func Commands(d Deps) []kit.Binding {
	why := kit.Reason(d.Emulator == nil, "only the local emulator can do this; "+d.Profile+" is a real account")
	open := func(make func(Deps) kit.Overlay) tea.Cmd {
		return func() tea.Msg { return kit.Open{Overlay: make(d)} }
	}
	return []kit.Binding{
		{
			Label: "Emulator: add a fault…", Group: group, Synonyms: "break inject error", Help: "Make the API, the proxy, a target, a webhook or a job fail.", Disabled: why,
			Intent: open(func(d Deps) kit.Overlay { return newFaultForm(d) }),
		},
		{
			Label: "Emulator: faults…", Group: group, Help: "The faults that are set, and how often they hit.", Disabled: why,
			Intent: open(func(d Deps) kit.Overlay { return newFaultList(d) }),
		},
		{
			Label: "Emulator: move time forward…", Group: group, Synonyms: "clock date", Help: "Rehearse expiry and rotation without waiting.", Disabled: why,
			Intent: open(func(d Deps) kit.Overlay { return newTimeForm(d) }),
		},
		{
			Label: "Emulator: begin again…", Group: group, Synonyms: "reset restart clear", Help: "Start over from the first day: time, keys, zones and jobs.",
			Disabled: cmp.Or(why, "end every zonedeck, then run 'zonedeck emulate reset'"),
		},
	}
}
