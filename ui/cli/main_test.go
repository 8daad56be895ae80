package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/internal/schematest"
	"zonedeck/model"
	"zonedeck/service"
)

// process is the program with an empty home and without a terminal.
func process(t *testing.T, env map[string]string, args ...string) (p Process, stdout, stderr *bytes.Buffer) {
	t.Helper()
	home := t.TempDir()
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	return Process{
		Args: args, Stdin: strings.NewReader(""), Stdout: stdout, Stderr: stderr,
		Getenv: func(name string) string {
			if kind, ok := strings.CutPrefix(name, "XDG_"); ok {
				return filepath.Join(home, strings.ToLower(kind))
			}
			if name == "HOME" {
				return home
			}
			return env[name]
		},
		Now: time.Now,
	}, stdout, stderr
}

func TestAnInterruptedFetchEndsAtOnceWith130(t *testing.T) {
	arrived := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		close(arrived)
		<-r.Context().Done()
	}))
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
	}()
	p, stdout, stderr := process(t, map[string]string{service.EnvKey: "a-key-that-nobody-has"},
		"--base-url", s.URL, "request", "http://lab.test/ok", "--zone", "z")
	if code := Main(ctx, p); code != ExitInterrupted {
		t.Fatalf("exit code %d, want %d; stderr %q", code, ExitInterrupted, stderr)
	}
	if stdout.Len() > 0 || !strings.Contains(stderr.String(), "interrupted") {
		t.Errorf("stdout %q, stderr %q", stdout, stderr)
	}
}

func TestAnAnswerThatIsSlowToSearchEndsWith25AndSaysWhy(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html><body>"+strings.Repeat("a page. ", 8000)+strings.Repeat(`\u0061`, 100_000))
	}))
	defer s.Close()
	p, _, stderr := process(t, map[string]string{service.EnvKey: strings.Repeat("a", 64)}, "--base-url", s.URL, "request", "http://lab.test/ok", "--zone", "z")
	if code := Main(t.Context(), p); code != exitState || !strings.Contains(stderr.String(), "replaced by asterisks: the answer is crafted") {
		t.Errorf("exit code %d, want %d; stderr %q", code, exitState, stderr)
	}
}

func TestAnInterruptedDiagnoseOfStandardInputEndsAtOnceWith130(t *testing.T) {
	for _, begin := range []string{"", "HTTP/1.1 200 OK\n\n<html>"} {
		stdin, terminal := io.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		p, stdout, stderr := process(t, nil, "diagnose", "-")
		p.Stdin = io.MultiReader(strings.NewReader(begin), whenRead{cancel}, stdin)
		if code := Main(ctx, p); code != ExitInterrupted || stdout.Len() > 0 {
			t.Errorf("after %q exit code %d, want %d; stdout %q, stderr %q", begin, code, ExitInterrupted, stdout, stderr)
		}
		terminal.Close()
	}
}

// whenRead is an empty reader that calls a function.
type whenRead struct{ call func() }

func (w whenRead) Read([]byte) (int, error) {
	w.call()
	return 0, io.EOF
}

// readyLine runs "emulate" until it is ready, checks its line against the schema and
// ends it like a signal.
func readyLine(t *testing.T, args ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p, _, stderr := process(t, nil, append([]string{"emulate", "--proxy", "127.0.0.1:0", "--cdp", "127.0.0.1:0", "--json"}, args...)...)
	r, w := io.Pipe()
	p.Stdout = w
	code := make(chan int, 1)
	go func() {
		code <- Main(ctx, p)
		w.Close()
	}()
	line, err := bufio.NewReader(r).ReadBytes('\n')
	if err != nil {
		t.Fatalf("no ready line: %v; stderr %q", err, stderr)
	}
	noerr.Want(t, schematest.Check(filepath.Join("..", "..", "docs", "schema", "emulate.json"), line))
	var ready struct{ CA string }
	noerr.Must(t, json.Unmarshal(line, &ready))
	if _, err := os.Stat(ready.CA); err != nil {
		t.Errorf("the CA's file: %v", err)
	}
	cancel()
	go func() { _, _ = io.Copy(io.Discard, r) }()
	if got := <-code; got != exitOK {
		t.Errorf("exit code %d; stderr %q", got, stderr)
	}
	return line
}

func TestEmulateSaysWhenItIsReadyAndEndsCleanly(t *testing.T) {
	line := readyLine(t)
	var ready struct {
		SchemaVersion                int `json:"schema_version"`
		API, Proxy, Lab, CA, Account string
		UsernamePrefix               string `json:"username_prefix"`
		Keys                         []struct{ Name, Level, Value, Expires string }
		Zones                        []struct{ Name, Product, Password string }
	}
	noerr.Must(t, json.Unmarshal(line, &ready))
	if ready.SchemaVersion != 1 || ready.Lab != "http://lab.test" || len(ready.Keys) != 8 || len(ready.Zones) != len(model.Products()) {
		t.Errorf("ready line %s", line)
	}
}

func TestAScenarioIsTheAccountThatEmulatePlays(t *testing.T) {
	file := filepath.Join(t.TempDir(), "own.toml")
	noerr.Must(t, os.WriteFile(file, []byte(`
account = "hl_ci"
username_prefix = "ci"
[[keys]]
name = "old"
level = "OPS"
expires_in = "-3d"
rotated_ago = "52d"
value = "value-of-old"
[[keys]]
name = "free"
level = "USER"
[[zones]]
name = "z1"
product = "serp"
password = "pw"
`), 0o600))
	line := readyLine(t, "--scenario", file)
	var ready struct {
		Account string
		Keys    []struct {
			Name, Level, Value, Expires string
			Rotated                     string
		}
		Zones []struct{ Name, Product, Password string }
	}
	noerr.Must(t, json.Unmarshal(line, &ready))
	if ready.Account != "hl_ci" || len(ready.Keys) != 2 || len(ready.Zones) != 1 || ready.Zones[0].Password != "pw" {
		t.Fatalf("ready line %s", line)
	}
	old, free := ready.Keys[0], ready.Keys[1]
	expires, err := time.Parse(time.RFC3339, old.Expires)
	if err != nil || old.Value != "value-of-old" || time.Since(expires).Round(24*time.Hour) != 72*time.Hour || old.Rotated == "" {
		t.Errorf("key old: %+v", old)
	}
	if free.Expires != "Unlimited" || free.Rotated != "" || len(free.Value) != 64 {
		t.Errorf("key free: %+v", free)
	}
}

func TestDurationsTakeDaysAndWeeks(t *testing.T) {
	day := 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"30s": 30 * time.Second, "14d": 14 * day, "2w": 14 * day, "1d12h": 36 * time.Hour, "1w1d": 8 * day, "0.5d": 12 * time.Hour,
	} {
		if got, err := parseDuration(text); err != nil || got != want {
			t.Errorf("parseDuration(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "soon", "14", "-3d", "d", "3dd"} {
		if got, err := parseDuration(text); err == nil {
			t.Errorf("parseDuration(%q) = %v, want an error", text, got)
		}
	}
}

func TestEveryClassAndCauseHasItsExitCode(t *testing.T) {
	outside := func(c model.Cause) model.Diagnosis { return model.Diagnosis{Class: model.ClassOutside, Cause: c} }
	for _, c := range []struct {
		d    model.Diagnosis
		want int
	}{
		{model.Diagnosis{Class: model.ClassOK}, 0},
		{model.Diagnosis{Class: model.ClassAccessRestricted}, 10},
		{model.Diagnosis{Class: model.ClassTooFast}, 11},
		{model.Diagnosis{Class: model.ClassCaptcha}, 12},
		{model.Diagnosis{Class: model.ClassTimeout}, 13},
		{model.Diagnosis{Class: model.ClassParsingDrift}, 14},
		{model.NotOver(24*time.Hour, ""), 20},
		{outside(model.CauseNetwork), 21},
		{outside(model.CauseTLSTrust), 22},
		{outside(model.CauseKeyRejected), 23},
		{outside(model.CauseLoginRejected), 23},
		{outside(model.CauseTargetError), 24},
		{outside(model.CauseEmptyBody), 24},
		{outside(model.CauseServiceError), 26},
		{outside(model.CauseRequestRefused), 27},
	} {
		if got := diagnosisExit(c.d); got != c.want {
			t.Errorf("%s %s: exit code %d, want %d", c.d.Class, c.d.Cause, got, c.want)
		}
	}
}

func TestALineBreakIsNotWrittenIntoALine(t *testing.T) {
	for flag, command := range map[string]string{"--program": "schedule keys --as cron", "--metrics": "schedule keys --as systemd", "--profile": "schedule jobs --as systemd"} {
		p, stdout, stderr := process(t, nil, append(strings.Fields(command), flag, "a\nb")...)
		if code := Main(t.Context(), p); code != 2 || stdout.Len() > 0 || !strings.Contains(stderr.String(), flag+": a line break") {
			t.Errorf("%s: %d, %q, %q", command, code, stdout, stderr)
		}
	}
}
