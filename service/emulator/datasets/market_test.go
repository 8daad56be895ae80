package datasets

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"zonedeck/internal/noerr"
	"zonedeck/service/emulator/deliver"
	"zonedeck/service/emulator/jobs"
)

func TestAFilterMakesASnapshotOfWhatJobsHaveCollected(t *testing.T) {
	g := start(t, options{})
	for range 2 { // the same records twice are one
		g.status(g.trigger("dataset_id=gd_products", urls("http://lab.test/shop")), "ready")
	}
	g.status(g.trigger("dataset_id=gd_products&custom_output_fields=sku", urls("http://lab.test/shop")), "ready") // not whole
	cheap := `{"operator":"and","filters":[{"name":"price","operator":"<","value":50},{"name":"in_stock","operator":"=","value":true}]}`
	r := g.do("POST", "/datasets/filter", `{"dataset_id":"gd_products","filter":`+cheap+`}`)
	id := decode[map[string]string](t, r)["snapshot_id"]
	if r.status != 200 || !strings.HasPrefix(id, "snap_") {
		t.Fatalf("%+v", r)
	}
	g.status(id, "ready")
	meta := decode[marketSnapshot](t, g.do("GET", "/datasets/snapshots/"+id, nil))
	got := g.do("GET", "/datasets/snapshots/"+id+"/download", nil)
	recs := decode[[]map[string]any](t, got)
	if meta.Status != "ready" || meta.Size != len(recs) || meta.Dataset != "gd_products" || meta.FileSize == 0 || len(recs) == 0 || len(recs) >= 12 {
		t.Errorf("%+v, %d records", meta, len(recs))
	}
	seen := map[any]bool{}
	for _, r := range recs {
		if r["price"].(float64) >= 50 || r["in_stock"] != true || seen[r["sku"]] {
			t.Errorf("%v", r)
		}
		seen[r["sku"]] = true
	}
	if l := decode[[]marketSnapshot](t, g.do("GET", "/datasets/snapshots?dataset_id=gd_products&status=ready", nil)); len(l) != 1 || l[0].ID != id {
		t.Errorf("%+v", l)
	}
	if l := decode[[]snapshotRow](t, g.do("GET", "/datasets/v3/snapshots", nil)); len(l) != 3 {
		t.Errorf("%+v", l)
	}
	if r := g.do("GET", "/datasets/snapshots/"+id+"/parts", nil); r.body != `{"parts":1}`+"\n" {
		t.Errorf("%+v", r)
	}
	hook := receive(t)
	g.do("POST", "/datasets/snapshots/"+id+"/deliver", `{"deliver":{"type":"webhook","endpoint":"`+hook.URL+`"}}`)
	until(t, func() []delivery { return g.deliveries(id) }, allAre(deliver.Done, 1))

	g.close()
	g = start(t, options{state: g.state}) // and it survives
	if n := len(g.records(id)); n != len(recs) {
		t.Errorf("%d records after a restart", n)
	}
}

func TestASearchTurnsItsPages(t *testing.T) {
	g := start(t, options{})
	g.status(g.trigger("dataset_id=gd_products&custom_output_fields=sku", urls("http://lab.test/shop")), "ready") // not whole
	g.status(g.trigger("dataset_id=gd_products", urls("http://lab.test/shop")), "ready")
	// A job has no records beyond its limit.
	g.status(g.trigger("dataset_id=gd_reviews&limit_multiple_results=1", urls("http://lab.test/product/1")), "ready")
	if r := g.do("POST", "/datasets/search/gd_reviews", `{"filter":{"name":"text","operator":"is_not_null"}}`); !strings.Contains(r.body, `"total_hits":1}`) && !strings.Contains(r.body, `"total_hits":1,`) {
		t.Errorf("%+v", r)
	}
	type page struct {
		Hits  []struct{ SKU string }
		Total int   `json:"total_hits"`
		After []int `json:"search_after"`
	}
	seen := map[string]bool{}
	body := map[string]any{"mode": "sync", "size": 5, "filter": map[string]any{"name": "sku", "operator": "is_not_null"}}
	pages := 0
	for {
		p := decode[page](t, g.do("POST", "/datasets/search/gd_products", body))
		pages++
		for _, h := range p.Hits {
			seen[h.SKU] = true
		}
		if p.Total != 12 || len(p.Hits) > 5 || pages > 3 {
			t.Fatalf("%+v", p)
		}
		if p.After == nil {
			break
		}
		body["search_after"] = p.After
	}
	if len(seen) != 12 || pages != 3 {
		t.Errorf("%d records on %d pages", len(seen), pages)
	}
}

func TestInvalidFiltersAreRefused(t *testing.T) {
	g := start(t, options{})
	nested := strings.Repeat(`{"operator":"or","filters":[`, 4) + `{"name":"sku","operator":"is_null"}` + strings.Repeat(`]}`, 4)
	for _, c := range []struct {
		path, body string
		status     int
		text       string
	}{
		{"filter", `{`, 400, "parse_error"},
		{"filter", `{}`, 400, "dataset missing"},
		{"filter", `{"dataset_id":"gd_x"}`, 404, "dataset does not exist"},
		{"filter", `{"dataset_id":"gd_products"}`, 400, `[["filter",`},
		{"filter", `{"dataset_id":"gd_products","filter":{"name":"x","operator":"=","value":1}}`, 400, `field \"x\" is unknown`},
		{"filter", `{"dataset_id":"gd_products","filter":{"name":"sku","operator":"~","value":1}}`, 400, `operator \"~\" is unknown`},
		{"filter", `{"dataset_id":"gd_products","filter":{"name":"sku","operator":"in","value":1}}`, 400, "needs a list"},
		{"filter", `{"dataset_id":"gd_products","filter":{"name":"sku","operator":"=","value":{}}}`, 400, "compares with"},
		{"filter", `{"dataset_id":"gd_products","filter":{"name":"sku","operator":"="}}`, 400, "needs a value"},
		{"filter", `{"dataset_id":"gd_products","filter":` + nested + `}`, 400, "nested deeper"},
		{"filter", `{"dataset_id":"gd_products","records_limit":0,"filter":{"name":"sku","operator":"is_null"}}`, 400, "records_limit"},
		{"filter", `{"dataset_id":"gd_products","filter":{"name":"sku","operator":"is_null"}}`, 422, "Provided filter did not match any records"},
		{"search/gd_products", `{"mode":"async"}`, 400, `[["mode",`},
		{"search/gd_products", `{"size":11}`, 400, `[["size",`},
		{"search/gd_products", `{"sort":[]}`, 400, `[["sort","Not supported`},
		{"search/gd_products", `{"search_after":[-1]}`, 400, `[["search_after",`},
	} {
		if r := g.do("POST", "/datasets/"+c.path, c.body); r.status != c.status || !strings.Contains(r.body, c.text) {
			t.Errorf("%s %s: %+v", c.path, c.body, r)
		}
	}
	for _, path := range []string{"/datasets/snapshots/snap_x", "/datasets/a/b"} {
		if r := g.do("GET", path, nil); r.status != 404 {
			t.Errorf("%s: %+v", path, r)
		}
	}
}

func TestOperatorsOfAFilter(t *testing.T) {
	r := map[string]any{"name": "Brass desk lamp", "price": 14.25, "in_stock": true, "sku": nil}
	for filter, want := range map[string]bool{
		`{"name":"price","operator":"=","value":14.25}`:                                                                          true,
		`{"name":"price","operator":"!=","value":14.25}`:                                                                         false,
		`{"name":"price","operator":"<","value":14.25}`:                                                                          false,
		`{"name":"price","operator":"<=","value":14.25}`:                                                                         true,
		`{"name":"price","operator":">","value":14}`:                                                                             true,
		`{"name":"price","operator":">=","value":15}`:                                                                            false,
		`{"name":"price","operator":">","value":"1"}`:                                                                            false, // a text is not a number
		`{"name":"name","operator":">","value":"Aa"}`:                                                                            true,
		`{"name":"name","operator":"includes","value":"DESK"}`:                                                                   true,
		`{"name":"name","operator":"not_includes","value":"DESK"}`:                                                               false,
		`{"name":"sku","operator":"not_includes","value":"x"}`:                                                                   true,
		`{"name":"sku","operator":"is_null"}`:                                                                                    true,
		`{"name":"name","operator":"is_not_null"}`:                                                                               true,
		`{"name":"price","operator":"in","value":[1,14.25]}`:                                                                     true,
		`{"name":"price","operator":"not_in","value":[1,14.25]}`:                                                                 false,
		`{"operator":"or","filters":[{"name":"sku","operator":"is_not_null"},{"name":"in_stock","operator":"=","value":true}]}`:  true,
		`{"operator":"and","filters":[{"name":"sku","operator":"is_not_null"},{"name":"in_stock","operator":"=","value":true}]}`: false,
	} {
		d, err := jobs.Find("gd_products")
		noerr.Must(t, err)
		c, err := readCondition(jsontext.Value(filter), d, false)
		if err != nil {
			t.Fatalf("%s: %v", filter, err)
		}
		if c.matches(r) != want {
			t.Errorf("%s: %v", filter, !want)
		}
	}
}

func TestAFilterIsBoundedLikeAJob(t *testing.T) {
	gate := make(chan struct{})
	g := start(t, options{gate: gate, jobs: jobs.Config{MaxRunning: 1}})
	first := g.trigger("dataset_id=gd_products", urls("http://lab.test/product/1"))
	gate <- struct{}{}
	g.status(first, "ready")
	g.trigger("dataset_id=gd_products", urls("http://lab.test/product/2"))
	const ask = `{"dataset_id":"gd_products","filter":{"name":"sku","operator":"is_not_null"}}`
	if r := g.do("POST", "/datasets/filter", ask); r.status != 429 || !strings.Contains(r.body, `{"error":"Maximum limit of 1 jobs per dataset has been exceeded"}`) {
		t.Errorf("%+v", r)
	}
	close(gate)
}
