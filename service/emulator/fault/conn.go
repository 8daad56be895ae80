package fault

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
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

// Conn puts the faults of the point [Target] on a connection. Faults that need to see the request
// (a status, a CAPTCHA) do nothing here.
func (e *Engine) Conn(c Call, to net.Conn) net.Conn {
	if !e.Active(Target) {
		return to
	}
	c.Point, c.Host = Target, strings.ToLower(c.Host)
	return e.Decide(c).Conn(to)
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

// flow is a stream of bytes under a cut, a reset, a dribble or a bandwidth.
type flow struct {
	do   Action
	left int64         // bytes before the end, of a cut or a reset
	owed time.Duration // before the next read
}

func (a Action) flow() flow { return flow{do: a, left: a.After} }

// portion is how many of the next bytes go in one piece, and the wait after them. It is 0
// at the end of the stream.
func (f *flow) portion(have int) (chunk int, pause time.Duration) {
	switch f.do.Kind {
	case Cut, Reset:
		return int(min(int64(have), f.left)), 0
	case Dribble:
		return int(min(int64(have), max(f.do.Chunk, 1))), f.do.Pause
	}
	// Twenty pieces a second look like a slow line, and cost little.
	chunk = int(min(int64(have), max(f.do.Rate/20, 1)))
	return chunk, time.Duration(float64(chunk) / float64(max(f.do.Rate, 1)) * float64(time.Second))
}

// write passes bytes on piece by piece; the error is errEnded at the stream's end.
func (f *flow) write(p []byte, write func([]byte) (int, error), wait func(time.Duration) error) (written int, err error) {
	for len(p) > 0 {
		chunk, pause := f.portion(len(p))
		if chunk == 0 {
			return written, errEnded
		}
		n, err := write(p[:chunk])
		written += n
		f.left -= int64(n)
		if err != nil {
			return written, err
		}
		p = p[chunk:]
		if err := wait(pause); err != nil {
			return written, err
		}
	}
	return written, nil
}

// read reads the next piece; the error is errEnded at the stream's end.
func (f *flow) read(p []byte, read func([]byte) (int, error), wait func(time.Duration) error) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if err := wait(f.owed); err != nil {
		return 0, err
	}
	chunk, _ := f.portion(len(p))
	if chunk == 0 {
		return 0, errEnded
	}
	n, err := read(p[:chunk])
	f.left -= int64(n)
	_, f.owed = f.portion(max(n, 1))
	return n, err
}
