package fetch

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/dialect"
	"zonedeck/service/servicetest"
)

func TestATargetOutsideTheAllowedDomainsIsNotFetched(t *testing.T) {
	p := servicetest.Profile("http://api.test")
	p.AllowedDomains, p.Dialect, p.AgentURL = []string{"shop.example"}, "brightdata", "http://api.test/mcp"
	calls := 0
	inBubble(t, func(w http.ResponseWriter, _ *http.Request) {
		calls++
		_, _ = w.Write([]byte("<p>a page</p>"))
	}, func(t *testing.T, c *Fetcher) {
		ft := newFetcher(t, p, func(conf *Config) { conf.Wire = c.cfg.Wire })
		r := askFor(p, string(p.Zones[0].Name))
		r.URL = "https://other.example/"
		if _, err := ft.Fetch(t.Context(), r, nil); !errors.Is(err, config.ErrDomain) || !errors.Is(err, model.ErrRequest) {
			t.Errorf("a fetch: %v", err)
		}
		twin := model.Grid{Base: r, Cells: []model.Cell{{Vary: model.Vary{Zone: p.Zones[0], Via: model.ViaAPI}}}}
		if done, err := ft.Compare(t.Context(), twin, nil); err != nil || !strings.Contains(done.Cells[0].Problem, config.ErrDomain.Error()) {
			t.Errorf("a comparison: %+v, %v", done.Cells, err)
		}
		native := p.Zones[0]
		if _, err := ft.Probe(t.Context(), ProbeRequest{Zone: native, Target: r.URL}, nil); !errors.Is(err, config.ErrDomain) {
			t.Errorf("a test of a login: %v", err)
		}
		tool := r
		tool.Via, tool.Tool, tool.Args = model.ViaAgent, "search", "{}"
		if _, err := ft.Fetch(t.Context(), tool, nil); !errors.Is(err, config.ErrDomain) {
			t.Errorf("a tool that may reach anything: %v", err)
		}
		search := r
		search.URL, search.Options.Query = "", "shoes"
		if _, err := ft.Fetch(t.Context(), search, nil); !errors.Is(err, config.ErrDomain) {
			t.Errorf("a search: %v", err)
		}
		header := r
		header.URL = "https://shop.example/a"
		for _, name := range []string{"Host", "host"} {
			header.Header = http.Header{name: {"other.example"}}
			if _, err := ft.Fetch(t.Context(), header, nil); !errors.Is(err, config.ErrDomain) {
				t.Errorf("an allowed address with a header %s: %v", name, err)
			}
		}
		if calls != 0 {
			t.Errorf("%d calls were made", calls)
		}
		r.URL = "https://shop.example/a"
		if _, err := ft.Fetch(t.Context(), r, nil); err != nil || calls != 1 {
			t.Errorf("an allowed target: %v, %d calls", err, calls)
		}
		d, err := dialect.Find(p.Dialect)
		noerr.Must(t, err)
		if r.URL = d.TestPage(p); len(problems(p, d, r)) != 0 {
			t.Error("the page that tests a login is refused")
		}
	})
}
