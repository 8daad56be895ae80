package h1

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script is a target whose connections answer as they are told, one text for each
// request. "" closes instead.
type script struct {
	t     testing.TB
	ln    net.Listener
	conns atomic.Int32
	mu    sync.Mutex
	heads []string
}

// cut at the end of an answer closes the connection after it.
const cut = "\x00"

// newScript serves answers: by connection, by request on it. The last list goes on.
func newScript(t testing.TB, answers ...[]string) *script {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &script{t: t, ln: ln}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			n := min(int(s.conns.Add(1)), len(answers)) - 1
			wg.Go(func() { s.serve(c, answers[n]) })
		}
	})
	t.Cleanup(func() { ln.Close(); wg.Wait() })
	return s
}

func (s *script) serve(c net.Conn, answers []string) {
	defer c.Close()
	r := bufio.NewReader(c)
	for _, a := range answers {
		var head strings.Builder
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			if line == "\r\n" {
				break
			}
			head.WriteString(line)
		}
		s.mu.Lock()
		s.heads = append(s.heads, head.String())
		s.mu.Unlock()
		if a == "" {
			return
		}
		text, last := strings.CutSuffix(a, cut)
		if _, err := io.WriteString(c, text); err != nil || last {
			return
		}
	}
	_, _ = r.ReadByte() // until the client hangs up
}

func (s *script) url() string { return "http://" + s.ln.Addr().String() + "/" }

func newClient(t testing.TB, conf Config) *Client {
	t.Helper()
	if conf.Dial == nil {
		conf.Dial = func(ctx context.Context, address string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", address)
		}
	}
	if conf.Other == nil {
		conf.Other = roundTrip(func(*http.Request) (*http.Response, error) { return nil, errors.New("not taken here") })
	}
	c := New(conf)
	t.Cleanup(c.CloseIdleConnections)
	return c
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func send(ctx context.Context, t testing.TB, c *Client, method, url string) (*http.Response, string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.RoundTrip(r)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp, string(b), err
}

const hello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

func TestConnectionsAreKept(t *testing.T) {
	for name, answer := range map[string]string{
		"a length":                 hello,
		"chunks":                   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
		"after informational ones": "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + hello,
	} {
		s := newScript(t, []string{answer, answer, answer})
		c := newClient(t, Config{})
		for range 3 {
			if _, b, err := send(t.Context(), t, c, http.MethodGet, s.url()); err != nil || b != "hello" {
				t.Fatalf("%s: %q %v", name, b, err)
			}
		}
		if n := s.conns.Load(); n != 1 {
			t.Errorf("%s: %d connections", name, n)
		}
	}
}

func TestConnectionsAreNotKept(t *testing.T) {
	for name, answer := range map[string]string{
		"Connection: close":   "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello",
		"HTTP/1.0":            "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello",
		"more than the body":  hello + "HTTP/1.1 200 OK\r\n",
		"two answers at once": hello + hello,
	} {
		s := newScript(t, []string{answer, hello})
		c := newClient(t, Config{})
		for range 2 {
			if _, b, err := send(t.Context(), t, c, http.MethodGet, s.url()); err != nil || b != "hello" {
				t.Fatalf("%s: %q %v", name, b, err)
			}
		}
		if n := s.conns.Load(); n != 2 {
			t.Errorf("%s: %d connections", name, n)
		}
	}
	s := newScript(t, []string{"HTTP/1.1 200 OK\r\n\r\nhello", ""}, []string{hello})
	c := newClient(t, Config{})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url(), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 2)
	if _, err := io.ReadFull(resp.Body, b); err != nil {
		t.Fatal(err)
	}
	resp.Body.Close() // half read
	if _, err := resp.Body.Read(b); err == nil {
		t.Error("read after Close")
	}
	if c.kept != 0 {
		t.Error("a connection in the middle of a body is kept")
	}
}

func TestAKeptConnectionThatWasClosedIsReplaced(t *testing.T) {
	for method, again := range map[string]bool{http.MethodGet: true, http.MethodDelete: true, http.MethodPost: false} {
		s := newScript(t, []string{hello, ""}, []string{hello})
		c := newClient(t, Config{})
		if _, _, err := send(t.Context(), t, c, http.MethodGet, s.url()); err != nil {
			t.Fatal(err)
		}
		// The second request is read, and the connection closed instead of an answer.
		_, b, err := send(t.Context(), t, c, method, s.url())
		if again && (err != nil || b != "hello" || s.conns.Load() != 2) {
			t.Errorf("%s: %q %v, %d connections", method, b, err, s.conns.Load())
		}
		if !again && !errors.Is(err, ErrNoAnswer) {
			t.Errorf("%s was sent twice: %v", method, err)
		}
	}
	// A first connection that does not answer is not tried again.
	s := newScript(t, []string{""})
	if _, _, err := send(t.Context(), t, newClient(t, Config{}), http.MethodGet, s.url()); !errors.Is(err, ErrNoAnswer) || s.conns.Load() != 1 {
		t.Errorf("%v, %d connections", err, s.conns.Load())
	}
}

func TestADeadKeptConnectionIsSeen(t *testing.T) {
	s := newScript(t, []string{hello})
	c := newClient(t, Config{})
	if _, _, err := send(t.Context(), t, c, http.MethodGet, s.url()); err != nil {
		t.Fatal(err)
	}
	cn := c.take("p" + s.ln.Addr().String())
	if cn == nil || cn.raw == nil {
		t.Skip("connections cannot be looked at on this system")
	}
	if !cn.alive() {
		t.Error("a living connection is taken for dead")
	}
	_ = cn.Conn.(*net.TCPConn).CloseRead() // shows like the target's end
	if cn.alive() {
		t.Error("a dead connection is taken for alive")
	}
	cn.Close()
}

func TestTheRequestOnTheWire(t *testing.T) {
	s := newScript(t, []string{hello, hello, hello})
	c := newClient(t, Config{})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url()+"a%20b?q=1;2", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "lab.test"
	r.Header = http.Header{"X-B": {"2", "3"}, "X-A": {"1"}, "User-Agent": nil, "Content-Length": {"9"}, "Transfer-Encoding": {"chunked"}}
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		r.Method = method
		resp, err := c.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
	}
	const want = "GET /a%20b?q=1;2 HTTP/1.1\r\nHost: lab.test\r\nX-A: 1\r\nX-B: 2\r\nX-B: 3\r\n"
	post := strings.Replace(want, "GET", "POST", 1) + "Content-Length: 0\r\n"
	s.mu.Lock()
	if s.heads[0] != want || s.heads[1] != post {
		t.Errorf("%q", s.heads)
	}
	s.mu.Unlock()
	for name, spoil := range map[string]func(*http.Request){
		"a header's name":  func(r *http.Request) { r.Header = http.Header{"X: y\r\nZ": {"1"}} },
		"a header's value": func(r *http.Request) { r.Header = http.Header{"X": {"a\r\nY: b"}} },
		"the host":         func(r *http.Request) { r.Host = "a\r\nX: y" },
		"the method":       func(r *http.Request) { r.Method = "GET / HTTP/1.1\r\nX:" },
		"the path":         func(r *http.Request) { r.URL.Opaque = "/x y" },
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url(), nil)
		if err != nil {
			t.Fatal(err)
		}
		spoil(r)
		if resp, err := c.RoundTrip(r); err == nil {
			resp.Body.Close()
			t.Errorf("%s was sent", name)
		}
	}
}

func TestWhatIsNotTakenGoesToTheOther(t *testing.T) {
	got := ""
	c := newClient(t, Config{
		Other:  roundTrip(func(*http.Request) (*http.Response, error) { got = "other"; return &http.Response{}, nil }),
		Other1: roundTrip(func(*http.Request) (*http.Response, error) { got = "other1"; return &http.Response{}, nil }),
	})
	for _, tc := range []struct {
		name, url string
		change    func(*http.Request)
		wish      *Wish
		want      string
	}{
		{"https", "https://x.example/", nil, nil, "other"},
		{"https without the wish", "https://x.example/", nil, &Wish{}, "other"},
		{"a body", "http://x.example/", func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("x")); r.ContentLength = 1 }, nil, "other"},
		{"a body by HTTP/1.1", "http://x.example/", func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("x")); r.ContentLength = 1 }, &Wish{HTTP1: true}, "other1"},
		{"an upgrade", "http://x.example/", func(r *http.Request) { r.Header.Set("Upgrade", "websocket") }, nil, "other"},
		{"CONNECT", "http://x.example/", func(r *http.Request) { r.Method = http.MethodConnect }, nil, "other"},
	} {
		ctx := t.Context()
		if tc.wish != nil {
			ctx = &Context{ctx, *tc.wish}
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, tc.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if tc.change != nil {
			tc.change(r)
		}
		got = ""
		if _, err := c.RoundTrip(r); err != nil || got != tc.want {
			t.Errorf("%s: %s %v", tc.name, got, err)
		}
	}
}

func TestBoundsAndCuts(t *testing.T) {
	for _, tc := range []struct {
		name, answer string
		head         bool // whether the head already shows it
		err          error
	}{
		{"a head beyond the bound", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 9000) + "\r\n\r\n", true, ErrHeaderTooLarge},
		{"informational ones without end", strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 50), true, nil},
		{"a protocol that was not asked for", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", true, nil},
		{"no HTTP", "220 ready\r\n\r\n", true, nil},
		{"a cut head", "HTTP/1.1 200 OK\r\nX", true, nil},
		{"a cut body", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello", false, io.ErrUnexpectedEOF},
		{"a cut chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel", false, io.ErrUnexpectedEOF},
	} {
		s := newScript(t, []string{tc.answer + cut})
		c := newClient(t, Config{HeaderBytes: 8 << 10})
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url(), nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.RoundTrip(r)
		if err == nil && !tc.head {
			_, err = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		} else if err == nil {
			resp.Body.Close()
		}
		if err == nil || tc.err != nil && !errors.Is(err, tc.err) {
			t.Errorf("%s: %v", tc.name, err)
		}
		if c.kept != 0 {
			t.Errorf("%s: the connection is kept", tc.name)
		}
	}
}

func TestASilentTargetAndALeavingCaller(t *testing.T) {
	s := newScript(t, []string{"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello", hello})
	c := newClient(t, Config{HeaderTimeout: 100 * time.Millisecond})
	if _, b, err := send(t.Context(), t, c, http.MethodGet, s.url()); !errors.Is(err, os.ErrDeadlineExceeded) || b != "hello" {
		t.Errorf("silent in the middle: %q %v", b, err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	_, _, err = send(t.Context(), t, c, http.MethodGet, "http://"+ln.Addr().String()+"/")
	if ne := net.Error(nil); !errors.As(err, &ne) || !ne.Timeout() {
		t.Errorf("silent: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("the caller left")
	time.AfterFunc(20*time.Millisecond, func() { cancel(gone) })
	if _, _, err := send(ctx, t, newClient(t, Config{}), http.MethodGet, "http://"+ln.Addr().String()+"/"); !errors.Is(err, gone) {
		t.Errorf("left: %v", err)
	}
	// And in the middle of a body.
	ctx, leave := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url(), nil)
	if err != nil {
		t.Fatal(err)
	}
	c = newClient(t, Config{})
	resp, err := c.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(20*time.Millisecond, leave)
	if _, err := io.Copy(io.Discard, resp.Body); err == nil {
		t.Error("the body ended well")
	}
	resp.Body.Close()
	if c.kept != 0 {
		t.Error("the connection is kept")
	}
}

func TestIdleConnectionsAreBoundedAndEnd(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
	defer srv.Close()
	c := newClient(t, Config{})
	var held []*http.Response
	for range MaxIdle + 5 {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, resp)
	}
	for _, resp := range held {
		_, _ = io.Copy(io.Discard, resp.Body)
	}
	if c.kept != MaxIdle || c.reaper == nil {
		t.Errorf("%d are kept", c.kept)
	}
	// Half of them become old.
	c.mu.Lock()
	for _, list := range c.idle {
		for i := range list[:MaxIdle/2] {
			list[i].used = time.Now().Add(-idleTime)
		}
	}
	c.mu.Unlock()
	c.reap()
	if c.kept != MaxIdle/2 {
		t.Errorf("%d are kept after a while", c.kept)
	}
	c.CloseIdleConnections()
	if c.kept != 0 || c.reaper != nil || len(c.idle) != 0 {
		t.Errorf("%d are kept after the end", c.kept)
	}
}

// FuzzAnswer: whatever a target sends, the client ends, and keeps no connection with
// something left in it.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(hello))
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n2\r\nhe\r\n0\r\nX: y\r\n\r\n"))
	f.Add([]byte("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.0 204 No\r\n\r\nx"))
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello"))
	f.Fuzz(func(t *testing.T, answer []byte) {
		near, far := net.Pipe()
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = http.ReadRequest(bufio.NewReader(far))
			_, _ = far.Write(answer)
			far.Close()
		}()
		c := New(Config{Dial: func(context.Context, string) (net.Conn, error) { return near, nil }, HeaderBytes: 4 << 10})
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://x.example/", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.RoundTrip(r)
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		for _, list := range c.idle {
			for _, cn := range list {
				if cn.br.Buffered() > 0 {
					t.Fatal("kept with something left in it")
				}
			}
		}
		c.CloseIdleConnections()
		near.Close()
		<-done
	})
}

func BenchmarkRoundTrip(b *testing.B) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
	defer srv.Close()
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	for name, rt := range map[string]http.RoundTripper{"h1": newClient(b, Config{}), "net-http": tr} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, srv.URL, nil)
				if err != nil {
					b.Fatal(err)
				}
				resp, err := rt.RoundTrip(r)
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
	}
}
