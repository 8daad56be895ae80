package lab

import (
	"bufio"
	"errors"
	"net"
	"sync"
	"time"
)

// firstByteTimeout is how long a connection may stay silent before it is dropped.
const firstByteTimeout = 10 * time.Second

// recordTypeHandshake is the first byte of a TLS connection (RFC 8446 5.1).
const recordTypeHandshake = 0x16

// Split serves plain and TLS connections from one listener: it looks at the first
// byte of each connection and hands it to one of the two listeners it returns.
// Closing either of them closes ln and drops the connections not accepted yet;
// wait returns when the goroutines behind it have ended.
func Split(ln net.Listener) (plain, secure net.Listener, wait func()) {
	s := &splitter{ln: ln, done: make(chan struct{})}
	p := &branch{s: s, conns: make(chan net.Conn)}
	t := &branch{s: s, conns: make(chan net.Conn)}
	s.wg.Add(1)
	go s.run(p, t)
	return p, t, s.wg.Wait
}

type splitter struct {
	ln   net.Listener
	done chan struct{}
	once sync.Once
	err  error
	wg   sync.WaitGroup

	mu      sync.Mutex
	pending map[net.Conn]struct{} // first byte not seen yet
}

func (s *splitter) run(plain, secure *branch) {
	defer s.wg.Done()
	for {
		c, err := s.ln.Accept()
		if err != nil {
			if ne := net.Error(nil); errors.As(err, &ne) && ne.Timeout() {
				continue
			}
			_ = s.close()
			return
		}
		s.wg.Add(1)
		go s.route(c, plain, secure)
	}
}

func (s *splitter) route(c net.Conn, plain, secure *branch) {
	defer s.wg.Done()
	if !s.track(c) {
		_ = c.Close()
		return
	}
	br := bufio.NewReaderSize(c, 4096)
	_ = c.SetReadDeadline(time.Now().Add(firstByteTimeout))
	first, err := br.Peek(1)
	s.untrack(c)
	if err != nil {
		_ = c.Close()
		return
	}
	_ = c.SetReadDeadline(time.Time{})
	to := plain
	if first[0] == recordTypeHandshake {
		to = secure
	}
	select {
	case to.conns <- &peeked{Conn: c, r: br}:
	case <-s.done:
		_ = c.Close()
	}
}

func (s *splitter) track(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.done:
		return false
	default:
	}
	if s.pending == nil {
		s.pending = map[net.Conn]struct{}{}
	}
	s.pending[c] = struct{}{}
	return true
}

func (s *splitter) untrack(c net.Conn) {
	s.mu.Lock()
	delete(s.pending, c)
	s.mu.Unlock()
}

func (s *splitter) close() error {
	s.once.Do(func() {
		s.mu.Lock()
		close(s.done)
		for c := range s.pending {
			_ = c.Close()
		}
		s.mu.Unlock()
		s.err = s.ln.Close()
	})
	return s.err
}

type branch struct {
	s     *splitter
	conns chan net.Conn
}

func (b *branch) Accept() (net.Conn, error) {
	select {
	case c := <-b.conns:
		return c, nil
	case <-b.s.done:
		return nil, net.ErrClosed
	}
}

func (b *branch) Close() error   { return b.s.close() }
func (b *branch) Addr() net.Addr { return b.s.ln.Addr() }

// peeked is a connection whose first bytes already lie in r. The reader is dropped
// once drained, so that a long life does not keep its buffer.
type peeked struct {
	net.Conn
	r *bufio.Reader
}

func (c *peeked) Read(p []byte) (int, error) {
	if c.r == nil {
		return c.Conn.Read(p)
	}
	if c.r.Buffered() == 0 {
		c.r = nil
		return c.Conn.Read(p)
	}
	return c.r.Read(p)
}

// NetConn is the connection below, for callers that have to know which one it is.
func (c *peeked) NetConn() net.Conn { return c.Conn }
