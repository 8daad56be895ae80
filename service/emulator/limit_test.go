package emulator

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"zonedeck/internal/noerr"
)

// limited is a connection as the server holds it and the client's own end.
func limited(t *testing.T, patience time.Duration) (held *limitedConn, client net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	noerr.Must(t, err)
	l := newLimitListener(ln).(*limitListener)
	l.patience = patience
	t.Cleanup(func() { l.Close() })
	client, err = net.Dial("tcp", ln.Addr().String())
	noerr.Must(t, err)
	c, err := l.Accept()
	noerr.Must(t, err)
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
	noerr.Must(t, held.SetDeadline(time.Now().Add(time.Minute)))
	noerr.Must(t, noerr.From(held.Write([]byte("a"))))
	noerr.Must(t, noerr.From(client.Read(make([]byte, 1))))
	noerr.Must(t, held.SetWriteDeadline(time.Time{}))
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
	noerr.Must(t, err)
	l := newLimitListener(&scarce{ln, 2})
	defer l.Close()
	client, err := net.Dial("tcp", ln.Addr().String())
	noerr.Must(t, err)
	defer client.Close()
	c, err := l.Accept()
	noerr.Must(t, err)
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
			noerr.Must(t, err)
			defer conn.Close()
			noerr.Must(t, noerr.From(conn.Write([]byte(text))))
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil || resp.StatusCode != want {
				t.Errorf("%s, %.40q: %v %v", name, text, resp, err)
			}
		}
	}
}

// crowded serves h on a port with places for four connections.
func crowded(t *testing.T, h http.HandlerFunc) (addr string) {
	t.Helper()
	g := start(t, Options{})
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	noerr.Must(t, err)
	l := newLimitListener(ln).(*limitListener)
	l.slots = make(chan struct{}, 4)
	srv := g.newHTTP(h)
	g.wg.Go(func() { g.served(srv.Serve(l)) })
	return ln.Addr().String()
}

// ask sends a request on a connection and reads the answer.
func ask(conn net.Conn) (status int, err error) {
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return 0, err
	}
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		return 0, err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, err
}

// clients opens connections that the end of the test closes.
func clients(t *testing.T, addr string, n int) []net.Conn {
	t.Helper()
	all := make([]net.Conn, n)
	for i := range all {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
		noerr.Must(t, err)
		t.Cleanup(func() { conn.Close() })
		all[i] = conn
	}
	return all
}

func TestKeptConnectionsMakeRoomForOtherClients(t *testing.T) {
	addr := crowded(t, func(http.ResponseWriter, *http.Request) {})
	kept := clients(t, addr, 12)
	for i, conn := range kept {
		if status, err := ask(conn); status != http.StatusOK {
			t.Fatalf("client %d: %d, %v", i, status, err)
		}
	}
	if status, err := ask(kept[11]); status != http.StatusOK {
		t.Errorf("the newest lost its connection: %d, %v", status, err)
	}
	if status, err := ask(kept[0]); err == nil {
		t.Errorf("the oldest kept its connection: %d", status)
	}
}

func TestConnectionsThatNeverAskMakeRoom(t *testing.T) {
	addr := crowded(t, func(http.ResponseWriter, *http.Request) {})
	clients(t, addr, 12)
	if status, err := ask(clients(t, addr, 1)[0]); status != http.StatusOK {
		t.Errorf("%d, %v", status, err)
	}
}

func TestARequestUnderWayKeepsItsPlace(t *testing.T) {
	inside, finish := make(chan struct{}, 8), make(chan struct{})
	addr := crowded(t, func(_ http.ResponseWriter, r *http.Request) {
		inside <- struct{}{}
		select {
		case <-finish:
		case <-r.Context().Done():
		}
	})
	busy := clients(t, addr, 5)
	answered := make(chan error, len(busy))
	for _, conn := range busy {
		go func() {
			status, err := ask(conn)
			if err == nil && status != http.StatusOK {
				err = fmt.Errorf("status %d", status)
			}
			answered <- err
		}()
	}
	for range 4 {
		<-inside
	}
	select {
	case <-inside:
		t.Error("a fifth request has a place")
	case err := <-answered:
		t.Errorf("a request ended: %v", err)
	case <-time.After(3 * roomEvery):
	}
	close(finish)
	for range busy {
		noerr.Want(t, <-answered)
	}
}

// The bound itself, with a hundred clients more than there are places.
func TestFourThousandKeptConnectionsLockNobodyOut(t *testing.T) {
	g := start(t, Options{})
	addr := strings.TrimPrefix(g.r.API, "http://")
	for n := range maxConns + 104 {
		if _, err := ask(clients(t, addr, 1)[0]); err != nil {
			t.Fatalf("client %d: %v", n, err)
		}
	}
}

// sendRaw sends bytes on a connection of their own and reads the head of the answer.
func sendRaw(addr, text string) (*http.Response, error) {
	conn, err := net.DialTimeout("tcp", addr, time.Minute)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return nil, err
	}
	if _, err := io.WriteString(conn, text); err != nil {
		return nil, err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: http.MethodGet})
	if err == nil {
		resp.Body.Close()
	}
	return resp, err
}

func TestRequestsAreBounded(t *testing.T) {
	g := start(t, Options{})
	long := "GET http://lab.test/ok HTTP/1.1\r\nHost: lab.test\r\nX-Long: " + strings.Repeat("a", 2*maxHeaderBytes) + "\r\n\r\n"
	for _, base := range []string{g.r.API, g.r.Control, g.r.Proxy, g.r.CDP} {
		_, addr, ok := strings.Cut(base, "://")
		if !ok {
			addr = base
		}
		// The server may close while the rest is still being sent.
		resp, err := sendRaw(addr, long)
		if err == nil && resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("%s: a header of %d bytes: %d", base, len(long), resp.StatusCode)
		}
	}
	for path, size := range map[string]int{"/request": 8 << 20, "/discover": 1 << 20, "/zone": 256 << 10} {
		a := g.do("POST", g.r.API+path, g.key("etl-main"), `{"x":"`+strings.Repeat("a", size)+`"}`)
		if a.status != 400 && a.status != 413 {
			t.Errorf("%s: a body above %d bytes: %+v", path, size, a)
		}
	}
	// A client that reads nothing before it has sent everything reads why it was refused.
	much := strings.Repeat("a", 64<<20)
	for head, status := range map[string]int{
		"POST /zone HTTP/1.1\r\nAuthorization: Bearer " + g.key("etl-main"): 400, "POST /request HTTP/1.1\r\nAuthorization: Bearer " + g.key("etl-main"): 400, "POST /zone HTTP/1.1": 401,
	} {
		resp, err := sendRaw(strings.TrimPrefix(g.r.API, "http://"), head+"\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 67108864\r\n\r\n"+much)
		if err != nil || resp.StatusCode != status {
			t.Errorf("%s: %+v, %v, want %d", head, resp, err, status)
		}
	}
	if a := g.request(call{"zone": "isp_demo", "url": "http://lab.test/" + strings.Repeat("a", 8192), "format": "raw"}); a.status != 400 || !strings.Contains(a.body, "longer than 8192 bytes") {
		t.Errorf("a long address: %+v", a)
	}
}

// TestSlowClientsAreDropped gives a server of the emulator's own making less patience
// than it has, so that nobody has to wait for ten seconds.
func TestSlowClientsAreDropped(t *testing.T) {
	g := start(t, Options{})
	for _, srv := range g.http {
		if srv.ReadHeaderTimeout != headerTimeout || srv.IdleTimeout != keepAliveTimeout || srv.MaxHeaderBytes != maxHeaderBytes {
			t.Errorf("a server without patience's end: %+v", srv)
		}
	}
	srv := g.newHTTP(http.NotFoundHandler())
	srv.ReadHeaderTimeout = 50 * time.Millisecond
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	noerr.Must(t, err)
	g.wg.Go(func() { g.served(srv.Serve(newLimitListener(ln))) })
	conn, err := net.Dial("tcp", ln.Addr().String())
	noerr.Must(t, err)
	defer conn.Close()
	noerr.Must(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	noerr.Must(t, noerr.From(io.WriteString(conn, "GET / HTTP/1.1\r\nHost: ")))
	_, err = io.ReadAll(conn)
	if ne := net.Error(nil); errors.As(err, &ne) && ne.Timeout() {
		t.Error("half a header was waited for")
	}
}

func TestTheRootIsDownloaded(t *testing.T) {
	g := start(t, Options{})
	for _, address := range []string{g.r.API + "/ca.pem", "http://" + g.r.Proxy + "/ca.pem"} {
		if a := g.do(http.MethodGet, address, "", nil); a.status != 200 || a.body != g.r.CAPEM || a.header.Get("x-emulator-basis") == "" {
			t.Errorf("%s: %d %s", address, a.status, a.body)
		}
	}
}

func TestAPanicIsLoggedAsAnErrorAndABrokenHandshakeIsNot(t *testing.T) {
	var out bytes.Buffer
	l := log.New(mishaps{slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelError}))}, "", 0)
	l.Printf("http: TLS handshake error from 127.0.0.1:1: EOF")
	if out.Len() > 0 {
		t.Errorf("said %q", out.String())
	}
	l.Printf("http: panic serving 127.0.0.1:1: index out of range\ngoroutine 1 [running]:")
	if got := out.String(); !strings.Contains(got, "a handler panicked") || !strings.Contains(got, "index out of range") {
		t.Errorf("said %q", got)
	}
}
