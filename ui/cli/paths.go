package cli

import (
	"context"

	"github.com/spf13/cobra"

	"zonedeck/service/config"
	"zonedeck/service/view"
)

func (a *app) pathsCommand() *cobra.Command {
	return command(a, spec[jsonFlag]{
		use:   "paths",
		short: "Print where zonedeck keeps its files",
		run: func(context.Context, *task, jsonFlag, []string) (printed, error) {
			p := config.FindPaths(a.Getenv)
			if err := p.HomeKnown(); err != nil {
				return printed{}, err
			}
			config := a.config()
			if config == "" {
				config = p.ConfigFile()
			}
			out := view.Paths{
				Batches: p.BatchesDir(), Bodies: p.BodiesDir(), Config: config, Contracts: p.ContractsDir(), Downloads: p.DownloadsDir(), Drift: p.DriftFile(),
				Emulator: p.EmulatorDir(), EmulatorRunning: p.EmulatorFile(), Filters: p.FiltersFile(), Inbox: p.InboxFile(), Journal: p.JournalFile(),
				Keys: p.KeysFile(), Ledger: p.LedgerFile(), Log: p.LogFile(), Requests: p.RequestsDir(), Rotations: p.RotationsDir(), Rules: p.RulesFile(),
				Secrets: p.SecretsDir(), Webhooks: p.InboxDir(), Work: p.WorkFile(),
			}
			return printed{object: out, rows: [][]string{
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
				{"batches", out.Batches},
				{"bodies", out.Bodies},
				{"emulator", out.Emulator},
				{"emulator_running", out.EmulatorRunning},
				{"filters", out.Filters},
				{"log", out.Log},
			}}, nil
		},
	})
}
