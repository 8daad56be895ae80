package native

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"

	"zonedeck/internal/noerr"
)

// TestTheTargetSeesTheClientsVersionOfHTTP: HTTP/1.1 and HTTP/2 both go through to the
// target.
func TestTheTargetSeesTheClientsVersionOfHTTP(t *testing.T) {
	g := newRig(t, rigOptions{target: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto, " ", r.Host) })})
	for _, way := range ways() {
		want := map[bool]string{false: "HTTP/1.1 lab.test", true: "HTTP/2.0 lab.test"}[way.http2]
		resp, err := g.client(way.login, way.http2).Get(way.base + "/")
		if got := body(t, resp, err); got != want {
			t.Errorf("%s: the target saw %s", way.name, got)
		}
	}
}

func TestBodiesAreStreamedBothWays(t *testing.T) {
	// The target answers each line when it comes, so nothing may be collected on the way.
	g := newRig(t, rigOptions{target: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		_ = rc.EnableFullDuplex()
		w.WriteHeader(http.StatusOK)
		_ = rc.Flush()
		for s := bufio.NewScanner(r.Body); s.Scan(); {
			fmt.Fprintln(w, strings.ToUpper(s.Text()))
			_ = rc.Flush()
		}
	})})
	for _, way := range ways() {
		if !way.http2 && way.login != "datacenter" || way.name == "plain" {
			continue // HTTP/1.1 answers in turn: see the next test
		}
		pr, pw := io.Pipe()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, way.base+"/", pr)
		noerr.Must(t, err)
		first := make(chan error, 1)
		go func() { _, err := io.WriteString(pw, "one\n"); first <- err }()
		resp, err := g.client(way.login, way.http2).Do(req)
		if err != nil {
			t.Fatalf("%s: %v", way.name, err)
		}
		noerr.Must(t, <-first)
		answers := bufio.NewScanner(resp.Body)
		for _, word := range []string{"two", "three"} {
			if !answers.Scan() {
				t.Fatalf("%s: %v", way.name, answers.Err())
			}
			noerr.Must(t, noerr.From(io.WriteString(pw, word+"\n")))
		}
		pw.Close()
		if !answers.Scan() || answers.Text() != "THREE" {
			t.Errorf("%s: %q %v", way.name, answers.Text(), answers.Err())
		}
		resp.Body.Close()
	}
}

func TestTheFirstBytesOfASlowAnswerAndOfASlowRequestAreNotHeldBack(t *testing.T) {
	got := make(chan string)
	goOn := make(chan struct{})
	g := newRig(t, rigOptions{target: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			fmt.Fprint(w, "first ")
			_ = http.NewResponseController(w).Flush()
			<-goOn
			fmt.Fprint(w, "second")
			return
		}
		b := make([]byte, 5)
		_, _ = io.ReadFull(r.Body, b)
		got <- string(b)
		rest, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%d more", len(rest))
	})})
	for _, way := range ways() {
		c := g.client(way.login, way.http2)
		resp, err := c.Get(way.base + "/")
		noerr.Must(t, err)
		b := make([]byte, 6)
		if _, err := io.ReadFull(resp.Body, b); err != nil || string(b) != "first " {
			t.Fatalf("%s: %q %v", way.name, b, err)
		}
		goOn <- struct{}{}
		if rest := body(t, resp, nil); rest != "second" {
			t.Errorf("%s: then %q", way.name, rest)
		}
		pr, pw := io.Pipe()
		answered := make(chan string, 1)
		go func() {
			resp, err := c.Post(way.base+"/", "text/plain", pr)
			answered <- body(t, resp, err)
		}()
		noerr.Must(t, noerr.From(io.WriteString(pw, "hello")))
		if s := <-got; s != "hello" {
			t.Errorf("%s: the target has %q", way.name, s)
		}
		noerr.Must(t, noerr.From(pw.Write(make([]byte, 100_000))))
		pw.Close()
		if a := <-answered; a != "100000 more" {
			t.Errorf("%s: %q", way.name, a)
		}
	}
}

func TestTrailersPassBothWays(t *testing.T) {
	g := newRig(t, rigOptions{target: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		_, _ = io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, "body of ", r.Trailer.Get("X-Asked"))
		w.Header().Set("X-Sum", "42")
		w.Header().Set(http.TrailerPrefix+"X-Late", "not announced")
	})})
	for _, way := range ways() {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, way.base+"/", io.NopCloser(strings.NewReader("x")))
		noerr.Must(t, err)
		req.Trailer = http.Header{"X-Asked": {"this"}}
		resp, err := g.client(way.login, way.http2).Do(req)
		if got := body(t, resp, err); got != "body of this" || resp.Trailer.Get("X-Sum") != "42" || resp.Trailer.Get("X-Late") != "not announced" {
			t.Errorf("%s: %q, trailers %v", way.name, got, resp.Trailer)
		}
		// A request without a body takes the other way to the target.
		resp, err = g.client(way.login, way.http2).Get(way.base + "/")
		if got := body(t, resp, err); got != "body of " || resp.Trailer.Get("X-Sum") != "42" || resp.Trailer.Get("X-Late") != "not announced" {
			t.Errorf("%s, GET: %q, trailers %v", way.name, got, resp.Trailer)
		}
	}
}

func TestExpectAndInformationalAnswersPass(t *testing.T) {
	g := newRig(t, rigOptions{target: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/refuse" {
			w.WriteHeader(http.StatusExpectationFailed) // the body is never asked for
			return
		}
		w.Header().Set("Link", "</style.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Del("Link")
		n, _ := io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, n)
	})})
	for _, way := range ways() {
		var continued, hinted bool
		trace := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
			Got100Continue: func() { continued = true },
			Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
				hinted = hinted || code == http.StatusEarlyHints && h.Get("Link") != ""
				return nil
			},
		})
		send := func(path string, n int) (*http.Response, error) {
			req, err := http.NewRequestWithContext(trace, http.MethodPut, way.base+path, bytes.NewReader(make([]byte, n)))
			noerr.Must(t, err)
			req.Header.Set("Expect", "100-continue")
			return g.client(way.login, way.http2).Do(req)
		}
		resp, err := send("/", 1000)
		if got := body(t, resp, err); got != "1000" || !continued && !way.http2 || !hinted || resp.Header.Get("Link") != "" {
			t.Errorf("%s: %q, continued %v, hinted %v, %v", way.name, got, continued, hinted, resp.Header)
		}
		continued = false
		resp, err = send("/refuse", 1000)
		if body(t, resp, err); resp.StatusCode != http.StatusExpectationFailed || continued && !way.http2 {
			t.Errorf("%s: %d, continued %v", way.name, resp.StatusCode, continued)
		}
		hinted = false
		req, err := http.NewRequestWithContext(trace, http.MethodGet, way.base+"/", nil)
		noerr.Must(t, err)
		resp, err = g.client(way.login, way.http2).Do(req)
		if got := body(t, resp, err); got != "0" || !hinted {
			t.Errorf("%s, GET: %q, hinted %v", way.name, got, hinted)
		}
	}
}

// TestASlowStreamStallsNoOther is about HTTP/2 inside a re-signed connection: an answer
// without a reader and a body that the target does not read.
func TestASlowStreamStallsNoOther(t *testing.T) {
	release := make(chan struct{})
	g := newRig(t, rigOptions{target: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/endless":
			chunk := make([]byte, 64<<10)
			for r.Context().Err() == nil {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		case "/deaf":
			_ = http.NewResponseController(w).EnableFullDuplex()
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-release
		default:
			n, _ := io.Copy(io.Discard, r.Body)
			fmt.Fprint(w, n)
		}
	})})
	c := g.client("residential", true)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	defer close(release)
	for range 5 {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://lab.test/endless", nil)
		noerr.Must(t, err)
		resp, err := c.Do(req)
		noerr.Must(t, err)
		defer resp.Body.Close() // never read
		req, err = http.NewRequestWithContext(ctx, http.MethodPost, "https://lab.test/deaf", io.LimitReader(zeros{}, 1<<30))
		noerr.Must(t, err)
		resp, err = c.Do(req)
		noerr.Must(t, err)
		defer resp.Body.Close()
	}
	for range 3 {
		soon, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		req, err := http.NewRequestWithContext(soon, http.MethodPost, "https://lab.test/", bytes.NewReader(make([]byte, 300_000)))
		noerr.Must(t, err)
		resp, err := c.Do(req)
		if got := body(t, resp, err); got != "300000" || resp.ProtoMajor != 2 {
			t.Errorf("%q by %s", got, resp.Proto)
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestWebSocketsPass(t *testing.T) {
	g := newRig(t, rigOptions{target: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, _, _, err := ws.UpgradeHTTP(r, w)
		if err != nil {
			return
		}
		defer c.Close()
		for {
			msg, op, err := wsutil.ReadClientData(c)
			if err != nil {
				return
			}
			if err := wsutil.WriteServerMessage(c, op, append([]byte("echo "), msg...)); err != nil {
				return
			}
		}
	})})
	for _, way := range []struct {
		name string
		dial func() (net.Conn, string)
	}{
		{"plain", func() (net.Conn, string) {
			c, r := g.raw("")
			return &readAhead{c, r}, "http://lab.test/"
		}},
		{"tunnel", func() (net.Conn, string) { return g.connect("isp", "lab.test:80"), "/" }},
		{"re-signed", func() (net.Conn, string) { return g.inside("residential", "http/1.1"), "/" }},
	} {
		t.Run(way.name, func(t *testing.T) {
			c, address := way.dial()
			defer c.Close()
			// One write with the first frame behind the request would be a guess; RFC 6455 has
			// the client wait.
			fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: lab.test\r\nProxy-Authorization: %s\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"+
				"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", address, basic("mobile"))
			r := bufio.NewReader(c)
			resp, err := http.ReadResponse(r, nil)
			if err != nil || resp.StatusCode != http.StatusSwitchingProtocols || resp.Header.Get("Sec-WebSocket-Accept") != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" {
				t.Fatalf("%+v %v", resp, err)
			}
			for i := range 3 {
				msg := strings.Repeat("x", 1+i*40_000)
				noerr.Must(t, wsutil.WriteClientText(c, []byte(msg)))
				back, err := wsutil.ReadServerText(&readWriter{r, c})
				if err != nil || string(back) != "echo "+msg {
					t.Fatalf("%d bytes, %v", len(back), err)
				}
			}
		})
	}
}

type readWriter struct {
	io.Reader
	io.Writer
}

func TestACutAnswerIsCutForTheClientToo(t *testing.T) {
	g := newRig(t, rigOptions{target: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/length" {
			w.Header().Set("Content-Length", "100000")
		}
		fmt.Fprint(w, strings.Repeat("x", 5000))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})})
	for _, way := range ways() {
		for _, path := range []string{"/length", "/chunked"} {
			resp, err := g.client(way.login, way.http2).Get(way.base + path)
			if err != nil {
				t.Fatalf("%s: %v", way.name, err)
			}
			n, err := io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			if err == nil {
				t.Errorf("%s%s: %d bytes look whole", way.name, path, n)
			}
		}
	}
}

func TestHeadAndEmptyAnswersKeepTheirLength(t *testing.T) {
	g := newRig(t, rigOptions{target: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/204":
			w.WriteHeader(http.StatusNoContent)
		case "/304":
			w.Header().Set("ETag", `"x"`)
			w.WriteHeader(http.StatusNotModified)
		default:
			w.Header().Set("Content-Length", "12345")
			if r.Method != http.MethodHead {
				_, _ = w.Write(make([]byte, 12345))
			}
		}
	})})
	for _, way := range ways() {
		c := g.client(way.login, way.http2)
		for i := range 2 {
			resp, err := c.Head(way.base + "/")
			if b := body(t, resp, err); b != "" || resp.ContentLength != 12345 {
				t.Errorf("%s HEAD %d: %d %q", way.name, i, resp.ContentLength, b)
			}
			for path, status := range map[string]int{"/204": 204, "/304": 304} {
				resp, err := c.Get(way.base + path)
				if b := body(t, resp, err); b != "" || resp.StatusCode != status {
					t.Errorf("%s %s: %d %q", way.name, path, resp.StatusCode, b)
				}
			}
			resp, err = c.Get(way.base + "/")
			if b := body(t, resp, err); len(b) != 12345 {
				t.Errorf("%s: %d bytes", way.name, len(b))
			}
		}
	}
}

// TestAClientThatLeavesEndsTheFetch: its target does not work on.
func TestAClientThatLeavesEndsTheFetch(t *testing.T) {
	began, ended := make(chan struct{}), make(chan struct{})
	g := newRig(t, rigOptions{target: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		began <- struct{}{}
		<-r.Context().Done()
		ended <- struct{}{}
	})})
	for _, way := range ways() {
		ctx, cancel := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, way.base+"/", nil)
		noerr.Must(t, err)
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			if resp, err := g.client(way.login, way.http2).Do(req); err == nil {
				resp.Body.Close()
			}
		}()
		<-began
		cancel()
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Fatalf("%s: the target still works", way.name)
		}
		<-gone
	}
}
