package whole

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/service/servicetest"
)

// marked is a secret that is looked for in everything that a process shows of itself.
const marked = "Zd+K3y/Marked=Value&0123456789"

// TestNoSecretIsInArgumentsOrInTheDumpOfACrash stops processes in the middle of a call that has the
// key: what they were started with, what they started, and what Go's runtime prints when it dies of
// a signal.
func TestNoSecretIsInArgumentsOrInTheDumpOfACrash(t *testing.T) {
	arrived := make(chan string, 10)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		arrived <- r.Header.Get("Authorization")
		<-r.Context().Done()
	}))
	defer s.CloseClientConnections()
	path, dir := program(t), t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		t.Helper()
		file := filepath.Join(dir, name)
		noerr.Must(t, os.MkdirAll(filepath.Dir(file), 0o700))
		noerr.Must(t, os.WriteFile(file, []byte(text), mode))
		return file
	}
	// The key comes from a command, which notes what it and its parent were started with.
	args := filepath.Join(dir, "args")
	value := write("value", marked, 0o600)
	helper := write("helper", "#!/bin/sh\ncat /proc/$$/cmdline /proc/$PPID/cmdline /proc/$$/environ >>"+args+"\ncat "+value+"\n", 0o700)
	write("config/zonedeck/config.toml", fmt.Sprintf("default_profile = \"acme\"\n[profiles.acme]\nbase_url = %q\ndialect = \"brightdata\"\nkey = \"daily\"\n[[profiles.acme.zones]]\nname = \"z1\"\nproduct = \"unlocker\"\n", s.URL), 0o600)
	write("data/zonedeck/keys.toml", "[[keys]]\nname = \"daily\"\nlevel = \"USER\"\nsecret = \"cmd:"+helper+"\"\n", 0o600)

	for _, c := range []struct {
		args   string
		stdin  string
		signal syscall.Signal
	}{
		{"request http://shop.test/ok --zone z1 --retries 0 --json", "", syscall.SIGQUIT},
		{"twin http://shop.test/ok --zones z1 --via api", "", syscall.SIGABRT},
		{"mcp --max-cost 1 --allow-unpriced", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"fetch","arguments":{"url":"http://shop.test/ok","zone":"z1"}}}
`, syscall.SIGQUIT},
		{"profiles add beta --base-url " + s.URL + " --dialect brightdata --store file", marked + "\n", syscall.SIGABRT},
	} {
		t.Run(strings.Fields(c.args)[0], func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			cmd := exec.CommandContext(ctx, path, strings.Fields(c.args)...)
			cmd.Env = environment(dir)
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			in, err := cmd.StdinPipe()
			noerr.Must(t, err)
			noerr.Must(t, cmd.Start())
			noerr.Must(t, noerr.From(in.Write([]byte(c.stdin))))
			if !strings.HasPrefix(c.args, "mcp") { // it ends with its input
				_ = in.Close()
			}
			select {
			case sent := <-arrived:
				if sent != "Bearer "+marked {
					t.Fatalf("the call has %q: nothing could be seen here", sent)
				}
			case <-ctx.Done():
				t.Fatalf("no call arrived; stderr %s", stderr.String())
			}
			own, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", cmd.Process.Pid))
			noerr.Must(t, err)
			noerr.Must(t, cmd.Process.Signal(c.signal))
			_ = cmd.Wait() // by the signal
			if !strings.Contains(stderr.String(), "goroutine ") {
				t.Fatalf("no dump: %s", stderr.String())
			}
			for where, text := range map[string][]byte{"the arguments": own, "stdout": stdout.Bytes(), "the dump": stderr.Bytes()} {
				for _, leak := range servicetest.Leaks(where, text, marked) {
					t.Error(leak)
				}
			}
		})
	}
	noted, err := os.ReadFile(args)
	if err != nil || !bytes.Contains(noted, []byte("shop.test")) {
		t.Fatalf("the helper noted %q, %v", noted, err)
	}
	found, err := servicetest.LeaksUnder(dir, []string{"value"}, marked)
	noerr.Want(t, err)
	for _, leak := range found {
		t.Error(leak)
	}
}

func TestNoSecretIsInTheDumpOfAConsole(t *testing.T) {
	dir := t.TempDir()
	term := openTerminal(t, 120, 40, environment(dir, "ZONEDECK_EMULATOR_PROXY=127.0.0.1:0"))
	term.waitFor("LOCAL EMULATOR", "batch-user")
	secrets := servicetest.SecretsOf(t, filepath.Join(dir, "state", "zonedeck", "emulator.json"))
	noerr.Must(t, term.cmd.Process.Signal(syscall.SIGABRT))
	if code := term.wait(); code != 2 || !strings.Contains(term.output(), "goroutine ") {
		t.Fatalf("exit code %d, no dump", code)
	}
	for _, leak := range servicetest.Leaks("the dump", []byte(term.output()), secrets...) {
		t.Error(leak)
	}
}
