package emulator

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"zonedeck/service/emulator/exits"
	"zonedeck/service/emulator/jobs"
)

func FuzzRequestBody(f *testing.F) {
	for _, s := range []string{
		`{"zone":"isp_demo","url":"http://lab.test/ok","format":"raw"}`,
		`{"zone":"z","url":"https://u:p@h:1/?q#f","format":"json","headers":{"A":"b"},"body":{"a":[1]},"country":"us","direct":true}`,
		`{"zone":1}`, `[]`, `null`, `{"url":"http://[::1"}`, `{"headers":{"\n":"x"}}`, "\x00",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := parseCall(b)
		var bad *invalid
		if err != nil {
			if !errors.As(err, &bad) || len(bad.details) == 0 {
				t.Fatalf("an error that names nothing: %v", err)
			}
			return
		}
		if c.zone == "" || c.url == nil || c.url.Hostname() == "" || (c.format != "raw" && c.format != "json") || c.method == "" {
			t.Fatalf("accepted %+v", c)
		}
		// What is accepted can be put on the wire.
		if _, err := http.NewRequest(c.method, c.url.String(), bytes.NewReader(c.body)); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzTriggerBody(f *testing.F) {
	for _, s := range []string{`[{"url":"http://lab.test/"}]`, `{"input":[{"url":"http://lab.test/"}],"limit_per_input":2}`, `[{}]`, `{`, `[1]`, `{"input":{}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var spec jobs.Spec
		err := parseTrigger(b, &spec)
		if (err == nil) != (len(spec.URLs) > 0) && err == nil {
			t.Fatal("accepted without inputs")
		}
		if err != nil {
			if _, merr := json.Marshal(err); merr != nil {
				t.Fatal(merr)
			}
		}
	})
}

func FuzzJSONString(f *testing.F) {
	f.Add([]byte("plain \"quoted\" \\ \n\r\t\x00\x7f\u2028é"), 3)
	f.Add([]byte{0xff, 0xc3, 0x28, 0xe2, 0x82}, 1)
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		var out bytes.Buffer
		out.WriteByte('"')
		e := &stringEncoder{w: bufio.NewWriter(&out)}
		cut = min(max(cut, 0), len(b))
		for _, part := range [][]byte{b[:cut], b[cut:]} {
			if n, err := e.Write(part); n != len(part) || err != nil {
				t.Fatal(n, err)
			}
		}
		if err := e.end(); err != nil {
			t.Fatal(err)
		}
		out.WriteByte('"')
		var got string
		if err := json.Unmarshal(out.Bytes(), &got); err != nil {
			t.Fatalf("%v: %q", err, out.Bytes())
		}
		if want := string([]rune(string(b))); got != want || !utf8.ValidString(got) {
			t.Fatalf("%q became %q", want, got)
		}
	})
}

// FuzzProxyRequest sends any bytes to a proxy whose dialer has no DNS; each request
// must end with an answer or a close, in time.
func FuzzProxyRequest(f *testing.F) {
	g := start(f, Options{})
	g.dialer.UseResolver(&net.Resolver{PreferGo: true, Dial: noDNS})
	auth := loginHeader("datacenter_demo", g.password("datacenter_demo"))
	srv := g.newHTTP(http.HandlerFunc(g.serveProxy))
	for _, s := range []string{
		"GET http://lab.test/ok HTTP/1.1\r\nHost: lab.test\r\nConnection: close\r\nProxy-Authorization: " + auth + "\r\n\r\n",
		"CONNECT lab.test:80 HTTP/1.1\r\nHost: lab.test:80\r\nProxy-Authorization: " + auth + "\r\n\r\nGET / HTTP/1.0\r\n\r\n",
		"CONNECT  HTTP/1.1\r\n\r\n", "GET / HTTP/1.0\r\n\r\n", "\x16\x03\x01", "CONNECT a:99999 HTTP/1.1\r\nHost: a\r\nProxy-Authorization: " + auth + "\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: x\r\nProxy-Authorization: " + auth + "\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		near, far := net.Pipe()
		ln := newHandover()
		ended := make(chan struct{})
		go func() { defer close(ended); _ = srv.Serve(ln) }()
		ln.give(far)
		deadline := time.Now().Add(5 * time.Second)
		if err := near.SetDeadline(deadline); err != nil {
			t.Fatal(err)
		}
		go func() {
			_, _ = near.Write(b)
			_, _ = io.WriteString(near, "\r\n\r\n")
		}()
		buf := make([]byte, 12)
		if n, err := io.ReadFull(near, buf); err == nil && !bytes.HasPrefix(buf, []byte("HTTP/1.")) {
			t.Errorf("answered %q (%d)", buf, n)
		} else if time.Now().After(deadline) && bytes.Contains(b, []byte("\r\n\r\n")) {
			t.Errorf("no answer to %q", b)
		}
		near.Close()
		ln.Close()
		<-ended
	})
}

func FuzzProxyAuth(f *testing.F) {
	f.Add("Basic Og==")
	f.Add(loginHeader("isp_demo-country-us", "x:y"))
	f.Add("basic  x")
	s := &Server{
		pool:    exits.NewPool(time.Now),
		account: &account{prefix: "brd", id: "hl_demo01", zones: []Zone{{Name: "isp_demo", Product: "isp", Password: "pw"}}},
	}
	f.Fuzz(func(t *testing.T, h string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Proxy-Authorization", h)
		l, refused := s.login(r)
		if refused != nil {
			if refused.status < 400 || refused.code == "" || headerText(refused.code) != refused.code {
				t.Fatalf("refused with %+v", refused)
			}
			return
		}
		user, password, _ := proxyAuth(h)
		if password != "pw" || !strings.HasPrefix(user, "brd-customer-hl_demo01-zone-isp_demo") || !l.exit.Addr.IsValid() {
			t.Fatalf("%q was let in", h)
		}
	})
}
