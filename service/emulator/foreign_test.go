package emulator

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"

	"zonedeck/internal/noerr"
	"zonedeck/service/emulator/browser"
)

// The programs in this file are not ours: they show that clients written for the real
// service work against the emulator unchanged.

// nodeModules is where the clients from npm are; want is the one that has to be there.
func nodeModules(t *testing.T, want string) string {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("install nodejs to run clients from npm")
	}
	dir := os.Getenv("ZONEDECK_NODE_MODULES")
	if dir == "" {
		dir = filepath.Join("..", "..", ".ci", "node", "node_modules")
	}
	dir, err := filepath.Abs(dir)
	noerr.Must(t, err)
	if _, err := os.Stat(filepath.Join(dir, want, "package.json")); err != nil {
		t.Skipf("install %s: npm ci --prefix .ci/node", want)
	}
	return dir
}

// node runs a script of testdata with what it is told in its environment, and reads the
// JSON that it prints.
func node[T any](t *testing.T, module, script string, env ...string) T {
	t.Helper()
	modules := nodeModules(t, module)
	out := runNode(t, "", append(append(os.Environ(), "NODE_PATH="+modules, "NO_PROXY="), env...), filepath.Join("testdata", script))
	var v T
	if err := json.Unmarshal(out, &v); err != nil {
		t.Fatalf("%s: %v in %s", script, err, out)
	}
	return v
}

// runNode runs Node in dir with this environment and gives what it printed.
func runNode(t testing.TB, dir string, env []string, args ...string) []byte {
	t.Helper()
	out, err := tryNode(t, dir, env, args...)
	noerr.Must(t, err)
	return out
}

// tryNode is for programs that may fail: the error has what they wrote to stderr. The
// time is bounded, and what the program started and left ends with it.
func tryNode(t testing.TB, dir string, env []string, args ...string) ([]byte, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, env, 5*time.Second
	endGroup := inGroup(cmd)
	cmd.Cancel = endGroup
	out, err := cmd.Output()
	if cmd.Process != nil {
		_ = endGroup() // of a group that is gone there is nothing to end
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return out, fmt.Errorf("node %s: %w\n%s%s", args, err, out, exit.Stderr)
	}
	return out, err
}

func user(zoneAndFlags string) string { return "brd-customer-hl_demo01-zone-" + zoneAndFlags }

// cdp is the address that a client of the remote browser is given.
func (g *rig) cdp(zoneAndFlags string) string {
	zone, _, _ := strings.Cut(zoneAndFlags, "-")
	return (&url.URL{Scheme: "ws", User: url.UserPassword(user(zoneAndFlags), g.password(zone)), Host: strings.TrimPrefix(g.r.CDP, "ws://")}).String()
}

func TestPlaywrightAndPuppeteerDriveTheRemoteBrowser(t *testing.T) {
	needChromium(t)
	g := start(t, Options{})
	seen := node[struct {
		Refused, Said, Shot, Rendered, Issuer, File, Private, Session string
		Status, Prices                                                int
		Cookies                                                       []string
		Geo                                                           struct {
			IP, Country string
			ASN         struct {
				OrgName string `json:"org_name"`
			}
		}
	}](t, "playwright-core", "playwright-cdp.cjs", "CDP="+g.cdp("browser_demo-country-de"), "SITE=http://lab.test", "PRIVATE="+g.r.Control+"/ready")
	for name, ok := range map[string]bool{
		"a wrong password":          strings.Contains(seen.Refused, "407"),
		"the form":                  seen.Status == 200 && seen.Said == "You are signed in as lab." && len(seen.Cookies) == 1,
		"the screenshot":            seen.Shot == "PNG",
		"the page after scripts":    strings.Contains(seen.Rendered, "Brass desk lamp"),
		"the exit":                  strings.HasPrefix(seen.Geo.IP, "127.16.") && seen.Geo.Country == "DE" && strings.Contains(seen.Geo.ASN.OrgName, "browser"),
		"the shop":                  seen.Prices > 0,
		"the certificate":           strings.Contains(seen.Issuer, "zonedeck local emulator CA"),
		"a file of the machine":     seen.File != "opened" && strings.Contains(seen.File, "pages here are http"),
		"an address of the machine": seen.Private != "opened",
	} {
		if !ok {
			t.Errorf("%s: %+v", name, seen)
		}
	}
	g.fault(`{"id":"slow","point":"proxy","product":"browser","action":"latency","delay":"20ms"}`)
	other := node[struct{ Behind, Said, Shot, File string }](t, "puppeteer-core", "puppeteer-cdp.cjs",
		"CDP="+strings.Replace(g.cdp("browser_demo"), "ws:", "wss:", 1), "NODE_EXTRA_CA_CERTS="+g.r.CA, "SITE=http://lab.test")
	if !strings.Contains(other.Behind, "has solved its challenge") || other.Said != "You are signed in as lab." || other.Shot != "PNG" || !strings.Contains(other.File, "pages here are http") {
		t.Errorf("Puppeteer: %+v", other)
	}
	g.sessionsAreTold(seen.Session)
}

// sessionsAreTold looks at what the service says of a Playwright session and a Puppeteer
// session after it: the list, the journal, the bill.
func (g *rig) sessionsAreTold(first string) {
	t := g.t
	t.Helper()
	entries := g.recorded("cdp", 3) // the refused one, too
	if e := entries[0]; e.Status != 407 || e.Code != "wrong_password" || e.User != user("browser_demo-country-de") {
		t.Errorf("the refused session: %+v", e)
	}
	for _, e := range entries[1:] {
		if e.Zone != "browser_demo" || e.Status != 101 || e.BytesIn == 0 || e.BytesOut < 1000 || e.Target != "http://lab.test/login" && e.Target != "http://lab.test/captcha" {
			t.Errorf("a session: %+v", e)
		}
		if b, err := json.Marshal(e); err != nil || strings.Contains(string(b), g.password("browser_demo")) ||
			strings.Contains(string(b), base64.StdEncoding.EncodeToString([]byte(e.User+":"+g.password("browser_demo")))) {
			t.Errorf("the journal tells the password: %+v", e)
		}
	}
	type list struct {
		Sessions []browser.Session
		Session  browser.Session
		Total    int
	}
	all := decode[list](t, g.do("GET", g.r.API+"/browser_sessions?status=finished&sort=timestamp&order=asc", g.key("batch-user"), nil))
	if all.Total != 2 || all.Sessions[0].ID != first || all.Sessions[0].Bandwidth == 0 || all.Sessions[0].Navigations < 5 || all.Sessions[1].Captcha != "solved" {
		t.Errorf("%+v", all)
	}
	if one := decode[list](t, g.do("GET", g.r.API+"/browser_sessions/"+first, g.key("batch-user"), nil)); one.Session.ID != first || one.Session.Zone != "browser_demo" {
		t.Errorf("%+v", one)
	}
	if a := g.do("GET", g.r.API+"/browser_sessions/no-such", g.key("batch-user"), nil); a.status != 404 {
		t.Errorf("an unknown session: %+v", a)
	}
	bw := g.do("GET", g.r.API+"/zone/bw?zone=browser_demo", g.keyOf("ADMIN"), nil)
	if bw.status != 200 || !strings.Contains(bw.body, "browser_demo") {
		t.Errorf("%+v", bw)
	}
	if spent := g.meter.Zone("browser_demo", g.now().Add(-day), g.now().Add(day)); spent.Down < all.Sessions[0].Bandwidth/2 || spent.Requests() == 0 {
		t.Errorf("%+v for sessions of %d bytes", spent, all.Sessions[0].Bandwidth)
	}
}

func TestTheRemoteBrowserRefusesLogins(t *testing.T) {
	g := playing(t, `
[[zones]]
name = "b1"
product = "browser"
[[zones]]
name = "closed"
product = "browser"
disabled = true
[[zones]]
name = "listed"
product = "browser"
allow_ips = ["10.1.2.3"]
[[zones]]
name = "dc1"
product = "datacenter"
`)
	for _, c := range []struct {
		name, user, password string
		status               int
		code                 string
	}{
		{"no login", "", "", 407, "missing_credentials"},
		{"another form", "me", "x", 407, "wrong_customer_name"},
		{"another account", "brd-customer-hl_other-zone-b1", g.password("b1"), 407, "wrong_customer_name"},
		{"an unknown zone", user("nosuch"), "x", 407, "zone_not_found"},
		{"a wrong password", user("b1"), "x", 407, "wrong_password"},
		{"another zone's password", user("b1"), g.password("dc1"), 407, "wrong_password"},
		{"another product", user("dc1"), g.password("dc1"), 407, "zone_not_found"},
		{"an unknown flag", user("b1") + "-contry-de", g.password("b1"), 407, "client_10001"},
		{"an unknown country", user("b1") + "-country-xx", g.password("b1"), 400, "client_10062"},
		{"a disabled zone", user("closed"), g.password("closed"), 407, "client_10002"},
		{"a caller that is not listed", user("listed"), g.password("listed"), 407, "client_10030"},
	} {
		req := g.upgrade("http://" + strings.TrimPrefix(g.r.CDP, "ws://") + "/")
		if c.user != "" {
			req.SetBasicAuth(c.user, c.password)
		}
		resp, err := g.client.Do(req)
		noerr.Must(t, err)
		resp.Body.Close()
		if resp.StatusCode != c.status || resp.Header.Get("x-brd-err-code") != c.code || resp.Header.Get("x-emulator-basis") == "" {
			t.Errorf("%s: %d %v", c.name, resp.StatusCode, resp.Header)
		}
	}
	secure := &http.Client{Timeout: time.Minute, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: g.ca.Pool()}, DisableKeepAlives: true}}
	if resp, err := secure.Do(g.upgrade("https://" + strings.TrimPrefix(g.r.CDP, "ws://") + "/")); err != nil {
		t.Errorf("over TLS: %v", err)
	} else {
		resp.Body.Close()
		if resp.StatusCode != http.StatusProxyAuthRequired || resp.Proto != "HTTP/1.1" {
			t.Errorf("over TLS: %d %s", resp.StatusCode, resp.Proto)
		}
	}
	if got := raw(t, strings.TrimPrefix(g.r.CDP, "ws://"), "GET /json/version HTTP/1.1\r\nHost: rebound.example\r\nConnection: close\r\n\r\n"); got != 421 {
		t.Errorf("a name that a page made resolve to loopback: %d", got)
	}
}

func TestFaultsOfTheProxyHitTheRemoteBrowserToo(t *testing.T) {
	g := start(t, Options{})
	g.fault(`{"id":"full","point":"proxy","product":"browser","action":"error","code":"no_free_workers","status":503,"message":"all browsers are in use"}`)
	ask := func(password string) *http.Response {
		req := g.upgrade("http://" + strings.TrimPrefix(g.r.CDP, "ws://") + "/")
		req.SetBasicAuth(user("browser_demo"), password)
		resp, err := g.client.Do(req)
		noerr.Must(t, err)
		resp.Body.Close()
		return resp
	}
	if resp := ask("wrong"); resp.StatusCode != http.StatusProxyAuthRequired || resp.Header.Get("x-emulator-fault") != "" {
		t.Errorf("before the login: %d %v", resp.StatusCode, resp.Header)
	}
	if resp := ask(g.password("browser_demo")); resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("x-brd-err-code") != "no_free_workers" || resp.Header.Get("x-emulator-fault") != "full" {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
	if e := g.recorded("cdp", 2)[1]; e.Status != 503 || e.Fault != "full" || e.Zone != "browser_demo" || e.User != user("browser_demo") {
		t.Errorf("%+v", e)
	}
}

func TestShutdownEndsARemoteBrowser(t *testing.T) {
	t.Parallel() // Chromium waits more than it works
	needChromium(t)
	s, err := Start(context.Background(), Options{ProxyAddr: "127.0.0.1:0", SOCKSAddr: "127.0.0.1:0", CDPAddr: "127.0.0.1:0"})
	noerr.Must(t, err)
	g := &rig{Server: s, t: t, r: s.Ready()}
	login := base64.StdEncoding.EncodeToString([]byte(user("browser_demo") + ":" + g.password("browser_demo")))
	d := ws.Dialer{Timeout: 30 * time.Second, Header: ws.HandshakeHeaderHTTP{"Authorization": {"Basic " + login}}}
	conn, _, _, err := d.Dial(t.Context(), g.r.CDP+"/")
	noerr.Must(t, err)
	defer conn.Close()
	noerr.Must(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
	noerr.Must(t, wsutil.WriteClientText(conn, []byte(`{"id":1,"method":"Browser.getVersion"}`)))
	if b, err := wsutil.ReadServerText(conn); err != nil || !strings.Contains(string(b), "Chrome/") {
		t.Fatalf("%s %v", b, err)
	}
	noerr.Want(t, s.Shutdown(t.Context()))
	var closed wsutil.ClosedError
	if _, err := wsutil.ReadServerText(conn); !errors.As(err, &closed) || !strings.Contains(closed.Reason, "worker_disconnect") {
		t.Errorf("the client is told: %v", err)
	}
}

// upgrade is the first request of a WebSocket.
func (g *rig) upgrade(address string) *http.Request {
	g.t.Helper()
	req, err := http.NewRequest(http.MethodGet, address, nil)
	noerr.Must(g.t, err)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "websocket")
	return req
}

func TestChromiumThroughTheProxy(t *testing.T) {
	needChromium(t)
	program, err := browser.Find("")
	noerr.Must(t, err)
	g := start(t, Options{})
	sum := sha256.Sum256(g.ca.Root().RawSubjectPublicKeyInfo)
	spki := base64.StdEncoding.EncodeToString(sum[:])
	type visit struct {
		User     string `json:"user"`
		Password string `json:"password"`
		Address  string `json:"address"`
		SPKI     string `json:"spki"`
	}
	by := func(zone, address, spki string) visit {
		return visit{user(zone), g.password(zone), address, spki}
	}
	visits := []visit{
		by("datacenter_demo", "http://lab.test/ok", ""),
		by("residential_demo", "https://lab.test/ok", ""),
		by("residential_demo", "https://lab.test/ok", spki),
		by("unlocker_demo", "https://lab.test/forbidden", spki),
		by("isp_demo", "https://lab.test/ok", spki),
		{user("isp_demo"), "wrong", "http://lab.test/ok", ""},
	}
	raw, err := json.Marshal(visits)
	noerr.Must(t, err)
	seen := node[[]struct {
		Status                  int
		Text, IP, Issuer, Error string
	}](t, "playwright-core", "chromium-proxy.cjs", "CHROMIUM="+program, "PROXY=http://"+g.r.Proxy, "VISITS="+string(raw))
	if len(seen) != len(visits) {
		t.Fatalf("%+v", seen)
	}
	for i, v := range seen[:5] {
		switch {
		case i == 1:
			if !strings.Contains(v.Error, "ERR_CERT_AUTHORITY_INVALID") {
				t.Errorf("re-signed, without the authority: %+v", v)
			}
		case v.Status != 200 || v.Error != "", i > 0 && !strings.Contains(v.Issuer, "zonedeck local emulator CA"):
			t.Errorf("%+v: %+v", visits[i], v)
		}
	}
	if !strings.Contains(seen[0].Text, "It works") || !strings.HasPrefix(seen[0].IP, "127.10.") || !strings.HasPrefix(seen[2].IP, "127.12.") {
		t.Errorf("what the pages said: %+v", seen)
	}
	if seen[4].IP != "" {
		t.Errorf("a tunnel was looked into: %+v", seen[4])
	}
	if v := seen[5]; v.Status == 200 || v.Error == "" && v.Status != 407 {
		t.Errorf("a wrong password: %+v", v)
	}
	zones := map[string]bool{}
	for _, e := range g.recorded("inner", 2) {
		zones[e.Zone] = true
	}
	if !zones["residential_demo"] || !zones["unlocker_demo"] || zones["isp_demo"] {
		t.Errorf("requests inside re-signed connections: %v", zones)
	}
}

func TestNodesFetchThroughTheProxy(t *testing.T) {
	g := start(t, Options{})
	type answer struct {
		Status          int
		IP, Text, Error string
	}
	through := func(zone, password, ca string) []answer {
		t.Helper()
		proxy := (&url.URL{Scheme: "http", User: url.UserPassword(user(zone), password), Host: g.r.Proxy}).String()
		return node[[]answer](t, "undici", "fetch-proxy.cjs", "PROXY="+proxy, "CA="+ca, `ADDRESSES=["http://lab.test/whoami","https://lab.test/whoami"]`)
	}
	for _, zone := range []string{"datacenter_demo", "residential_demo", "mobile_demo"} {
		for _, a := range through(zone, g.password(zone), g.r.CA) {
			if a.Status != 200 || a.Error != "" || !strings.Contains(a.Text, `"body":"from node"`) && !strings.Contains(a.Text, `"body": "from node"`) {
				t.Errorf("%s: %+v", zone, a)
			}
		}
	}
	if a := through("residential_demo", g.password("residential_demo"), ""); len(a) != 2 || !strings.Contains(a[1].Error, "CERT") && !strings.Contains(a[1].Error, "ISSUER") {
		t.Errorf("without the authority: %+v", a)
	}
	for _, a := range through("isp_demo", "wrong", g.r.CA) {
		if a.Status == 200 || a.Status != 407 && a.Error == "" {
			t.Errorf("a wrong password: %+v", a)
		}
	}
}
