package cli

import (
	"cmp"
	"context"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"zonedeck/model"
	"zonedeck/service"
	"zonedeck/service/snippet"
)

type scheduleFlags struct {
	As      string `flag:"as" takes:"cron|systemd|github|gitlab"`
	Program string `flag:"program" help:"how to call the program there (default: this program's path; zonedeck for GitHub and GitLab)"`
	jsonFlag
}

func (a *app) scheduleCommand() *cobra.Command {
	return group("schedule", "Print text for cron, systemd, GitHub or GitLab that runs something there; nothing is installed",
		a.scheduleKeysCommand(), a.scheduleJobsCommand(), a.scheduleBatchCommand())
}

// scheduleHelp names what a text can be written for.
func scheduleHelp(subject string) map[string]string {
	return map[string]string{"as": "what runs it: " + snippet.Names(snippet.Kinds(subject)) + " (required)"}
}

// scheduled is the text that has a subject of package snippet run.
func (a *app) scheduled(subject string, f scheduleFlags, o snippet.Options) (printed, error) {
	if err := cmp.Or(oneLineFlag("--program", f.Program), oneLineFlag("--metrics", o.Metrics), oneLineFlag("--profile", o.Profile), oneLineFlag("--config", a.config()), oneLineFlag("--database", o.Database), service.CheckDatabase(o.Database)); err != nil {
		return printed{}, err
	}
	o.Program, o.Config = f.Program, a.config()
	text, err := snippet.Write(subject, f.As, o)
	if err != nil {
		return printed{}, usage("--as: %w", err)
	}
	return printedText(text), nil
}

type scheduleKeysFlags struct {
	scheduleFlags
	withinFlag
	Metrics string `flag:"metrics" help:"also write the metrics for node_exporter's textfile collector to this file (cron and systemd)"`
}

func (a *app) scheduleKeysCommand() *cobra.Command {
	return command(a, spec[scheduleKeysFlags]{
		use: "keys", short: "Print text that checks the keys every morning", help: scheduleHelp(snippet.Keys),
		long: `Prints the check of the keys as text for the program that runs it on schedule.

For cron and systemd, the check runs on this machine with its configuration; if
--config names a file here, the text names it too. A runner of GitHub or GitLab
has no config.toml, so the text for it writes the intervals of
[keys.rotation_days], as they are now, into one that the check uses.`,
		defaults: scheduleKeysFlags{withinFlag: soon()},
		needs:    noProfile[scheduleKeysFlags],
		check: func(f *scheduleKeysFlags, _ []string) error {
			if f.Metrics != "" && (f.As == "github" || f.As == "gitlab") {
				return usage("--metrics: only with --as cron or systemd, because a runner of %s has no node_exporter: leave it out", f.As)
			}
			return nil
		},
		run: func(_ context.Context, t *task, f scheduleKeysFlags, _ []string) (printed, error) {
			return a.scheduled(snippet.Keys, f.scheduleFlags, snippet.Options{
				Within: f.Within.String(), Metrics: f.Metrics, Profile: a.flags.profile, Intervals: t.Keys.Inventory().Intervals(),
			})
		},
	})
}

func (a *app) scheduleJobsCommand() *cobra.Command {
	return command(a, spec[scheduleFlags]{
		use: "jobs", short: "Print text that follows all jobs all the time", help: scheduleHelp(snippet.Jobs),
		long: `Prints a unit for the user's systemd that runs 'zonedeck jobs follow' all the
time, which cron cannot do. One unit is enough for all profiles in the config
file. --profile, --config and --database, if given, are passed to that command.`,
		run: func(_ context.Context, _ *task, f scheduleFlags, _ []string) (printed, error) {
			return a.scheduled(snippet.Jobs, f, snippet.Options{Profile: a.flags.profile, Database: a.flags.database})
		},
	})
}

func (a *app) scheduleBatchCommand() *cobra.Command {
	return command(a, spec[scheduleFlags]{
		use: "batch BATCH", short: "Print text that begins a batch like this one every morning", help: scheduleHelp(snippet.Batch),
		long: `Prints text that reads the file of this batch anew every day, under a name with
the date, so that a second call of one day goes on with that day's batch.`,
		needs: func(scheduleFlags) needs { return needs{journal: true} },
		run: func(ctx context.Context, t *task, f scheduleFlags, args []string) (printed, error) {
			s, err := t.Batches.Show(ctx, args[0])
			if err != nil {
				return printed{}, batchError(ctx, err)
			}
			words, err := s.Args()
			if err != nil {
				return printed{}, usage("%s cannot be scheduled: %w", s.ID, err)
			}
			for _, w := range words {
				if strings.ContainsAny(w, "\n\r") {
					return printed{}, usage("%s cannot be scheduled: %q has more than one line", s.ID, model.Cut(w, 40))
				}
			}
			return a.scheduled(snippet.Batch, f, snippet.Options{Profile: s.Profile, Batch: words, Series: s.Series()})
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
