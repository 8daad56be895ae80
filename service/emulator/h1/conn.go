package h1

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/net/http/httpguts"
)

const unlimited = math.MaxInt64

// conn is one connection to a target. It is one request's at a time.
type conn struct {
	net.Conn
	key   string
	raw   syscall.RawConn // of the socket, nil where it is not known
	br    *bufio.Reader
	bw    *bufio.Writer
	limit int64     // bytes that may still be read
	used  time.Time // when it was kept
	until time.Time // the deadline
	once  sync.Once
}

func newConn(c net.Conn, key string) *conn {
	cn := &conn{Conn: c, key: key, limit: unlimited}
	under := c
	if tc, ok := c.(interface{ NetConn() net.Conn }); ok {
		under = tc.NetConn()
	}
	if sc, ok := under.(syscall.Conn); ok {
		if raw, err := sc.SyscallConn(); err == nil {
			cn.raw = raw
		}
	}
	cn.br = bufio.NewReaderSize(cn, 4<<10)
	cn.bw = bufio.NewWriterSize(c, 2<<10)
	return cn
}

// Read holds the head of an answer to its bound.
func (c *conn) Read(p []byte) (int, error) {
	if c.limit <= 0 {
		return 0, ErrHeaderTooLarge
	}
	if int64(len(p)) > c.limit {
		p = p[:c.limit]
	}
	n, err := c.Conn.Read(p)
	if c.limit != unlimited {
		c.limit -= int64(n)
	}
	return n, err
}

// end closes the connection; there is nobody to tell a failure to.
func (c *conn) end() {
	c.once.Do(func() { _ = c.Close() })
}

// patience gives the target at least half of d from now. The deadline is not moved every
// time: that costs more than a look at the clock.
func (c *conn) patience(d time.Duration) error {
	now := time.Now()
	if c.until.Sub(now) >= d/2 {
		return nil
	}
	c.until = now.Add(d)
	return c.SetDeadline(c.until)
}

// drained reports whether nothing lies behind an answer. The record of TLS that ended it
// may hold more, which neither the reader nor the socket shows: a read that must not wait
// for the socket does.
func (c *conn) drained() bool {
	if c.br.Buffered() > 0 {
		return false
	}
	tc, ok := c.Conn.(*tls.Conn)
	if !ok {
		return true
	}
	c.until = time.Time{} // the next request sets a deadline of its own
	if err := tc.SetReadDeadline(time.Unix(1, 0)); err != nil {
		return false
	}
	var b [1]byte
	n, err := tc.Read(b[:])
	return n == 0 && errors.Is(err, os.ErrDeadlineExceeded)
}

// body is an answer's body. At its end the connection is kept; closed before that, the
// connection is closed too.
type body struct {
	client   *Client
	cn       *conn
	stop     func() bool
	left     int64         // of a body with a length
	coded    io.ReadCloser // of one without
	reusable bool
	done     bool
	err      error
}

// Read gives io.EOF with the last bytes of a body whose length is known.
func (b *body) Read(p []byte) (n int, err error) {
	if b.done {
		return 0, b.err
	}
	if err := b.cn.patience(b.client.conf.HeaderTimeout); err != nil {
		return 0, b.fail(err)
	}
	if b.coded != nil {
		n, err = b.coded.Read(p)
	} else {
		if int64(len(p)) > b.left {
			p = p[:b.left]
		}
		n, err = b.cn.br.Read(p)
		b.left -= int64(n)
		switch {
		case b.left == 0:
			err = io.EOF
		case err == io.EOF:
			err = io.ErrUnexpectedEOF
		}
	}
	if err == io.EOF {
		b.err = err
		b.finish(b.reusable)
		return n, err
	}
	if err != nil {
		return n, b.fail(err)
	}
	return n, nil
}

// Buffered is how much of the body is there already, its coding included.
func (b *body) Buffered() int {
	if b.done {
		return 0
	}
	return b.cn.br.Buffered()
}

func (b *body) fail(err error) error {
	b.err = fmt.Errorf("reading the target's answer: %w", err)
	b.finish(false)
	return b.err
}

func (b *body) Close() error {
	if !b.done {
		b.err = http.ErrBodyReadAfterClose
		b.finish(false)
	}
	return nil
}

// finish gives the connection back.
func (b *body) finish(reusable bool) {
	b.done = true
	if !b.stop() || !reusable || !b.cn.drained() {
		b.cn.end()
		return
	}
	b.client.put(b.cn)
}

// checkRequest refuses what would not be one request on the wire.
func checkRequest(r *http.Request) error {
	if r.Method != "" && !httpguts.ValidHeaderFieldName(r.Method) { // both are tokens
		return fmt.Errorf("method %q is not one", r.Method)
	}
	if !httpguts.ValidHostHeader(hostOf(r)) {
		return fmt.Errorf("host %q is not one", hostOf(r))
	}
	uri := r.URL.RequestURI()
	for i := range len(uri) {
		if uri[i] <= ' ' || uri[i] == 0x7f {
			return fmt.Errorf("the address %q is not one", uri)
		}
	}
	for name, vs := range r.Header {
		if !httpguts.ValidHeaderFieldName(name) {
			return fmt.Errorf("header %q is not one", name)
		}
		for _, v := range vs {
			if !httpguts.ValidHeaderFieldValue(v) {
				return fmt.Errorf("the value of header %s is not one", name)
			}
		}
	}
	return nil
}

func hostOf(r *http.Request) string {
	if r.Host != "" {
		return r.Host
	}
	return r.URL.Host
}

// writeRequest writes a request that was checked. Header fields are in the order of the
// alphabet, so that the same request is the same bytes.
func writeRequest(w *bufio.Writer, r *http.Request) error {
	uri := r.URL.RequestURI()
	method := r.Method
	if method == "" {
		method = http.MethodGet
	}
	line(w, method, " ", uri, " HTTP/1.1\r\nHost: ", hostOf(r), "\r\n")
	if _, ok := r.Header["User-Agent"]; !ok {
		line(w, "User-Agent: Go-http-client/1.1\r\n")
	}
	var store [24]string
	names := store[:0]
	for name := range r.Header {
		switch name {
		case "Host", "Content-Length", "Transfer-Encoding", "Trailer":
		default:
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		for _, v := range r.Header[name] {
			line(w, name, ": ", v, "\r\n")
		}
	}
	if method == http.MethodPost || method == http.MethodPut || method == http.MethodPatch {
		line(w, "Content-Length: 0\r\n")
	}
	if r.Close {
		line(w, "Connection: close\r\n")
	}
	line(w, "\r\n")
	return w.Flush()
}

// line writes parts; a failure stays in the writer and shows in its Flush.
func line(w *bufio.Writer, parts ...string) {
	for _, p := range parts {
		_, _ = w.WriteString(p)
	}
}
