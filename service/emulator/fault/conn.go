package fault

import (
	"bufio"
	"io"
	"net"
	"sync"
	"time"
)

// Hijack takes the connection over with the fault still on it. The first write is the
// head of the answer (to CONNECT) and passes.
func (t *throttle) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := t.rc.Hijack()
	if err != nil {
		return nil, nil, err
	}
	slow := t.do.Conn(c)
	if s, ok := slow.(*conn); ok {
		s.head = true
	}
	return slow, rw, nil
}

// Conn does to what is written to a connection what a cut, reset, dribble or bandwidth
// asks for; for other kinds it is the connection itself. A cut closes the connection,
// a reset resets it.
func (a Action) Conn(c net.Conn) net.Conn {
	switch a.Kind {
	case Cut, Reset, Dribble, Bandwidth:
		return &conn{Conn: c, do: a, left: a.After, closed: make(chan struct{})}
	default:
		return c
	}
}

// conn is a connection with a fault on its writes. Like any connection it may be
// written to by one goroutine while others read and close it.
type conn struct {
	net.Conn
	do     Action
	head   bool  // the next write passes
	left   int64 // bytes before the end
	once   sync.Once
	closed chan struct{}
}

func (c *conn) Write(p []byte) (int, error) {
	switch {
	case c.head:
		c.head = false
		return c.Conn.Write(p)
	case c.do.Kind == Cut || c.do.Kind == Reset:
		return c.upTo(p)
	}
	written := 0
	for len(p) > 0 {
		chunk, pause := c.do.portion(len(p))
		n, err := c.Conn.Write(p[:chunk])
		written += n
		if err != nil {
			return written, err
		}
		p = p[chunk:]
		if !c.wait(pause) {
			return written, net.ErrClosed
		}
	}
	return written, nil
}

func (c *conn) upTo(p []byte) (int, error) {
	n := int(min(int64(len(p)), c.left))
	if n > 0 {
		var err error
		if n, err = c.Conn.Write(p[:n]); err != nil {
			return n, err
		}
		c.left -= int64(n)
	}
	if n == len(p) {
		return n, nil
	}
	if c.do.Kind == Reset {
		hardClose(c.Conn)
	}
	_ = c.Close() // what was to be said was said
	return n, errEnded
}

func (c *conn) wait(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-c.closed:
		return false
	}
}

// Close ends a wait of Write as well.
func (c *conn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// CloseWrite half-closes where the connection below can.
func (c *conn) CloseWrite() error {
	if cw, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return cw.CloseWrite()
	}
	return c.Close()
}

// NetConn is the connection below.
func (c *conn) NetConn() net.Conn { return c.Conn }

// Conn does to what is read from a target's connection what the verdict asks for, where
// that can be done without seeing the request: latency, drop, reset, hang, cut, dribble,
// bandwidth. Other actions do nothing.
func (v Verdict) Conn(c net.Conn) net.Conn {
	switch v.Do.Kind {
	case Drop, Reset, Hang, Cut, Dribble, Bandwidth:
	default:
		if v.Delay == 0 {
			return c
		}
	}
	return &targetConn{conn: conn{Conn: c, do: v.Do, left: v.Do.After, closed: make(chan struct{})}, delay: v.Delay}
}

// targetConn is a target's connection with a fault on what it sends.
type targetConn struct {
	conn
	delay time.Duration // before the first byte
	owed  time.Duration // before the next one
	begun bool
}

// Write passes; the fault is on the other direction.
func (c *targetConn) Write(p []byte) (int, error) { return c.Conn.Write(p) }

func (c *targetConn) Read(p []byte) (int, error) {
	if !c.begun {
		c.begun = true
		if c.delay > 0 && !c.wait(c.delay) {
			return 0, net.ErrClosed
		}
	}
	switch c.do.Kind {
	case Drop:
		_ = c.Close() // the target is gone, so its error is too
		return 0, io.EOF
	case Hang:
		c.wait(MaxDelay)
		return 0, net.ErrClosed
	case Cut, Reset:
		return c.readUpTo(p)
	case Dribble, Bandwidth:
		if len(p) == 0 {
			return 0, nil
		}
		if c.owed > 0 && !c.wait(c.owed) {
			return 0, net.ErrClosed
		}
		chunk, _ := c.do.portion(len(p))
		n, err := c.Conn.Read(p[:chunk])
		_, c.owed = c.do.portion(max(n, 1))
		return n, err
	default:
		return c.Conn.Read(p)
	}
}

func (c *targetConn) readUpTo(p []byte) (int, error) {
	if c.left <= 0 {
		if c.do.Kind == Reset {
			hardClose(c.Conn)
		}
		_ = c.Close() // as above
		return 0, c.do.endOfBody()
	}
	n, err := c.Conn.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	return n, err
}
