package database

import (
	"context"
	"net"
	"sync"
	"time"
)

// silence is how long a server may say nothing while it is asked. Then the connection is over: a network may be gone
// without a word.
type silence time.Duration

// usualSilence is longer than the server waits for a lock.
const usualSilence = silence(25 * time.Second)

func (s silence) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &watched{Conn: conn, limit: time.Duration(s)}, nil
}

// watched is a connection whose reads end after a silence.
type watched struct {
	net.Conn
	limit time.Duration
	mu    sync.Mutex
	until time.Time // as its user has it
}

// SetDeadline implements net.Conn.
func (c *watched) SetDeadline(at time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until = at
	return c.Conn.SetDeadline(at)
}

func (c *watched) Read(p []byte) (int, error) {
	c.mu.Lock()
	if c.until.IsZero() {
		_ = c.SetReadDeadline(time.Now().Add(c.limit)) // on a connection that is over, Read says so
	}
	c.mu.Unlock()
	return c.Conn.Read(p)
}
