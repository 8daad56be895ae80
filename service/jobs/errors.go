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
	ErrNoLedger = errors.New("there is no ledger to write the job down in before it is sent; make its file writable")
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

// NotReadyError wraps ErrNotReady with what the service said.
type NotReadyError struct {
	Text  string        // the service's words, one bounded line, may be empty
	After time.Duration // when it asks to be asked again, 0 when it does not say
}

func (e *NotReadyError) Error() string {
	s := ErrNotReady.Error()
	if e.Text != "" {
		s += ": " + e.Text
	}
	return s
}

// Unwrap is ErrNotReady.
func (e *NotReadyError) Unwrap() error { return ErrNotReady }

// answerBytes bounds how much is read of an answer other than a result.
const answerBytes = 64 << 10

// succeeded reports whether an answer's status says success.
func succeeded(status int) bool { return status >= 200 && status <= 299 }

// jobFault makes the error of a call that was refused or got no answer. err is
// the exchange's, or nil with resp set; resp's body is read up to a bound.
func (rn *Runner) jobFault(ctx context.Context, doing string, call jobCall, resp *http.Response, err error) *exchange.CallError {
	mask := exchange.MaskOf(call.secret, exchange.Login{})
	if err != nil {
		return exchange.Unanswered(doing, model.CallProgress, mask, err, false)
	}
	body, _ := mask.ReadAnswer(resp, answerBytes) // what came before a break is enough
	fault := rn.cfg.Wire.Refused(doing, call.p.BaseURL, mask, exchange.Answered(rn.cfg.Now(), call.d, mask, resp, body))
	switch call.d.JobGone(call.job.Dataset, resp.StatusCode, resp.Header, body) {
	case dialect.GoneUnknown:
		fault.Diagnosis = model.JobUnknown(fault.Diagnosis, true)
	case dialect.GoneExpired:
		fault.Diagnosis = model.ResultExpired(fault.Diagnosis)
	case dialect.NotGone:
	}
	rn.tellKey(ctx, call.p.Name, call.key.Name, fault.Diagnosis)
	return fault
}

// ledgerFault translates the ledger's error about an identifier.
func ledgerFault(err error) error {
	if errors.Is(err, database.ErrNotFound) {
		return fmt.Errorf("%w (%w)", ErrUnknownJob, err)
	}
	return err
}
