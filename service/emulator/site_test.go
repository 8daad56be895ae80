package emulator

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
)

func TestTheLabKnowsWhereItsVisitorsComeFrom(t *testing.T) {
	g := start(t, Options{})
	for _, c := range []struct{ login, network, country string }{
		{"datacenter_demo-country-de", "datacenter", "DE"},
		{"isp_demo-country-br", "isp", "BR"},
		{"residential_demo-country-jp", "residential", "JP"},
		{"mobile_demo-country-zw", "mobile", "ZW"},
		{"unlocker_demo-country-fr", "unlocker", "FR"},
	} {
		for _, target := range []string{"http://lab.test/mygeo.json", "https://lab.test/mygeo.json"} {
			a := g.get(g.through(c.login), target)
			geo := decode[struct {
				Country string
				ASN     struct {
					Name string `json:"org_name"`
				}
			}](t, a)
			if geo.Country != c.country || !strings.Contains(geo.ASN.Name, c.network) {
				t.Errorf("%s of %s: %s", target, c.login, a.body)
			}
		}
	}
	if a := g.do("GET", g.r.LabDirect+"/mygeo.json", "", nil); !strings.Contains(a.body, `"country":""`) && !strings.Contains(a.body, `"country": ""`) {
		t.Errorf("a visitor of the loopback address: %s", a.body)
	}
}

// tunnelled gets a page through a tunnel that nobody looks into.
func (g *rig) tunnelled(zone, path string) string {
	g.t.Helper()
	conn := connect(g.t, g.r.Proxy, loginHeader(zone, g.password(zone)), "lab.test:443", nil)
	secure := tls.Client(conn, &tls.Config{ServerName: "lab.test", RootCAs: g.ca.Pool()})
	defer secure.Close()
	noerr.Must(g.t, noerr.From(fmt.Fprintf(secure, "GET %s HTTP/1.1\r\nHost: lab.test\r\nConnection: close\r\n\r\n", path)))
	resp, err := http.ReadResponse(bufio.NewReader(secure), nil)
	noerr.Must(g.t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	noerr.Must(g.t, err)
	return string(b)
}

func TestTheShopDriftsInTunnelsTooFromItsTimeOn(t *testing.T) {
	g := start(t, Options{})
	g.fault(`{"point":"target","host":"lab.test","path":"/shop*","action":"drift","in":"1h"}`)
	const name = `class="price"`
	if got := g.tunnelled("datacenter_demo", "/shop"); !strings.Contains(got, name) {
		t.Errorf("before its time: %.300s", got)
	}
	g.control("POST", "/time", `{"advance":"61m"}`)
	if got := g.tunnelled("datacenter_demo", "/shop"); strings.Contains(got, name) || !strings.Contains(got, "Brass desk lamp") {
		t.Errorf("after it: %.300s", got)
	}
	// Rules that count are decided where requests are seen, not in the lab.
	g.control("DELETE", "/faults", nil)
	g.control("POST", "/faults", `{"point":"target","path":"/shop","action":"drift","nth":2}`)
	if got := g.tunnelled("datacenter_demo", "/shop"); !strings.Contains(got, name) {
		t.Errorf("a rule that counts: %.300s", got)
	}
	first, second := g.get(g.through("datacenter_demo"), "http://lab.test/shop"), g.get(g.through("datacenter_demo"), "http://lab.test/shop")
	if !strings.Contains(first.body, name) || strings.Contains(second.body, name) {
		t.Errorf("the second request alone: %t, %t", strings.Contains(first.body, name), strings.Contains(second.body, name))
	}
}

func TestASignatureOfTheLabOutlivesARestart(t *testing.T) {
	dir := t.TempDir()
	signedIn := func(g *rig, cookie string) (string, bool) {
		t.Helper()
		method, body := http.MethodPost, "user=lab&password=lamp"
		if cookie != "" {
			method, body = http.MethodGet, ""
		}
		req, err := http.NewRequest(method, g.r.LabDirect+"/login", strings.NewReader(body))
		noerr.Must(t, err)
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Cookie", cookie)
		resp, err := g.client.Transport.RoundTrip(req)
		noerr.Must(t, err)
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		noerr.Must(t, err)
		for _, c := range resp.Cookies() {
			cookie = c.Name + "=" + c.Value
		}
		return cookie, strings.Contains(string(b), "You are signed in")
	}
	g := start(t, Options{StateDir: dir})
	cookie, _ := signedIn(g, "")
	if _, ok := signedIn(g, cookie); !ok {
		t.Fatalf("not signed in with %q", cookie)
	}
	noerr.Must(t, g.Shutdown(t.Context()))
	if _, ok := signedIn(start(t, Options{StateDir: dir}), cookie); !ok {
		t.Error("the next start does not know its own signature")
	}
	if _, ok := signedIn(start(t, Options{}), cookie); ok {
		t.Error("another emulator knows the signature")
	}
}
