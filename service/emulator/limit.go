package emulator

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
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

	between atomic.Bool // net/http waits for a request; no handler has it yet
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
	if c.between.Load() {
		if q := withBasis(p); len(q) > len(p) {
			n, err := c.TCPConn.Write(q)
			return min(n, len(p)), err
		}
	}
	return c.TCPConn.Write(p)
}

// limitedOf is the limited connection that a server's connection is, or looks into; nil
// where there is none.
func limitedOf(c net.Conn) *limitedConn {
	for {
		switch in := c.(type) {
		case *limitedConn:
			return in
		case interface{ NetConn() net.Conn }:
			c = in.NetConn()
		default:
			return nil
		}
	}
}

// notesRequests has each connection of srv know whether a handler writes to it: what a
// handler sends, a target's bytes through a tunnel among it, passes as it is.
func notesRequests(srv *http.Server) {
	type key struct{}
	srv.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, key{}, limitedOf(c))
	}
	srv.ConnState = func(c net.Conn, state http.ConnState) {
		if state != http.StateNew && state != http.StateIdle {
			return
		}
		if l := limitedOf(c); l != nil {
			l.between.Store(true)
		}
	}
	next := srv.Handler
	srv.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if l, _ := r.Context().Value(key{}).(*limitedConn); l != nil {
			l.between.Store(false)
		}
		next.ServeHTTP(w, r)
	})
}

// unasked follows the status line of what net/http answers without asking a handler: to
// what is no request, or has too large a head.
const unasked = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"

// withBasis gives such an answer the header that every other one has.
func withBasis(p []byte) []byte {
	end := bytes.IndexByte(p[:min(len(p), maxStatusLine)], '\r')
	if end < 0 || !bytes.HasPrefix(p, []byte("HTTP/1.1 ")) || !bytes.HasPrefix(p[end:], []byte(unasked)) {
		return p
	}
	return slices.Concat(p[:end], []byte("\r\n"+answer.BasisHeader+": "+answer.BasisNoRequest), p[end:])
}

// maxStatusLine is more than the longest of net/http's own.
const maxStatusLine = 256

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
