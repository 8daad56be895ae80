package emulator

import (
	"cmp"
	"container/list"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"zonedeck/service/emulator/answer"
	emutime "zonedeck/service/emulator/clock"
	"zonedeck/service/emulator/guard"
)

type listeners struct{ lab, api, control, proxy, socks, cdp net.Listener }

func (s *Server) listenAll(o Options) (ln listeners, err error) {
	for _, l := range []struct {
		what, addr string
		remote     bool
		to         *net.Listener
	}{
		{"lab", o.LabAddr, false, &ln.lab},
		{"control", o.ControlAddr, false, &ln.control},
		{"API", o.APIAddr, s.remote, &ln.api},
	} {
		if *l.to, err = s.listen(l.what, l.addr, l.remote); err != nil {
			return ln, err
		}
	}
	if ln.proxy, err = s.listenProxy(o.ProxyAddr); err != nil {
		return ln, err
	}
	if ln.socks, err = s.listenNear("SOCKS5 proxy", o.SOCKSAddr, defaultSOCKSPort, 1); err != nil {
		return ln, err
	}
	// A browser of the user's often occupies this port.
	ln.cdp, err = s.listenNear("remote browser", o.CDPAddr, defaultCDPPort, 1)
	return ln, err
}

func addrPort(ln net.Listener) netip.AddrPort {
	ap := ln.Addr().(*net.TCPAddr).AddrPort()
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}

// listener6 is one that IPv4 does not reach. The address of one on every address of both does not tell.
type listener6 struct{ net.Listener }

// reached returns an address of a listener for clients on this machine, also for a listener
// on all addresses.
func reached(ln net.Listener) string {
	ap := addrPort(ln)
	if !ap.Addr().IsUnspecified() {
		return ap.String()
	}
	if _, ok := ln.(listener6); ok {
		return netip.AddrPortFrom(netip.IPv6Loopback(), ap.Port()).String()
	}
	return localPort(int(ap.Port()))
}

func (s *Server) listen(what, addr string, remote bool) (net.Listener, error) {
	addr = cmp.Or(addr, "127.0.0.1:0")
	note, err := guard.Listen(addr, remote)
	if err != nil {
		return nil, fmt.Errorf("listening for the %s: %w", what, err)
	}
	if note != "" {
		s.note("%s (the %s)", note, what)
	}
	var lc net.ListenConfig
	network := guard.Network(addr)
	ln, err := lc.Listen(s.ctx, network, addr)
	if err != nil {
		return nil, fmt.Errorf("listening for the %s: %w", what, err)
	}
	if network == "tcp6" {
		ln = listener6{ln}
	}
	s.listeners = append(s.listeners, ln)
	return ln, nil
}

// listenProxy is listenNear with patience: an outgoing connection may hold the documented port
// for a moment.
func (s *Server) listenProxy(addr string) (net.Listener, error) {
	for range samePortTries - 1 {
		if addr != "" {
			break
		}
		if ln, err := s.listen("proxy", localPort(defaultProxyPort), false); err == nil {
			return ln, nil
		}
		if emutime.Pause(s.ctx, samePortTryPeriod) != nil {
			return nil, context.Cause(s.ctx)
		}
	}
	return s.listenNear("proxy", addr, defaultProxyPort, portTries)
}

// listenNear listens on addr or, without one, on a port, the next ones up to a number of tries,
// or any free port. A note says where, except for SOCKS5: the contract names no port for it.
func (s *Server) listenNear(what, addr string, port, tries int) (ln net.Listener, err error) {
	if addr != "" {
		return s.listen(what, addr, s.remote)
	}
	for i := range tries {
		if ln, err = s.listen(what, localPort(port+i), false); err == nil {
			break
		}
	}
	if err != nil {
		ln, err = s.listen(what, "", false)
	}
	if err == nil && int(addrPort(ln).Port()) != port && port != defaultSOCKSPort {
		s.note("port %d is taken; the %s listens on %d", port, what, addrPort(ln).Port())
	}
	return ln, err
}

func localPort(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// forLoopback answers only requests to names of this machine, and from its pages. A hostile
// page in a browser on this machine could make its name resolve to 127.0.0.1, or open a
// WebSocket to it, and use the demo keys, which are not secret, to fetch and read pages.
func forLoopback(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != "" && !guard.ThisMachine(r.Host) {
			answer.Text(w, http.StatusMisdirectedRequest, answer.BasisLoopback, "the local emulator answers to localhost and loopback addresses only")
			return
		}
		for _, origin := range r.Header["Origin"] {
			if !localOrigin(origin) {
				answer.Text(w, http.StatusForbidden, answer.BasisLoopback, "the local emulator does not answer pages of other sites")
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// localOrigin reports whether an Origin belongs to this machine. Parts of the browser, such as
// its developer tools, have other schemes than web pages.
func localOrigin(origin string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Scheme != "" && (guard.ThisMachine(u.Host) || u.Scheme != "http" && u.Scheme != "https")
}

// The pauses between attempts to accept while the process has no free descriptor.
const (
	firstPause = 5 * time.Millisecond
	lastPause  = time.Second
)

const (
	// silence is how long a connection may be without its first request while others wait.
	silence = time.Second
	// roomEvery is how often a full listener looks for a connection that can make room.
	roomEvery = 100 * time.Millisecond
	// restPatience is how long what a refused client still sends is read.
	restPatience = 5 * time.Second
)

// limitListener bounds the open connections to maxConns. Of those that an http.Server serves,
// the one that has been without a request for longest makes room; while each has a request,
// further ones wait in the kernel's queue. Unlike x/net's it keeps TCP's half-close, which
// tunnels need.
type limitListener struct {
	net.Listener
	slots    chan struct{}
	done     chan struct{}
	once     sync.Once
	patience time.Duration // see limitedConn

	mu   sync.Mutex
	idle *list.List // of *limitedConn
}

func newLimitListener(ln net.Listener) net.Listener {
	return &limitListener{
		Listener: ln, slots: make(chan struct{}, maxConns), done: make(chan struct{}),
		patience: answer.WriteTimeout, idle: list.New(),
	}
}

func (l *limitListener) Accept() (net.Conn, error) {
	for !l.place() {
		select {
		case <-l.done:
			return nil, net.ErrClosed
		case <-time.After(roomEvery):
		}
	}
	c, err := l.accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &limitedConn{TCPConn: c.(*net.TCPConn), from: l, patience: l.patience}, nil
}

// place takes a place for the next connection, if there is one or one can be made.
func (l *limitListener) place() bool {
	for {
		select {
		case l.slots <- struct{}{}:
			return true
		default:
		}
		c := l.longestIdle()
		if c == nil {
			return false
		}
		_ = c.Close() // this gives its place back
	}
}

// longestIdle takes the connection from the list that can make room, or nil.
func (l *limitListener) longestIdle() *limitedConn {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	for e := l.idle.Front(); e != nil; e = e.Next() {
		if c := e.Value.(*limitedConn); !c.idleFrom.After(now) {
			l.idle.Remove(e)
			c.idle = nil
			return c
		}
	}
	return nil
}

// noteState is the hook by which an http.Server tells whether a connection has a request.
func noteState(conn net.Conn, state http.ConnState) {
	c, ok := conn.(*limitedConn)
	if !ok {
		return // TLS, or inside a tunnel
	}
	c.served.Store(state != http.StateHijacked)
	l := c.from
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.idle != nil {
		l.idle.Remove(c.idle)
		c.idle = nil
	}
	switch state {
	case http.StateNew:
		c.idleFrom = time.Now().Add(silence)
		c.idle = l.idle.PushBack(c)
	case http.StateIdle:
		c.idleFrom = time.Now()
		c.idle = l.idle.PushBack(c)
	case http.StateActive, http.StateHijacked, http.StateClosed:
	}
}

// accept retries while the process has no free descriptor, and after a client has left.
func (l *limitListener) accept() (net.Conn, error) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		c, err := l.Listener.Accept()
		if !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE) && !errors.Is(err, syscall.ECONNABORTED) {
			return c, err
		}
		select {
		case <-time.After(pause):
		case <-l.done:
			return nil, net.ErrClosed
		}
	}
}

func (l *limitListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return l.Listener.Close()
}

// limitedConn cuts a client that does not read. Unless a handler has set a write deadline, it
// gives each write the patience. net/http could only bound a whole answer.
type limitedConn struct {
	*net.TCPConn
	once     sync.Once
	from     *limitListener
	patience time.Duration

	// From when on the connection can make room, and its place in the listener's list: nil
	// while it has a request. The listener's lock guards them.
	idleFrom time.Time
	idle     *list.Element

	served   atomic.Bool  // an http.Server reads and writes
	explicit atomic.Bool  // a caller has set a deadline
	until    atomic.Int64 // the deadline otherwise, in nanoseconds of Unix time
}

func (c *limitedConn) Write(p []byte) (int, error) {
	if !c.explicit.Load() {
		// The deadline moves once half of it has passed, not for every write.
		if now := time.Now(); c.until.Load()-now.UnixNano() < int64(c.patience/2) {
			until := now.Add(c.patience)
			if err := c.TCPConn.SetWriteDeadline(until); err != nil {
				return 0, err
			}
			c.until.Store(until.UnixNano())
		}
	}
	return c.TCPConn.Write(p)
}

// ReadFrom uses Write, so that the deadline holds for each piece and not for a whole file.
func (c *limitedConn) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{c}, r)
}

// SetWriteDeadline replaces the deadline of each write; the zero time restores it.
func (c *limitedConn) SetWriteDeadline(t time.Time) error {
	c.explicit.Store(!t.IsZero())
	c.until.Store(0)
	return c.TCPConn.SetWriteDeadline(t)
}

// SetDeadline sets both deadlines.
func (c *limitedConn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// CloseWrite closes for writing. An http.Server does so after it has refused a client that goes on sending: what still
// comes is dropped, because the close that follows would reset the connection, and the answer would be lost.
func (c *limitedConn) CloseWrite() error {
	err := c.TCPConn.CloseWrite()
	if err == nil && c.served.Load() && c.SetReadDeadline(time.Now().Add(restPatience)) == nil {
		_, err = io.Copy(io.Discard, c.TCPConn)
	}
	return err
}

// TCP returns the connection below for splicing. Close it through limitedConn.
func (c *limitedConn) TCP() *net.TCPConn { return c.TCPConn }

func (c *limitedConn) Close() error {
	err := c.TCPConn.Close()
	c.once.Do(func() { <-c.from.slots })
	return err
}
