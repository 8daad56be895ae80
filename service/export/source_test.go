package export_test

import (
	"flag"
	"go/format"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/export"
)

var update = flag.Bool("update", false, "write testdata anew")

// source is a fetch with a part of everything.
func source(via model.Via) export.Source {
	return export.Source{
		Profile: model.Profile{
			BaseURL: "https://api.test", ProxyHost: "proxy.test", ProxyPort: 33335, UsernamePrefix: "brd", Account: "hl_demo01",
			Dialect: "brightdata", CA: "/etc/service ca.pem", Verify: true,
		},
		Request: model.FetchRequest{
			Via: via, Zone: model.Zone{Name: "unlocker_demo", Product: model.ProductUnlocker, Password: "keyring:zonedeck/unlocker"},
			URL: `https://shop.test/find?q=it's&x="é"`, Method: "POST", Header: http.Header{"X-It": {"it's 100%", "two"}, "Content-Type": {"application/json"}},
			Body: `{"name":"it's é"}`, Country: "de",
		},
		Key: "env:ACME_KEY",
	}
}

// What each target is given, to be read.
func TestTheCodeOfEachTarget(t *testing.T) {
	for _, via := range []model.Via{model.ViaNative, model.ViaAPI} {
		for _, target := range export.Targets() {
			s := source(via)
			s.Observed = "compared runs: 3 of 3 ok"
			s.AtOnce, s.Probed = 12, "safe 12 (13 is refused twice), 4.0/s, p95 3.1 s, probed 2026-11-29 14:02"
			got, err := target.Code(s)
			if err != nil {
				got = "not exported: " + err.Error() + "\n"
			}
			if tidy, err := format.Source([]byte(got)); target.Name == "go" && (err != nil || string(tidy) != got) {
				t.Errorf("gofmt: %v\n%s", err, tidy)
			}
			file := filepath.Join("testdata", string(via), target.File)
			if *update {
				noerr.Must(t, os.WriteFile(file, []byte(got), 0o600))
				continue
			}
			want, err := os.ReadFile(file)
			noerr.Must(t, err)
			if got != string(want) {
				t.Errorf("%s:\n%s\nwant\n%s", file, got, want)
			}
		}
	}
}

func TestASecretIsWrittenOnlyWhereItWasAskedFor(t *testing.T) {
	const secret = "pa$s'w0rd"
	for _, via := range []model.Via{model.ViaNative, model.ViaAPI} {
		for _, target := range export.Targets() {
			s := source(via)
			code, err := target.Code(s)
			if err != nil {
				continue
			}
			if env := s.Env(); !strings.Contains(code, env) && target.Name != "pac" {
				t.Errorf("%s by %s does not name %s:\n%s", target.Name, via, env, code)
			}
			s.Secret = secret
			code, err = target.Code(s)
			switch {
			case target.Name == "pac":
				if err == nil || !strings.Contains(err.Error(), "cannot hold") {
					t.Errorf("%s: %v", target.Name, err)
				}
			case err != nil:
				t.Errorf("%s by %s: %v", target.Name, via, err)
			case strings.Contains(code, s.Env()) && target.Name != "env" || !strings.Contains(code, "w0rd"):
				t.Errorf("%s by %s:\n%s", target.Name, via, code)
			case target.Name != "url" && !strings.Contains(code, "this holds a secret"):
				t.Errorf("%s by %s does not warn:\n%s", target.Name, via, code)
			}
		}
	}
}

func TestTheVariableOfAReferenceIsItsOwn(t *testing.T) {
	for ref, want := range map[string]string{
		"env:A": "A is the API key", "env:": "ZONEDECK_API_KEY is the API key", "keyring:a/b": "ZONEDECK_API_KEY is the API key",
		"demo:key/batch-user": "ZONEDECK_API_KEY is the demo value of key batch-user: it is in the file that 'zonedeck paths' calls emulator_running",
	} {
		s := source(model.ViaAPI)
		s.Key = ref
		if got := s.Needs(); got != want {
			t.Errorf("%q: %s, want %s", ref, got, want)
		}
	}
	s := source(model.ViaNative)
	if got := s.Needs(); got != "ZONEDECK_ZONE_PASSWORD is the password of zone unlocker_demo" {
		t.Error(got)
	}
}

func TestTheCAIsNamedOnlyWhereTargetsNeedIt(t *testing.T) {
	for name, c := range map[string]struct {
		product      model.Product
		local, open  bool
		ca, insecure bool
	}{
		"a zone that needs it":     {product: model.ProductUnlocker, ca: true},
		"a zone without the need":  {product: model.ProductDatacenter},
		"the emulator's own sites": {product: model.ProductDatacenter, local: true, ca: true},
		"checks are off":           {product: model.ProductUnlocker, open: true, insecure: true},
	} {
		s := source(model.ViaNative)
		s.Request = model.FetchRequest{Via: model.ViaNative, URL: "https://example.com/", Zone: model.Zone{Name: "z", Product: c.product}}
		s.Profile.Local, s.Profile.Verify = c.local, !c.open
		for target, words := range map[string][2]string{
			"curl": {"--cacert", "--insecure"}, "python": {"verify=\"/etc", "verify=False"}, "go": {"AppendCerts", "InsecureSkipVerify"},
			"node": {"rootCertificates", "rejectUnauthorized: false"}, "scrapy": {"SSL_CERT_FILE", "\x00"},
			"playwright": {"spki-list", "ignoreHTTPSErrors"}, "puppeteer": {"spki-list", "acceptInsecureCerts"}, "env": {"SSL_CERT_FILE", "\x00"},
		} {
			of, _ := export.Find(target)
			code, err := of.Code(s)
			noerr.Must(t, err)
			if strings.Contains(code, words[0]) != c.ca || strings.Contains(code, words[1]) != (c.insecure && words[1] != "\x00") {
				t.Errorf("%s, %s:\n%s", name, target, code)
			}
		}
	}
}

// What a client cannot send as it stands is refused with its reason.
func TestAClientThatCannotSendTheFormSaysSo(t *testing.T) {
	for _, c := range []struct {
		via    model.Via
		target string
		change func(*export.Source)
		want   string
	}{
		{model.ViaNative, "node", func(s *export.Source) { s.Request.Method = "GET" }, "Node: fetch sends no body with GET"},
		{model.ViaNative, "playwright", func(s *export.Source) { s.Request.Method = "" }, "Playwright: a browser sends no body with GET"},
		{model.ViaNative, "puppeteer", func(s *export.Source) { s.Request.Header = http.Header{"Cookie": {"a=b"}} }, "Puppeteer: a browser writes Cookie itself"},
		{model.ViaNative, "playwright", func(s *export.Source) { s.Request.Header = http.Header{"X-A": {"é"}} }, "Playwright: the value of X-A is not ASCII, and a browser is handed characters instead of bytes"},
		{model.ViaAPI, "puppeteer", func(*export.Source) {}, "Puppeteer: a browser goes through the proxy, while the API returns the page by itself: choose Native"},
		{model.ViaAPI, "pac", func(*export.Source) {}, "PAC: the API needs no proxy: choose Native"},
		{model.ViaNative, "python", func(s *export.Source) { s.Request.URL = "http://a.test/b/%2e%2E/c" }, `Python: it resolves the "." and ".." of a path, which the form sends as they are; curl and Go can do it`},
		{model.ViaNative, "python", func(s *export.Source) { s.Request.URL = "http://a.test//b" }, "Python: requests shortens the // that the path begins with"},
		{model.ViaNative, "python", func(s *export.Source) { s.Request.URL = "http://a.test/b;?c" }, "Python: requests leaves out the ; that the path ends with"},
		{model.ViaNative, "curl", func(s *export.Source) { s.Request.Body = "a\x00" }, "curl: a word of a shell cannot hold the zero byte of the body"},
		{model.ViaNative, "curl", func(s *export.Source) { s.Request.Body = strings.Repeat("a", 130_000) }, "curl: the body has 130000 bytes, and a shell takes 122880 in a command"},
		{model.ViaNative, "curl", func(s *export.Source) { s.Request.Method = "HEAD" }, "curl: it sends no body with HEAD"},
		{model.ViaNative, "go", func(s *export.Source) {
			s.Request.URL, s.Request.Header = "http://a.test/", http.Header{"Host": {"b.test"}}
		}, "the header Host: a proxy is given the address alone; write the host into the address"},
		{model.ViaNative, "go", func(s *export.Source) { s.Profile.ProxyHost = "" }, "the profile has no proxy_host"},
		{model.ViaNative, "go", func(s *export.Source) { s.Profile.Account = "" }, "writing the proxy login: "},
		{model.ViaAPI, "go", func(s *export.Source) { s.Profile.BaseURL = "" }, "the profile has no base URL"},
		{model.ViaAPI, "go", func(s *export.Source) { s.Profile.Dialect = "documented" }, "it cannot be sent as it stands: country: "},
		{model.ViaAPI, "go", func(s *export.Source) { s.Profile.Dialect = "klingon" }, `dialect "klingon" is not known`},
		{model.ViaAgent, "go", func(*export.Source) {}, "agent access is a conversation by MCP: choose API or Native"},
		{model.ViaBrowser, "playwright", func(s *export.Source) {
			s.Request = model.FetchRequest{Via: model.ViaBrowser, URL: "http://a.test/", Zone: model.Zone{Name: "b", Product: model.ProductBrowser}}
		}, "the profile names no browser_url"},
		{model.ViaAPI, "go", func(s *export.Source) { s.Request.Secrets = map[string]string{"x": "env:X"} }, "the variable {{x}} is a secret"},
		{model.ViaAPI, "go", func(s *export.Source) { s.Request.Header = http.Header{"Cookie": {model.Masked}} }, "the journal does not keep the value of Cookie: type it in the form"},
	} {
		s := source(c.via)
		c.change(&s)
		target, _ := export.Find(c.target)
		if code, err := target.Code(s); code != "" || err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %q, %v\nwant %s", c.target, code, err, c.want)
		}
	}
	if _, ok := export.Find("perl"); ok {
		t.Error("perl is found")
	}
}

// What a program does not undo, it does not ask for.
func TestAProgramAsksForGzipAlone(t *testing.T) {
	for typed, remarked := range map[string]bool{"br, zstd": true, "gzip": false} {
		s := source(model.ViaNative)
		s.Request.Header.Set("Accept-Encoding", typed)
		for _, name := range []string{"python", "go", "node", "scrapy"} {
			target, _ := export.Find(name)
			code, err := target.Code(s)
			noerr.Must(t, err)
			if strings.Contains(code, " Accept-Encoding is sent as gzip, which is all that this program undoes\n") != remarked || strings.Contains(code, "zstd") {
				t.Errorf("%s, %s:\n%s", typed, name, code)
			}
		}
	}
}

// A login needs no address.
func TestALoginIsExportedWithoutAnAddress(t *testing.T) {
	s := source(model.ViaNative)
	s.Request = model.FetchRequest{Via: model.ViaNative, Zone: s.Request.Zone}
	s.Username = "brd-customer-hl_demo01-zone-unlocker_demo-city-$x"
	for _, target := range export.Targets() {
		code, err := target.Code(s)
		if (err == nil) != target.Login || err == nil && !strings.Contains(code, "proxy.test:33335") {
			t.Errorf("%s: %v\n%s", target.Name, err, code)
		}
	}
	url, _ := export.Find("url")
	if got, _ := url.Code(s); got != "http://brd-customer-hl_demo01-zone-unlocker_demo-city-%24x:${ZONEDECK_ZONE_PASSWORD}@proxy.test:33335\n" {
		t.Error(got)
	}
	s.Secret = "p'/"
	if got, _ := url.Code(s); got != "http://brd-customer-hl_demo01-zone-unlocker_demo-city-$x:p%27%2F@proxy.test:33335\n" {
		t.Error(got)
	}
}
