package cli

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"zonedeck/model"
	"zonedeck/service/jobs"
	"zonedeck/service/view"
)

// remoteJobs lists the jobs of the service, each with its identifier in the ledger if it has one.
func (t *task) remoteJobs(ctx context.Context, f jobListFlags) (printed, error) {
	list, err := t.Jobs.RemoteJobs(ctx, f.Key, f.Datasets, f.Limit)
	if errors.Is(err, jobs.ErrNoDataset) {
		return printed{}, usage("--remote: %w: name one with --dataset ('zonedeck datasets list' lists them)", err)
	}
	for name, n := range list.Skipped {
		t.app.say("zonedeck: %d jobs of %s were left out: their identifiers cannot be used", n, name)
	}
	if err != nil {
		return printed{}, jobError(ctx, err)
	}
	out := printed{object: view.NewRemoteJobs(list)}
	if len(list.Jobs) == 0 {
		out.note = "the service lists no jobs"
		return out, nil
	}
	out.rows = [][]string{{"STATE", "SNAPSHOT", "DATASET", "RECORDS", "CREATED", "LEDGER"}}
	for _, j := range list.Jobs {
		created := "-"
		if !j.Created.IsZero() {
			created = j.Created.Local().Format(time.DateTime)
		}
		out.rows = append(out.rows, []string{cmp.Or(j.Wire, "-"), j.Snapshot, j.Dataset, known(j.Records), created, cmp.Or(list.IDs[j.Snapshot], "-")})
	}
	return out, nil
}

type adoptFlags struct {
	Dataset string `flag:"dataset" takes:"dataset" help:"name of its data set, for the ledger's list"`
	jobFlags
}

func (a *app) jobsAdoptCommand() *cobra.Command {
	return command(a, spec[adoptFlags]{
		use:   "adopt SNAPSHOT",
		short: "Record a job in the ledger by the service's identifier",
		long: `Asks the service about a job that was not launched from here, or that the ledger
lost, and writes it to the ledger. No job is started.`,
		run: func(ctx context.Context, t *task, f adoptFlags, args []string) (printed, error) {
			job, err := t.findJob(ctx, args[0], f.Dataset)
			if err != nil {
				return printed{}, jobError(ctx, err)
			}
			return printedJob(job), nil
		},
	})
}

// findJob returns a job of the ledger. By the service's identifier it adopts a job that the ledger lacks.
func (t *task) findJob(ctx context.Context, id, dataset string) (model.Job, error) {
	job, adopted, err := t.Jobs.Find(ctx, id, dataset)
	if adopted {
		t.app.say("zonedeck: %s was not in the ledger; it is %s now", id, job.ID)
	}
	return job, err
}
