// Package postgrestest runs tests on a PostgreSQL server instead of a SQLite file, if the environment names a
// server. Only tests import it.
package postgrestest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"zonedeck/service/database"
)

// variable holds the server's address: postgres://NAME:PASSWORD@localhost/DATABASE. The tests make schemas in that
// database, and drop them afterwards.
const variable = "ZONEDECK_POSTGRES"

// Available reports whether the environment names a server.
func Available() bool { return os.Getenv(variable) != "" }

// OnFile runs a test on SQLite even so, because the test is about the file.
func OnFile(t testing.TB) {
	t.Helper()
	t.Setenv(variable, "")
}

// addressOf is the server's address with the schema of a path.
func addressOf(t testing.TB, path string) (address, schema string) {
	t.Helper()
	u, err := url.Parse(os.Getenv(variable))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(path))
	schema = fmt.Sprintf("test_%x", sum[:12])
	query := u.Query()
	query.Set("search_path", schema)
	u.RawQuery = query.Encode()
	return u.String(), schema
}

// Raw opens one connection to the tables of a path, like any other program.
func Raw(t testing.TB, path string) *sql.DB {
	t.Helper()
	address, _ := addressOf(t, path)
	db, err := sql.Open("pgx", address)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() }) // most are closed by then
	return db
}

// Address is the address of a schema for the tables of a path: of one database, as far as the program sees. The test that
// asks first makes it, empty, and drops it. It skips the test where there is no server.
func Address(t testing.TB, path string) string {
	t.Helper()
	if !Available() {
		t.Skip(variable + " names no server")
	}
	address, schema := addressOf(t, path)
	raw := Raw(t, path)
	defer raw.Close() //nolint:errcheck // Raw closes it again
	var there bool
	if err := raw.QueryRowContext(t.Context(), "SELECT to_regnamespace($1) IS NOT NULL", schema).Scan(&there); err != nil {
		t.Fatal(err)
	}
	if there {
		return address
	}
	if _, err := raw.ExecContext(t.Context(), "CREATE SCHEMA "+schema); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := Raw(t, path).ExecContext(context.WithoutCancel(t.Context()), "DROP SCHEMA IF EXISTS "+schema+" CASCADE"); err != nil {
			t.Error(err)
		}
	})
	return address
}

// Server is a server with an empty schema for the tables of a path, closed with the test. As with a file, opening the same
// path again in a test opens the same tables.
func Server(t testing.TB, path string) *database.Server {
	t.Helper()
	s, err := database.OpenServer(t.Context(), Address(t, path))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // some are closed by then
	return s
}

// Network is a way to a server that can be cut.
type Network struct {
	mu    sync.Mutex
	off   bool
	loses []byte // a message whose answer is lost, once
	conns []net.Conn
}

// Cut ends all connections, and refuses new ones until it is called with false.
func (n *Network) Cut(off bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.off = off
	n.end()
}

// end ends all connections. mu is held.
func (n *Network) end() {
	for _, c := range n.conns {
		_ = c.Close() // it may be closed already
	}
	n.conns = nil
}

// LoseAnswer ends all connections once, when the server has answered a message with a text: the answer does not arrive.
func (n *Network) LoseAnswer(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.loses = []byte(text)
}

// carry passes on what one end sends, until either ends. asked is true of a connection whose next answer is lost.
func (n *Network) carry(to, from net.Conn, answers bool, asked *atomic.Bool) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 32<<10)
	for {
		size, err := from.Read(buf)
		n.mu.Lock()
		switch {
		case answers && asked.Load():
			n.loses, err = nil, io.ErrClosedPipe
			n.end()
		case !answers && len(n.loses) > 0 && bytes.Contains(buf[:size], n.loses):
			asked.Store(true)
		}
		n.mu.Unlock()
		if err != nil {
			return
		}
		if _, err := to.Write(buf[:size]); err != nil {
			return
		}
	}
}

// add takes a connection, unless the way is cut.
func (n *Network) add(conns ...net.Conn) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.conns = append(n.conns, conns...)
	return !n.off
}

// Through gives the address of a server through a network of the test.
func Through(t testing.TB, address string) (through string, network *Network) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	network = &Network{}
	var all sync.WaitGroup
	server := u.Host
	all.Go(func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			to, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server)
			if err != nil || !network.add(from, to) {
				_ = from.Close()
				if to != nil {
					_ = to.Close()
				}
				continue
			}
			var asked atomic.Bool
			all.Go(func() { network.carry(to, from, false, &asked) })
			all.Go(func() { network.carry(from, to, true, &asked) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		network.Cut(true)
		all.Wait()
	})
	u.Host = l.Addr().String()
	query := u.Query()
	query.Set("sslmode", "disable") // LoseAnswer reads along
	u.RawQuery = query.Encode()
	return u.String(), network
}
