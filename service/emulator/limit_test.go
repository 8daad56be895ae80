package emulator

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// limited is a connection as the server holds it and the client's own end.
func limited(t *testing.T, patience time.Duration) (held *limitedConn, client net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := newLimitListener(ln).(*limitListener)
	l.patience = patience
	t.Cleanup(func() { l.Close() })
	client, err = net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); c.Close() })
	return c.(*limitedConn), client
}

// TestAClientThatDoesNotReadIsCut: also in answers that nobody set a deadline for.
func TestAClientThatDoesNotReadIsCut(t *testing.T) {
	held, _ := limited(t, 50*time.Millisecond)
	chunk := bytes.Repeat([]byte("x"), 1<<20)
	for range 64 { // more than the kernel keeps for the two of them
		if _, err := held.Write(chunk); err != nil {
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error(err)
			}
			return
		}
	}
	t.Error("64 MB were written to nobody")
}

// TestWhoSetsADeadlineKeepsIt: a tunnel's patience is its own.
func TestWhoSetsADeadlineKeepsIt(t *testing.T) {
	held, client := limited(t, time.Nanosecond)
	if err := held.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := held.Write([]byte("a")); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := held.SetWriteDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	if _, err := held.Write([]byte("b")); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%v, want the listener's own patience again", err)
	}
}

// scarce is a listener without descriptors, for a moment.
type scarce struct {
	net.Listener
	left int
}

func (s *scarce) Accept() (net.Conn, error) {
	if s.left--; s.left >= 0 {
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	return s.Listener.Accept()
}

func TestAMomentWithoutDescriptorsEndsNoListener(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := newLimitListener(&scarce{ln, 2})
	defer l.Close()
	client, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

// TestWhatIsNoRequestIsAnsweredWithItsBasis: net/http answers these without a handler.
func TestWhatIsNoRequestIsAnsweredWithItsBasis(t *testing.T) {
	g := start(t, Options{})
	for name, addr := range map[string]string{"API": strings.TrimPrefix(g.r.API, "http://"), "control": strings.TrimPrefix(g.r.Control, "http://"), "proxy": g.r.Proxy} {
		for text, want := range map[string]int{
			"GARBAGE\r\n\r\n":                                                         http.StatusBadRequest,
			"GET / HTTP/1.1\r\n\r\n":                                                  http.StatusBadRequest,
			"GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n":                           http.StatusBadRequest,
			"GET / HTTP/3.0\r\nHost: a\r\n\r\n":                                       http.StatusHTTPVersionNotSupported,
			"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n":           http.StatusNotImplemented,
			"GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 80<<10) + "\r\n": http.StatusRequestHeaderFieldsTooLarge,
		} {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := conn.Write([]byte(text)); err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatalf("%s, %.40q: %v", name, text, err)
			}
			body, err := io.ReadAll(resp.Body)
			if basis := resp.Header.Get("x-emulator-basis"); resp.StatusCode != want || basis == "" || len(body) == 0 || err != nil {
				t.Errorf("%s, %.40q: %d, basis %q, %q %v", name, text, resp.StatusCode, basis, body, err)
			}
		}
	}
}

// TestWhatATargetSaysIsNotTakenForAnAnswerOfOurs: the same bytes, through a tunnel and as a
// page, pass as they are.
func TestWhatATargetSaysIsNotTakenForAnAnswerOfOurs(t *testing.T) {
	const said = "HTTP/1.1 400 Bad Request" + unasked + "400 Bad Request"
	if len(withBasis([]byte(said))) == len(said) {
		t.Fatal("not what net/http answers")
	}
	target, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	g := start(t, Options{AllowPrivate: []string{target.Addr().String()}})
	g.wg.Go(func() {
		c, err := target.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = c.Read(make([]byte, 1024))
		_, _ = io.WriteString(c, said)
	})
	tunnel := connect(t, g.r.Proxy, loginHeader("datacenter_demo", g.password("datacenter_demo")), target.Addr().String(), []byte("?"))
	if got, err := io.ReadAll(tunnel); string(got) != said || err != nil {
		t.Errorf("through a tunnel: %q %v", got, err)
	}

	srv := g.newHTTP(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(said)))
		_ = http.NewResponseController(w).Flush() // so that the body is written by itself
		_, _ = io.WriteString(w, said)
	}))
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g.wg.Go(func() { g.served(srv.Serve(newLimitListener(ln))) })
	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	answers := bufio.NewReader(conn)
	for range 2 {
		if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(resp.Body); string(got) != said || err != nil {
			t.Errorf("as a page: %q %v", got, err)
		}
	}
	if _, err := io.WriteString(conn, "GARBAGE\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if resp, err := http.ReadResponse(answers, nil); err != nil || resp.Header.Get("x-emulator-basis") == "" {
		t.Errorf("behind two requests: %v %v", resp, err)
	}
}
