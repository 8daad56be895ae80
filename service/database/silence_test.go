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
	c := noerr.Try(silence(20*time.Millisecond).dial(t.Context(), "tcp", l.Addr().String())).Must(t)
	defer c.Close()
	for range 2 {
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("read: %v", err)
		}
	}
	began := time.Now()
	noerr.Must(t, c.SetDeadline(began.Add(100*time.Millisecond))) // its user's holds
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) < 100*time.Millisecond {
		t.Errorf("read: %v after %s", err, time.Since(began))
	}
}
