package service

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/journal"
	"zonedeck/service/profile"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(victimEnv); role != "" {
		os.Exit(victim(role))
	}
	goleak.VerifyTestMain(m)
}

// The secrets of the tests: nothing of them may be found anywhere afterwards.
const (
	testKey      = "4f1dd2c0b7a94e55a3ce3e6a9b1cf2a1"
	testPassword = "proxy-pass-91d3f0c47"
)

func testProfile(baseURL string) profile.Profile {
	return profile.Profile{
		Name: "test", BaseURL: baseURL, ProxyHost: "127.0.0.1", ProxyPort: 1, UsernamePrefix: "brd",
		Account: "hl_test01", Dialect: "brightdata", Key: "batch-user", APIVersion: "v3", Verify: true,
		Zones: []model.Zone{
			{Name: "unlocker1", Product: model.ProductUnlocker, Password: "env:ZONE"},
			{Name: "dc1", Product: model.ProductDatacenter, Password: "env:ZONE"},
			{Name: "serp1", Product: model.ProductSERP, Password: "env:ZONE"},
		},
	}
}

func zone(p profile.Profile, name string) model.Zone {
	z, ok := p.Zone(name)
	if !ok {
		panic("no zone " + name)
	}
	return z
}

func newTestClient(t testing.TB, p profile.Profile, change ...func(*Options)) *Client {
	t.Helper()
	o := Options{
		Profile: func(context.Context) (profile.Profile, error) { return p, nil },
		Secret: func(_ context.Context, ref string) (keystore.Secret, error) {
			switch ref {
			case "env:KEY":
				return keystore.NewSecret(testKey), nil
			case "env:ZONE":
				return keystore.NewSecret(testPassword), nil
			default:
				return keystore.Secret{}, fmt.Errorf("%w: %s", keystore.ErrSecretMissing, ref)
			}
		},
		Key: func(name string) (model.Key, bool) {
			switch name {
			case "batch-user":
				return model.Key{Name: name, Level: model.LevelUser, Secret: "env:KEY"}, true
			case "tracked":
				return model.Key{Name: name}, true
			case "lost":
				return model.Key{Name: name, Secret: "env:GONE"}, true
			default:
				return model.Key{}, false
			}
		},
		BodiesDir: filepath.Join(t.TempDir(), "bodies"),
	}
	for _, f := range change {
		f(&o)
	}
	c := New(o)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c
}

func withJournal(t *testing.T) (change func(*Options), dir string) {
	t.Helper()
	dir = t.TempDir()
	j, _, err := journal.Open(t.Context(), filepath.Join(dir, "journal.db"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() }) // a test that reads the file closed it
	return func(o *Options) { o.Journal = j }, dir
}

// api starts an API that answers with h.
func api(t *testing.T, h http.HandlerFunc) profile.Profile {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return testProfile(s.URL)
}

// proxy is a small forward proxy: CONNECT and absolute-form, answered by hooks.
type testProxy struct {
	addr    string
	mu      sync.Mutex
	seen    []string // request lines, and the logins
	logins  []string
	connect func(req *http.Request, conn net.Conn) bool // false: answered by the hook
	plain   http.Handler
	target  func() (net.Conn, error) // where tunnels go
}

func (p *testProxy) lines() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.seen...)
}

func startProxy(t *testing.T, p *testProxy) (host string, port int) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	open := map[net.Conn]bool{}
	t.Cleanup(func() {
		ln.Close()
		mu.Lock()
		for c := range open {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	track := func(c net.Conn) net.Conn {
		mu.Lock()
		defer mu.Unlock()
		open[c] = true
		return c
	}
	wg.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			track(conn)
			wg.Go(func() { p.serve(conn, track) })
		}
	})
	p.addr = ln.Addr().String()
	h, portText, _ := net.SplitHostPort(p.addr)
	port, _ = strconv.Atoi(portText)
	return h, port
}

func (p *testProxy) serve(conn net.Conn, track func(net.Conn) net.Conn) {
	defer conn.Close()
	br := bufio.NewReader(conn)
	req, err := http.ReadRequest(br)
	if err != nil {
		return
	}
	p.mu.Lock()
	p.seen = append(p.seen, req.Method+" "+req.RequestURI)
	p.logins = append(p.logins, req.Header.Get("Proxy-Authorization"))
	p.mu.Unlock()
	if req.Method != http.MethodConnect {
		rec := httptest.NewRecorder()
		p.plain.ServeHTTP(rec, req)
		res := rec.Result()
		res.ContentLength = int64(rec.Body.Len())
		_ = res.Write(conn)
		return
	}
	if p.connect != nil && !p.connect(req, conn) {
		return
	}
	up, err := p.target()
	if err != nil {
		_, _ = io.WriteString(conn, "HTTP/1.1 502 Bad Gateway\r\nx-brd-err-code: target_40001\r\nContent-Length: 0\r\n\r\n")
		return
	}
	track(up)
	defer up.Close()
	_, _ = io.WriteString(conn, "HTTP/1.1 200 Connection established\r\nx-brd-ip: 203.0.113.7\r\n\r\n")
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(up, br)
		_ = up.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(conn, up)
	conn.Close()
	<-done
}

// tlsTarget starts an https target with a certificate of its own authority and
// gives the file of that authority's certificate.
func tlsTarget(t *testing.T, h http.HandlerFunc) (dial func() (net.Conn, error), ca string) {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.TLS = &tls.Config{}
	s.Config.ErrorLog = quiet()
	s.StartTLS()
	t.Cleanup(s.Close)
	ca = filepath.Join(t.TempDir(), "ca.pem")
	writePEM(t, ca, s.Certificate())
	return func() (net.Conn, error) { return net.Dial("tcp", s.Listener.Addr().String()) }, ca
}

func writePEM(t *testing.T, file string, cert *x509.Certificate) {
	t.Helper()
	b := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func nativeProfile(t *testing.T, p *testProxy) profile.Profile {
	t.Helper()
	prof := testProfile("http://127.0.0.1:1")
	prof.ProxyHost, prof.ProxyPort = startProxy(t, p)
	return prof
}

func wantVerdict(t *testing.T, r model.FetchResult, class model.Class, cause model.Cause) {
	t.Helper()
	if r.Diagnosis.Class != class || r.Diagnosis.Cause != cause {
		t.Errorf("verdict is %s/%s (rule %s, evidence %v), want %s/%s",
			r.Diagnosis.Class, r.Diagnosis.Cause, r.Diagnosis.Rule, r.Diagnosis.Evidence, class, cause)
	}
}

func noSecret(t *testing.T, where, text string) {
	t.Helper()
	for _, s := range []string{testKey, testPassword} {
		if strings.Contains(text, s) {
			t.Errorf("%s holds the secret %s", where, s)
		}
	}
}
