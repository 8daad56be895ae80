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

// The pauses between tries to accept while the process has no descriptor left.
const (
	firstPause = 5 * time.Millisecond
	lastPause  = time.Second
)

// limitListener bounds the connections that are open at a time to maxConns; the next
// ones wait in the kernel's queue. Unlike x/net's it keeps the half-close of TCP, which a tunnel
// needs.
type limitListener struct {
	net.Listener
	slots    chan struct{}
	done     chan struct{}
	once     sync.Once
	patience time.Duration // with a client that does not read
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
	tc, ok := c.(*net.TCPConn)
	if !ok {
		<-l.slots
		c.Close()
		return nil, net.ErrClosed
	}
	return &limitedConn{TCPConn: tc, release: func() { <-l.slots }, patience: l.patience}, nil
}

// accept outlasts a moment without descriptors, and a client that has gone already.
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

// limitedConn ends a client that does not read: where nobody has set a deadline for
// writing, one is kept ahead. net/http has none but for a whole answer.
type limitedConn struct {
	*net.TCPConn
	once     sync.Once
	release  func()
	patience time.Duration

	theirs atomic.Bool  // a deadline that somebody set
	until  atomic.Int64 // our own, in nanoseconds of Unix time
}

func (c *limitedConn) Write(p []byte) (int, error) {
	if !c.theirs.Load() {
		// Not moved for every write: half the patience is kept in any case.
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

// ReadFrom goes by Write, so that the deadline is for each piece and not for a whole file.
func (c *limitedConn) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{c}, r)
}

// SetWriteDeadline takes the care for slow readers over, and gives it back with the zero
// time.
func (c *limitedConn) SetWriteDeadline(t time.Time) error {
	c.theirs.Store(!t.IsZero())
	c.until.Store(0)
	return c.TCPConn.SetWriteDeadline(t)
}

// SetDeadline is SetReadDeadline and SetWriteDeadline.
func (c *limitedConn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

// TCP is the connection itself, for those who move bytes inside the kernel. It must be
// closed through limitedConn.
func (c *limitedConn) TCP() *net.TCPConn { return c.TCPConn }

func (c *limitedConn) Close() error {
	err := c.TCPConn.Close()
	c.once.Do(c.release)
	return err
}
