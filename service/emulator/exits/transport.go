package exits

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// Bounds of the connections to targets: how many are kept for a target and in all, and for
// how long.
const (
	maxIdle    = 32
	maxKept    = 256
	idleTime   = 30 * time.Second
	tlsTimeout = 10 * time.Second
	// maxHead bounds the head of an answer.
	maxHead = 256 << 10
	// patience is how long a target may take to begin its answer, and how long nothing may
	// move between it and here.
	patience = 150 * time.Second
)

// errSilent ends an exchange at which nothing moves. It is a timeout.
var errSilent = fmt.Errorf("nothing moves between here and the target: %w", os.ErrDeadlineExceeded)

type dialFunc func(ctx context.Context, address string) (net.Conn, error)

// pool is the connections of one exit: those of HTTP/1.1 alone, and those that speak HTTP/2
// where the target does.
type pool struct{ http1, http2 *transport }

func newPool(dial dialFunc, conf *tls.Config, patience time.Duration) *pool {
	p := &pool{newTransport(dial, conf, false, patience), newTransport(dial, conf, true, patience)}
	p.http1.fallback = p.http2
	return p
}

func (p *pool) closeIdle() {
	p.http1.CloseIdleConnections()
	p.http2.CloseIdleConnections()
}

// transport is net/http's, which would wait forever for a target that does not read a
// body, or falls silent in the middle of its own: here nothing moves for patience at most.
type transport struct {
	*http.Transport
	patience time.Duration
	fallback *transport // for https targets that refuse to speak HTTP/1.1; nil for none
}

func newTransport(dial dialFunc, conf *tls.Config, http2 bool, patience time.Duration) *transport {
	if conf = conf.Clone(); conf == nil { // a transport writes to its own
		conf = &tls.Config{}
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	if http2 {
		protocols.SetHTTP2(true)
	} else {
		conf.NextProtos = []string{"http/1.1"} // net/http would name none
	}
	return &transport{patience: patience, Transport: &http.Transport{
		Proxy:                  nil, // the environment's proxy must not reroute the emulator
		DialContext:            func(ctx context.Context, _, address string) (net.Conn, error) { return dial(ctx, address) },
		TLSClientConfig:        conf,
		Protocols:              protocols,
		DisableCompression:     true, // bodies pass as they are; nothing is inflated here
		MaxIdleConns:           maxKept,
		MaxIdleConnsPerHost:    maxIdle,
		IdleConnTimeout:        idleTime,
		TLSHandshakeTimeout:    tlsTimeout,
		ExpectContinueTimeout:  time.Second,
		ResponseHeaderTimeout:  patience,
		MaxResponseHeaderBytes: maxHead,
	}}
}

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = withoutSpaces(r)
	if r.Body != nil && r.Body != http.NoBody {
		return t.sendBody(r)
	}
	resp, err := t.Transport.RoundTrip(repeatable(r))
	switch {
	case err != nil && t.fallback != nil && refusesProtocol(err):
		return t.fallback.RoundTrip(r)
	case err != nil:
		return nil, err
	case resp.StatusCode != http.StatusSwitchingProtocols && resp.Body != http.NoBody:
		resp.Body = &exchange{ReadCloser: resp.Body, patience: t.patience}
	}
	return resp, nil
}

// sendBody sends a request that has a body.
func (t *transport) sendBody(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	x := &exchange{patience: t.patience, cancel: cancel}
	x.wait()
	r = r.WithContext(ctx)
	r.Body = &sentBody{r.Body, x}
	resp, err := t.Transport.RoundTrip(r)
	x.timer.Stop()
	switch {
	case err != nil:
		cancel(nil)
		return nil, x.cause(err)
	case resp.StatusCode == http.StatusSwitchingProtocols: // its patience is the tunnel's
	case resp.Body == http.NoBody:
		cancel(nil)
	default:
		x.ReadCloser = resp.Body
		// HTTP/2 does not look at the context of a request whose body nobody takes: the read
		// that waits fails by this.
		context.AfterFunc(ctx, func() { _ = x.ReadCloser.Close() })
		resp.Body = x
	}
	return resp, nil
}

// withoutSpaces escapes spaces in the query. Browsers and curl write them so, net/url lets
// them pass, and the request line would have a word too many.
func withoutSpaces(r *http.Request) *http.Request {
	if !strings.Contains(r.URL.RawQuery, " ") {
		return r
	}
	u := *r.URL
	u.RawQuery = strings.ReplaceAll(u.RawQuery, " ", "%20")
	r = r.WithContext(r.Context())
	r.URL = &u
	return r
}

// repeatable has net/http send PUT and DELETE again, too, where a kept connection was lost
// (RFC 9110 9.2.2). It is told so by a header that is not sent.
func repeatable(r *http.Request) *http.Request {
	const key = "Idempotency-Key"
	if r.Method != http.MethodPut && r.Method != http.MethodDelete || r.Header == nil || r.Header[key] != nil {
		return r
	}
	r = r.WithContext(r.Context())
	r.Header = maps.Clone(r.Header)
	r.Header[key] = nil
	return r
}

// refusesProtocol recognizes the alert no_application_protocol (RFC 7301 3.2), for which
// crypto/tls exports no name.
func refusesProtocol(err error) bool {
	op := (*net.OpError)(nil)
	return errors.As(err, &op) && op.Op == "remote error" && strings.Contains(op.Err.Error(), "no application protocol")
}

// exchange ends a request at whose connection nothing moves for the patience, and is the
// body of its answer. Between reads of that its caller may take any time.
type exchange struct {
	io.ReadCloser
	patience time.Duration
	cancel   context.CancelCauseFunc // nil for a request without a body
	timer    *time.Timer
	silent   atomic.Bool
}

// wait begins to wait, or begins again.
func (x *exchange) wait() {
	if x.timer == nil {
		x.timer = time.AfterFunc(x.patience, x.end)
		return
	}
	x.timer.Reset(x.patience)
}

func (x *exchange) end() {
	x.silent.Store(true)
	if x.cancel != nil {
		x.cancel(errSilent)
	} else {
		_ = x.ReadCloser.Close() // the read that waits fails
	}
}

// cause is the error of an exchange that was ended.
func (x *exchange) cause(err error) error {
	if x.silent.Load() {
		return errSilent
	}
	return err
}

func (x *exchange) Read(p []byte) (int, error) {
	x.wait()
	n, err := x.ReadCloser.Read(p)
	x.timer.Stop()
	if err != nil && !errors.Is(err, io.EOF) {
		err = x.cause(err)
	}
	return n, err
}

func (x *exchange) Close() error {
	err := x.ReadCloser.Close()
	if x.cancel != nil {
		x.cancel(nil)
	}
	return err
}

// sentBody is a request's body: each piece that is asked for shows that the target takes it.
type sentBody struct {
	io.ReadCloser
	x *exchange
}

func (b *sentBody) Read(p []byte) (int, error) {
	b.x.wait()
	n, err := b.ReadCloser.Read(p)
	b.x.wait()
	return n, err
}
