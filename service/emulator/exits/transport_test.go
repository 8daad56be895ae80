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
	"time"
)

// dialPool is a pool that dials what it is told.
func dialPool(t *testing.T, conf *tls.Config, patience time.Duration) *pool {
	t.Helper()
	p := newPool(func(ctx context.Context, address string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", address)
	}, conf, patience)
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
	if err != nil {
		t.Fatal(err)
	}
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
	_ = c.SetDeadline(time.Now().Add(10 * time.Second)) // a failure shows in the read
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
	if err != nil {
		t.Fatal(err)
	}
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
		rt := dialPool(t, nil, patience).http1
		url := "http://" + s.ln.Addr().String() + "/"
		if _, err := send(t, rt, http.MethodGet, url, nil); err != nil {
			t.Fatal(err)
		}
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
	if _, err := send(t, dialPool(t, nil, patience).http1, http.MethodGet, "http://"+s.ln.Addr().String()+"/", nil); err == nil || s.opened() != 1 {
		t.Errorf("%v, %d connections", err, s.opened())
	}
}

func TestASpaceInAQueryIsEscaped(t *testing.T) {
	s := newScript(t, []string{hello, hello})
	rt := dialPool(t, nil, patience).http1
	for _, body := range []io.Reader{nil, strings.NewReader("x")} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://"+s.ln.Addr().String()+"/a b?q=c d", body)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Idempotency-Key", "mine")
		resp, err := rt.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
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
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{
		Handler:  http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto) }),
		ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: time.Minute,
	}
	var wg sync.WaitGroup
	wg.Go(func() { _ = srv.Serve(ln) })
	defer func() { srv.Close(); wg.Wait() }()
	url := "https://" + ln.Addr().String() + "/"
	trusting := cert.Client().Transport.(*http.Transport).TLSClientConfig
	if b, err := send(t, dialPool(t, trusting, patience).http1, http.MethodGet, url, nil); b != "HTTP/2.0" || err != nil {
		t.Errorf("%q %v", b, err)
	}
	stranger := (*tls.CertificateVerificationError)(nil)
	if _, err := send(t, dialPool(t, nil, patience).http1, http.MethodGet, url, nil); !errors.As(err, &stranger) {
		t.Errorf("an unknown authority: %v", err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
func (zeros) Close() error               { return nil }

// TestAStalledTargetTimesOut, whichever side it is that waits.
func TestAStalledTargetTimesOut(t *testing.T) {
	release := make(chan struct{})
	silent := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex()
		if r.URL.Path == "/half" {
			fmt.Fprint(w, "half")
			_ = http.NewResponseController(w).Flush()
		}
		<-release
	}))
	silent.EnableHTTP2 = true
	silent.StartTLS()
	defer silent.Close()
	defer close(release)
	deaf, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and reads nothing
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	p := dialPool(t, silent.Client().Transport.(*http.Transport).TLSClientConfig, 200*time.Millisecond)
	for _, tc := range []struct {
		name, method, url string
		by                *transport
		body              io.ReadCloser
		head              bool // whether there is an answer's head
	}{
		{"deaf", http.MethodPost, "http://" + deaf.Addr().String(), p.http1, zeros{}, false},
		{"deaf, HTTP/2", http.MethodPost, silent.URL, p.http2, zeros{}, false},
		{"silent", http.MethodGet, silent.URL, p.http1, nil, false},
		{"silent, HTTP/2", http.MethodGet, silent.URL, p.http2, nil, false},
		{"silent in the middle", http.MethodGet, silent.URL + "/half", p.http1, nil, true},
		{"silent in the middle, HTTP/2", http.MethodGet, silent.URL + "/half", p.http2, nil, true},
		{"deaf and silent in the middle, HTTP/2", http.MethodPost, silent.URL + "/half", p.http2, zeros{}, true},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		r, err := http.NewRequestWithContext(ctx, tc.method, tc.url, tc.body)
		if err != nil {
			t.Fatal(err)
		}
		if tc.body != nil {
			r.ContentLength = -1
		}
		resp, err := tc.by.RoundTrip(r)
		if tc.head {
			if err != nil {
				t.Fatalf("%s: %v", tc.name, err)
			}
			_, err = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		ne := net.Error(nil)
		if ctx.Err() != nil || !errors.As(err, &ne) || !ne.Timeout() {
			t.Errorf("%s: %v", tc.name, err)
		}
		cancel()
	}
}

// TestATargetThatMovesIsWaitedFor: slow bodies in both directions, longer than the patience.
func TestATargetThatMovesIsWaitedFor(t *testing.T) {
	const patience, steps = 400 * time.Millisecond, 16
	tick := time.NewTicker(patience / 8)
	defer tick.Stop()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		for range steps {
			<-tick.C
			fmt.Fprint(w, len(b))
			_ = http.NewResponseController(w).Flush()
		}
	}))
	defer srv.Close()
	pr, pw := io.Pipe()
	go func() {
		for range steps {
			<-tick.C
			_, _ = io.WriteString(pw, "x")
		}
		pw.Close()
	}()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL, pr)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := dialPool(t, nil, patience).http1.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); err != nil || string(b) != strings.Repeat("16", steps) {
		t.Errorf("%q %v", b, err)
	}
}
