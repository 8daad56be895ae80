package fetch

import (
	"bufio"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"zonedeck/model"
	"zonedeck/service/servicetest"
)

// loopProxy is a small forward proxy: CONNECT and absolute-form, answered by hooks.
type loopProxy struct {
	addr     string
	mu       sync.Mutex // guards what it has seen
	requests []string   // request lines, and the logins
	logins   []string
	Connect  func(req *http.Request, conn net.Conn) bool // false: answered by the hook
	Plain    http.Handler
	Target   func() (net.Conn, error) // where tunnels go
}

// lines are the request lines seen so far.
func (p *loopProxy) lines() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.requests...)
}

// usernames are those of the logins seen so far.
func (p *loopProxy) usernames() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for _, l := range p.logins {
		b, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(l, "Basic "))
		name, _, _ := strings.Cut(string(b), ":")
		out = append(out, name)
	}
	return out
}

// startProxy starts a proxy on loopback.
func startProxy(t *testing.T, p *loopProxy) (host string, port int) {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
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

func (p *loopProxy) serve(conn net.Conn, track func(net.Conn) net.Conn) {
	defer conn.Close()
	br := bufio.NewReader(conn)
	req, err := http.ReadRequest(br)
	if err != nil {
		return
	}
	p.mu.Lock()
	p.requests = append(p.requests, req.Method+" "+req.RequestURI)
	p.logins = append(p.logins, req.Header.Get("Proxy-Authorization"))
	p.mu.Unlock()
	if req.Method != http.MethodConnect {
		rec := httptest.NewRecorder()
		p.Plain.ServeHTTP(rec, req)
		res := rec.Result()
		res.ContentLength = int64(rec.Body.Len())
		_ = res.Write(conn)
		return
	}
	if p.Connect != nil && !p.Connect(req, conn) {
		return
	}
	up, err := p.Target()
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

// nativeProfile is a profile whose proxy is p.
func nativeProfile(t *testing.T, p *loopProxy) model.Profile {
	t.Helper()
	prof := servicetest.Profile("http://127.0.0.1:1")
	prof.ProxyHost, prof.ProxyPort = startProxy(t, p)
	return prof
}

// wantVerdict compares a verdict.
func wantVerdict(t *testing.T, r model.FetchResult, class model.Class, cause model.Cause) {
	t.Helper()
	if r.Diagnosis.Class != class || r.Diagnosis.Cause != cause {
		t.Errorf("verdict is %s/%s (rule %s, evidence %v), want %s/%s",
			r.Diagnosis.Class, r.Diagnosis.Cause, r.Diagnosis.Rule, r.Diagnosis.Evidence, class, cause)
	}
}

// askFor is a request through a zone of p by API.
func askFor(p model.Profile, zone string) model.FetchRequest {
	z, _ := p.Zone(zone)
	return model.FetchRequest{Zone: z, URL: "http://lab.test/ok", Via: model.ViaAPI, Format: model.FormatRaw}
}
