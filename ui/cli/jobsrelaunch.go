package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"zonedeck/service/ask"
	"zonedeck/service/jobs"
	"zonedeck/ui/kit/text"
)

type relaunchFlags struct {
	launchFlags

	missing, yes bool
}

func (a *app) jobsRelaunchCommand() *cobra.Command {
	var f relaunchFlags
	cmd := &cobra.Command{
		Use:   "relaunch ID",
		Short: "Launch a job of the ledger again, or only its inputs without data",
		Long: `Launches a second job with the request of a job of the ledger. It is billed like
any other.

--rest launches only the inputs that gave no row with data. Rows are matched to
inputs by the input that they name, never by position; rows that match no input
are counted.

If the first job may have started or is not over, --yes is needed; if the inputs
were launched again already, --again is. Such inputs may be billed twice.

With --wait, all other jobs in flight are followed meanwhile, as by 'zonedeck
jobs watch'.`,
		Args: oneArg("the job to launch again, as 'zonedeck jobs list' names it"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.checkLaunch(); err != nil {
				return err
			}
			return a.withSession(cmd.Context(), needs{key: f.key, jobs: true, reason: f.reason}, func(t *task) error {
				return t.relaunch(cmd.Context(), args[0], f)
			})
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&f.missing, "rest", false, "launch only the inputs that gave nothing or an error")
	fl.BoolVar(&f.yes, "yes", false, "launch it even if the first job may have started or is not over, or not every row could be matched")
	f.addLaunch(cmd)
	return cmd
}

func (t *task) relaunch(ctx context.Context, id string, f relaunchFlags) error {
	if err := t.ledger(ctx); err != nil {
		return err
	}
	before, err := t.Client.Job(ctx, id)
	if err != nil {
		return jobError(ctx, err)
	}
	if at, ok := before.Fault.RetryAt(); ok && at.After(t.Now()) {
		t.app.say("zonedeck: note: the service asked to wait until %s: before that it may refuse this one, too", at.Local().Format(time.DateTime))
	}
	r, err := t.check(ctx, jobs.Draft{From: jobs.Again{Job: before.ID, Missing: f.missing}, Key: f.key, MaxCost: f.maxCost.dollars}, f.launchFlags)
	if err != nil {
		return err
	}
	if m := r.Missing; f.missing {
		t.app.say("zonedeck: of %s of %s, %d gave nothing and %d an error", text.Counted(m.Inputs, "input"), before.ID, m.Nothing, m.Failed)
	}
	given := ask.Answers{}
	if f.yes {
		given.Always(ask.Unsettled).Always(ask.Unmatched).Always(ask.Lacking)
	}
	return t.launch(ctx, r, given, f.launchFlags, false)
}
