package whole

import (
	"bytes"
	"fmt"
	"image/color"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"zonedeck/internal/noerr"
	"zonedeck/ui/cli"
	"zonedeck/ui/uitest"
)

// moment is what every clock of a golden screen shows, so that ages, dates and
// durations never change: what is timed takes no time.
var moment = time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)

// home is an operator's files and environment for one screen.
type home struct {
	t   *testing.T
	dir string
	env map[string]string
	now time.Time
	// watched says that its console looks at the files that others change, as it does on a terminal.
	watched bool
	// later is how far its clock was moved since.
	later atomic.Int64
}

func newHome(t *testing.T) *home {
	t.Helper()
	// A name of fixed length: paths are on screens, and where a line breaks must not
	// depend on the run.
	dir := fmt.Sprintf("/tmp/zd%06x", rand.Uint32N(1<<24))
	noerr.Must(t, os.Mkdir(dir, 0o700))
	t.Cleanup(func() { noerr.Want(t, os.RemoveAll(dir)) })
	env := map[string]string{"HOME": dir, "TERM": "xterm-256color", "ZONEDECK_EMULATOR_PROXY": "127.0.0.1:0"}
	for _, kind := range []string{"CONFIG", "DATA", "STATE", "CACHE"} {
		env["XDG_"+kind+"_HOME"] = filepath.Join(dir, strings.ToLower(kind))
	}
	return &home{t: t, dir: dir, env: env, now: moment}
}

func (h *home) process(args ...string) cli.Process {
	return cli.Process{
		Args: args, Stdin: strings.NewReader(""), Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{},
		Getenv: func(name string) string { return h.env[name] }, Now: func() time.Time { return h.now.Add(time.Duration(h.later.Load())) },
	}
}

// yes answers a question, which takes no key in its first moments.
func (h *home) yes(p *uitest.Whole, title string) {
	p.WaitFor(title)
	h.later.Add(int64(time.Second))
	p.Press("y")
}

// run runs a command on the home's files, as in another window before.
func (h *home) run(args ...string) {
	h.t.Helper()
	p := h.process(append([]string{"--quiet"}, args...)...)
	cli.Main(h.t.Context(), p)
}

// write writes a file of the home.
func (h *home) write(name, text string) {
	h.t.Helper()
	path := filepath.Join(h.dir, name)
	noerr.Must(h.t, os.MkdirAll(filepath.Dir(path), 0o700))
	noerr.Must(h.t, os.WriteFile(path, []byte(text), 0o600))
}

// append adds to a file of the home.
func (h *home) append(name, text string) {
	h.t.Helper()
	h.write(name, h.read(name)+text)
}

// read is a file of the home.
func (h *home) read(name string) string {
	h.t.Helper()
	text, err := os.ReadFile(filepath.Join(h.dir, name))
	noerr.Must(h.t, err)
	return string(text)
}

// open opens the console on a terminal of w×h cells.
func (h *home) open(w, hgt int) *uitest.Whole {
	h.t.Helper()
	root, watch, closeSession, err := cli.Console(h.t.Context(), h.process())
	noerr.Must(h.t, err)
	var watching sync.WaitGroup
	h.t.Cleanup(func() {
		noerr.Want(h.t, closeSession())
		watching.Wait()
	})
	p := uitest.Run(h.t, root, w, hgt)
	if h.watched {
		watching.Go(func() { watch(p.Send) })
	}
	return p
}

// mask hides what differs from run to run: the home's path and the ports.
func (h *home) mask(screen string) string {
	screen = ports.ReplaceAllStringFunc(screen, func(s string) string {
		address, port, _ := strings.Cut(s, ":")
		return address + ":" + digits.ReplaceAllString(port, "*")
	})
	screen = snapshots.ReplaceAllStringFunc(screen, func(s string) string {
		return "sd_" + strings.Repeat("*", utf8.RuneCountInString(s)-3)
	})
	screen = requests.ReplaceAllStringFunc(screen, func(s string) string {
		return "req_id=" + strings.Repeat("*", len(s)-len("req_id="))
	})
	screen = certificates.ReplaceAllStringFunc(screen, func(s string) string {
		if strings.HasPrefix(s, "Print") {
			return s
		}
		return strings.Repeat("*", len(s))
	})
	screen = bodies.ReplaceAllStringFunc(screen, func(s string) string { return strings.Repeat("*", len(s)) })
	screen = maskElapsed(screen)
	screen = strings.ReplaceAll(screen, filepath.Base(h.dir), "operator")
	return dates.ReplaceAllString(screen, "Date: ***, ** *** **** **:**:** GMT")
}

// snapshots are the emulator's identifiers, cut or whole.
var snapshots = regexp.MustCompile(`sd_[a-z0-9]+…?`)

// bodies are the names of the files of webhooks, after "body-".
var bodies = regexp.MustCompile(`\b[a-z2-7]{26}\b`)

// requests are the emulator's names of requests: its start's word and a number.
var requests = regexp.MustCompile(`req_id=[0-9a-f]{8}_[0-9a-f]+`)

// dates are the HTTP dates that net/http writes by its own clock.
var dates = regexp.MustCompile(`Date: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT`)

// ports are those of this machine, also where a dialog covers their end.
var ports = regexp.MustCompile(`127\.0\.0\.1:(\d{5}\b|\d{1,4}│)`)

var digits = regexp.MustCompile(`\d`)

// screen is one golden: what happened before, what is pressed, what to wait for.
type screen struct {
	// name is the tab and what is on it: "jobs/empty".
	name string
	// before prepares the home.
	before func(h *home)
	// steps bring the console to the screen; the last thing they do is to wait.
	steps func(p *uitest.Whole)
	// after changes the home while the console is open, and waits for what it does.
	after func(h *home, p *uitest.Whole)
}

// script makes one of several steps.
func script(steps ...func(*uitest.Whole)) func(*uitest.Whole) {
	return func(p *uitest.Whole) {
		for _, step := range steps {
			step(p)
		}
	}
}

// see presses keys, with blanks between them, and waits for texts.
func see(keys string, texts ...string) func(*uitest.Whole) {
	return func(p *uitest.Whole) { p.PressFor(keys, texts...) }
}

func shows(texts ...string) func(*uitest.Whole) { return func(p *uitest.Whole) { p.WaitFor(texts...) } }

func gone(text string) func(*uitest.Whole)  { return func(p *uitest.Whole) { p.WaitGone(text) } }
func typed(text string) func(*uitest.Whole) { return func(p *uitest.Whole) { p.Type(text) } }

// golden is the name that the golden library gets for a screen.
func golden(screen string) string { return "screens/" + screen }

// size is that of a terminal, in cells.
type size struct{ w, h int }

// sizes are the sizes at which the screen has a golden: those that README shows as
// pictures on a large terminal, too.
func (s screen) sizes() []size {
	sizes := []size{{80, 24}}
	if mainScreens[s.name] {
		sizes = append(sizes, size{120, 40})
	}
	if pictures[s.name] {
		sizes = append(sizes, size{200, 60})
	}
	return sizes
}

// ready waits for the emulator.
func ready(p *uitest.Whole) { p.WaitFor("batch-user") }

// fromHistory opens a fetch of the home's history, and waits until the toast about it has gone.
func fromHistory(p *uitest.Whole, texts ...string) {
	ready(p)
	p.PressFor("5", "last 1")
	p.PressFor("enter", append(texts, "from history")...)
	p.WaitGone("The form holds this request now")
}

func before(args ...string) func(h *home) { return func(h *home) { h.run(args...) } }

func TestGoldenScreens(t *testing.T) {
	for _, s := range screens(t) {
		for _, size := range s.sizes() {
			name := fmt.Sprintf("%s-%dx%d", s.name, size.w, size.h)
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				h := newHome(t)
				if s.before != nil {
					s.before(h)
				}
				p := h.open(size.w, size.h)
				s.steps(p)
				if s.after != nil {
					s.after(h, p)
				}
				p.Golden(t, golden(name), h.mask)
				if pictures[s.name] && size.w == 120 {
					picture(t, p, filepath.Join("docs", "pictures", strings.ReplaceAll(s.name, "/", "-")+".svg"), h.mask)
				}
				if size.w == 80 {
					drawnWhole(t, p)
				}
			})
		}
	}
}

// pictures are the screens that README and docs show as SVG.
var pictures = map[string]bool{
	"jobs/ready": true, "proxy/tested": true, "keys/list": true, "sandbox/code": true, "jobs/batch": true,
}

func screens(t *testing.T) []screen {
	service := startScripted(t)
	var all []screen
	for _, part := range [][]screen{sandboxScreens(), jobScreens(silentService(t)), proxyScreens(), keyScreens(), dueScreens(silentService(t)), zoneScreens(), activityScreens(), rehearsalScreens(), frameScreens(silentService(t)), outcomeScreens(service), jobStateScreens(service), jobDialogScreens(service), jobQuestionScreens(service), proxyFailureScreens(service), keyDialogScreens(service), toastScreens(service), otherProfileScreens(service), accountScreens(service), accountStateScreens(service, silentService(t)), keyStateScreens(service, silentService(t)), compareScreens(service), bodyScreens(service), codeScreens(), collectionScreens(), productScreens(), agentScreens(), driftScreens(), inboxScreens(), batchScreens()} {
		all = append(all, part...)
	}
	return all
}

// silentService takes every request and breaks the connection, or never answers
// below /slow.
func silentService(t *testing.T) string {
	t.Helper()
	done := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/slow") {
			select {
			case <-r.Context().Done():
			case <-done:
			}
		}
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(func() {
		close(done)
		s.Close()
	})
	return s.URL
}

func sandboxScreens() []screen {
	fetch := func(path string, more ...string) func(h *home) {
		return before(append([]string{"request", "http://lab.test" + path, "--zone", "datacenter_demo", "--retries", "0"}, more...)...)
	}
	opened := func(texts ...string) func(p *uitest.Whole) {
		return func(p *uitest.Whole) { fromHistory(p, texts...) }
	}
	page := func(n int, text string) func(p *uitest.Whole) {
		return func(p *uitest.Whole) {
			ready(p)
			p.PressFor("ctrl+j", "It works")
			for range n {
				p.Press("]")
			}
			p.WaitFor(text)
		}
	}
	return []screen{
		{name: "sandbox/first-run", steps: func(p *uitest.Whole) { ready(p) }},
		{name: "sandbox/ok", steps: page(0, "It works")},
		{name: "sandbox/headers", steps: page(2, "X-Brd-Status-Code")},
		{name: "sandbox/timing", steps: page(3, "transfer")},
		{name: "sandbox/attempts", steps: page(4, "WAITED")},
		{name: "sandbox/forbidden", before: fetch("/forbidden"), steps: opened("access restricted", "403")},
		{name: "sandbox/too-fast", before: fetch("/too-fast"), steps: opened("too fast", "429")},
		{name: "sandbox/captcha", before: fetch("/captcha"), steps: func(p *uitest.Whole) {
			fromHistory(p, "CAPTCHA", "g-recaptcha")
		}},
		{name: "sandbox/timeout", before: fetch("/slow?s=20", "--timeout", "200ms"), steps: opened("timeout")},
		{name: "sandbox/drift", before: fetch("/shop?v=2", "--require", ".price"), steps: func(p *uitest.Whole) {
			fromHistory(p, "parsing drift")
		}},
		{name: "sandbox/folded", before: fetch("/shop?v=2", "--require", ".price"), steps: func(p *uitest.Whole) {
			fromHistory(p, "parsing drift")
			p.PressFor("esc j j j j j j space", "folded under More")
		}},
		{name: "sandbox/empty-answer", before: fetch("/empty"), steps: opened("but is empty")},
		{name: "sandbox/target-error", before: fetch("/error"), steps: opened("500")},
		{name: "sandbox/native-tls", before: fetch("/json", "--via", "native"), steps: opened("Native")},
		{name: "sandbox/zone-picker", steps: script(ready, see("enter", "type to filter"))},
		{name: "sandbox/wrong-url", steps: func(p *uitest.Whole) {
			ready(p)
			p.Press("j", "enter", "ctrl+u")
			p.Type("lab.test/ok")
			p.PressFor("ctrl+j", "absolute")
		}},
	}
}

func activityScreens() []screen {
	return []screen{
		{name: "history/empty", steps: script(ready, see("5", "Nothing has happened yet"))},
		{name: "history/filter", before: func(h *home) {
			h.run("request", "http://lab.test/ok", "--zone", "unlocker_demo")
			h.run("request", "http://lab.test/captcha", "--zone", "datacenter_demo")
			h.run("proxy", "test", "--zone", "isp_demo")
		}, steps: func(p *uitest.Whole) {
			ready(p)
			p.PressFor("5", "isp_demo")
			p.Press("/")
			p.Type("class:captcha")
			p.PressFor("enter", "last 1")
		}},
	}
}

func frameScreens(silent string) []screen {
	return []screen{
		{name: "root/help", steps: script(ready, see("?", "esc close"))},
		{name: "root/palette", steps: func(p *uitest.Whole) {
			ready(p)
			p.Press("ctrl+p")
			p.Type("profile")
			p.WaitFor("add profile")
		}},
		{name: "profiles/add", steps: func(p *uitest.Whole) {
			ready(p)
			p.Press("ctrl+p")
			p.Type("add profile")
			p.PressFor("enter", "Base URL")
		}},
		{name: "root/real-account-sending", before: func(h *home) {
			h.env["ACME_KEY"] = "a-key-of-nobody-f2a1"
			h.write("config/zonedeck/config.toml", fmt.Sprintf("default_profile = \"acme\"\n[profiles.acme]\nbase_url = \"%s/slow\"\nkey = \"etl-main\"\n[[profiles.acme.zones]]\nname = \"unlocker1\"\nproduct = \"unlocker\"\n", silent))
			h.write("data/zonedeck/keys.toml", "[[keys]]\nname = \"etl-main\"\nlevel = \"OPS\"\nduty = \"batch job\"\nsecret = \"env:ACME_KEY\"\n")
		}, steps: func(p *uitest.Whole) {
			p.WaitFor("acme", "etl-main", "type the target's") // the address has the focus
			p.Press("enter")
			p.Type("https://example.com/page")
			p.PressFor("ctrl+j", "1 running")
			p.PressFor("ctrl+c", "quit")
		}},
	}
}

func TestGoldenTooSmall(t *testing.T) {
	h := newHome(t)
	p := h.open(59, 15)
	p.WaitFor("zonedeck needs")
	uitest.Golden(t, golden("root/too-small"), p.Screen())
}

// colours are the terminals on which the screen is compared with its colours.
var colours = map[string]struct {
	env        map[string]string
	background color.Color // nil where the terminal does not tell
}{
	"colours":       {},
	"colours-none":  {env: map[string]string{"NO_COLOR": "1"}},
	"colours-light": {background: color.White},
}

func TestGoldenColours(t *testing.T) {
	for name, terminal := range colours {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			for k, v := range terminal.env {
				h.env[k] = v
			}
			p := h.open(80, 24)
			if terminal.background != nil {
				p.Send(tea.BackgroundColorMsg{Color: terminal.background})
			}
			ready(p)
			p.PressFor("4", "old-admin")
			styled := p.Styled()
			if terminal.env != nil && strings.Contains(styled, "\x1b[38") {
				t.Error("NO_COLOR is set and there is a colour on the screen")
			}
			uitest.Golden(t, golden("root/"+name), h.mask(styled))
		})
	}
}

// goldenFile is where a screen's golden is.
func goldenFile(screen string) string {
	return filepath.Join("testdata", filepath.FromSlash(golden(screen))+".golden")
}

func TestGoldenNothingElse(t *testing.T) {
	known := map[string]bool{}
	known[goldenFile("root/too-small")] = true
	for name := range colours {
		known[goldenFile("root/"+name)] = true
	}
	for _, s := range screens(t) {
		for _, size := range s.sizes() {
			known[goldenFile(fmt.Sprintf("%s-%dx%d", s.name, size.w, size.h))] = true
		}
	}
	files, err := filepath.Glob("testdata/screens/*/*")
	noerr.Must(t, err)
	for _, f := range files {
		if !known[f] {
			t.Errorf("%s belongs to no test", f)
		}
	}
	if len(files) < 40 {
		t.Errorf("%d golden screens, want at least 40", len(files))
	}
}
