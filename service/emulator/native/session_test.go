package native

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"
)

// TestRequestsInsideAConnectionKeepItsSession: its exit was picked at the CONNECT.
func TestRequestsInsideAConnectionKeepItsSession(t *testing.T) {
	var clock atomic.Int64 // minutes
	g := newRig(t, rigOptions{
		target: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") }),
		now:    func() time.Time { return time.Unix(60*clock.Load(), 0) },
	})
	const login = "residential-session-a-const"
	inside := g.client(login, false)
	for range 3 {
		resp, err := inside.Get("https://lab.test/")
		body(t, resp, err)
		clock.Add(4) // of five
	}
	resp, err := g.client(login, false).Get("http://lab.test/")
	if body(t, resp, err); resp.StatusCode != http.StatusOK {
		t.Errorf("lost while it was used: %d %v", resp.StatusCode, resp.Header)
	}
	clock.Add(6)
	resp, err = g.client(login, false).Get("http://lab.test/")
	if body(t, resp, err); resp.Header.Get("x-brd-err-code") != "peer_30030" {
		t.Errorf("kept for the silence of a connection: %d %v", resp.StatusCode, resp.Header)
	}
}
