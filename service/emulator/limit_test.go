package emulator

import (
	"bufio"
	"bytes"
	"errors"
	"net"
	"net/http"
	"os"
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

// TestWhatIsNotARequestIsRefused: net/http answers these without a handler.
func TestWhatIsNotARequestIsRefused(t *testing.T) {
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
			if err != nil || resp.StatusCode != want {
				t.Errorf("%s, %.40q: %v %v", name, text, resp, err)
			}
		}
	}
}
