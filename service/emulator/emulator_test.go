package emulator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/internal/testrun"
	"zonedeck/service/emulator/level"
	"zonedeck/service/emulator/meter"

	"go.uber.org/goleak"
)

const day = 24 * time.Hour

func TestMain(m *testing.M) {
	testrun.Parallel(4)
	goleak.VerifyTestMain(m)
}

// rig is a running emulator with a client that shares no connections with others.
type rig struct {
	*Server
	t      testing.TB
	r      Ready
	client *http.Client
}

func start(t testing.TB, o Options) *rig {
	t.Helper()
	if o.ProxyAddr == "" {
		o.ProxyAddr = "127.0.0.1:0"
	}
	if o.SOCKSAddr == "" {
		o.SOCKSAddr = "127.0.0.1:0"
	}
	if o.CDPAddr == "" {
		o.CDPAddr = "127.0.0.1:0"
	}
	s, err := Start(context.Background(), o)
	noerr.Must(t, err)
	tr := &http.Transport{DisableCompression: true}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
	})
	return &rig{s, t, s.Ready(), &http.Client{Transport: tr, Timeout: time.Minute}}
}

func (g *rig) key(name string) string {
	for _, k := range g.r.Keys {
		if k.Name == name {
			return k.Value
		}
	}
	g.t.Fatalf("no key %q", name)
	return ""
}

func (g *rig) password(zone string) string {
	for _, z := range g.Ready().Zones {
		if z.Name == zone {
			return z.Password
		}
	}
	g.t.Fatalf("no zone %q", zone)
	return ""
}

type reply struct {
	status int
	header http.Header
	body   string
}

// do sends a JSON request with a bearer token; body is a string or anything JSON.
func (g *rig) do(method, url, token string, body any) reply {
	g.t.Helper()
	var rd io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		rd = strings.NewReader(b)
	default:
		enc, err := json.Marshal(b)
		noerr.Must(g.t, err)
		rd = bytes.NewReader(enc)
	}
	req, err := http.NewRequest(method, url, rd)
	noerr.Must(g.t, err)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := g.client.Do(req)
	noerr.Must(g.t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	noerr.Must(g.t, err)
	return reply{resp.StatusCode, resp.Header, string(b)}
}

func (g *rig) request(fields map[string]any) reply {
	g.t.Helper()
	return g.do("POST", g.r.API+"/request", g.key("batch-user"), fields)
}

func (g *rig) control(method, path string, body any) reply {
	g.t.Helper()
	return g.do(method, g.r.Control+path, g.r.ControlToken, body)
}

func decode[T any](t testing.TB, a reply) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(a.body), &v); err != nil {
		t.Fatalf("%v in %q", err, a.body)
	}
	return v
}

// clock is a time that tests move.
type clock struct {
	base time.Time
	off  atomic.Int64
}

func newClock() *clock { return &clock{base: time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time          { return c.base.Add(time.Duration(c.off.Load())) }
func (c *clock) forward(d time.Duration) { c.off.Add(int64(d)) }

func TestReadyDescribesTheDemoAccount(t *testing.T) {
	c := newClock()
	g := start(t, Options{Now: c.now})
	if g.r.Account != "hl_demo01" || g.r.UsernamePrefix != "brd" || g.r.Lab != "http://lab.test" || g.r.SchemaVersion != 1 || g.r.PID != os.Getpid() {
		t.Errorf("ready: %+v", g.r)
	}
	products := map[string]bool{}
	for _, z := range g.r.Zones {
		products[z.Product] = true
		if z.Name != z.Product+"_demo" || len(z.Password) != 20 {
			t.Errorf("zone %+v", z)
		}
		if rate := meter.DefaultRate(z.Product); z.RatePer1000 != rate.Thousand || z.RatePerGB != rate.GB || rate == (meter.Rate{}) {
			t.Errorf("the rate of zone %+v, want %+v", z, rate)
		}
	}
	if len(products) != 13 {
		t.Errorf("%d products, want 13", len(products))
	}
	days := func(s string) int {
		at, err := time.Parse(time.RFC3339, s)
		noerr.Must(t, err)
		d := at.Sub(c.now())
		n := int(d / day)
		if d < 0 && d%day != 0 {
			n--
		}
		return n
	}
	levels := map[level.Level]bool{}
	want := map[string][2]int{
		"ci-fetch": {7, -52}, "batch-user": {60, -20}, "finance-review": {120, -90}, "limit-lists": {90, -80},
		"expired-user": {-3, -95}, "ops-zones": {75, -10},
	}
	for _, k := range g.r.Keys {
		levels[k.Level] = true
		if len(k.Value) != 64 {
			t.Errorf("key %s has value %q", k.Name, k.Value)
		}
		switch w, ok := want[k.Name]; {
		case k.Name == "etl-main":
			if k.Expires != "Unlimited" || days(k.Rotated) != -112 {
				t.Errorf("%+v", k)
			}
		case k.Name == "old-admin":
			if k.Rotated != "" || days(k.Expires) != 41 {
				t.Errorf("%+v", k)
			}
		case !ok || days(k.Expires) != w[0] || days(k.Rotated) != w[1]:
			t.Errorf("%+v: %d, %d", k, days(k.Expires), days(k.Rotated))
		}
	}
	if len(g.r.Keys) != 8 || len(levels) != 5 {
		t.Errorf("%d keys of %d levels", len(g.r.Keys), len(levels))
	}
	b, err := os.ReadFile(g.r.CA)
	if err != nil || string(b) != g.r.CAPEM {
		t.Errorf("CA file: %v", err)
	}
}

func TestOnlyLoopbackAddressesAreTaken(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.168.1.1:0", "example.com:80", "nonsense"} {
		s, err := Start(t.Context(), Options{APIAddr: addr, ProxyAddr: "127.0.0.1:0"})
		if err == nil {
			_ = s.Shutdown(t.Context())
			t.Errorf("%q was taken", addr)
		}
	}
}

// readyBeside is what a server says that starts while its usual port is held: here, or by
// another process, which may let go of it before the server asks.
func readyBeside(t *testing.T, port int, o Options) Ready {
	t.Helper()
	for range 100 {
		held, heldErr := net.Listen("tcp", localPort(port))
		s, err := Start(t.Context(), o)
		noerr.Must(t, err)
		r := s.Ready()
		noerr.Want(t, s.Shutdown(t.Context()))
		switch {
		case heldErr == nil:
			noerr.Want(t, held.Close())
			return r
		case len(r.Notes) > 0:
			return r
		}
	}
	t.Fatalf("port %d is held by others whenever it is asked for, and never when the server asks", port)
	return Ready{}
}

func TestTheProxyListensOnTheNextPortWhen33335IsTaken(t *testing.T) {
	r := readyBeside(t, defaultProxyPort, Options{CDPAddr: "127.0.0.1:0", SOCKSAddr: "127.0.0.1:0"})
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "port 33335 is taken; the proxy listens on ") ||
		!strings.HasSuffix(r.Notes[0], r.Proxy[strings.LastIndex(r.Proxy, ":")+1:]) {
		t.Errorf("notes %q, proxy %s", r.Notes, r.Proxy)
	}
}

func TestTheRemoteBrowserListensOnAnyPortWhen9222IsTaken(t *testing.T) {
	r := readyBeside(t, defaultCDPPort, Options{ProxyAddr: "127.0.0.1:0", SOCKSAddr: "127.0.0.1:0"})
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "port 9222 is taken; the remote browser listens on ") ||
		!strings.HasPrefix(r.CDP, "ws://127.0.0.1:") || !strings.HasSuffix(r.Notes[0], r.CDP[strings.LastIndex(r.CDP, ":")+1:]) {
		t.Errorf("notes %q, the remote browser %s", r.Notes, r.CDP)
	}
}

func TestOneProcessOwnsAStateFolder(t *testing.T) {
	dir := t.TempDir()
	start(t, Options{StateDir: dir})
	s, err := Start(t.Context(), Options{StateDir: dir, ProxyAddr: "127.0.0.1:0"})
	if !errors.Is(err, ErrStateInUse) {
		t.Errorf("got %v, %v", s, err)
	}
}

func TestStateIsPrivateAndTheTemporaryOneGoes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "emulator")
	g := start(t, Options{StateDir: dir})
	if a := g.control("POST", "/zones/isp_demo/password", nil); a.status != 200 {
		t.Fatal(a)
	}
	g.trigger("gd_products", "http://lab.test/shop")
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return nil
	})
	noerr.Want(t, err)

	s, err := Start(t.Context(), Options{ProxyAddr: "127.0.0.1:0"})
	noerr.Must(t, err)
	temp := filepath.Dir(s.Ready().CA)
	noerr.Want(t, s.Shutdown(t.Context()))
	if _, err := os.Stat(temp); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", temp, err)
	}
}

func TestCorruptStateIsRenamedWithANote(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"state.db": "not a database, and long enough to be seen as none", "ca.pem": "not a certificate"} {
		noerr.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	g := start(t, Options{StateDir: dir})
	if n := g.r.Notes; len(n) != 1 || !strings.HasPrefix(n[0], "state.db could not be read (") {
		t.Errorf("notes: %q", n)
	}
	if m, err := filepath.Glob(filepath.Join(dir, "state.db.corrupt-*")); err != nil || len(m) != 1 {
		t.Errorf("%v, %v", m, err)
	}
	if b, err := os.ReadFile(g.r.CA); err != nil || string(b) != g.r.CAPEM {
		t.Errorf("%s: %v", b, err)
	}
	if a := g.request(map[string]any{"zone": "isp_demo", "url": "https://lab.test/ok", "format": "raw"}); a.header.Get("x-brd-status-code") != "200" {
		t.Errorf("after a fresh start: %+v", a)
	}
}

func TestShutdownEndsWhatRuns(t *testing.T) {
	asked, left := make(chan struct{}), make(chan struct{})
	target := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
		close(left)
	}))
	defer target.Close()
	s, err := Start(context.Background(), Options{ProxyAddr: "127.0.0.1:0", AllowPrivate: []string{target.Listener.Addr().String()}})
	noerr.Must(t, err)
	r := s.Ready()
	done := make(chan error, 2)
	go func() {
		req, err := http.NewRequest(http.MethodPost, r.API+"/request", strings.NewReader(`{"zone":"isp_demo","url":"`+target.URL+`","format":"raw"}`))
		if err != nil {
			done <- err
			return
		}
		req.Header.Set("Authorization", "Bearer "+r.Keys[0].Value)
		req.Header.Set("Content-Type", "application/json")
		tr := &http.Transport{}
		defer tr.CloseIdleConnections()
		resp, err := tr.RoundTrip(req)
		if err == nil {
			resp.Body.Close()
		}
		done <- nil
	}()
	c := connect(t, r.Proxy, loginHeader("datacenter_demo", s.Ready().Zones[0].Password), "lab.test:80", nil)
	defer c.Close()
	<-asked
	if err := s.Shutdown(t.Context()); err != nil { // a call that waited for the target would not end
		t.Error(err)
	}
	<-left
	noerr.Want(t, <-done)
	var ne net.Error
	if _, err := c.Read(make([]byte, 1)); err == nil || (errors.As(err, &ne) && ne.Timeout()) {
		t.Errorf("the tunnel is still open: %v", err)
	}
}
