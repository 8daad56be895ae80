package jobs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"zonedeck/service/exchange"

	"zonedeck/model"
	"zonedeck/service/dialect"
)

// How a job is followed. The contract shows no figures; public documentation
// says that a new job may be unknown for some 20 s and that polling too often is
// itself "too fast" (service.md 7).
const (
	pollFirst      = 2 * time.Second
	pollLast       = 30 * time.Second
	pollFirstLocal = 300 * time.Millisecond
	pollLastLocal  = 2 * time.Second
	pollTimeout    = 30 * time.Second
	newJobGrace    = 30 * time.Second // a 404 within this time after acceptance means "not yet"
	pollPatience   = 10               // polls in a row that may fail before the watch ends
)

// Watch follows a job until its state is final, and reports every change to on,
// which may be nil and is called from this goroutine. Changes are in the ledger
// before on sees them. A state that the dialect does not know means running.
//
// It ends with ctx's error when ctx ends; the job is then as last seen. Other
// errors: ErrUnknownJob, ErrNoSnapshot, ErrNotShown (dialect documented: the
// contract shows no way to ask), a *model.RequestError, or a *DiagnosisError when the
// service refuses to answer or cannot be reached ten times in a row. None of them
// says anything about the job itself, and the watch can be begun again.
func (rn *Runner) Watch(ctx context.Context, jobID string, on func(model.Job)) (model.Job, error) {
	defer rn.cfg.Wire.Begin()()
	job, err := rn.Job(ctx, jobID)
	if err != nil {
		return job, err
	}
	if on == nil {
		on = func(model.Job) {}
	}
	on(job)
	if job.State.Final() {
		return job, nil
	}
	call, err := rn.callFor(ctx, jobID)
	if err != nil {
		return job, err
	}
	wait, last := pollFirst, pollLast
	if call.p.Local {
		wait, last = pollFirstLocal, pollLastLocal
	}
	failures := 0
	for {
		next := wait
		progress, err := rn.poll(ctx, call)
		switch fault := (*DiagnosisError)(nil); {
		case err == nil:
			failures, next = 0, max(next, progress.After)
			seen, err := rn.record(ctx, call.job, progress)
			if err != nil {
				return call.job, err
			}
			if differs(call.job, seen) {
				on(seen)
			}
			call.job = seen
			if call.job.State.Final() {
				return call.job, nil
			}
		case !errors.As(err, &fault):
			return call.job, err
		case rn.expected(call.job, fault):
			// A new job that is not known yet.
		case !passing(fault):
			return rn.failed(ctx, call.job, model.CallProgress, err), err
		default:
			before := call.job
			if call.job = rn.failed(ctx, call.job, model.CallProgress, err); !sameFault(before.Fault, call.job.Fault.Call, call.job.Fault.Diagnosis) {
				on(call.job)
			}
			if failures++; failures >= pollPatience {
				return call.job, err
			}
			next = max(next, fault.After)
		}
		if err := rn.pause(ctx, next); err != nil {
			return call.job, err
		}
		wait = min(wait*3/2, last)
		if call, err = rn.refreshed(ctx, call, failures > 0); err != nil {
			return call.job, err
		}
		if call.job.State.Final() { // another process saw its end, or cancelled it
			on(call.job)
			return call.job, nil
		}
	}
}

// refreshed takes up what others wrote into the ledger and, after a failure, a
// changed address or key: the embedded emulator may have begun anew on another
// port, and a key may have been refreshed. Without a failure the key is not
// resolved again, because its reference may be a command that asks a person.
func (rn *Runner) refreshed(ctx context.Context, call jobCall, failed bool) (jobCall, error) {
	if failed {
		now, err := rn.callFor(ctx, call.job.ID)
		if err != nil {
			return call, err
		}
		return now, nil
	}
	job, err := rn.Job(ctx, call.job.ID)
	if err != nil {
		return call, err
	}
	call.job = job
	return call, nil
}

// poll asks once.
func (rn *Runner) poll(ctx context.Context, call jobCall) (dialect.Progress, error) {
	inner, cancel := context.WithTimeoutCause(ctx, pollTimeout, exchange.ErrTimeout)
	defer cancel()
	doing := "asking for the state of job " + call.job.ID
	resp, _, err := rn.cfg.Wire.API(inner, call.api(http.MethodGet, call.paths.Progress))
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return dialect.Progress{}, cause
		}
		return dialect.Progress{}, rn.jobFault(ctx, doing, call, nil, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusAccepted { // 202 is "not yet"
		return dialect.Progress{}, rn.jobFault(ctx, doing, call, resp, nil)
	}
	mask := exchange.MaskOf(call.secret, exchange.Login{})
	body, err := answer(mask, resp)
	if err == nil {
		var p dialect.Progress
		if p, err = call.d.ReadProgress(body); err == nil {
			p.Wire, p.Detail = mask.Text(p.Wire), mask.Text(p.Detail)
			p.After = call.d.ReadHeader(resp.Header, rn.cfg.Now()).RetryAfter
			return p, nil
		}
	}
	if cause := context.Cause(ctx); cause != nil {
		return dialect.Progress{}, cause
	}
	return dialect.Progress{}, rn.jobFault(ctx, doing, call, nil,
		&exchange.Error{Broke: model.BreakMalformed, Peer: exchange.PeerService, Sent: true, Err: err})
}

// expected reports whether a refusal only means that the job is new.
func (rn *Runner) expected(job model.Job, fault *DiagnosisError) bool {
	return fault.Status == http.StatusNotFound && rn.cfg.Now().Sub(job.Accepted) < newJobGrace
}

// passing reports whether the next poll may succeed after this failure.
func passing(fault *DiagnosisError) bool {
	switch fault.Status {
	case 0:
		return fault.Diagnosis.Cause != model.CauseTLSTrust
	case http.StatusTooManyRequests, http.StatusRequestTimeout:
		return true
	default:
		return fault.Status >= 500
	}
}

// record writes the service's answer into the ledger when it changes the job. A job
// that another process has seen end stays ended.
func (rn *Runner) record(ctx context.Context, job model.Job, p dialect.Progress) (model.Job, error) {
	seen := applyProgress(job, p)
	if !differs(job, seen) {
		return job, nil
	}
	return rn.change(context.WithoutCancel(ctx), job.ID, func(row *model.Job) (note, error) {
		if row.State.Final() {
			return note{}, nil
		}
		before := *row
		*row = applyProgress(*row, p)
		n := note{}
		if row.State != before.State || row.Wire != before.Wire {
			n.step = joinText(row.Wire, row.Detail)
		}
		if row.State != before.State && row.State.Final() {
			n.activity = fmt.Sprintf("%s %s: %s", row.ID, row.Dataset, joinText(row.State.Label(), row.Detail))
			if row.State == model.JobFailed {
				n.activity += next(row.Fault.Diagnosis)
			}
		}
		return n, nil
	})
}

// applyProgress is the job after the service said p.
func applyProgress(job model.Job, p dialect.Progress) model.Job {
	job.State, job.Wire, job.Detail = p.State, p.Wire, p.Detail
	if job.Fault.Call == model.CallProgress {
		job.Fault = model.JobFault{}
	}
	if job.State == model.JobFailed {
		job.Fault = model.JobFailedFault(joinText(p.Wire, p.Detail))
	}
	if job.Inputs == 0 && p.Inputs > 0 { // of an adopted job
		job.Inputs = p.Inputs
	}
	if p.Done >= 0 {
		job.Done = p.Done
	}
	if p.Records >= 0 {
		job.Records = p.Records
	}
	return job
}

// differs reports whether two states of a job differ in what the service said.
func differs(a, b model.Job) bool {
	return a.State != b.State || a.Wire != b.Wire || a.Detail != b.Detail || a.Inputs != b.Inputs || a.Done != b.Done || a.Records != b.Records ||
		a.Fault.Call != b.Fault.Call
}

// pause waits about d: 80 to 120 % of it, so that many watches do not ask in
// step.
func (rn *Runner) pause(ctx context.Context, d time.Duration) error {
	return exchange.Pause(ctx, d*4/5+time.Duration(rn.cfg.Rand()%uint64(d*2/5+1)))
}
