package cli

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"zonedeck/service/keys"
	"zonedeck/service/view"
)

type snippetFlags struct {
	Within  string `flag:"within" default:"14d" help:"how long before its expiry or rotation a key counts as due soon, for example 14d or 2w"`
	Program string `flag:"program" help:"how to call the program there (default: this program's path; zonedeck for GitHub and GitLab)"`
	Metrics string `flag:"metrics" help:"also write the metrics for node_exporter's textfile collector to this file (cron and systemd)"`
	jsonFlag
}

func (a *app) keysSnippetCommand() *cobra.Command {
	names := keys.SnippetNames()
	return command(a, spec[snippetFlags]{
		use: "snippet " + strings.Join(names, "|"), short: "Print the check of the keys for cron, systemd, GitHub or GitLab",
		long: `Prints the check of the keys as text for the program that runs it on schedule.

For cron and systemd, the check runs on this machine with its configuration; if
--config names a file here, the text names it too. A runner of GitHub or GitLab
has no config.toml, so the text for it writes the intervals of
[keys.rotation_days], as they are now, into one that the check uses.`,
		args: cobra.ExactArgs(1),
		check: func(f *snippetFlags, _ []string) error {
			if err := new(durationFlag).Set(f.Within); err != nil {
				return usage("--within: %v", err)
			}
			return cmp.Or(oneLineFlag("--program", f.Program), oneLineFlag("--metrics", f.Metrics), oneLineFlag("--profile", a.flags.profile), oneLineFlag("--config", a.config()))
		},
		needs: func(snippetFlags) needs { return needs{none: true} },
		run: func(_ context.Context, t *task, f snippetFlags, args []string) (printed, error) {
			i := slices.Index(names, args[0])
			if i < 0 {
				return printed{}, usageKind("snippet", args[0], strings.Join(names, ", "))
			}
			o := keys.SnippetOptions{Program: f.Program, Metrics: f.Metrics, Within: f.Within, Config: a.config(), Profile: a.flags.profile}
			text := t.Keys.Inventory().Snippets(o)[i].Text
			return printed{object: view.Text{Text: text}, text: text}, nil
		},
	})
}

// oneLineFlag refuses a value that does not fit in one line of a crontab or a unit.
func oneLineFlag(flag, value string) error {
	if strings.ContainsFunc(value, unicode.IsControl) {
		return usage("%s: a line break or another control character cannot stand in a line of the text", flag)
	}
	return nil
}
