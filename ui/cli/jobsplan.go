package cli

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"

	"zonedeck/service/view"

	"github.com/spf13/cobra"

	"zonedeck/model"
	"zonedeck/service/jobs"
	"zonedeck/service/rows"
)

// launchFlags are those of every command that launches a job.
type launchFlags struct {
	key, reason   string
	maxCost       dollarsFlag
	again, dryRun bool
	wait, json    bool
	timeout       durationFlag
}

func (f *launchFlags) addLaunch(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.Var(&f.maxCost, "max-cost", "refuse the job if the upper end of its estimate is above this many dollars, or unknown; max_job_cost of the profile applies too")
	fl.BoolVar(&f.again, "again", false, "launch it even if a job of the last hour has the same inputs, or an older one that still runs or may have started")
	fl.BoolVar(&f.dryRun, "dry-run", false, "check the job, say what it is expected to cost and print its inputs; send nothing")
	fl.StringVar(&f.key, "key", "", "key of the inventory to use")
	adminFlag(cmd, &f.reason)
	fl.BoolVar(&f.wait, "wait", false, "wait until the job is over")
	fl.Var(&f.timeout, "timeout", "with --wait: stop waiting after this long; exit 20 if the job is still running then")
	fl.BoolVar(&f.json, "json", false, "print one JSON object")
}

// checkLaunch refuses flags that are wrong by themselves.
func (f *launchFlags) checkLaunch() error {
	if f.timeout.d > 0 && !f.wait {
		return usage("--timeout needs --wait: without it, nothing is waited for")
	}
	return nil
}

// dollarsFlag is an amount, 0 where none is given: a cap of 0 would be no cap.
type dollarsFlag struct{ dollars float64 }

func (d *dollarsFlag) Set(s string) error {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || !(n > 0) || math.IsInf(n, 0) {
		return errors.New("give dollars, more than 0, or leave the flag out")
	}
	d.dollars = n
	return nil
}

func (d *dollarsFlag) String() string {
	if d.dollars == 0 {
		return ""
	}
	return strconv.FormatFloat(d.dollars, 'f', -1, 64)
}

func (d *dollarsFlag) Type() string { return "dollars" }

// launched reports what became of a launch, and waits for its end if that is asked for.
func (t *task) launched(ctx context.Context, job model.Job, f launchFlags) error {
	if !f.wait || job.State.Final() || job.State == model.JobMayHave {
		return t.reportJob(job, f.json)
	}
	t.app.say("zonedeck: job %s is snapshot %s", job.ID, sanitizeLine(job.Snapshot))
	return t.watch(ctx, job.ID, f.timeout.d, f.json, false)
}

// dryRun says what a launch would send and prints it. A key that a launch would be refused is refused.
func (t *task) dryRun(ctx context.Context, r model.TriggerRequest, read rows.Inputs, e jobs.Estimate, asJSON bool) error {
	if err := t.PermitLaunch(ctx, r.Key); err != nil {
		return fetchError(ctx, err)
	}
	before, err := t.launchedBefore(ctx, r)
	if err != nil {
		return jobError(ctx, err)
	}
	t.app.say("zonedeck: nothing was sent")
	return t.printPlan(r, read, e, before, asJSON)
}

// launchedBefore are jobs that were launched before what is planned, newest first.
type launchedBefore struct {
	jobs    []model.Job // with the inputs or some of them
	again   bool        // one besides the job that is repeated has them all
	unknown []model.Job // that may have any of them
}

// launchedBefore names the jobs that have the inputs or some of them.
func (t *task) launchedBefore(ctx context.Context, r model.TriggerRequest) (out launchedBefore, err error) {
	if len(r.Inputs) == 0 {
		return out, nil
	}
	if out.jobs, err = t.Client.SameInputs(ctx, r, sameWithin); err != nil {
		return out, err
	}
	launched, err := t.Client.SharedInputs(ctx, r, sameWithin)
	if err != nil {
		return out, err
	}
	same := map[string]bool{}
	for _, j := range out.jobs {
		same[j.ID] = true
		out.again = out.again || j.ID != r.Repeats
		t.app.say("zonedeck: %s", sameSaid(j, "the same inputs were launched"))
	}
	launched.Shared = slices.DeleteFunc(launched.Shared, func(s jobs.Shared) bool { return same[s.Job.ID] })
	for _, s := range launched.Shared {
		out.jobs = append(out.jobs, s.Job)
	}
	t.sayLaunched(r, launched)
	slices.SortStableFunc(out.jobs, func(a, b model.Job) int { return b.Created.Compare(a.Created) })
	out.unknown = launched.Unknown
	return out, nil
}

// printPlan prints what a launch would send: one input a line, or one JSON object. read is where
// the inputs come from, the zero value for those of the ledger.
func (t *task) printPlan(r model.TriggerRequest, read rows.Inputs, e jobs.Estimate, before launchedBefore, asJSON bool) error {
	out := view.JobPlan{
		Dataset: r.Dataset, Repeats: r.Repeats, Inputs: len(r.Inputs), Rows: []json.RawMessage{},
		Bad: read.Bad, Folded: read.Folded, Blank: read.Blank, Basis: e.Basis, Before: jobIDs(before.jobs), Again: before.again, Unknown: jobIDs(before.unknown),
	}
	if e.Records >= 0 {
		out.Records = &e.Records
	}
	if e.Dollars >= 0 {
		out.Cost = &e.Dollars
	}
	for _, in := range r.Inputs {
		row := json.RawMessage(rows.Input(in))
		if asJSON {
			out.Rows = append(out.Rows, row)
			continue
		}
		if _, err := t.app.Stdout.Write(append(view.Visible(row), '\n')); err != nil {
			return fail(exitState, "write the inputs: %w", err)
		}
	}
	if asJSON {
		return t.app.printJSON(out)
	}
	return nil
}

func jobIDs(list []model.Job) []string {
	ids := make([]string, len(list))
	for i, j := range list {
		ids[i] = j.ID
	}
	return ids
}
