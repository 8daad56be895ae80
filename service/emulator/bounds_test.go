package emulator

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

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
	if err != nil {
		t.Fatal(err)
	}
	g.wg.Go(func() { g.served(srv.Serve(newLimitListener(ln))) })
	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: "); err != nil {
		t.Fatal(err)
	}
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
