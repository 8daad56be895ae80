package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"zonedeck/service/ask"
	"zonedeck/service/jobs"
	"zonedeck/service/ledger"
	"zonedeck/service/view"
	"zonedeck/ui/kit/text"
)

type settleFlags struct {
	adopt            string
	find, notStarted bool
	webhook          bool
	yes, json        bool
	reason           string
}

func (a *app) jobsSettleCommand() *cobra.Command {
	var f settleFlags
	cmd := &cobra.Command{
		Use: "settle ID", Aliases: []string{"resolve"},
		Short: "Settle what became of a job that may have started",
		Long: `Without flags, lists which jobs of the service's list a job that may have
started could be: those of its data set, begun about then, unknown to the ledger.

--adopt takes one of them. --find takes the only one with the same number of
inputs, if it began while the POST was waiting for its answer and nothing else
leaves a doubt. --not-started says that it is none of them. --webhook waits once
more for a webhook to the job's own address, which settles it; the console or
'zonedeck jobs follow' says if none came in time.

None of these starts a job. Exit code 31: what became of the job is still
unknown.`,
		Args: oneArg("the job that may have started, as 'zonedeck jobs list' names it"),
		RunE: func(cmd *cobra.Command, args []string) error {
			chosen := 0
			for _, flag := range []bool{f.adopt != "", f.find, f.notStarted, f.webhook} {
				if flag {
					chosen++
				}
			}
			if chosen > 1 {
				return usage("--adopt, --find, --not-started and --webhook exclude one another")
			}
			return a.withSession(cmd.Context(), needs{jobs: true, reason: f.reason}, func(t *task) error {
				return t.settle(cmd.Context(), args[0], f)
			})
		},
	}
	adminFlag(cmd, &f.reason)
	fl := cmd.Flags()
	fl.StringVar(&f.adopt, "adopt", "", "take the job with this identifier of the service")
	fl.BoolVar(&f.find, "find", false, "take the only job of the service's list with the same number of inputs")
	fl.BoolVar(&f.yes, "yes", false, "with --adopt: take the job even if its data set or number of inputs differs")
	fl.BoolVar(&f.notStarted, "not-started", false, "mark the job as not started")
	fl.BoolVar(&f.webhook, "webhook", false, "wait for its webhook once more, for as long as [webhook] due in config.toml says")
	fl.BoolVar(&f.json, "json", false, "print one JSON object")
	return cmd
}

func (t *task) settle(ctx context.Context, id string, f settleFlags) error {
	if err := t.ledger(ctx); err != nil {
		return err
	}
	l := t.Client.Launching
	s, answer := jobs.Unlisted(id), f.adopt
	switch {
	case f.webhook:
		answer = jobs.Await
	case f.notStarted:
		answer = jobs.DidNotStart
	case f.adopt == "":
		var err error
		if s, err = l.Settle(ctx, id); cmp.Or(err, s.Problem) != nil {
			return settleError(ctx, cmp.Or(err, s.Problem))
		}
		if !f.find {
			return t.printCandidates(s.Candidates, id, f.json)
		}
		one, err := s.Only()
		if err != nil {
			if err := t.printCandidates(s.Candidates, id, f.json); err != nil && exitCode(ctx, err) != exitMayHaveStarted {
				return err
			}
			return fail(exitMayHaveStarted, "job %s: %s; %s", id, sanitizeLine(err.Error()), t.howToSettle(s, one, err))
		}
		t.app.say("zonedeck: %s is the only job of %s in the service's list with %s about that time, begun %s; the list does not say by whom",
			sanitizeLine(one.Snapshot), sanitizeLine(s.Job.Dataset), text.Counted(s.Job.Inputs, "input"), one.Begun())
		answer = one.Snapshot
	}
	given := ask.Answers{}.With(s.Question, ask.Answer{Text: answer})
	if f.yes {
		given.Always(ask.Unfitting)
	}
	job, err := l.Decide(ctx, s, given)
	if err != nil {
		return settleError(ctx, err)
	}
	if !f.webhook {
		t.app.say("zonedeck: job %s: %s", job.ID, job.State.Label())
		return t.printJob(job, f.json)
	}
	// The command itself does not wait: whatever receives webhooks settles the job.
	t.app.say("zonedeck: job %s: waiting for its webhook until %s; nothing was sent", job.ID, job.HookDue.Local().Format(time.DateTime))
	_, warning, err := t.Inbox.NewHook(ctx)
	t.warnOfInbox()
	if err != nil {
		warning = err.Error()
	}
	if warning != "" {
		t.app.warn("no webhook can come now: %s", sanitizeLine(warning))
	}
	if err := t.printJob(job, f.json); err != nil {
		return err
	}
	return exit(exitMayHaveStarted)
}

// howToSettle says which command settles a job that was not found. one is the nearest candidate, if there is one.
func (t *task) howToSettle(s jobs.Settlement, one jobs.Candidate, err error) string {
	begin := fmt.Sprintf("'%s settle %s ", t.jobs(s.Job), s.Job.ID)
	switch {
	case errors.Is(err, jobs.ErrNoneFits):
		return begin + "--not-started' says that it did not start"
	case one.Snapshot != "":
		return begin + "--adopt " + sanitizeLine(one.Snapshot) + "' takes it"
	default:
		return begin + "--adopt SNAPSHOT' takes the one that it is"
	}
}

// settleError is the exit for a job that was not settled.
func settleError(ctx context.Context, err error) error {
	var taken *ledger.TakenError
	doubt, doubtful := ask.Missing(err, ask.Unfitting)
	switch {
	case doubtful:
		return fail(answers[ask.Unfitting].exit, "%s; nothing was changed; %s", sanitizeLine(doubt.Text), answers[ask.Unfitting].how)
	case errors.Is(err, jobs.ErrSettled), errors.Is(err, jobs.ErrNoHook), errors.As(err, &taken):
		return usage("%w", err)
	default:
		return jobError(ctx, err)
	}
}

func (t *task) printCandidates(found []jobs.Candidate, id string, asJSON bool) error {
	table := [][]string{{"SNAPSHOT", "STATE", "INPUTS", "CREATED", "AFTER", "AGAINST IT"}}
	for _, c := range found {
		inputs := "-"
		if c.Inputs >= 0 {
			inputs = fmt.Sprint(c.Inputs)
		}
		table = append(table, []string{c.Snapshot, c.State.Label(), inputs, c.Created.Local().Format(time.DateTime), c.After.Round(time.Second).String(), c.Against})
	}
	var err error
	switch {
	case asJSON:
		err = t.app.printJSON(view.NewCandidates(found))
	case len(found) > 0:
		err = printColumns(t.app.Stdout, table)
	}
	if err != nil {
		return err
	}
	if len(found) == 0 {
		t.app.say("zonedeck: the service lists no job that could be %s, though it may still list it later; --not-started says that it did not start", id)
	}
	return exit(exitMayHaveStarted)
}
