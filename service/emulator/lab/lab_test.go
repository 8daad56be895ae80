package lab

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"zonedeck/internal/noerr"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shared is one site for all tests: it keeps no state, and its index is built once.
var shared = sync.OnceValue(func() http.Handler { return New(Options{}) })

func get(t *testing.T, target string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	shared().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", target, nil))
	return w
}

func TestPages(t *testing.T) {
	for _, c := range []struct {
		path   string
		status int
		text   string
	}{
		{"/", 200, "/shop?v=2"},
		{"/ok", 200, "It works"},
		{"/json", 200, `"LAB-1007"`},
		{"/forbidden", 403, "Access denied"},
		{"/too-fast", 429, "Slow down"},
		{"/captcha", 200, `class="g-recaptcha"`},
		{"/slow?s=0", 200, "At last"},
		{"/slow?s=-1", 400, "seconds"},
		{"/slow?s=NaN", 400, "seconds"},
		{"/slow?s=1e9", 400, "seconds"},
		{"/error", 500, "broke"},
		{"/large?mb=1025", 400, "MiB"},
		{"/product/1", 200, `class="review"`},
		{"/product/13", 404, "no such product"},
		{"/product/x", 404, "no such product"},
		{"/search?q=<script>", 200, "&lt;script&gt;"},
		{"/nowhere", 404, "/nowhere"},
	} {
		if w := get(t, c.path); w.Code != c.status || !strings.Contains(w.Body.String(), c.text) {
			t.Errorf("%s: %d %s", c.path, w.Code, w.Body)
		}
	}
	if w := get(t, "/empty"); w.Code != 200 || w.Body.Len() != 0 {
		t.Errorf("/empty: %d, %d bytes", w.Code, w.Body.Len())
	}
	if w := get(t, "/too-fast"); w.Header().Get("Retry-After") != "1" {
		t.Errorf("%v", w.Header())
	}
}

func TestTheShopChangesItsMarkupNotItsProducts(t *testing.T) {
	one, two := get(t, "/shop").Body.String(), get(t, "/shop?v=2").Body.String()
	for n := range Products {
		p, ok := productWhere(func(p product) bool { return p.N == n+1 })
		if !ok || !strings.Contains(one, p.Name) || !strings.Contains(two, p.Name) || !strings.Contains(two, p.SKU) {
			t.Errorf("product %d: %+v", n+1, p)
		}
	}
	if !strings.Contains(one, `class="price"`) || strings.Contains(two, `class="price"`) {
		t.Error("the price did not move")
	}
}

func TestLargeIsAsLongAsItSays(t *testing.T) {
	w := get(t, "/large?mb=2")
	if w.Body.Len() != 2<<20 || w.Header().Get("Content-Length") != "2097152" {
		t.Errorf("%d bytes, said %s", w.Body.Len(), w.Header().Get("Content-Length"))
	}
	lines := bytes.Split(bytes.TrimSuffix(w.Body.Bytes(), []byte("\n")), []byte("\n"))
	if len(lines) != 1<<15 || !bytes.HasPrefix(lines[1<<15-1], []byte("000032767 ")) {
		t.Errorf("%d lines, the last is %q", len(lines), lines[len(lines)-1])
	}
}

func TestSplit(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	noerr.Must(t, err)
	ts := httptest.NewUnstartedServer(nil)
	ts.StartTLS() // for its certificate
	cert := ts.TLS.Certificates[0]
	ts.Close()
	srv := &http.Server{Handler: New(Options{})}
	done := make(chan error, 1)
	both := Split(ln, &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2"}})
	go func() { done <- srv.Serve(both) }()

	tr := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	c := &http.Client{Transport: tr, Timeout: time.Minute}
	for _, scheme := range []string{"http", "https", "http"} {
		resp, err := c.Get(scheme + "://" + ln.Addr().String() + "/ok")
		noerr.Must(t, err)
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || !bytes.Contains(b, []byte("It works")) || resp.ProtoMajor != map[string]int{"http": 1, "https": 2}[scheme] {
			t.Errorf("%s: %v %s %q", scheme, err, resp.Proto, b)
		}
	}
	silent, err := net.Dial("tcp", ln.Addr().String())
	noerr.Must(t, err)
	defer silent.Close()
	tr.CloseIdleConnections()
	if err := srv.Close(); err != nil && !errors.Is(err, net.ErrClosed) { // waits for the connection that never spoke
		t.Error(err)
	}
	<-done
}
