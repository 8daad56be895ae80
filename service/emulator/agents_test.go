package emulator

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"zonedeck/internal/noerr"
)

// mcpSession is a client of the agent access.
func (g *rig) mcpSession(key string) *mcp.ClientSession {
	g.t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	s, err := c.Connect(g.t.Context(), &mcp.StreamableClientTransport{Endpoint: g.r.API + "/mcp?token=" + key, HTTPClient: g.client, MaxRetries: -1}, nil)
	noerr.Must(g.t, err)
	g.t.Cleanup(func() { s.Close() })
	return s
}

func (g *rig) tool(s *mcp.ClientSession, name string, args map[string]any) (string, bool) {
	g.t.Helper()
	r, err := s.CallTool(g.t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	noerr.Must(g.t, err)
	return r.Content[0].(*mcp.TextContent).Text, r.IsError
}

func TestAgentsReachTheLab(t *testing.T) {
	g := start(t, Options{})
	s := g.mcpSession(g.key("batch-user"))
	for _, tc := range []struct {
		tool string
		args map[string]any
		want string
		err  bool
	}{
		{"search_engine", map[string]any{"query": "brass desk lamp"}, `"link": "http://lab.test/docs/`, false},
		{"search_engine", map[string]any{"query": "brass desk lamp", "engine": "bing"}, "lab.test/docs/", false},
		{"search_engine", map[string]any{"query": "brass desk lamp", "engine": "yandex"}, "lab.test/docs/", false},
		{"search_engine", map[string]any{"query": "zzzqqqxx"}, `"organic": []`, false},
		{"scrape_as_markdown", map[string]any{"url": "http://lab.test/docs/brass-desk-lamp-review"}, "# Brass desk lamp review", false},
		{"scrape_as_markdown", map[string]any{"url": "http://lab.test/forbidden?hard=1"}, "status", true},
		{"scrape_as_markdown", map[string]any{"url": "http://lab.test/empty"}, "empty", true},
		{"scrape_as_markdown", map[string]any{"url": "http://169.254.169.254/latest"}, "policy_20030", true},
		{"scrape_batch", map[string]any{"urls": []string{"http://lab.test/ok", "http://lab.test/json"}}, `"url": "http://lab.test/json"`, false},
		{"search_engine_batch", map[string]any{"queries": []map[string]any{{"query": "bread"}, {"query": "lamp", "engine": "bing"}}}, `"engine": "bing"`, false},
		{"discover", map[string]any{"query": "brass desk lamp review", "num_results": 1}, `"title":"Brass desk lamp review"`, false},
		{"discover", map[string]any{"query": "x", "country": "42"}, "country", true},
	} {
		if text, isErr := g.tool(s, tc.tool, tc.args); isErr != tc.err || !strings.Contains(text, tc.want) {
			t.Errorf("%s %v: %t %.400s", tc.tool, tc.args, isErr, text)
		}
	}
}

func TestAnAgentNeedsAZone(t *testing.T) {
	g := start(t, Options{})
	var names []string
	for _, z := range g.account.Zones() {
		if z.Product == "unlocker" || z.Product == "serp" {
			names = append(names, z.Name)
		}
	}
	noerr.Must(t, noerr.From(g.account.DeleteZones(names)))
	if text, isErr := g.tool(g.mcpSession(g.key("batch-user")), "scrape_as_markdown", map[string]any{"url": "http://lab.test/ok"}); !isErr || !strings.Contains(text, "no unlocker zone") {
		t.Errorf("%t %s", isErr, text)
	}
}
