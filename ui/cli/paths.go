package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"zonedeck/service/config"
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
			rows := [][2]string{
				{"config", config},
				{"rules", p.RulesFile()},
				{"contracts", p.ContractsDir()},
				{"keys", p.KeysFile()},
				{"rotations", p.RotationsDir()},
				{"secrets", p.SecretsDir()},
				{"journal", p.JournalFile()},
				{"ledger", p.LedgerFile()},
				{"work", p.WorkFile()},
				{"inbox", p.InboxFile()},
				{"webhooks", p.InboxDir()},
				{"drift", p.DriftFile()},
				{"requests", p.RequestsDir()},
				{"downloads", p.DownloadsDir()},
				{"bodies", p.BodiesDir()},
				{"emulator", p.EmulatorDir()},
				{"emulator_running", p.EmulatorFile()},
				{"filters", p.FiltersFile()},
				{"log", p.LogFile()},
			}
			if asJSON {
				out := map[string]any{"schema_version": schemaVersion}
				for _, r := range rows {
					out[r[0]] = r[1]
				}
				return a.printJSON(out)
			}
			table := make([][]string, 0, len(rows))
			for _, r := range rows {
				table = append(table, []string{r[0], r[1]})
			}
			return printColumns(a.Stdout, table)
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
				return a.printJSON(map[string]any{
					"schema_version": schemaVersion, "version": version, "go": runtime.Version(),
					"os": runtime.GOOS, "arch": runtime.GOARCH,
				})
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
