package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"zonedeck/service/config"
	"zonedeck/service/view"
)

func (a *app) pathsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "paths",
		Short: "Print where zonedeck keeps its files",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			p := config.FindPaths(a.Getenv)
			config := a.flags.config
			if config == "" {
				config = p.ConfigFile()
			}
			out := view.Paths{
				Bodies: p.BodiesDir(), Config: config, Contracts: p.ContractsDir(), Downloads: p.DownloadsDir(), Drift: p.DriftFile(),
				Emulator: p.EmulatorDir(), EmulatorRunning: p.EmulatorFile(), Filters: p.FiltersFile(), Inbox: p.InboxFile(), Journal: p.JournalFile(),
				Keys: p.KeysFile(), Ledger: p.LedgerFile(), Log: p.LogFile(), Requests: p.RequestsDir(), Rotations: p.RotationsDir(), Rules: p.RulesFile(),
				Secrets: p.SecretsDir(), Webhooks: p.InboxDir(), Work: p.WorkFile(),
			}
			if asJSON {
				return a.printJSON(out)
			}
			return printColumns(a.Stdout, [][]string{
				{"config", out.Config},
				{"rules", out.Rules},
				{"contracts", out.Contracts},
				{"keys", out.Keys},
				{"rotations", out.Rotations},
				{"secrets", out.Secrets},
				{"journal", out.Journal},
				{"ledger", out.Ledger},
				{"work", out.Work},
				{"inbox", out.Inbox},
				{"webhooks", out.Webhooks},
				{"drift", out.Drift},
				{"requests", out.Requests},
				{"downloads", out.Downloads},
				{"bodies", out.Bodies},
				{"emulator", out.Emulator},
				{"emulator_running", out.EmulatorRunning},
				{"filters", out.Filters},
				{"log", out.Log},
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func (a *app) versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return a.printJSON(view.Build{Arch: runtime.GOARCH, Go: runtime.Version(), OS: runtime.GOOS, Version: version})
			}
			if _, err := fmt.Fprintf(a.Stdout, "zonedeck %s (%s, %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH); err != nil {
				return fail(exitState, "write the version: %w", err)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}
