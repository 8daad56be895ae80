package emulator

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
)

// raw sends bytes and gives the answer's status.
func raw(t *testing.T, addr, text string) int {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

func TestANameThatAPageMadeResolveToLoopbackIsNotServed(t *testing.T) {
	g := start(t, Options{})
	for host, served := range map[string]bool{
		"127.0.0.1": true, "127.0.0.1:80": true, "localhost": true, "localhost:80": true, "[::1]:80": true, "[::1]": true,
		"rebound.example": false, "rebound.example:80": false, "localhost.example": false, "10.0.0.1": false, "127.0.0.1.example": false,
	} {
		for _, e := range []struct{ addr, path, token string }{
			{g.r.API, "/datasets/list", g.key("batch-user")},
			{g.r.Control, "/keys", g.r.ControlToken},
		} {
			got := raw(t, strings.TrimPrefix(e.addr, "http://"),
				fmt.Sprintf("GET %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nConnection: close\r\n\r\n", e.path, host, e.token))
			if want := map[bool]int{true: 200, false: 421}[served]; got != want {
				t.Errorf("%s of host %s: %d, want %d", e.path, host, got, want)
			}
		}
	}
}

func TestNothingIsAnsweredWithoutALogin(t *testing.T) {
	g := start(t, Options{})
	for _, request := range []string{
		"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET http://lab.test/ HTTP/1.0\r\n\r\n",
		"CONNECT lab.test:443 HTTP/1.1\r\nHost: lab.test:443\r\nProxy-Authorization: Bearer x\r\n\r\n",
		"TRACE http://lab.test/ HTTP/1.1\r\nHost: lab.test\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	} {
		if got := raw(t, g.r.Proxy, request); got != http.StatusProxyAuthRequired {
			t.Errorf("%q: %d", request, got)
		}
	}
}

// TestAPageOfAnotherSiteIsNotServed: a browser lets every page open WebSockets to this
// machine, and sends some requests without asking.
func TestAPageOfAnotherSiteIsNotServed(t *testing.T) {
	g := start(t, Options{})
	for origin, served := range map[string]bool{
		"http://localhost:3000": true, "https://127.0.0.1": true, "http://[::1]:80": true, "devtools://devtools": true,
		"http://evil.example": false, "https://127.0.0.1.example": false, "null": false, "http://localhost.example": false,
	} {
		for where, request := range map[string]string{
			g.r.API:     "GET /datasets/list HTTP/1.1\r\nAuthorization: Bearer " + g.key("batch-user"),
			g.r.Control: "GET /keys HTTP/1.1\r\nAuthorization: Bearer " + g.r.ControlToken,
			g.r.CDP:     "GET /json/list HTTP/1.1\r\nAuthorization: " + loginHeader("browser_demo", g.password("browser_demo")),
		} {
			_, addr, _ := strings.Cut(where, "://")
			got := raw(t, addr, request+"\r\nHost: 127.0.0.1\r\nOrigin: "+origin+"\r\nConnection: close\r\n\r\n")
			if want := map[bool]int{true: 200, false: 403}[served]; got != want {
				t.Errorf("%s for a page of %s: %d, want %d", where, origin, got, want)
			}
		}
	}
}
