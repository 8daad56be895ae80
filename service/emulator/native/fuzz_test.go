package native

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/exits"
	"zonedeck/service/emulator/route"
	"zonedeck/service/emulator/scenario"
	"zonedeck/service/emulator/state"
)

func FuzzProxyAuth(f *testing.F) {
	f.Add("Basic Og==")
	f.Add("Basic " + base64.StdEncoding.EncodeToString([]byte("brd-customer-hl_demo01-zone-isp_demo-country-us:x:y")))
	f.Add("basic  x")
	dir, err := state.Open("", time.Now)
	noerr.Must(f, err)
	f.Cleanup(func() { _ = dir.Close() })
	acc, err := account.Open(&scenario.Scenario{Account: "hl_demo01", Prefix: "brd", Zones: []scenario.Zone{{Name: "isp_demo", Product: "isp", Password: "pw"}}}, dir, time.Now, time.Now())
	noerr.Must(f, err)
	p := &Proxy{conf: Config{Account: acc, Route: route.Router{Pool: exits.NewPool(time.Now)}}}
	f.Fuzz(func(t *testing.T, h string) {
		c, ok := proxyAuth(h)
		if !ok {
			return
		}
		l, refused := p.login(c)
		if refused != nil {
			if refused.Status < 400 || refused.Code == "" {
				t.Fatalf("refused with %+v", refused)
			}
			return
		}
		if c.password != "pw" || l.zone.Name != "isp_demo" || !strings.Contains(c.user, "hl_demo01") {
			t.Fatalf("%q was let in", h)
		}
	})
}

// FuzzProxyRequest: whatever stands on the wire, the proxy answers in HTTP or not at all,
// and without a login it does nothing but hand out its root certificate.
func FuzzProxyRequest(f *testing.F) {
	g := newRig(f, rigOptions{target: http.NotFoundHandler(), headers: time.Second})
	auth := "Proxy-Authorization: " + basic("isp") + "\r\n"
	for _, s := range []string{
		"GET http://lab.test/ HTTP/1.1\r\nHost: lab.test\r\n\r\n",
		"GET http://lab.test/ HTTP/1.1\r\nHost: lab.test\r\n" + auth + "\r\n",
		"CONNECT lab.test:443 HTTP/1.1\r\nHost: lab.test:443\r\n" + auth + "\r\n\x16\x03\x01",
		"CONNECT :443 HTTP/1.1\r\nHost: x\r\n" + auth + "\r\n",
		"CONNECT [::1]:443 HTTP/1.1\r\nHost: x\r\n" + auth + "\r\n",
		"POST http://lab.test/ HTTP/1.1\r\nHost: lab.test\r\nTransfer-Encoding: chunked\r\n" + auth + "\r\n5\r\nhello\r\n0\r\nX: y\r\n\r\n",
		"GET /ca.pem HTTP/1.0\r\n\r\n", "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\x05\x01\x00", "\x16\x03\x01\x00\x05",
		"GET http://lab.test:99999/ HTTP/1.1\r\nHost: lab.test\r\nUpgrade: x\r\nConnection: upgrade\r\n" + auth + "\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := net.Dial("tcp", g.addr)
		noerr.Must(t, err)
		defer c.Close()
		noerr.Must(t, c.SetDeadline(time.Now().Add(time.Minute)))
		if _, err := c.Write(b); err == nil {
			_ = c.(*net.TCPConn).CloseWrite() // the proxy may have hung up already
		}
		got, err := io.ReadAll(io.LimitReader(c, 1<<20))
		if errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("the connection stays open after %q", got)
		}
		if len(got) == 0 {
			return
		}
		resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(got)), nil)
		if err != nil {
			t.Fatalf("answered %q: %v", got, err)
		}
		if bytes.Contains(b, []byte("roxy-")) || bytes.Contains(b, []byte(CAPath)) || bytes.Contains(bytes.ToLower(b), []byte("expect")) {
			return
		}
		if resp.StatusCode < 400 {
			t.Fatalf("%q without a login: %s", b, resp.Status)
		}
	})
}
