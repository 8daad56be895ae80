package exchange

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpguts"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/address"
	"zonedeck/service/bodytext"
)

// Login is the login of native access (service.md 5.2).
type Login struct {
	Username string
	Password keystore.Secret
}

// LoginProof is a call through the proxy with a password that need not be the one at the zone's reference.
type LoginProof struct {
	Password keystore.Secret
	// Proves and Refusal are ProbeResult's Proves and WantsRefusal. Without Proves the call stays out of the history.
	Proves  string
	Refusal bool
}

// header is the value of Proxy-Authorization, made only when it is written.
func (l Login) header() string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(l.Username+":"+l.Password.Reveal()))
}

// Tunnel is the proxy's own answer to CONNECT; a zero Status means none came.
type Tunnel struct {
	Status int
	Header http.Header
	// Head is the status line and the header as they came, with their line ends.
	Head []byte
	Body []byte // a refusal's body, bounded
}

// tunnelBox hands a tunnel from the goroutine on which net/http dials to the one
// that waits. The latter may give up first.
type tunnelBox struct {
	mu sync.Mutex
	t  Tunnel
}

func (b *tunnelBox) put(t Tunnel) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.t = t
}

func (b *tunnelBox) get() Tunnel {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.t
}

// Refused reports whether the proxy answered without opening the tunnel.
func (t Tunnel) Refused() bool { return t.Status != 0 && (t.Status < 200 || t.Status > 299) }

// The bounds of a refusal's body, because a proxy may never end it.
const (
	refusalBytes = 64 << 10
	refusalTime  = 2 * time.Second
)

// ConnectLines writes a CONNECT request. For a preview, authorization is a masked
// login; nothing else differs.
func ConnectLines(addr, authorization string) []string {
	return []string{
		"CONNECT " + addr + " HTTP/1.1",
		"Host: " + addr,
		"User-Agent: " + userAgent,
		"Proxy-Authorization: " + authorization,
	}
}

// NativeRequest makes the request that goes through the proxy. Its address is spelled by
// address.Wire, as in exported programs. A request to a plain http target carries the
// login itself; for https it went with CONNECT.
func NativeRequest(ctx context.Context, r model.FetchRequest, authorization string) (*http.Request, error) {
	target, err := address.Wire(r.URL)
	if err != nil {
		return nil, model.BadField("url", "%w", err)
	}
	method := strings.ToUpper(r.Method)
	if method == "" {
		method = http.MethodGet
	}
	var body io.Reader
	if r.Body != "" {
		body = strings.NewReader(r.Body)
	}
	req, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return nil, model.BadField("url", "%w", err)
	}
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("Accept", "*/*")
	req.Header.Set("Accept-Encoding", "gzip")
	for name, values := range r.Header {
		name = http.CanonicalHeaderKey(name)
		if name == "Host" && len(values) > 0 {
			req.Host = values[0]
			continue
		}
		req.Header[name] = values
	}
	if u := req.URL; u.Scheme == "http" {
		u.Opaque = "//" + u.Host + u.EscapedPath() // else a header Host would stand in the address
		req.Header.Set("Proxy-Authorization", authorization)
	}
	return req, nil
}

// Native sends one request through the proxy: in absolute form for http, through a
// CONNECT tunnel for https. Like API it makes exactly one try. It returns the answer
// to CONNECT whether or not the tunnel opened; a refusal is a nil response with
// ErrRefused.
func (w *Wire) Native(ctx context.Context, p model.Profile, login Login, r model.FetchRequest) (*http.Response, Tunnel, *Trace, error) {
	tr := newTrace(w.timer)
	req, err := NativeRequest(ctx, r, login.header())
	if err != nil {
		tr.notStarted()
		return nil, Tunnel{}, tr, err
	}
	end, err := w.refusals.Enter(ctx, p.ProxyAddr())
	if err != nil {
		tr.notStarted()
		return nil, Tunnel{}, tr, err
	}
	var box tunnelBox
	resp, err := w.proxied(ctx, p, login, tr, &box, req.URL.Scheme).RoundTrip(req)
	tun := box.get()
	status := tun.Status
	if status == 0 && statusOf(resp) != http.StatusTooManyRequests { // without a tunnel it may be the target's
		status = statusOf(resp)
	}
	end(status)
	switch {
	case tun.Refused():
		tr.Done()
		return nil, tun, tr, ErrRefused
	case err != nil:
		peer := PeerService
		if tun.Status != 0 {
			peer = PeerTarget
		}
		return nil, tun, tr, fmt.Errorf("by proxy: %w", tr.broke(ctx, err, peer))
	}
	tr.head()
	resp.Body = bodytext.Reader(resp.Body, resp.Header)
	return resp, tun, tr, nil
}

// ErrRefused says that the proxy answered CONNECT with a status other than 2xx.
var ErrRefused = errors.New("the proxy refused the tunnel")

// proxied is the transport of one request through the proxy. box takes the
// proxy's answer to CONNECT. A tunnel is never kept: it has one exit for its whole life, which would
// then be that of the next fetch, too.
func (w *Wire) proxied(ctx context.Context, p model.Profile, login Login, tr *Trace, box *tunnelBox, scheme string) http.RoundTripper {
	d := dialer{wire: w, ctx: ctx, tr: tr, proxy: &url.URL{Scheme: "http", Host: p.ProxyAddr()}}
	if w.pool != nil && scheme == "http" {
		return traced{w.pool, d}
	}
	t := bareTransport()
	t.Proxy = func(req *http.Request) (*url.URL, error) {
		if req.URL.Scheme == "http" {
			return d.proxy, nil
		}
		return nil, nil //nolint:nilnil // "no proxy": the tunnel is made below
	}
	t.DialContext = d.plain
	t.DialTLSContext = func(_ context.Context, network, addr string) (net.Conn, error) {
		pool, err := tr.trusted(p.CA)
		if err != nil {
			return nil, err
		}
		conn, err := w.dial(ctx, tr, network, p.ProxyAddr())
		if err != nil {
			return nil, err
		}
		conn, err = openTunnel(ctx, tr, conn, addr, login, box)
		if err != nil {
			return nil, err
		}
		host, _, _ := net.SplitHostPort(addr)
		cfg := &tls.Config{ServerName: host, RootCAs: pool, MinVersion: tls.VersionTLS12}
		if !p.Verify {
			cfg.InsecureSkipVerify = true // the profile says so, and the result repeats it
		}
		return handshake(ctx, tr, conn, cfg, PeerTarget)
	}
	return traced{t, d}
}

// openTunnel asks the proxy for a tunnel to addr and keeps its answer. It closes
// conn unless the tunnel is open.
func openTunnel(ctx context.Context, tr *Trace, conn net.Conn, addr string, login Login, box *tunnelBox) (_ net.Conn, err error) {
	defer func() {
		if err != nil {
			conn.Close()
		}
	}()
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) }) //nolint:errcheck // the connection is then broken anyhow
	defer stop()
	tr.begin("proxy")
	head := strings.Join(ConnectLines(addr, login.header()), "\r\n") + "\r\n\r\n"
	if _, err := io.WriteString(conn, head); err != nil {
		return nil, tr.fault(model.BreakReset, PeerService, fmt.Errorf("CONNECT: %w", err))
	}
	limit := &io.LimitedReader{R: conn, N: headBytes}
	var read bytes.Buffer
	br := bufio.NewReader(io.TeeReader(limit, &read))
	resp, err := http.ReadResponse(br, &http.Request{Method: http.MethodConnect})
	if err != nil {
		if limit.N <= 0 {
			err = fmt.Errorf("the head of the answer is larger than %d bytes", headBytes)
		}
		return nil, tr.fault(connectBreak(err, limit.N <= 0), PeerService, fmt.Errorf("CONNECT: %w", err))
	}
	tr.end("proxy", &tr.t.ProxyConnect)
	tun := Tunnel{
		Status: resp.StatusCode, Header: resp.Header, Head: bytes.Clone(read.Bytes()[:read.Len()-br.Buffered()]),
	}
	if tun.Refused() {
		limit.N = refusalBytes
		conn.SetReadDeadline(time.Now().Add(refusalTime))                 //nolint:errcheck // the read below then fails at once
		tun.Body, _ = io.ReadAll(io.LimitReader(resp.Body, refusalBytes)) // a part of the reason is enough
		resp.Body.Close()
		box.put(tun)
		return nil, ErrRefused
	}
	box.put(tun)
	early, _ := br.Peek(br.Buffered())
	if len(early) == 0 {
		return conn, nil
	}
	return &earlyConn{Conn: conn, r: io.MultiReader(bytes.NewReader(bytes.Clone(early)), conn)}, nil
}

// connectBreak distinguishes an answer that is not HTTP from a missing one.
func connectBreak(err error, tooLong bool) model.Breakage {
	if tooLong {
		return model.BreakMalformed
	}
	return Breakage(err)
}

// earlyConn first returns the bytes that came together with the answer to CONNECT.
type earlyConn struct {
	net.Conn
	r io.Reader
}

func (c *earlyConn) Read(p []byte) (int, error) { return c.r.Read(p) }

// ConnectAddr is the target's host:port as CONNECT names it.
func ConnectAddr(u *url.URL) (string, error) {
	port := u.Port()
	if port == "" {
		port = "80"
		if u.Scheme == "https" {
			port = "443"
		}
	}
	addr, err := httpguts.PunycodeHostPort(net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return "", fmt.Errorf("its host: %w", err)
	}
	return addr, nil
}
