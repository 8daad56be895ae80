package h1

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// teller answers every request on a connection with the next of its answers, as they
// stand. An empty answer closes.
type teller struct {
	ln    net.Listener
	heads chan string // of the requests it got
}

func newTeller(t *testing.T, answers ...string) *teller {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &teller{ln: ln, heads: make(chan string, 64)}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go g.serve(c, answers)
		}
	}()
	return g
}

func (g *teller) serve(c net.Conn, answers []string) {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	br := bufio.NewReader(c)
	for _, a := range answers {
		var head strings.Builder
		for line := ""; line != "\r\n"; {
			var err error
			if line, err = br.ReadString('\n'); err != nil {
				return
			}
			head.WriteString(line)
		}
		select {
		case g.heads <- head.String():
		default:
		}
		if a == "" {
			return
		}
		if _, err := io.WriteString(c, a); err != nil {
			return
		}
	}
}

func (g *teller) url() string { return "http://" + g.ln.Addr().String() + "/" }

func plainClient(t *testing.T) *Client {
	t.Helper()
	var d net.Dialer
	c := New(Config{
		Dial:          func(ctx context.Context, address string) (net.Conn, error) { return d.DialContext(ctx, "tcp", address) },
		HeaderTimeout: 5 * time.Second, HeaderBytes: 16 << 10,
	})
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// outcome is what a caller sees of an answer, or "refused".
func outcome(rt http.RoundTripper, method, url string) string {
	r, err := http.NewRequest(method, url, nil)
	if err != nil {
		return err.Error()
	}
	resp, err := rt.RoundTrip(r)
	if err != nil {
		return "refused"
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	cut := ""
	if err != nil {
		cut = " cut"
	}
	return fmt.Sprintf("%d %d %q %v %v%s", resp.StatusCode, resp.ContentLength, b, resp.Header, resp.Trailer, cut)
}

// TestAnAnswerIsWhatNetHTTPMakesOfIt: good ones, and those that a hostile target sends.
func TestAnAnswerIsWhatNetHTTPMakesOfIt(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for name, a := range map[string]string{
		"with a length":                  ok + "Content-Length: 2\r\n\r\nhi",
		"empty":                          ok + "Content-Length: 0\r\n\r\n",
		"in chunks":                      ok + "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
		"with a trailer":                 ok + "Trailer: X-T\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX-T: 1\r\n\r\n",
		"up to its end":                  ok + "\r\nhi",
		"no content":                     "HTTP/1.1 204 No Content\r\n\r\n",
		"not modified":                   "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
		"of HTTP/1.0":                    "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi",
		"after an early hint":            "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n" + ok + "Content-Length: 2\r\n\r\nhi",
		"continued unasked":              "HTTP/1.1 100 Continue\r\n\r\n" + ok + "Content-Length: 2\r\n\r\nhi",
		"cut":                            ok + "Content-Length: 9\r\n\r\nhi",
		"cut in a chunk":                 ok + "Transfer-Encoding: chunked\r\n\r\n9\r\nhi",
		"longer than it says":            ok + "Content-Length: 2\r\n\r\nhi" + ok + "Content-Length: 4\r\n\r\nevil",
		"both length and chunks":         ok + "Content-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
		"two lengths":                    ok + "Content-Length: 2\r\nContent-Length: 3\r\n\r\nhi!",
		"the same length twice":          ok + "Content-Length: 2\r\nContent-Length: 2\r\n\r\nhi",
		"a length with a sign":           ok + "Content-Length: +2\r\n\r\nhi",
		"a length below nothing":         ok + "Content-Length: -2\r\n\r\nhi",
		"a length beyond all":            ok + "Content-Length: 99999999999999999999\r\n\r\nhi",
		"an unknown coding":              ok + "Transfer-Encoding: gzip, chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
		"a chunk of no number":           ok + "Transfer-Encoding: chunked\r\n\r\nzz\r\nhi\r\n",
		"a space before the colon":       ok + "X-A : b\r\nContent-Length: 2\r\n\r\nhi",
		"a header without a name":        ok + ": b\r\nContent-Length: 2\r\n\r\nhi",
		"a bare CR in a value":           ok + "X-A: b\rX-B: c\r\nContent-Length: 2\r\n\r\nhi",
		"a NUL in a value":               ok + "X-A: b\x00c\r\nContent-Length: 2\r\n\r\nhi",
		"a folded header":                ok + "X-A: b\r\n c\r\nContent-Length: 2\r\n\r\nhi",
		"lines without CR":               "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi",
		"no HTTP":                        "SSH-2.0-x\r\n\r\n",
		"HTTP/2":                         "HTTP/2.0 200 OK\r\n\r\n",
		"a status of no number":          "HTTP/1.1 2x0 OK\r\n\r\n",
		"a switch that nobody asked":     "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
		"informational without an end":   strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 400),
		"a head that is far too large":   ok + "X-A: " + strings.Repeat("a", 64<<10) + "\r\n\r\n",
		"nothing, and then it is closed": "",
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			plain := &http.Transport{DisableCompression: true, MaxResponseHeaderBytes: 16 << 10}
			want := outcome(plain, method, newTeller(t, a).url())
			plain.CloseIdleConnections()
			if name == "a switch that nobody asked" {
				want = "refused" // net/http gives it, and the proxy would refuse it then
			}
			if got := outcome(plainClient(t), method, newTeller(t, a).url()); got != want {
				t.Errorf("%s of an answer %s:\n got %s\nwant %s", method, name, got, want)
			}
		}
	}
}

// TestAnAnswerThatNobodyAskedForIsNoRequestsAnswer: it came while the connection was idle.
func TestAnAnswerThatNobodyAskedForIsNoRequestsAnswer(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	poison := make(chan struct{})
	poisoned := make(chan struct{})
	go func() {
		for n := 0; ; n++ {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
					return
				}
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood")
				if n == 0 {
					<-poison
					_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
					close(poisoned)
				}
				_, _ = io.Copy(io.Discard, c)
			}()
		}
	}()
	c, url := plainClient(t), "http://"+ln.Addr().String()+"/"
	for i := range 2 {
		if got := outcome(c, http.MethodGet, url); !strings.Contains(got, `"good"`) {
			t.Errorf("request %d: %s", i, got)
		}
		if i == 0 {
			close(poison)
			<-poisoned
		}
	}
}

// TestARequestIsOneRequestOnTheWire: what would be more is refused.
func TestARequestIsOneRequestOnTheWire(t *testing.T) {
	g, c := newTeller(t, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"), plainClient(t)
	for name, change := range map[string]func(*http.Request){
		"method":       func(r *http.Request) { r.Method = "GET / HTTP/1.1\r\nX: y\r\n\r\nGET" },
		"host":         func(r *http.Request) { r.Host = "a\r\nX: y" },
		"header name":  func(r *http.Request) { r.Header["X\r\nY"] = []string{"z"} },
		"header value": func(r *http.Request) { r.Header["X"] = []string{"a\r\nY: z"} },
		"path":         func(r *http.Request) { r.URL.Opaque = "/ HTTP/1.1\r\nX: y" },
	} {
		r, err := http.NewRequest(http.MethodGet, g.url(), nil)
		if err != nil {
			t.Fatal(err)
		}
		change(r)
		if resp, err := c.RoundTrip(r); err == nil {
			resp.Body.Close()
			t.Errorf("%s: sent", name)
		}
	}
	select {
	case head := <-g.heads:
		t.Errorf("the target got %q", head)
	default:
	}
}

// TestASpaceInAQueryIsNoWordOfTheRequestsLine, by either transport.
func TestASpaceInAQueryIsNoWordOfTheRequestsLine(t *testing.T) {
	g := newTeller(t, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi")
	other := &http.Transport{}
	defer other.CloseIdleConnections()
	c := newClient(t, Config{Other: other})
	for _, body := range []io.Reader{nil, strings.NewReader("x")} {
		r, err := http.NewRequest(http.MethodPut, g.url()+"a b?q=c d", body)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if line, _, _ := strings.Cut(<-g.heads, "\r\n"); line != "PUT /a%20b?q=c%20d HTTP/1.1" || r.URL.RawQuery != "q=c d" {
			t.Errorf("%q of %s", line, r.URL.RawQuery)
		}
	}
}

// TestTheWireIsNetHTTPs: the same fields, but for the version of net/http's own name.
func TestTheWireIsNetHTTPs(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
	for name, change := range map[string]func(*http.Request){
		"plain":          func(*http.Request) {},
		"a login in it":  func(r *http.Request) { r.URL.Path, r.URL.RawQuery = "/a b", "q=1&q" },
		"POST":           func(r *http.Request) { r.Method = http.MethodPost },
		"own user agent": func(r *http.Request) { r.Header.Set("User-Agent", "x") },
		"no user agent":  func(r *http.Request) { r.Header["User-Agent"] = nil },
		"several values": func(r *http.Request) { r.Header["X-A"] = []string{"1", "2"} },
	} {
		var heads [2]map[string]bool
		for i, rt := range []http.RoundTripper{plainClient(t), &http.Transport{DisableCompression: true, DisableKeepAlives: false}} {
			g := newTeller(t, ok)
			url := g.url()
			if name == "a login in it" {
				url = strings.Replace(url, "//", "//us:er@", 1)
			}
			r, err := http.NewRequest(http.MethodGet, url, nil)
			if err != nil {
				t.Fatal(err)
			}
			change(r)
			resp, err := rt.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			heads[i] = map[string]bool{}
			head := strings.ReplaceAll(<-g.heads, g.ln.Addr().String(), "TARGET")
			for line := range strings.SplitSeq(head, "\r\n") {
				heads[i][line] = true
			}
			if t, ok := rt.(*http.Transport); ok {
				t.CloseIdleConnections()
			}
		}
		if fmt.Sprint(heads[0]) != fmt.Sprint(heads[1]) {
			t.Errorf("%s:\n got %v\nwant %v", name, heads[0], heads[1])
		}
	}
}
