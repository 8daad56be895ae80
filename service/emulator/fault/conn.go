package fault

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"time"

	"zonedeck/service/emulator/clock"
)

// Hijack takes over the connection and keeps the fault on it. The first write is the head
// of the answer to CONNECT, and passes.
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

// Conn applies a cut, reset, dribble or bandwidth to the writes of a connection. For other
// kinds it returns the connection itself. A cut closes the connection, a reset resets it.
func (a Action) Conn(c net.Conn) net.Conn {
	switch a.Kind {
	case Cut, Reset, Dribble, Bandwidth:
		return new(newConn(c, a))
	default:
		return c
	}
}

// conn is a connection with a fault on its writes. One goroutine may write to it while
// others read and close it.
type conn struct {
	net.Conn
	flow
	head  bool            // the next write passes
	ctx   context.Context // until Close, which ends a wait of Write as well
	close context.CancelCauseFunc
}

func newConn(c net.Conn, a Action) conn {
	out := conn{Conn: c, flow: a.flow()}
	out.ctx, out.close = context.WithCancelCause(context.Background())
	return out
}

func (c *conn) Write(p []byte) (int, error) {
	if c.head {
		c.head = false
		return c.Conn.Write(p)
	}
	n, err := c.write(p, c.Conn.Write, c.wait)
	if errors.Is(err, errEnded) {
		c.end()
	}
	return n, err
}

func (c *conn) end() {
	if c.do.Kind == Reset {
		hardClose(c.Conn)
	}
	_ = c.Close() // the bytes before the end were written
}

func (c *conn) wait(d time.Duration) error { return clock.Pause(c.ctx, d) }

func (c *conn) Close() error {
	c.close(net.ErrClosed)
	return c.Conn.Close()
}

// CloseWrite half-closes if the connection below can.
func (c *conn) CloseWrite() error {
	if cw, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return cw.CloseWrite()
	}
	return c.Close()
}

// NetConn is the connection below.
func (c *conn) NetConn() net.Conn { return c.Conn }

// Conn applies the verdict to the reads of a target's connection. It handles the actions
// that need no request: latency, drop, reset, hang, cut, dribble, bandwidth. Others do
// nothing.
func (v Verdict) Conn(c net.Conn) net.Conn {
	switch v.Do.Kind {
	case Drop, Reset, Hang, Cut, Dribble, Bandwidth:
	default:
		if v.Delay == 0 {
			return c
		}
	}
	return &targetConn{conn: newConn(c, v.Do), delay: v.Delay}
}

type targetConn struct {
	conn
	delay time.Duration // before the first byte
	begun bool
}

// Write passes; the fault is on the other direction.
func (c *targetConn) Write(p []byte) (int, error) { return c.Conn.Write(p) }

func (c *targetConn) Read(p []byte) (int, error) {
	if !c.begun {
		c.begun = true
		if err := c.wait(c.delay); err != nil {
			return 0, err
		}
	}
	switch c.do.Kind {
	case Drop:
		_ = c.Close() // the target counts as lost
		return 0, io.EOF
	case Hang:
		_ = c.wait(MaxDelay) // either way it ends
		return 0, net.ErrClosed
	case Cut, Reset, Dribble, Bandwidth:
		n, err := c.read(p, c.Conn.Read, c.wait)
		if errors.Is(err, errEnded) {
			c.end()
			err = c.do.endOfBody()
		}
		return n, err
	default:
		return c.Conn.Read(p)
	}
}
