package lab

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"
)

// firstByteTimeout is how long a connection may stay silent before it is dropped.
const firstByteTimeout = 10 * time.Second

// recordTypeHandshake is the first byte of a TLS connection (RFC 8446 5.1).
const recordTypeHandshake = 0x16

// Split serves plain and TLS connections on one port, by the first byte of each. The TLS ones
// that it accepts are of type [*tls.Conn]. Close also drops the connections that are not yet
// accepted, and waits for its goroutines.
func Split(ln net.Listener, config *tls.Config) net.Listener {
	s := &splitter{Listener: ln, config: config, conns: make(chan net.Conn)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.wg.Go(s.run)
	return s
}

type splitter struct {
	net.Listener
	config *tls.Config
	conns  chan net.Conn
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

func (s *splitter) run() {
	defer s.cancel()
	for {
		c, err := s.Listener.Accept()
		if ne := net.Error(nil); errors.As(err, &ne) && ne.Timeout() {
			continue
		}
		if err != nil {
			return
		}
		s.wg.Go(func() { s.sort(c) })
	}
}

// sort passes a connection on once its first byte has come.
func (s *splitter) sort(c net.Conn) {
	waits := context.AfterFunc(s.ctx, func() { c.Close() })
	r := bufio.NewReaderSize(c, 4096)
	_ = c.SetReadDeadline(time.Now().Add(firstByteTimeout)) // if this fails, so does the read
	first, err := r.Peek(1)
	if !waits() || err != nil {
		c.Close()
		return
	}
	_ = c.SetReadDeadline(time.Time{})
	var sorted net.Conn = &peeked{c, r}
	if first[0] == recordTypeHandshake {
		sorted = tls.Server(sorted, s.config)
	}
	select {
	case s.conns <- sorted:
	case <-s.ctx.Done():
		c.Close()
	}
}

func (s *splitter) Accept() (net.Conn, error) {
	select {
	case c := <-s.conns:
		return c, nil
	case <-s.ctx.Done():
		return nil, net.ErrClosed
	}
}

func (s *splitter) Close() error {
	s.cancel()
	err := s.Listener.Close()
	s.wg.Wait()
	return err
}

// peeked is a connection whose first bytes are in r, which is dropped once it is empty.
type peeked struct {
	net.Conn
	r *bufio.Reader
}

func (c *peeked) Read(p []byte) (int, error) {
	if c.r != nil && c.r.Buffered() > 0 {
		return c.r.Read(p)
	}
	c.r = nil
	return c.Conn.Read(p)
}

// NetConn returns the connection below, which a fault may reset.
func (c *peeked) NetConn() net.Conn { return c.Conn }
