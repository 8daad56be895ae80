package export

import (
	"net/http"
	"strings"
	"testing"

	"zonedeck/model"
	"zonedeck/service/profile"
)

func TestALoginNamesTheCAWhereItsZoneNeedsIt(t *testing.T) {
	p := profile.Profile{ProxyHost: "proxy.test", ProxyPort: 33335, CA: "/ca.pem", Verify: true}
	need := model.Zone{Product: model.ProductUnlocker}
	if !need.NeedsCA() || (model.Zone{Product: model.ProductDatacenter}).NeedsCA() {
		t.Fatal("the zones of this test are the wrong ones")
	}
	if got, want := LoginOf(p, need, "u"), (Login{Host: "proxy.test", Port: 33335, Username: "u", CA: "/ca.pem"}); got != want {
		t.Errorf("%+v", got)
	}
	p.Verify = false
	if got, want := LoginOf(p, model.Zone{Product: model.ProductDatacenter}, "u"), (Login{Host: "proxy.test", Port: 33335, Username: "u", Insecure: true}); got != want {
		t.Errorf("%+v", got)
	}
}

func TestTheCommandTrustsAsTheProfileDoes(t *testing.T) {
	l := Login{Host: "proxy.test", Port: 33335, Username: "u", Password: "p"}
	with := func(change func(*Login)) string {
		l := l
		change(&l)
		return l.Curl()
	}
	const begin = `printf 'Proxy-Authorization: Basic %s\n' "$(printf '%s:%s' 'u' 'p' | base64 | tr -d '\n')" | curl --proxy-header @- --proxy 'http://proxy.test:33335'`
	for want, got := range map[string]string{
		begin + ` 'https://example.com/'`:                         l.Curl(),
		begin + ` 'http://lab.test/'`:                             with(func(l *Login) { l.Target = "http://lab.test/" }),
		begin + ` --cacert '/it'\''s.pem' 'https://example.com/'`: with(func(l *Login) { l.CA = "/it's.pem" }),
		begin + ` --insecure 'https://example.com/'`:              with(func(l *Login) { l.CA, l.Insecure = "/ca.pem", true }),
	} {
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestAPasswordIsWrittenOnlyWhereItWasAskedFor(t *testing.T) {
	l := Login{Host: "proxy.test", Port: 33335, Username: "u$"}
	if got := l.URL(); got != "http://u%24:${"+PasswordEnv+"}@proxy.test:33335" {
		t.Error(got)
	}
	if got := l.Env(); !strings.HasPrefix(got, "# "+PasswordEnv+" must be") || strings.Contains(got, "SSL_CERT_FILE") {
		t.Error(got)
	}
	l.Password, l.CA = "p'/", "/ca.pem"
	if got := l.URL(); got != "http://u$:p%27%2F@proxy.test:33335" {
		t.Error(got)
	}
	want := "export HTTP_PROXY='" + l.URL() + "'\n"
	if got := l.Env(); !strings.HasPrefix(got, want) || strings.Contains(got, PasswordEnv) || strings.Count(got, "'/ca.pem'") != 3 {
		t.Error(got)
	}
	l.Insecure = true
	if got := l.Env(); strings.Contains(got, "/ca.pem") {
		t.Errorf("it trusts everybody and names a CA:\n%s", got)
	}
}

func TestAFetchThroughTheProxyIsCopiedAsItIs(t *testing.T) {
	p := profile.Profile{ProxyHost: "proxy.test", ProxyPort: 33335, UsernamePrefix: "brd", Account: "hl_demo01", Verify: true, CA: "/ca.pem"}
	r := model.FetchRequest{Via: model.ViaNative, URL: "http://lab.test/", Zone: model.Zone{Name: "z", Password: "env:MY_PASS"}}
	const begin = `printf 'Proxy-Authorization: Basic %s\n' "$(printf '%s:%s' 'brd-customer-hl_demo01-zone-z' "$MY_PASS" | base64 | tr -d '\n')" | curl --proxy-header @- --proxy 'http://proxy.test:33335'`
	for name, c := range map[string]struct {
		change func(*profile.Profile, *model.FetchRequest)
		rest   string
	}{
		"the least":   {func(p *profile.Profile, _ *model.FetchRequest) { p.CA = "" }, ""},
		"with a CA":   {func(_ *profile.Profile, r *model.FetchRequest) { r.Zone.Product = model.ProductUnlocker }, " --cacert '/ca.pem'"},
		"unchecked":   {func(p *profile.Profile, _ *model.FetchRequest) { p.Verify = false }, " --insecure"},
		"GET, spelt":  {func(p *profile.Profile, r *model.FetchRequest) { p.CA, r.Method = "", http.MethodGet }, ""},
		"PUT":         {func(p *profile.Profile, r *model.FetchRequest) { p.CA, r.Method = "", http.MethodPut }, "-X 'PUT'"},
		"with a body": {func(p *profile.Profile, r *model.FetchRequest) { p.CA, r.Body = "", "x" }, "--data-raw 'x'"},
		"with headers": {func(p *profile.Profile, r *model.FetchRequest) {
			p.CA, r.Header = "", http.Header{"B": {"2"}, "A": {"1", "0"}, "C": {""}}
		}, "-H 'A: 1' \\\n  -H 'A: 0' \\\n  -H 'B: 2' \\\n  -H 'C;'"},
	} {
		p, r := p, r
		c.change(&p, &r)
		got, err := RequestCurl(p, r, model.WirePreview{}, "")
		login, rest := "", c.rest // --cacert and --insecure belong to the login's line
		if strings.HasPrefix(rest, " ") {
			login, rest = rest, ""
		}
		if rest != "" {
			rest = " \\\n  " + rest
		}
		if want := begin + login + " \\\n  -sS" + rest + " \\\n  'http://lab.test/'"; err != nil || got != want {
			t.Errorf("%s: %v\ngot  %s\nwant %s", name, err, got, want)
		}
	}
	p.Account = ""
	if got, err := RequestCurl(p, r, model.WirePreview{}, ""); err == nil || got != "" {
		t.Errorf("without an account: %q, %v", got, err)
	}
}

func TestTheVariableOfAReferenceIsItsOwn(t *testing.T) {
	for ref, want := range map[string]string{"env:A": "A", "env:": "DEF", "keyring:a/b": "DEF", "": "DEF"} {
		if got := envName(ref, "DEF"); got != want {
			t.Errorf("%q: %s, want %s", ref, got, want)
		}
	}
}

func TestABodyBeginsAfterTheFirstEmptyLine(t *testing.T) {
	for want, lines := range map[string][]string{"a\n\nb": {"POST / HTTP/1.1", "", "a", "", "b"}, "x": {"", "x"}} {
		if got, err := wireBody(model.WirePreview{Lines: lines}); err != nil || got != want {
			t.Errorf("%q: %q, %v", lines, got, err)
		}
	}
}
