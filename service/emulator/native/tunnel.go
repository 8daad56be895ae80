package native

import (
	"bufio"
	"bytes"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"zonedeck/service/emulator/meter"
)

const (
	// tunnelIdle is how long a tunnel may carry nothing in either direction.
	tunnelIdle = 5 * time.Minute
	// helloTimeout is how long a client may take to begin to speak where the proxy
	// has to look at the first byte.
	helloTimeout = 10 * time.Second
	tunnelBuffer = 32 << 10
	// establishTimeout is how long a client may take to read the answer to CONNECT.
	establishTimeout = 10 * time.Second
)

// tunnelled is a client's connection after CONNECT. Bytes that came with the request
// are read first.
type tunnelled struct {
	net.Conn
	r *bufio.Reader // nil once drained

	login     login
	authority string // host:port of the CONNECT
	host      string
}

func (c *tunnelled) Read(p []byte) (int, error) {
	if c.r != nil {
		if c.r.Buffered() > 0 {
			return c.r.Read(p)
		}
		c.r = nil
	}
	return c.Conn.Read(p)
}

func (c *tunnelled) CloseWrite() error {
	if cw, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return cw.CloseWrite()
	}
	return c.Close()
}

func writeEstablished(c net.Conn, h http.Header) error {
	if err := c.SetWriteDeadline(time.Now().Add(establishTimeout)); err != nil {
		return err
	}
	var b bytes.Buffer
	b.WriteString("HTTP/1.1 200 Connection established\r\n")
	if err := h.Write(&b); err != nil {
		return err
	}
	b.WriteString("\r\n")
	if _, err := c.Write(b.Bytes()); err != nil {
		return err
	}
	return c.SetWriteDeadline(time.Time{})
}

// tunnels are the connections that were taken over from the HTTP server, which does
// not end them itself. The zero value is ready.
type tunnels struct {
	mu     sync.Mutex
	closed bool
	conns  map[net.Conn]struct{}
	wg     sync.WaitGroup
	bufs   sync.Pool
}

// add takes a connection (and its target, which may be nil) in; false means that the
// server is going down, and both are closed.
func (t *tunnels) add(c, target net.Conn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		c.Close()
		if target != nil {
			target.Close()
		}
		return false
	}
	if t.conns == nil {
		t.conns = map[net.Conn]struct{}{}
	}
	t.conns[c] = struct{}{}
	if target != nil {
		t.conns[target] = struct{}{}
	}
	t.wg.Add(1)
	return true
}

// join adds a target that was dialled later; false means as for add.
func (t *tunnels) join(target net.Conn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		target.Close()
		return false
	}
	t.conns[target] = struct{}{}
	return true
}

// drop closes what add took in.
func (t *tunnels) drop(c, target net.Conn) {
	c.Close()
	if target != nil {
		target.Close()
	}
	t.mu.Lock()
	delete(t.conns, c)
	if target != nil {
		delete(t.conns, target)
	}
	t.mu.Unlock()
	t.wg.Done()
}

// closeAll cuts every tunnel and waits for its goroutines.
func (t *tunnels) closeAll() {
	t.mu.Lock()
	t.closed = true
	for c := range t.conns {
		c.Close()
	}
	t.mu.Unlock()
	t.wg.Wait()
}

// pipe carries bytes both ways until both sides have ended, or nothing moved for
// tunnelIdle, then drops both.
func (t *tunnels) pipe(c *tunnelled, target net.Conn, m *meter.Meter) {
	up := meter.Call{Zone: c.login.zone.Name, Product: c.login.zone.Product, Host: c.host, Secure: strings.HasSuffix(c.authority, ":443")}
	down := up
	up.Requests, up.Billable = 1, true
	m.Record(up)
	up.Requests, up.Billable = 0, false
	var active atomic.Int64 // unix seconds of the last deadline move
	touch := func() {
		now := time.Now()
		if last := active.Load(); now.Unix() == last || !active.CompareAndSwap(last, now.Unix()) {
			return // moved less than a second ago
		}
		// A failure here shows in the next read or write.
		_ = c.SetDeadline(now.Add(tunnelIdle))
		_ = target.SetDeadline(now.Add(tunnelIdle))
	}
	touch()
	done := make(chan struct{})
	go func() {
		defer close(done)
		t.pump(target, c, func(n int) {
			touch()
			up.Up = int64(n)
			m.Record(up)
		})
	}()
	t.pump(c, target, func(n int) {
		touch()
		down.Down = int64(n)
		m.Record(down)
	})
	<-done
	t.drop(c, target)
}

// pump copies one way. At the end of src it half-closes dst, so that an answer to the
// last bytes can still come; after an error both ends are closed.
func (t *tunnels) pump(dst, src net.Conn, moved func(bytes int)) {
	buf, ok := t.bufs.Get().(*[]byte)
	if !ok {
		b := make([]byte, tunnelBuffer)
		buf = &b
	}
	defer t.bufs.Put(buf)
	for {
		n, err := src.Read(*buf)
		if n > 0 {
			moved(n)
			if _, werr := dst.Write((*buf)[:n]); werr != nil {
				dst.Close()
				src.Close()
				return
			}
		}
		if err != nil {
			if cw, ok := dst.(interface{ CloseWrite() error }); ok && isEOF(err) {
				_ = cw.CloseWrite() // the other side is gone already
				return
			}
			dst.Close()
			src.Close()
			return
		}
	}
}
