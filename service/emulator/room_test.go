package emulator

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// crowded serves h on a port with places for four connections.
func crowded(t *testing.T, h http.HandlerFunc) (addr string) {
	t.Helper()
	g := start(t, Options{})
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := newLimitListener(ln).(*limitListener)
	l.slots = make(chan struct{}, 4)
	srv := g.newHTTP(h)
	g.wg.Go(func() { g.served(srv.Serve(l)) })
	return ln.Addr().String()
}

// ask sends a request on a connection and reads the answer.
func ask(conn net.Conn) (status int, err error) {
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return 0, err
	}
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		return 0, err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, err
}

// clients opens connections that the end of the test closes.
func clients(t *testing.T, addr string, n int) []net.Conn {
	t.Helper()
	all := make([]net.Conn, n)
	for i := range all {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		all[i] = conn
	}
	return all
}

func TestKeptConnectionsMakeRoomForOtherClients(t *testing.T) {
	addr := crowded(t, func(http.ResponseWriter, *http.Request) {})
	kept := clients(t, addr, 12)
	for i, conn := range kept {
		if status, err := ask(conn); status != http.StatusOK {
			t.Fatalf("client %d: %d, %v", i, status, err)
		}
	}
	if status, err := ask(kept[11]); status != http.StatusOK {
		t.Errorf("the newest lost its connection: %d, %v", status, err)
	}
	if status, err := ask(kept[0]); err == nil {
		t.Errorf("the oldest kept its connection: %d", status)
	}
}

func TestConnectionsThatNeverAskMakeRoom(t *testing.T) {
	addr := crowded(t, func(http.ResponseWriter, *http.Request) {})
	clients(t, addr, 12)
	if status, err := ask(clients(t, addr, 1)[0]); status != http.StatusOK {
		t.Errorf("%d, %v", status, err)
	}
}

func TestARequestUnderWayKeepsItsPlace(t *testing.T) {
	inside, finish := make(chan struct{}, 8), make(chan struct{})
	addr := crowded(t, func(_ http.ResponseWriter, r *http.Request) {
		inside <- struct{}{}
		select {
		case <-finish:
		case <-r.Context().Done():
		}
	})
	busy := clients(t, addr, 5)
	answered := make(chan error, len(busy))
	for _, conn := range busy {
		go func() {
			status, err := ask(conn)
			if err == nil && status != http.StatusOK {
				err = fmt.Errorf("status %d", status)
			}
			answered <- err
		}()
	}
	for range 4 {
		<-inside
	}
	select {
	case <-inside:
		t.Error("a fifth request has a place")
	case err := <-answered:
		t.Errorf("a request ended: %v", err)
	case <-time.After(3 * roomEvery):
	}
	close(finish)
	for range busy {
		if err := <-answered; err != nil {
			t.Error(err)
		}
	}
}

// The bound itself, with a hundred clients more than there are places.
func TestFourThousandKeptConnectionsLockNobodyOut(t *testing.T) {
	g := start(t, Options{})
	addr := strings.TrimPrefix(g.r.API, "http://")
	for n := range maxConns + 104 {
		if _, err := ask(clients(t, addr, 1)[0]); err != nil {
			t.Fatalf("client %d: %v", n, err)
		}
	}
}
