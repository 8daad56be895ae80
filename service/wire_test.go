package service

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/profile"
)

// capture accepts one connection after the other, reads one request's bytes and
// answers with answer.
func capture(t *testing.T, answer string) (addr string, requests <-chan string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
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

const plainOK = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\nfine"

func TestPreviewByAPIIsWhatIsWritten(t *testing.T) {
	addr, got := capture(t, plainOK)
	for name, change := range map[string]func(*profile.Profile, *model.FetchRequest){
		"the contract alone": func(p *profile.Profile, _ *model.FetchRequest) { p.Dialect = "documented" },
		"everything the dialect sends": func(_ *profile.Profile, r *model.FetchRequest) {
			r.Format, r.Method, r.Country = model.FormatJSON, "POST", "de"
			r.Header = http.Header{"Accept-Language": {"de", "en"}, "X-A": {"<&>"}}
			r.Body = "line one\nline \"two\" ä"
		},
		"an address with a query, and a base URL with a path": func(p *profile.Profile, r *model.FetchRequest) {
			p.BaseURL += "/gateway/"
			r.URL = "https://lab.test/search?q=a&b=<c>#d"
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := testProfile("http://" + addr)
			r := ask(p, "unlocker1")
			change(&p, &r)
			c := newTestClient(t, p)
			w := c.Preview(p, r, keystore.NewSecret(testKey).Last4())
			if w.Problem != "" {
				t.Fatal(w.Problem)
			}
			res, err := c.Fetch(t.Context(), r, nil)
			if err != nil {
				t.Fatal(err)
			}
			if res.Exit != "" || res.ServiceStatus != 200 {
				t.Errorf("result %+v", res)
			}
			raw := <-got
			written := strings.Replace(raw, testKey, "••••"+testKey[len(testKey)-4:], 1)
			if shown := rejoin(w.Lines); shown != written {
				t.Errorf("shown:\n%q\nwritten:\n%q", shown, written)
			}
			noSecret(t, "the preview", strings.Join(w.Lines, "\n"))
		})
	}
}

// rejoin gives the bytes that a preview's lines stand for.
func rejoin(lines []string) string {
	for i, l := range lines {
		if l == "" {
			return strings.Join(lines[:i], "\r\n") + "\r\n\r\n" + strings.Join(lines[i+1:], "\n")
		}
	}
	return strings.Join(lines, "\r\n")
}

func TestPreviewByNativeIsWhatIsWritten(t *testing.T) {
	const login = "brd-customer-hl_test01-zone-dc1-country-de-session-a1"
	secret := base64.StdEncoding.EncodeToString([]byte(login + ":" + testPassword))
	shown := "base64(" + login + ":••••)"
	request := func(p profile.Profile, url string) model.FetchRequest {
		r := ask(p, "dc1")
		r.Via, r.URL, r.Country, r.Session = model.ViaNative, url, "de", "a1"
		r.Method, r.Body, r.Header = "put", "x=1\ny=2", http.Header{"X-A": {"1"}, "Host": {"other.test"}}
		return r
	}
	t.Run("a plain http target in absolute form", func(t *testing.T) {
		addr, got := capture(t, plainOK)
		p := proxyAt(t, addr)
		c := newTestClient(t, p)
		r := request(p, "http://lab.test/ok?a=1#frag")
		if _, err := c.Fetch(t.Context(), r, nil); err != nil {
			t.Fatal(err)
		}
		want := strings.Replace(<-got, secret, shown, 1)
		w := c.Preview(p, r, "")
		if have := rejoin(w.Lines); have != want || w.Problem != "" {
			t.Errorf("shown:\n%q\nwritten:\n%q\n%s", have, want, w.Problem)
		}
	})
	t.Run("an https target by CONNECT", func(t *testing.T) {
		addr, got := capture(t, "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
		p := proxyAt(t, addr)
		c := newTestClient(t, p)
		r := request(p, "https://lab.test/ok")
		if _, err := c.Fetch(t.Context(), r, nil); err != nil {
			t.Fatal(err)
		}
		want := strings.Replace(<-got, secret, shown, 1)
		w := c.Preview(p, r, "")
		connect, inner, _ := strings.Cut(strings.Join(w.Lines, "\r\n"), "\r\n\r\n")
		if connect+"\r\n\r\n" != want {
			t.Errorf("shown:\n%q\nwritten:\n%q", connect, want)
		}
		if !strings.HasPrefix(inner, "PUT /ok HTTP/1.1\r\nHost: other.test\r\n") || strings.Contains(inner, "Proxy-Authorization") {
			t.Errorf("within the tunnel: %q", inner)
		}
	})
}

func proxyAt(t *testing.T, addr string) profile.Profile {
	t.Helper()
	a, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	p := testProfile("http://127.0.0.1:1")
	p.ProxyHost, p.ProxyPort = a.IP.String(), a.Port
	return p
}

func TestCallKnowsWhetherAnythingWasSent(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused := closed.Addr().String()
	closed.Close()
	afterHead, _ := capture(t, "")
	garbage, _ := capture(t, "SSH-2.0-what\r\n")
	dial, ca := tlsTarget(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	conn, err := dial()
	if err != nil {
		t.Fatal(err)
	}
	encrypted := conn.RemoteAddr().String()
	conn.Close()
	for name, tc := range map[string]struct {
		base  string
		sent  bool
		broke model.Breakage
	}{
		"it hangs up after the request within TLS": {"https://" + encrypted, true, model.BreakReset},
		"nobody listens":                   {"http://" + refused, false, model.BreakConnect},
		"no such name":                     {"http://zonedeck.invalid", false, model.BreakDNS},
		"TLS to a server that speaks none": {"https://" + garbage, false, model.BreakTLS},
		"it hangs up after the request":    {"http://" + afterHead, true, model.BreakReset},
		"it answers what is not HTTP":      {"http://" + garbage, true, model.BreakMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			p := testProfile(tc.base)
			p.CA = ca
			c := newTestClient(t, p)
			_, tr, err := c.callAPI(t.Context(), apiCall{Profile: p, KeyName: "k", Key: keystore.NewSecret(testKey), Method: http.MethodPost, Path: "/x", Body: []byte("{}")})
			var ce *callError
			if !errors.As(err, &ce) {
				t.Fatalf("error %v is no callError", err)
			}
			if tr.Sent() != tc.sent || ce.Sent != tc.sent || ce.Broke != tc.broke {
				t.Errorf("sent %v, broke %q (%v); want %v, %q", tr.Sent(), ce.Broke, err, tc.sent, tc.broke)
			}
			noSecret(t, "the error", err.Error())
		})
	}
}

func TestUntrustedAPIGetsNoKeyEvenWithVerifyOff(t *testing.T) {
	dial, _ := tlsTarget(t, func(w http.ResponseWriter, _ *http.Request) {
		t.Error("the request went to an address that nobody vouches for")
		w.WriteHeader(http.StatusNoContent)
	})
	conn, err := dial()
	if err != nil {
		t.Fatal(err)
	}
	addr := conn.RemoteAddr().String()
	conn.Close()
	p := testProfile("https://" + addr)
	p.Verify = false
	res, err := newTestClient(t, p).Fetch(t.Context(), ask(p, "unlocker1"), nil)
	if err != nil {
		t.Fatal(err)
	}
	wantVerdict(t, res, model.ClassOutside, model.CauseTLSTrust)
}

func TestAPIOverTLSWithTheProfilesCA(t *testing.T) {
	dial, ca := tlsTarget(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, page) })
	conn, err := dial()
	if err != nil {
		t.Fatal(err)
	}
	p := testProfile("https://" + conn.RemoteAddr().String())
	conn.Close()
	p.CA = ca
	res, err := newTestClient(t, p).Fetch(t.Context(), ask(p, "unlocker1"), nil)
	if err != nil {
		t.Fatal(err)
	}
	wantVerdict(t, res, model.ClassOK, "")
	if res.Timing.TLS <= 0 || res.Timing.Connect < 0 || res.Timing.FirstByte < 0 || res.Timing.DNS != -1 {
		t.Errorf("timing %+v", res.Timing)
	}
}

func TestEnvironmentDoesNotReroute(t *testing.T) {
	if bareTransport().Proxy != nil {
		t.Error("the transport asks for a proxy")
	}
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	p := testProfile("http://api.test")
	c := newTestClient(t, p)
	var dialed []string
	c.wire.connect = func(_ context.Context, _, addr string) (net.Conn, error) {
		dialed = append(dialed, addr)
		return nil, io.ErrClosedPipe
	}
	r := ask(p, "unlocker1")
	r.Retries = 0
	if _, err := c.Fetch(t.Context(), r, nil); err != nil {
		t.Fatal(err)
	}
	if len(dialed) != 1 || dialed[0] != "api.test:80" {
		t.Errorf("dialed %v", dialed)
	}
}
