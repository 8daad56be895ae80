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

// Bounds of the idle connections: per target, in all, and their time.
const (
	maxIdle    = 32
	maxKept    = 256
	idleTime   = 30 * time.Second
	tlsTimeout = 10 * time.Second
	// maxHead bounds the head of an answer.
	maxHead = 256 << 10
	// patience is how long a target may take for the head of its answer, and how long an
	// exchange may stand still.
	patience = 150 * time.Second
)

// errSilent ends an exchange that stands still. It is a timeout.
var errSilent = fmt.Errorf("nothing moves between here and the target: %w", os.ErrDeadlineExceeded)

type dialFunc func(ctx context.Context, address string) (net.Conn, error)

// pool holds the connections of one exit: for HTTP/1.1 only, and for HTTP/2 where the target
// speaks it.
type pool struct{ http1, http2 *transport }

func newPool(dial dialFunc, conf *tls.Config) *pool {
	p := &pool{newTransport(dial, conf, false), newTransport(dial, conf, true)}
	p.http1.fallback = p.http2
	return p
}

func (p *pool) closeIdle() {
	p.http1.CloseIdleConnections()
	p.http2.CloseIdleConnections()
}

// transport is net/http's with a timeout that net/http lacks: for a target that does not read
// the request's body, or stops in the middle of the answer's.
type transport struct {
	*http.Transport
	fallback *transport // for https targets that refuse to speak HTTP/1.1; nil for none
}

func newTransport(dial dialFunc, conf *tls.Config, http2 bool) *transport {
	if conf = conf.Clone(); conf == nil { // net/http writes to the configuration
		conf = &tls.Config{}
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	if http2 {
		protocols.SetHTTP2(true)
	} else {
		conf.NextProtos = []string{"http/1.1"} // net/http would offer no protocol
	}
	return &transport{Transport: &http.Transport{
		Proxy:                  nil, // the environment's proxy must not reroute the emulator
		DialContext:            func(ctx context.Context, _, address string) (net.Conn, error) { return dial(ctx, address) },
		TLSClientConfig:        conf,
		Protocols:              protocols,
		DisableCompression:     true, // bodies pass unchanged
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
		resp.Body = &exchange{ReadCloser: resp.Body}
	}
	return resp, nil
}

func (t *transport) sendBody(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	x := &exchange{cancel: cancel}
	x.wait()
	r = r.WithContext(ctx)
	r.Body = &sentBody{r.Body, x}
	resp, err := t.Transport.RoundTrip(r)
	x.timer.Stop()
	switch {
	case err != nil:
		cancel(nil)
		return nil, x.cause(err)
	case resp.StatusCode == http.StatusSwitchingProtocols: // the tunnel has its own timeout
	case resp.Body == http.NoBody:
		cancel(nil)
	default:
		x.ReadCloser = resp.Body
		// HTTP/2 ignores the context while the target does not take the request's body.
		// Closing the answer's body fails the waiting read.
		context.AfterFunc(ctx, func() { _ = x.ReadCloser.Close() })
		resp.Body = x
	}
	return resp, nil
}

// withoutSpaces escapes spaces in the query, as browsers and curl do. net/url keeps them,
// which would break the request line.
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

// repeatable also lets net/http repeat PUT and DELETE after it lost a kept connection (RFC
// 9110 9.2.2). An empty Idempotency-Key asks for it, and is not sent.
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

// refusesProtocol recognises the alert no_application_protocol (RFC 7301 3.2), which
// crypto/tls does not export.
func refusesProtocol(err error) bool {
	op := (*net.OpError)(nil)
	return errors.As(err, &op) && op.Op == "remote error" && strings.Contains(op.Err.Error(), "no application protocol")
}

// exchange is the body of an answer, and ends the request when it stands still for the
// patience. The caller may take any time between reads.
type exchange struct {
	io.ReadCloser
	cancel context.CancelCauseFunc // nil for a request without a body
	timer  *time.Timer
	silent atomic.Bool
}

// wait starts or restarts the timer.
func (x *exchange) wait() {
	if x.timer == nil {
		x.timer = time.AfterFunc(patience, x.end)
		return
	}
	x.timer.Reset(patience)
}

func (x *exchange) end() {
	x.silent.Store(true)
	if x.cancel != nil {
		x.cancel(errSilent)
	} else {
		_ = x.ReadCloser.Close() // fails the waiting read
	}
}

// cause replaces the error of an exchange that stood still.
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

// sentBody is a request's body. Each read shows that the target takes it.
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
