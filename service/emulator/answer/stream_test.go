package answer

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
)

// TestAMissingBodyIsNotWaitedFor: the server itself reads what a handler left of
// a body, before it answers.
func TestAMissingBodyIsNotWaitedFor(t *testing.T) {
	const short = 50 * time.Millisecond
	for name, handler := range map[string]http.HandlerFunc{
		"left": func(w http.ResponseWriter, _ *http.Request) { Text(w, http.StatusUnauthorized, "test", "no") },
		"read": func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.ReadAll(r.Body); err != nil {
				Text(w, http.StatusUnauthorized, "test", "no")
			}
		},
	} {
		srv := httptest.NewServer(boundBodies(handler, short))
		t.Cleanup(srv.Close)
		conn, err := net.Dial("tcp", srv.Listener.Addr().String())
		noerr.Must(t, err)
		t.Cleanup(func() { conn.Close() })
		noerr.Must(t, conn.SetDeadline(time.Now().Add(time.Minute)))
		noerr.Must(t, noerr.From(io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf")))
		all := bufio.NewReader(conn)
		resp, err := http.ReadResponse(all, nil)
		if err != nil {
			t.Fatalf("%s: no answer: %v", name, err)
		}
		if resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: %s", name, resp.Status)
		}
		if _, err := io.Copy(io.Discard, all); err != nil {
			t.Errorf("%s: the connection is still open: %v", name, err)
		}
	}
}

// deadlined is a recorder that remembers the deadline of its client.
type deadlined struct {
	*httptest.ResponseRecorder
	until time.Time
}

func (d *deadlined) SetReadDeadline(t time.Time) error {
	d.until = t
	return nil
}

// TestTheDeadlineOfABodyEndsWithIt: a handler that goes on working is not cut.
func TestTheDeadlineOfABodyEndsWithIt(t *testing.T) {
	w := &deadlined{ResponseRecorder: httptest.NewRecorder()}
	handled := false
	BoundBodies(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if w.until.IsZero() {
			t.Error("a body may take any time")
		}
		if b, err := io.ReadAll(r.Body); err != nil || string(b) != "body" {
			t.Errorf("%q %v", b, err)
		}
		handled = true
	})).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader("body")))
	if !handled || !w.until.IsZero() {
		t.Errorf("handled %t, and a deadline is left: %v", handled, w.until)
	}
}
