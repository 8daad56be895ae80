package exits

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"zonedeck/service/emulator/guard"
)

// LabHost is the lab's host name for clients of the emulator, on any port.
const LabHost = "lab.test"

// testHost has the provider's own test pages (/mygeo.json, /welcome.txt), which clients of its dialect fetch to try a login.
// The lab has them, too, so that such a client needs no other network.
const testHost = "geo.brdtest.com"

// ErrBlocked means that the emulator does not connect to a target ([guard.Rules]).
var ErrBlocked = guard.ErrBlocked

// dialTimeout bounds the dial of one connection to a target, with its DNS lookup.
const dialTimeout = 10 * time.Second

// maxPools bounds the connection pools. Each exit that is not simulated has one.
const maxPools = 256

// Dialer reaches the lab by its name, public addresses, and the addresses that its rules
// open. It checks addresses after DNS, on every dial.
type Dialer struct {
	lab      netip.AddrPort
	labTLS   *tls.Config
	rules    *guard.Rules
	resolver *net.Resolver
	served   map[string]bool // hosts other than the lab's that its listener serves

	public *pool // of all simulated exits

	mu    sync.Mutex
	pools map[poolKey]*pool
}

type poolKey struct {
	exit netip.Addr
	lab  bool
}

// NewDialer makes a dialer for the lab at lab, whose certificates labTLS verifies.
// nil rules open no private address.
func NewDialer(lab netip.AddrPort, labTLS *tls.Config, rules *guard.Rules) *Dialer {
	d := &Dialer{lab: lab, labTLS: labTLS, rules: cmp.Or(rules, &guard.Rules{}), pools: map[poolKey]*pool{}}
	d.public = newPool(func(ctx context.Context, address string) (net.Conn, error) {
		return d.dialChecked(ctx, address, Exit{})
	}, nil)
	return d
}

// UseResolver replaces the name resolution of public targets; call it before the
// first dial.
func (d *Dialer) UseResolver(r *net.Resolver) { d.resolver = r }

// UseLabFor sends connections to these hosts (lower case, without port), the targets of a
// scenario, to the lab's listener, and those to the provider's test pages. Call it before the first dial.
func (d *Dialer) UseLabFor(hosts []string) {
	d.served = map[string]bool{testHost: true}
	for _, h := range hosts {
		d.served[h] = true
	}
}

// Serves reports whether the lab's listener serves a host (without port).
func (d *Dialer) Serves(host string) bool {
	return IsLab(host) || len(d.served) > 0 && d.served[strings.ToLower(strings.TrimSuffix(host, "."))]
}

// Rules returns the rules of what the dialer may connect to.
func (d *Dialer) Rules() *guard.Rules { return d.rules }

// IsLab reports whether a host (without port) is the lab.
func IsLab(host string) bool {
	return strings.EqualFold(strings.TrimSuffix(host, "."), LabHost)
}

// Bound reports whether traffic to host really leaves from e, as far as this is known before
// the host is resolved.
func (d *Dialer) Bound(host string, e Exit) bool {
	if d.Serves(host) {
		return e.Bound(d.lab.Addr())
	}
	if !d.rules.Opens() {
		return false
	}
	a, err := netip.ParseAddr(host)
	return err == nil && e.Bound(a) || strings.EqualFold(host, "localhost") && e.Bound(netip.AddrFrom4([4]byte{127, 0, 0, 1}))
}

// Dial opens a TCP connection to address ("host:port") from an exit. Its errors are
// [ErrBlocked], *net.DNSError and those of connecting.
func (d *Dialer) Dial(ctx context.Context, address string, e Exit) (net.Conn, error) {
	if host, _, err := net.SplitHostPort(address); err == nil && d.Serves(host) {
		return d.dialLab(ctx, e)
	}
	return d.dialChecked(ctx, address, e)
}

func (d *Dialer) dialLab(ctx context.Context, e Exit) (net.Conn, error) {
	nd := net.Dialer{Timeout: dialTimeout, Control: func(_, _ string, c syscall.RawConn) error {
		return bindTo(c, d.lab.Addr(), e)
	}}
	return nd.DialContext(ctx, "tcp", d.lab.String())
}

// dialChecked checks the rules after DNS, against the address that is about to be dialled,
// and binds the socket to the exit where possible.
func (d *Dialer) dialChecked(ctx context.Context, address string, e Exit) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("dialing %q: %w", address, err)
	}
	nd := net.Dialer{Timeout: dialTimeout, Resolver: d.resolver, Control: func(_, to string, c syscall.RawConn) error {
		ap, err := netip.ParseAddrPort(to)
		if err != nil {
			return fmt.Errorf("%w: %s", ErrBlocked, to)
		}
		if err := d.rules.Check(host, ap); err != nil {
			return err
		}
		return bindTo(c, ap.Addr(), e)
	}}
	return nd.DialContext(ctx, "tcp", address)
}

// Transport returns the HTTP client side for a target host and an exit. It offers HTTP/2 to
// https targets. Exits that are not simulated have separate connection pools, so that a
// kept-alive connection never carries another exit's traffic. It follows no redirects.
func (d *Dialer) Transport(host string, e Exit) http.RoundTripper { return d.pool(host, e).http2 }

// TransportHTTP1 is Transport for requests that prefer HTTP/1.1.
func (d *Dialer) TransportHTTP1(host string, e Exit) http.RoundTripper { return d.pool(host, e).http1 }

func (d *Dialer) pool(host string, e Exit) *pool {
	isLab := d.Serves(host)
	if !isLab && !d.rules.Opens() {
		return d.public
	}
	k := poolKey{e.Addr, isLab}
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.pools[k]
	if p != nil {
		return p
	}
	if len(d.pools) >= maxPools {
		for k, p := range d.pools {
			p.closeIdle()
			delete(d.pools, k)
			break
		}
	}
	if isLab {
		p = newPool(func(ctx context.Context, _ string) (net.Conn, error) { return d.dialLab(ctx, e) }, d.labTLS)
	} else {
		p = newPool(func(ctx context.Context, address string) (net.Conn, error) { return d.dialChecked(ctx, address, e) }, nil)
	}
	d.pools[k] = p
	return p
}

// Close drops the idle connections. Those in use end with their requests, or wait for the
// next Close.
func (d *Dialer) Close() {
	d.public.closeIdle()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range d.pools {
		p.closeIdle()
	}
}

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
