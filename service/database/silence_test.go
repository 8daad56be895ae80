package database

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"zonedeck/internal/noerr"
)

func TestAServerThatSaysNothingEndsTheConnection(t *testing.T) {
	l := noerr.Try(net.Listen("tcp", "127.0.0.1:0")).Must(t)
	defer l.Close()
	patience := newSilence(20 * time.Millisecond)
	c := noerr.Try(patience.dial(t.Context(), "tcp", l.Addr().String())).Must(t)
	defer c.Close()
	read := func() error { _, err := c.Read(make([]byte, 1)); return err }
	for range 2 {
		if err := read(); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("read: %v", err)
		}
	}
	patience.limit.Store(int64(time.Hour))
	noerr.Must(t, c.SetDeadline(time.Now().Add(20*time.Millisecond))) // its user has less patience
	if err := read(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read: %v", err)
	}
	noerr.Must(t, c.SetDeadline(time.Time{}))
	ended := make(chan error)
	go func() { ended <- read() }()
	patience.limit.Store(1) // also for a read that waits already
	if err := <-ended; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read: %v", err)
	}
}
