package emulator

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"zonedeck/service/emulator/answer"
)

// The pauses between attempts to accept while the process has no free descriptor.
const (
	firstPause = 5 * time.Millisecond
	lastPause  = time.Second
)

// limitListener bounds the open connections to maxConns; further ones wait in the kernel's
// queue. Unlike x/net's it keeps TCP's half-close, which tunnels need.
type limitListener struct {
	net.Listener
	slots    chan struct{}
	done     chan struct{}
	once     sync.Once
	patience time.Duration // see limitedConn
}

func newLimitListener(ln net.Listener) net.Listener {
	return &limitListener{Listener: ln, slots: make(chan struct{}, maxConns), done: make(chan struct{}), patience: answer.WriteTimeout}
}

func (l *limitListener) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.done:
		return nil, net.ErrClosed
	}
	c, err := l.accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &limitedConn{TCPConn: c.(*net.TCPConn), release: func() { <-l.slots }, patience: l.patience}, nil
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
	release  func()
	patience time.Duration

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

// TCP returns the connection below for splicing. Close it through limitedConn.
func (c *limitedConn) TCP() *net.TCPConn { return c.TCPConn }

func (c *limitedConn) Close() error {
	err := c.TCPConn.Close()
	c.once.Do(c.release)
	return err
}
