package native

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/ca"
	"zonedeck/service/emulator/exits"
	"zonedeck/service/emulator/lab"
	"zonedeck/service/emulator/route"
	"zonedeck/service/emulator/scenario"
	"zonedeck/service/emulator/state"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a proxy before one target, which is lab.test by http and https.
type rig struct {
	t     testing.TB
	proxy *Proxy
	acc   *account.Account
	ca    *ca.Authority
	pool  *exits.Pool
	addr  string // of the proxy
	socks string
}

type rigOptions struct {
	target    http.Handler
	conf      func(*Config)
	now       func() time.Time
	headers   time.Duration // for request heads; 0 is ten seconds
	rawTarget net.Listener  // instead of the handler's
}

func newRig(t testing.TB, o rigOptions) *rig {
	t.Helper()
	if o.now == nil {
		o.now = time.Now
	}
	if o.headers == 0 {
		o.headers = 10 * time.Second
	}
	must := func(err error) {
		t.Helper()
		noerr.Must(t, err)
	}
	dir, err := state.Open("", o.now)
	must(err)
	t.Cleanup(func() { _ = dir.Close() })
	sc := &scenario.Scenario{Name: "rig", Account: "hl_rig", Prefix: "brd"}
	for _, p := range []string{"datacenter", "isp", "residential", "mobile", "unlocker", "browser", "serp", "crawl"} {
		sc.Zones = append(sc.Zones, scenario.Zone{Name: p, Product: p, Password: "pw"})
	}
	sc.Zones = append(sc.Zones,
		scenario.Zone{Name: "checked", Product: "unlocker", Password: "pw", IdentityVerified: true},
		scenario.Zone{Name: "kyc", Product: "residential", Password: "pw", IdentityVerified: true})
	g := &rig{t: t, pool: exits.NewPool(o.now)}
	g.acc, err = account.Open(sc, dir, o.now, o.now())
	must(err)
	g.ca, err = ca.Open(dir)
	must(err)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	var servers []*http.Server
	newServer := func(h http.Handler) *http.Server {
		s := &http.Server{Handler: h, ReadHeaderTimeout: o.headers, IdleTimeout: time.Minute, DisableGeneralOptionsHandler: true, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)}
		servers = append(servers, s)
		return s
	}
	listen := func() net.Listener {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		must(err)
		return ln
	}
	target := o.rawTarget
	if target == nil {
		target = listen()
		both := lab.Split(target, &tls.Config{
			NextProtos:     []string{"h2", "http/1.1"},
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return g.ca.Leaf("lab.test") },
		})
		srv := newServer(o.target)
		// The windows of the target do not concern the proxy.
		srv.HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerConnection: 256 << 20, MaxReceiveBufferPerStream: 1 << 20}
		wg.Go(func() { _ = srv.Serve(both) })
	}
	d := exits.NewDialer(target.Addr().(*net.TCPAddr).AddrPort(), &tls.Config{RootCAs: g.ca.Pool()}, nil)
	d.UseResolver(&net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("no DNS in this test")
	}})
	conf := Config{Account: g.acc, Route: route.Router{Pool: g.pool, Dialer: d}, CA: g.ca, Log: slog.New(slog.DiscardHandler), NewServer: newServer}
	if o.conf != nil {
		o.conf(&conf)
	}
	g.proxy = New(ctx, conf)
	ln, socks := listen(), listen()
	g.addr, g.socks = ln.Addr().String(), socks.Addr().String()
	front := newServer(g.proxy)
	wg.Go(func() { _ = front.Serve(ln) })
	wg.Go(func() { _ = g.proxy.Run() })
	wg.Go(func() { _ = g.proxy.ServeSOCKS(socks) })
	t.Cleanup(func() {
		cancel()
		socks.Close()
		g.proxy.CloseTunnels()
		d.Close()
		for _, s := range servers {
			s.Close()
		}
		target.Close()
		wg.Wait()
		d.Close()
	})
	return g
}

func user(login string) string { return "brd-customer-hl_rig-zone-" + login }

func basic(login string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user(login)+":pw"))
}

// client goes through the proxy; http2 is for requests inside re-signed connections.
func (g *rig) client(login string, http2 bool) *http.Client {
	tr := &http.Transport{
		Proxy:           http.ProxyURL(&url.URL{Scheme: "http", Host: g.addr, User: url.UserPassword(user(login), "pw")}),
		TLSClientConfig: &tls.Config{RootCAs: g.ca.Pool()}, ForceAttemptHTTP2: http2, ExpectContinueTimeout: 2 * time.Second, DisableCompression: true,
	}
	g.t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: time.Minute}
}

// raw sends bytes to the proxy and returns the connection.
func (g *rig) raw(text string) (net.Conn, *bufio.Reader) {
	g.t.Helper()
	c, err := net.Dial("tcp", g.addr)
	noerr.Must(g.t, err)
	g.t.Cleanup(func() { c.Close() })
	noerr.Must(g.t, c.SetDeadline(time.Now().Add(time.Minute)))
	noerr.Must(g.t, noerr.From(io.WriteString(c, text)))
	return c, bufio.NewReader(c)
}

// connect opens a tunnel; the answer has to be 200.
func (g *rig) connect(login, target string) net.Conn {
	g.t.Helper()
	c, r := g.raw("CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\nProxy-Authorization: " + basic(login) + "\r\n\r\n")
	resp, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect})
	if err != nil || resp.StatusCode != http.StatusOK {
		g.t.Fatalf("CONNECT %s: %v %v", target, resp, err)
	}
	return &readAhead{c, r}
}

// readAhead is a connection behind a reader that has read ahead.
type readAhead struct {
	net.Conn
	r *bufio.Reader
}

func (c *readAhead) Read(p []byte) (int, error) { return c.r.Read(p) }

// inside is TLS in a re-signed connection, with one protocol.
func (g *rig) inside(login, proto string) *tls.Conn {
	g.t.Helper()
	tc := tls.Client(g.connect(login, "lab.test:443"), &tls.Config{ServerName: "lab.test", RootCAs: g.ca.Pool(), NextProtos: []string{proto}})
	noerr.Must(g.t, tc.Handshake())
	return tc
}

func body(t testing.TB, resp *http.Response, err error) string {
	t.Helper()
	noerr.Must(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	noerr.Must(t, err)
	return string(b)
}

// ways are those by which a request gets through the proxy in the clear or re-signed.
func ways() []struct {
	name, login, base string
	http2             bool
} {
	return []struct {
		name, login, base string
		http2             bool
	}{
		{"plain", "datacenter", "http://lab.test", false},
		{"tunnel", "datacenter", "https://lab.test", false},
		{"tunnel, HTTP/2", "datacenter", "https://lab.test", true},
		{"re-signed", "residential", "https://lab.test", false},
		{"re-signed, HTTP/2", "residential", "https://lab.test", true},
	}
}
