package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/view"
)

// remoteFlags say what is asked of the service in place of the ledger.
type remoteFlags struct {
	remote      bool
	datasets    []string
	key, reason string
}

func (f *remoteFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.BoolVar(&f.remote, "remote", false, "ask the service for its list of jobs")
	fl.StringSliceVar(&f.datasets, "dataset", nil, "with --remote: data sets whose jobs to list (default: those of the profile's jobs in the ledger)")
	fl.StringVar(&f.key, "key", "", "with --remote: key of the inventory to use (default: the profile's)")
	adminFlag(cmd, &f.reason)
}

func (f *remoteFlags) check(limit int) error {
	switch {
	case !f.remote && (len(f.datasets) > 0 || f.key != "" || f.reason != ""):
		return usage("--dataset, --key and --admin-reason need --remote: without it the service is not asked")
	case limit < 0:
		return usage("--limit %d: give a number of jobs, or 0 for all", limit)
	default:
		return nil
	}
}

// mostRemote is how many jobs of a data set are asked for without a limit: what may be asked
// for at most.
const mostRemote = 5000

// listRemoteJobs prints the jobs of the service, each with its identifier in the ledger if it
// stands there.
func (t *task) listRemoteJobs(ctx context.Context, f remoteFlags, limit int, asJSON bool) error {
	known, _, err := t.Client.Jobs(ctx, 0)
	if err != nil {
		return fail(exitState, "read the ledger: %w", err)
	}
	p, err := t.Profile(ctx)
	if err != nil {
		return fail(exitState, "%w", err)
	}
	names := unique(f.datasets)
	d, err := dialect.Find(p.Dialect)
	if err != nil {
		return usage("%w", err)
	}
	if len(names) == 0 {
		for _, j := range known {
			if _, product := d.ProductOf(j.Dataset); product { // no list has its jobs
				continue
			}
			if j.Profile == p.Name && j.Dataset != "" && !slices.Contains(names, j.Dataset) {
				names = append(names, j.Dataset)
			}
		}
	}
	if len(names) == 0 {
		return usage("--remote: no job of profile %q in the ledger names a data set: name one with --dataset ('zonedeck jobs datasets' lists them)", p.Name)
	}
	var all []model.RemoteJob
	for _, name := range names {
		jobs, skipped, err := t.Client.RemoteJobs(ctx, f.key, name, cmp.Or(limit, mostRemote))
		if err != nil {
			return jobError(ctx, err)
		}
		if skipped > 0 {
			t.app.say("zonedeck: %d jobs of %s were left out: their identifiers cannot be used", skipped, name)
		}
		all = append(all, jobs...)
	}
	slices.SortStableFunc(all, func(a, b model.RemoteJob) int { return b.Created.Compare(a.Created) })
	if limit > 0 && len(all) > limit {
		all = all[:limit]
	}
	return t.printRemoteJobs(all, known, asJSON)
}

func (t *task) printRemoteJobs(all []model.RemoteJob, known []model.Job, asJSON bool) error {
	out := view.NewRemoteJobs(all, known)
	switch {
	case asJSON:
		return t.app.printJSON(out)
	case len(all) == 0:
		t.app.say("zonedeck: the service lists no jobs")
		return nil
	}
	rows := [][]string{{"STATE", "SNAPSHOT", "DATASET", "RECORDS", "CREATED", "LEDGER"}}
	for i, j := range all {
		records, created := "-", "-"
		if j.Records >= 0 {
			records = fmt.Sprint(j.Records)
		}
		if !j.Created.IsZero() {
			created = j.Created.Local().Format(time.DateTime)
		}
		rows = append(rows, []string{cmp.Or(j.Wire, "-"), j.Snapshot, j.Dataset, records, created, cmp.Or(out.Jobs[i].ID, "-")})
	}
	return printColumns(t.app.Stdout, rows)
}

func (a *app) jobsDatasetsCommand() *cobra.Command {
	var key, reason string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "datasets",
		Short: "List the service's data sets, and products whose jobs have none",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withSession(cmd.Context(), needs{key: key, journal: true, reason: reason}, func(t *task) error {
				return t.listDatasets(cmd.Context(), key, asJSON)
			})
		},
	}
	cmd.Flags().StringVar(&key, "key", "", "key of the inventory to use (default: the profile's)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	adminFlag(cmd, &reason)
	return cmd
}

func (t *task) listDatasets(ctx context.Context, key string, asJSON bool) error {
	sets, skipped, err := t.Client.Datasets(ctx, key)
	if err != nil {
		return jobError(ctx, err)
	}
	if skipped > 0 {
		t.app.say("zonedeck: %d data sets were left out: their identifiers cannot be used", skipped)
	}
	if asJSON {
		return t.app.printJSON(view.NewListedDatasets(sets))
	}
	rows := [][]string{{"DATASET", "KIND", "RECORDS", "NAME"}}
	for _, s := range sets {
		records := "-"
		if s.Records >= 0 {
			records = fmt.Sprint(s.Records)
		}
		rows = append(rows, []string{s.ID, string(s.Kind), records, s.Name})
	}
	return printColumns(t.app.Stdout, rows)
}
