package export_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/emulator"
	"zonedeck/service/export"
	"zonedeck/service/rehearsal"
	"zonedeck/service/servicetest"
)

// The programs of this file are the real ones: each runs what is exported for it, against
// the emulator, and what arrived is compared with the form.

// client runs many programs of one target in one run, each as it is written.
type client struct {
	target string
	// run runs the files in a folder; what the programs print goes to FILE.out.
	run func(t *testing.T, dir string, files, env []string)
}

func clients() []client {
	return []client{
		{"curl", runShell}, {"go", runGo}, {"python", runPython}, {"scrapy", runScrapy}, {"node", runNode},
	}
}

// need skips a test whose program is missing.
func need(t *testing.T, program, install string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skipf("install %s to run this test", install)
	}
	return path
}

// python is an interpreter that has a module: Debian's own has those of its packages.
func python(t *testing.T, module string) string {
	t.Helper()
	for _, name := range []string{"/usr/bin/python3", "python3"} {
		path, err := exec.LookPath(name)
		if err == nil && exec.CommandContext(t.Context(), path, "-c", "import "+module).Run() == nil {
			return path
		}
	}
	t.Skipf("install python3-%s to run this test", module)
	return ""
}

// modules puts the clients from npm where programs in dir find them.
func modules(t *testing.T, dir, want string) {
	t.Helper()
	need(t, "node", "nodejs")
	from := os.Getenv("ZONEDECK_NODE_MODULES")
	if from == "" {
		from = filepath.Join("..", "..", ".ci", "node", "node_modules")
	}
	from, err := filepath.Abs(from)
	noerr.Must(t, err)
	if _, err := os.Stat(filepath.Join(from, want, "package.json")); err != nil {
		t.Skipf("install %s: npm ci --prefix .ci/node", want)
	}
	if err := os.Symlink(from, filepath.Join(dir, "node_modules")); err != nil && !errors.Is(err, os.ErrExist) {
		t.Fatal(err)
	}
}

// start runs a program in dir to its end.
func start(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := program(t, dir, env, name, args...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		t.Fatalf("%s: %v\n%s\n%s", name, err, out, exit.Stderr)
	}
	noerr.Must(t, err)
	return string(out)
}

// end runs a program in dir to its end, and gives all that it printed with the error of its
// exit code.
func end(t *testing.T, dir string, env []string, name string, args ...string) (string, error) {
	t.Helper()
	out, err := program(t, dir, env, name, args...).CombinedOutput()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), err
}

func program(t *testing.T, dir string, env []string, name string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, append(slices.Clone(env), "PATH="+os.Getenv("PATH"), "HOME="+dir), 5*time.Second
	return cmd
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	noerr.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
}

func runShell(t *testing.T, dir string, files, env []string) {
	need(t, "curl", "curl")
	var script strings.Builder
	for _, f := range files {
		fmt.Fprintf(&script, "sh %s >%s.out || [ $? = 22 ] || { echo %s: $? >&2; exit 1; }\n", f, f, f)
	}
	start(t, dir, env, "sh", "-c", script.String())
}

func runPython(t *testing.T, dir string, files, env []string) {
	start(t, dir, env, python(t, "requests"), append([]string{"-c", `
import io, runpy, sys
for f in sys.argv[1:]:
    sys.stdout = io.TextIOWrapper(open(f + ".out", "wb"))
    try:
        runpy.run_path(f, run_name="__main__")
    except SystemExit as end:  # not every answer is ok
        print(end.code, file=sys.stderr)
    sys.stdout.close()
`}, files...)...)
}

func runScrapy(t *testing.T, dir string, files, env []string) {
	start(t, dir, env, python(t, "scrapy"), append([]string{"-c", `
import runpy, sys
from scrapy.crawler import CrawlerProcess
process = CrawlerProcess({"LOG_LEVEL": "WARNING"})
crawlers = []
for f in sys.argv[1:]:
    crawlers.append(process.create_crawler(runpy.run_path(f, run_name="a spider")["Fetch"]))
    process.crawl(crawlers[-1])
process.start()
for f, c in zip(sys.argv[1:], crawlers):
    if c.stats.get_value("downloader/response_count") != 1 or c.stats.get_value("log_count/ERROR"):
        sys.exit(f + ": no answer")
`}, files...)...)
}

// runGo makes one program of all: the functions of each get names of their own, and an answer that is not ok does not end it.
func runGo(t *testing.T, dir string, files, env []string) {
	need(t, "go", "go")
	var calls strings.Builder
	for i, f := range files {
		code, err := os.ReadFile(filepath.Join(dir, f))
		noerr.Must(t, err)
		text := strings.Replace(string(code), "\tos.Exit(1)\n", "", 1)
		for _, name := range []string{"main", "problem", "wall", "find", "missing"} {
			text = strings.Replace(text, "\nfunc "+name+"(", fmt.Sprintf("\nfunc %s%d(", name, i), 1)
			text = regexp.MustCompile(`\b(`+name+`)(\((?:answer, body|page\)|page, path|charset|failure|header|"|`+"`"+`|script|title|widget|working|pattern))`).ReplaceAllString(text, fmt.Sprintf("${1}%d$2", i))
		}
		write(t, dir, f, text)
		fmt.Fprintf(&calls, "\tos.Stdout, _ = os.Create(%q)\n\tmain%d()\n", f+".out", i)
	}
	write(t, dir, "main.go", "package main\n\nimport \"os\"\n\nfunc main() {\n"+calls.String()+"}\n")
	write(t, dir, "go.mod", "module fetches\n\ngo 1.21\n")
	start(t, dir, goEnv(t), "go", "build", "-o", "fetches")
	start(t, dir, env, filepath.Join(dir, "fetches"))
}

// goEnv is the environment of Go's own command, with its usual cache. Without cgo it finds there
// what the program itself was built from.
func goEnv(t *testing.T) []string {
	t.Helper()
	return append(os.Environ(), "GOCACHE="+goVariable(t, "GOCACHE"), "CGO_ENABLED=0")
}

func goVariable(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
	noerr.Must(t, err)
	return strings.TrimSpace(string(out))
}

func runNode(t *testing.T, dir string, files, env []string) {
	modules(t, dir, "undici")
	write(t, dir, "all.mjs", `
import { openSync, writeSync } from "node:fs";
for (const f of process.argv.slice(2)) {
  const out = openSync(f + ".out", "w");
  process.stdout.write = (bytes) => writeSync(out, bytes);
  await import("./" + f);
}
process.exitCode = 0; // not every answer is ok
`)
	start(t, dir, env, "node", append([]string{"all.mjs"}, files...)...)
}

// site is a target that keeps what arrives, by the first part of its path.
type site struct {
	mu   sync.Mutex
	seen map[string]arrived
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	path, query, _ := strings.Cut(r.RequestURI, "?")
	n, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	rest = "/" + rest + "?" + query
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = map[string]arrived{}
	}
	s.seen[n] = arrived{method: r.Method, target: rest, header: r.Header.Clone(), body: string(body)}
	_, _ = io.WriteString(w, "page "+n)
}

func (s *site) of(n int) (arrived, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.seen[strconv.Itoa(n)]
	return a, ok
}

// batch is how many fetches each client makes at a time.
const batch = 40

// Whatever a fetch is made of, the exported program sends it as the form has it: the real
// client, through the real proxy, to a target that compares.
func TestWhatArrivesThroughTheProxyIsTheForm(t *testing.T) {
	for _, c := range clients() {
		t.Run(c.target, func(t *testing.T) {
			t.Parallel()
			dir, target := t.TempDir(), &site{}
			web := httptest.NewServer(target)
			defer web.Close()
			demo := servicetest.Emulator(t, emulator.Options{AllowPrivate: []string{web.Listener.Addr().String()}})
			zone := servicetest.Zone(demo.Profile, "datacenter_demo")
			as, _ := export.Find(c.target)
			r := rand.New(rand.NewPCG(8, 22))
			var files []string
			requests := map[int]model.FetchRequest{}
			for n := 0; len(files) < batch; n++ {
				req := fuzzed(t, r, fmt.Sprintf("%s/%d", web.URL, n), zone, model.ViaNative)
				code, err := as.Code(export.Source{Profile: demo.Profile, Request: req, AtOnce: 3})
				if err != nil {
					if !refusable(c.target, req) {
						t.Errorf("%+v: %v", req, err)
					}
					continue
				}
				name := fmt.Sprintf("f%d%s", n, filepath.Ext(as.File))
				write(t, dir, name, code)
				files, requests[n] = append(files, name), req
			}
			c.run(t, dir, files, []string{export.PasswordEnv + "=" + demo.Password(zone)})
			var users []string
			for n, req := range requests {
				got, ok := target.of(n)
				if !ok {
					t.Errorf("%d did not arrive: %+v", n, req)
					continue
				}
				req.URL = web.URL + strings.TrimPrefix(req.URL, fmt.Sprintf("%s/%d", web.URL, n))
				for _, d := range differences(req, got) {
					t.Errorf("%d: %s\n%+v", n, d, req)
				}
				users = append(users, userOf(req))
			}
			wantLogins(t, demo, users)
		})
	}
}

// refusable reports whether a client may refuse a request: the reasons that the documentation
// names, found here in another way.
func refusable(target string, r model.FetchRequest) bool {
	method := strings.ToUpper(r.Method)
	if method == "" {
		method = http.MethodGet
	}
	path, _, _ := strings.Cut(r.URL, "#")
	path, _, _ = strings.Cut(path, "?")
	_, path, _ = strings.Cut(path, "://")
	_, path, _ = strings.Cut(path, "/")
	dots := slices.ContainsFunc(strings.Split(path, "/"), func(p string) bool { return unescaped(p) == "." || unescaped(p) == ".." })
	switch target {
	case "curl":
		return strings.Contains(r.Body, "\x00") || method == http.MethodHead && r.Body != ""
	case "python":
		return dots || strings.HasPrefix(path, "/") || strings.HasSuffix(path, ";")
	case "scrapy":
		return dots
	case "node":
		return dots || r.Body != "" && (method == http.MethodGet || method == http.MethodHead)
	default:
		return false
	}
}

// wantLogins waits until the emulator's journal has a login with each of the usernames: the
// entry of a tunnel is written when it ends, which may be after its program.
func wantLogins(t *testing.T, demo servicetest.Demo, users []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	missing := map[string]bool{}
	for _, user := range users {
		missing[user] = true
	}
	seen := errors.New("all were seen")
	err := rehearsal.New(func(context.Context) (rehearsal.Place, error) {
		return rehearsal.Place{URL: demo.Control, Token: keystore.NewSecret(demo.Token)}, nil
	}).Follow(ctx, 0, func(r rehearsal.Request, _ uint64) error {
		if delete(missing, r.User); len(missing) == 0 {
			return seen
		}
		return nil
	})
	if !errors.Is(err, seen) {
		t.Errorf("nobody logged in as %v: %v", slices.Sorted(maps.Keys(missing)), err)
	}
}

// userOf is the username that the documentation gives for a fetch.
func userOf(r model.FetchRequest) string {
	user := "brd-customer-hl_demo01-zone-" + string(r.Zone.Name)
	if r.Country != "" {
		user += "-country-" + r.Country
	}
	return user + "-session-" + r.Session
}

// By API the body of POST /request has every field of the form, and the key stands in the
// header alone.
func TestWhatArrivesAtTheAPIIsTheForm(t *testing.T) {
	for _, c := range clients() {
		t.Run(c.target, func(t *testing.T) {
			t.Parallel()
			dir, target := t.TempDir(), &site{}
			web := httptest.NewServer(target)
			defer web.Close()
			demo := servicetest.Emulator(t, emulator.Options{AllowPrivate: []string{web.Listener.Addr().String()}})
			zone := servicetest.Zone(demo.Profile, "datacenter_demo")
			key, _ := demo.Key("batch-user")
			value, _ := demo.Secret(t.Context(), key.Secret)
			api, err := url.Parse(demo.Profile.BaseURL)
			noerr.Must(t, err)
			var mu sync.Mutex
			calls := map[string]arrived{}
			forward := httputil.NewSingleHostReverseProxy(api)
			front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				var sent struct{ Session string }
				if err := json.Unmarshal(body, &sent); err != nil {
					t.Errorf("%v in %q", err, body)
				}
				mu.Lock()
				calls[sent.Session] = arrived{method: r.Method, target: r.RequestURI, header: r.Header.Clone(), body: string(body)}
				mu.Unlock()
				r.Body = io.NopCloser(strings.NewReader(string(body)))
				forward.ServeHTTP(w, r)
			}))
			defer front.Close()
			demo.Profile.BaseURL = front.URL
			as, _ := export.Find(c.target)
			r := rand.New(rand.NewPCG(8, 23))
			var files []string
			var requests []model.FetchRequest
			for n := range batch {
				req := fuzzed(t, r, fmt.Sprintf("%s/%d", web.URL, n), zone, model.ViaAPI)
				code, err := as.Code(export.Source{Profile: demo.Profile, Request: req, Key: key.Secret})
				if err != nil {
					t.Fatalf("%+v: %v", req, err)
				}
				name := fmt.Sprintf("f%d%s", n, filepath.Ext(as.File))
				write(t, dir, name, code)
				files, requests = append(files, name), append(requests, req)
			}
			c.run(t, dir, files, []string{export.KeyEnv + "=" + value.Reveal()})
			for n, req := range requests {
				got, ok := calls[req.Session]
				if !ok {
					t.Errorf("%d did not arrive: %+v", n, req)
					continue
				}
				if got.method != http.MethodPost || got.target != "/request" || got.header.Get("Authorization") != "Bearer "+value.Reveal() || got.header.Get("Content-Type") != "application/json" {
					t.Errorf("%d: %+v", n, got)
				}
				if want := fields(req); !maps.Equal(decoded(t, got.body), want) {
					t.Errorf("%d: %s\nwant %v", n, got.body, want)
				}
				if _, ok := target.of(n); !ok && req.Method != "PROPFIND" { // which the service does not send on
					t.Errorf("%d did not get to the target: %+v", n, req)
				}
			}
		})
	}
}

// fields are what the service is told of a fetch.
func fields(r model.FetchRequest) map[string]string {
	out := map[string]string{"zone": string(r.Zone.Name), "url": r.URL, "format": "raw", "session": r.Session}
	for name, value := range map[string]string{"method": strings.ToUpper(r.Method), "body": r.Body, "country": r.Country} {
		if value != "" && value != http.MethodGet {
			out[name] = value
		}
	}
	for name, values := range r.Header {
		out["header "+http.CanonicalHeaderKey(name)] = strings.Join(values, ", ")
	}
	return out
}

func decoded(t *testing.T, body string) map[string]string {
	t.Helper()
	var all map[string]any
	noerr.Want(t, json.Unmarshal([]byte(body), &all))
	out := map[string]string{}
	for name, v := range all {
		if headers, ok := v.(map[string]any); ok {
			for h, v := range headers {
				out["header "+h] = fmt.Sprint(v)
			}
			continue
		}
		out[name] = fmt.Sprint(v)
	}
	return out
}

// A page over TLS, whose certificate the emulator's authority made: each program trusts the
// file that is named, and nothing without it.
func TestAProgramTrustsTheAuthorityThatItNames(t *testing.T) {
	for _, c := range clients() {
		t.Run(c.target, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			demo := servicetest.Emulator(t, emulator.Options{})
			zone := servicetest.Zone(demo.Profile, "residential_demo")
			as, _ := export.Find(c.target)
			req := model.FetchRequest{Zone: zone, Via: model.ViaNative, URL: "https://lab.test/whoami?q=1", Method: "PUT", Body: "é", Header: http.Header{"X-It": {"yes"}}}
			code, err := as.Code(export.Source{Profile: demo.Profile, Request: req, AtOnce: 3})
			noerr.Must(t, err)
			env := []string{export.PasswordEnv + "=" + demo.Password(zone)}
			file := "one" + filepath.Ext(as.File)
			write(t, dir, file, code)
			if c.target != "go" && c.target != "scrapy" { // whose driver replaces main; the rest runs as it is
				c.run(t, dir, []string{file}, env)
			} else {
				write(t, dir, file+".out", alone(t, dir, file, env))
			}
			out, err := os.ReadFile(filepath.Join(dir, file+".out"))
			noerr.Must(t, err)
			var who struct {
				Method, Path, Body string
				TLS                bool
				Headers            http.Header
			}
			if err := json.Unmarshal(out, &who); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if who.Method != http.MethodPut || who.Path != "/whoami?q=1" || who.Body != "é" || !who.TLS || who.Headers.Get("X-It") != "yes" {
				t.Errorf("%+v", who)
			}
		})
	}
}

// alone runs one program as an operator does.
func alone(t *testing.T, dir, file string, env []string) string {
	t.Helper()
	if strings.HasSuffix(file, ".py") {
		return start(t, dir, env, python(t, "scrapy"), file)
	}
	need(t, "go", "go")
	return start(t, dir, append(goEnv(t), env...), "go", "run", file)
}
