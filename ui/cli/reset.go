package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"zonedeck/service/config"
	"zonedeck/service/local"
)

func (a *app) emulateResetCommand() *cobra.Command {
	return command(a, spec[jsonFlag]{
		use:   "reset",
		short: "Return the embedded emulator to its first day",
		long: `Removes the state of the embedded emulator: the time it was moved to, its keys,
zones, jobs and snapshots. It starts again with the demo account. What 'zonedeck
emulate --state' keeps is not touched. End every console first.`,
		run: func(ctx context.Context, _ *task, _ jsonFlag, _ []string) (printed, error) {
			notes, err := local.Reset(ctx, config.FindPaths(a.Getenv), a.Getenv)
			if a.json && err == nil {
				return printed{done: strings.Join(notes, "; ")}, nil
			}
			for _, n := range notes {
				a.say("zonedeck: %s", n)
			}
			return printed{}, sessionError(err)
		},
	})
}
