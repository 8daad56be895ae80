package h1

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
func (zeros) Close() error               { return nil }

// TestATargetAtWhichNothingMovesIsLeft, whichever transport it is that waits.
func TestATargetAtWhichNothingMovesIsLeft(t *testing.T) {
	release := make(chan struct{})
	silent := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex()
		if r.URL.Path == "/half" {
			fmt.Fprint(w, "half")
			_ = http.NewResponseController(w).Flush()
		}
		<-release
	}))
	silent.EnableHTTP2 = true
	silent.StartTLS()
	defer silent.Close()
	defer close(release)
	deaf, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and reads nothing
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	other := silent.Client().Transport.(*http.Transport)
	defer other.CloseIdleConnections()
	c := newClient(t, Config{Other: other, HeaderTimeout: 200 * time.Millisecond})
	for _, tc := range []struct {
		name, method, url string
		body              io.ReadCloser
		head              bool // whether there is an answer's head
	}{
		{"deaf", http.MethodPost, "http://" + deaf.Addr().String(), zeros{}, false},
		{"deaf, HTTP/2", http.MethodPost, silent.URL, zeros{}, false},
		{"silent, HTTP/2", http.MethodGet, silent.URL, nil, false},
		{"silent in the middle, HTTP/2", http.MethodGet, silent.URL + "/half", nil, true},
		{"deaf and silent in the middle, HTTP/2", http.MethodPost, silent.URL + "/half", zeros{}, true},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		r, err := http.NewRequestWithContext(ctx, tc.method, tc.url, tc.body)
		if err != nil {
			t.Fatal(err)
		}
		if tc.body != nil {
			r.ContentLength = -1
		}
		resp, err := c.RoundTrip(r)
		if tc.head {
			if err != nil {
				t.Fatalf("%s: %v", tc.name, err)
			}
			_, err = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		ne := net.Error(nil)
		if ctx.Err() != nil || !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &ne) || !ne.Timeout() {
			t.Errorf("%s: %v", tc.name, err)
		}
		cancel()
	}
}

// TestATargetThatMovesIsWaitedFor: slow bodies in both directions, longer than the patience.
func TestATargetThatMovesIsWaitedFor(t *testing.T) {
	const patience, steps = 400 * time.Millisecond, 16
	tick := time.NewTicker(patience / 8)
	defer tick.Stop()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		for range steps {
			<-tick.C
			fmt.Fprint(w, len(b))
			_ = http.NewResponseController(w).Flush()
		}
	}))
	defer srv.Close()
	other := &http.Transport{}
	defer other.CloseIdleConnections()
	pr, pw := io.Pipe()
	go func() {
		for range steps {
			<-tick.C
			_, _ = io.WriteString(pw, "x")
		}
		pw.Close()
	}()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL, pr)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := newClient(t, Config{Other: other, HeaderTimeout: patience}).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); err != nil || string(b) != strings.Repeat("16", steps) {
		t.Errorf("%q %v", b, err)
	}
}

// TestConnectionsToManyTargetsAreBounded: each target has its own, all together the bound.
func TestConnectionsToManyTargetsAreBounded(t *testing.T) {
	c := newClient(t, Config{Dial: func(context.Context, string) (net.Conn, error) {
		near, far := net.Pipe()
		go func() {
			defer far.Close()
			for br := bufio.NewReader(far); ; {
				if _, err := http.ReadRequest(br); err != nil {
					return
				}
				if _, err := io.WriteString(far, hello); err != nil {
					return
				}
			}
		}()
		return near, nil
	}})
	const more = 3
	for i := range MaxKept + more {
		if _, b, err := send(t.Context(), t, c, http.MethodGet, fmt.Sprintf("http://h%d.example/", i)); err != nil || b != "hello" {
			t.Fatalf("%q %v", b, err)
		}
	}
	if c.kept != MaxKept || len(c.idle) != MaxKept {
		t.Errorf("%d connections to %d targets are kept", c.kept, len(c.idle))
	}
	for i, kept := range map[int]bool{0: false, more - 1: false, more: true, MaxKept + more - 1: true} {
		if _, ok := c.idle[fmt.Sprintf("ph%d.example:80", i)]; ok != kept {
			t.Errorf("target %d: kept %v", i, ok)
		}
	}
}
