package emulator

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
)

func loginHeader(zoneAndFlags, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte("brd-customer-hl_demo01-zone-"+zoneAndFlags+":"+password))
}

// connect opens a tunnel by hand; more is sent in the same packet as the CONNECT.
func connect(t testing.TB, proxy, auth, target string, more []byte) net.Conn {
	t.Helper()
	c, resp := tryConnect(t, proxy, auth, target, more)
	if resp.StatusCode != http.StatusOK || resp.Header.Get("x-brd-ip") == "" {
		t.Fatalf("CONNECT %s: %d %v", target, resp.StatusCode, resp.Header)
	}
	return c
}

type bufferedConn struct {
	net.Conn
	r *bufio.Reader
}

func (c bufferedConn) Read(p []byte) (int, error) { return c.r.Read(p) }

func tryConnect(t testing.TB, proxy, auth, target string, more []byte) (net.Conn, *http.Response) {
	t.Helper()
	c, err := net.Dial("tcp", proxy)
	noerr.Must(t, err)
	t.Cleanup(func() { c.Close() })
	noerr.Must(t, c.SetDeadline(time.Now().Add(time.Minute)))
	head := fmt.Sprintf("CONNECT %s HTTP/1.1\r\nHost: %s\r\n", target, target)
	if auth != "" {
		head += "Proxy-Authorization: " + auth + "\r\n"
	}
	noerr.Must(t, noerr.From(c.Write(append([]byte(head+"\r\n"), more...))))
	br := bufio.NewReader(c)
	resp, err := http.ReadResponse(br, &http.Request{Method: http.MethodConnect})
	noerr.Must(t, err)
	return bufferedConn{c, br}, resp
}

// through is a client that uses the proxy with a login.
func (g *rig) through(zoneAndFlags string) *http.Client {
	zone, _, _ := strings.Cut(zoneAndFlags, "-")
	u := &url.URL{Scheme: "http", Host: g.r.Proxy, User: url.UserPassword("brd-customer-hl_demo01-zone-"+zoneAndFlags, g.password(zone))}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(g.r.CAPEM))
	tr := &http.Transport{Proxy: http.ProxyURL(u), TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true}
	g.t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: time.Minute}
}

func (g *rig) get(c *http.Client, target string) reply {
	g.t.Helper()
	resp, err := c.Get(target)
	noerr.Must(g.t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	noerr.Must(g.t, err)
	return reply{resp.StatusCode, resp.Header, string(b)}
}

func TestLoginsAreRefusedWithTheirReason(t *testing.T) {
	g := start(t, Options{})
	pw := g.password("residential_demo")
	basic := func(user, password string) string {
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
	}
	cases := []struct {
		name, auth string
		status     int
		code, msg  string
	}{
		{"no credentials", "", 407, "client_10010", "no proxy credentials"},
		{"a bearer token", "Bearer x", 407, "client_10010", ""},
		{"not base64", "Basic ###", 407, "client_10010", ""},
		{"another form", basic("me", pw), 407, "client_10000", "authentication failed"},
		{"another prefix", basic("xyz-customer-hl_demo01-zone-residential_demo", pw), 407, "client_10000", "unknown account"},
		{"another account", basic("brd-customer-hl_other-zone-residential_demo", pw), 407, "client_10000", "unknown account"},
		{"another case", basic("brd-customer-hl_demo01-zone-Residential_demo", pw), 407, "client_10002", `zone "Residential_demo" not found`},
		{"no such zone", loginHeader("nosuch", pw), 407, "client_10002", `zone "nosuch" not found`},
		{"wrong password", loginHeader("residential_demo", "no"), 407, "client_10000", "wrong password"},
		{"another zone's password", loginHeader("residential_demo", g.password("isp_demo")), 407, "client_10000", "wrong password"},
		{"a wrong flag value", loginHeader("residential_demo-country-usa", pw), 407, "client_10001", "country"},
		{"a misspelt flag", loginHeader("residential_demo-contry-us", pw), 407, "client_10001", `unknown flag "contry"`},
		{"a flag without a value", loginHeader("residential_demo-country", pw), 407, "client_10001", "country"},
		{"a city on ISP", loginHeader("isp_demo-country-us-city-reno", g.password("isp_demo")), 407, "client_10001", "city"},
		{"an address of others", loginHeader("isp_demo-ip-8.8.8.8", g.password("isp_demo")), 400, "client_10060", "not allocated"},
		{"a product without native access", loginHeader("crawl_demo", g.password("crawl_demo")), 403, "client_10090", "no native access"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, resp := tryConnect(t, g.r.Proxy, c.auth, "lab.test:443", nil)
			defer resp.Body.Close()
			plain, err := http.NewRequest(http.MethodGet, "http://"+g.r.Proxy+"/", nil)
			noerr.Must(t, err)
			plain.URL.Opaque = "http://lab.test/ok"
			if c.auth != "" {
				plain.Header.Set("Proxy-Authorization", c.auth)
			}
			second, err := g.client.Do(plain)
			noerr.Must(t, err)
			defer second.Body.Close()
			for _, r := range []*http.Response{resp, second} {
				h := r.Header
				if r.StatusCode != c.status || h.Get("x-brd-err-code") != c.code || !strings.Contains(h.Get("x-brd-err-msg"), c.msg) {
					t.Errorf("%d %v", r.StatusCode, h)
				}
				if !strings.Contains(h.Get("Proxy-Status"), fmt.Sprintf("received-status=%d", c.status)) || !strings.Contains(h.Get("Proxy-Status"), c.code) {
					t.Errorf("Proxy-Status: %q", h.Get("Proxy-Status"))
				}
				if got := h.Get("Proxy-Authenticate"); strings.HasPrefix(got, "Basic ") != (c.status == 407) {
					t.Errorf("Proxy-Authenticate: %q", got)
				}
			}
		})
	}
}

func TestOnlyTheDocumentedProductsHaveNativeAccess(t *testing.T) {
	g := start(t, Options{})
	documented := map[string]bool{"datacenter": true, "isp": true, "residential": true, "mobile": true, "unlocker": true, "browser": true}
	for _, z := range g.r.Zones {
		a := g.get(g.through(z.Name), "http://lab.test/ok")
		want := 403
		if documented[z.Product] {
			want = 200
		}
		if a.status != want {
			t.Errorf("%s: %+v", z.Name, a)
		}
	}
}

type who struct{ Address string }

func TestExitsRotateAndSessionsStick(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("source addresses in 127/8 work on Linux only")
	}
	g := start(t, Options{})
	ask := func(login string) string {
		a := g.get(g.through(login), "http://lab.test/whoami")
		w := decode[who](t, a)
		if a.header.Get("x-brd-ip") != w.Address {
			t.Errorf("%s: said %s, seen %s", login, a.header.Get("x-brd-ip"), w.Address)
		}
		return w.Address
	}
	seen := map[string]bool{}
	for range 5 {
		seen[ask("residential_demo")] = true
	}
	if len(seen) < 4 {
		t.Errorf("five requests left from %v", seen)
	}
	first := ask("residential_demo-session-a")
	for range 3 {
		if got := ask("residential_demo-session-a"); got != first {
			t.Errorf("the session moved from %s to %s", first, got)
		}
	}
	if a := g.get(g.through("residential_demo-session-a"), "https://lab.test/whoami"); decode[who](t, a).Address != first {
		t.Errorf("over https the session is at %s, not %s", a.body, first)
	}
	if us, de := ask("isp_demo-country-us"), ask("isp_demo-country-de"); us == de {
		t.Errorf("two countries, one exit: %s", us)
	}
	if got := ask("isp_demo-ip-127.11.33.162"); got != "127.11.33.162" {
		t.Errorf("an allocated address: %s", got)
	}
}

func TestAClientHelloInThePacketOfTheConnectIsNotLost(t *testing.T) {
	g := start(t, Options{})
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(g.r.CAPEM))
	for _, zone := range []string{"datacenter_demo", "residential_demo"} { // tunnelled, re-signed
		// A ClientHello is caught from a client that talks to nobody.
		var hello bytes.Buffer
		near, far := net.Pipe()
		caught := make(chan struct{})
		go func() {
			defer close(caught)
			b := make([]byte, 4096)
			n, _ := far.Read(b)
			hello.Write(b[:n])
		}()
		first := &switched{Conn: near, next: make(chan net.Conn, 1)}
		tc := tls.Client(first, &tls.Config{ServerName: "lab.test", RootCAs: pool})
		result := make(chan error, 1)
		go func() { result <- tc.Handshake() }()
		<-caught
		conn := connect(t, g.r.Proxy, loginHeader(zone, g.password(zone)), "lab.test:443", hello.Bytes())
		first.next <- conn
		far.Close()
		if err := <-result; err != nil {
			t.Fatalf("%s: %v", zone, err)
		}
		noerr.Must(t, noerr.From(io.WriteString(tc, "GET /ok HTTP/1.1\r\nHost: lab.test\r\nConnection: close\r\n\r\n")))
		b, err := io.ReadAll(tc)
		if err != nil || !strings.Contains(string(b), "It works") {
			t.Errorf("%s: %v, %q", zone, err, b)
		}
		tc.Close()
	}
}

// switched is a connection whose far side is exchanged before its first read.
type switched struct {
	net.Conn
	next chan net.Conn
}

func (s *switched) Read(p []byte) (int, error) {
	if _, ok := s.Conn.(bufferedConn); !ok {
		s.Conn = <-s.next
	}
	return s.Conn.Read(p)
}

func noDNS(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("no DNS in this test")
}

func TestReSignedZonesTunnelOtherProtocolsThanTLS(t *testing.T) {
	g := start(t, Options{})
	c := connect(t, g.r.Proxy, loginHeader("residential_demo", g.password("residential_demo")), "lab.test:80", nil)
	noerr.Must(t, noerr.From(io.WriteString(c, "GET /ok HTTP/1.1\r\nHost: lab.test\r\nConnection: close\r\n\r\n")))
	if b, err := io.ReadAll(c); err != nil || !strings.Contains(string(b), "It works") {
		t.Errorf("%v %q", err, b)
	}
}

func TestTheProxyPassesBodiesAndHeadersOn(t *testing.T) {
	g := start(t, Options{})
	req, err := http.NewRequest(http.MethodPost, "http://lab.test/whoami?a=1;b=2", strings.NewReader("hello"))
	noerr.Must(t, err)
	req.Header.Set("X-Forwarded-For", "1.2.3.4")
	req.Header.Set("X-Own", "kept")
	resp, err := g.through("mobile_demo").Do(req)
	noerr.Must(t, err)
	defer resp.Body.Close()
	var v struct {
		Method, Body, Path string
		Headers            map[string][]string
	}
	noerr.Must(t, json.NewDecoder(resp.Body).Decode(&v))
	if v.Method != http.MethodPost || v.Body != "hello" || v.Path != "/whoami?a=1;b=2" || v.Headers["X-Own"] == nil ||
		len(v.Headers["X-Forwarded-For"]) != 1 || v.Headers["X-Forwarded-For"][0] != "1.2.3.4" || v.Headers["Proxy-Authorization"] != nil {
		t.Errorf("%+v", v)
	}
}

func TestCurl(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("install curl to run the proxy under a client that is not ours")
	}
	g := start(t, Options{})
	login := func(zone string) []string {
		return []string{"-x", "http://" + g.r.Proxy, "-U", "brd-customer-hl_demo01-zone-" + zone + ":" + g.password(zone)}
	}
	run := func(args ...string) (string, int) {
		cmd := exec.CommandContext(t.Context(), curl, append([]string{"-sS", "-q", "-m", "10"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil && cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	socks := func(zone string) []string {
		return []string{"--socks5-hostname", g.r.SOCKS, "-U", "brd-customer-hl_demo01-zone-" + zone + ":" + g.password(zone)}
	}
	for _, c := range []struct {
		name string
		args []string
		text string
		exit int
	}{
		{"SOCKS5", append(socks("datacenter_demo"), "http://lab.test/ok"), "It works", 0},
		{"SOCKS5, https", append(socks("isp_demo"), "--cacert", g.r.CA, "https://lab.test/ok"), "It works", 0},
		{"SOCKS5, https re-signed", append(socks("residential_demo"), "--cacert", g.r.CA, "https://lab.test/ok"), "It works", 0},
		{"SOCKS5, residential to port 80", append(socks("residential_demo"), "http://lab.test/ok"), "", 97},
		{"SOCKS5, an address", append(socks("datacenter_demo"), "http://8.8.8.8/"), "", 97},
		{"SOCKS5, another password", []string{"--socks5-hostname", g.r.SOCKS, "-U", "brd-customer-hl_demo01-zone-isp_demo:x", "http://lab.test/ok"}, "", 97},
		{"plain", append(login("datacenter_demo"), "http://lab.test/ok"), "It works", 0},
		{"CONNECT", append(login("datacenter_demo"), "-p", "http://lab.test/ok"), "It works", 0},
		{"https with the CA", append(login("datacenter_demo"), "--cacert", g.r.CA, "https://lab.test/ok"), "It works", 0},
		{"https re-signed with the CA", append(login("residential_demo"), "--cacert", g.r.CA, "https://lab.test/ok"), "It works", 0},
		{"unlocker, plain", append(login("unlocker_demo"), "http://lab.test/forbidden"), "has solved its challenge", 0},
		{"unlocker, https with the CA", append(login("unlocker_demo"), "--cacert", g.r.CA, "https://lab.test/forbidden"), "has solved its challenge", 0},
		{"unlocker, SOCKS5, https", append(socks("unlocker_demo"), "--cacert", g.r.CA, "https://lab.test/captcha"), "has solved its challenge", 0},
		{"a network is blocked where the unlocker is not", append(login("datacenter_demo"), "-o", "/dev/null", "-w", "%{http_code}", "http://lab.test/forbidden"), "403", 0},
		{"HTTP/2 inside a re-signed connection", append(login("residential_demo"), "--http2", "--cacert", g.r.CA, "-o", "/dev/null", "-w", "%{http_version}", "https://lab.test/ok"), "2", 0},
		{"a download with a login in the address", []string{"--cacert", g.r.CA, "-x", "http://brd-customer-hl_demo01-zone-mobile_demo:" + g.password("mobile_demo") + "@" + g.r.Proxy, "https://lab.test/ok"}, "It works", 0},
		{"https without the CA", append(login("residential_demo"), "https://lab.test/ok"), "certificate", 60},
		{"another password", []string{"-i", "-x", "http://" + g.r.Proxy, "-U", "brd-customer-hl_demo01-zone-isp_demo:x", "http://lab.test/ok"}, "client_10000", 0},
		{"API", []string{"-H", "Authorization: Bearer " + g.key("batch-user"), "-H", "Content-Type: application/json", "-d", `{"zone":"serp_demo","url":"https://lab.test/ok","format":"raw"}`, g.r.API + "/request"}, "It works", 0},
		{"API, an unlocker's markdown", []string{"-H", "Authorization: Bearer " + g.key("batch-user"), "--json", `{"zone":"unlocker_demo","url":"https://lab.test/forbidden","format":"raw","data_format":"markdown"}`, g.r.API + "/request"}, "has solved its challenge", 0},
		{"API, without a key", []string{"-w", "%{http_code}", "-d", "{}", g.r.API + "/request"}, "User authentication is required401", 0},
	} {
		out, code := run(c.args...)
		if code != c.exit || !strings.Contains(out, c.text) {
			t.Errorf("%s: exit %d, %s", c.name, code, out)
		}
	}
}
