package exchange

import (
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/servicetest"
)

// hanging is the address of a listener that accepts nothing and has a full queue. A
// connection to it hangs; other systems refuse it.
func hanging(t *testing.T) (host string, port int) {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	noerr.Must(t, err)
	t.Cleanup(func() { noerr.Want(t, syscall.Close(fd)) })
	noerr.Must(t, errors.Join(syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), syscall.Listen(fd, 0)))
	name, err := syscall.Getsockname(fd)
	noerr.Must(t, err)
	host, port = "127.0.0.1", name.(*syscall.SockaddrInet4).Port
	for {
		conn, err := net.DialTimeout("tcp", fmt.Sprintf("%s:%d", host, port), time.Second)
		if err != nil {
			return host, port
		}
		t.Cleanup(func() { conn.Close() })
	}
}

// The socket and the context have the same deadline on two clocks. The result must be
// the same whichever is first.
func TestAConnectionThatHangsIsATimeoutEveryTime(t *testing.T) {
	host, port := hanging(t)
	p := servicetest.Profile(fmt.Sprintf("http://%s:%d", host, port))
	p.ProxyHost, p.ProxyPort, p.Local = host, port, true // without the rate of a key
	w := New(Config{})
	for n := range 200 {
		for how, err := range broken(t, w, p, 2*time.Millisecond) {
			var at *Error
			if !errors.As(err, &at) || at.Broke != model.BreakTimeout || at.Peer != PeerService || at.Sent || !errors.Is(err, ErrTimeout) {
				t.Fatalf("attempt %d %s: %v", n, how, err)
			}
		}
	}
}
