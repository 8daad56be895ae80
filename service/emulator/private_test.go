package emulator

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"zonedeck/internal/noerr"
)

// named is a resolver that gives one address to every name.
func named(t *testing.T, a netip.Addr) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		go func() {
			defer far.Close()
			var head [2]byte // a stream's messages have their length before them
			for {
				if _, err := far.Read(head[:]); err != nil {
					return
				}
				q := make([]byte, int(head[0])<<8|int(head[1]))
				if _, err := far.Read(q); err != nil {
					return
				}
				var m dnsmessage.Message
				if err := m.Unpack(q); err != nil {
					t.Error(err)
					return
				}
				m.Response = true
				if m.Questions[0].Type == dnsmessage.TypeA {
					m.Answers = []dnsmessage.Resource{{
						Header: dnsmessage.ResourceHeader{Name: m.Questions[0].Name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET},
						Body:   &dnsmessage.AResource{A: a.As4()},
					}}
				}
				m.Additionals = nil
				b, err := m.Pack()
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := far.Write(append([]byte{byte(len(b) >> 8), byte(len(b))}, b...)); err != nil {
					return
				}
			}
		}()
		return near, nil
	}}
}

// TestPrivateTargetsAreOpenedByName: what --allow-private names is reached from the exits'
// own addresses, and nothing beside it.
func TestPrivateTargetsAreOpenedByName(t *testing.T) {
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
			return
		}
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		fmt.Fprintf(w, `{"address":%q}`, host)
	}))
	defer target.Close()
	_, port, _ := net.SplitHostPort(target.Listener.Addr().String())

	shut := start(t, Options{})
	shut.dialer.UseResolver(named(t, netip.MustParseAddr("127.0.0.1")))
	for _, url := range []string{target.URL, "http://app.internal:" + port, "http://[::ffff:127.0.0.1]:" + port, "http://0.0.0.0:" + port} {
		a := shut.get(shut.through("datacenter_demo"), url+"/")
		if a.status != http.StatusForbidden || a.header.Get("x-brd-err-code") != "policy_20030" {
			t.Errorf("%s is open: %+v", url, a)
		}
		b := shut.request(map[string]any{"zone": "datacenter_demo", "url": url + "/", "format": "raw"})
		if b.status != http.StatusOK || b.body != "" || b.header.Get("x-brd-err-code") != "policy_20030" {
			t.Errorf("%s is open by API: %+v", url, b)
		}
	}
	if len(shut.r.Notes) != 0 {
		t.Errorf("%q", shut.r.Notes)
	}

	g := start(t, Options{AllowPrivate: []string{"127.0.0.1:" + port, "app.internal:" + port}})
	g.dialer.UseResolver(named(t, netip.MustParseAddr("127.0.0.1")))
	if notes := strings.Join(g.r.Notes, "\n"); strings.Count(notes, "WARNING") != 2 || !strings.Contains(notes, "app.internal") {
		t.Errorf("not loud: %q", notes)
	}
	seen := map[string]bool{}
	for _, login := range []string{"datacenter_demo", "datacenter_demo-country-de", "residential_demo", "datacenter_demo-session-a"} {
		for _, url := range []string{target.URL, "http://app.internal:" + port} {
			a := g.get(g.through(login), url+"/")
			ip := a.header.Get("x-brd-ip")
			if a.status != http.StatusOK || !strings.HasPrefix(ip, "127.") {
				t.Fatalf("%s to %s: %+v", login, url, a)
			}
			if runtime.GOOS == "linux" {
				if got := decode[who](t, a).Address; got != ip {
					t.Errorf("%s to %s: said %s, seen %s", login, url, ip, got)
				}
			}
			seen[ip] = true
		}
	}
	if len(seen) < 5 {
		t.Errorf("eight fetches left from %v", seen)
	}
	// A tunnel leaves from its exit as well.
	conn := connect(t, g.r.Proxy, loginHeader("isp_demo-country-us", g.password("isp_demo")), "127.0.0.1:"+port, nil)
	fmt.Fprint(conn, "GET / HTTP/1.0\r\n\r\n")
	b := make([]byte, 4096)
	n, _ := conn.Read(b)
	if runtime.GOOS == "linux" && !strings.Contains(string(b[:n]), `"127.11.`) {
		t.Errorf("%q", b[:n])
	}
	for _, url := range []string{"http://127.0.0.2:" + port, "http://127.0.0.1:40001", g.r.Control} {
		if a := g.get(g.through("datacenter_demo"), url+"/"); a.header.Get("x-brd-err-code") != "policy_20030" {
			t.Errorf("%s is open: %+v", url, a)
		}
	}
	// A redirect is checked like every other address.
	a := g.request(map[string]any{"zone": "unlocker_demo", "url": target.URL + "/away", "format": "raw"})
	if a.body != "" || a.header.Get("x-brd-status-code") != "403" {
		t.Errorf("a redirect away: %+v", a)
	}
}

// TestTheControlAPIIsNotReachedThroughTheProxy whatever is open.
func TestTheControlAPIIsNotReachedThroughTheProxy(t *testing.T) {
	g := start(t, Options{AllowPrivate: []string{"127.0.0.0/8", "localhost"}})
	control := strings.TrimPrefix(g.r.Control, "http://")
	_, port, _ := net.SplitHostPort(control)
	for _, target := range []string{control, "127.0.0.9:" + port, "localhost:" + port} {
		_, resp := tryConnect(t, g.r.Proxy, loginHeader("isp_demo", g.password("isp_demo")), target, nil)
		resp.Body.Close()
		if resp.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %d", target, resp.StatusCode)
		}
	}
	_, resp := tryConnect(t, g.r.Proxy, loginHeader("isp_demo", g.password("isp_demo")), strings.TrimPrefix(g.r.API, "http://"), nil)
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("the API: %d", resp.StatusCode)
	}
}

// answersAt reports whether the API is reached at an address. Another program may have the port of
// another family, so it is asked with a key that this one alone has.
func (g *rig) answersAt(addr string) bool {
	g.t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return false
	}
	_ = conn.Close()
	key := decode[struct{ Value string }](g.t, g.control("POST", "/keys", map[string]string{"name": rand.Text(), "level": "USER", "expires": "Unlimited"})).Value
	if a := g.do("GET", g.r.API+"/datasets/list", key, nil); a.status != http.StatusOK {
		g.t.Fatalf("the key is not accepted: %+v", a)
	}
	ctx, cancel := context.WithTimeout(g.t.Context(), 30*time.Second) // a listener may never answer
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/datasets/list", nil)
	noerr.Must(g.t, err)
	r.Header.Set("Authorization", "Bearer "+key)
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

func TestListeningElsewhereHasToBeAskedFor(t *testing.T) {
	for _, o := range []Options{{APIAddr: "0.0.0.0:0"}, {ProxyAddr: "0.0.0.0:0"}, {SOCKSAddr: ":0"}, {LabAddr: "0.0.0.0:0", AllowRemote: true}, {ControlAddr: "0.0.0.0:0", AllowRemote: true}} {
		if s, err := Start(t.Context(), o); err == nil {
			_ = s.Shutdown(t.Context())
			t.Errorf("%+v starts", o)
		}
	}
	g := start(t, Options{APIAddr: "0.0.0.0:0", ProxyAddr: "0.0.0.0:0", SOCKSAddr: "0.0.0.0:0", AllowRemote: true})
	if notes := strings.Join(g.r.Notes, "\n"); strings.Count(notes, "WARNING") != 3 || !strings.Contains(notes, "SOCKS5") {
		t.Errorf("not loud: %q", notes)
	}
	// No client can dial 0.0.0.0.
	for _, at := range []string{strings.TrimPrefix(g.r.API, "http://"), g.r.Proxy, g.r.SOCKS} {
		if host, _, _ := net.SplitHostPort(at); host != "127.0.0.1" {
			t.Errorf("it says that it is reached at %s", at)
		}
	}
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(g.r.API, "http://"))
	if g.answersAt(net.JoinHostPort("::1", port)) {
		t.Error("every address of IPv4 is asked for, and IPv6 is listened on as well")
	}
	// Other machines use a name of this one, which is no rebinding then.
	got := raw(t, "127.0.0.1:"+port, fmt.Sprintf("GET /datasets/list HTTP/1.1\r\nHost: build.example:%s\r\nAuthorization: Bearer %s\r\nConnection: close\r\n\r\n", port, g.key("batch-user")))
	if got != http.StatusOK {
		t.Errorf("by a name: %d", got)
	}
	if host, _, _ := net.SplitHostPort(strings.TrimPrefix(g.r.Control, "http://")); host != "127.0.0.1" {
		t.Errorf("control listens on %s", host)
	}
}

func TestEveryAddressOfIPv6IsNoneOfIPv4(t *testing.T) {
	ln, err := net.Listen("tcp6", "[::1]:0")
	if err != nil { // then it is no address of this machine
		if _, err := Start(t.Context(), Options{APIAddr: "[::1]:0"}); err == nil {
			t.Error("it listens on what is not there")
		}
		return
	}
	_ = ln.Close()
	g := start(t, Options{APIAddr: "[::]:0", ProxyAddr: "[::1]:0", AllowRemote: true})
	host, port, _ := net.SplitHostPort(strings.TrimPrefix(g.r.API, "http://"))
	if proxied, _, _ := net.SplitHostPort(g.r.Proxy); host != "::1" || proxied != "::1" {
		t.Errorf("it says that it is reached at %s and %s", g.r.API, g.r.Proxy)
	}
	got := raw(t, "[::1]:"+port, fmt.Sprintf("GET /datasets/list HTTP/1.1\r\nHost: build.example:%s\r\nAuthorization: Bearer %s\r\nConnection: close\r\n\r\n", port, g.key("batch-user")))
	if got != http.StatusOK {
		t.Errorf("by IPv6: %d", got)
	}
	if g.answersAt(net.JoinHostPort("127.0.0.1", port)) {
		t.Error("IPv4 is listened on as well")
	}
}

// TestASessionIsLostAfterItsNetworksIdleTime, on the emulator's clock.
func TestASessionIsLostAfterItsNetworksIdleTime(t *testing.T) {
	c := newClock()
	g := start(t, Options{Now: c.now})
	for zone, idle := range map[string]time.Duration{
		"datacenter_demo": time.Minute, "residential_demo": 5 * time.Minute, "isp_demo": 7 * time.Minute, "mobile_demo": 10 * time.Minute,
	} {
		ask := func() string {
			return g.get(g.through(zone+"-session-s-const"), "http://lab.test/ok").header.Get("x-brd-err-code")
		}
		if code := ask(); code != "" {
			t.Fatalf("%s: %s", zone, code)
		}
		c.forward(idle)
		if code := ask(); code != "" {
			t.Errorf("%s after %s: %s", zone, idle, code)
		}
		c.forward(idle + time.Second)
		if code := ask(); code != "peer_30030" {
			t.Errorf("%s after more than %s: %q", zone, idle, code)
		}
	}
}

func TestASessionWithAnOpenTunnelIsNotIdle(t *testing.T) {
	c := newClock()
	g := start(t, Options{Now: c.now})
	const login = "datacenter_demo-session-s-const"
	tunnel := connect(t, g.r.Proxy, loginHeader(login, g.password("datacenter_demo")), "lab.test:80", nil)
	answers := bufio.NewReader(tunnel)
	fetch := func() {
		t.Helper()
		noerr.Must(t, noerr.From(io.WriteString(tunnel, "GET /ok HTTP/1.1\r\nHost: lab.test\r\n\r\n")))
		resp, err := http.ReadResponse(answers, nil)
		noerr.Must(t, err)
		defer resp.Body.Close()
		if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%d %v", resp.StatusCode, err)
		}
	}
	fetch()
	c.forward(time.Hour)
	fetch()
	if code := g.get(g.through(login), "http://lab.test/ok").header.Get("x-brd-err-code"); code != "" {
		t.Error(code)
	}
}

// raw sends bytes and gives the answer's status.
func raw(t *testing.T, addr, text string) int {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	noerr.Must(t, err)
	defer conn.Close()
	noerr.Must(t, noerr.From(conn.Write([]byte(text))))
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	noerr.Must(t, err)
	defer resp.Body.Close()
	return resp.StatusCode
}

func TestANameThatAPageMadeResolveToLoopbackIsNotServed(t *testing.T) {
	g := start(t, Options{})
	for host, served := range map[string]bool{
		"127.0.0.1": true, "127.0.0.1:80": true, "localhost": true, "localhost:80": true, "[::1]:80": true, "[::1]": true,
		"rebound.example": false, "rebound.example:80": false, "localhost.example": false, "10.0.0.1": false, "127.0.0.1.example": false,
	} {
		for _, e := range []struct{ addr, path, token string }{
			{g.r.API, "/datasets/list", g.key("batch-user")},
			{g.r.Control, "/keys", g.r.ControlToken},
		} {
			got := raw(t, strings.TrimPrefix(e.addr, "http://"),
				fmt.Sprintf("GET %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nConnection: close\r\n\r\n", e.path, host, e.token))
			if want := map[bool]int{true: 200, false: 421}[served]; got != want {
				t.Errorf("%s of host %s: %d, want %d", e.path, host, got, want)
			}
		}
	}
}

func TestNothingIsAnsweredWithoutALogin(t *testing.T) {
	g := start(t, Options{})
	for _, request := range []string{
		"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET http://lab.test/ HTTP/1.0\r\n\r\n",
		"CONNECT lab.test:443 HTTP/1.1\r\nHost: lab.test:443\r\nProxy-Authorization: Bearer x\r\n\r\n",
		"TRACE http://lab.test/ HTTP/1.1\r\nHost: lab.test\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	} {
		if got := raw(t, g.r.Proxy, request); got != http.StatusProxyAuthRequired {
			t.Errorf("%q: %d", request, got)
		}
	}
}

// TestAPageOfAnotherSiteIsNotServed: a browser lets every page open WebSockets to this
// machine, and sends some requests without asking.
func TestAPageOfAnotherSiteIsNotServed(t *testing.T) {
	g := start(t, Options{})
	for origin, served := range map[string]bool{
		"http://localhost:3000": true, "https://127.0.0.1": true, "http://[::1]:80": true, "devtools://devtools": true,
		"http://evil.example": false, "https://127.0.0.1.example": false, "null": false, "http://localhost.example": false,
	} {
		for where, request := range map[string]string{
			g.r.API:     "GET /datasets/list HTTP/1.1\r\nAuthorization: Bearer " + g.key("batch-user"),
			g.r.Control: "GET /keys HTTP/1.1\r\nAuthorization: Bearer " + g.r.ControlToken,
			g.r.CDP:     "GET /json/list HTTP/1.1\r\nAuthorization: " + loginHeader("browser_demo", g.password("browser_demo")),
		} {
			_, addr, _ := strings.Cut(where, "://")
			got := raw(t, addr, request+"\r\nHost: 127.0.0.1\r\nOrigin: "+origin+"\r\nConnection: close\r\n\r\n")
			if want := map[bool]int{true: 200, false: 403}[served]; got != want {
				t.Errorf("%s for a page of %s: %d, want %d", where, origin, got, want)
			}
		}
	}
}
