package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/internal/schematest"
	"zonedeck/service/emulator/state/statetest"
)

// emulating runs "emulate" while use works with it, and returns its stderr.
func emulating(t *testing.T, code int, use func(api, key string), args ...string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p, _, stderr := process(t, nil, append([]string{"emulate", "--proxy", "127.0.0.1:0", "--socks", "127.0.0.1:0", "--cdp", "127.0.0.1:0", "--json"}, args...)...)
	r, w := io.Pipe()
	p.Stdout = w
	ended := make(chan int, 1)
	go func() {
		ended <- Main(ctx, p)
		w.Close()
	}()
	out := bufio.NewReader(r)
	var ready struct {
		API  string
		Keys []struct{ Name, Value string }
	}
	line, err := out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &ready)
	}
	if err != nil {
		t.Fatalf("no ready line: %v; stderr %q", err, stderr)
	}
	key := ""
	for _, k := range ready.Keys {
		if k.Name == "ci-fetch" {
			key = k.Value
		}
	}
	use(ready.API, key)
	cancel()
	go func() { _, _ = io.Copy(io.Discard, out) }()
	if got := <-ended; got != code {
		t.Errorf("exit code %d, want %d; stderr %q", got, code, stderr)
	}
	return stderr.String()
}

// fetch sends one request, which must not fail.
func fetchBy(t *testing.T, api, key, body string) (status int) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, api+"/request", strings.NewReader(body))
	noerr.Must(t, err)
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	noerr.Must(t, err)
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

func TestEmulateLogsWhatClientsSend(t *testing.T) {
	file := filepath.Join(t.TempDir(), "requests.ndjson")
	var secret string
	stderr := emulating(t, exitOK, func(api, key string) {
		secret = key
		fetchBy(t, api, key, `{"zone":"unlocker_demo","url":"http://lab.test/ok","format":"raw"}`)
		fetchBy(t, api, key, `{"zone":"none","url":"http://lab.test/ok","format":"raw"}`)
	}, "--log", "--log-file", file)
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	if n := len(lines); n < 2 || !strings.Contains(lines[n-2], " api POST /request") || !strings.Contains(lines[n-2], " key=ci-fetch") || !strings.Contains(lines[n-2], " 200 ") || !strings.Contains(lines[n-1], " 400 ") {
		t.Errorf("stderr %q", stderr)
	}
	written, err := os.ReadFile(file)
	noerr.Must(t, err)
	if strings.Contains(stderr+string(written), secret) {
		t.Error("the key is in the log")
	}
	objects := bytes.Split(bytes.TrimSpace(written), []byte("\n"))
	if len(objects) != 2 {
		t.Errorf("%d lines in the file: %s", len(objects), written)
	}
	for _, line := range objects {
		if err := schematest.Check(filepath.Join("..", "..", "docs", "schema", "request-log.json"), line); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode: %v, %v", info.Mode(), err)
	}
}

func TestALogThatCannotBeWrittenIsReported(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("needs /dev/full, which Linux has")
	}
	stderr := emulating(t, exitState, func(api, key string) { fetchBy(t, api, key, `{}`) }, "--log-file", "/dev/full")
	if !strings.Contains(stderr, "no space left") || !strings.Contains(stderr, "--log-file") {
		t.Errorf("stderr %q", stderr)
	}
}

func TestEmulatePlaysTheFaultsOfAScenario(t *testing.T) {
	file := filepath.Join(t.TempDir(), "faults.toml")
	noerr.Must(t, os.WriteFile(file, []byte("[[faults]]\npoint = \"api\"\naction = \"status\"\nstatus = 503\nnth = 2\n"), 0o600))
	emulating(t, exitOK, func(api, key string) {
		const page = `{"zone":"unlocker_demo","url":"http://lab.test/ok","format":"raw"}`
		got := []int{fetchBy(t, api, key, page), fetchBy(t, api, key, page), fetchBy(t, api, key, page)}
		if got[0] != 200 || got[1] != 503 || got[2] != 200 {
			t.Errorf("statuses %v", got)
		}
	}, "--scenario", file)
}

func TestEmulateSaysLoudlyWhatIsOpen(t *testing.T) {
	stderr := emulating(t, exitOK, func(string, string) {}, "--allow-private", "10.0.0.0/8,intranet.example:8080", "--allow-private", "127.0.0.1:9")
	for _, want := range []string{"WARNING", "10.0.0.0/8 on every port", "intranet.example", "127.0.0.1/32 on port 9"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("stderr lacks %q: %q", want, stderr)
		}
	}
}

func TestUnknownFieldsAreRefusedUnlessLoose(t *testing.T) {
	const page = `{"zone":"unlocker_demo","url":"http://lab.test/ok","format":"raw","colour":"red"}`
	for _, c := range []struct {
		status int
		args   []string
	}{{http.StatusBadRequest, nil}, {http.StatusOK, []string{"--loose"}}} {
		emulating(t, exitOK, func(api, key string) {
			if got := fetchBy(t, api, key, page); got != c.status {
				t.Errorf("%v: %d, want %d", c.args, got, c.status)
			}
		}, c.args...)
	}
}

// A refused row stands in for a full disk.
func TestStateThatCouldNotBeKeptIsReported(t *testing.T) {
	dir := t.TempDir()
	status := 0
	stderr := emulating(t, exitOK, func(api, key string) {
		statetest.Refuse(t, dir, "jobs")
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, api+"/datasets/v3/trigger?dataset_id=gd_pages", strings.NewReader(`[{"url":"http://lab.test/ok"}]`))
		noerr.Must(t, err)
		req.Header.Set("Authorization", "Bearer "+key)
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		noerr.Must(t, err)
		resp.Body.Close()
		status = resp.StatusCode
	}, "--state", dir, "--quiet")
	if status != http.StatusInternalServerError || !strings.Contains(stderr, "starting a job: ") || !strings.Contains(stderr, "the disk is full") {
		t.Errorf("status %d, stderr %q", status, stderr)
	}
}
