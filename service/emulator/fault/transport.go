package fault

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"mime"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/net/html"

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
	record.FromContext(r.Context()).Hit(v.Rules...) // the answer does not name them
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

// rewritten reads what a rewriter produces, call by call.
type rewritten struct {
	out     bytes.Buffer
	rewrite func(*bytes.Buffer) error
	body    io.Closer
	err     error
}

func (d *rewritten) Read(p []byte) (int, error) {
	for d.out.Len() == 0 && d.err == nil {
		d.err = d.rewrite(&d.out)
	}
	if d.out.Len() > 0 {
		return d.out.Read(p)
	}
	return 0, d.err
}

func (d *rewritten) Close() error { return d.body.Close() }

// maxToken bounds one tag or text of a page whose markup drifts.
const maxToken = 1 << 20

// drift renames the classes and ids of an HTML page, as a rebuilt site does: a person sees
// the same page, and selectors find nothing (service.md 7, parsing drift). A name changes in
// the same way on every page. Anything other than plain HTML passes unchanged.
func drift(resp *http.Response) {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind != "text/html" || resp.Header.Get("Content-Encoding") != "" {
		return
	}
	z := html.NewTokenizer(resp.Body)
	z.SetMaxBuf(maxToken)
	resp.Body = &rewritten{body: resp.Body, rewrite: func(out *bytes.Buffer) error {
		kind := z.Next()
		raw := z.Raw()
		switch kind {
		case html.ErrorToken:
			out.Write(raw)
			return z.Err()
		case html.StartTagToken, html.SelfClosingTagToken:
			raw = bytes.Clone(raw)
			if t := z.Token(); renamed(t.Attr) {
				raw = []byte(t.String())
			}
			out.Write(raw)
		default:
			out.Write(raw)
		}
		return nil
	}}
	resp.ContentLength = -1
	resp.Header.Del("Content-Length")
	resp.Header.Del("Etag")
}

// Drifts reports whether a drift always hits a target's page. It leaves out rules that
// count calls or have a probability: those are decided as calls pass. It counts nothing, and
// takes the call's point to be Target.
func (e *Engine) Drifts(c Call) bool {
	c.Point, c.Host = Target, strings.ToLower(c.Host)
	now := e.conf.Now()
	for _, h := range *e.rules.Load() {
		w := &h.rule.When
		counts := w.Nth > 0 || w.From > 1 || w.Until > 0 || w.Every > 1 || w.Times > 0 || w.Probability > 0 && w.Probability < 1
		if h.rule.Do.Kind == Drift && !counts && !h.off.Load() && h.rule.Match.matches(&c) && w.active(h.added, now) {
			return true
		}
	}
	return false
}

// renamed gives new names to the classes and the id of a tag, and reports whether it has any.
func renamed(attrs []html.Attribute) bool {
	found := false
	for i := range attrs {
		if a := &attrs[i]; a.Key == "class" || a.Key == "id" {
			found = true
			names := strings.Fields(a.Val)
			for i := range names {
				names[i] = newName(names[i])
			}
			a.Val = strings.Join(names, " ")
		}
	}
	return found
}

// newName is a name like those of build tools: a letter and some digits.
func newName(old string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(old)) // a hash never fails
	return fmt.Sprintf("c%08x", h.Sum32())
}
