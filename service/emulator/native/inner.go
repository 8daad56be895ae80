package native

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/route"
)

// Windows of HTTP/2 inside re-signed connections. A connection's window exceeds those of all
// its streams, so that an unread stream does not stall the others.
const (
	innerStreams      = 100
	innerStreamWindow = 256 << 10
	innerConnWindow   = (innerStreams + 1) * innerStreamWindow
)

// resign serves what comes through a CONNECT with the emulator's own certificate
// (service.md 5.2 rule 3). It tunnels anything but TLS.
func (p *Proxy) resign(c *tunnelled) {
	_ = c.SetReadDeadline(time.Now().Add(p.conf.Handshake)) // if this fails, so does the read
	if c.r == nil || c.r.Buffered() == 0 {
		c.r = bufio.NewReaderSize(c.Conn, 4096)
	}
	first, err := c.r.Peek(1)
	if err != nil {
		p.stages.Done(c.visit, Outcome{Status: http.StatusOK, Cut: true})
		p.tunnels.drop(c)
		return
	}
	_ = c.SetReadDeadline(time.Time{})
	const recordTypeHandshake = 0x16 // RFC 8446 5.1
	if first[0] == recordTypeHandshake {
		p.stages.Done(c.visit, Outcome{Status: http.StatusOK}) // each request inside is a visit
		if !p.resigned.give(&ownedConn{tunnelled: c, t: &p.tunnels}) {
			p.tunnels.drop(c)
		}
		return
	}
	target, err := p.dial(p.ctx, c.visit, c.visit.Target)
	if err != nil {
		p.refuseInside(c, route.RefusalOf(err), 'A' <= first[0] && first[0] <= 'Z')
		return
	}
	if !p.tunnels.add(target) {
		p.stages.Done(c.visit, Outcome{Status: http.StatusOK, Cut: true})
		p.tunnels.drop(c)
		return
	}
	p.tunnel(c, target)
}

// refuseInside ends a connection that is already open. It tells the reason to clients that
// speak HTTP without TLS; others would not understand it.
func (p *Proxy) refuseInside(c *tunnelled, r answer.Refusal, speaksHTTP bool) {
	defer p.tunnels.drop(c)
	if !speaksHTTP {
		p.stages.Done(c.visit, Outcome{Status: http.StatusOK, Code: r.Code, Cut: true})
		return
	}
	h := http.Header{"Content-Length": {"0"}, "Connection": {"close"}, answer.BasisHeader: {r.Basis}}
	r.Headers(h)
	err := writeHead(c.Conn, strconv.Itoa(r.Status)+" "+http.StatusText(r.Status), h)
	p.stages.Done(c.visit, Outcome{Status: r.Status, Code: r.Code, Cut: err != nil})
}

// newInner makes the HTTP server behind re-signed connections.
func (p *Proxy) newInner() *http.Server {
	srv := p.conf.NewServer(http.HandlerFunc(p.serveInner))
	srv.HTTP2 = &http.HTTP2Config{
		MaxConcurrentStreams: innerStreams, MaxReceiveBufferPerStream: innerStreamWindow, MaxReceiveBufferPerConnection: innerConnWindow,
	}
	srv.TLSConfig = &tls.Config{GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		c, ok := hello.Conn.(*ownedConn)
		if !ok {
			return nil, errors.New("not a proxied connection")
		}
		return p.conf.CA.Leaf(c.visit.Host)
	}}
	srv.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if tc, ok := c.(*tls.Conn); ok {
			return context.WithValue(ctx, innerKey{}, tc.NetConn())
		}
		return ctx
	}
	return srv
}

// Run serves the requests inside re-signed connections until the server is shut down. Its
// error is that of [http.Server.Serve].
func (p *Proxy) Run() error { return p.inner.ServeTLS(p.resigned, "", "") }

type innerKey struct{}

// serveInner forwards one request from a re-signed connection, to the authority of the
// CONNECT and through its exit. It checks the login again, because a new password takes
// effect at once (service.md 3).
func (p *Proxy) serveInner(w http.ResponseWriter, r *http.Request) {
	c, ok := r.Context().Value(innerKey{}).(*ownedConn)
	if !ok || !sameAuthority(r.Host, c.visit.Target) || r.URL.Scheme != "" && r.URL.Scheme != "https" {
		answer.Refuse(w, answer.NewRefusal(http.StatusMisdirectedRequest, "client_10080", "the request's host is not the one of the CONNECT", answer.BasisTarget))
		return
	}
	if r.Method == http.MethodConnect {
		answer.Refuse(w, answer.NewRefusal(http.StatusForbidden, "policy_20010", "a CONNECT inside a re-signed connection is not done", answer.BasisTarget))
		return
	}
	l, refused := p.recheck(c.login)
	if refused != nil {
		answer.Refuse(w, *refused)
		return
	}
	v := *c.visit
	v.Entry, v.ID, v.Zone, v.Began = entryInner, p.ids.Next(), l.zone, time.Now()
	if refused := p.stages.Admit(&v); refused != nil {
		answer.Refuse(w, *refused)
		return
	}
	r.URL = &url.URL{Scheme: "https", Host: c.visit.Target, Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery, ForceQuery: r.URL.ForceQuery, OmitHost: r.URL.OmitHost}
	v.Method, v.Target = r.Method, r.URL.String()
	p.around(w, r, &v, p.forward)
}

// sameAuthority compares a Host header to the host:port of a CONNECT; the default port is 443.
func sameAuthority(host, authority string) bool {
	if strings.EqualFold(host, authority) {
		return true
	}
	if _, _, err := net.SplitHostPort(host); err != nil {
		host = net.JoinHostPort(strings.Trim(host, "[]"), "443")
	}
	return strings.EqualFold(host, authority)
}

// handover is a listener for connections that are already open.
type handover struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (h *handover) give(c net.Conn) bool {
	select {
	case h.conns <- c:
		return true
	case <-h.done:
		return false
	}
}

func (h *handover) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.done:
		return nil, net.ErrClosed
	}
}

func (h *handover) Close() error {
	h.once.Do(func() { close(h.done) })
	return nil
}

func (h *handover) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// ownedConn is a re-signed connection that leaves the tunnels when the HTTP server closes it.
type ownedConn struct {
	*tunnelled
	t    *tunnels
	once sync.Once
}

func (c *ownedConn) Close() error {
	c.once.Do(func() { c.t.drop(c.tunnelled) })
	return nil
}

// guestIdle is how long a guest's tunnel may carry nothing: a page may keep a WebSocket
// open as long as its session lasts.
const guestIdle = time.Hour

// Guest is one session of the emulator's browser. The browser has checked its login, decides
// which targets it may reach, and counts what it costs.
type Guest interface {
	// DialContext opens a connection to a target (host:port).
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
	// RoundTrip sends a plain request to its target.
	http.RoundTripper
}

// Guests is the proxy for guests. Its tunnels end with the guests' connections.
type Guests struct{ proxy *Proxy }

// NewGuests makes a proxy that serves guests alone.
func NewGuests(ctx context.Context, log *slog.Logger) *Guests {
	g := &Guests{&Proxy{ctx: ctx, conf: Config{Log: log}}}
	g.proxy.tunnels.idle = guestIdle
	return g
}

// Serve forwards a plain request, or opens the tunnel of a CONNECT, and returns when it has
// ended. It refuses a tunnel whose target cannot be reached. It cuts a plain request instead,
// because the page would take a refusal for the target's answer.
func (g *Guests) Serve(w http.ResponseWriter, r *http.Request, guest Guest) {
	v := &Visit{Entry: entryGuest, guest: guest, Client: addrPortOf(r.RemoteAddr), Method: r.Method, Host: r.URL.Hostname(), Target: r.URL.String(), Began: time.Now()}
	if r.Method == http.MethodConnect {
		v.Target = r.Host
		g.proxy.connect(w, r, v, nil)
		return
	}
	g.proxy.forward(w, r, v)
}
