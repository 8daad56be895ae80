package jobs

import (
	"context"
	"errors"
	"net/http"

	"zonedeck/model"
	"zonedeck/service/exchange"
)

// failed writes into the ledger and the timeline that a call about a job did not
// succeed, and gives the job as it is then. A call that fails as the one before is
// written down once. Errors without a diagnosis are the caller's alone.
func (rn *Runner) failed(ctx context.Context, job model.Job, call model.JobCall, err error) model.Job {
	var fault *exchange.CallError
	if !errors.As(err, &fault) || sameFault(job.Fault, call, fault.Diagnosis) {
		return job
	}
	text := line(fault.Error())
	var kept *PartialError
	if errors.As(err, &kept) {
		text = line(fault.Error() + "; " + kept.Kept())
	}
	written, err := rn.change(context.WithoutCancel(ctx), job.ID, func(row *model.Job) (note, error) {
		row.Fault = model.JobFault{Call: call, Diagnosis: fault.Diagnosis, At: rn.cfg.Now()}
		return note{step: text, activity: joinText(row.ID+" "+row.Dataset, text) + fault.Diagnosis.Next()}, nil
	})
	if err != nil {
		rn.cfg.Log.Warn("a failed call is missing in the ledger", "job", job.ID, "error", err)
		return job
	}
	return written
}

func sameFault(f model.JobFault, call model.JobCall, d model.Diagnosis) bool {
	return f.Call == call && f.Diagnosis.Class == d.Class && f.Diagnosis.Cause == d.Cause && f.Diagnosis.Rule == d.Rule
}

// judgeTrigger is the verdict on the answer to a trigger that started no job for
// certain. refused says that it certainly started none.
func (rn *Runner) judgeTrigger(addr string, mask exchange.Mask, seen model.Outcome, refused bool) model.Diagnosis {
	if seen.ServiceStatus >= http.StatusOK && seen.ServiceStatus < http.StatusMultipleChoices && !seen.Incomplete {
		return model.NoIdentifier(model.CallTrigger, seen.ServiceStatus)
	}
	seen.Unrepeatable = !refused
	return rn.cfg.Wire.Judge(addr, mask, seen)
}
