package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"zonedeck/service/config"
	"zonedeck/service/local"
)

func (a *app) emulatorCommand() *cobra.Command {
	return group("emulator", "Reset the embedded emulator", a.emulatorResetCommand())
}

func (a *app) emulatorResetCommand() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "reset",
		Short: "Return the embedded emulator to its first day",
		Long: `Removes the state of the embedded emulator: the time it was moved to, its keys,
zones, jobs and snapshots. It starts again with the demo account. What 'zonedeck
emulate --state' keeps is not touched. End every console first.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			notes, err := local.Reset(cmd.Context(), config.FindPaths(a.Getenv), a.Getenv)
			if asJSON && err == nil {
				return a.done(asJSON, "%s", strings.Join(notes, "; "))
			}
			for _, n := range notes {
				a.say("zonedeck: %s", n)
			}
			return sessionError(err)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}
