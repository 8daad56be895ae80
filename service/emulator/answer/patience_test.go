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
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf"); err != nil {
			t.Fatal(err)
		}
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

// TestTheDeadlineOfABodyDoesNotEndItsHandler: nothing is left of it at the body's end.
func TestTheDeadlineOfABodyDoesNotEndItsHandler(t *testing.T) {
	const short = 50 * time.Millisecond
	srv := httptest.NewServer(boundBodies(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		select {
		case <-r.Context().Done():
			t.Error("the request was ended")
		case <-time.After(4 * short):
		}
		_, _ = w.Write(b)
	}), short))
	t.Cleanup(srv.Close)
	resp, err := http.Post(srv.URL, "text/plain", strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); err != nil || string(b) != "body" {
		t.Errorf("%q %v", b, err)
	}
}
