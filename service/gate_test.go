package service

import (
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"

	"zonedeck/internal/noerr"
)

// gate is an address that stays while servers behind it come and go. It knows when a server has dealt
// with everything that was sent through it.
type gate struct {
	listener net.Listener
	to       func() (address string, err error)

	mu    sync.Mutex
	moved *sync.Cond
	open  map[net.Conn]string // with its opener
	taken map[string]bool     // all that were opened, by whom
}

// openGate passes connections on to the address that to returns. If to returns an error, it closes them.
func openGate(t *testing.T, to func() (string, error)) *gate {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	noerr.Must(t, err)
	g := &gate{listener: l, to: to, open: map[net.Conn]string{}, taken: map[string]bool{}}
	g.moved = sync.NewCond(&g.mu)
	var accepting sync.WaitGroup
	accepting.Go(g.accept)
	t.Cleanup(func() {
		noerr.Want(t, l.Close())
		accepting.Wait()
		g.mu.Lock()
		defer g.mu.Unlock()
		for c := range g.open {
			_ = c.Close() // the sender may be gone
		}
		for len(g.open) > 0 {
			g.moved.Wait()
		}
	})
	return g
}

func (g *gate) address() string { return g.listener.Addr().String() }

func (g *gate) accept() {
	for {
		c, err := g.listener.Accept()
		if err != nil {
			return // it is closed
		}
		g.mu.Lock()
		g.open[c], g.taken[c.RemoteAddr().String()] = c.RemoteAddr().String(), true
		g.mu.Unlock()
		go func() {
			g.pass(c.(*net.TCPConn)) //nolint:forcetypeassert // of a listener for TCP
			g.mu.Lock()
			delete(g.open, c)
			g.moved.Broadcast()
			g.mu.Unlock()
		}()
	}
}

// pass copies both ways until the server closes its side: then it has dealt with what came, even if
// the sender is dead.
func (g *gate) pass(c *net.TCPConn) {
	defer c.Close()
	address, err := g.to()
	if err != nil {
		return
	}
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	up := conn.(*net.TCPConn) //nolint:forcetypeassert // as above
	defer up.Close()
	var sending sync.WaitGroup
	sending.Go(func() {
		_, _ = io.Copy(up, c)
		_ = up.CloseWrite() // the copy of the answer sees any error
	})
	_, err = io.Copy(c, up)
	if errors.Is(err, syscall.ECONNRESET) {
		_ = c.SetLinger(0) // it is reset for the client, too
	}
	_, _ = io.Copy(io.Discard, up) // the client may be gone
	_ = c.Close()
	sending.Wait()
}

// settled waits until a server has dealt with everything sent through the gate, even by dead processes:
// their connections come before the one opened now.
func (g *gate) settled(t *testing.T) {
	t.Helper()
	c, err := net.Dial("tcp", g.address())
	noerr.Must(t, err)
	noerr.Must(t, c.Close())
	g.mu.Lock()
	defer g.mu.Unlock()
	for !g.taken[c.LocalAddr().String()] || len(g.open) > 0 {
		g.moved.Wait()
	}
}
