// Package servicetest holds what the tests of the service's rooms share: an API
// and a proxy on loopback, targets with TLS, a profile with its secrets, a journal,
// and a network without sockets. Only _test.go files import it.
package servicetest

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/journal"
	"zonedeck/service/ledger"
	"zonedeck/service/work"
)

// The secrets of the tests, which must not appear anywhere afterwards.
const (
	KeyValue = "4f1dd2c0b7a94e55a3ce3e6a9b1cf2a1"
	Password = "proxy-pass-91d3f0c47"
)

// Profile is a profile whose API is at baseURL.
func Profile(baseURL string) model.Profile {
	return model.Profile{
		Name: "test", BaseURL: baseURL, ProxyHost: "127.0.0.1", ProxyPort: 1, UsernamePrefix: "brd",
		Account: "hl_test01", Dialect: "brightdata", Can: dialect.Embedded(), Key: "batch-user", APIVersion: "v3", Verify: true,
		Zones: []model.Zone{
			{Name: "unlocker1", Product: model.ProductUnlocker, Password: "env:ZONE"},
			{Name: "dc1", Product: model.ProductDatacenter, Password: "env:ZONE"},
			{Name: "serp1", Product: model.ProductSERP, Password: "env:ZONE"},
		},
	}
}

// Zone is a zone of a profile.
func Zone(p model.Profile, name string) model.Zone {
	z, ok := p.Zone(name)
	if !ok {
		panic("no zone " + name)
	}
	return z
}

// Secret resolves the references of the tests.
func Secret(_ context.Context, ref string) (keystore.Secret, error) {
	switch ref {
	case "env:KEY":
		return keystore.NewSecret(KeyValue), nil
	case "env:ZONE":
		return keystore.NewSecret(Password), nil
	default:
		return keystore.Secret{}, fmt.Errorf("%w: %s", keystore.ErrSecretMissing, ref)
	}
}

// Key is the key inventory of the tests: a key that works, one that is only
// tracked, and one whose value is lost.
func Key(name string) (model.Key, bool) {
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
}

// Journal opens a journal in a temporary folder, which it returns too.
func Journal(t testing.TB) (j *journal.Journal, dir string) {
	t.Helper()
	dir = t.TempDir()
	j, _, err := journal.Open(t.Context(), filepath.Join(dir, "journal.db"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() }) // a test that reads the file closed it
	return j, dir
}

// Ledger opens a ledger in a temporary folder, which it returns too.
func Ledger(t testing.TB) (l *ledger.Ledger, dir string) {
	t.Helper()
	dir = t.TempDir()
	l, _, err := ledger.Open(t.Context(), filepath.Join(dir, "ledger.db"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // a test that reads the file closed it
	return l, dir
}

// ClockFunc is a clock that a test sets.
type ClockFunc func() time.Time

// QueuesFunc opens a queue of durable work.
type QueuesFunc func(context.Context) (work.Queue, error)

// Now reads the clock.
func (c ClockFunc) Now() time.Time { return c() }

// Work opens the queue.
func (q QueuesFunc) Work(ctx context.Context) (work.Queue, error) { return q(ctx) }

// Work opens a queue of durable work: the same one each time, in a temporary folder.
func Work(t testing.TB) QueuesFunc {
	t.Helper()
	q, err := work.OpenFile(t.Context(), filepath.Join(t.TempDir(), "work.db"), work.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = q.Close() })
	return func(context.Context) (work.Queue, error) { return q, nil }
}

// API starts an API that answers with h.
func API(t testing.TB, h http.HandlerFunc) model.Profile {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return Profile(s.URL)
}

// TLSTarget starts an https target whose certificate a new authority signed, and
// returns the file with that authority's certificate.
func TLSTarget(t *testing.T, h http.HandlerFunc) (dial func() (net.Conn, error), ca string) {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.TLS = &tls.Config{}
	s.Config.ErrorLog = quiet()
	s.StartTLS()
	t.Cleanup(s.Close)
	ca = filepath.Join(t.TempDir(), "ca.pem")
	writePEM(t, ca, s.Certificate())
	return func() (net.Conn, error) {
		return new(net.Dialer).DialContext(t.Context(), "tcp", s.Listener.Addr().String())
	}, ca
}

func writePEM(t *testing.T, file string, cert *x509.Certificate) {
	t.Helper()
	b := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// NoSecret fails when a text holds a secret of the tests.
func NoSecret(t *testing.T, where, text string) {
	t.Helper()
	for _, s := range []string{KeyValue, Password} {
		if strings.Contains(text, s) {
			t.Errorf("%s holds the secret %s", where, s)
		}
	}
}

// Page is an ordinary page.
const Page = "<!doctype html><html><head><title>ok</title></head><body><p>All is well.</p></body></html>"

// quiet is a log that discards everything.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

// LoginOf is the login in a Proxy-Authorization header.
func LoginOf(header string) string {
	b, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(header, "Basic "))
	return string(b)
}

// NoSecretUnder fails when a file below dir holds a secret of the tests.
func NoSecretUnder(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		NoSecret(t, path, string(b))
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// piped is a listener whose connections are pipes: no network, so that a bubble
// of synctest can tell when everything waits.
type piped struct {
	conns chan net.Conn
	done  chan struct{}
}

// Serve serves h on pipes until stop is called. dial connects to it.
func Serve(h http.Handler) (dial func(ctx context.Context, network, addr string) (net.Conn, error), stop func()) {
	l := &piped{conns: make(chan net.Conn), done: make(chan struct{})}
	srv := &http.Server{Handler: h, ErrorLog: quiet()}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = srv.Serve(l) }()
	return l.dial, func() {
		_ = srv.Close() // its listener, the only part that could fail, does not
		<-ended
	}
}

// Accept gives the next pipe.
func (l *piped) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close ends Accept.
func (l *piped) Close() error { close(l.done); return nil }

// Addr satisfies net.Listener; pipes have no addresses.
func (l *piped) Addr() net.Addr { return &net.TCPAddr{} }

func (l *piped) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case l.conns <- far:
		return near, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Capture accepts one connection after the other, reads one request's bytes and
// answers with answer.
func Capture(t *testing.T, answer string) (addr string, requests <-chan string) {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan string, 16)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			var raw strings.Builder
			br := bufio.NewReader(io.TeeReader(conn, &raw))
			if req, err := http.ReadRequest(br); err == nil {
				_, _ = io.Copy(io.Discard, req.Body)
				_, _ = io.WriteString(conn, answer)
			}
			got <- raw.String()
			conn.Close()
		}
	}()
	t.Cleanup(func() { ln.Close(); <-done })
	return ln.Addr().String(), got
}
