package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
	"zonedeck/service/jobs"
	"zonedeck/service/view"
)

type followFlags struct {
	ringFlag
	UntilIdle bool `flag:"until-idle" help:"end once no job of the profile in use is followed any more; exit 30 if one of them failed or expired, or the exit code of 'jobs watch' if one could not be followed to its end"`
	reasonFlag
	JSON bool `flag:"json" help:"print one JSON object per line"`
}

func (f followFlags) needs() needs { return needs{ledger: true, reason: f.Reason} }

func (a *app) jobsFollowCommand() *cobra.Command {
	return command(a, spec[followFlags]{
		use:   "follow",
		short: "Follow all jobs in flight, and those launched later",
		long: `Asks about each job in flight until it is over, and prints a line whenever
something happens. It follows the jobs of all profiles in the config file,
whichever zonedeck process launched them; several processes share the work. Only
the jobs of the embedded emulator need --profile ` + model.LocalName + `, because it runs only
while somebody uses it. Nothing is downloaded.

It runs until it is interrupted or gets SIGTERM, and then exits with 0. To run it
as a service, see 'zonedeck schedule jobs'.

The keys of other profiles come from the inventory. Nobody is asked for a
passphrase for them, and --admin-reason does not apply to them. If keys of two
accounts refer to the same environment variable, it is used only for the profile
in use, because its value may differ from run to run.`,
		run: follow,
	})
}

// The events of 'jobs follow'.
const (
	eventFollowed    = "followed"
	eventChanged     = "changed"
	eventUnanswered  = "unanswered"
	eventNotFollowed = "not_followed"
	eventOver        = "over"
	eventNoWebhook   = "no_webhook"
)

// errIdle ends a follow with --until-idle.
var errIdle = errors.New("no job is asked about")

func follow(ctx context.Context, t *task, f followFlags, _ []string) (printed, error) {
	p, err := t.Profile(ctx)
	if err != nil {
		return printed{}, fail(exitState, "%w", err)
	}
	d, err := dialect.Find(p.Dialect)
	if err != nil {
		return printed{}, usage("%w", err)
	}
	if !d.AsksForJobs() && !t.Jobs.FollowsOthers() {
		return printed{}, usage("the contract does not show how to ask for a job's state: choose dialect %s for profile %q", dialect.WithJobs(), p.Name)
	}
	var reading sync.WaitGroup
	defer reading.Wait()
	following, end := context.WithCancelCause(ctx)
	defer end(nil)
	reading.Go(func() { t.Watch(following, t.app.warnOfChange) })
	lines := followLines{task: t, profile: p.Name, last: map[string]jobs.Followed{}}
	failed, bell := false, t.app.notifier(f.Ring, p.Name)
	defer bell.end()
	err = t.Jobs.Follow(following, func(e jobs.Followed) {
		switch {
		case e.Job.ID != "":
			bell.update(e.Job, e.On)
			failed = failed || (e.Job.State == model.JobFailed || e.Job.State == model.JobExpired) && e.Job.Profile == p.Name
			if err := lines.print(e); err != nil {
				end(err)
			}
		case f.UntilIdle:
			end(errIdle)
		}
	})
	cause := context.Cause(following)
	switch {
	case ctx.Err() != nil: // a signal is the normal end of a service
		return printed{}, nil
	case errors.Is(cause, errIdle) && failed:
		return printed{}, exit(exitJobFailed)
	case errors.Is(cause, errIdle):
		return printed{}, lines.givenUp(ctx)
	case cause != nil:
		return printed{}, fail(exitState, "write what happened: %w", cause)
	default:
		return printed{}, jobError(ctx, err)
	}
}

// followLines prints one line for each event.
type followLines struct {
	task    *task
	profile string // the profile in use
	last    map[string]jobs.Followed
}

// givenUp is the exit error for jobs in flight of the profile in use that were not followed to their end; nil if
// there are none.
func (l *followLines) givenUp(ctx context.Context) error {
	maps.DeleteFunc(l.last, func(_ string, e jobs.Followed) bool { return e.Job.Profile != l.profile })
	ids := slices.Sorted(maps.Keys(l.last))
	if len(ids) == 0 {
		return nil
	}
	list := strings.Join(ids, ", ")
	for _, id := range ids {
		if err := l.last[id].Err; err != nil {
			return fail(exitCode(ctx, jobError(ctx, err)), "not followed to the end: %s: %v", list, err)
		}
	}
	return fail(exitStillRunning, "not followed to the end: %s", list)
}

func (l *followLines) print(e jobs.Followed) error {
	if e.On && e.Err != nil && e.Job.GivenUp() { // the next event says that it is no longer asked about
		return nil
	}
	before, known := l.last[e.Job.ID]
	event := ""
	switch {
	case e.Job.State.Final():
		event = eventOver
	case e.Job.State == model.JobMayHave: // its webhook did not come, and the service is not asked about it
		event = eventNoWebhook
	case !e.On && (before.On || !known):
		event = eventNotFollowed
	case e.Err != nil && (before.Err == nil || before.Err.Error() != e.Err.Error()):
		event = eventUnanswered
	case e.On && !before.On:
		event = eventFollowed
	case progressLine(before.Job) != progressLine(e.Job):
		event = eventChanged
	}
	l.last[e.Job.ID] = e
	if event == eventOver || e.Job.State == model.JobMayHave {
		delete(l.last, e.Job.ID)
	}
	if event == "" {
		return nil
	}
	why, whole := "", ""
	if e.Err != nil {
		why, whole = e.Err.Error(), exchange.Explain(e.Err)
	}
	at := l.task.app.Now()
	if l.task.app.json {
		out := view.JobEvent{At: at.UTC(), Event: event, Error: why, Job: view.NewJob(e.Job)}
		if e.On && !e.Job.State.Final() {
			next := e.Next.UTC()
			out.Next = &next
		}
		return l.task.app.printJSON(out)
	}
	name := e.Job.ID
	if e.Job.Profile != l.profile {
		name += " (" + e.Job.Profile + ")"
	}
	line := fmt.Sprintf("%s  %s  %s", at.UTC().Format(time.RFC3339), name, progressLine(e.Job))
	switch event {
	case eventUnanswered:
		line += "  no answer: " + whole
	case eventNotFollowed:
		line += "  not followed: " + cmp.Or(whole, e.Job.Fault.Diagnosis.Summary, "'"+l.task.jobs(e.Job)+" watch "+e.Job.ID+"' asks again")
	case eventNoWebhook:
		line += "  no webhook came in time: " + l.task.wayOn(e.Job)
	case eventOver:
		if e.Job.Detail != "" {
			line += "  " + e.Job.Detail
		}
	}
	return l.task.app.printLine(line)
}

// warnOfJobs warns that jobs are not followed, once for each profile and reason.
func (a *app) warnOfJobs() func(jobs.Followed) {
	type reason struct{ profile, text string }
	said := map[reason]bool{}
	return func(e jobs.Followed) {
		if e.On || e.Err == nil || e.Job.State.Final() {
			return
		}
		r := reason{e.Job.Profile, e.Err.Error()}
		if fault := (*exchange.CallError)(nil); errors.As(e.Err, &fault) {
			r.text = fault.Diagnosis.Summary // does not name the job
		}
		if !said[r] {
			said[r] = true
			a.warn("jobs of profile %s are not followed (for example %s): %s", r.profile, e.Job.ID, r.text)
		}
	}
}
