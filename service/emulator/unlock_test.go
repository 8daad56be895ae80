package emulator

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/service/emulator/scenario"
)

func TestTheUnlockerWorksByNativeAccessToo(t *testing.T) {
	s := scenario.Demo()
	s.Zones = append(s.Zones, scenario.Zone{Name: "verified", Product: "unlocker", IdentityVerified: true})
	g := start(t, Options{Scenario: s})
	for _, scheme := range []string{"http", "https"} { // plain, and re-signed
		for _, path := range []string{"/forbidden", "/captcha", "/too-fast"} {
			if a := g.get(g.through("unlocker_demo"), scheme+"://lab.test"+path); a.status != 200 || !strings.Contains(a.body, "the page behind the block") {
				t.Errorf("%s by %s: %+v", path, scheme, a)
			}
		}
		for path, want := range map[string]struct {
			status int
			code   string
		}{
			"/forbidden?hard=1": {502, "reject_block"},
			"/captcha?hard=1":   {502, "resolve_failed_captcha"},
			"/too-fast?hard=1":  {429, "sr_rate_limit"},
		} {
			before := g.used("unlocker_demo").Billable
			a := g.get(g.through("unlocker_demo"), scheme+"://lab.test"+path)
			if a.status != want.status || a.header.Get("x-brd-error-code") != want.code || !strings.Contains(a.header.Get("Proxy-Status"), want.code) {
				t.Errorf("%s by %s: %+v", path, scheme, a)
			}
			if after := g.used("unlocker_demo").Billable; after != before {
				t.Errorf("%s by %s was billed", path, scheme)
			}
		}
	}
	// A zone with the identity check is tunnelled: what the service does not see it cannot unlock.
	if a := g.get(g.through("verified"), "https://lab.test/forbidden"); a.status != 403 {
		t.Errorf("a tunnelled zone: %+v", a)
	}
	// Redirects are the client's.
	c := g.through("unlocker_demo")
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if a := g.get(c, "http://lab.test/redirect?to=/ok&n=1"); a.status/100 != 3 || a.header.Get("Location") == "" {
		t.Errorf("a redirect: %+v", a)
	}
}

func TestTheServicesHeadersByNativeAccess(t *testing.T) {
	g := start(t, Options{})
	ask := func(target string, header ...string) reply {
		t.Helper()
		req, err := http.NewRequest(http.MethodGet, target, nil)
		noerr.Must(t, err)
		for i := 0; i < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		return g.roundTrip(g.through("unlocker_demo"), req)
	}
	if a := ask("https://lab.test/ok", "x-unblock-data-format", "markdown"); !strings.HasPrefix(a.body, "# It works") {
		t.Errorf("%+v", a)
	}
	if a := ask("http://lab.test/ok", "x-unblock-expect", `{"text":"It works"}`); a.status != 200 {
		t.Errorf("%+v", a)
	}
	if a := ask("http://lab.test/ok", "x-unblock-colour", "red"); a.status != 400 || !strings.Contains(a.header.Get("x-brd-err-msg"), "x-unblock-colour") {
		t.Errorf("%+v", a)
	}
	if a := ask("http://lab.test/whoami", "x-unblock-city", "reno", "X-Mine", "yes"); strings.Contains(strings.ToLower(a.body), "unblock") || !strings.Contains(a.body, "X-Mine") {
		t.Errorf("what the target saw: %s", a.body)
	}
	if a := ask("http://lab.test/search?q=lamp&brd_json=1"); !strings.Contains(a.body, `"organic"`) || !strings.HasPrefix(a.header.Get("Content-Type"), "application/json") {
		t.Errorf("%+v", a)
	}
	// A body is sent again behind a challenge.
	req, err := http.NewRequest(http.MethodPost, "http://lab.test/captcha", strings.NewReader("a=1"))
	noerr.Must(t, err)
	if a := g.roundTrip(g.through("unlocker_demo"), req); !strings.Contains(a.body, "the page behind the block") {
		t.Errorf("POST: %+v", a)
	}
}

func TestTheUnlockerRendersWhereTheLoginSaysSo(t *testing.T) {
	t.Parallel() // Chromium waits more than it works
	needChromium(t)
	g := start(t, Options{})
	for _, scheme := range []string{"http", "https"} {
		if a := g.get(g.through("unlocker_demo"), scheme+"://lab.test/js"); a.status != 200 || strings.Contains(a.body, "Brass desk lamp") {
			t.Errorf("as the target sends it by %s: %+v", scheme, a)
		}
		if a := g.get(g.through("unlocker_demo-render"), scheme+"://lab.test/js"); a.status != 200 || !strings.Contains(a.body, "Brass desk lamp") {
			t.Errorf("rendered by %s: %+v", scheme, a)
		}
	}
}

// roundTrip sends a request and reads its answer.
func (g *rig) roundTrip(c *http.Client, req *http.Request) reply {
	g.t.Helper()
	resp, err := c.Do(req)
	noerr.Must(g.t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	noerr.Must(g.t, err)
	return reply{resp.StatusCode, resp.Header, string(b)}
}
