package export_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/emulator"
	"zonedeck/service/export"
	"zonedeck/service/servicetest"
)

// answers are what the target of the tests below sends, by their path.
var answers = map[string]struct {
	header map[string]string
	status int
	body   string
}{
	"/page":    {header: map[string]string{"Content-Type": "text/html; charset=windows-1252"}, body: "<html><h1>Caf\xe9</h1><p class=price></p><img class=photo src=a.png></html>"},
	"/json":    {header: map[string]string{"Content-Type": "application/json"}, body: `{"items":[{"price":0,"name":" "}],"tags":[]}`},
	"/article": {header: map[string]string{"Content-Type": "text/html"}, body: `<html><title>Notes</title><p>The id px-captcha, _cf_chl_opt.</p><!-- <div id="px-captcha"> --><script>var t='<div id="px-captcha"></div>';</script></html>`},
	"/sign":    {header: map[string]string{"Content-Type": "text/html; charset=gbk"}, body: "<html><p>\xb0\xb2\xc8\xab</p><div class='a px-captcha'></div></html>"},
	"/titled":  {header: map[string]string{"Content-Type": "text/html"}, body: `<html><title>Shop - Security check</title><div class="cf-turnstile"></div></html>`},
	"/form":    {header: map[string]string{"Content-Type": "text/html"}, body: `<html><title>Security check</title><input type="text"><div class="cf-turnstile"></div></html>`},
	"/header":  {header: map[string]string{"Content-Type": "text/html", "Cf-Mitigated": "challenge"}, body: "<html><p>Wait</p></html>"},
	"/led":     {header: map[string]string{"Location": "https://geo.captcha-delivery.com/captcha/?cid=1"}, status: 302},
	"/moved":   {header: map[string]string{"Location": "/page"}, status: 302},
	"/hostile": {header: map[string]string{"Content-Type": "text/html"}, body: "<html><title>Captcha</title><script>" + strings.Repeat("toNumbers(", 4000) + "</script><script " + strings.Repeat("src=", 9000) +
		"><p class=" + strings.Repeat("a", 40_000) + ">" + strings.Repeat("<textarea", 4000) + strings.Repeat("<!--", 1<<20)},
	"/empty":    {header: map[string]string{"Content-Type": "text/html"}, body: " \n"},
	"/coding":   {header: map[string]string{"Content-Type": "text/html", "Content-Encoding": "dcb"}, body: "\x1b\x00\x00"},
	"/charset":  {header: map[string]string{"Content-Type": "text/html; charset=klingon"}, body: "<html><h1>x</h1></html>"},
	"/meta":     {header: map[string]string{"Content-Type": "text/html"}, body: "<html><meta charset=klingon><h1>x</h1></html>"},
	"/not-text": {header: map[string]string{"Content-Type": "text/html"}, body: "\x8b\x00\x01\x00\x02<"},
	"/zipped":   {header: map[string]string{"Content-Type": "text/html", "Content-Encoding": "gzip"}, body: zipped(`<html><div id="px-captcha"></div></html>`)},
}

func zipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return b.String()
}

func answering(w http.ResponseWriter, r *http.Request) {
	a := answers[r.URL.Path]
	for name, value := range a.header {
		w.Header().Set(name, value)
	}
	if asked := r.Header.Get("Accept-Encoding"); asked != "gzip" && r.Header.Get("Sec-Fetch-Mode") == "" {
		w.Header().Set("X-Asked", asked)
		a.status = http.StatusNotAcceptable
	}
	if a.status != 0 {
		w.WriteHeader(a.status)
	}
	_, _ = io.WriteString(w, a.body)
}

// verdict runs a program as an operator does: the last line that it writes about its answer, and its exit code.
func verdict(t *testing.T, dir string, target export.Target, env []string) (string, int) {
	t.Helper()
	var command []string
	switch target.Name {
	case "go":
		need(t, "go", "go")
		mod, err := os.ReadFile("../../go.mod")
		noerr.Must(t, err)
		sum, err := os.ReadFile("../../go.sum")
		noerr.Must(t, err)
		write(t, dir, "go.mod", strings.Replace(string(mod), "module zonedeck", "module fetch", 1))
		write(t, dir, "go.sum", string(sum))
		start(t, dir, append(goEnv(t), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOMODCACHE="+goVariable(t, "GOMODCACHE")), "go", "build", "-o", "fetch", target.File)
		command = []string{filepath.Join(dir, "fetch")}
	case "python", "scrapy":
		python(t, "parsel")
		command = []string{python(t, map[string]string{"python": "requests", "scrapy": "scrapy"}[target.Name]), target.File}
	case "curl":
		need(t, "curl", "curl")
		command = []string{"sh", target.File}
	case "node":
		modules(t, dir, "cheerio")
		command = []string{"node", target.File}
	default:
		modules(t, dir, target.Name)
		command = []string{"node", target.File}
		env = append(env, chromium(t, dir)...)
	}
	cmd := program(t, dir, env, command[0], command[1:]...)
	var said strings.Builder
	cmd.Stderr = &said
	err := cmd.Run()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(said.String()), "\n")
	return strings.ToLower(strings.ReplaceAll(lines[len(lines)-1], "'", `"`)), cmd.ProcessState.ExitCode()
}

// checked are answers, and what programs say of them; those that are few are for programs that take long to build or to start.
var checked = []struct {
	path, want string
	required   []string
	header     http.Header
	few        bool // also by Go and Scrapy
	browser    bool // also by browsers
}{
	{path: "http://lab.test/captcha?hard=1", want: `not ok: a wall, by "g-recaptcha"`, few: true, browser: true},
	{path: "http://lab.test/forbidden?hard=1", want: "not ok: status 403", few: true, browser: true},
	{path: "/page", want: "ok", required: []string{"h1", ".photo"}, few: true, browser: true},
	{path: "/page", want: "not ok: the required field .price is missing", required: []string{"h1", ".price"}, few: true, browser: true},
	{path: "/page", want: "not ok: the required field items.0.name is missing", required: []string{"items.0.name"}},
	{path: "/json", want: "ok", required: []string{"items.0.price"}, browser: true},
	{path: "/json", want: "not ok: the required field tags is missing", required: []string{"tags"}, few: true, browser: true},
	{path: "/json", want: "not ok: the required field items.0.name is missing", required: []string{"items.0.name"}},
	{path: "/article", want: "ok", browser: true},
	{path: "/sign", want: `not ok: a wall, by "px-captcha"`, few: true, browser: true},
	{path: "/hostile", want: "ok"}, // and it ends
	{path: "/titled", want: `not ok: a wall, by "cf-turnstile"`, few: true},
	{path: "/form", want: "ok"},
	{path: "/header", want: `not ok: a wall, by "cf-mitigated: challenge"`},
	{path: "/led", want: `not ok: a wall, by "location: https://geo.captcha-delivery.com"`, few: true},
	{path: "/moved", want: "ok", required: []string{"h1"}},
	{path: "/empty", want: "not ok: the answer is empty"},
	{path: "/coding", want: `not ok: the coding "dcb" was not asked for`, few: true},
	{path: "/charset", want: `not ok: the character set "klingon" is not known`, few: true},
	{path: "/meta", want: `not ok: the character set "klingon" is not known`},
	{path: "/not-text", want: "not ok: the body is not text"},
	{path: "/zipped", want: `not ok: a wall, by "px-captcha"`, few: true},
	{path: "/zipped", want: `not ok: a wall, by "px-captcha"`, header: http.Header{"Accept-Encoding": {"br", "gzip"}}, few: true},
}

// A program says of an answer whether it is ok, and ends accordingly.
func TestAProgramChecksItsAnswer(t *testing.T) {
	for _, name := range []string{"python", "go", "node", "scrapy", "playwright", "puppeteer"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			web := httptest.NewServer(http.HandlerFunc(answering))
			defer web.Close()
			demo := servicetest.Emulator(t, emulator.Options{AllowPrivate: []string{web.Listener.Addr().String()}})
			zone := servicetest.Zone(demo.Profile, "datacenter_demo")
			target, _ := export.Find(name)
			browser := name == "playwright" || name == "puppeteer"
			for _, c := range checked {
				if (name == "go" || name == "scrapy") && !c.few || browser && !c.browser {
					continue
				}
				if strings.HasPrefix(c.path, "/") {
					c.path = web.URL + c.path
				}
				code, err := target.Code(export.Source{Profile: demo.Profile, Request: model.FetchRequest{Zone: zone, Via: model.ViaNative, URL: c.path, Required: c.required, Header: c.header}})
				noerr.Must(t, err)
				dir := t.TempDir()
				write(t, dir, target.File, code)
				said, exit := verdict(t, dir, target, []string{export.PasswordEnv + "=" + demo.Password(zone)})
				if said != c.want || (exit == 0) != (c.want == "ok") {
					t.Errorf("%s %v: %q, exit %d; want %q", c.path, c.required, said, exit, c.want)
				}
			}
		})
	}
}

// By API the target's status and an error of the service stand in headers beside the service's own status.
func TestAProgramChecksWhatTheServiceReports(t *testing.T) {
	for _, name := range []string{"python", "go", "node"} { // Scrapy's check is Python's
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			demo := servicetest.Emulator(t, emulator.Options{})
			zone := servicetest.Zone(demo.Profile, "datacenter_demo")
			key, _ := demo.Key("batch-user")
			value, err := demo.Secret(t.Context(), key.Secret)
			noerr.Must(t, err)
			target, _ := export.Find(name)
			for _, c := range []struct {
				path, want string
				r          model.FetchRequest
			}{
				{path: "captcha?hard=1", want: `not ok: a wall, by "g-recaptcha"`, r: model.FetchRequest{Format: model.FormatJSON}},
				{path: "forbidden?hard=1", want: "not ok: status 403"},
				{path: "forbidden?hard=1", want: "not ok: status 403", r: model.FetchRequest{Format: model.FormatJSON}},
				{path: "ok", want: "not ok: the required field .nothing is missing", r: model.FetchRequest{Required: []string{"h1", ".nothing"}, Format: model.FormatJSON}},
				{path: "captcha?hard=1", want: "ok", r: model.FetchRequest{Method: http.MethodHead, Required: []string{"h1"}}},
				{path: "refused", want: "not ok: status 401 of the service"},
			} {
				c.r.Via, c.r.Zone, c.r.URL = model.ViaAPI, zone, "http://lab.test/"+c.path
				code, err := target.Code(export.Source{Profile: demo.Profile, Request: c.r, Key: key.Secret})
				noerr.Must(t, err)
				dir, secret := t.TempDir(), value.Reveal()
				if c.path == "refused" {
					secret = "wrong"
				}
				write(t, dir, target.File, code)
				said, exit := verdict(t, dir, target, []string{export.KeyEnv + "=" + secret})
				if said != c.want || (exit == 0) != (c.want == "ok") {
					t.Errorf("%s %+v: %q, exit %d; want %q", c.path, c.r, said, exit, c.want)
				}
			}
		})
	}
}

const printable = " !\"#$%&'()*+,-./0123456789:;<=>?@[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~"

// What the service says of its own failure is quoted, whatever it is made of.
func TestAProgramReportsTheServicesOwnFailure(t *testing.T) {
	for header, value := range map[string]string{
		"X-Brd-Error": "no \u202e page", "X-Brd-Err-Code": "policy_20050", "Proxy-Status": `brd; error="http_request_denied"; details="x: y"`,
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header()[header] = []string{value}
			_, _ = io.WriteString(w, "<html><h1>x</h1></html>")
		}))
		defer srv.Close()
		for _, name := range []string{"python", "go", "node"} {
			s := source(model.ViaAPI)
			s.Profile.BaseURL = srv.URL
			target, _ := export.Find(name)
			code, err := target.Code(s)
			noerr.Must(t, err)
			dir := t.TempDir()
			write(t, dir, target.File, code)
			if said, exit := verdict(t, dir, target, []string{"ACME_KEY=k"}); exit == 0 || !strings.HasPrefix(said, "not ok: the service reports ") || strings.Trim(said, printable) != "" {
				t.Errorf("%s by %s: %q, exit %d", header, name, said, exit)
			}
		}
	}
}

func TestCurlChecksTheStatusAndSaysSo(t *testing.T) {
	demo := servicetest.Emulator(t, emulator.Options{})
	zone := servicetest.Zone(demo.Profile, "datacenter_demo")
	target, _ := export.Find("curl")
	for path, want := range map[string]int{"ok": 0, "captcha?hard=1": 0, "forbidden?hard=1": 22} {
		code, err := target.Code(export.Source{Profile: demo.Profile, Request: model.FetchRequest{Zone: zone, Via: model.ViaNative, URL: "http://lab.test/" + path}})
		noerr.Must(t, err)
		dir := t.TempDir()
		write(t, dir, target.File, code)
		if _, exit := verdict(t, dir, target, []string{export.PasswordEnv + "=" + demo.Password(zone)}); exit != want || !strings.Contains(code, "\n# curl checks the status alone: ") {
			t.Errorf("%s: exit %d, want %d\n%s", path, exit, want, code)
		}
	}
}

// A field that only Go's libraries know is refused, and no standard selector is taken for one.
func TestAFieldThatOnlyGoFindsIsForGo(t *testing.T) {
	for path, query := range map[string]bool{
		"items.#.name": true, "items.0.name": false, "#price": false, `a[href*="x"]`: false, "items|@reverse": true,
		`h1:contains("Shop")`: true, "p:matchesOwn(^a)": true, `a[href#=(b$)]`: true, `a[href!="b"]`: true, "form :input": true, "p:hasChild(b)": true,
		`a[title=":contains(b)"]`: false, "p:has(b):not(.c)": false, "input.input": false, "li:nth-child(2n+1)": false,
	} {
		s := source(model.ViaNative)
		s.Request.Required = []string{path}
		for _, target := range export.Targets() {
			_, err := target.Code(s)
			if refused := query && !target.Login && target.Name != "go" && target.Name != "curl"; (err != nil) != refused {
				t.Errorf("%s for %s: %v", path, target.Name, err)
			}
		}
	}
}
