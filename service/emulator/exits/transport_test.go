package exits

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/internal/noerr"
)

// dialPool is a pool that dials what it is told.
func dialPool(t *testing.T, conf *tls.Config) *pool {
	t.Helper()
	p := newPool(func(ctx context.Context, address string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", address)
	}, conf)
	t.Cleanup(p.closeIdle)
	return p
}

// script is a target that answers the requests of each connection in turn: "" closes it
// instead. The last connection's answers go on for the next ones.
type script struct {
	ln    net.Listener
	lines chan string // of the requests
	mu    sync.Mutex
	conns int
}

func newScript(t *testing.T, answers ...[]string) *script {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	noerr.Must(t, err)
	s := &script{ln: ln, lines: make(chan string, 64)}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			n := min(s.conns, len(answers)-1)
			s.conns++
			s.mu.Unlock()
			wg.Go(func() { s.serve(c, answers[n]) })
		}
	})
	t.Cleanup(func() { ln.Close(); wg.Wait() })
	return s
}

func (s *script) serve(c net.Conn, answers []string) {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute)) // a failure shows in the read
	br := bufio.NewReader(c)
	for _, a := range answers {
		r, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		s.lines <- r.Method + " " + r.RequestURI + " " + strings.Join(r.Header["Idempotency-Key"], ",")
		if _, err := io.WriteString(c, a); err != nil || a == "" {
			return
		}
	}
	_, _ = br.ReadByte() // until the client hangs up
}

func (s *script) opened() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conns
}

const hello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

func send(t *testing.T, rt http.RoundTripper, method, url string, body io.Reader) (string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, body)
	noerr.Must(t, err)
	resp, err := rt.RoundTrip(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

// TestARequestIsSentAgainOnlyWhereThatIsSafe: the target reads it from a kept connection,
// and closes that instead of answering.
func TestARequestIsSentAgainOnlyWhereThatIsSafe(t *testing.T) {
	for method, again := range map[string]bool{
		http.MethodGet: true, http.MethodHead: true, http.MethodOptions: true, http.MethodPut: true, http.MethodDelete: true,
		http.MethodPost: false, http.MethodPatch: false,
	} {
		s := newScript(t, []string{hello, ""}, []string{"HTTP/1.1 204 No Content\r\n\r\n"})
		rt := dialPool(t, nil).http1
		url := "http://" + s.ln.Addr().String() + "/"
		noerr.Must(t, noerr.From(send(t, rt, http.MethodGet, url, nil)))
		_, err := send(t, rt, method, url, nil)
		if again != (err == nil) || again != (s.opened() == 2) {
			t.Errorf("%s: %v, %d connections", method, err, s.opened())
		}
		<-s.lines
		if line := <-s.lines; line != method+" / " {
			t.Errorf("%s was sent as %q", method, line)
		}
	}
	// A connection that is new and does not answer is not tried again.
	s := newScript(t, []string{""})
	if _, err := send(t, dialPool(t, nil).http1, http.MethodGet, "http://"+s.ln.Addr().String()+"/", nil); err == nil || s.opened() != 1 {
		t.Errorf("%v, %d connections", err, s.opened())
	}
}

func TestASpaceInAQueryIsEscaped(t *testing.T) {
	s := newScript(t, []string{hello, hello})
	rt := dialPool(t, nil).http1
	for _, body := range []io.Reader{nil, strings.NewReader("x")} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://"+s.ln.Addr().String()+"/a b?q=c d", body)
		noerr.Must(t, err)
		r.Header.Set("Idempotency-Key", "mine")
		resp, err := rt.RoundTrip(r)
		noerr.Must(t, err)
		resp.Body.Close()
		if line := <-s.lines; line != "PUT /a%20b?q=c%20d mine" || r.URL.RawQuery != "q=c d" {
			t.Errorf("%q of %s", line, r.URL.RawQuery)
		}
	}
}

// TestATargetThatRefusesHTTP1IsAskedForHTTP2: it refuses the handshake for HTTP/1.1 alone.
func TestATargetThatRefusesHTTP1IsAskedForHTTP2(t *testing.T) {
	cert := httptest.NewTLSServer(nil) // for its certificate
	defer cert.Close()
	// crypto/tls lets a client pass that offers HTTP/1.1 alone, unless h2 is not on the list.
	ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		conf := &tls.Config{Certificates: cert.TLS.Certificates, NextProtos: []string{"h3"}}
		if slices.Contains(hello.SupportedProtos, "h2") {
			conf.NextProtos = []string{"h2"}
		}
		return conf, nil
	}})
	noerr.Must(t, err)
	srv := &http.Server{
		Handler:  http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto) }),
		ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: time.Minute,
	}
	var wg sync.WaitGroup
	wg.Go(func() { _ = srv.Serve(ln) })
	defer func() { srv.Close(); wg.Wait() }()
	url := "https://" + ln.Addr().String() + "/"
	trusting := cert.Client().Transport.(*http.Transport).TLSClientConfig
	if b, err := send(t, dialPool(t, trusting).http1, http.MethodGet, url, nil); b != "HTTP/2.0" || err != nil {
		t.Errorf("%q %v", b, err)
	}
	stranger := (*tls.CertificateVerificationError)(nil)
	if _, err := send(t, dialPool(t, nil).http1, http.MethodGet, url, nil); !errors.As(err, &stranger) {
		t.Errorf("an unknown authority: %v", err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
func (zeros) Close() error               { return nil }

// pipes is a listener whose connections are pipes: no network, so that a bubble of synctest
// can tell when everything waits.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error   { close(p); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// piped is a pool whose http targets are h, and so are its https targets with the
// certificate; nobody reads what goes to deaf.test.
func piped(t *testing.T, certificate *httptest.Server, h http.Handler) *pool {
	t.Helper()
	plain, secure := make(pipes), make(pipes)
	srv := &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: time.Hour}
	var wg sync.WaitGroup
	wg.Go(func() { _ = srv.Serve(plain) })
	wg.Go(func() {
		_ = srv.Serve(tls.NewListener(secure, &tls.Config{Certificates: certificate.TLS.Certificates, NextProtos: []string{"h2", "http/1.1"}}))
	})
	p := newPool(func(_ context.Context, address string) (net.Conn, error) {
		near, far := net.Pipe()
		switch address {
		case "deaf.test:80":
		case "example.com:443": // the certificate's name
			secure <- far
		default:
			plain <- far
		}
		return near, nil
	}, certificate.Client().Transport.(*http.Transport).TLSClientConfig)
	t.Cleanup(func() { p.closeIdle(); srv.Close(); wg.Wait() })
	return p
}

// TestAStalledTargetTimesOut, whichever side it is that waits.
func TestAStalledTargetTimesOut(t *testing.T) {
	certificate := httptest.NewTLSServer(nil)
	defer certificate.Close()
	for name, tc := range map[string]struct {
		method, url string
		body        io.ReadCloser
		head        bool // whether there is an answer's head
	}{
		"deaf":                                  {http.MethodPost, "http://deaf.test/", zeros{}, false},
		"deaf to a body":                        {http.MethodPost, "http://lab.test/", zeros{}, false},
		"deaf to a body, HTTP/2":                {http.MethodPost, "https://example.com/", zeros{}, false},
		"silent":                                {http.MethodGet, "http://lab.test/", nil, false},
		"silent, HTTP/2":                        {http.MethodGet, "https://example.com/", nil, false},
		"silent in the middle":                  {http.MethodGet, "http://lab.test/half", nil, true},
		"silent in the middle, HTTP/2":          {http.MethodGet, "https://example.com/half", nil, true},
		"deaf and silent in the middle, HTTP/2": {http.MethodPost, "https://example.com/half", zeros{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				p := piped(t, certificate, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_ = http.NewResponseController(w).EnableFullDuplex()
					if r.URL.Path == "/half" {
						fmt.Fprint(w, "half")
						_ = http.NewResponseController(w).Flush()
					}
					<-release
				}))
				t.Cleanup(func() { close(release) })
				r, err := http.NewRequestWithContext(t.Context(), tc.method, tc.url, tc.body)
				noerr.Must(t, err)
				if tc.body != nil {
					r.ContentLength = -1
				}
				by := p.http1
				if r.URL.Scheme == "https" {
					by = p.http2
				}
				began := time.Now()
				resp, err := by.RoundTrip(r)
				if tc.head {
					noerr.Must(t, err)
					_, err = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
				if ne := net.Error(nil); !errors.As(err, &ne) || !ne.Timeout() || time.Since(began) != patience {
					t.Errorf("after %v: %v", time.Since(began), err)
				}
			})
		})
	}
}

// TestATargetThatMovesIsWaitedFor: slow bodies in both directions, longer than the patience.
func TestATargetThatMovesIsWaitedFor(t *testing.T) {
	certificate := httptest.NewTLSServer(nil)
	defer certificate.Close()
	synctest.Test(t, func(t *testing.T) {
		const steps = 16
		step := func() { time.Sleep(patience / 8) } //nolint:forbidigo // the bubble's clock
		p := piped(t, certificate, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			for range steps {
				step()
				fmt.Fprint(w, len(b))
				_ = http.NewResponseController(w).Flush()
			}
		}))
		pr, pw := io.Pipe()
		go func() {
			for range steps {
				step()
				_, _ = io.WriteString(pw, "x")
			}
			pw.Close()
		}()
		if b, err := send(t, p.http1, http.MethodPost, "http://lab.test/", pr); err != nil || b != strings.Repeat("16", steps) {
			t.Errorf("%q %v", b, err)
		}
	})
}
