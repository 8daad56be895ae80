package jobs

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"zonedeck/model"
	"zonedeck/service/exchange"
)

// brokeOutcome is the outcome of a call that got no answer, or one that broke off.
func brokeOutcome(call model.JobCall, err error, text string) model.Outcome {
	o := model.Outcome{Via: model.ViaAPI, Job: call, Broke: model.BreakReset, Peer: exchange.PeerService, BrokeText: text}
	var broke *exchange.Error
	if errors.As(err, &broke) {
		o.Broke, o.Peer, o.ServiceStatus, o.BodySize = broke.Broke, broke.Peer, broke.Status, broke.Came
		o.Incomplete = broke.Status != 0 && broke.Broke == model.BreakReset
	}
	return o
}

// diagnoseBreak is the verdict on a call that got no answer. sent says that the service
// may have acted on it, so that it is not repeated.
func diagnoseBreak(call model.JobCall, err error, text string, sent bool) model.Diagnosis {
	var held *exchange.TooFastError
	if errors.As(err, &held) {
		return held.Diagnosis()
	}
	o := brokeOutcome(call, err, text)
	o.Unrepeatable = sent
	return model.Diagnose(o)
}

// failed writes into the ledger and the timeline that a call about a job did not
// succeed, and gives the job as it is then. A call that fails as the one before is
// written down once. Errors without a diagnosis are the caller's alone.
func (rn *Runner) failed(ctx context.Context, job model.Job, call model.JobCall, err error) model.Job {
	var fault *DiagnosisError
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
		return note{step: text, activity: joinText(row.ID+" "+row.Dataset, text) + next(fault.Diagnosis)}, nil
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

// next is the handling of a diagnosis, as the end of a line.
func next(d model.Diagnosis) string {
	if len(d.Steps) == 0 {
		return ""
	}
	texts := make([]string, len(d.Steps))
	for i, s := range d.Steps {
		texts[i] = s.Text
	}
	return " · next: " + strings.Join(texts, "; ")
}

// diagnoseTrigger is the verdict on the answer to a trigger that started no job for
// certain. refused says that it certainly started none.
func diagnoseTrigger(o model.Outcome, refused bool) model.Diagnosis {
	if o.ServiceStatus >= http.StatusOK && o.ServiceStatus < http.StatusMultipleChoices && !o.Incomplete {
		return model.NoIdentifier(o.ServiceStatus)
	}
	o.Unrepeatable = !refused
	return model.Diagnose(o)
}
