package fetch

import (
	"errors"
	"net/http"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"zonedeck/model"
	"zonedeck/service/servicetest"
)

func TestAReadOnlyProfileSendsNoMethodThatChangesSomething(t *testing.T) {
	p := servicetest.Profile("http://api.test")
	p.ReadOnly, p.Dialect = true, "brightdata"
	calls := 0
	inBubble(t, func(w http.ResponseWriter, _ *http.Request) {
		calls++
		_, _ = w.Write([]byte("<p>a page</p>"))
	}, func(t *testing.T, c *Fetcher) {
		ft := newFetcher(t, p, func(conf *Config) { conf.Wire = c.cfg.Wire })
		r := askFor(p, string(p.Zones[0].Name))
		r.Method = "POST"
		if _, err := ft.Fetch(t.Context(), r, nil); !errors.Is(err, model.ErrReadOnly) || !errors.Is(err, model.ErrRequest) {
			t.Errorf("a fetch: %v", err)
		}
		twin := model.Grid{Base: r, Cells: []model.Cell{{Vary: model.Vary{Zone: p.Zones[0], Via: model.ViaAPI}}}}
		if _, err := ft.Compare(t.Context(), twin, nil); !errors.Is(err, model.ErrReadOnly) {
			t.Errorf("a comparison: %v", err)
		}
		if calls != 0 {
			t.Errorf("%d calls were made", calls)
		}
		r.Method = "HEAD"
		if _, err := ft.Fetch(t.Context(), r, nil); err != nil || calls != 1 {
			t.Errorf("HEAD: %v, %d calls", err, calls)
		}
	})
}

func TestAReadOnlyProfileCallsNoTool(t *testing.T) {
	p, seen := agentProfile(t, tools(func(string) (*mcp.CallToolResult, error) { return said("x"), nil }))
	p.ReadOnly = true
	q := page()
	q.Tool, q.Args = "delete_everything", "{}"
	_, err := newFetcher(t, p).Fetch(t.Context(), q, nil)
	if !errors.Is(err, model.ErrReadOnly) || !errors.Is(err, model.ErrRequest) || len(seen()) != 0 {
		t.Errorf("a tool: %v after %v", err, seen())
	}
	r, err := newFetcher(t, p).Fetch(t.Context(), page(), nil)
	if err != nil || !r.Diagnosis.OK() {
		t.Errorf("a page: %+v, %v", r.Diagnosis, err)
	}
}
