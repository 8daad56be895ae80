package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
)

// lastAnswer is the last answer of the service about a job: when it came, and from where.
type lastAnswer struct {
	at   time.Time
	from model.JobPlace
}

// place is where a call goes: to which service and, as far as that is known, for which account.
func (call jobCall) place() model.JobPlace { return placeOf(call.p, call.secret) }

// lastAnswer is when the service last answered for a job: as this process heard it, or else as the ledger
// has it. It is zero if that is not known.
func (w *watching) lastAnswer(job model.Job) time.Time {
	switch h := w.about(job.ID).answered; {
	case !h.at.IsZero():
		return h.at
	case job.Fault.Any():
		return job.Fault.LastAnswer
	case job.State == model.JobAccepted:
		return job.Accepted
	default:
		return job.Updated
	}
}

// stamp is a time as evidence has it.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// lastSeen says what a job was when the service last answered for it.
func lastSeen(job model.Job) string {
	switch at := job.Fault.LastAnswer; {
	case at.IsZero():
		return "last seen " + job.State.Label()
	case job.State == model.JobAccepted:
		return "accepted at " + stamp(at) + ", and never seen since"
	default:
		return "last seen " + job.State.Label() + " at " + stamp(at)
	}
}

// undecided reports whether it is too early to believe that the service does not know a job.
func (w *watching) undecided(job model.Job, cadence dialect.Cadence) bool {
	return job.Unknown() && !job.GivenUp() && w.rn.cfg.Now().Sub(job.Fault.At) < cadence.Unknown
}

// unknown handles an answer that the service does not know a job that it had accepted. A single one decides
// nothing: it may come from a replica or a gateway. After cadence.Unknown the service's own words are
// believed (see decide). A 404 in other words says nothing about the job, which is then not asked for any more.
func (call jobCall) unknown(ctx context.Context, cadence dialect.Cadence, fault *exchange.CallError) (job model.Job, again time.Duration, err error) {
	job, again = call.job, max(call.rn.watching.wait(cadence, call.job), min(fault.After, dialect.MaxWait))
	own := fault.Diagnosis.Rule == model.RuleJobUnknown
	if !own {
		fault.Diagnosis = model.JobUnknown(fault.Diagnosis, false)
	}
	switch first := job.Fault.Diagnosis.Rule != fault.Diagnosis.Rule; {
	case first:
		job = call.rn.failed(ctx, job, model.CallProgress, fault)
	case call.rn.watching.undecided(job, cadence):
	case own:
		return call.decide(ctx, fault, again)
	default:
		job, again = call.rn.leave(ctx, job, fault, lookupResult{}.evidence(job)), 0
	}
	call.rn.watching.publish(job, fault)
	return job, again, nil
}

// decide marks a job as expired that the service says it does not know, unless the service's list has it, or the
// account that is asked may not be the one that launched it: then it is left to processes that ask elsewhere.
func (call jobCall) decide(ctx context.Context, fault *exchange.CallError, wait time.Duration) (job model.Job, again time.Duration, err error) {
	job, again = call.job, wait
	look, err := call.lookFor(ctx)
	switch {
	case err != nil:
		return job, 0, err
	case look.listed:
		fault.Diagnosis.Evidence = append(fault.Diagnosis.Evidence, look.evidence(job)...)
	case look.against != "":
		job = call.rn.leave(ctx, job, fault, look.evidence(job))
		call.rn.watching.reject(job)
	case job.GivenUp(): // what was said before came from elsewhere
		job = call.rn.failed(ctx, job, model.CallProgress, fault)
	default:
		job, err = call.rn.forget(ctx, job, model.CallProgress, model.JobForgotten(fault.Diagnosis, look.evidence(job)...), fault.Text)
		call.rn.watching.publish(job, err)
		if err != nil || job.State.Final() {
			again = 0
		}
		return job, again, err
	}
	call.rn.watching.publish(job, fault)
	return job, again, nil
}

// leave records that a job is not asked for any more, and why.
func (rn *Runner) leave(ctx context.Context, job model.Job, fault *exchange.CallError, why []model.Evidence) model.Job {
	fault.Diagnosis.Evidence = append(fault.Diagnosis.Evidence, why...)
	fault.Text += "; " + lastSeen(job) + "; it is not asked for any more"
	return rn.givenUp(ctx, job, fault)
}

// forget records that the service no longer knows a job. A job that another process has had an answer
// about meanwhile stays as it is.
func (rn *Runner) forget(ctx context.Context, job model.Job, call model.JobCall, d model.Diagnosis, says string) (model.Job, error) {
	after, err := rn.change(context.WithoutCancel(ctx), job.ID, func(row *model.Job) (note, error) {
		if row.Fault.Call != job.Fault.Call || row.Fault.Diagnosis.Rule != job.Fault.Diagnosis.Rule {
			return note{}, nil
		}
		step := line("the service no longer knows it: " + says + "; " + lastSeen(*row))
		row.Detail = line("the service no longer knows it: " + says)
		row.State, row.Fault = model.JobExpired, model.JobFault{Call: call, Diagnosis: d, At: rn.cfg.Now(), LastAnswer: row.Fault.LastAnswer}
		return note{step: step, entry: fmt.Sprintf("%s %s: %s", row.ID, row.Dataset, joinText(row.State.Label(), step)) + d.Next()}, nil
	})
	if err != nil {
		return job, err
	}
	return after, nil
}

// lookupResult is what a lookup showed about a job that the service does not know.
type lookupResult struct {
	// listed says that the service's list has it after all; says is what the list shows, "" if there is
	// no list.
	listed  bool
	listing string
	// against is why the account that was asked may not be the one that has the job, "" for no reason.
	against string
}

// evidence is what a verdict on the job is based on, besides the answer.
func (f lookupResult) evidence(job model.Job) []model.Evidence {
	seen := lastSeen(job)
	if job.Fault.Call == model.CallProgress {
		seen += "; not known since " + stamp(job.Fault.At)
	}
	var out []model.Evidence
	for _, text := range []string{seen, f.against, f.listing} {
		if text != "" {
			out = append(out, model.Evidence{Kind: "note", Text: line(text)})
		}
	}
	return out
}

// lookFor looks for a job in the service's own list, and compares where it is asked for with where it was
// launched. A list with another job of the ledger belongs to that job's account. The error is ctx's.
func (call jobCall) lookFor(ctx context.Context) (f lookupResult, err error) {
	f.against = call.otherAccount()
	if _, product := call.d.ProductOf(call.job.Dataset); product || call.rn.cfg.List == nil || call.job.Dataset == "" {
		return f, nil
	}
	list := "the service's list of " + call.job.Dataset
	listed, skipped, err := call.rn.cfg.List.RemoteJobs(ctx, call.rn.cfg.Source, call.key.Name, call.job.Dataset, maxListedJobs)
	if err != nil {
		f.listing = list + " could not be read: " + err.Error()
		return f, context.Cause(ctx)
	}
	other := ""
	for _, remote := range listed {
		if remote.Snapshot == call.job.Snapshot {
			return lookupResult{listed: true, listing: list + " has it"}, nil
		}
		if other != "" {
			continue
		}
		mine, err := call.rn.ofSnapshot(ctx, remote.Snapshot)
		if err != nil && !errors.Is(err, ErrUnknownJob) {
			return f, err
		}
		if err == nil && mine.Profile == call.job.Profile {
			other = mine.ID
		}
	}
	f.listing = list + " does not have it"
	if skipped > 0 || len(listed) >= maxListedJobs {
		f.listing = list + " does not have it among those that were looked at"
	}
	if other != "" {
		f.against = ""
		f.listing += ", but has " + other
	}
	return f, nil
}

// otherAccount says why a call about a job may ask another account than the one that launched it, or
// nothing. An answer that this process had about the job counts like its launch.
func (call jobCall) otherAccount() string {
	if h := call.rn.watching.about(call.job.ID).answered; !h.at.IsZero() {
		return h.from.Differs(call.place())
	}
	var launched model.JobPlace
	if call.job.Request != nil {
		launched = call.job.Request.At
	}
	differs := launched.Differs(call.place())
	if name := call.job.KeyName; name != "" && name != call.key.Name && (differs != "" || launched.Key == "") {
		return "it was launched with key " + name + ", which the inventory no longer has, and is asked for with " + call.key.Name
	}
	return differs
}

// askAgain asks once about a job that expired because the service did not know it, and takes it back if
// the service knows it now. Otherwise the job stays as it was.
func (rn *Runner) askAgain(ctx context.Context, job model.Job) (model.Job, error) {
	call, err := rn.callAbout(ctx, job)
	if err != nil {
		return job, err
	}
	progress, err := call.poll(ctx)
	var fault *exchange.CallError
	switch {
	case errors.As(err, &fault) && (fault.Diagnosis.Rule == model.RuleJobUnknown || fault.Diagnosis.Rule == model.RuleResultExpired):
		return job, nil
	case err != nil:
		return job, err
	}
	return rn.change(context.WithoutCancel(ctx), job.ID, func(row *model.Job) (note, error) {
		if !row.Forgotten() {
			return note{}, nil
		}
		row.Fault = model.JobFault{}
		*row = applyProgress(*row, progress)
		step := joinText("the service knows it again", joinText(row.Wire, row.Detail))
		return note{step: step, entry: fmt.Sprintf("%s %s: %s", row.ID, row.Dataset, joinText(row.State.Label(), step))}, nil
	})
}
