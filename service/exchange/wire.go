package exchange

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/pace"
	"zonedeck/service/roots"
)

// The bounds of the wire. Connecting has deadlines of its own, which report a dead
// address sooner than a slow target.
const (
	connectTimeout   = 15 * time.Second
	handshakeTimeout = 15 * time.Second
	headBytes        = 256 << 10 // an answer's head
)

// Config configures a Wire; its zero value is ready for use.
type Config struct {
	// Now is the clock, nil for time.Now. Timer measures durations, because Now may
	// jump; nil means Now.
	Now, Timer func() time.Time
	// Connect dials; nil is net's own.
	Connect func(ctx context.Context, network, addr string) (net.Conn, error)
	// Used is called for each call that may have reached the service with a key. It gets names and the fingerprint
	// of the key's value. The call waits until it returns; it may be nil.
	Used func(profile, key, fingerprint string)
}

// Wire makes exchanges within the limits.
type Wire struct {
	now      func() time.Time
	timer    func() time.Time
	connect  func(ctx context.Context, network, addr string) (net.Conn, error)
	used     func(profile, key, fingerprint string)
	gates    *gates
	refusals *pace.Refusals
	calls    underWay
	skew     *atomic.Pointer[Skew]
	meter    *meter
	pool     *http.Transport // nil if each request has a connection of its own
}

// New makes a Wire. It does no I/O.
func New(c Config) *Wire {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Timer == nil {
		c.Timer = c.Now
	}
	if c.Connect == nil {
		c.Connect = new(net.Dialer).DialContext
	}
	if c.Used == nil {
		c.Used = func(string, string, string) {}
	}
	return &Wire{now: c.Now, timer: c.Timer, connect: c.Connect, used: c.Used, gates: newGates(), refusals: pace.NewRefusals(c.Now), skew: &atomic.Pointer[Skew]{}, meter: &meter{}}
}

// meter adds up what calls cost.
type meter struct {
	mu  sync.Mutex
	sum model.Spend
}

// Spend counts a call that is billed: a fetch, a call through the proxy, the result of a job.
func (w *Wire) Spend(dollars float64, priced bool) {
	w.meter.mu.Lock()
	defer w.meter.mu.Unlock()
	w.meter.sum.Add(dollars, priced)
}

// Spent is an estimate of what the calls since New have cost, by the rates of their zones. Each fetch of a comparison counts.
func (w *Wire) Spent() model.Spend {
	w.meter.mu.Lock()
	defer w.meter.mu.Unlock()
	return w.meter.sum
}

// transport is the transport of one API call. Certificates are verified whatever the
// profile says: its "verify = false" is about native access (service.md 5.2 rule 3),
// and a key is never sent to a peer without a trusted certificate. The profile's CA is
// trusted as well as the system's.
func (w *Wire) transport(ctx context.Context, p model.Profile, tr *Trace) http.RoundTripper {
	d := dialer{wire: w, ctx: ctx, ca: p.CA, tr: tr}
	if w.pool != nil {
		return traced{w.pool, d}
	}
	t := bareTransport()
	t.DialContext, t.DialTLSContext = d.plain, d.secure
	return traced{t, d}
}

// dialer makes the connection of one exchange to the service.
type dialer struct {
	wire  *Wire
	ctx   context.Context // the exchange's; the one that net/http passes to dialers may outlive it
	ca    string
	tr    *Trace
	proxy *url.URL // of a kept connection to the proxy
}

// plain dials a connection without TLS.
func (d dialer) plain(_ context.Context, network, addr string) (net.Conn, error) {
	conn, err := d.wire.dial(d.ctx, d.tr, network, addr)
	if err != nil {
		return nil, err
	}
	return d.tr.counted(conn), nil
}

// secure dials a connection with TLS.
func (d dialer) secure(_ context.Context, network, addr string) (net.Conn, error) {
	pool, err := d.tr.trusted(d.ca)
	if err != nil {
		return nil, err
	}
	conn, err := d.wire.dial(d.ctx, d.tr, network, addr)
	if err != nil {
		return nil, err
	}
	host, _, _ := net.SplitHostPort(addr)
	return handshake(d.ctx, d.tr, conn, &tls.Config{ServerName: host, RootCAs: pool, MinVersion: tls.VersionTLS12}, PeerService)
}

// bareTransport is a transport that speaks HTTP/1.1, keeps no connection, takes
// no proxy from the environment and inflates nothing.
func bareTransport() *http.Transport {
	return &http.Transport{
		Proxy:                  nil,
		DisableCompression:     true,
		MaxIdleConnsPerHost:    -1, // no connection is kept, and no "Connection: close" is sent
		MaxResponseHeaderBytes: headBytes,
		TLSNextProto:           map[string]func(string, *tls.Conn) http.RoundTripper{},
	}
}

// dial connects to the service: its API or its proxy.
func (w *Wire) dial(ctx context.Context, tr *Trace, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, connectTimeout, errConnect)
	defer cancel()
	conn, err := w.connect(httptrace.WithClientTrace(ctx, tr.hooks()), network, addr)
	if err == nil {
		return conn, nil
	}
	if at, _ := ctx.Deadline(); !time.Now().Before(at) {
		<-ctx.Done() // a socket has the same deadline on its own clock, which may be first
	}
	if errors.Is(context.Cause(ctx), errConnect) {
		return nil, tr.fault(model.BreakConnectTimeout, PeerService, errConnect)
	}
	return nil, tr.dialFault(err, PeerService)
}

var errConnect = fmt.Errorf("no connection within %s", connectTimeout)

// handshake runs TLS over conn, and closes conn when it fails.
func handshake(ctx context.Context, tr *Trace, conn net.Conn, cfg *tls.Config, peer string) (net.Conn, error) {
	tr.begin("tls")
	ctx, cancel := context.WithTimeoutCause(ctx, handshakeTimeout, errHandshake)
	defer cancel()
	tc := tls.Client(conn, cfg)
	if err := tc.HandshakeContext(ctx); err != nil {
		conn.Close()
		tr.presented(refusedChain(err), tr.judge(tc, cfg, peer, err))
		if errors.Is(context.Cause(ctx), errHandshake) {
			return nil, tr.fault(model.BreakConnectTimeout, peer, errHandshake)
		}
		return nil, tr.tlsFault(err, peer)
	}
	tr.end("tls", &tr.t.TLS)
	c := tr.counted(tc)
	c.chain, c.tls = tc.ConnectionState().PeerCertificates, tr.judge(tc, cfg, peer, nil)
	tr.presented(c.chain, c.tls)
	return c, nil
}

var errHandshake = fmt.Errorf("no answer to the TLS handshake within %s", handshakeTimeout)

// countedConn tells the trace of its exchange when a byte of the request is about to be
// written, and when it was. It is above TLS: a handshake does not count.
type countedConn struct {
	net.Conn
	trace atomic.Pointer[Trace] // at first of the exchange that it was made for
	chain []*x509.Certificate
	tls   model.Chain
}

func (tr *Trace) counted(conn net.Conn) *countedConn {
	c := &countedConn{Conn: conn}
	c.trace.Store(tr)
	return c
}

func (c *countedConn) Write(b []byte) (int, error) {
	tr := c.trace.Load()
	tr.writing()
	n, err := c.Conn.Write(b)
	if n > 0 {
		tr.arrived()
	}
	return n, err
}

// maxCA bounds the file of a CA, in bytes. A system's own bundle has a quarter of that.
const maxCA = 1 << 20

// trusted gives the system's roots and, if file is set, the certificates of that PEM file.
// The exchange's time starts after they are read.
func (tr *Trace) trusted(file string) (*x509.CertPool, error) {
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if file != "" {
		text, err := textfile.ReadBounded(file, maxCA)
		added := roots.Parse(text)
		if err == nil && len(added) == 0 {
			err = fmt.Errorf("%s: it holds no PEM certificate", file)
		}
		if err != nil {
			return nil, tr.fault(model.BreakTLS, PeerService, fmt.Errorf("CA certificate: %w", err))
		}
		for _, c := range added {
			pool.AddCert(c)
		}
		tr.connecting(func() { tr.file = added })
	}
	tr.restart()
	return pool, nil
}

// underWay counts the calls whose outcomes still have to be journalled.
type underWay struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed when n is 0 again; nil while nothing waits for that
}

// Begin counts a call whose outcome will be journalled. The caller calls end afterwards.
func (w *Wire) Begin() (end func()) {
	u := &w.calls
	u.mu.Lock()
	defer u.mu.Unlock()
	u.n++
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.n--; u.n == 0 && u.idle != nil {
			close(u.idle)
			u.idle = nil
		}
	}
}

// Wait waits until every call that began has ended, or until ctx ends.
func (w *Wire) Wait(ctx context.Context) error {
	u := &w.calls
	u.mu.Lock()
	if u.n == 0 {
		u.mu.Unlock()
		return nil
	}
	if u.idle == nil {
		u.idle = make(chan struct{})
	}
	idle := u.idle
	u.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("calls are still under way: %w", context.Cause(ctx))
	}
}
