package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"zonedeck/service/exchange"

	"zonedeck/model"
	"zonedeck/service/database"
	"zonedeck/service/dialect"
	"zonedeck/service/profile"
)

// The errors of jobs that a caller decides on.
var (
	// ErrUnknownJob says that no job of the ledger has the identifier.
	ErrUnknownJob = errors.New("no such job in the ledger")
	// ErrNoLedger means that there is no ledger to write the job down in. It is not
	// started then, because it could be billed and lost.
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

// DiagnosisError is a call about a job that did not succeed, with the class and
// evidence of its outcome (service.md 7).
type DiagnosisError struct {
	Doing     string
	Diagnosis model.Diagnosis
	// Status is the service's HTTP status, 0 when there was no answer.
	Status int
	// Text is what the service said, one bounded line, or what broke.
	Text string
	// After is what the answer asked to wait, 0 when it did not.
	After time.Duration
	// outcome is what the answer showed.
	outcome model.Outcome
}

func (e *DiagnosisError) Error() string {
	s := e.Doing + ": "
	if e.Status > 0 {
		s += fmt.Sprintf("HTTP %d", e.Status)
		if e.Text != "" {
			s += ": "
		}
	}
	return s + e.Text
}

// answerBytes bounds how much is read of an answer other than a result.
const answerBytes = 64 << 10

// jobFault makes the error of a call that got no answer or a refusal. err is
// the exchange's, or nil with resp set; resp's body is read to a bound.
func (rn *Runner) jobFault(ctx context.Context, doing string, call jobCall, resp *http.Response, err error) *DiagnosisError {
	fault := &DiagnosisError{Doing: doing}
	mask := exchange.MaskOf(call.secret, exchange.Login{})
	if err != nil {
		fault.Text = mask.Text(err.Error())
		fault.Diagnosis = diagnoseBreak(model.CallProgress, err, fault.Text, false)
		fault.After = fault.Diagnosis.RetryAfter
		return fault
	}
	body, _ := answer(mask, resp) // what came before a break is enough
	fault.fill(rn.cfg.Now(), call.d, mask, resp, body)
	fault.Diagnosis = rn.tooFast(call.p, resp.StatusCode, fault.Diagnosis)
	rn.tellKey(ctx, call.p.Name, call.key.Name, fault.Diagnosis)
	return fault
}

// answer reads the beginning of an answer, masked: before it is cut, because a part of
// a secret is not found.
func answer(mask exchange.Mask, resp *http.Response) ([]byte, error) {
	return io.ReadAll(io.LimitReader(mask.Reader(resp.Body), answerBytes))
}

// fill takes what an answer shows.
func (e *DiagnosisError) fill(now time.Time, d dialect.Dialect, mask exchange.Mask, resp *http.Response, body []byte) {
	e.outcome = exchange.Answered(now, d, mask, resp, body)
	e.Status, e.After, e.Text = resp.StatusCode, e.outcome.RetryAfter, e.outcome.ServiceText
	e.Diagnosis = mask.Diagnosis(model.Diagnose(e.outcome))
}

// tooFast adds to the verdict on an answer of HTTP 429 how many there were, and what many come to.
func (rn *Runner) tooFast(p profile.Profile, status int, d model.Diagnosis) model.Diagnosis {
	if status == http.StatusTooManyRequests {
		d.Evidence = append(d.Evidence, rn.cfg.Wire.TooFast(p.BaseURL)...)
	}
	return d
}

// ledgerFault translates the ledger's error about an identifier.
func ledgerFault(err error) error {
	if errors.Is(err, database.ErrNotFound) {
		return fmt.Errorf("%w (%w)", ErrUnknownJob, err)
	}
	return err
}
