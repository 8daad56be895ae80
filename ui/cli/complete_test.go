package cli

import (
	"bytes"
	"database/sql"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/spf13/cobra"

	"zonedeck/internal/noerr"
	"zonedeck/service/config"
	"zonedeck/service/servicetest"
)

// completed is what a shell is offered for the last word of a line, without the descriptions.
func completed(t *testing.T, p Process, words ...string) (values []string, all string) {
	t.Helper()
	var out bytes.Buffer
	p.Args, p.Stdout, p.Stderr = append([]string{cobra.ShellCompRequestCmd}, words...), &out, io.Discard
	if code := Main(t.Context(), p); code != exitOK {
		t.Errorf("%q: exit code %d", words, code)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for _, line := range lines[:len(lines)-1] { // the last one says how to go on
		value, _, _ := strings.Cut(line, "\t")
		values = append(values, value)
	}
	return values, out.String()
}

// namedAfterSecretRuns are a command line for each kind, whose last word can be what the runs of secretRuns have left.
var namedAfterSecretRuns = map[string]struct {
	line []string
	want string
}{
	"zone":      {[]string{"compare", "http://x.test", "--zones", "dc1,"}, "dc1,unlocker1"},
	"key":       {[]string{"keys", "rotate", ""}, "money"},
	"profile":   {[]string{"--profile", ""}, "filed"},
	"job":       {[]string{"jobs", "show", "job-1"}, "job-1"},
	"batch":     {[]string{"batch", "show", ""}, "t"},
	"webhook":   {[]string{"webhook", "mark", ""}, "hook-1"},
	"dataset":   {[]string{"jobs", "launch", ""}, "gd_1"},
	"collector": {[]string{"drift", "check", "shop.test/ok", ""}, "gd_1"},
	"request":   {[]string{"request", "--saved", ""}, "two"},
	"class":     {[]string{"har", "--class", "cap"}, "captcha"},
	"program":   {[]string{"export", "--as", ""}, "scrapy"},
	"dialect":   {[]string{"profiles", "add", "x", "--dialect", ""}, "brightdata"},
	"color":     {[]string{"profiles", "edit", "acme", "--color", ""}, "magenta"},
	"field":     {[]string{"profiles", "edit", "acme", "--clear", ""}, "key-rate"},
	"a|b":       {[]string{"keys", "export", "--as", ""}, "prometheus"},
	"a|b|c":     {[]string{"request", "--engine", ""}, "duckduckgo"},
}

// completesNames holds completion to what the runs of secretRuns have left, and searches what it offers for secrets.
func completesNames(t *testing.T, p Process) {
	t.Helper()
	for kind := range strings.FieldsSeq(kinds) {
		if _, has := namedAfterSecretRuns[kind]; !has && !slices.Contains([]string{"fetch", "file", "FILE", "folder", "output", "data"}, kind) {
			t.Errorf("nothing completes a %s", kind)
		}
	}
	check := func(line []string, want string) {
		values, all := completed(t, p, line...)
		if !slices.Contains(values, want) {
			t.Errorf("%q offers %q, without %q", line, values, want)
		}
		for _, leak := range servicetest.Leaks(strings.Join(line, " "), []byte(all), marked()...) {
			t.Error(leak)
		}
	}
	for _, named := range namedAfterSecretRuns {
		check(named.line, named.want)
	}
	fetches, _ := completed(t, p, "har", "")
	if len(fetches) < 3 || !strings.HasPrefix(fetches[0], "f_") {
		t.Errorf("har offers %q", fetches)
	} else {
		check([]string{"har", fetches[0], fetches[1][:4]}, fetches[1])
	}
}

// Completing reads the files that are there. It makes none, starts no emulator and opens no connection.
func TestCompletionOnlyReads(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	noerr.Must(t, err)
	go func() {
		for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
			t.Error("a connection was opened")
			conn.Close()
		}
	}()
	defer l.Close()
	p, _, _ := process(t, nil)
	home := p.Getenv("HOME")
	lines := [][]string{{"jobs", "adopt", ""}, {"--config", "-", "request", "--zone", ""}, {"--config", "none.toml", "request", "--zone", ""}, {"request", "--nothing", ""}}
	for _, named := range namedAfterSecretRuns {
		lines = append(lines, named.line)
	}
	server := []string{"--base-url", "http://" + l.Addr().String(), "--database", "postgres://nobody@" + l.Addr().String() + "/none?sslmode=disable"}
	for _, line := range lines {
		completed(t, p, line...)
		completed(t, p, append(slices.Clone(server), line...)...)
	}
	if made, err := os.ReadDir(home); err != nil || len(made) > 0 {
		t.Errorf("completing made %v, %v", made, err)
	}
	for line, want := range map[string]string{"request --zone unl": "unlocker_demo", "keys rotate etl": "etl-main", "jobs launch gd_pr": "gd_products"} {
		if values, _ := completed(t, p, strings.Fields(line)...); !slices.Equal(values, []string{want}) {
			t.Errorf("%s offers %q without an emulator", line, values)
		}
	}
}

// A WAL that a killed process left stays as it is: completing does not copy it back, and leaves nothing beside a file.
func TestCompletionLeavesTheDatabasesAlone(t *testing.T) {
	p, _, _ := process(t, map[string]string{"ZONEDECK_EMULATOR_PROXY": "127.0.0.1:0"})
	p.Args, p.Stdin = []string{"jobs", "launch", "gd_products", "--input", "-"}, strings.NewReader("http://lab.test/product/1\n")
	if code := Main(t.Context(), p); code != exitOK {
		t.Fatal(code)
	}
	path := config.FindPaths(p.Getenv).LedgerFile()
	files := func() map[string]string {
		found := map[string]string{}
		for _, tail := range []string{"", "-wal", "-journal"} {
			if b, err := os.ReadFile(path + tail); err == nil {
				found[filepath.Base(path)+tail] = string(b)
			}
		}
		return found
	}
	for _, left := range []bool{false, true} {
		if left {
			db, err := sql.Open("sqlite", path)
			noerr.Must(t, err)
			noerr.Must(t, noerr.From(db.ExecContext(t.Context(), "CREATE TABLE seen (n)")))
			killed := files()
			noerr.Must(t, db.Close())
			for name, text := range killed {
				noerr.Must(t, os.WriteFile(filepath.Join(filepath.Dir(path), name), []byte(text), 0o600))
			}
		}
		before := files()
		if left != (len(before[filepath.Base(path)+"-wal"]) > 0) {
			t.Fatalf("with a WAL %t: %v", left, slices.Collect(maps.Keys(before)))
		}
		if values, _ := completed(t, p, "jobs", "show", ""); !slices.Equal(values, []string{"job-1"}) {
			t.Errorf("with a WAL %t it offers %q", left, values)
		}
		if after := files(); !maps.Equal(before, after) {
			t.Errorf("with a WAL %t the files were %v and are %v", left, slices.Collect(maps.Keys(before)), slices.Collect(maps.Keys(after)))
		}
	}
}

// Subcommands and files stand side by side where a command takes either.
func TestFilesAreOfferedBesideSubcommands(t *testing.T) {
	p, _, _ := process(t, nil)
	t.Chdir(t.TempDir())
	for _, name := range []string{"rows.csv", "resumed.txt", "urls.txt", ".rows", "a b"} {
		noerr.Must(t, os.WriteFile(name, nil, 0o600))
	}
	for typed, want := range map[string][]string{"resu": {"results", "resume", "resumed.txt"}, "ro": nil} {
		if values, _ := completed(t, p, "batch", typed); !slices.Equal(values, want) {
			t.Errorf("%s offers %q", typed, values)
		}
	}
	if values, _ := completed(t, p, "batch", ""); !slices.Equal(values[len(values)-3:], []string{"resumed.txt", "rows.csv", "urls.txt"}) {
		t.Errorf("%q", values)
	}
}

// A name that a shell or a terminal would obey is not offered.
func TestHostileNamesAreNotOffered(t *testing.T) {
	p, _, _ := process(t, nil)
	keys := filepath.Join(p.Getenv("XDG_DATA_HOME"), "zonedeck", "keys.toml")
	noerr.Must(t, os.MkdirAll(filepath.Dir(keys), 0o700))
	var text strings.Builder
	for _, name := range []string{`mine`, `a\u001b[31m`, `a\u202eb`, `a\nb`, `$(id)`, "`id`", `a;b`, `a b`, `a\"b`, `a'b`, `a*`, `a\\b`, `--reveal`, `=ls`, `@x`, `a’b`} {
		fmt.Fprintf(&text, "[[keys]]\nname = \"%s\"\nlevel = \"USER\"\n", name)
	}
	noerr.Must(t, os.WriteFile(keys, []byte(text.String()), 0o600))
	values, all := completed(t, p, "keys", "uses", "")
	if i := slices.Index(values, "mine"); i != len(values)-1 || slices.ContainsFunc(values, func(v string) bool { return strings.HasPrefix(v, "-") || strings.ContainsAny(v, "=@’") }) || strings.ContainsAny(all, "\x1b\u202e$`") {
		t.Errorf("%q", all)
	}
}

// shells are the programs that complete, and how each begins. In front of the program stands a function that prints the
// line that was completed.
var shells = map[string]struct{ args, begin string }{
	"bash": {"--noprofile --norc -i", "source <(zonedeck completion bash); " + shownLine},
	"zsh":  {"-f -i", "autoload -U compinit; compinit -u -D; source <(zonedeck completion zsh); " + shownLine},
	"fish": {"--no-config -i", "zonedeck completion fish | source; function zonedeck; if string match -q '__*' -- $argv[1]; command zonedeck $argv; else; printf '<%s>\\n' \"$argv\"; end; end"},
}

const shownLine = `zonedeck() { case "$1" in __*) command zonedeck "$@";; *) printf '<%s>\n' "$*";; esac; }`

func TestShellsComplete(t *testing.T) {
	p, _, _ := process(t, map[string]string{"ZONEDECK_EMULATOR_PROXY": "127.0.0.1:0"})
	run := func(stdin string, args ...string) {
		p.Args, p.Stdin, p.Stderr = args, strings.NewReader(stdin), io.Discard
		if code := Main(t.Context(), p); code != exitOK {
			t.Fatalf("%q: exit code %d", args, code)
		}
	}
	run("http://lab.test/product/1\n", "jobs", "launch", "gd_products", "--input", "-")
	run("", "datasets", "list")
	run("", "saved", "add", "shop/cart", "http://lab.test/shop", "--zone", "unlocker_demo")
	noerr.Must(t, os.WriteFile(filepath.Join(p.Getenv("HOME"), "answer.txt"), nil, 0o600))
	env := []string{"HOME=" + p.Getenv("HOME"), "PATH=" + os.Getenv("PATH"), "TERM=dumb", "LC_ALL=C.UTF-8"}
	for _, v := range []string{"CONFIG", "DATA", "STATE", "CACHE"} {
		env = append(env, "XDG_"+v+"_HOME="+p.Getenv("XDG_"+v+"_HOME"))
	}
	for name, shell := range shells {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, err := exec.LookPath(name)
			if err != nil {
				t.Skipf("install %s to run this test", name)
			}
			cmd := exec.CommandContext(t.Context(), path, strings.Fields(shell.args)...)
			cmd.Env, cmd.Dir = env, p.Getenv("HOME")
			terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 200})
			noerr.Must(t, err)
			t.Cleanup(func() { terminal.Close(); _ = cmd.Process.Kill(); _ = cmd.Wait() })
			s := watch(terminal)
			s.expect(t, terminal, shell.begin+"; echo rea''dy", "ready")
			for typed, want := range map[string]string{
				"ver\t":                                        "version",
				"request --zone unl\t":                         "request --zone unlocker_demo",
				"request --zone=unl\t":                         "request --zone=unlocker_demo",
				"compare 'a  b' --zones isp_demo,unl\t":        "compare a  b --zones isp_demo,unlocker_demo",
				"compare x --zones isp_demo,mobile_demo,unl\t": "compare x --zones isp_demo,mobile_demo,unlocker_demo",
				"keys rotate etl\t":                            "keys rotate etl-main",
				"--profile lo\tpaths":                          "--profile local paths",
				"jobs show job\t":                              "jobs show job-1",
				"datasets show gd_produ\t":                     "datasets show gd_products",
				"request --saved sh\t":                         "request --saved shop/cart",
				"har --class capt\t":                           "har --class captcha",
				"export --as scr\t":                            "export --as scrapy",
				"diagnose ans\t":                               "diagnose answer.txt",
			} {
				s.expect(t, terminal, "zonedeck "+typed, "<"+want)
			}
		})
	}
}

// shown is what a terminal has shown.
type shown struct {
	mu   sync.Mutex
	text strings.Builder
	more chan struct{}
}

func watch(terminal io.Reader) *shown {
	s := &shown{more: make(chan struct{}, 1)}
	go func() {
		b := make([]byte, 4096)
		for n, err := terminal.Read(b); err == nil; n, err = terminal.Read(b) {
			s.mu.Lock()
			s.text.Write(b[:n])
			s.mu.Unlock()
			select {
			case s.more <- struct{}{}:
			default:
			}
		}
	}()
	return s
}

var sequences = regexp.MustCompile("\x1b\\[[0-9;?>]*[A-Za-z]|\x1b[=>]|\r")

// expect types a line and waits for what it prints.
func (s *shown) expect(t *testing.T, terminal io.Writer, line, want string) {
	t.Helper()
	s.mu.Lock()
	s.text.Reset()
	s.mu.Unlock()
	noerr.Must(t, noerr.From(io.WriteString(terminal, line+"\r")))
	late := time.After(30 * time.Second)
	for {
		s.mu.Lock()
		text := sequences.ReplaceAllString(s.text.String(), "")
		s.mu.Unlock()
		if strings.Contains(text, want) {
			return
		}
		select {
		case <-s.more:
		case <-late:
			t.Fatalf("%q: %q is not shown: %q", line, want, text)
		}
	}
}
