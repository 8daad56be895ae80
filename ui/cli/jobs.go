package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zonedeck/model"
	"zonedeck/service/exchange"
	"zonedeck/service/jobs"
	"zonedeck/service/query"
	"zonedeck/service/snippet"
	"zonedeck/service/view"
	"zonedeck/ui/kit/text"
)

type watchFlags struct {
	ringFlag
	Deadline durationFlag `flag:"deadline" alias:"timeout" help:"stop watching after this long; exit 20 if the job is still running then"`
	jobFlags
}

func (a *app) jobsWatchCommand() *cobra.Command {
	return command(a, spec[watchFlags]{
		use:   "watch JOB",
		short: "Follow a job until it is over",
		long: `Asks the service about a job until it is over. A job that expired because the
service no longer knew it is asked about once, and taken back if the service
knows it again.

All other jobs in flight are followed meanwhile, as by 'zonedeck jobs follow',
but silently: nobody is asked for a passphrase for them, and --admin-reason does
not apply to them.`,
		run: func(ctx context.Context, t *task, f watchFlags, args []string) (printed, error) {
			return printed{}, t.watch(ctx, args[0], f.Deadline.d, f.Ring)
		},
	})
}

func (t *task) watch(ctx context.Context, id string, deadline time.Duration, ring bool) error {
	switch job, err := t.findJob(ctx, id, ""); {
	case err != nil:
		return jobError(ctx, err)
	case job.Snapshot == "" && job.State != model.JobIntent && job.State != model.JobSending:
		// Without a snapshot the service cannot be asked: only the ledger knows the job.
		return t.reportJob(job)
	}
	watchCtx := ctx
	if deadline > 0 {
		var cancel context.CancelFunc
		watchCtx, cancel = context.WithTimeout(ctx, deadline)
		defer cancel()
	}
	p, err := t.Profile(ctx)
	if err != nil {
		return fail(exitState, "%w", err)
	}
	last, bell := "", t.app.notifier(ring, p.Name)
	defer bell.end()
	job, err := t.Jobs.WatchAndFollow(watchCtx, id, func(j model.Job) {
		bell.update(j, true)
		if line := progressLine(j); line != last {
			t.app.say("zonedeck: %s", line)
			last = line
		}
	})
	switch {
	case err == nil:
		return t.reportJob(job)
	case ctx.Err() == nil && errors.Is(watchCtx.Err(), context.DeadlineExceeded):
		if job, err = t.Jobs.Job(ctx, id); err != nil {
			return jobError(ctx, err)
		}
		stands := "still runs"
		if job.Fault.Call == model.CallProgress {
			stands = "was " + job.State.Label() + " when it was last seen (" + job.Fault.Diagnosis.Summary + ")"
		}
		t.app.warn("job %s %s; '%s watch %s' goes on following it", id, stands, t.jobs(job), id)
		return cmp.Or(t.printJob(job), exit(exitStillRunning))
	case ctx.Err() != nil:
		// A script needs the identifier to go on with the job.
		var unwritten error
		if now, err := t.Jobs.Job(context.WithoutCancel(ctx), id); err == nil {
			job, unwritten = now, t.printJob(now)
		}
		return cmp.Or(unwritten, fail(ExitInterrupted, "interrupted; job %s goes on at the service: '%s watch %s' follows it", id, t.jobs(job), id))
	default:
		return t.failedJob(ctx, job, err)
	}
}

// failedJob ends a failed command about a job: it prints the verdict, and with --json
// the job.
func (t *task) failedJob(ctx context.Context, job model.Job, err error) error {
	var fault *exchange.CallError
	if !errors.As(err, &fault) || !job.Fault.Any() {
		return jobError(ctx, err)
	}
	shown := job.Fault
	shown.Diagnosis = fault.Diagnosis // the ledger's is different for a forgotten job
	t.sayFault(shown, job.KeyName)
	if t.app.json {
		if err := t.printJob(job); err != nil {
			return err
		}
	}
	return reported(jobError(ctx, err))
}

// ledger makes sure that the ledger is readable, and settles jobs whose launch was
// cut short by the death of an earlier process.
func (t *task) ledger(ctx context.Context) error {
	if t.LedgerFault != nil {
		return fail(exitState, "the ledger of jobs cannot be read: %w", t.LedgerFault)
	}
	settled, err := t.Jobs.Recover(ctx)
	if err != nil {
		return fail(exitState, "read the ledger: %w", err)
	}
	for _, j := range settled {
		t.app.say("zonedeck: %s: %s: %s", j.ID, j.State.Label(), j.Detail)
	}
	return nil
}

func progressLine(j model.Job) string {
	line := fmt.Sprintf("%s  %s", j.Snapshot, j.Label())
	if j.Done >= 0 && j.Inputs > 0 {
		line += fmt.Sprintf("  %d of %s", j.Done, text.Counted(j.Inputs, "input"))
	}
	if n := j.ResultRecords(); n >= 0 {
		line += "  " + text.Counted(n, "record")
	}
	if j.Wire != "" && j.Wire != string(j.State) && !j.State.Final() { // a finished job's Wire may be out of date
		line += "  (the service says " + j.Wire + ")"
	}
	return line
}

// printJob prints the job on stdout: its identifier, or the JSON object.
func (t *task) printJob(j model.Job) error { return t.app.conclude(printedJob(j), nil) }

// printedJob is the output for a job.
func printedJob(j model.Job) printed {
	return printed{object: view.JobObject{Job: view.NewJob(j)}, text: j.ID + "\n"}
}

// reportJob prints the job and returns the exit code of its state.
func (t *task) reportJob(j model.Job) error {
	if err := t.printJob(j); err != nil {
		return err
	}
	code, line := jobExit(j), j.Label()
	if j.Detail != "" {
		line += ": " + j.Detail
	}
	t.app.verdict(code, line)
	if j.Fault.Any() {
		t.sayFault(j.Fault, j.KeyName)
	}
	if way := t.wayOn(j); way != "" {
		t.app.say("zonedeck: %s", way)
	}
	if few := text.FewRecords(j); few != "" {
		t.app.say("zonedeck: %s", few)
	}
	return exit(code)
}

// wayOn says what to do about a job whose state is unknown; "" for any other job.
func (t *task) wayOn(j model.Job) string {
	switch {
	case j.State == model.JobMayHave:
		return fmt.Sprintf("'%s settle %s --find' looks for it in the service's list of jobs; --not-started says that it is not there", t.jobs(j), j.ID)
	case j.Forgotten():
		return fmt.Sprintf("'%s watch %s' asks again, and takes it back if the service knows it; '%s list --remote --dataset %s' shows the service's list", t.jobs(j), j.ID, t.jobs(j), j.Dataset)
	case j.GivenUp():
		return fmt.Sprintf("it is not asked for any more: '%s watch %s' asks again", t.jobs(j), j.ID)
	case j.Rows.Drift.Text != "":
		return fmt.Sprintf("'%s drift show %s' shows the fields", strings.TrimSuffix(t.jobs(j), " jobs"), j.Dataset)
	default:
		return ""
	}
}

// jobs is the start of a command about a job. It names the job's profile if that is configured and not the default.
func (t *task) jobs(j model.Job) string {
	if known, _ := t.Profiles.Configured(); j.Profile != t.Profiles.ByDefault() && slices.ContainsFunc(known, func(p model.Profile) bool { return p.Name == j.Profile }) {
		return snippet.OnDatabase(snippet.With(j.Profile), t.app.flags.database) + " jobs"
	}
	return snippet.OnDatabase("zonedeck", t.app.flags.database) + " jobs"
}

type jobListFlags struct {
	Filter   string   `flag:"filter"`
	Limit    int      `flag:"limit" default:"1000" help:"how many of the newest jobs to list; 0 for all"`
	Remote   bool     `flag:"remote" help:"ask the service for its list of jobs"`
	Datasets []string `flag:"dataset" takes:"dataset" list:"comma" help:"with --remote: data sets whose jobs to list (default: those of the profile's jobs in the ledger)"`
	Key      string   `flag:"key" takes:"key" help:"with --remote: key of the inventory to use (default: the profile's)"`
	jobFlags
}

func (f jobListFlags) needs() needs { return needs{key: f.Key, ledger: true, reason: f.Reason} }

// check refuses flags that do not go together.
func (f jobListFlags) check([]string) error {
	switch {
	case !f.Remote && (len(f.Datasets) > 0 || f.Key != "" || f.Reason != ""):
		return usage("--dataset, --key and --admin-reason need --remote: without it the service is not asked")
	case f.Limit < 0:
		return usage("--limit %d: give a number of jobs, or 0 for all", f.Limit)
	case f.Remote && f.Filter != "":
		return usage("--filter is for the jobs of the ledger: leave it out with --remote")
	default:
		return nil
	}
}

func (a *app) jobsListCommand() *cobra.Command {
	return command(a, spec[jobListFlags]{
		use:   "list",
		short: "List the jobs of the ledger, or of the service, newest first",
		long: `Lists the jobs of the ledger, of all profiles, newest first.

--filter takes what "/" takes in the console: words that must all occur, and the
terms state: (the beginning of a state; state:open for jobs that still change),
dataset:, profile: and since:, for example
--filter 'state:open profile:acme since:2h'.

--remote lists the jobs that the service lists, whoever started them. It makes
one call for each data set: those of --dataset, or else those that the profile's
jobs in the ledger name. Nothing is written to the ledger; 'zonedeck jobs adopt'
does that.`,
		help:  map[string]string{"filter": "list only jobs that match all words and terms, such as " + strings.Join(jobs.Fields(nil).Examples(), ", ")},
		check: (*jobListFlags).check,
		run:   listJobs,
	})
}

// ledgerJobs returns the jobs to list and how many the ledger holds. It says how many it leaves out.
func (t *task) ledgerJobs(ctx context.Context, f jobListFlags) (list []model.Job, total int, err error) {
	filter, err := query.Parse(f.Filter, jobs.Fields(t.NowOf))
	if err != nil {
		return nil, 0, usage("--filter: %w", err)
	}
	matches := filter.Match
	if f.Filter == "" {
		matches = nil
	}
	list, match, total, err := t.Jobs.Matching(ctx, matches, f.Limit)
	switch {
	case err != nil:
		return nil, 0, fail(exitState, "read the ledger: %w", err)
	case f.Filter == "" && len(list) < total:
		t.app.say("zonedeck: the %d newest of %d jobs; --limit 0 lists all", len(list), total)
	case f.Filter == "":
	case len(list) < match:
		t.app.say("zonedeck: the %d newest of %d jobs that match; --limit 0 lists them all", len(list), match)
	default:
		t.app.say("zonedeck: %d of %d jobs match", match, total)
	}
	return list, total, nil
}

func listJobs(ctx context.Context, t *task, f jobListFlags, _ []string) (printed, error) {
	if f.Remote {
		return t.remoteJobs(ctx, f)
	}
	list, total, err := t.ledgerJobs(ctx, f)
	if err != nil || f.JSON {
		return printed{object: view.NewJobs(list, total)}, err
	}
	if total == 0 {
		t.app.say("zonedeck: the ledger holds no jobs")
	}
	if len(list) == 0 {
		return printed{}, nil
	}
	open, unasked := "", "" // advice on the newest job that may have started, and the newest that is given up
	rows := [][]string{{"STATE", "ID", "SNAPSHOT", "DATASET", "INPUTS", "RECORDS", "CREATED", "KEY", "PROFILE"}}
	for _, j := range list {
		switch {
		case j.State == model.JobMayHave:
			open = cmp.Or(open, t.wayOn(j))
		case j.GivenUp():
			unasked = cmp.Or(unasked, fmt.Sprintf("%s %s, and is not asked for any more: '%s watch %s' asks again", j.ID, j.Label(), t.jobs(j), j.ID))
		}
		rows = append(rows, []string{
			j.Label(), j.ID, cmp.Or(j.Snapshot, "-"), j.Dataset, fmt.Sprint(j.Inputs), known(j.ResultRecords()),
			j.Created.Local().Format(time.DateTime), cmp.Or(j.KeyName, "-"), j.Profile,
		})
	}
	for _, way := range []string{open, unasked} {
		if way != "" {
			t.app.say("zonedeck: %s", way)
		}
	}
	return printed{rows: rows}, nil
}
