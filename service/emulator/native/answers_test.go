package native

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"zonedeck/internal/noerr"
)

// outcome is what a caller sees of an answer, or "refused". What the proxy says of itself
// is not in it, nor the length, which a short answer gets on the way.
func outcome(t *testing.T, rt http.RoundTripper, method, url string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	noerr.Must(t, err)
	resp, err := rt.RoundTrip(r)
	if err != nil {
		return "refused"
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusBadGateway && resp.Header.Get("x-brd-err-code") != "" {
		return "refused"
	}
	b, err := io.ReadAll(resp.Body)
	cut := ""
	if err != nil {
		cut = " cut"
	}
	maps.DeleteFunc(resp.Header, func(name string, _ []string) bool {
		return serviceHeader(name) || name == "Date" || name == "Content-Length"
	})
	return fmt.Sprintf("%d %q %v %v%s", resp.StatusCode, b, resp.Header, resp.Trailer, cut)
}

// TestAnAnswerIsWhatItsTargetSent, as net/http understands it without the proxy: good
// answers, and those of a hostile target.
func TestAnAnswerIsWhatItsTargetSent(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	noerr.Must(t, err)
	var answer atomic.Pointer[string]
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			_ = c.SetDeadline(time.Now().Add(time.Minute))
			if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
				_, _ = io.WriteString(c, *answer.Load())
			}
			c.Close()
		}
	}()
	defer func() { ln.Close(); <-done }()
	direct := &http.Transport{DisableCompression: true, DisableKeepAlives: true, MaxResponseHeaderBytes: 256 << 10}
	proxied := newRig(t, rigOptions{rawTarget: ln}).client("isp", false).Transport
	const ok = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
	for name, a := range map[string]string{
		"with a length":                ok + "Content-Length: 2\r\n\r\nhi",
		"empty":                        ok + "Content-Length: 0\r\n\r\n",
		"in chunks":                    ok + "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
		"up to its end":                ok + "\r\nhi",
		"no content":                   "HTTP/1.1 204 No Content\r\n\r\n",
		"not modified":                 "HTTP/1.1 304 Not Modified\r\nEtag: x\r\n\r\n",
		"of HTTP/1.0":                  "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nhi",
		"after an early hint":          "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n" + ok + "Content-Length: 2\r\n\r\nhi",
		"continued unasked":            "HTTP/1.1 100 Continue\r\n\r\n" + ok + "Content-Length: 2\r\n\r\nhi",
		"cut":                          ok + "Content-Length: 9\r\n\r\nhi",
		"cut in a chunk":               ok + "Transfer-Encoding: chunked\r\n\r\n9\r\nhi",
		"longer than it says":          ok + "Content-Length: 2\r\n\r\nhi" + ok + "Content-Length: 4\r\n\r\nevil",
		"both length and chunks":       ok + "Content-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
		"two lengths":                  ok + "Content-Length: 2\r\nContent-Length: 3\r\n\r\nhi!",
		"the same length twice":        ok + "Content-Length: 2\r\nContent-Length: 2\r\n\r\nhi",
		"a length with a sign":         ok + "Content-Length: +2\r\n\r\nhi",
		"a length below zero":          ok + "Content-Length: -2\r\n\r\nhi",
		"a length beyond all":          ok + "Content-Length: 99999999999999999999\r\n\r\nhi",
		"an unknown coding":            ok + "Transfer-Encoding: gzip, chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
		"a chunk without a number":     ok + "Transfer-Encoding: chunked\r\n\r\nzz\r\nhi\r\n",
		"a header without a name":      ok + ": b\r\nContent-Length: 2\r\n\r\nhi",
		"a folded header":              ok + "X-A: b\r\n c\r\nContent-Length: 2\r\n\r\nhi",
		"lines without CR":             "HTTP/1.1 200 OK\nContent-Type: text/plain\nContent-Length: 2\n\nhi",
		"HTTP/2":                       "HTTP/2.0 200 OK\r\n\r\n",
		"a status that is not numeric": "HTTP/1.1 2x0 OK\r\n\r\n",
		"a head that is far too large": ok + "X-A: " + strings.Repeat("a", 300<<10) + "\r\n\r\n",
		"nothing, and then a close":    "",
	} {
		answer.Store(&a)
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			want := outcome(t, direct, method, "http://"+ln.Addr().String()+"/")
			if got := outcome(t, proxied, method, "http://lab.test/"); got != want {
				t.Errorf("%s of an answer %s:\n got %s\nwant %s", method, name, got, want)
			}
		}
	}
	for name, a := range map[string]string{
		"a switch that nobody asked for": "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
		"informational without an end":   strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", maxInformational+1) + ok + "\r\nhi",
	} {
		answer.Store(&a)
		if got := outcome(t, proxied, http.MethodGet, "http://lab.test/"); got != "refused" {
			t.Errorf("an answer %s: %s", name, got)
		}
	}
}
