package batch_test

import (
	"bytes"
	"net"
	"net/url"
	"sync"
	"testing"
)

// gate is a network before a server, which may fail.
type gate struct {
	server   func() (net.Conn, error)
	listener net.Listener
	all      sync.WaitGroup

	mu      sync.Mutex
	changed *sync.Cond
	shut    bool   // no connection gets through
	hung    bool   // nothing that is sent arrives
	breaks  []byte // what ends all connections, once, instead of getting through
	ends    []net.Conn
}

// newGate opens a gate before the server of an address, and gives the address by which it is passed.
func newGate(t testing.TB, address string) (g *gate, through string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	server := u.Host
	g = &gate{server: func() (net.Conn, error) { return new(net.Dialer).DialContext(t.Context(), "tcp", server) }}
	g.changed = sync.NewCond(&g.mu)
	if g.listener, err = new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	u.Host = g.listener.Addr().String()
	query := u.Query()
	query.Set("sslmode", "disable") // BreakAt reads along
	u.RawQuery = query.Encode()
	g.all.Go(g.serve)
	t.Cleanup(func() {
		_ = g.listener.Close()
		g.Shut()
		g.all.Wait()
	})
	return g, u.String()
}

func (g *gate) serve() {
	for {
		client, err := g.listener.Accept()
		if err != nil {
			return
		}
		server, err := g.server()
		if err != nil {
			_ = client.Close()
			continue
		}
		g.mu.Lock()
		g.ends = append(g.ends, client, server)
		if g.shut {
			_ = client.Close()
			_ = server.Close()
		}
		g.mu.Unlock()
		g.all.Go(func() { g.pass(client, server) })
		g.all.Go(func() { g.pass(server, client) })
	}
}

// pass copies what one end sends to the other until one of them closes.
func (g *gate) pass(from, to net.Conn) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		g.mu.Lock()
		for g.hung {
			g.changed.Wait()
		}
		if len(g.breaks) > 0 && bytes.Contains(buf[:n], g.breaks) {
			g.breaks = nil
			g.end()
		}
		g.mu.Unlock()
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (g *gate) set(shut, hung bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut, g.hung = shut, hung; shut {
		g.end()
	}
	g.changed.Broadcast()
}

// end ends all connections. mu is held.
func (g *gate) end() {
	for _, end := range g.ends {
		_ = end.Close()
	}
	g.ends = nil
}

// BreakAt ends all connections once, when one of them is sent a text, which does not arrive. The next ones get through.
func (g *gate) BreakAt(text string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.breaks = []byte(text)
}

// Shut ends all connections, and lets no other through: the server is gone.
func (g *gate) Shut() { g.set(true, false) }

// Hang keeps the connections, and has nothing that is sent arrive.
func (g *gate) Hang() { g.set(false, true) }

// Open lets all through.
func (g *gate) Open() { g.set(false, false) }
