package agent

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
)

// nodeModules is where the clients from npm are.
func nodeModules(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("ZONEDECK_NODE_MODULES")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", ".ci", "node", "node_modules")
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

type foreignView struct {
	Server  struct{ Name, Version string }
	Tools   []string
	Results map[string]struct {
		Text    string
		IsError bool
	}
	Error string
	Code  int
}

func runForeign(t *testing.T, modules, endpoint, transport, key, calls string) foreignView {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "testdata/client.mjs")
	cmd.Env = append(os.Environ(), "NO_PROXY=*", "MODULES="+modules, "ENDPOINT="+endpoint, "TRANSPORT="+transport, "KEY="+key, "CALLS="+calls)
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("node: %v\n%s", err, complaints.String())
	}
	var v foreignView
	if err := json.Unmarshal(out, &v); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	return v
}

func TestAForeignClientUsesEveryTool(t *testing.T) {
	modules := nodeModules(t)
	b := newBench(t, nil)
	const calls = `[["search_engine",{"query":"lamps","engine":"google","cursor":"1"}],
		["scrape_as_markdown",{"url":"http://lab.test/ok"}],
		["search_engine_batch",{"queries":[{"query":"a"},{"query":"b","engine":"bing"}]}],
		["scrape_batch",{"urls":["http://lab.test/a","http://lab.test/b"]}],
		["discover",{"query":"lamps","intent":"buy one","num_results":3}]]`
	want := map[string]string{
		"search_engine": `"description":"page 1"`, "scrape_as_markdown": "# Page", "search_engine_batch": "# Results for b",
		"scrape_batch": "at http://lab.test/b", "discover": `"relevance_score":0.5`,
	}
	for name, way := range map[string]struct{ path, transport, key string }{
		"streamable HTTP, key in a header":    {"/mcp", "", "key-of-ana-0001"},
		"streamable HTTP, key in the address": {"/mcp?token=key-of-ana-0001", "", ""},
		"SSE, key in the address":             {"/sse?token=key-of-ana-0001", "sse", ""},
	} {
		t.Run(name, func(t *testing.T) {
			v := runForeign(t, modules, b.server.URL+way.path, way.transport, way.key, calls)
			if v.Error != "" || v.Server.Name != "zonedeck-emulator" || len(v.Tools) != len(want) {
				t.Fatalf("%+v", v)
			}
			for tool, text := range want {
				if r := v.Results[tool]; !slices.Contains(v.Tools, tool) || r.IsError || !strings.Contains(r.Text, text) {
					t.Errorf("%s: %+v", tool, r)
				}
			}
		})
	}
}

func TestAForeignClientSeesErrors(t *testing.T) {
	modules := nodeModules(t)
	b := newBench(t, nil)
	v := runForeign(t, modules, b.server.URL+"/mcp", "", "key-of-ana-0001", `[["scrape_as_markdown",{"url":"http://lab.test/broken"}],["scrape_batch",{"urls":[]}]]`)
	if r := v.Results["scrape_as_markdown"]; !r.IsError || !strings.Contains(r.Text, "the target answered 500") {
		t.Errorf("a page that fails: %+v", v)
	}
	if r := v.Results["scrape_batch"]; !r.IsError || !strings.Contains(r.Text, "urls") {
		t.Errorf("no addresses: %+v", v)
	}
	if v := runForeign(t, modules, b.server.URL+"/mcp?token=wrong", "", "", `[]`); v.Error == "" || len(v.Tools) > 0 {
		t.Errorf("a wrong key: %+v", v)
	}
}
