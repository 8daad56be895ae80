package jobs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"zonedeck/model"
	"zonedeck/service/database"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
)

// The errors of jobs that callers decide on.
var (
	// ErrUnknownJob says that no job of the ledger has the identifier.
	ErrUnknownJob = errors.New("no such job in the ledger")
	// ErrNoLedger means that there is no ledger to record the job in. It is not started
	// then, because it could be billed and lost.
	ErrNoLedger = errors.New("there is no ledger to write the job down in before it is sent; make its file writable, or its database reachable")
	// ErrNoSnapshot says that no identifier was received for the job, so that the
	// service cannot be asked about it.
	ErrNoSnapshot = errors.New("no identifier was received for it, so the service cannot be asked about it")
	// ErrNotReady means that the job has no results yet.
	ErrNotReady = errors.New("the results are not ready yet")
	// ErrNoResult says that the job failed or was cancelled, so that there is nothing to fetch.
	ErrNoResult = errors.New("there is no result to fetch; nothing was sent")
	// ErrJobOver says that the job no longer changes and cannot be cancelled.
	ErrJobOver = errors.New("the job is over")
)

// notReadyError wraps ErrNotReady with what the service said.
type notReadyError struct {
	Text  string        // the service's words, one bounded line, may be empty
	After time.Duration // when it asks to be asked again, 0 when it does not say
}

func (e *notReadyError) Error() string {
	s := ErrNotReady.Error()
	if e.Text != "" {
		s += ": " + e.Text
	}
	return s
}

// Unwrap is ErrNotReady.
func (e *notReadyError) Unwrap() error { return ErrNotReady }

// answerBytes bounds how much is read of an answer other than a result.
const answerBytes = 64 << 10

// succeeded reports whether an answer's status says success.
func succeeded(status int) bool { return status >= 200 && status <= 299 }

// jobFault makes the error of a call that was refused or got no answer. err is
// the exchange's, or nil with resp set; resp's body is read up to a bound.
func (call jobCall) jobFault(ctx context.Context, doing string, resp *http.Response, err error) *exchange.CallError {
	mask := exchange.MaskOf(call.secret, exchange.Login{})
	if err != nil {
		return exchange.Unanswered(doing, model.CallProgress, mask, err, false)
	}
	body, _ := mask.ReadAnswer(resp, answerBytes) // what came before a break is enough
	fault := call.rn.cfg.Wire.Refused(doing, call.p.BaseURL, mask, exchange.Answered(call.rn.cfg.Now(), call.d, call.key, mask, resp, body))
	switch call.d.JobGone(call.job.Dataset, resp.StatusCode, resp.Header, body) {
	case dialect.GoneUnknown:
		fault.Diagnosis = model.JobUnknown(fault.Diagnosis, true)
	case dialect.GoneExpired:
		fault.Diagnosis = model.ResultExpired(fault.Diagnosis)
	case dialect.NotGone:
	}
	call.rn.tellKey(ctx, call.p.Name, call.key.Name, fault.Diagnosis)
	return fault
}

// ledgerFault translates the ledger's error about an identifier.
func ledgerFault(err error) error {
	if errors.Is(err, database.ErrNotFound) {
		return fmt.Errorf("%w (%w)", ErrUnknownJob, err)
	}
	return err
}

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
	seen := rn.watching.lastAnswer(job)
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
		row.Fault = model.JobFault{Call: call, Diagnosis: fault.Diagnosis, At: at, LastAnswer: seen, GivenUp: givenUp}
		return note{step: text, entry: joinText(row.ID+" "+row.Dataset, text) + fault.Diagnosis.Next()}, nil
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
