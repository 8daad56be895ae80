package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
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
)

// ErrPreview says that the service made no preview.
var ErrPreview = errors.New("the service made no preview")

// PreviewJob shows what a job would give, before it is launched: a POST, which is never repeated, and
// questions until the preview is there. No job is launched, and nothing stands in the ledger; what
// a preview costs is not shown by public sources.
//
// Errors: as Trigger before it sends anything, a *exchange.CallError, one that wraps ErrPreview, ctx's.
func (rn *Runner) PreviewJob(ctx context.Context, r model.TriggerRequest) (dialect.LookupPreview, error) {
	defer rn.cfg.Wire.Begin()()
	var none dialect.LookupPreview
	p, d, err := rn.cfg.Access.Current(ctx)
	if err != nil {
		return none, err
	}
	if err := allowed(p, d, r); err != nil {
		return none, err
	}
	if r.MaxCost > 0 || p.MaxJobCost > 0 {
		return none, model.BadField("max_cost", "%w: what a preview costs is not shown by public sources, so that a cap on it could not be kept", ErrCost)
	}
	path, body, err := d.Preview(r)
	if err != nil {
		return none, err
	}
	key, secret, err := rn.cfg.Access.KeyFor(ctx, p, r.Key)
	if err != nil {
		return none, err
	}
	inner, cancel := context.WithTimeoutCause(ctx, previewTimeout, exchange.ErrTimeout)
	defer cancel()
	call := previewCall{rn, jobCall{job: model.Job{Dataset: r.Dataset}, p: p, d: d, key: key, secret: secret}}
	out, err := call.run(inner, path, body)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return none, cause
	}
	said := "previewed"
	if err != nil {
		said = line(err.Error())
	}
	rn.tell(ctx, model.Job{Profile: p.Name, KeyName: key.Name, Updated: rn.cfg.Now()}, r.Dataset+": "+said)
	return out, err
}

// previewCall makes the calls of one preview.
type previewCall struct {
	rn *Runner
	jobCall
}

func (c previewCall) run(ctx context.Context, path string, body []byte) (out dialect.LookupPreview, err error) {
	answer, _, err := c.ask(ctx, http.MethodPost, path, body)
	if err != nil {
		return out, err
	}
	at, ok := c.d.PreviewAt(c.job.Dataset, answer)
	if !ok {
		return out, fmt.Errorf("%w: its answer names none", ErrPreview)
	}
	cadence, asked := c.d.Cadence(c.p.Local), c.rn.cfg.Now()
	for {
		answer, after, err := c.ask(ctx, http.MethodGet, at, nil)
		if err != nil {
			return out, err
		}
		state, out, err := c.d.ReadPreview(c.job.Dataset, answer)
		switch {
		case err != nil:
			return out, fmt.Errorf("%w: %w", ErrPreview, err)
		case state == model.JobReady:
			return c.masked(out), nil
		case state.Final():
			return out, fmt.Errorf("%w: it %s", ErrPreview, state.Predicate())
		}
		wait := time.NewTimer(max(cadence.Wait(c.rn.cfg.Now().Sub(asked), -1, -1, 1), after))
		select {
		case <-ctx.Done():
			wait.Stop()
			return out, fmt.Errorf("%w: %w", ErrPreview, context.Cause(ctx))
		case <-wait.C:
		}
	}
}

// ask makes one call, and gives the body of a success.
func (c previewCall) ask(ctx context.Context, method, path string, body []byte) (answer []byte, after time.Duration, err error) {
	inner, cancel := context.WithTimeoutCause(ctx, pollTimeout, exchange.ErrTimeout)
	defer cancel()
	doing := "previewing " + c.job.Dataset
	call := c.api(method, path)
	call.Body = body
	resp, _, err := c.rn.cfg.Wire.API(inner, call)
	if err != nil {
		return nil, 0, c.rn.jobFault(ctx, doing, c.jobCall, nil, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, 0, c.rn.jobFault(ctx, doing, c.jobCall, resp, nil)
	}
	answer, err = io.ReadAll(io.LimitReader(exchange.MaskOf(c.secret, exchange.Login{}).Reader(resp.Body), previewBytes))
	if err != nil {
		return nil, 0, c.rn.jobFault(ctx, doing, c.jobCall, nil, err)
	}
	return answer, c.d.ReadHeader(resp.Header, c.rn.cfg.Now()).RetryAfter, nil
}

// masked masks what was decoded.
func (c previewCall) masked(out dialect.LookupPreview) dialect.LookupPreview {
	mask := exchange.MaskOf(c.secret, exchange.Login{})
	for i := range out.Columns {
		col := &out.Columns[i]
		col.Name, col.Description, col.Type = mask.Text(col.Name), mask.Text(col.Description), mask.Text(col.Type)
	}
	return out
}
