package native

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/service/emulator/answer"
)

func TestHeadersOfASuccessfulAnswer(t *testing.T) {
	g := newRig(t, rigOptions{target: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, name := range []string{"X-Brd-Ip", "X-Brd-Err-Code", "X-Emulator-Basis", "Proxy-Status", "Proxy-Authenticate", "Keep-Alive"} {
			w.Header().Set(name, "forged")
		}
		w.Header().Set("X-Own", "kept")
		fmt.Fprint(w, r.Header.Get("User-Agent"), r.Header.Get("Proxy-Authorization"))
	})})
	seen := map[string]bool{}
	check := func(what string, h http.Header, ip bool) {
		t.Helper()
		if h.Get("x-brd-ip") == "forged" || !strings.HasPrefix(h.Get("x-brd-ip"), "127.") || h.Get("x-emulator-basis") == "forged" || h.Get("x-brd-err-code") != "" {
			t.Errorf("%s: %v", what, h)
		}
		if h.Get("x-brd-c_tag") != "my-tag" || h.Get("x-brd-gip") != "us_1" || !ip && h.Get("X-Own") != "kept" {
			t.Errorf("%s: %v", what, h)
		}
		debug := h.Get("x-brd-debug")
		id, _, _ := strings.Cut(debug, "; ")
		if !strings.HasPrefix(id, "req_id=") || seen[id] || !strings.Contains(debug, "exit=") || !strings.Contains(debug, "country=us") {
			t.Errorf("%s: %q", what, debug)
		}
		seen[id] = true
		if !strings.HasPrefix(h.Get("x-brd-timeline"), "init:0,") {
			t.Errorf("%s: timeline %q", what, h.Get("x-brd-timeline"))
		}
		for _, name := range []string{"Proxy-Status", "Proxy-Authenticate", "Keep-Alive"} {
			if h.Get(name) != "" {
				t.Errorf("%s: %s is the target's", what, name)
			}
		}
	}
	const flags = "-country-us-gip-us_1-c_tag-my-tag-debug-full"
	for _, way := range ways() {
		if way.login == "datacenter" && way.name != "plain" {
			continue // the target's own answer
		}
		login := strings.Replace(way.login, "datacenter", "residential", 1) + flags
		for range 2 {
			resp, err := g.client(login, way.http2).Get(way.base + "/")
			body(t, resp, err)
			check(way.name, resp.Header, false)
		}
	}
	for _, login := range []string{"residential", "mobile"} { // re-signed, tunnelled
		_, r := g.raw("CONNECT lab.test:443 HTTP/1.1\r\nHost: lab.test:443\r\nProxy-Authorization: " + basic(login+flags) + "\r\n\r\n")
		resp, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect})
		noerr.Must(t, err)
		check("CONNECT of "+login, resp.Header, true)
	}
	resp, err := g.client("isp-debug-none", false).Get("http://lab.test/")
	if body(t, resp, err); resp.Header.Get("x-brd-debug") != "" || resp.Header.Get("x-brd-timeline") != "" || resp.Header.Get("x-brd-ip") == "" {
		t.Errorf("debug-none: %v", resp.Header)
	}
	resp, err = g.client("isp-ua-mobile", false).Get("http://lab.test/")
	if got := body(t, resp, err); !strings.Contains(got, "Mobile") || strings.Contains(got, "Basic") {
		t.Errorf("ua-mobile: %q", got)
	}
}

func TestOldAndShortUsernames(t *testing.T) {
	g := newRig(t, rigOptions{target: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") })})
	for name, status := range map[string]int{
		"lum-customer-hl_rig-zone-isp":                     200,
		"lum-cu-hl_rig-z-isp-cy-de-s-a1":                   200,
		"brd-cu-hl_rig-z-mobile-cy-us-st-ny-ct-nyc-zp-123": 200,
		"brd-cu-hl_rig-z-isp-ct-nyc":                       407, // ISP zones have no city
		"brd-cu-hl_rig-z-isp-cy-usa":                       407,
		"xyz-customer-hl_rig-zone-isp":                     407,
	} {
		_, r := g.raw("GET http://lab.test/ HTTP/1.1\r\nHost: lab.test\r\nProxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(name+":pw")) + "\r\n\r\n")
		p, err := http.ReadResponse(r, nil)
		noerr.Must(t, err)
		if p.StatusCode != status || status == 407 && p.Header.Get("x-brd-err-code") != "client_10001" && !strings.HasPrefix(name, "xyz") {
			t.Errorf("%s: %d %v", name, p.StatusCode, p.Header)
		}
	}
}

func TestTheRootIsServedWithoutALogin(t *testing.T) {
	g := newRig(t, rigOptions{target: http.NotFoundHandler()})
	resp, err := http.Get("http://" + g.addr + CAPath)
	if got := body(t, resp, err); got != string(g.ca.PEM) || resp.Header.Get(answer.BasisHeader) == "" || resp.StatusCode != http.StatusOK {
		t.Errorf("%d %v %q", resp.StatusCode, resp.Header, got)
	}
	for _, c := range []struct {
		request string
		status  int
		code    string
	}{
		{"GET / HTTP/1.1\r\nHost: x\r\n", 407, "client_10010"},
		{"POST " + CAPath + " HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n", 407, "client_10010"},
		{"GET http://lab.test" + CAPath + " HTTP/1.1\r\nHost: lab.test\r\n", 407, "client_10010"},
		{"GET / HTTP/1.1\r\nHost: x\r\nProxy-Authorization: " + basic("isp") + "\r\n", 403, "client_10070"},
		{"GET https://lab.test/ HTTP/1.1\r\nHost: lab.test\r\nProxy-Authorization: " + basic("isp") + "\r\n", 403, "policy_20010"},
		{"GET ftp://lab.test/ HTTP/1.1\r\nHost: lab.test\r\nProxy-Authorization: " + basic("isp") + "\r\n", 403, "policy_20010"},
		{"GET http:///x HTTP/1.1\r\nHost: lab.test\r\nProxy-Authorization: " + basic("isp") + "\r\n", 403, "client_10080"},
		{"CONNECT lab.test HTTP/1.1\r\nHost: lab.test\r\nProxy-Authorization: " + basic("isp") + "\r\n", 403, "client_10080"},
		{"CONNECT www.google.com:443 HTTP/1.1\r\nHost: www.google.com:443\r\nProxy-Authorization: " + basic("isp") + "\r\n", 403, "policy_20110"},
		{"CONNECT www.irs.gov:443 HTTP/1.1\r\nHost: www.irs.gov:443\r\nProxy-Authorization: " + basic("residential") + "\r\n", 403, "policy_20051"},
		{"GET http://lab.test/ HTTP/1.1\r\nHost: lab.test\r\nProxy-Authorization: " + basic("crawl") + "\r\n", 403, "client_10090"},
		{"GET http://lab.test/ HTTP/1.1\r\nHost: lab.test\r\nProxy-Authorization: " + basic("browser") + "\r\n", 404, ""},
	} {
		_, r := g.raw(c.request + "\r\n")
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatalf("%q: %v", c.request, err)
		}
		b, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != c.status || resp.Header.Get("x-brd-err-code") != c.code || (c.code != "") != strings.Contains(resp.Header.Get("Proxy-Status"), c.code+":") {
			t.Errorf("%q: %d %v", c.request, resp.StatusCode, resp.Header)
		}
		if c.code == "policy_20051" && !strings.Contains(string(b), `"alternatives":[`) {
			t.Errorf("no remedy: %s", b)
		}
	}
}

func TestAnUnlockerZoneWithTheCheckSaysThatItCannotUnlock(t *testing.T) {
	g := newRig(t, rigOptions{target: http.NotFoundHandler()})
	for login, noted := range map[string]bool{"checked": true, "unlocker": false, "isp": false, "kyc": false} {
		_, r := g.raw("CONNECT lab.test:443 HTTP/1.1\r\nHost: lab.test:443\r\nProxy-Authorization: " + basic(login) + "\r\n\r\n")
		resp, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect})
		noerr.Must(t, err)
		if got := resp.Header.Get(answer.NoteHeader); (got != "") != noted {
			t.Errorf("%s: %q", login, got)
		}
	}
}

// logged is a stage that says what it sees, and refuses the zone "mobile".
type logged struct {
	Pass
	add func(format string, args ...any)
}

func (s logged) Admit(v *Visit) *answer.Refusal {
	if v.Zone.Name == "mobile" {
		return new(answer.NewRefusal(http.StatusBadGateway, "client_10100", "spent", "x"))
	}
	return nil
}

func (s logged) Handler(v *Visit, next http.Handler) http.Handler {
	s.add("handler %s %s %s", v.Entry, v.Method, v.Target)
	return next
}

func (s logged) Transport(v *Visit, next http.RoundTripper) http.RoundTripper {
	s.add("transport %s", v.Host)
	return next
}

func (s logged) Conn(v *Visit, c net.Conn) net.Conn {
	s.add("conn %s", v.Target)
	return c
}

func (s logged) Done(v *Visit, o Outcome) {
	if v.Entry == entryProxy && v.Method == http.MethodConnect && o.Down > 0 {
		// TLS decides how many, and its farewell may meet a client that is gone.
		o.Up, o.Down, o.Cut = 1, 1, false
	}
	s.add("done %s %d %q %d %d %v", v.Entry, o.Status, o.Code, o.Up, o.Down, o.Cut)
}

// unlocking is a stage that says which requests it carries, and refuses the path /hard.
type unlocking struct {
	Pass
	add func(format string, args ...any)
}

func (s unlocking) Transport(v *Visit, next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		s.add("unlock %s", v.Target)
		if r.URL.Path == "/hard" {
			return nil, answer.NewRefusal(http.StatusBadGateway, "reject_block", "blocked", "x")
		}
		return next.RoundTrip(r)
	})
}

// TestStagesSeeEveryVisitOnce, with its bytes.
func TestStagesSeeEveryVisitOnce(t *testing.T) {
	var mu sync.Mutex
	var log []string
	add := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		log = append(log, fmt.Sprintf(format, args...))
	}
	g := newRig(t, rigOptions{
		target: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			fmt.Fprint(w, "1234567890")
		}),
		conf: func(c *Config) {
			c.Stages = []Stage{logged{add: add}, unlocking{add: add}}
		},
	})
	visit := func(login, address, body string) *http.Response {
		t.Helper()
		mu.Lock()
		log = nil
		mu.Unlock()
		c := g.client(login, false)
		resp, err := c.Post(address, "text/plain", strings.NewReader(body))
		noerr.Must(t, err)
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		c.CloseIdleConnections()
		return resp
	}
	expect := func(what string, want ...string) {
		t.Helper()
		g.proxy.tunnels.quiet(t) // tunnels have told their end
		mu.Lock()
		defer mu.Unlock()
		if !slices.Equal(log, want) {
			t.Errorf("%s:\n%s\nwant\n%s", what, strings.Join(log, "\n"), strings.Join(want, "\n"))
		}
	}
	visit("isp", "http://lab.test/", "12345")
	expect("plain", "handler proxy POST http://lab.test/", "transport lab.test", "unlock http://lab.test/", `done proxy 200 "" 5 10 false`)
	visit("isp", "https://lab.test/", "12345")
	expect("tunnel", "handler proxy CONNECT lab.test:443", "conn lab.test:443", `done proxy 200 "" 1 1 false`)
	visit("residential", "https://lab.test/", "12345")
	expect("re-signed", "handler proxy CONNECT lab.test:443", `done proxy 200 "" 0 0 false`,
		"handler inner POST https://lab.test:443/", "transport lab.test", "unlock https://lab.test:443/", `done inner 200 "" 5 10 false`)
	visit("unlocker", "http://lab.test/", "")
	expect("unlocker", "handler proxy POST http://lab.test/", "transport lab.test", "unlock http://lab.test/", `done proxy 200 "" 0 10 false`)
	if resp := visit("unlocker", "http://lab.test/hard", ""); resp.StatusCode != http.StatusBadGateway || resp.Header.Get("x-brd-err-code") != "reject_block" {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
	expect("not unlocked", "handler proxy POST http://lab.test/hard", "transport lab.test", "unlock http://lab.test/hard", `done proxy 502 "reject_block" 0 0 false`)
	if resp := visit("mobile", "http://lab.test/", ""); resp.StatusCode != http.StatusBadGateway || resp.Header.Get("x-brd-err-code") != "client_10100" {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
	expect("not admitted")
	mu.Lock()
	log = nil
	mu.Unlock()
	c, _ := g.socksDial("isp", "pw", socksTo(1, "lab.test", 80), "GET / HTTP/1.0\r\nHost: lab.test\r\n\r\n")
	n, _ := io.Copy(io.Discard, c)
	c.Close()
	expect("SOCKS5", "conn lab.test:80", fmt.Sprintf(`done socks 200 "" 34 %d false`, n))
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

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

// guest is a session that may reach one address.
type guest struct {
	allowed string
	*http.Transport
}

func newGuest(allowed string) *guest {
	g := &guest{allowed: allowed}
	g.Transport = &http.Transport{DialContext: g.DialContext, DisableKeepAlives: true}
	return g
}

func (g *guest) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if address != g.allowed {
		return nil, errors.New("not allowed")
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}

func TestGuestsReachWhatTheirDialerDoes(t *testing.T) {
	site := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Emulator-Basis", "the target's")
		io.WriteString(w, "for "+r.Host)
	})
	plain, secure := httptest.NewServer(site), httptest.NewTLSServer(site)
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	for _, target := range []*httptest.Server{plain, secure} {
		u, err := url.Parse(target.URL)
		noerr.Must(t, err)
		guests, g := NewGuests(t.Context(), slog.New(slog.DiscardHandler)), newGuest(u.Host)
		proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { guests.Serve(w, r, g) }))
		t.Cleanup(proxy.Close)
		at, err := url.Parse(proxy.URL)
		noerr.Must(t, err)
		client := target.Client()
		transport, ok := client.Transport.(*http.Transport)
		if !ok {
			t.Fatalf("%T", client.Transport)
		}
		transport.Proxy, transport.DisableKeepAlives = http.ProxyURL(at), true
		resp, err := client.Get(target.URL)
		noerr.Must(t, err)
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || string(body) != "for "+u.Host || resp.Header.Get("X-Emulator-Basis") != "the target's" || resp.Header.Get("X-Brd-Ip") != "" {
			t.Errorf("%s: %q %v, %v", u.Scheme, body, resp.Header, err)
		}
		// Elsewhere a tunnel is refused, and a plain request is cut without a page.
		want := "EOF"
		if target == secure {
			want = "Bad Gateway"
		}
		if resp, err := client.Get(strings.Replace(target.URL, "127.0.0.1", "127.0.0.2", 1)); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v %v", u.Scheme, resp, err)
		}
	}
}
