package exchange

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"zonedeck/model"
)

// CallError is a call of the API, other than a fetch, that did not succeed: with the class and the
// evidence of its outcome (service.md 7).
type CallError struct {
	Doing     string // what the call was for: "cancelling job job-3"
	Diagnosis model.Diagnosis
	// Status is the service's HTTP status, 0 when there was no answer.
	Status int
	// Text is what the service said, one bounded line, or what broke.
	Text string
	// After is what the answer asked to wait, 0 when it did not.
	After time.Duration
}

func (e *CallError) Error() string {
	s := e.Doing + ": "
	if e.Status > 0 {
		s += fmt.Sprintf("HTTP %d", e.Status)
		if e.Text != "" {
			s += ": "
		}
	}
	return s + e.Text
}

// Explain is an error in a line: that of a call with its class, and what to do next.
func Explain(err error) string {
	var call *CallError
	if !errors.As(err, &call) {
		return err.Error()
	}
	return err.Error() + " · " + model.ClassWord(call.Diagnosis.Class, call.Diagnosis.Cause) + call.Diagnosis.Next()
}

// maxBroke bounds the text of a call that broke, in bytes.
const maxBroke = 1000

// Unanswered is the error of a call that got no answer, or one that broke off: err is [Wire.API]'s, or that of reading
// the body. sent says that the service may have acted on it, so that it is not repeated.
func Unanswered(doing string, call model.JobCall, mask Mask, err error, sent bool) *CallError {
	e := &CallError{Doing: doing, Text: model.Line(mask.Text(err.Error()), maxBroke)}
	if held := (*TooFastError)(nil); errors.As(err, &held) {
		e.Diagnosis = held.Diagnosis()
	} else {
		seen := brokeOutcome(call, err, e.Text)
		seen.Unrepeatable = sent
		e.Diagnosis = model.Diagnose(seen)
	}
	e.After = e.Diagnosis.RetryAfter
	return e
}

// brokeOutcome is the outcome of a call that got no answer, or one that broke off.
func brokeOutcome(call model.JobCall, err error, text string) model.Outcome {
	o := model.Outcome{Via: model.ViaAPI, Job: call, Broke: model.BreakReset, Peer: PeerService, BrokeText: text}
	if broke := (*Error)(nil); errors.As(err, &broke) {
		o.Broke, o.Peer, o.ServiceStatus, o.BodySize = broke.Broke, broke.Peer, broke.Status, broke.Came
		o.Incomplete = broke.Status != 0 && broke.Broke == model.BreakReset
	}
	return o
}

// Refused is the error of an answer of the service at addr that is no success. It also says how many answers of HTTP
// 429 came from there.
func (w *Wire) Refused(doing, addr string, mask Mask, seen model.Outcome) *CallError {
	return &CallError{Doing: doing, Diagnosis: w.Judge(addr, mask, seen), Status: seen.ServiceStatus, Text: seen.ServiceText, After: seen.RetryAfter}
}

// Judge is the verdict on an answer of the service at addr, with what is to be said beside one of HTTP 429.
func (w *Wire) Judge(addr string, mask Mask, seen model.Outcome) model.Diagnosis {
	d := mask.Diagnosis(model.Diagnose(seen))
	if seen.ServiceStatus == http.StatusTooManyRequests {
		d.Evidence = append(d.Evidence, w.TooFast(addr)...)
	}
	return d
}

// ReadAnswer reads the beginning of an answer, masked before it is cut, because a part of a secret is not found. Where
// the body breaks off, what came is returned, and the error is an *Error.
func (m Mask) ReadAnswer(resp *http.Response, most int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(m.Reader(resp.Body), most))
	if err != nil {
		return text, BrokeOff(resp.StatusCode, int64(len(text)), err)
	}
	return text, nil
}

// BrokeOff is the error of an answer with that status whose body broke off after so many bytes.
func BrokeOff(status int, came int64, err error) *Error {
	e := &Error{Broke: Breakage(err), Peer: PeerService, Sent: true, Status: status, Came: came, Err: fmt.Errorf("the answer broke off after %d bytes: %w", came, err)}
	switch {
	case errors.Is(err, errInflates):
		e.Broke, e.Err = model.BreakMalformed, err
	case errors.Is(err, ErrTimeout):
		e.Broke = model.BreakTimeout
	}
	return e
}

// Unusable is the error of an answer that came whole and cannot be used.
func Unusable(err error) *Error {
	return &Error{Broke: model.BreakMalformed, Peer: PeerService, Sent: true, Err: err}
}
