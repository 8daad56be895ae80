package cli

import (
	"cmp"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"zonedeck/service/snippet"
)

func (a *app) keysSnippetCommand() *cobra.Command {
	var names []string
	for _, k := range snippet.Kinds() {
		names = append(names, k.Name)
	}
	o := snippet.Options{}
	within, asJSON := "14d", false
	cmd := &cobra.Command{
		Use:   "snippet " + strings.Join(names, "|"),
		Short: "Print the check of the keys for cron, systemd, GitHub or GitLab",
		Long: `Prints the check of the keys as text for the program that runs it on schedule.

For cron and systemd, the check runs on this machine with its configuration; if
--config names a file here, the text names it too. A runner of GitHub or GitLab
has no config.toml, so the text for it writes the intervals of
[keys.rotation_days], as they are now, into one that the check uses.`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			var d durationFlag
			if err := d.Set(within); err != nil {
				return usage("--within: %v", err)
			}
			if err := cmp.Or(oneLineFlag("--program", o.Program), oneLineFlag("--metrics", o.Metrics), oneLineFlag("--profile", a.flags.profile), oneLineFlag("--config", a.flags.config)); err != nil {
				return err
			}
			return a.withSession(cmd.Context(), needs{none: true}, func(t *task) error {
				o.Within, o.Config, o.Profile, o.Intervals = within, a.flags.config, a.flags.profile, t.Keys.Inventory().Intervals()
				text, ok := snippet.Write(args[0], o)
				if !ok {
					return usageKind("snippet", args[0], strings.Join(names, ", "))
				}
				return a.printText(asJSON, text)
			})
		},
	}
	cmd.Flags().StringVar(&within, "within", within, "how long before its expiry or rotation a key counts as due soon, for example 14d or 2w")
	cmd.Flags().StringVar(&o.Program, "program", "", "how to call the program there (default: this program's path; zonedeck for GitHub and GitLab)")
	cmd.Flags().StringVar(&o.Metrics, "metrics", "", "also write the metrics for node_exporter's textfile collector to this file (cron and systemd)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// oneLineFlag refuses a value that cannot stand in one line of a crontab or a unit.
func oneLineFlag(flag, value string) error {
	if strings.ContainsFunc(value, unicode.IsControl) {
		return usage("%s: a line break or another control character cannot stand in a line of the text", flag)
	}
	return nil
}
