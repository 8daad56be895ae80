package jobs

import (
	"context"
	"errors"

	"zonedeck/model"
	"zonedeck/service/exchange"
)

// failed records in the ledger and the timeline that a call about a job failed, and
// returns the job as it then is. A call that fails like the one before it is
// recorded once. Errors without a diagnosis are left to the caller.
func (rn *Runner) failed(ctx context.Context, job model.Job, call model.JobCall, err error) model.Job {
	return rn.writeFault(ctx, job, call, err, false)
}

// givenUp is failed for a question that ends the asking about its job.
func (rn *Runner) givenUp(ctx context.Context, job model.Job, err error) model.Job {
	return rn.writeFault(ctx, job, model.CallProgress, err, true)
}

func (rn *Runner) writeFault(ctx context.Context, job model.Job, call model.JobCall, err error, givenUp bool) model.Job {
	var fault *exchange.CallError
	if !errors.As(err, &fault) || sameFault(job.Fault, call, fault.Diagnosis, givenUp) {
		return job
	}
	seen := rn.lastAnswer(job)
	text := line(fault.Error())
	var kept *PartialError
	if errors.As(err, &kept) {
		text = line(fault.Error() + "; " + kept.Resume())
	}
	written, err := rn.change(context.WithoutCancel(ctx), job.ID, func(row *model.Job) (note, error) {
		if call == model.CallProgress && row.State.Final() { // another process has seen more
			return note{}, nil
		}
		at := rn.cfg.Now()
		if givenUp && row.Fault.Call == call && row.Fault.Diagnosis.Rule == fault.Diagnosis.Rule && !row.Fault.At.IsZero() {
			at = row.Fault.At // it is given up for what is known since then
		}
		row.Fault = model.JobFault{Call: call, Diagnosis: fault.Diagnosis, At: at, Seen: seen, GivenUp: givenUp}
		return note{step: text, activity: joinText(row.ID+" "+row.Dataset, text) + fault.Diagnosis.Next()}, nil
	})
	if err != nil {
		rn.cfg.Log.Warn("a failed call is missing in the ledger", "job", job.ID, "error", err)
		return job
	}
	return written
}

func sameFault(f model.JobFault, call model.JobCall, d model.Diagnosis, givenUp bool) bool {
	return f.Call == call && f.GivenUp == givenUp && f.Diagnosis.Class == d.Class && f.Diagnosis.Cause == d.Cause && f.Diagnosis.Rule == d.Rule
}

// judgeTrigger is the verdict on an answer to a trigger that does not show that a job was started.
// refused says that certainly none was.
func (rn *Runner) judgeTrigger(addr string, mask exchange.Mask, seen model.Outcome, refused bool) model.Diagnosis {
	if succeeded(seen.ServiceStatus) && !seen.Incomplete {
		return model.NoIdentifier(model.CallTrigger, seen.ServiceStatus)
	}
	seen.Unrepeatable = !refused
	return rn.cfg.Wire.Judge(addr, mask, seen)
}
