package database

import (
	"context"
	"errors"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// silence is how long a server may say nothing while it is asked. Then the connection is over: a network may be gone
// without a word.
type silence struct{ limit atomic.Int64 }

// The usual silence is longer than the server waits for a lock. The short one is for a process that ends.
const (
	usualSilence = 25 * time.Second
	shortSilence = 3 * time.Second
)

func newSilence(limit time.Duration) *silence {
	s := &silence{}
	s.limit.Store(int64(limit))
	return s
}

func (s *silence) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &watched{Conn: conn, silence: s}, nil
}

// watched is a connection whose reads end after a silence.
type watched struct {
	net.Conn
	silence *silence
	ends    atomic.Int64 // the deadline as its user has it, in nanoseconds since 1970; 0 is none
}

// SetDeadline implements net.Conn.
func (c *watched) SetDeadline(at time.Time) error {
	ends := int64(0)
	if !at.IsZero() {
		ends = at.UnixNano()
	}
	c.ends.Store(ends)
	return c.Conn.SetDeadline(at)
}

// Read looks every second whether it has waited long enough.
func (c *watched) Read(p []byte) (int, error) {
	for began := time.Now(); ; {
		limit := time.Duration(c.silence.limit.Load())
		until := began.Add(limit)
		if look := time.Now().Add(time.Second); look.Before(until) {
			until = look
		}
		if ends := c.ends.Load(); ends != 0 && ends < until.UnixNano() {
			until = time.Unix(0, ends)
		}
		_ = c.SetReadDeadline(until) // on a connection that is over, Read says so
		n, err := c.Conn.Read(p)
		ends := c.ends.Load()
		over := time.Since(began) >= limit || ends != 0 && ends <= time.Now().UnixNano()
		if n > 0 || over || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
	}
}
