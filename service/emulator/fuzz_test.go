package emulator

import (
	"bytes"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"zonedeck/internal/noerr"
)

// FuzzProxyRequest sends any bytes to a proxy whose dialer has no DNS; each request
// must end with an answer or a close, in time.
func FuzzProxyRequest(f *testing.F) {
	g := start(f, Options{})
	g.dialer.UseResolver(&net.Resolver{PreferGo: true, Dial: noDNS})
	auth := loginHeader("datacenter_demo", g.password("datacenter_demo"))
	srv := g.newHTTP(g.proxy)
	for _, s := range []string{
		"GET http://lab.test/ok HTTP/1.1\r\nHost: lab.test\r\nConnection: close\r\nProxy-Authorization: " + auth + "\r\n\r\n",
		"CONNECT lab.test:80 HTTP/1.1\r\nHost: lab.test:80\r\nProxy-Authorization: " + auth + "\r\n\r\nGET / HTTP/1.0\r\n\r\n",
		"CONNECT  HTTP/1.1\r\n\r\n", "GET / HTTP/1.0\r\n\r\n", "\x16\x03\x01", "CONNECT a:99999 HTTP/1.1\r\nHost: a\r\nProxy-Authorization: " + auth + "\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: x\r\nProxy-Authorization: " + auth + "\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		near, far := net.Pipe()
		ln := newOneConn(far)
		ended := make(chan struct{})
		go func() { defer close(ended); _ = srv.Serve(ln) }()
		deadline := time.Now().Add(30 * time.Second)
		noerr.Must(t, near.SetDeadline(deadline))
		go func() {
			_, _ = near.Write(b)
			_, _ = io.WriteString(near, "\r\n\r\n")
		}()
		buf := make([]byte, 12)
		if n, err := io.ReadFull(near, buf); err == nil && !bytes.HasPrefix(buf, []byte("HTTP/1.")) {
			t.Errorf("answered %q (%d)", buf, n)
		} else if time.Now().After(deadline) && bytes.Contains(b, []byte("\r\n\r\n")) {
			t.Errorf("no answer to %q", b)
		}
		near.Close()
		ln.Close()
		<-ended
	})
}

// oneConn is a listener with one connection.
type oneConn struct {
	conn chan net.Conn
	once sync.Once
}

func newOneConn(c net.Conn) *oneConn {
	l := &oneConn{conn: make(chan net.Conn, 1)}
	l.conn <- c
	return l
}

func (l *oneConn) Accept() (net.Conn, error) {
	if c, ok := <-l.conn; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (l *oneConn) Close() error {
	l.once.Do(func() { close(l.conn) })
	return nil
}

func (l *oneConn) Addr() net.Addr { return &net.TCPAddr{} }
