package cli

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"zonedeck/model"
	"zonedeck/service/ask"
	"zonedeck/service/jobs"
	"zonedeck/service/rows"
)

// listPrefix marks the name of a saved list in a flag that also takes files.
const listPrefix = "list:"

type newJobFlags struct {
	launchFlags
	Input          string     `flag:"input" takes:"file" help:"file with the inputs, - for standard input, or list:NAME for a saved list (required)"`
	Columns        []string   `flag:"map" help:"use a CSV column as this field: COLUMN=FIELD, or COLUMN= to leave it out; other columns are matched by their header (repeatable)"`
	Sample         int        `flag:"sample" help:"launch only the first N good rows"`
	OnlyUnlaunched bool       `flag:"only-unlaunched" help:"leave out inputs that jobs of the last hour have, for example after a --sample; needs --again if the inputs of one of these jobs are not known"`
	SkipBad        bool       `flag:"skip-bad" help:"launch the good rows and keep the bad ones in a file, instead of refusing the input"`
	Unlisted       bool       `flag:"unlisted" help:"launch it even if the service does not list the data set"`
	Rejects        string     `flag:"rejects" takes:"output" help:"with --skip-bad: file for the bad rows (default: a file in the downloads folder)"`
	SaveList       string     `flag:"save-list" help:"save all good rows as a new list of this name"`
	Once           string     `flag:"once" help:"launch one job under this name, which never expires: a second launch of the profile under it, whatever its inputs, sends nothing, prints the first job as JSON and ends with 32 (31 if that job may have started), or with --wait waits for that job and ends with its exit code; a launch that was refused or not sent frees it"`
	Discover       string     `flag:"discover" help:"discovery of the data set to find records by"`
	LimitPerInput  int        `flag:"max-records-per-input" help:"maximum number of records per input"`
	Limit          int        `flag:"max-records" help:"maximum number of records"`
	NotifyAddress  string     `flag:"notify" help:"address for the service to call when the job has ended; inbox for an address of your 'zonedeck webhook listen'"`
	Endpoint       string     `flag:"endpoint" help:"address for the service to send the records to; inbox for an address of your 'zonedeck webhook listen'"`
	Auth           string     `flag:"auth-header" help:"with --notify or --endpoint: reference (env:NAME, keyring:…, file:…, cmd:…) to the secret that is their whole Authorization header (default: what the inbox checks, if only the inbox is called)"`
	Format         string     `flag:"format"`
	Plain          bool       `flag:"uncompressed" help:"with --endpoint: send the records uncompressed"`
	Preview        bool       `flag:"preview" help:"ask the service for the columns and a sample of a deep lookup; launch nothing"`
	Given          givenFlags `flag:"*"`
}

func (a *app) jobsLaunchCommand() *cobra.Command {
	return command(a, spec[newJobFlags]{
		use:     "launch DATASET --input FILE|-|list:NAME",
		aliases: []string{"trigger"},
		short:   "Launch a job for a data set",
		long: `Launches a job for a data set, named by its identifier or its name ('zonedeck
datasets list').

The inputs are one value per line, CSV with a header, a JSON array or NDJSON.
Every row is checked against the fields of the data set before anything is sent,
and repeated rows are sent once.

The job is written to the ledger before the request is sent. The request is
never resent automatically.

With --wait, all other jobs in flight are followed meanwhile, as by 'zonedeck
jobs watch'.`,
		help:  map[string]string{"format": "with --endpoint: format of the records: " + strings.Join(model.DeliveryFormats(), ", ")},
		check: (*newJobFlags).check,
		run:   launchNew,
	})
}

// check refuses flags that are wrong regardless of the profile.
func (f *newJobFlags) check([]string) error {
	switch {
	case f.Input == "":
		return usage("--input is missing: name a file, list:NAME, or - for standard input")
	case f.Preview && f.DryRun:
		return usage("--preview asks the service and --dry-run sends nothing: give only one of them")
	case f.Rejects == "-":
		return usage("--rejects: name a file: standard output has the job")
	case f.Rejects != "" && !f.SkipBad:
		return usage("--rejects needs --skip-bad: without it, a bad row stops the launch")
	case f.Once == "" && f.Given.has("once"):
		return usage("--once is empty: give a name, such as nightly-2026-11-29")
	}
	for _, n := range []struct {
		flag, unit string
		value      int
	}{{"sample", "rows", f.Sample}, {"max-records", "records", f.Limit}, {"max-records-per-input", "records", f.LimitPerInput}} {
		if n.value < 1 && f.Given.has(n.flag) {
			return usage("--%s %d: give a number of %s from 1", n.flag, n.value, n.unit)
		}
	}
	return f.checkLaunch()
}

// columnMap reads --map.
func (f *newJobFlags) columnMap() (map[string]string, error) {
	out := map[string]string{}
	for _, s := range f.Columns {
		name, field, ok := strings.Cut(s, "=")
		if _, twice := out[name]; !ok || name == "" || twice {
			return nil, usage("--map %s: write COLUMN=FIELD, each column once", rows.Quote(s))
		}
		out[name] = field
	}
	return out, nil
}

// launchNew launches a job for a data set, or previews or dry-runs it.
func launchNew(ctx context.Context, t *task, f newJobFlags, args []string) (printed, error) {
	d := jobs.Draft{
		Dataset: args[0], Sample: f.Sample, OnlyUnlaunched: f.OnlyUnlaunched, Once: f.Once, Rejects: f.Rejects, SaveList: f.SaveList,
		Preview: f.Preview, Key: f.Key, InboxAuth: !f.Given.has("auth-header"), MaxCost: f.MaxCost.dollars,
		Settings: model.JobSettings{
			Discover: f.Discover, LimitPerInput: f.LimitPerInput, LimitTotal: f.Limit,
			Notify: f.NotifyAddress, Endpoint: f.Endpoint, Auth: f.Auth, Format: f.Format, Plain: f.Plain,
		},
	}
	columns, err := f.columnMap()
	if err != nil {
		return printed{}, err
	}
	if list, saved := strings.CutPrefix(f.Input, listPrefix); saved {
		d.From = jobs.SavedList{Name: list, Map: columns}
	} else {
		file, err := t.app.open(ctx, f.Input)
		if err != nil {
			return printed{}, usage("--input: %w", err)
		}
		defer file.Close()
		from := jobs.Rows{Reader: file, Name: "standard input", Map: columns}
		if f.Input != "-" {
			from.Name, from.Kind = f.Input, strings.TrimPrefix(filepath.Ext(f.Input), ".")
		}
		d.From = from
	}
	given := ask.Answers{}
	if f.SkipBad {
		given.Always(ask.BadRows)
	}
	if f.Unlisted {
		given.Always(ask.Unlisted)
	}
	r, err := t.check(ctx, d, f.launchFlags)
	if err != nil {
		return printed{}, err
	}
	if f.Preview {
		if f.Again {
			given.Always(ask.UnknownInputs)
		}
		if _, err := t.answer(ctx, r, given, ask.Nobody, ask.BadRows, ask.UnknownInputs); err != nil {
			return printed{}, err
		}
		return printed{}, t.preview(ctx, r.Request)
	}
	return printed{}, t.launch(ctx, r, given, f.launchFlags, f.Input == "-")
}
