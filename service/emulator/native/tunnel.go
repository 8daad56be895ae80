package native

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/route"
)

// establishTimeout is how long a client may take to read the answer to CONNECT.
const establishTimeout = 10 * time.Second

// noteNoUnlock is for zones with the identity check, whose HTTPS the service cannot read.
const noteNoUnlock = "this zone is identity-verified, so HTTPS is tunnelled end to end and cannot be unlocked"

func (p *Proxy) serveConnect(w http.ResponseWriter, r *http.Request, l *login) {
	host, port, err := net.SplitHostPort(r.Host)
	if err != nil || host == "" || port == "" {
		answer.Refuse(w, answer.NewRefusal(http.StatusForbidden, "client_10080", "CONNECT needs host:port", answer.BasisProxyRefused))
		return
	}
	v, refused := p.visit(entryProxy, l, r.RemoteAddr, host, port)
	if refused != nil {
		answer.Refuse(w, *refused)
		return
	}
	v.Method, v.Target = http.MethodConnect, r.Host
	p.around(w, r, v, func(w http.ResponseWriter, r *http.Request, v *Visit) { p.connect(w, r, v, l) })
}

// connect opens a tunnel, or re-signs the connection as service.md 5.2 rule 3 demands. It
// dials a tunnel's target first, so that the client gets an answer if the dial fails.
func (p *Proxy) connect(w http.ResponseWriter, r *http.Request, v *Visit, l *login) {
	var target net.Conn
	if !v.Zone.Resigned() {
		var err error
		if target, err = p.dial(r.Context(), v, v.Target); err != nil {
			p.refuse(w, v, route.RefusalOf(err))
			return
		}
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		if target != nil {
			target.Close()
		}
		p.conf.Log.Error("a connection could not be taken over", "error", err)
		p.refuse(w, v, answer.NewRefusal(http.StatusInternalServerError, "proxy_error", "internal error", answer.BasisTarget))
		return
	}
	h := http.Header{}
	p.describe(h, v)
	if v.Zone.Product == "unlocker" && target != nil {
		h.Set(answer.NoteHeader, noteNoUnlock)
	}
	c := &tunnelled{Conn: conn, r: buffered.Reader, login: l, visit: v}
	if !p.tunnels.add(c, target) {
		p.stages.Done(v, Outcome{Status: http.StatusOK, Cut: true})
		return // the server is shutting down; add closed both
	}
	// The client may have sent more already, such as its ClientHello: buffered holds it.
	if err := writeHead(conn, "200 Connection established", h); err != nil {
		p.stages.Done(v, Outcome{Status: http.StatusOK, Cut: true})
		p.tunnels.drop(c, target)
		return
	}
	if target == nil {
		p.resign(c)
		return
	}
	p.tunnel(c, target)
}

// tunnel carries bytes between a client and its target until it ends.
func (p *Proxy) tunnel(c *tunnelled, target net.Conn) {
	b := p.bill(c.visit, strings.HasSuffix(c.visit.Target, ":443"))
	b.request(true, 0)
	defer p.conf.Route.Hold(c.visit.Zone, c.visit.Flags)()
	o := p.tunnels.pipe(c, target, b)
	p.stages.Done(c.visit, o)
	p.tunnels.drop(c, target)
}

// describe sets the headers of a successful answer that describe its exit and its basis.
func (p *Proxy) describe(h http.Header, v *Visit) {
	if v.guest != nil {
		return
	}
	p.conf.Route.Describe(h, v.Host, v.Exit, v.Flags, v.ID)
	h["X-Emulator-Basis"] = []string{answer.BasisProxy}
	if v.Flags.Debug == "full" {
		h.Set("x-brd-timeline", "init:0,ready:"+strconv.FormatInt(time.Since(v.Began).Milliseconds(), 10))
	}
}

// writeHead writes the head of an answer to a hijacked connection.
func writeHead(c net.Conn, status string, h http.Header) error {
	if err := c.SetWriteDeadline(time.Now().Add(establishTimeout)); err != nil {
		return err
	}
	var b bytes.Buffer
	b.WriteString("HTTP/1.1 " + status + "\r\n")
	if err := h.Write(&b); err != nil {
		return err
	}
	b.WriteString("\r\n")
	if _, err := c.Write(b.Bytes()); err != nil {
		return err
	}
	return c.SetWriteDeadline(time.Time{})
}

const (
	// defaultTunnelIdle is how long a tunnel may carry nothing in either direction.
	defaultTunnelIdle = 5 * time.Minute
	// defaultHandshake is how long a client may take for its first byte, where the proxy
	// has to look at it, and for the handshake of SOCKS5.
	defaultHandshake = 10 * time.Second
	tunnelBuffer     = 32 << 10
	largeBuffer      = 256 << 10
	// After bulkReads full buffers in a row a direction is spliced. spliceChunk and
	// spliceTime bound one splice, because its bytes are counted at its end.
	bulkReads   = 4
	spliceChunk = 1 << 20
	spliceTime  = time.Second
	// idleSlices is how often a silent tunnel is checked during its idle time.
	idleSlices = 10
)

// tunnelled is a client's connection after CONNECT. Reads return the bytes that came with the
// request first.
type tunnelled struct {
	net.Conn
	r *bufio.Reader // nil once drained

	login *login
	visit *Visit
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

// NetConn returns the connection below, which a fault may reset.
func (c *tunnelled) NetConn() net.Conn { return c.Conn }

// CloseWrite closes the client's side for writing.
func (c *tunnelled) CloseWrite() error { return CloseWrite(c.Conn) }

// CloseWrite closes a connection for writing, and entirely if it cannot be closed halfway.
func CloseWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}

// tunnels are the connections hijacked from the HTTP server, which does not close them. The
// zero value is ready to use.
type tunnels struct {
	mu     sync.Mutex
	closed bool
	conns  map[net.Conn]struct{}
	wg     sync.WaitGroup
	bufs   buffers       // of tunnelBuffer bytes
	large  buffers       // of largeBuffer bytes
	idle   time.Duration // 0 is defaultTunnelIdle
}

type buffers struct{ pool sync.Pool }

func (p *buffers) get(size int) *[]byte {
	if b, ok := p.pool.Get().(*[]byte); ok {
		return b
	}
	b := make([]byte, size)
	return &b
}

func (p *buffers) put(b *[]byte) { p.pool.Put(b) }

// add registers connections; a missing target is nil. It returns false if the server is shutting
// down, and has closed them then.
func (t *tunnels) add(conns ...net.Conn) bool {
	conns = present(conns)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		closeConns(conns)
		return false
	}
	if t.conns == nil {
		t.conns = map[net.Conn]struct{}{}
	}
	for _, c := range conns {
		t.conns[c] = struct{}{}
	}
	t.wg.Add(len(conns))
	return true
}

// drop closes and removes connections that were added.
func (t *tunnels) drop(conns ...net.Conn) {
	conns = present(conns)
	closeConns(conns)
	t.mu.Lock()
	for _, c := range conns {
		delete(t.conns, c)
	}
	t.mu.Unlock()
	t.wg.Add(-len(conns))
}

func present(conns []net.Conn) []net.Conn {
	return slices.DeleteFunc(conns, func(c net.Conn) bool { return c == nil })
}

func closeConns(conns []net.Conn) {
	for _, c := range conns {
		c.Close()
	}
}

// closeAll closes every tunnel and waits for its goroutines.
func (t *tunnels) closeAll() {
	t.mu.Lock()
	t.closed = true
	conns := slices.Collect(maps.Keys(t.conns))
	t.mu.Unlock()
	// Not under the lock: closing a re-signed connection calls drop.
	closeConns(conns)
	t.wg.Wait()
}

// pipe carries bytes both ways until both sides have ended, or nothing has moved for the idle
// time. The caller drops both connections after it has ended the visit, so that closeAll
// returns after all visits have ended.
func (t *tunnels) pipe(c *tunnelled, target net.Conn, b bill) Outcome {
	l := &line{t: t, idle: cmp.Or(t.idle, defaultTunnelIdle), bill: b}
	l.touch(time.Now())
	var up, down int64
	var upErr, downErr error
	done := make(chan struct{})
	go func() {
		defer close(done)
		up, upErr = l.pump(target, c, l.bill.countUp)
	}()
	down, downErr = l.pump(c, target, l.bill.countDown)
	<-done
	return Outcome{Status: 200, Up: up, Down: down, Cut: upErr != nil || downErr != nil}
}

// line is an open tunnel. Its directions share the idle time, so that a download continues
// while the client is silent.
type line struct {
	t    *tunnels
	idle time.Duration
	bill bill
	last atomic.Int64 // when something last moved, in nanoseconds of Unix time
}

func (l *line) touch(now time.Time) { l.last.Store(now.UnixNano()) }

// silent reports whether nothing has moved for the idle time.
func (l *line) silent(now time.Time) bool { return now.UnixNano()-l.last.Load() >= int64(l.idle) }

type direction struct {
	dst, src net.Conn
	count    func(int)
	n        int64
	full     int       // reads in a row that filled the buffer
	set      time.Time // when the deadlines were last moved
}

// pump copies one direction. At the end of src it half-closes dst, so that an answer to the
// last bytes can still arrive. After an error or the idle time it closes both.
func (l *line) pump(dst, src net.Conn, count func(int)) (int64, error) {
	w := &direction{dst: dst, src: src, count: count}
	buf := l.t.bufs.get(tunnelBuffer)
	defer l.t.bufs.put(buf)
	canSplice := tcpOf(dst) != nil && tcpOf(src) != nil
	for {
		now := time.Now()
		if err := w.moveDeadlines(now, l.idle); err != nil {
			return w.n, w.end(err)
		}
		var m int64
		var err error
		if canSplice && w.full >= bulkReads {
			m, err = w.splice(l.idle)
		} else {
			m, err = w.copy(*buf)
		}
		w.n += m
		now = time.Now()
		if m > 0 {
			l.touch(now)
		}
		switch {
		case err == nil: // more to come
		case errors.Is(err, io.EOF):
			_ = CloseWrite(dst) // fails if the other side has already left
			return w.n, nil
		case errors.Is(err, os.ErrDeadlineExceeded) && now.Sub(w.set) < l.idle && !l.silent(now):
			w.full, w.set = 0, time.Time{}
		default:
			return w.n, w.end(err)
		}
	}
}

// moveDeadlines gives a read a slice of the idle time, after which the pump checks whether
// the other direction is silent too, and a write the whole of it. It does not move the
// deadlines at every call.
func (w *direction) moveDeadlines(now time.Time, idle time.Duration) error {
	slice := idle / idleSlices
	if now.Sub(w.set) < slice/2 {
		return nil
	}
	w.set = now
	if err := w.src.SetReadDeadline(now.Add(slice)); err != nil {
		return err
	}
	return w.dst.SetWriteDeadline(now.Add(slice + idle))
}

func (w *direction) end(err error) error {
	w.dst.Close()
	w.src.Close()
	return err
}

// copy moves the bytes of one read. It counts them before the other side has them.
func (w *direction) copy(buf []byte) (int64, error) {
	n, err := w.src.Read(buf)
	if n == len(buf) {
		w.full++
	} else {
		w.full = 0
	}
	if n > 0 {
		w.count(n)
		if _, werr := w.dst.Write(buf[:n]); werr != nil {
			return int64(n), werr
		}
	}
	return int64(n), err
}

// splice moves many bytes between two TCP connections, inside the kernel where possible. It
// returns within a second, so that the bytes are counted.
func (w *direction) splice(idle time.Duration) (int64, error) {
	if err := w.src.SetReadDeadline(time.Now().Add(min(spliceTime, idle/idleSlices))); err != nil {
		return 0, err
	}
	n, err := tcpOf(w.dst).ReadFrom(&io.LimitedReader{R: tcpOf(w.src), N: spliceChunk})
	if n > 0 {
		w.count(int(n))
	}
	if err == nil && n < spliceChunk {
		err = io.EOF
	}
	return n, err
}

// tcpOf returns the TCP connection below c, nil if a layer between them sees the bytes.
func tcpOf(c net.Conn) *net.TCPConn {
	for {
		switch conn := c.(type) {
		case *net.TCPConn:
			return conn
		case *tunnelled:
			c = conn.Conn
		case interface{ TCP() *net.TCPConn }:
			return conn.TCP()
		default:
			return nil
		}
	}
}

// upgradedConn is the target's side after a 101. net/http may have read ahead, so bytes pass
// through the body, and deadlines go to the connection.
type upgradedConn struct {
	net.Conn
	body io.ReadWriteCloser
}

func (c *upgradedConn) Read(p []byte) (int, error)  { return c.body.Read(p) }
func (c *upgradedConn) Write(p []byte) (int, error) { return c.body.Write(p) }
func (c *upgradedConn) Close() error                { return c.body.Close() }

func (c *upgradedConn) CloseWrite() error { return CloseWrite(c.Conn) }
