package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"zonedeck/model"
	"zonedeck/service/ask"
	"zonedeck/service/exchange"
	"zonedeck/service/jobs"
	"zonedeck/service/ledger"
	"zonedeck/service/view"
	"zonedeck/ui/kit/text"
)

type settleFlags struct {
	Adopt      string `flag:"adopt" help:"take the job with this identifier of the service"`
	Find       bool   `flag:"find" help:"take the only job of the service's list whose rows name the same inputs"`
	Yes        bool   `flag:"yes" help:"with --adopt: take the job even if its data set or its inputs differ"`
	NotStarted bool   `flag:"not-started" help:"mark the job as not started"`
	Webhook    bool   `flag:"webhook" help:"wait for its webhook once more, for as long as [webhook] due in config.toml says"`
	jobFlags
}

func (a *app) jobsSettleCommand() *cobra.Command {
	return command(a, spec[settleFlags]{
		use:   "settle JOB",
		short: "Settle what became of a job that may have started",
		long: `Without flags, lists which jobs of the service's list a job that may have
started could be: those of its data set, begun about then, unknown to the ledger.

--adopt takes one of them. --find takes the only one whose rows name the inputs of
the job, if it began before the POST was over and nothing else leaves a doubt; a
job that still runs has no rows yet. --not-started says that it is none of them.
--webhook waits once more for a webhook to the job's own address, which settles
it; the console or 'zonedeck jobs follow' says if none came in time.

None of these starts a job. Exit code 31: what became of the job is still
unknown.`,
		check: func(f *settleFlags, _ []string) error {
			chosen := slices.DeleteFunc([]bool{f.Adopt != "", f.Find, f.NotStarted, f.Webhook}, func(flag bool) bool { return !flag })
			if len(chosen) > 1 {
				return usage("--adopt, --find, --not-started and --webhook exclude one another")
			}
			return nil
		},
		run: settle,
	})
}

func settle(ctx context.Context, t *task, f settleFlags, args []string) (printed, error) {
	id := args[0]
	l := t.Jobs.Launching
	s, fate := jobs.Settlement{Job: model.Job{ID: id}}, jobs.Fate(jobs.Started(f.Adopt))
	switch {
	case f.Webhook:
		fate = jobs.Await
	case f.NotStarted:
		fate = jobs.DidNotStart
	case f.Adopt == "":
		var err error
		if s, err = l.Settle(ctx, id); cmp.Or(err, s.Problem) != nil {
			return printed{}, settleError(ctx, cmp.Or(err, s.Problem))
		}
		if !f.Find {
			return t.candidates(s.Candidates, id), nil
		}
		one, err := s.Only()
		if err != nil {
			return t.candidates(s.Candidates, id).withError(fail(exitMayHaveStarted, "job %s: %s; %s", id, err.Error(), t.howToSettle(s, one, err)))
		}
		t.app.say("zonedeck: %s is the only job of %s in the service's list whose rows name %s, begun %s",
			one.Snapshot, s.Job.Dataset, "its "+text.Counted(s.Job.Inputs, "input"), one.Begun())
		fate = jobs.Started(one.Snapshot)
	}
	given := ask.Answers{}
	if f.Yes && !f.Find { // what is found has to fit
		given.Always(ask.Unfitting)
	}
	job, err := l.Decide(ctx, s, fate, given)
	if call := (*exchange.CallError)(nil); f.Adopt != "" && errors.As(err, &call) && call.Status == http.StatusNotFound {
		return printed{}, usage("%w", err)
	}
	if err != nil {
		return printed{}, settleError(ctx, err)
	}
	if !f.Webhook {
		t.app.say("zonedeck: job %s: %s", job.ID, job.State.Label())
		return printedJob(job), nil
	}
	// The command does not wait: the process that receives webhooks settles the job.
	t.app.say("zonedeck: job %s: waiting for its webhook until %s; nothing was sent", job.ID, job.WebhookDue.Local().Format(time.DateTime))
	_, warning, err := t.Inbox.NewAddress(ctx)
	t.warnOfInbox()
	if err != nil {
		warning = err.Error()
	}
	if warning != "" {
		t.app.warn("no webhook can come now: %s", warning)
	}
	return printedJob(job).withError(exit(exitMayHaveStarted))
}

// howToSettle says which command settles a job that was not found. one is the nearest candidate, if any.
func (t *task) howToSettle(s jobs.Settlement, one jobs.Candidate, err error) string {
	begin := fmt.Sprintf("'%s settle %s ", t.jobs(s.Job), s.Job.ID)
	switch {
	case errors.Is(err, jobs.ErrNoneFits):
		return begin + "--not-started' says that it did not start"
	case one.Snapshot != "":
		return begin + "--adopt " + one.Snapshot + "' takes it"
	default:
		return begin + "--adopt SNAPSHOT' takes the right one"
	}
}

// settleError is the error for a job that was not settled.
func settleError(ctx context.Context, err error) error {
	var taken *ledger.TakenError
	doubt, doubtful := ask.Missing(err, ask.Unfitting)
	switch {
	case doubtful:
		return fail(answers[ask.Unfitting].exit, "%s; nothing was changed; %s", doubt.Text, answers[ask.Unfitting].how)
	case errors.Is(err, jobs.ErrSettled), errors.Is(err, jobs.ErrNoAddress), errors.As(err, &taken):
		return usage("%w", err)
	default:
		return jobError(ctx, err)
	}
}

// candidates is the output for the jobs that the ledger's job could be.
func (t *task) candidates(found []jobs.Candidate, id string) printed {
	out := printed{object: view.NewCandidates(found), code: exitMayHaveStarted}
	if len(found) == 0 {
		t.app.say("zonedeck: the service lists no job that could be %s, though it may still list it later; --not-started says that it did not start", id)
		return out
	}
	out.rows = [][]string{{"SNAPSHOT", "STATE", "INPUTS", "CREATED", "AFTER", "FOR IT", "AGAINST IT"}}
	for _, c := range found {
		out.rows = append(out.rows, []string{c.Snapshot, c.State.Label(), known(c.Inputs), c.Created.Local().Format(time.DateTime), c.After.Round(time.Second).String(), c.For, c.Against})
	}
	return out
}
