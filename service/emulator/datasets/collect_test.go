package datasets

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"zonedeck/service/emulator/jobs"
	"zonedeck/service/emulator/lab"
)

func TestDiscoveryFindsProductsAndCollectsThem(t *testing.T) {
	g := start(t, options{})
	for _, c := range []struct {
		by, field, value string
		min              int
	}{
		{"keyword", "keyword", "lamp", 1},
		{"category_url", "url", "http://lab.test/shop/category/kitchen", 13}, // more than a page of it
		{"best_sellers_url", "category_url", "http://lab.test/shop", 12},
	} {
		t.Run(c.by, func(t *testing.T) {
			id := g.trigger("dataset_id=gd_products&type=discover_new&discover_by="+c.by, []map[string]string{{c.field: c.value}})
			g.status(id, "ready")
			recs := g.records(id)
			seen := map[any]bool{}
			for _, r := range recs {
				in, _ := r["discovery_input"].(map[string]any)
				if r["name"] == nil || r["price"] == nil || r["sku"] == nil || in[c.field] != c.value || seen[r["url"]] {
					t.Errorf("%v", r)
				}
				seen[r["url"]] = true
			}
			if len(recs) < c.min {
				t.Errorf("%d records, want at least %d", len(recs), c.min)
			}
		})
	}
}

func TestADiscoveryOfNothingFails(t *testing.T) {
	g := start(t, options{})
	id := g.trigger("dataset_id=gd_products&type=discover_new&discover_by=keyword", `[{"keyword":"zeppelin"},{"keyword":"quark"}]`)
	if p := g.status(id, "failed"); p.Error != "No data found in discovery" || p.Errors != 2 {
		t.Errorf("%+v", p)
	}
	// One result is enough for success.
	id = g.trigger("dataset_id=gd_products&type=discover_new&discover_by=keyword&include_errors=true", `[{"keyword":"zeppelin"},{"keyword":"lamp"}]`)
	g.status(id, "ready")
	if r := g.records(id); r[0]["error"] != "No data found in discovery" || len(r) < 2 {
		t.Errorf("%v", r)
	}
}

func TestSearchResultsAreRankedOverPages(t *testing.T) {
	g := start(t, options{})
	id := g.trigger("dataset_id=gd_search&type=discover_new&discover_by=keyword", `[{"keyword":"how to","pages":2}]`)
	g.status(id, "ready")
	recs := g.records(id)
	links := map[any]bool{}
	for i, r := range recs {
		if r["rank"] != float64(i+1) || r["title"] == "" || !strings.HasPrefix(r["link"].(string), "http") || links[r["link"]] {
			t.Errorf("%v", r)
		}
		links[r["link"]] = true
	}
	if len(recs) < 11 {
		t.Errorf("%d results on two pages", len(recs))
	}
}

func TestLimitsAndChosenFields(t *testing.T) {
	g := start(t, options{})
	discover := "dataset_id=gd_products&type=discover_new&discover_by=category_url"
	in := []map[string]string{{"url": "http://lab.test/shop/category/kitchen"}, {"url": "http://lab.test/shop/category/outdoor"}}
	id := g.trigger(discover+"&limit_per_input=3&custom_output_fields=discovery_input.url|sku", in)
	g.status(id, "ready")
	recs := g.records(id)
	if len(recs) != 6 {
		t.Fatalf("%d records", len(recs))
	}
	for i, r := range recs {
		below, _ := r["discovery_input"].(map[string]any)
		if len(r) != 2 || r["sku"] == nil || len(below) != 1 || below["url"] != in[i/3]["url"] {
			t.Errorf("%v", r)
		}
	}
	r := g.do("GET", "/datasets/v3/snapshot/"+id+"?format=csv", nil)
	if !strings.HasPrefix(r.body, "sku,discovery_input.url\n") || !strings.Contains(strings.Split(r.body, "\n")[1], ",http://lab.test/shop/category/kitchen") {
		t.Errorf("%s", r.body)
	}
	id = g.trigger(discover+"&limit_multiple_results=4&limit_per_input=3", in)
	if p := g.status(id, "ready"); p.Records != 4 {
		t.Errorf("%+v", p)
	}
	if n := len(g.records(id)); n != 4 {
		t.Errorf("%d records", n)
	}
	// Errors are not counted, and come where their inputs are.
	id = g.trigger("dataset_id=gd_products&include_errors=true&limit_multiple_results=3", urls("http://lab.test/shop", "http://lab.test/empty", "http://lab.test/shop"))
	if p := g.status(id, "ready"); p.Records != 3 || p.Errors != 1 {
		t.Errorf("%+v", p)
	}
	if r := g.records(id); len(r) != 4 || r[2]["error"] != nil || r[3]["error_code"] != "empty_page" {
		t.Errorf("%v", r)
	}
}

func crawled(g *rig, query string, in map[string]any) (map[string]map[string]any, []map[string]any) {
	g.t.Helper()
	id := g.trigger("include_errors=true&dataset_id="+jobs.CrawlDataset+query, []any{in})
	g.status(id, "ready")
	pages, errs := map[string]map[string]any{}, []map[string]any{}
	for _, r := range g.records(id) {
		if r["error"] != nil {
			errs = append(errs, r)
			continue
		}
		u := r["url"].(string)
		if pages[u] != nil {
			g.t.Errorf("%s came twice", u)
		}
		pages[u] = r
	}
	return pages, errs
}

func TestACrawlFollowsASiteWithinItsBounds(t *testing.T) {
	g := start(t, options{})
	pages, errs := crawled(g, "", map[string]any{"url": "http://lab.test/site/", "depth": 10})
	// The proper pages, a list of them that is one page whatever the order of its query,
	// and the drafts.
	sitemap := httptest.NewRecorder()
	lab.New(lab.Options{}).ServeHTTP(sitemap, httptest.NewRequest(http.MethodGet, "http://lab.test/sitemap.xml", nil))
	proper := strings.Count(sitemap.Body.String(), "<loc>")
	if proper < 60 || len(pages) != proper+2 {
		t.Errorf("%d pages: %q", len(pages), slices.Sorted(maps.Keys(pages)))
	}
	for u, p := range pages {
		for _, never := range []string{"/private", "calendar", "/files/", "example.org", "#"} {
			if strings.Contains(u, never) {
				t.Errorf("%s was fetched", u)
			}
		}
		md, _ := p["markdown"].(string)
		text, _ := p["html2text"].(string)
		html, _ := p["page_html"].(string)
		title, _ := p["page_title"].(string)
		if title == "" || !strings.Contains(html, "<html") || strings.Contains(text, "<") || !strings.Contains(md, "# ") || p["status"] != 200.0 {
			t.Errorf("%s: %q %.80q %.80q", u, title, md, text)
		}
	}
	if pages["http://lab.test/site/guides/"]["depth"] != 1.0 || pages["http://lab.test/site/"]["depth"] != 0.0 {
		t.Error("depths")
	}
	if len(errs) != 1 || errs[0]["error_code"] != "dead_page" || !strings.HasPrefix(fmt.Sprint(errs[0]["input"]), "map[url:http://lab.test/site/gone") {
		t.Errorf("%v", errs)
	}
}

func TestBoundsOfACrawl(t *testing.T) {
	g := start(t, options{})
	for _, c := range []struct {
		name, query string
		in          map[string]any
		pages       int
		code        string
	}{
		{"the page alone", "", map[string]any{"url": "http://lab.test/site/", "depth": 0}, 1, ""},
		{"a number of pages", "&limit_per_input=7", map[string]any{"url": "http://lab.test/site/guides/"}, 7, ""},
		{"addresses to follow", "", map[string]any{"url": "http://lab.test/site/guides/", "filter": "/guides/[12]$"}, 3, ""},
		{"addresses not to follow", "", map[string]any{"url": "http://lab.test/site/guides/", "exclude_filter": "."}, 1, ""},
		{"a redirect", "", map[string]any{"url": "http://lab.test/site/old", "depth": 0}, 1, ""},
		{"what robots.txt closes", "", map[string]any{"url": "http://lab.test/site/private/"}, 0, "robots_txt"},
		{"a file", "", map[string]any{"url": "http://lab.test/site/files/plan.svg"}, 0, "not_html"},
		{"a dead page", "", map[string]any{"url": "http://lab.test/gone"}, 0, "dead_page"},
		{"a block", "", map[string]any{"url": "http://lab.test/captcha"}, 0, "captcha"},
	} {
		pages, errs := crawled(g, c.query, c.in)
		code := ""
		if len(errs) > 0 {
			code = errs[0]["error_code"].(string)
		}
		if len(pages) != c.pages || code != c.code {
			t.Errorf("%s: %d pages, %v", c.name, len(pages), errs)
		}
	}
}

func TestSchemasOfDatasets(t *testing.T) {
	g := start(t, options{})
	type method struct {
		Inputs  []jobs.Field     `json:"input_schema"`
		Outputs []jobs.Field     `json:"output_fields"`
		Sample  []map[string]any `json:"sample_input"`
		Link    *string          `json:"linkToScraper"`
	}
	type scraper struct {
		ID, Name, Description, Domain, Category string
		Size                                    *int
		UseCases                                []string          `json:"use_cases"`
		Types                                   []string          `json:"scraper_type"`
		Methods                                 map[string]method `json:"scrapers"`
	}
	one := decode[[]scraper](t, g.do("GET", "/datasets/v3/scrapers?dataset_id=gd_products", nil))
	if len(one) != 1 || one[0].ID != "gd_products" || one[0].UseCases == nil || one[0].Size == nil ||
		!slices.Equal(one[0].Types, []string{"collect_by_url", "discover_by_keyword", "discover_by_category_url", "discover_by_best_sellers_url"}) {
		t.Fatalf("%+v", one)
	}
	by := one[0].Methods["discover_by_keyword"]
	if f := by.Inputs; len(f) != 1 || f[0].Name != "keyword" || !f[0].Required || f[0].Example != "lamp" || by.Sample[0]["keyword"] != "lamp" || by.Link == nil {
		t.Errorf("%+v", by)
	}
	if got := by.Outputs[len(by.Outputs)-1].Name; got != "discovery_input" {
		t.Errorf("the last column of a discovery is %s", got)
	}
	if all := decode[[]scraper](t, g.do("GET", "/datasets/v3/scrapers?domain=lab.test", nil)); len(all) != 3 {
		t.Errorf("%+v", all)
	}
	for _, query := range []string{"dataset_id=gd_x", "domain=LAB.test", "domain=www.lab.test"} {
		if r := g.do("GET", "/datasets/v3/scrapers?"+query, nil); r.status != 200 || strings.TrimSpace(r.body) != "[]" {
			t.Errorf("%s: %+v", query, r)
		}
	}
	if r := g.do("GET", "/datasets/v3/scrapers?dataset_id=gd_products&domain=lab.test", nil); r.status != 400 {
		t.Errorf("%+v", r)
	}
	id := g.trigger("dataset_id=gd_products", urls("http://lab.test/shop"))
	g.status(id, "ready")
	for _, d := range decode[[]struct {
		ID, Name string
		Size     int
	}](t, g.do("GET", "/datasets/list", nil)) {
		if d.Name == "" || (d.ID == "gd_products") != (d.Size == 12) {
			t.Errorf("%+v", d)
		}
		m := decode[struct {
			ID     string
			Fields map[string]struct{ Type, Description string }
		}](t, g.do("GET", "/datasets/"+d.ID+"/metadata", nil))
		if m.ID != d.ID || len(m.Fields) < 4 {
			t.Errorf("%+v", m)
		}
	}
	if r := g.do("GET", "/datasets/gd_x/metadata", nil); r.status != 404 || r.body != "dataset does not exist" {
		t.Errorf("%+v", r)
	}
}
