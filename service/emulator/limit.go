package emulator

import (
	"net"
	"sync"
)

// limitListener bounds the connections that are open at a time to maxConns; the next
// ones wait in the kernel's queue. Unlike x/net's it keeps the half-close of TCP, which a tunnel
// needs.
type limitListener struct {
	net.Listener
	slots chan struct{}
	done  chan struct{}
	once  sync.Once
}

func newLimitListener(ln net.Listener) net.Listener {
	return &limitListener{Listener: ln, slots: make(chan struct{}, maxConns), done: make(chan struct{})}
}

func (l *limitListener) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.done:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
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
	return &limitedConn{TCPConn: tc, release: func() { <-l.slots }}, nil
}

func (l *limitListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return l.Listener.Close()
}

type limitedConn struct {
	*net.TCPConn
	once    sync.Once
	release func()
}

// TCP is the connection itself, for those who move bytes inside the kernel. It must be
// closed through limitedConn.
func (c *limitedConn) TCP() *net.TCPConn { return c.TCPConn }

func (c *limitedConn) Close() error {
	err := c.TCPConn.Close()
	c.once.Do(c.release)
	return err
}
