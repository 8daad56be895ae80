package export_test

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/export"
)

// secrets are what passwords and keys may be made of.
var secrets = []string{`p"a\s's $w&rd%`, "`id`$(id)${HOME}", "a:b@c/d?e#f%41", "-n \\n%s\\", "[]{}*~!"}

// proxy is a proxy that keeps the login of each request, and answers by itself.
type proxy struct {
	mu   sync.Mutex
	seen []string
}

// logins are those seen since the last call.
func (p *proxy) logins() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	seen := p.seen
	p.seen = nil
	return seen
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	for _, name := range []string{"Proxy-Authorization", "Authorization"} {
		if v := r.Header.Get(name); v != "" {
			p.seen = append(p.seen, v)
		}
	}
	p.mu.Unlock()
	if r.Method != http.MethodConnect {
		_, _ = io.WriteString(w, "ok")
		return
	}
	conn, both, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
	if _, err := http.ReadRequest(bufio.NewReader(both)); err == nil {
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
	}
}

// Whatever a secret is made of, a program hands it on as it is, from the environment or
// written into it.
func TestASecretArrivesWhateverItIsMadeOf(t *testing.T) {
	for _, c := range clients() {
		for _, via := range []model.Via{model.ViaNative, model.ViaAPI} {
			t.Run(c.target+" by "+via.String(), func(t *testing.T) {
				t.Parallel()
				dir, p := t.TempDir(), &proxy{}
				srv := httptest.NewServer(p)
				defer srv.Close()
				s := source(via)
				s.Profile.BaseURL, s.Profile.ProxyHost, s.Profile.Local, s.Profile.CA = srv.URL, "127.0.0.1", true, ""
				_, _ = fmt.Sscanf(srv.URL, "http://127.0.0.1:%d", &s.Profile.ProxyPort)
				s.Request = model.FetchRequest{Via: via, URL: "http://lab.test/", Zone: model.Zone{Name: "z1", Product: model.ProductDatacenter}}
				as, _ := export.Find(c.target)
				var files, env []string
				want := map[string]bool{}
				for i, secret := range secrets {
					s.Key = fmt.Sprintf("env:SECRET_%d", i)
					s.Request.Zone.Password = s.Key
					for form, inline := range map[string]string{"read": "", "written": secret} {
						s.Secret = inline
						code, err := as.Code(s)
						noerr.Must(t, err)
						files = append(files, form+strconv.Itoa(i)+filepath.Ext(as.File))
						write(t, dir, files[len(files)-1], code)
					}
					env = append(env, fmt.Sprintf("SECRET_%d=%s", i, secret))
					if via == model.ViaNative {
						want["Basic "+base64.StdEncoding.EncodeToString([]byte("brd-customer-hl_demo01-zone-z1:"+secret))] = true
					} else {
						want["Bearer "+secret] = true
					}
				}
				c.run(t, dir, files, env)
				seen := map[string]int{}
				for _, login := range p.logins() {
					if seen[login]++; !want[login] {
						t.Errorf("it logged in with %q", login)
					}
				}
				for login := range want {
					if seen[login] < 2 {
						t.Errorf("%d programs logged in with %q, want those of both forms", seen[login], login)
					}
				}
			})
		}
	}
}

// The lines of a shell's environment send curl through the proxy, whatever the password is
// made of.
func TestAShellTakesTheEnvironmentFile(t *testing.T) {
	need(t, "curl", "curl")
	p := &proxy{}
	srv := httptest.NewServer(p)
	defer srv.Close()
	s := source(model.ViaNative)
	s.Profile.ProxyHost, s.Profile.CA = "127.0.0.1", "/tmp/it's.pem"
	_, _ = fmt.Sscanf(srv.URL, "http://127.0.0.1:%d", &s.Profile.ProxyPort)
	s.Username = "brd-customer-hl_demo01-zone-z$HOME"
	as, _ := export.Find("env")
	for _, secret := range secrets {
		for _, inline := range []string{"", secret} {
			s.Secret = inline
			code, err := as.Code(s)
			noerr.Must(t, err)
			dir := t.TempDir()
			write(t, dir, "zonedeck.env", code)
			out := start(t, dir, []string{export.PasswordEnv + "=" + secret}, "sh", "-c", `. ./zonedeck.env; curl -sS http://lab.test/; printf %s "$SSL_CERT_FILE"`)
			want := "Basic " + base64.StdEncoding.EncodeToString([]byte(s.Username+":"+secret))
			if seen := p.logins(); out != "ok/tmp/it's.pem" || !slices.Equal(seen, []string{want}) {
				t.Errorf("%q: %q, %q, want %q\n%s", secret, out, seen, want, code)
			}
		}
	}
	s = source(model.ViaAPI)
	code, err := as.Code(s)
	noerr.Must(t, err)
	dir := t.TempDir()
	write(t, dir, "zonedeck.env", code)
	if out := start(t, dir, []string{"ACME_KEY=k"}, "sh", "-c", `. ./zonedeck.env; printf '%s %s' "$ACME_KEY" "$ZONEDECK_API_URL"`); out != "k https://api.test/request" {
		t.Error(out)
	}
}

// A client takes the proxy's address as it is, and a shell puts the password in.
func TestAClientTakesTheProxysAddress(t *testing.T) {
	need(t, "curl", "curl")
	p := &proxy{}
	srv := httptest.NewServer(p)
	defer srv.Close()
	s := source(model.ViaNative)
	s.Profile.ProxyHost = "127.0.0.1"
	_, _ = fmt.Sscanf(srv.URL, "http://127.0.0.1:%d", &s.Profile.ProxyPort)
	s.Username = "brd-customer-hl_demo01-zone-z$HOME"
	as, _ := export.Find("url")
	for inline, password := range map[string]string{"": "plain1", secrets[0]: secrets[0]} {
		s.Secret = inline
		address, err := as.Code(s)
		noerr.Must(t, err)
		word := `"` + strings.TrimSpace(address) + `"`
		if inline != "" {
			word = export.ShellQuote(strings.TrimSpace(address))
		}
		out := start(t, t.TempDir(), []string{export.PasswordEnv + "=" + password}, "sh", "-c", "curl -sS --noproxy '' -x "+word+" http://lab.test/")
		want := "Basic " + base64.StdEncoding.EncodeToString([]byte(s.Username+":"+password))
		if seen := p.logins(); out != "ok" || !slices.Equal(seen, []string{want}) {
			t.Errorf("%s: %q, %q, want %q", word, out, seen, want)
		}
	}
}

// Without its secret a program ends with an error that names the variable, before it calls
// anything.
func TestAProgramEndsWithoutItsSecret(t *testing.T) {
	for _, target := range export.Targets() {
		for _, via := range []model.Via{model.ViaNative, model.ViaAPI, model.ViaBrowser} {
			s := source(via)
			s.Key, s.Request.Zone.Password = "env:SHOP_SECRET", "env:SHOP_SECRET"
			s.Profile.CA, s.Profile.Local, s.Profile.BrowserURL = "", true, "ws://127.0.0.1:1"
			if via == model.ViaBrowser {
				s.Request = model.FetchRequest{Via: via, URL: "http://lab.test/", Zone: model.Zone{Name: "z1", Product: model.ProductBrowser, Password: s.Key}}
			}
			if _, err := target.Code(s); err != nil || target.Name == "url" || target.Name == "pac" { // no programs
				continue
			}
			t.Run(target.Name+" by "+via.String(), func(t *testing.T) {
				t.Parallel()
				calls := make(chan string, 100)
				srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { calls <- r.Method + " " + r.RequestURI }))
				defer srv.Close()
				s.Profile.BaseURL, s.Profile.ProxyHost, s.Profile.BrowserURL = srv.URL, "127.0.0.1", strings.Replace(srv.URL, "http", "ws", 1)
				_, _ = fmt.Sscanf(srv.URL, "http://127.0.0.1:%d", &s.Profile.ProxyPort)
				s.Request.URL = srv.URL + "/target"
				code, err := target.Code(s)
				noerr.Must(t, err)
				dir := t.TempDir()
				write(t, dir, target.File, code)
				for _, env := range [][]string{nil, {"SHOP_SECRET="}} {
					for _, name := range programs(t, dir, target, srv.URL, code) {
						out, err := end(t, dir, append(goEnv(t), env...), name[0], name[1:]...)
						if err == nil || !strings.Contains(out, "SHOP_SECRET: is not set") && !strings.Contains(out, "SHOP_SECRET is not set") {
							t.Errorf("%q with %q: %v\n%s", name, env, err, out)
						}
					}
				}
				srv.Close()
				close(calls)
				for c := range calls {
					t.Errorf("it called %s", c)
				}
			})
		}
	}
}

// programs are the ways in which operators run what is exported for a target.
func programs(t *testing.T, dir string, target export.Target, url, code string) [][]string {
	t.Helper()
	switch target.Name {
	case "curl":
		need(t, "curl", "curl")
		return [][]string{{"sh", target.File}, {"bash", target.File}, {"bash", "--norc", "-ic", code}}
	case "env":
		need(t, "curl", "curl")
		use := ". ./" + target.File + "; curl -sS " + url + "/by-env"
		interactive := ". ./" + target.File + " && curl -sS " + url + "/by-env"
		return [][]string{{"sh", "-c", use}, {"bash", "-c", use}, {"bash", "--norc", "-ic", interactive}}
	case "go":
		need(t, "go", "go")
		start(t, dir, goEnv(t), "go", "build", "-o", "fetch", target.File)
		return [][]string{{filepath.Join(dir, "fetch")}}
	case "python":
		return [][]string{{python(t, "requests"), target.File}}
	case "scrapy":
		return [][]string{{python(t, "scrapy"), target.File}}
	case "playwright", "puppeteer":
		modules(t, dir, target.Name)
	default:
		modules(t, dir, "undici")
	}
	return [][]string{{"node", target.File}}
}

// argv keeps the arguments that curl gets.
const argv = `#!/bin/sh
printf '%s\n' "$@" > "$OUT"
cat > /dev/null
`

func TestTheSecretIsInNoArgument(t *testing.T) {
	const secret = "s3cret-value"
	for _, via := range []model.Via{model.ViaNative, model.ViaAPI} {
		for _, inline := range []string{"", secret} {
			dir := t.TempDir()
			noerr.Must(t, os.WriteFile(filepath.Join(dir, "curl"), []byte(argv), 0o700))
			s := source(via)
			s.Secret = inline
			as, _ := export.Find("curl")
			code, err := as.Code(s)
			noerr.Must(t, err)
			write(t, dir, "fetch.sh", code)
			out := filepath.Join(dir, "args")
			start(t, dir, []string{"OUT=" + out, "ACME_KEY=" + secret, export.PasswordEnv + "=" + secret}, "sh", "-c", `PATH="$HOME:$PATH" sh fetch.sh`)
			args, err := os.ReadFile(out)
			if err != nil || len(args) == 0 {
				t.Fatal(err)
			}
			if text := string(args); strings.Contains(text, secret) || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(secret))) || strings.Contains(text, "Basic") {
				t.Errorf("by %s:\n%s", via, text)
			}
		}
	}
}
