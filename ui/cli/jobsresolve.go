package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"zonedeck/service/view"

	"github.com/spf13/cobra"

	"zonedeck/model"
	"zonedeck/service/jobs"
	"zonedeck/service/ledger"
	"zonedeck/service/rows"
	"zonedeck/ui/kit/text"
)

type resolveFlags struct {
	adopt            string
	find, notStarted bool
	webhook          bool
	yes, json        bool
	reason           string
}

func (a *app) jobsResolveCommand() *cobra.Command {
	var f resolveFlags
	cmd := &cobra.Command{
		Use:   "resolve ID",
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
				return t.resolve(cmd.Context(), args[0], f)
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

func (t *task) resolve(ctx context.Context, id string, f resolveFlags) error {
	if err := t.ledger(ctx); err != nil {
		return err
	}
	var job model.Job
	var err error
	switch {
	case f.webhook:
		return t.awaitHook(ctx, id, f.json)
	case f.notStarted:
		job, err = t.Client.NotStarted(ctx, id)
	case f.adopt != "":
		job, err = t.Client.Claim(ctx, id, f.adopt, f.yes)
	default:
		found, ferr := t.Client.Candidates(ctx, id)
		if ferr != nil {
			return resolveError(ctx, ferr)
		}
		if !f.find {
			return t.printCandidates(found, id, f.json)
		}
		if job, err = t.Client.Job(ctx, id); err != nil {
			return jobError(ctx, err)
		}
		one, ferr := onlyFit(job, found, t.jobs(job))
		if ferr != nil {
			if err := t.printCandidates(found, id, f.json); err != nil && exitCode(ctx, err) != exitMayHaveStarted {
				return err
			}
			return fail(exitMayHaveStarted, "job %s: %w", id, ferr)
		}
		t.app.say("zonedeck: %s is the only job of %s in the service's list with %s about that time, begun %s; the list does not say by whom",
			sanitizeLine(one.Snapshot), sanitizeLine(job.Dataset), text.Counted(job.Inputs, "input"), begun(one))
		job, err = t.Client.Claim(ctx, id, one.Snapshot, false)
	}
	if err != nil {
		return resolveError(ctx, err)
	}
	t.app.say("zonedeck: job %s: %s", job.ID, job.State.Label())
	return t.printJob(job, f.json)
}

// awaitHook has the webhook of a job that may have started waited for. The command itself does not wait:
// whatever receives webhooks settles the job.
func (t *task) awaitHook(ctx context.Context, id string, asJSON bool) error {
	job, err := t.Client.AwaitHook(ctx, id)
	if err != nil {
		return resolveError(ctx, err)
	}
	t.app.say("zonedeck: job %s: waiting for its webhook until %s; nothing was sent", job.ID, job.HookDue.Local().Format(time.DateTime))
	if err := t.fillHooks(ctx, &model.JobSettings{Notify: model.HookInbox}); err != nil {
		t.app.warn("no webhook can come now: %s", sanitizeLine(err.Error()))
	}
	if err := t.printJob(job, asJSON); err != nil {
		return err
	}
	return exit(exitMayHaveStarted)
}

// onlyFit returns the only candidate with the job's number of inputs, if nothing speaks against it. Of
// several it takes none, even if something speaks against the others: the one in doubt may be the job, and so
// may one whose number of inputs is not known. command is the beginning of a command about the job.
func onlyFit(job model.Job, found []jobs.Candidate, command string) (one jobs.Candidate, err error) {
	var same []jobs.Candidate // with the job's number of inputs
	for _, c := range found {
		switch {
		case c.Inputs < 0:
			return one, fmt.Errorf("the number of inputs of %s is not known; choose with --adopt", sanitizeLine(c.Snapshot))
		case c.Inputs == job.Inputs:
			same = append(same, c)
		}
	}
	inputs := text.Counted(job.Inputs, "input")
	switch {
	case len(same) == 1 && same[0].Against == "":
		return same[0], nil
	case len(same) == 1:
		name := sanitizeLine(same[0].Snapshot)
		return one, fmt.Errorf("%s of the service's list has its %s, but %s; '%s resolve %s --adopt %s' takes it", name, inputs, same[0].Against, command, job.ID, name)
	case len(same) > 1:
		var each []string
		for _, c := range same {
			each = append(each, fmt.Sprintf("%s (begun %s; %s)", sanitizeLine(c.Snapshot), begun(c), cmp.Or(c.Against, "nothing against it")))
		}
		return one, fmt.Errorf("%d jobs of the service's list have its %s: %s; '%s resolve %s --adopt SNAPSHOT' takes the one that it is",
			len(same), inputs, strings.Join(each, ", "), command, job.ID)
	case len(found) > 0 && found[0].Unseen:
		return one, fmt.Errorf("no job that was seen in the service's list has its %s, and not every job of that time could be looked at", inputs)
	}
	return one, fmt.Errorf("no job of the service's list fits; 'zonedeck jobs resolve %s --not-started' says that it did not start", job.ID)
}

// begun says when a job of the service's list began.
func begun(c jobs.Candidate) string {
	if c.After < 0 {
		return (-c.After).Round(time.Second).String() + " before the POST"
	}
	return c.After.Round(time.Second).String() + " after the POST"
}

// resolveError is the exit for a job that was not settled.
func resolveError(ctx context.Context, err error) error {
	var taken *ledger.TakenError
	var doubt *jobs.DoubtError
	switch {
	case errors.As(err, &doubt):
		return usage("%s; nothing was changed; --yes takes it", sanitizeLine(err.Error()))
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

type relaunchFlags struct {
	launchFlags

	rest, yes bool
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
	fl.BoolVar(&f.rest, "rest", false, "launch only the inputs that gave nothing or an error")
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
	p, err := t.Profile(ctx)
	if err != nil {
		return fail(exitState, "%w", err)
	}
	if before.Profile != p.Name {
		return usage("job %s belongs to profile %s, not to %s", before.ID, before.Profile, p.Name)
	}
	if at, ok := before.Fault.RetryAt(); ok && at.After(t.Now()) {
		t.app.say("zonedeck: note: the service asked to wait until %s: before that it may refuse this one, too", at.Local().Format(time.DateTime))
	}
	if before.SaidNotStarted() {
		t.app.say("zonedeck: note: a person said that %s had not started: if it did, the same inputs are billed a second time", before.ID)
	}
	if before.Forgotten() {
		t.app.say("zonedeck: note: the service accepted %s, but did not know it when it was last asked: if it billed that job, the same inputs are billed a second time", before.ID)
	}
	request, err := t.again(ctx, before, f)
	if err != nil {
		return err
	}
	if f.key != "" {
		request.Key = f.key
	}
	if f.maxCost.dollars > 0 {
		request.MaxCost = f.maxCost.dollars
	}
	var estimate jobs.Estimate
	if len(request.Inputs) > 0 {
		if err := t.fillHooks(ctx, &request.Settings); err != nil {
			return err
		}
		if estimate, err = t.Client.Check(ctx, request); err != nil {
			return triggerError(ctx, model.Job{}, err)
		}
		t.app.say("zonedeck: %s", sanitizeLine(estimate.String()))
	}
	if f.dryRun || len(request.Inputs) == 0 {
		return t.dryRun(ctx, request, rows.Inputs{}, estimate, f.json)
	}
	if request.Guard, err = t.allowRelaunch(ctx, before, request, f); err != nil {
		return err
	}
	job, err := t.Client.Trigger(ctx, request)
	if err != nil {
		return triggerError(ctx, job, err)
	}
	return t.launched(ctx, job, f.launchFlags)
}

// allowRelaunch refuses a second launch of what may be billed already, unless the flags say so.
// The guard refuses what is launched meanwhile.
func (t *task) allowRelaunch(ctx context.Context, before model.Job, r model.TriggerRequest, f relaunchFlags) (*model.LaunchGuard, error) {
	inputs := text.Counted(len(r.Inputs), "input")
	switch {
	case f.yes || before.State.Final():
	case before.State == model.JobMayHave:
		return nil, usage("job %s may have started: a second one with %s is billed a second time if it did; look for it with '%s resolve %s', or give --yes",
			before.ID, inputs, t.jobs(before), before.ID)
	default:
		return nil, usage("job %s %s: a second one with %s is billed a second time; nothing was sent; --yes launches it", before.ID, before.State.Predicate(), inputs)
	}
	guard := &model.LaunchGuard{Within: sameWithin, Known: []string{before.ID}}
	same, err := t.Client.SameInputs(ctx, r, guard.Within)
	if err != nil {
		return nil, jobError(ctx, err)
	}
	same = slices.DeleteFunc(same, func(j model.Job) bool { return j.ID == before.ID })
	if len(same) == 0 {
		return guard, nil
	}
	launched := "the same inputs were launched"
	if same[0].Repeats == before.ID {
		launched = before.ID + " was launched again"
	}
	said := sameSaid(same[0], launched)
	if !f.again {
		return nil, usage("%s; nothing was sent; --again launches it", said)
	}
	t.app.say("zonedeck: %s", said)
	return nil, nil //nolint:nilnil // launched in any case
}

// again is what is launched in place of a job.
func (t *task) again(ctx context.Context, before model.Job, f relaunchFlags) (model.TriggerRequest, error) {
	if !f.rest {
		r, err := t.Client.Request(ctx, before.ID)
		if err != nil {
			return r, relaunchError(ctx, err)
		}
		t.app.say("zonedeck: %s of %s, of dataset %s", text.Counted(len(r.Inputs), "input"), before.ID, sanitizeLine(r.Dataset))
		return r, nil
	}
	rest, err := t.Client.Rest(ctx, before.ID)
	if err != nil {
		return rest.Request, relaunchError(ctx, err)
	}
	t.app.say("zonedeck: of %s of %s, %d gave nothing and %d an error", text.Counted(rest.Asked, "input"), before.ID, rest.Nothing, rest.Failed)
	if rest.Unmatched > 0 {
		t.app.say("zonedeck: %s could not be matched to an input: some of these may have given data", text.Counted(rest.Unmatched, "row"))
		if !f.yes && !f.dryRun && len(rest.Request.Inputs) > 0 {
			return rest.Request, usage("%s of %s cannot be matched, so inputs with data may be launched and billed again; --yes launches %s",
				text.Counted(rest.Unmatched, "row"), before.ID, text.Counted(len(rest.Request.Inputs), "input"))
		}
	}
	if rest.Lacking > 0 {
		said := fmt.Sprintf("%s that the service counted did not come, so inputs with data may be launched and billed again; '%s download %s -o FILE --force' asks for the result again",
			text.Counted(rest.Lacking, "record"), t.jobs(before), before.ID)
		if !f.yes && !f.dryRun && len(rest.Request.Inputs) > 0 {
			return rest.Request, usage("%s; --yes launches %s", said, text.Counted(len(rest.Request.Inputs), "input"))
		}
		t.app.say("zonedeck: %s", said)
	}
	return rest.Request, nil
}

func relaunchError(ctx context.Context, err error) error {
	if errors.Is(err, jobs.ErrNoRequest) {
		return usage("%w", err)
	}
	return jobError(ctx, err)
}
