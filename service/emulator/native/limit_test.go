package native

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
)

// closed waits until the other side has ended the connection.
func closed(t testing.TB, c net.Conn) {
	t.Helper()
	noerr.Must(t, c.SetReadDeadline(time.Now().Add(time.Minute)))
	if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("still open after a minute")
	}
}

// TestSilentClientsAreDropped: before the login, after a CONNECT, in the middle of a
// handshake, of a head inside TLS, of SOCKS5. Only the time that a case is about is short,
// so that what comes before it may take any time.
func TestSilentClientsAreDropped(t *testing.T) {
	const short = 100 * time.Millisecond
	target := http.NotFoundHandler()
	headers := rigOptions{target: target, headers: short}
	inside := rigOptions{target: target, headers: 3 * time.Second} // after a CONNECT and a handshake within that time
	idle := rigOptions{target: target, conf: func(c *Config) { c.TunnelIdle = short }}
	handshake := rigOptions{target: target, conf: func(c *Config) { c.Handshake = short }}
	for _, c := range []struct {
		name    string
		options rigOptions
		open    func(*rig) net.Conn
	}{
		{"half a request", headers, func(g *rig) net.Conn { c, _ := g.raw("GET http://lab.test/ HTTP/1.1\r\nHost: la"); return c }},
		{"nothing", headers, func(g *rig) net.Conn { c, _ := g.raw(""); return c }},
		{"a tunnel where nothing moves", idle, func(g *rig) net.Conn { return g.connect("isp", "lab.test:80") }},
		{"a tunnel to TLS where nothing moves", idle, func(g *rig) net.Conn { return g.connect("isp", "lab.test:443") }},
		{"no word after a re-signed CONNECT", handshake, func(g *rig) net.Conn { return g.connect("residential", "lab.test:443") }},
		{"half a ClientHello", inside, func(g *rig) net.Conn {
			c := g.connect("residential", "lab.test:443")
			_, _ = c.Write([]byte{0x16, 3, 1, 2})
			return c
		}},
		{"half a head inside", inside, func(g *rig) net.Conn {
			c := g.inside("residential", "http/1.1")
			_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHo")
			return c
		}},
		{"half a SOCKS5 greeting", handshake, func(g *rig) net.Conn {
			c, err := net.Dial("tcp", g.socks)
			noerr.Must(t, err)
			t.Cleanup(func() { c.Close() })
			_, _ = c.Write([]byte{5, 2})
			return c
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			closed(t, c.open(newRig(t, c.options)))
		})
	}
}

// TestBulkIsWhole: bytes that are moved inside the kernel arrive complete.
func TestBulkIsWhole(t *testing.T) {
	const size = 6<<20 + 12345
	g := newRig(t, rigOptions{target: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			sum := 0
			n, _ := io.Copy(writerFunc(func(p []byte) {
				for _, c := range p {
					sum += int(c)
				}
			}), r.Body)
			fmt.Fprint(w, n, " ", sum)
			return
		}
		w.Header().Set("Content-Length", fmt.Sprint(size))
		_, _ = io.Copy(w, io.LimitReader(&pattern{}, size))
	})})
	want := 0
	_, _ = io.Copy(writerFunc(func(p []byte) {
		for _, c := range p {
			want += int(c)
		}
	}), io.LimitReader(&pattern{}, size))
	for _, way := range ways() {
		c := g.client(way.login, way.http2)
		resp, err := c.Get(way.base + "/")
		noerr.Must(t, err)
		sum := 0
		n, err := io.Copy(writerFunc(func(p []byte) {
			for _, c := range p {
				sum += int(c)
			}
		}), resp.Body)
		resp.Body.Close()
		if err != nil || n != size || sum != want {
			t.Errorf("%s: %d bytes, sum %d of %d, %v", way.name, n, sum, want, err)
		}
		resp, err = c.Post(way.base+"/", "x", io.LimitReader(&pattern{}, size))
		if got := body(t, resp, err); got != fmt.Sprint(size, " ", want) {
			t.Errorf("%s: the target got %s", way.name, got)
		}
	}
}

type pattern struct{ at byte }

func (p *pattern) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = p.at
		p.at = p.at*5 + 3
	}
	return len(b), nil
}

type writerFunc func([]byte)

func (f writerFunc) Write(p []byte) (int, error) { f(p); return len(p), nil }

// TestADeadTargetIsA502WithItsReason, never a bare close.
func TestADeadTargetIsA502WithItsReason(t *testing.T) {
	for _, c := range []struct {
		name   string
		accept func(net.Conn) // nil: there is no listener
		code   string
		plain  bool // shows only where the proxy speaks HTTP to the target
	}{
		{"refused", nil, "target_40020", false},
		{"closed at once", func(c net.Conn) { c.Close() }, "net_err_closed", true},
		{"closed after the request", func(c net.Conn) { _, _ = http.ReadRequest(bufio.NewReader(c)); c.Close() }, "net_err_closed", true},
		{"reset", func(c net.Conn) {
			_, _ = http.ReadRequest(bufio.NewReader(c))
			_ = c.(*net.TCPConn).SetLinger(0)
			c.Close()
		}, "net_err_closed", true},
		{"no HTTP", func(c net.Conn) {
			// Read first: closing with bytes unread resets the connection, and the reset
			// may overtake what was written.
			if r, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
				_, _ = io.Copy(io.Discard, r.Body)
			}
			fmt.Fprint(c, "220 mail.example ESMTP\r\n")
			c.Close()
		}, "document_load_failed", true},
		{"a head without end", func(c net.Conn) {
			if r, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
				_, _ = io.Copy(io.Discard, r.Body)
			}
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\n")
			for {
				if _, err := fmt.Fprintf(c, "X: %s\r\n", strings.Repeat("x", 8000)); err != nil {
					return
				}
			}
		}, "document_load_failed", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			noerr.Must(t, err)
			done := make(chan struct{})
			go func() {
				defer close(done)
				for c.accept != nil {
					conn, err := ln.Accept()
					if err != nil {
						return
					}
					c.accept(conn)
					conn.Close()
				}
			}()
			g := newRig(t, rigOptions{rawTarget: ln})
			if c.accept == nil {
				ln.Close()
			}
			t.Cleanup(func() { ln.Close(); <-done })
			check := func(what string, resp *http.Response, err error) {
				t.Helper()
				if err != nil {
					t.Errorf("%s: %v", what, err)
					return
				}
				resp.Body.Close()
				h := resp.Header
				if resp.StatusCode != http.StatusBadGateway || h.Get("x-brd-err-code") != c.code || h.Get("x-brd-err-msg") == "" || !strings.Contains(h.Get("Proxy-Status"), c.code) {
					t.Errorf("%s: %d %v", what, resp.StatusCode, h)
				}
			}
			resp, err := g.client("datacenter", false).Get("http://lab.test/")
			check("plain", resp, err)
			resp, err = g.client("datacenter", false).Post("http://lab.test/", "text/plain", strings.NewReader("x"))
			check("plain, with a body", resp, err)
			if !c.plain {
				_, r := g.raw("CONNECT lab.test:443 HTTP/1.1\r\nHost: lab.test:443\r\nProxy-Authorization: " + basic("isp") + "\r\n\r\n")
				resp, err = http.ReadResponse(r, &http.Request{Method: http.MethodConnect})
				check("CONNECT", resp, err)
				resp, err = g.client("residential", false).Get("https://lab.test/")
				check("re-signed", resp, err)
				resp, err = g.client("residential", true).Get("https://lab.test/")
				check("re-signed, HTTP/2", resp, err)
				conn, r := g.raw("CONNECT lab.test:443 HTTP/1.1\r\nHost: lab.test:443\r\nProxy-Authorization: " + basic("residential") + "\r\n\r\n")
				if resp, err = http.ReadResponse(r, &http.Request{Method: http.MethodConnect}); err != nil || resp.StatusCode != http.StatusOK {
					t.Fatal(resp, err)
				}
				fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: lab.test\r\n\r\n")
				resp, err = http.ReadResponse(r, nil)
				check("without TLS inside", resp, err)
			}
		})
	}
}

// TestRequestsInsideAreHeldToTheAuthority of their CONNECT, in every form they can name
// another.
func TestRequestsInsideAreHeldToTheAuthority(t *testing.T) {
	g := newRig(t, rigOptions{target: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "reached ", r.Host) })})
	for request, want := range map[string]string{
		"GET / HTTP/1.1\r\nHost: lab.test\r\n":                                      "200",
		"GET / HTTP/1.1\r\nHost: LAB.test:443\r\n":                                  "200",
		"GET https://lab.test/ HTTP/1.1\r\nHost: other.example\r\n":                 "200", // RFC 9112 3.2.2
		"GET / HTTP/1.1\r\nHost: other.example\r\n":                                 "421",
		"GET / HTTP/1.1\r\nHost: lab.test:8443\r\n":                                 "421",
		"GET / HTTP/1.1\r\nHost: lab.test.\r\n":                                     "421",
		"GET https://other.example/ HTTP/1.1\r\nHost: lab.test\r\n":                 "421",
		"GET http://lab.test:443/ HTTP/1.1\r\nHost: lab.test:443\r\n":               "421",
		"GET / HTTP/1.0\r\n":                                                        "421",
		"CONNECT other.example:443 HTTP/1.1\r\nHost: other.example:443\r\n":         "421",
		"CONNECT lab.test:443 HTTP/1.1\r\nHost: lab.test:443\r\n":                   "403",
		"GET /@other.example HTTP/1.1\r\nHost: lab.test\r\nX-Forwarded-Host: x\r\n": "200",
	} {
		tc := g.inside("residential", "http/1.1")
		noerr.Must(t, noerr.From(io.WriteString(tc, request+"Connection: close\r\n\r\n")))
		b, _ := io.ReadAll(tc)
		if head, _, _ := strings.Cut(string(b), "\r\n"); !strings.Contains(head, want) {
			t.Errorf("%q: %q", request, b)
		}
	}
	// HTTP/2: a client whose :authority is another than the CONNECT's.
	tr := &http.Transport{ForceAttemptHTTP2: true, DialTLS: func(string, string) (net.Conn, error) { return g.inside("residential", "h2"), nil }}
	defer tr.CloseIdleConnections()
	for host, want := range map[string]int{"lab.test": 200, "lab.test:443": 200, "other.example": 421} {
		resp, err := (&http.Client{Transport: tr}).Get("https://" + host + "/")
		if body(t, resp, err); resp.StatusCode != want || resp.ProtoMajor != 2 {
			t.Errorf(":authority %s: %s %s", host, resp.Proto, resp.Status)
		}
	}
}

// TestALeafIsForTheConnectsHost whatever name the ClientHello asks for.
func TestALeafIsForTheConnectsHost(t *testing.T) {
	g := newRig(t, rigOptions{target: http.NotFoundHandler()})
	tc := tls.Client(g.connect("residential", "lab.test:443"), &tls.Config{ServerName: "other.example", InsecureSkipVerify: true})
	defer tc.Close()
	noerr.Must(t, tc.Handshake())
	if leaf := tc.ConnectionState().PeerCertificates[0]; leaf.VerifyHostname("lab.test") != nil || leaf.VerifyHostname("other.example") == nil {
		t.Errorf("the certificate is for %v", leaf.DNSNames)
	}
}

func TestANewPasswordTakesEffectInsideOpenConnectionsToo(t *testing.T) {
	g := newRig(t, rigOptions{target: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") })})
	c := g.client("residential", false)
	resp, err := c.Get("https://lab.test/")
	if got := body(t, resp, err); got != "ok" {
		t.Fatal(got)
	}
	noerr.Must(t, noerr.From(g.acc.NewPassword("residential")))
	resp, err = c.Get("https://lab.test/")
	if body(t, resp, err); resp.StatusCode != http.StatusProxyAuthRequired || resp.Header.Get("x-brd-err-code") != "client_10000" {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
}
