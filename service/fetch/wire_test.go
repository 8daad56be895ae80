package fetch

import (
	"context"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/service/exchange"
	"zonedeck/service/servicetest"

	"zonedeck/keystore"
	"zonedeck/model"
)

const plainOK = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\nfine"

func TestPreviewByAPIIsWhatIsWritten(t *testing.T) {
	addr, got := servicetest.Capture(t, plainOK)
	for name, change := range map[string]func(*model.Profile, *model.FetchRequest){
		"the contract alone": func(p *model.Profile, _ *model.FetchRequest) { p.Dialect = "documented" },
		"everything the dialect sends": func(_ *model.Profile, r *model.FetchRequest) {
			r.Format, r.Method, r.Country = model.FormatJSON, "POST", "de"
			r.Header = http.Header{"Accept-Language": {"de", "en"}, "X-A": {"<&>"}}
			r.Body = "line one\nline \"two\" ä"
		},
		"an address with a query, and a base URL with a path": func(p *model.Profile, r *model.FetchRequest) {
			p.BaseURL += "/gateway/"
			r.URL = "https://lab.test/search?q=a&b=<c>#d"
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := servicetest.Profile("http://" + addr)
			r := askFor(p, "unlocker1")
			change(&p, &r)
			c := newFetcher(t, p)
			w := c.Preview(p, r, keystore.NewSecret(servicetest.KeyValue).Last4())
			if w.Problem != "" {
				t.Fatal(w.Problem)
			}
			res := fetched(t, c, r)
			if res.Exit != "" || res.ServiceStatus != 200 {
				t.Errorf("result %+v", res)
			}
			raw := <-got
			written := strings.Replace(raw, servicetest.KeyValue, "••••"+servicetest.KeyValue[len(servicetest.KeyValue)-4:], 1)
			if shown := rejoin(w.Lines); shown != written {
				t.Errorf("shown:\n%q\nwritten:\n%q", shown, written)
			}
			servicetest.NoSecret(t, "the preview", strings.Join(w.Lines, "\n"))
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
	secret := base64.StdEncoding.EncodeToString([]byte(login + ":" + servicetest.Password))
	shown := "base64(" + login + ":••••)"
	request := func(p model.Profile, url string) model.FetchRequest {
		r := askFor(p, "dc1")
		r.Via, r.URL, r.Country, r.Session = model.ViaNative, url, "de", "a1"
		r.Method, r.Body, r.Header = "put", "x=1\ny=2", http.Header{"X-A": {"1"}, "Host": {"other.test"}}
		return r
	}
	t.Run("a plain http target in absolute form", func(t *testing.T) {
		addr, got := servicetest.Capture(t, plainOK)
		p := proxyAt(t, addr)
		c := newFetcher(t, p)
		r := request(p, "http://lab.test/ok?a=1#frag")
		noerr.Must(t, noerr.From(c.Fetch(t.Context(), r, nil)))
		want := strings.Replace(<-got, secret, shown, 1)
		w := c.Preview(p, r, "")
		if have := rejoin(w.Lines); have != want || w.Problem != "" {
			t.Errorf("shown:\n%q\nwritten:\n%q\n%s", have, want, w.Problem)
		}
	})
	t.Run("an https target by CONNECT", func(t *testing.T) {
		addr, got := servicetest.Capture(t, "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
		p := proxyAt(t, addr)
		c := newFetcher(t, p)
		r := request(p, "https://lab.test/ok")
		noerr.Must(t, noerr.From(c.Fetch(t.Context(), r, nil)))
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

func proxyAt(t *testing.T, addr string) model.Profile {
	t.Helper()
	a, err := net.ResolveTCPAddr("tcp", addr)
	noerr.Must(t, err)
	p := servicetest.Profile("http://127.0.0.1:1")
	p.ProxyHost, p.ProxyPort = a.IP.String(), a.Port
	return p
}

func TestUntrustedAPIGetsNoKeyEvenWithVerifyOff(t *testing.T) {
	dial, _ := servicetest.TLSTarget(t, func(w http.ResponseWriter, _ *http.Request) {
		t.Error("the request went to an address that no certificate vouches for")
		w.WriteHeader(http.StatusNoContent)
	})
	conn, err := dial()
	noerr.Must(t, err)
	addr := conn.RemoteAddr().String()
	conn.Close()
	p := servicetest.Profile("https://" + addr)
	p.Verify = false
	res := fetched(t, newFetcher(t, p), askFor(p, "unlocker1"))
	wantVerdict(t, res, model.ClassOutside, model.CauseTLSTrust)
}

func TestAPIOverTLSWithTheProfilesCA(t *testing.T) {
	dial, ca := servicetest.TLSTarget(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, servicetest.Page) })
	conn, err := dial()
	noerr.Must(t, err)
	p := servicetest.Profile("https://" + conn.RemoteAddr().String())
	conn.Close()
	p.CA = ca
	res := fetched(t, newFetcher(t, p), askFor(p, "unlocker1"))
	wantVerdict(t, res, model.ClassOK, "")
	if res.Timing.TLS <= 0 || res.Timing.Connect < 0 || res.Timing.FirstByte < 0 || res.Timing.DNS != -1 {
		t.Errorf("timing %+v", res.Timing)
	}
}

func TestEnvironmentDoesNotReroute(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	p := servicetest.Profile("http://api.test")
	var dialed []string
	c := newFetcher(t, p, func(c *Config) {
		c.Wire = exchange.New(exchange.Config{Connect: func(_ context.Context, _, addr string) (net.Conn, error) {
			dialed = append(dialed, addr)
			return nil, io.ErrClosedPipe
		}})
	})
	r := askFor(p, "unlocker1")
	r.Retries = 0
	noerr.Must(t, noerr.From(c.Fetch(t.Context(), r, nil)))
	if len(dialed) != 1 || dialed[0] != "api.test:80" {
		t.Errorf("dialed %v", dialed)
	}
}
