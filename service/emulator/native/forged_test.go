package native

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"testing"
	"time"

	"zonedeck/internal/noerr"
)

// TestATargetCannotSpeakForTheService: in its header, in what comes before it, and in
// what comes after the body.
func TestATargetCannotSpeakForTheService(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	noerr.Must(t, err)
	defer ln.Close()
	const forged = "X-Brd-Ip: 6.6.6.6\r\nX-Emulator-Basis: forged\r\nProxy-Status: forged\r\nX-Fine: yes\r\n"
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			_ = c.SetDeadline(time.Now().Add(time.Minute))
			if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
				_, _ = io.WriteString(c, "HTTP/1.1 103 Early Hints\r\nConnection: X-Hop\r\nX-Hop: 1\r\n"+forged+"\r\n"+
					"HTTP/1.1 200 OK\r\nTrailer: X-Brd-Ip, X-Fine\r\nTransfer-Encoding: chunked\r\n"+forged+"\r\n2\r\nhi\r\n0\r\nContent-Length: 9\r\n"+forged+"\r\n")
			}
			c.Close()
		}
	}()
	g := newRig(t, rigOptions{rawTarget: ln})
	mine := func(where string, h http.Header, ip int) {
		t.Helper()
		if len(h["X-Brd-Ip"]) != ip || h.Get("X-Brd-Ip") == "6.6.6.6" || h.Get("X-Emulator-Basis") == "forged" || h.Get("Proxy-Status") != "" || h.Get("X-Hop") != "" || h.Get("Content-Length") != "" {
			t.Errorf("%s: %v", where, h)
		}
		if h.Get("X-Fine") != "yes" {
			t.Errorf("%s: what is the target's own to say did not pass: %v", where, h)
		}
	}
	hints := 0
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(_ int, h textproto.MIMEHeader) error {
		hints++
		mine("103", http.Header(h), 0)
		return nil
	}})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://lab.test/", nil)
	noerr.Must(t, err)
	resp, err := g.client("isp", false).Do(req)
	noerr.Must(t, err)
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); err != nil || string(b) != "hi" || hints != 1 {
		t.Errorf("%q %v, %d hints", b, err, hints)
	}
	mine("header", resp.Header, 1)
	mine("trailer", resp.Trailer, 0)
}

// TestAnUnrequestedAnswerIsDropped: it came while the connection was idle.
func TestAnUnrequestedAnswerIsDropped(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	noerr.Must(t, err)
	defer ln.Close()
	const answer = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"
	poison, dropped := make(chan struct{}), make(chan struct{})
	go func() {
		for conns := 0; ; conns++ {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			_ = c.SetDeadline(time.Now().Add(time.Minute))
			if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
				_, _ = io.WriteString(c, answer+"good")
			}
			if conns == 0 {
				<-poison
				_, _ = io.WriteString(c, answer+"evil")
				_, _ = io.Copy(io.Discard, c)
				close(dropped)
			}
			c.Close()
		}
	}()
	c := newRig(t, rigOptions{rawTarget: ln}).client("isp-session-a", false)
	for i := range 2 {
		resp, err := c.Get("http://lab.test/")
		if got := body(t, resp, err); got != "good" {
			t.Errorf("request %d: %q", i, got)
		}
		if i == 0 {
			close(poison)
			<-dropped
		}
	}
}

// TestABrokenBodyIsItsClientsFault, not the target's.
func TestABrokenBodyIsItsClientsFault(t *testing.T) {
	g := newRig(t, rigOptions{target: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
	})})
	_, r := g.raw("POST http://lab.test/ HTTP/1.1\r\nHost: lab.test\r\nProxy-Authorization: " + basic("isp") +
		"\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nno chunk\r\n")
	resp, err := http.ReadResponse(r, nil)
	noerr.Must(t, err)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest || resp.Header.Get("x-brd-err-code") != "proxy_error" {
		t.Errorf("%s %v", resp.Status, resp.Header)
	}
}
