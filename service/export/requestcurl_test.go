package export

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"zonedeck/model"
	"zonedeck/service/profile"
)

// run gives a copied command to a shell, with the secrets in the environment.
func run(t *testing.T, script string, env ...string) string {
	t.Helper()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed: install curl to run this test")
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Env = append([]string{"PATH=/usr/local/bin:/usr/bin:/bin", "NO_PROXY="}, env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, script, out)
	}
	return string(out)
}

func TestTheCopiedCommandSendsTheSameBytesByAPI(t *testing.T) {
	body := `{"zone":"z","url":"http://lab.test/it's?q=\"x\"","format":"raw"}`
	var got struct{ method, path, auth, kind, body string }
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got.method, got.path, got.auth, got.kind, got.body = r.Method, r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("Content-Type"), string(b)
		_, _ = io.WriteString(w, "ok")
	}))
	defer srv.Close()
	p := profile.Profile{BaseURL: srv.URL}
	wire := model.WirePreview{Lines: []string{"POST /request HTTP/1.1", "Authorization: Bearer ••••f2a1", "", body}}
	script, err := RequestCurl(p, model.FetchRequest{Via: model.ViaAPI}, wire, "env:MY_KEY")
	if err != nil {
		t.Fatal(err)
	}
	if out := run(t, script, "MY_KEY=s3cret-value"); out != "ok" {
		t.Errorf("curl says %q", out)
	}
	if got.method != "POST" || got.path != "/request" || got.auth != "Bearer s3cret-value" || got.kind != "application/json" || got.body != body {
		t.Errorf("the server saw %+v", got)
	}
	if strings.Contains(script, "s3cret") {
		t.Errorf("the secret stands in the command:\n%s", script)
	}
}

func TestARequestThatCannotBeSentIsNotCopied(t *testing.T) {
	for want, wire := range map[string]model.WirePreview{
		"it cannot be sent as it stands: no zone": {Problem: "no zone", Lines: []string{"POST /request HTTP/1.1", "", "{}"}},
		"the request has no body to copy":         {Lines: []string{"POST /request HTTP/1.1"}},
	} {
		script, err := RequestCurl(profile.Profile{BaseURL: "http://lab.test"}, model.FetchRequest{Via: model.ViaAPI}, wire, "env:MY_KEY")
		if script != "" || err == nil || err.Error() != want {
			t.Errorf("%q, %v; want %s", script, err, want)
		}
	}
}

func TestTheCopiedCommandLogsInAtTheProxy(t *testing.T) {
	var user, pass, target, method, body, header string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Authorization", r.Header.Get("Proxy-Authorization"))
		user, pass, _ = r.BasicAuth()
		b, _ := io.ReadAll(r.Body)
		target, method, body, header = r.URL.String(), r.Method, string(b), r.Header.Get("X-It")
		_, _ = io.WriteString(w, "ok")
	}))
	defer srv.Close()
	u, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, _ := strconv.Atoi(u.Port())
	p := profile.Profile{ProxyHost: u.Hostname(), ProxyPort: port, UsernamePrefix: "brd", Account: "hl_demo01", Verify: true}
	r := model.FetchRequest{
		Via: model.ViaNative, URL: "http://lab.test/ok?a='b'", Zone: model.Zone{Name: "unlocker_demo"}, Country: "de", Session: "a1",
		Method: "POST", Body: "it's", Header: http.Header{"X-It": {"it's 100%"}},
	}
	script, err := RequestCurl(p, r, model.WirePreview{}, "")
	if err != nil {
		t.Fatal(err)
	}
	const password = `p"a\s's $w&rd%`
	if out := run(t, script, "ZONEDECK_ZONE_PASSWORD="+password); out != "ok" {
		t.Errorf("curl says %q", out)
	}
	if user != "brd-customer-hl_demo01-zone-unlocker_demo-country-de-session-a1" || pass != password {
		t.Errorf("login %q %q", user, pass)
	}
	if target != r.URL || method != "POST" || body != "it's" || header != "it's 100%" {
		t.Errorf("request %s %s %q %q", method, target, body, header)
	}
}

func TestTheCopiedCommandForHEADEnds(t *testing.T) {
	var method string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		method = r.Method
		w.Header().Set("Content-Length", "100")
	}))
	defer srv.Close()
	u, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, _ := strconv.Atoi(u.Port())
	p := profile.Profile{ProxyHost: u.Hostname(), ProxyPort: port, UsernamePrefix: "brd", Account: "hl_demo01", Verify: true}
	script, err := RequestCurl(p, model.FetchRequest{Via: model.ViaNative, URL: "http://lab.test/", Zone: model.Zone{Name: "z"}, Method: "head"}, model.WirePreview{}, "")
	if err != nil {
		t.Fatal(err)
	}
	if out := run(t, script+" --max-time 10"); method != http.MethodHead || !strings.HasPrefix(out, "HTTP/1.1 200") {
		t.Errorf("%s gave %q", method, out)
	}
}

func TestTheCAIsNamedOnlyWhereTargetsNeedIt(t *testing.T) {
	external := profile.Profile{ProxyHost: "proxy.example.com", ProxyPort: 33335, UsernamePrefix: "brd", Account: "hl_demo01", Verify: true, CA: "/ca.pem"}
	local, open := external, external
	local.Local, open.Verify = true, false
	for name, c := range map[string]struct {
		p            profile.Profile
		product      model.Product
		ca, insecure bool
	}{
		"a zone that needs it":     {external, model.ProductUnlocker, true, false},
		"a zone without the need":  {external, model.ProductDatacenter, false, false},
		"the emulator's own sites": {local, model.ProductDatacenter, true, false},
		"checks are off":           {open, model.ProductUnlocker, false, true},
	} {
		z := model.Zone{Name: "z", Product: c.product}
		script, err := RequestCurl(c.p, model.FetchRequest{Via: model.ViaNative, URL: "https://example.com/", Zone: z}, model.WirePreview{}, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{script, LoginOf(c.p, z, "user").Curl()} {
			if strings.Contains(text, " --cacert '/ca.pem' ") != c.ca || strings.Contains(text, "--insecure") != c.insecure {
				t.Errorf("%s: %s", name, text)
			}
		}
	}
}

func TestACopyWithADemoValueSaysWhereTheValueIs(t *testing.T) {
	wire := model.WirePreview{Lines: []string{"POST /request HTTP/1.1", "", "{}"}}
	for ref, want := range map[string]string{
		"demo:key/batch-user": "# ZONEDECK_API_KEY is the demo account's value of key batch-user, in the file that 'zonedeck paths' calls emulator_running\n",
		"env:ACME_KEY":        "printf ",
	} {
		got, err := RequestCurl(profile.Profile{BaseURL: "http://lab.test"}, model.FetchRequest{Via: model.ViaAPI}, wire, ref)
		if err != nil || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, %v", ref, got, err)
		}
	}
}
