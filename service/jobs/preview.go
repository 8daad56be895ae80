package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
)

// The bounds on a preview.
const (
	previewTimeout = 5 * time.Minute
	previewBytes   = 4 << 20 // of its answer
	// previewTries is how many questions in a row may fail before the preview is given up.
	previewTries = 3
)

// PreviewError says why there is no preview, and what exists of one at the service.
type PreviewError struct {
	// State is not_sent, refused, may_have (the POST may have been received), accepted or running (not over when the
	// service was last asked), failed or canceled. ID is the service's identifier, "" if none came.
	State model.JobState
	ID    string
	// Overdue says that the preview was not finished in the time for it.
	Overdue bool
	// Err is an *exchange.CallError, or the cause of the context's end.
	Err error
}

func (e *PreviewError) Error() string { return e.Err.Error() }

// Unwrap is the error of the call.
func (e *PreviewError) Unwrap() error { return e.Err }

// AtService says what exists of the preview at the service.
func (e *PreviewError) AtService() string {
	switch e.State {
	case model.JobNotSent:
		return "nothing was sent"
	case model.JobRefused:
		return "the service began no preview"
	case model.JobMayHave:
		return "a preview may have begun, and may be billed"
	default:
		return "preview " + e.ID + " was begun, and may be billed"
	}
}

// PreviewJob shows what a job would give before it is launched. It sends one POST, which is never repeated,
// and asks until the preview is there. No job is launched and nothing is written to the ledger. Public
// sources do not show what a preview costs. The timeline has a line about the outcome, even if this process
// is killed meanwhile.
//
// Errors: as Trigger before it sends anything, else a *PreviewError.
func (rn *Runner) PreviewJob(ctx context.Context, r model.TriggerRequest) (dialect.LookupPreview, error) {
	defer rn.cfg.Wire.Begin()()
	var none dialect.LookupPreview
	p, d, err := exchange.Current(ctx, rn.cfg.Source)
	if err != nil {
		return none, err
	}
	if err := allowed(p, d, r); err != nil {
		return none, err
	}
	if r.MaxCost > 0 || p.MaxJobCost > 0 {
		return none, model.BadField("max_cost", "%w: what a preview costs is not shown by public sources, so that a cap on it could not be kept", errCost)
	}
	path, body, err := d.Preview(r)
	if err != nil {
		return none, err
	}
	key, secret, err := exchange.KeyFor(ctx, rn.cfg.Source, p, r.Key)
	if err != nil {
		return none, err
	}
	c := previewCall{
		jobCall: jobCall{rn: rn, job: model.Job{Dataset: r.Dataset}, p: p, d: d, key: key, secret: secret},
		mask:    exchange.MaskOf(secret, exchange.Login{}), began: rn.cfg.Now(), state: model.JobNotSent,
	}
	defer c.depart()()
	inner, cancel := context.WithTimeoutCause(ctx, previewTimeout, exchange.ErrTimeout)
	defer cancel()
	out, err := c.run(inner, path, body)
	if err != nil {
		cause := context.Cause(ctx)
		err = &PreviewError{State: c.state, ID: c.id, Overdue: cause == nil && inner.Err() != nil, Err: cmp.Or(cause, err)}
	}
	out.Note = d.PreviewNote(r)
	c.log(ctx, err)
	return out, err
}

// previewCall makes the calls of one preview.
type previewCall struct {
	jobCall
	mask  exchange.Mask
	began time.Time
	// state and id are what is known about the preview, says is the service's last word.
	state       model.JobState
	id, message string
}

func (c *previewCall) doing() string { return "previewing " + c.job.Dataset }

// run makes the POST, and asks until the preview is there. Its error is an *exchange.CallError, or that ctx ended.
func (c *previewCall) run(ctx context.Context, path string, body []byte) (out dialect.LookupPreview, err error) {
	at, err := c.begin(ctx, path, body)
	if err != nil {
		return out, err
	}
	cadence, failed := c.d.Cadence(c.p.Local), 0
	for {
		out, after, fault := c.look(ctx, at)
		switch {
		case fault == nil && c.state == model.JobReady:
			return out, nil
		case fault == nil:
			failed = 0
		case ctx.Err() != nil:
			return out, c.notOver()
		case c.state.Final(), !passing(fault), failed == previewTries:
			return out, fault
		default:
			failed, after = failed+1, fault.After
		}
		now := c.rn.cfg.Now()
		wait := max(cadence.Wait(now.Sub(c.began), -1, -1, 1), min(after, dialect.MaxWait))
		if fault != nil && now.Add(wait).Sub(c.began) >= previewTimeout {
			return out, fault
		}
		again := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			again.Stop()
			return out, c.notOver()
		case <-again.C:
		}
	}
}

// notOver is the error of a preview that took too long.
func (c *previewCall) notOver() error {
	d := model.PreviewNotOver(previewTimeout, c.message)
	return &exchange.CallError{Doing: c.doing(), Diagnosis: d, Text: d.Summary}
}

// begin makes the one POST. at is where the preview is asked for.
func (c *previewCall) begin(ctx context.Context, path string, body []byte) (at string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, pollTimeout, exchange.ErrTimeout)
	defer cancel()
	call := c.api(http.MethodPost, path)
	call.Body = body
	resp, tr, err := c.rn.cfg.Wire.API(ctx, call)
	if tr.Sent() {
		c.state = model.JobMayHave
	}
	if err != nil {
		return "", c.broke(err, tr.Sent())
	}
	defer resp.Body.Close()
	answer, err := c.mask.ReadAnswer(resp, previewBytes)
	seen := c.outcome(resp, answer)
	switch {
	case !succeeded(resp.StatusCode):
		certain, by := c.d.RefusesTrigger(resp.StatusCode, resp.Header, answer)
		if certain && err == nil {
			c.state = model.JobRefused
		}
		seen.ReadBy, seen.Unrepeatable = cmp.Or(seen.ReadBy, by), c.state != model.JobRefused
		return "", c.refused(ctx, seen)
	case err != nil:
		return "", c.broke(err, true)
	}
	id, at, ok := c.d.PreviewAt(c.job.Dataset, answer)
	if !ok {
		return "", &exchange.CallError{
			Doing: c.doing(), Status: resp.StatusCode, Text: joinText("the answer names no preview", seen.ServiceText),
			Diagnosis: model.NoIdentifier(model.CallPreview, resp.StatusCode),
		}
	}
	c.state, c.id = model.JobAccepted, c.mask.Text(id)
	return at, nil
}

// look asks for the preview once. after is how long the answer asks to wait.
func (c *previewCall) look(ctx context.Context, at string) (out dialect.LookupPreview, after time.Duration, fault *exchange.CallError) {
	ctx, cancel := context.WithTimeoutCause(ctx, pollTimeout, exchange.ErrTimeout)
	defer cancel()
	resp, _, err := c.rn.cfg.Wire.API(ctx, c.api(http.MethodGet, at))
	if err != nil {
		return out, 0, c.broke(err, true)
	}
	defer resp.Body.Close()
	answer, err := c.mask.ReadAnswer(resp, previewBytes)
	if !succeeded(resp.StatusCode) {
		seen := c.outcome(resp, answer)
		seen.Unrepeatable = true
		fault := c.refused(ctx, seen)
		fault.Diagnosis.RetryAfter = fault.After // what is asked for then is another preview
		return out, 0, fault
	}
	if err != nil {
		return out, 0, c.broke(err, true)
	}
	p, out, err := c.d.ReadPreview(c.job.Dataset, answer)
	if err != nil {
		fault := c.broke(exchange.Unusable(err), true)
		fault.Status = resp.StatusCode
		return out, 0, fault
	}
	c.state, c.message = p.State, c.mask.Text(joinText(p.Wire, p.Detail))
	if c.state == model.JobFailed || c.state == model.JobCanceled {
		return out, 0, &exchange.CallError{Doing: c.doing(), Diagnosis: model.PreviewEnded(c.state, c.message), Text: joinText("it "+c.state.Predicate(), p.Detail)}
	}
	return c.masked(out), c.d.ReadHeader(resp.Header, c.rn.cfg.Now()).RetryAfter, nil
}

// broke is the error of a call without a complete answer. sent says that a preview may have begun.
func (c *previewCall) broke(err error, sent bool) *exchange.CallError {
	return exchange.Unanswered(c.doing(), model.CallPreview, c.mask, err, sent)
}

// outcome is what an answer shows.
func (c *previewCall) outcome(resp *http.Response, answer []byte) model.Outcome {
	out := exchange.Answered(c.rn.cfg.Now(), c.d, c.key, c.mask, resp, answer[:min(len(answer), answerBytes)])
	out.Job = model.CallPreview
	return out
}

// refused is the error of an answer that is no success.
func (c *previewCall) refused(ctx context.Context, seen model.Outcome) *exchange.CallError {
	fault := c.rn.cfg.Wire.Refused(c.doing(), c.p.BaseURL, c.mask, seen)
	c.rn.tellKey(ctx, c.p.Name, c.key.Name, fault.Diagnosis)
	return fault
}

// masked masks what was decoded.
func (c *previewCall) masked(out dialect.LookupPreview) dialect.LookupPreview {
	out.ID = c.id
	for i := range out.Columns {
		col := &out.Columns[i]
		col.Name, col.Description, col.Type = c.mask.Text(col.Name), c.mask.Text(col.Description), c.mask.Text(col.Type)
	}
	return out
}

// line is a line of the timeline about it.
func (c *previewCall) line(text string) model.HistoryEntry {
	return model.HistoryEntry{At: c.began, Kind: model.HistoryJob, Profile: c.p.Name, Via: model.ViaAPI, Key: c.key.Name, Text: text}
}

// depart records that the POST is about to be sent: if this process is killed meanwhile, the next one says so.
// landed is called when the timeline has the outcome.
func (c *previewCall) depart() (landed func()) {
	if c.rn.cfg.Journal == nil {
		return func() {}
	}
	landed, err := c.rn.cfg.Journal.Depart(fmt.Sprintf("preview_%016x", c.rn.cfg.Rand.Uint64()), c.line("the preview of "+c.job.Dataset+", which may be billed, "))
	if err != nil {
		c.rn.cfg.Log.Warn("a preview was not written down before it was asked for", "error", err)
	}
	return landed
}

// log puts the outcome into the timeline, even after ctx has ended. If nothing was tried it does nothing.
func (c *previewCall) log(ctx context.Context, err error) {
	a := c.line(c.job.Dataset + ": previewed as " + c.id)
	var lost *PreviewError
	if errors.As(err, &lost) {
		var fault *exchange.CallError
		switch {
		case errors.As(err, &fault):
			a.Class, a.Cause, a.Text = fault.Diagnosis.Class, fault.Diagnosis.Cause, line(fault.Error()+"; "+lost.AtService())+fault.Diagnosis.Next()
		case c.state == model.JobNotSent:
			return
		default:
			a.Text = line(c.doing() + ": interrupted; " + lost.AtService())
		}
	}
	c.rn.put(ctx, a)
}
