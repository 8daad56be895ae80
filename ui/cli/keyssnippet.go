package cli

import (
	"strings"

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
		Args:  usageArgs(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			var d durationFlag
			if err := d.Set(within); err != nil {
				return usage("--within: %v", err)
			}
			o.Within = within
			text, ok := snippet.Write(args[0], o)
			if !ok {
				return usageKind("snippet", args[0], strings.Join(names, ", "))
			}
			return a.printText(asJSON, text)
		},
	}
	cmd.Flags().StringVar(&within, "within", within, "how long before a clock runs out the key counts as due soon (like 14d or 2w)")
	cmd.Flags().StringVar(&o.Program, "program", "", "how the program is called there (default: this program's path; zonedeck for GitHub and GitLab)")
	cmd.Flags().StringVar(&o.Metrics, "metrics", "", "also write the metrics for node_exporter's textfile collector to this file (cron and systemd)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}
