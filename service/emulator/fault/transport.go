package fault

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/clock"
	"zonedeck/service/emulator/record"
)

// Refusal is what the kind [Code] answers with.
func (a Action) Refusal() answer.Refusal {
	return answer.NewRefusal(a.Status, a.Code, cmp.Or(a.Message, a.Code), basis)
}

// Transport puts the faults of the point [Target] between a product and its targets.
// caller gives zone, product and dataset; host, path and method are the request's. An error
// code is returned as an [answer.Refusal]. Without a rule for targets it returns next.
func (e *Engine) Transport(caller Call, next http.RoundTripper) http.RoundTripper {
	if !e.Active(Target) {
		return next
	}
	return &transport{engine: e, caller: caller, next: next}
}

type transport struct {
	engine *Engine
	caller Call
	next   http.RoundTripper
}

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	c := t.caller
	c.Point, c.Host, c.Path, c.Method = Target, strings.ToLower(r.URL.Hostname()), r.URL.Path, r.Method
	v := t.engine.Decide(c)
	if len(v.Rules) == 0 {
		return t.next.RoundTrip(r)
	}
	record.Of(r.Context()).Hit(v.Rules...) // the answer does not name them
	if err := clock.Pause(r.Context(), v.Delay); err != nil {
		closeBody(r)
		return nil, err
	}
	a := v.Do
	if a.Accepted {
		resp, err := t.next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		resp.Body.Close()
	}
	if a.Kind == Latency || a.Kind == "" || a.needsAnswer() {
		resp, err := t.next.RoundTrip(r)
		if err == nil {
			a.change(resp)
		}
		return resp, err
	}
	if !a.Accepted {
		closeBody(r)
	}
	return a.instead(r)
}

// closeBody closes the body of a request that is not sent, as a RoundTripper must.
func closeBody(r *http.Request) {
	if r.Body != nil {
		r.Body.Close()
	}
}

func (a Action) needsAnswer() bool {
	switch a.Kind {
	case Cut, Dribble, Bandwidth, Empty, Drift:
		return true
	case Reset:
		return !a.Accepted && a.After > 0
	default:
		return false
	}
}

// instead is the answer or error in place of the target's answer.
func (a Action) instead(r *http.Request) (*http.Response, error) {
	switch a.Kind {
	case Status, TooFast:
		h := http.Header{"Content-Type": {"text/plain; charset=utf-8"}}
		if a.Kind == TooFast && a.RetryAfter > 0 {
			h.Set("Retry-After", wholeSeconds(a.RetryAfter))
		}
		for name, value := range a.Header {
			h.Set(name, value)
		}
		return page(r, a.status(), h, a.text()), nil
	case Captcha:
		return page(r, http.StatusOK, http.Header{"Content-Type": {"text/html; charset=utf-8"}}, captchaPage), nil
	case Code:
		return nil, a.Refusal()
	case Hang:
		if err := clock.Pause(r.Context(), MaxDelay); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("the target did not answer: %w", os.ErrDeadlineExceeded)
	case Reset:
		return nil, &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	case Malformed:
		return nil, errors.New("malformed HTTP response")
	default: // drop
		return nil, io.ErrUnexpectedEOF
	}
}

// captchaPage looks like the page that a target shows to a suspected robot.
const captchaPage = `<!doctype html>
<html><head><title>Are you a robot?</title></head><body>
<h1>Please confirm that you are not a robot</h1>
<form method="post"><div class="g-recaptcha" data-sitekey="6LeFaultFaultFaultFaultFaultFaultFault"></div></form>
</body></html>
`

func page(r *http.Request, status int, h http.Header, body string) *http.Response {
	if r.Method == http.MethodHead {
		body = ""
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), StatusCode: status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: h, Request: r,
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}
}

func (a Action) change(resp *http.Response) {
	switch a.Kind {
	case Cut, Reset, Dribble, Bandwidth:
		resp.Body = &body{ReadCloser: resp.Body, flow: a.flow(), ctx: resp.Request.Context()}
	case Empty:
		resp.Body.Close()
		resp.Body, resp.ContentLength = http.NoBody, 0
		resp.Header.Set("Content-Length", "0")
		resp.Header.Del("Content-Encoding")
	case Drift:
		drift(resp)
	default: // a latency was already waited for
	}
}

func (a Action) endOfBody() error {
	if a.Kind == Reset {
		return &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	}
	return io.ErrUnexpectedEOF
}

// body is a body that ends too early or comes slowly. A body shorter than the cut passes
// whole.
type body struct {
	io.ReadCloser
	flow
	ctx context.Context // of the request: a wait ends with it
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.read(p, b.ReadCloser.Read, func(d time.Duration) error { return clock.Pause(b.ctx, d) })
	if !errors.Is(err, errEnded) {
		return n, err
	}
	// The body may end exactly at the cut: then it is complete.
	var one [1]byte
	if n, err := b.ReadCloser.Read(one[:]); n == 0 {
		return 0, err
	}
	return 0, b.do.endOfBody()
}

// drained reads what a rewriter produces, call by call.
type drained struct {
	out  bytes.Buffer
	more func(*bytes.Buffer) error
	body io.Closer
	err  error
}

func (d *drained) Read(p []byte) (int, error) {
	for d.out.Len() == 0 && d.err == nil {
		d.err = d.more(&d.out)
	}
	if d.out.Len() > 0 {
		return d.out.Read(p)
	}
	return 0, d.err
}

func (d *drained) Close() error { return d.body.Close() }
