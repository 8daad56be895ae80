package native

import (
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/internal/noerr"
)

// pair is a client's connection as the proxy holds it and the client's own end.
func pair(t *testing.T) (held net.Conn, own *net.TCPConn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	noerr.Must(t, err)
	defer ln.Close()
	c, err := net.Dial("tcp", ln.Addr().String())
	noerr.Must(t, err)
	noerr.Must(t, c.SetDeadline(time.Now().Add(time.Minute)))
	held, err = ln.Accept()
	noerr.Must(t, err)
	t.Cleanup(func() { c.Close(); held.Close() })
	return held, c.(*net.TCPConn)
}

// begin carries a tunnel until both of its directions have ended.
func begin(t *testing.T, ts *tunnels, client, target net.Conn) (ended <-chan struct{}) {
	t.Helper()
	c := &tunnelled{Conn: client, visit: &Visit{}}
	if !ts.add(c, target) {
		t.Fatal("not taken")
	}
	done := make(chan struct{})
	go func() { defer close(done); ts.pipe(c, target, bill{}); ts.drop(c, target) }()
	return done
}

func TestEachDirectionOfATunnelEndsAlone(t *testing.T) {
	heldClient, client := pair(t)
	heldTarget, target := pair(t)
	var ts tunnels
	ended := begin(t, &ts, heldClient, heldTarget)

	noerr.Must(t, noerr.From(io.WriteString(target, "bye")))
	noerr.Must(t, target.CloseWrite())
	if b, err := io.ReadAll(client); err != nil || string(b) != "bye" {
		t.Fatalf("%q %v", b, err)
	}
	noerr.Must(t, noerr.From(io.WriteString(client, "one more thing")))
	noerr.Must(t, client.CloseWrite())
	if b, err := io.ReadAll(target); err != nil || string(b) != "one more thing" {
		t.Errorf("%q %v", b, err)
	}
	<-ended
	if len(ts.conns) != 0 {
		t.Errorf("%d connections are still held", len(ts.conns))
	}
}

func TestCloseAllCutsTunnelsAndTakesNoMore(t *testing.T) {
	heldClient, client := pair(t)
	heldTarget, _ := pair(t)
	var ts tunnels
	begin(t, &ts, heldClient, heldTarget)
	ts.closeAll() // returns when the goroutines have ended
	if _, err := client.Read(make([]byte, 1)); err == nil {
		t.Error("the client's end is open")
	}
	late, _ := pair(t)
	if ts.add(late, nil) {
		t.Error("taken after the end")
	}
}

// TestATunnelThatMovesIsKept: the idle time is that of both directions together.
func TestATunnelThatMovesIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const idle = defaultTunnelIdle
		heldClient, client := net.Pipe()
		heldTarget, target := net.Pipe()
		var ts tunnels
		ended := begin(t, &ts, heldClient, heldTarget)
		for range 16 { // only the target speaks, for longer than the idle time
			time.Sleep(idle / 8) //nolint:forbidigo // the bubble's clock
			if _, err := target.Write([]byte("x")); err != nil {
				t.Fatalf("cut while it moved: %v", err)
			}
			if _, err := client.Read(make([]byte, 1)); err != nil {
				t.Fatalf("cut while it moved: %v", err)
			}
		}
		silent := time.Now()
		<-ended
		if d := time.Since(silent); d < idle || d > idle+idle/idleSlices {
			t.Errorf("cut after %s of silence", d)
		}
		for name, end := range map[string]net.Conn{"client": client, "target": target} {
			if _, err := end.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
				t.Errorf("the %s's end: %v", name, err)
			}
		}
	})
}

// quiet waits until no connection is held. Waiting on the group itself would race with
// a listener that adds to it.
func (t *tunnels) quiet(tb testing.TB) {
	tb.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.After(time.Minute); ; {
		t.mu.Lock()
		n := len(t.conns)
		t.mu.Unlock()
		if n == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-end:
			tb.Fatalf("%d connections are still held", n)
		}
	}
}
