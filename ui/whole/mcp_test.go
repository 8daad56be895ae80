package whole

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"zonedeck/internal/noerr"
	"zonedeck/ui/cli"
)

// foreignModules is where the clients from npm are.
func foreignModules(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("ZONEDECK_NODE_MODULES")
	if dir == "" {
		dir = filepath.Join(".ci", "node", "node_modules")
	}
	dir, err := filepath.Abs(dir)
	noerr.Must(t, err)
	if _, err := os.Stat(filepath.Join(dir, "@modelcontextprotocol", "sdk", "package.json")); err != nil {
		t.Skip("the client is not installed: npm ci --prefix .ci/node")
	}
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("node is not installed: apt-get install nodejs")
	}
	return dir
}

func TestAForeignAgentUsesTheConsole(t *testing.T) {
	modules, path, dir := foreignModules(t), program(t), t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", filepath.Join("ui", "whole", "testdata", "mcp.mjs"))
	cmd.Env = environment(dir, "MODULES="+modules, "PROGRAM="+path, "ZONEDECK_EMULATOR_PROXY=127.0.0.1:0",
		`ARGS=["mcp","--allow-domain","lab.test","--max-cost","0.01"]`,
		`CALLS=[["fetch",{"url":"http://lab.test/ok","zone":"unlocker_demo"}],["fetch",{"url":"http://other.test/","zone":"unlocker_demo"}],["keys_check",{}]]`)
	var complaints strings.Builder
	cmd.Stderr = &complaints
	raw, err := cmd.Output()
	if err != nil {
		t.Fatalf("node: %v\n%s", err, complaints.String())
	}
	var out struct {
		Server       struct{ Name string }
		Instructions string
		Tools        []string
		Results      []struct {
			Text       string
			IsError    bool
			Structured map[string]any
		}
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	if out.Server.Name != "zonedeck" || !strings.Contains(out.Instructions, "$0.0100") || len(out.Tools) != 14 || len(out.Results) != 3 {
		t.Fatalf("%+v", out)
	}
	if r := out.Results[0]; r.IsError || r.Structured["class"] != "ok" || !strings.Contains(r.Text, "It works") {
		t.Errorf("a fetch: %+v", r)
	}
	if r := out.Results[1]; !r.IsError || !strings.Contains(r.Text, "refused by the operator's rules") {
		t.Errorf("another host: %+v", r)
	}
	if r := out.Results[2]; r.IsError || !strings.Contains(r.Text, "etl-main") {
		t.Errorf("the keys: %+v", r)
	}
	if !strings.Contains(complaints.String(), "http://lab.test/ok fetch: ok") {
		t.Errorf("stderr: %s", complaints.String())
	}
}

// agent runs "zonedeck mcp" on the home's files and makes calls of tool fetch, each with its
// arguments; meanwhile is called when they are done and the server still runs.
func (h *home) agent(flags []string, meanwhile func(), calls ...string) {
	h.t.Helper()
	p := h.process(append([]string{"--quiet", "mcp"}, flags...)...)
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	p.Stdin, p.Stdout = in, out
	ended := make(chan int, 1)
	go func() { ended <- cli.Main(h.t.Context(), p) }()
	client, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(h.t.Context(), &sdk.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	noerr.Must(h.t, err)
	for _, args := range calls {
		noerr.Must(h.t, noerr.From(client.CallTool(h.t.Context(), &sdk.CallToolParams{Name: "fetch", Arguments: json.RawMessage(args)})))
	}
	if meanwhile != nil {
		meanwhile()
	}
	toServer.Close()
	if code := <-ended; code != 0 {
		h.t.Fatalf("the server ended with %d", code)
	}
}

func TestAnOpenConsoleSeesWhatAnAgentDoes(t *testing.T) {
	h := newHome(t)
	p := h.open(120, 40)
	p.WaitFor("batch-user")
	p.PressFor("5", "Nothing has happened yet")
	h.agent([]string{"--allow-domain", "lab.test"}, func() {
		p.WaitFor("[agent] http://lab.test/ok", "fetch: ok", "other.test", "refused by the operator's rules") // no key was pressed
	}, `{"url":"http://lab.test/ok","zone":"unlocker_demo"}`, `{"url":"http://other.test/","zone":"unlocker_demo"}`)
}

func agentScreens() []screen {
	return []screen{{name: "history/agent", before: func(h *home) {
		h.run("request", "http://lab.test/ok", "--zone", "unlocker_demo")
		h.agent([]string{"--allow-domain", "lab.test"}, nil, `{"url":"http://lab.test/captcha","zone":"datacenter_demo"}`, `{"url":"http://other.test/","zone":"unlocker_demo"}`)
	}, steps: script(ready, see("5", "[agent]"), see("down down", "3 of 4"))}}
}
