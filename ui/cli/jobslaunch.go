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

// listPrefix marks the name of a saved list where a file can be named.
const listPrefix = "list:"

type newJobFlags struct {
	launchFlags

	input             string
	columns           []string
	sample            int
	goodRows, preview bool
	rejects, saveList string
	settings          model.JobSettings
	onlyUnlaunched    bool
	authGiven         bool // --auth-header was given
}

func (a *app) jobsLaunchCommand() *cobra.Command {
	var f newJobFlags
	cmd := &cobra.Command{
		Use:     "launch NAME --input FILE|-|list:NAME",
		Aliases: []string{"trigger"},
		Short:   "Launch a job for a data set",
		Long: `Launches a job for a data set, named by its identifier or its name ('zonedeck
datasets list').

The inputs are one value per line, CSV with a header, a JSON array or NDJSON.
Every row is checked against the fields of the data set before anything is sent,
and repeated rows are sent once.

The job is written to the ledger before the request is sent. The request is
never resent automatically.

With --wait, all other jobs in flight are followed meanwhile, as by 'zonedeck
jobs watch'.`,
		Args: oneArg("the data set to launch a job for"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			for _, n := range []struct {
				flag, unit string
				value      int
			}{{"sample", "rows", f.sample}, {"limit", "records", f.settings.LimitTotal}, {"limit-per-input", "records", f.settings.LimitPerInput}} {
				if n.value < 1 && cmd.Flags().Changed(n.flag) {
					return usage("--%s %d: give a number of %s from 1", n.flag, n.value, n.unit)
				}
			}
			f.authGiven = cmd.Flags().Changed("auth-header")
			return a.withSession(cmd.Context(), needs{key: f.key, jobs: true, reason: f.reason}, func(t *task) error {
				return t.launchNew(cmd.Context(), args[0], f)
			})
		},
	}
	f.add(cmd)
	return cmd
}

func (f *newJobFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.input, "input", "", "file with the inputs, - for standard input, or list:NAME for a saved list (required)")
	fl.StringArrayVar(&f.columns, "map", nil, "use a CSV column as this field: COLUMN=FIELD, or COLUMN= to leave it out; other columns are matched by their header (repeatable)")
	fl.IntVar(&f.sample, "sample", 0, "launch only the first N good rows")
	fl.BoolVar(&f.onlyUnlaunched, "only-unlaunched", false, "leave out inputs that jobs of the last hour have, for example after a --sample; needs --again if the inputs of one of these jobs are not known")
	fl.BoolVar(&f.goodRows, "good-rows", false, "launch the good rows and keep the bad ones in a file")
	fl.StringVar(&f.rejects, "rejects", "", "with --good-rows: file for the bad rows (default: a file in the downloads folder)")
	fl.StringVar(&f.saveList, "save-list", "", "save all good rows as a new list of this name")
	fl.StringVar(&f.settings.Discover, "discover", "", "discovery of the data set to find records by")
	fl.IntVar(&f.settings.LimitPerInput, "limit-per-input", 0, "maximum number of records per input")
	fl.IntVar(&f.settings.LimitTotal, "limit", 0, "maximum number of records")
	fl.StringVar(&f.settings.Notify, "notify", "", "address for the service to call when the job has ended; inbox for an address of your 'zonedeck webhook listen'")
	fl.StringVar(&f.settings.Endpoint, "endpoint", "", "address for the service to send the records to; inbox for an address of your 'zonedeck webhook listen'")
	fl.StringVar(&f.settings.Auth, "auth-header", "", "with --notify or --endpoint: reference (env:NAME, keyring:…, file:…, cmd:…) to the secret that is their whole Authorization header (default: what the inbox checks, if only the inbox is called)")
	fl.StringVar(&f.settings.Format, "format", "", "with --endpoint: format of the records: "+strings.Join(model.DeliveryFormats(), ", "))
	fl.BoolVar(&f.settings.Plain, "uncompressed", false, "with --endpoint: send the records uncompressed")
	fl.BoolVar(&f.preview, "preview", false, "ask the service for the columns and a sample of a deep lookup; launch nothing")
	f.addLaunch(cmd)
}

// check refuses flags that are wrong by themselves.
func (f *newJobFlags) check() error {
	switch {
	case f.input == "":
		return usage("--input is missing: name a file, list:NAME, or - for standard input")
	case f.preview && f.dryRun:
		return usage("--preview asks the service and --dry-run sends nothing: give only one of them")
	case f.rejects != "" && !f.goodRows:
		return usage("--rejects needs --good-rows: without it, a bad row stops the launch")
	default:
		return f.checkLaunch()
	}
}

// columnMap reads --map.
func (f *newJobFlags) columnMap() (map[string]string, error) {
	out := map[string]string{}
	for _, s := range f.columns {
		name, field, ok := strings.Cut(s, "=")
		if _, twice := out[name]; !ok || name == "" || twice {
			return nil, usage("--map %s: write COLUMN=FIELD, each column once", rows.Quote(s))
		}
		out[name] = field
	}
	return out, nil
}

// launchNew launches a job for a data set, or says what it comes to.
func (t *task) launchNew(ctx context.Context, name string, f newJobFlags) error {
	d := jobs.Draft{
		Dataset: name, Sample: f.sample, OnlyUnlaunched: f.onlyUnlaunched, Rejects: f.rejects, SaveList: f.saveList,
		Key: f.key, Settings: f.settings, InboxAuth: !f.authGiven, MaxCost: f.maxCost.dollars,
	}
	columns, err := f.columnMap()
	if err != nil {
		return err
	}
	if list, saved := strings.CutPrefix(f.input, listPrefix); saved {
		d.From = jobs.SavedList{Name: list, Map: columns}
	} else {
		file, err := t.app.open(ctx, f.input)
		if err != nil {
			return usage("--input: %w", err)
		}
		defer file.Close()
		from := jobs.Rows{Reader: file, Name: "standard input", Map: columns}
		if f.input != "-" {
			from.Name, from.Kind = f.input, strings.TrimPrefix(filepath.Ext(f.input), ".")
		}
		d.From = from
	}
	given := ask.Answers{}
	if f.goodRows {
		given.Always(ask.BadRows)
	}
	r, err := t.check(ctx, d, f.launchFlags)
	if err != nil {
		return err
	}
	if f.preview {
		if _, err := t.answer(ctx, r, given, ask.Nobody, ask.BadRows); err != nil {
			return err
		}
		return t.preview(ctx, r.Request, f.json)
	}
	return t.launch(ctx, r, given, f.launchFlags, f.input == "-")
}
