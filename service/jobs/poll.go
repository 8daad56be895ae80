package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"zonedeck/service/exchange"

	"zonedeck/model"
	"zonedeck/service/dialect"
)

// pollTimeout bounds one question. The lease of work.Queue is longer.
const pollTimeout = 30 * time.Second

// poll asks once, and once more by the other identifier that the service gave if it does not know the first.
func (call jobCall) poll(ctx context.Context) (dialect.Progress, error) {
	p, err := call.askProgress(ctx)
	fault, other := (*exchange.CallError)(nil), call.job.Names().Second()
	if other == "" || !errors.As(err, &fault) || fault.Status != http.StatusNotFound {
		return p, err
	}
	var none error
	if call.paths, none = call.d.JobPaths(call.p.APIVersion, call.job.Dataset, other); none != nil {
		return p, err
	}
	if p, none = call.askProgress(ctx); none == nil {
		p.AskedBy, err = other, nil
	}
	return p, err
}

func (call jobCall) askProgress(ctx context.Context) (dialect.Progress, error) {
	inner, cancel := context.WithTimeoutCause(ctx, pollTimeout, exchange.ErrTimeout)
	defer cancel()
	doing := "asking for the state of job " + call.job.ID
	resp, _, err := call.rn.cfg.Wire.API(inner, call.api(http.MethodGet, call.paths.Progress))
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return dialect.Progress{}, cause
		}
		return dialect.Progress{}, call.jobFault(ctx, doing, nil, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusAccepted { // 202 is "not yet"
		return dialect.Progress{}, call.jobFault(ctx, doing, resp, nil)
	}
	mask := exchange.MaskOf(call.secret, exchange.Login{})
	p, err := call.readProgress(mask, resp)
	if err == nil {
		p.Wire, p.Detail = mask.Text(p.Wire), mask.Text(p.Detail)
		p.After = call.d.ReadHeader(resp.Header, call.rn.cfg.Now()).RetryAfter
		return p, nil
	}
	if cause := context.Cause(ctx); cause != nil {
		return dialect.Progress{}, cause
	}
	if errors.As(err, new(*exchange.Error)) { // it broke off
		return dialect.Progress{}, call.jobFault(ctx, doing, nil, err)
	}
	return dialect.Progress{}, call.jobFault(ctx, doing, nil, exchange.Unusable(err))
}

// passing reports whether the next poll may succeed after this failure.
func passing(fault *exchange.CallError) bool {
	switch fault.Status {
	case 0:
		return fault.Diagnosis.Cause != model.CauseTLSTrust
	case http.StatusTooManyRequests, http.StatusRequestTimeout:
		return true
	default:
		return fault.Status >= 500
	}
}

// record writes the service's answer into the ledger if it changes the job. A job
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
		if row.Snapshot != before.Snapshot {
			n.step = joinText(fmt.Sprintf("asked by %s from now on, because the service does not know %s", row.Snapshot, before.Snapshot), n.step)
		}
		if row.State != before.State && row.State.Final() {
			n.entry = fmt.Sprintf("%s %s: %s", row.ID, row.Dataset, joinText(row.State.Label(), row.Detail))
			n.entry += row.Fault.Diagnosis.Next()
		}
		return n, nil
	})
}

// applyProgress is the job after the service said p.
func applyProgress(job model.Job, p dialect.Progress) model.Job {
	job.State, job.Wire, job.Detail = p.State, p.Wire, p.Detail
	job.Snapshot = cmp.Or(p.AskedBy, job.Snapshot)
	if job.Fault.Call == model.CallProgress {
		job.Fault = model.JobFault{}
	}
	switch says := joinText(p.Wire, p.Detail); job.State {
	case model.JobFailed:
		job.Fault = model.JobFailedFault(says)
	case model.JobCanceled:
		job.Fault = model.JobCanceledFault(says)
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
	return a.State != b.State || a.Snapshot != b.Snapshot || a.Wire != b.Wire || a.Detail != b.Detail || a.Inputs != b.Inputs || a.Done != b.Done || a.Records != b.Records ||
		a.Fault.Call != b.Fault.Call
}
