package native

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/exits"
	"zonedeck/service/emulator/meter"
	"zonedeck/service/emulator/route"
)

func isEOF(err error) bool { return errors.Is(err, io.EOF) }

type loginKey struct{}

// newForwarder is the part of the proxy that understands HTTP: plain requests, and
// those inside a re-signed connection.
func (p *Proxy) newForwarder() *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite: func(pr *httputil.ProxyRequest) {
			// ReverseProxy drops these two on its own behalf; here they are the client's.
			pr.Out.URL.RawQuery = pr.In.URL.RawQuery
			for name, vs := range pr.In.Header {
				if name == "Forwarded" || strings.HasPrefix(name, "X-Forwarded-") {
					pr.Out.Header[name] = vs
				}
			}
			pr.Out.Host = pr.In.Host
		},
		Transport:     exitTransport{p.conf.Route.Dialer},
		FlushInterval: -1,
		ErrorLog:      slog.NewLogLogger(p.conf.Log.Handler(), slog.LevelDebug),
		ModifyResponse: func(resp *http.Response) error {
			for name := range resp.Header {
				if strings.HasPrefix(name, "X-Brd-") {
					delete(resp.Header, name) // only the service says these
				}
			}
			l := loginOf(resp.Request.Context())
			use := l.use(resp.Request.URL)
			use.Requests, use.Billable = 1, resp.StatusCode >= 200 && resp.StatusCode < 300
			p.conf.Meter.Record(use)
			if resp.StatusCode != http.StatusSwitchingProtocols { // its body is written to as well
				resp.Body = p.conf.Meter.Body(resp.Body, use)
			}
			p.conf.Route.Headers(resp.Header, resp.Request.URL.Hostname(), l.exit, l.flags)
			resp.Header.Set(answer.BasisHeader, answer.BasisProxy)
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) { answer.Refuse(w, route.RefusalOf(err)) },
	}
}

// use says who pays for a fetch by this login.
func (l login) use(target *url.URL) meter.Call {
	return meter.Call{Zone: l.zone.Name, Product: l.zone.Product, Host: target.Hostname(), Secure: target.Scheme == "https"}
}

func loginOf(ctx context.Context) login {
	l, _ := ctx.Value(loginKey{}).(login)
	return l
}

// exitTransport sends each request out by its login's exit.
type exitTransport struct{ d *exits.Dialer }

func (t exitTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	return t.d.Transport(r.URL.Hostname(), loginOf(r.Context()).exit).RoundTrip(r)
}

func (p *Proxy) forward(w http.ResponseWriter, r *http.Request, l login) {
	out := answer.NewPatient(w)
	defer out.Done()
	if r.ContentLength != 0 {
		r.Body = p.conf.Meter.Upload(r.Body, l.use(r.URL))
		r.Body = &idleBody{ReadCloser: r.Body, rc: http.NewResponseController(w)}
	}
	p.forwarder.ServeHTTP(out, r.WithContext(context.WithValue(r.Context(), loginKey{}, l)))
}

// idleBody drops a client that stops sending its request's body halfway.
type idleBody struct {
	io.ReadCloser
	rc *http.ResponseController
}

func (b *idleBody) Read(p []byte) (int, error) {
	if err := b.rc.SetReadDeadline(time.Now().Add(answer.BodyTimeout)); err != nil {
		return 0, err
	}
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		_ = b.rc.SetReadDeadline(time.Time{}) // fails on a dead connection only
	}
	return n, err
}

// resign serves what comes through a CONNECT with the emulator's own certificate
// (service.md 5.2 rule 3). What is not TLS is tunnelled.
func (p *Proxy) resign(c *tunnelled) {
	_ = c.SetReadDeadline(time.Now().Add(helloTimeout)) // a failure shows in the read
	if c.r == nil || c.r.Buffered() == 0 {
		c.r = bufio.NewReaderSize(c.Conn, 4096)
	}
	first, err := c.r.Peek(1)
	if err != nil {
		p.tunnels.drop(c, nil)
		return
	}
	_ = c.SetReadDeadline(time.Time{})
	const recordTypeHandshake = 0x16 // RFC 8446 5.1
	if first[0] == recordTypeHandshake {
		if !p.resigned.give(&ownedConn{tunnelled: c, t: &p.tunnels}) {
			p.tunnels.drop(c, nil)
		}
		return
	}
	target, err := p.conf.Route.Dialer.Dial(p.ctx, c.authority, c.login.exit)
	if err != nil || !p.tunnels.join(target) {
		p.tunnels.drop(c, nil)
		return
	}
	p.tunnels.pipe(c, target, p.conf.Meter)
}

// newInner is the HTTP server behind re-signed connections.
func (p *Proxy) newInner() *http.Server {
	srv := p.conf.NewServer(http.HandlerFunc(p.serveInner))
	srv.TLSConfig = &tls.Config{GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		c, ok := hello.Conn.(*ownedConn)
		if !ok {
			return nil, errors.New("not a proxied connection")
		}
		return p.conf.CA.Leaf(strings.ToLower(c.host))
	}}
	srv.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if tc, ok := c.(*tls.Conn); ok {
			return context.WithValue(ctx, innerKey{}, tc.NetConn())
		}
		return ctx
	}
	return srv
}

// Run serves what is inside re-signed connections until the server is shut down. Its
// error is that of [http.Server.Serve].
func (p *Proxy) Run() error { return p.inner.ServeTLS(p.resigned, "", "") }

type innerKey struct{}

// serveInner forwards one request out of a re-signed connection. It is held to the
// authority of the CONNECT.
func (p *Proxy) serveInner(w http.ResponseWriter, r *http.Request) {
	c, ok := r.Context().Value(innerKey{}).(*ownedConn)
	if !ok || !sameAuthority(r.Host, c.authority) {
		answer.Refuse(w, answer.NewRefusal(http.StatusMisdirectedRequest, "client_10080", "the request's host is not the one of the CONNECT", answer.BasisTarget))
		return
	}
	r.URL = &url.URL{Scheme: "https", Host: c.authority, Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery}
	p.forward(w, r, c.login)
}

// sameAuthority compares a Host header to host:port of a CONNECT; no port is 443.
func sameAuthority(host, authority string) bool {
	if _, _, err := net.SplitHostPort(host); err != nil {
		host = net.JoinHostPort(strings.Trim(host, "[]"), "443")
	}
	return strings.EqualFold(host, authority)
}

// handover is a listener whose connections are given to it.
type handover struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newHandover() *handover {
	return &handover{conns: make(chan net.Conn), done: make(chan struct{})}
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

// ownedConn leaves the set of tunnels when the HTTP server closes it.
type ownedConn struct {
	*tunnelled
	t    *tunnels
	once sync.Once
}

func (c *ownedConn) Close() error {
	c.once.Do(func() { c.t.drop(c.tunnelled, nil) })
	return nil
}
