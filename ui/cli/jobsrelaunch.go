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
	Missing bool `flag:"rest" help:"launch only the inputs that gave nothing or an error"`
	Yes     bool `flag:"yes" help:"launch it even if the first job may have started or is not over, or not every row could be matched"`
}

func (f relaunchFlags) needs() needs { return needs{key: f.Key, ledger: true, reason: f.Reason} }

func (a *app) jobsRelaunchCommand() *cobra.Command {
	return command(a, spec[relaunchFlags]{
		use:   "relaunch JOB",
		short: "Launch a job of the ledger again, or only its inputs without data",
		long: `Launches a second job with the request of a job of the ledger. It is billed like
any other.

--rest launches only the inputs that gave no row with data. Rows are matched to
inputs by the input that they name, never by position; rows that match no input
are counted.

If the first job may have started or is not over, --yes is needed; if the inputs
were launched again already, --again is. Such inputs may be billed twice.

With --wait, all other jobs in flight are followed meanwhile, as by 'zonedeck
jobs watch'.`,
		check: func(f *relaunchFlags, _ []string) error { return f.checkLaunch() },
		run:   relaunch,
	})
}

func relaunch(ctx context.Context, t *task, f relaunchFlags, args []string) (printed, error) {
	before, err := t.Jobs.Job(ctx, args[0])
	if err != nil {
		return printed{}, jobError(ctx, err)
	}
	if at, ok := before.Fault.RetryAt(); ok && at.After(t.Now()) {
		t.app.say("zonedeck: note: the service asked to wait until %s: before that it may refuse this one, too", at.Local().Format(time.DateTime))
	}
	r, err := t.check(ctx, jobs.Draft{From: jobs.Again{Job: before.ID, Missing: f.Missing}, Key: f.Key, MaxCost: f.MaxCost.dollars}, f.launchFlags)
	if err != nil {
		return printed{}, err
	}
	if m := r.Missing; f.Missing {
		t.app.say("zonedeck: of %s of %s, %d gave nothing and %d an error", text.Counted(m.Inputs, "input"), before.ID, m.Nothing, m.Failed)
	}
	given := ask.Answers{}
	if f.Yes {
		given.Always(ask.Unsettled).Always(ask.Unmatched).Always(ask.Lacking)
	}
	return printed{}, t.launch(ctx, r, given, f.launchFlags, false)
}
