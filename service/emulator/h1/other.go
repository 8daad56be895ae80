package h1

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// pass gives a request to another transport, and ends it where nothing moves for
// HeaderTimeout: [http.Transport] waits for ever for a target that does not read a body, or
// that falls silent in the middle of its own.
func (c *Client) pass(rt http.RoundTripper, r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	p := &passage{patience: c.conf.HeaderTimeout, cancel: cancel}
	p.timer = time.AfterFunc(p.patience, func() {
		cancel(fmt.Errorf("nothing moves between here and the target: %w", os.ErrDeadlineExceeded))
	})
	r = r.WithContext(ctx)
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = &sentBody{r.Body, p}
	}
	resp, err := rt.RoundTrip(r)
	p.timer.Stop()
	switch {
	case err != nil:
		if cause := context.Cause(ctx); errors.Is(cause, os.ErrDeadlineExceeded) {
			err = cause
		}
		cancel(nil)
		return nil, err
	case resp.StatusCode == http.StatusSwitchingProtocols: // its patience is the tunnel's
	case resp.Body == nil || resp.Body == http.NoBody:
		cancel(nil)
	default:
		// HTTP/2 does not look at the context of a request whose body nobody takes.
		body := resp.Body
		stop := context.AfterFunc(ctx, func() { _ = body.Close() }) // whoever reads it is told
		resp.Body = &gotBody{ReadCloser: body, p: p, stop: stop, cause: func() error { return context.Cause(ctx) }}
	}
	return resp, nil
}

// passage is one request on its way through another transport.
type passage struct {
	patience time.Duration
	timer    *time.Timer
	cancel   context.CancelCauseFunc
}

// sentBody is a request's body: each piece that is asked for shows that the target takes it.
type sentBody struct {
	io.ReadCloser
	p *passage
}

func (b *sentBody) Read(p []byte) (int, error) {
	b.p.timer.Reset(b.p.patience)
	n, err := b.ReadCloser.Read(p)
	b.p.timer.Reset(b.p.patience)
	return n, err
}

// gotBody is an answer's body. Between reads its caller may take any time.
type gotBody struct {
	io.ReadCloser
	p     *passage
	stop  func() bool
	cause func() error // why the request ended
}

func (b *gotBody) Read(p []byte) (int, error) {
	b.p.timer.Reset(b.p.patience)
	defer b.p.timer.Stop()
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		if cause := b.cause(); cause != nil {
			err = cause
		}
	}
	return n, err
}

func (b *gotBody) Close() error {
	b.p.timer.Stop()
	b.stop()
	err := b.ReadCloser.Close()
	b.p.cancel(nil)
	return err
}
