package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"zonedeck/model"
	"zonedeck/service/jobs"
)

func (a *app) jobsAdoptCommand() *cobra.Command {
	var dataset, reason string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "adopt SNAPSHOT",
		Short: "Record a job in the ledger by the service's identifier",
		Long: `Asks the service about a job that was not launched from here, or that the ledger
lost, and writes it to the ledger. No job is started.`,
		Args: oneArg("the service's identifier of the job"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withSession(cmd.Context(), needs{jobs: true, reason: reason}, func(t *task) error {
				if err := t.ledger(cmd.Context()); err != nil {
					return err
				}
				job, err := t.knownJob(cmd.Context(), args[0], dataset)
				if err != nil {
					return jobError(cmd.Context(), err)
				}
				return t.printJob(job, asJSON)
			})
		},
	}
	adminFlag(cmd, &reason)
	cmd.Flags().StringVar(&dataset, "dataset", "", "name of its data set, for the ledger's list")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// knownJob is a job of the ledger or, by the service's identifier, one that it
// adopts now.
func (t *task) knownJob(ctx context.Context, id, dataset string) (model.Job, error) {
	job, err := t.Client.Job(ctx, id)
	if !errors.Is(err, jobs.ErrUnknownJob) || strings.HasPrefix(id, "job-") || id == "" {
		return job, err
	}
	if job, err = t.Client.Adopt(ctx, id, dataset); err != nil {
		return job, err
	}
	t.app.say("zonedeck: %s was not in the ledger; it is %s now", sanitizeLine(id), job.ID)
	return job, nil
}
