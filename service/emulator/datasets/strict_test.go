package datasets

import (
	"strings"
	"testing"
	"time"

	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/jobs"
)

// Every endpoint refuses unknown parameters by name, or notes them if the service is loose.
func TestUnknownParametersAreNamed(t *testing.T) {
	const hook = `{"type":"webhook","endpoint":"http://hook.invalid/"`
	// No id of a job has the underscore of zz_ behind its prefix.
	const priced = `"filter":{"name":"price","operator":"is_not_null"`
	cases := []struct{ method, path, body, name string }{
		{"POST", "/datasets/v3/trigger?dataset_id=gd_pages&zz_=1", `[{"url":"http://lab.test/ok"}]`, "zz_"},
		{"POST", "/datasets/v3/trigger?dataset_id=gd_pages", `[{"url":"http://lab.test/ok","zz_":1}]`, "zz_"},
		{"POST", "/datasets/v3/trigger?dataset_id=gd_pages", `{"input":[{"url":"http://lab.test/ok"}],"zz_":{}}`, "zz_"},
		{"GET", "/datasets/v3/progress/ID?zz_=1", "", "zz_"},
		{"GET", "/datasets/v3/snapshot/ID?zz_=1", "", "zz_"},
		{"GET", "/datasets/v3/snapshot/ID/parts?zz_=1", "", "zz_"},
		{"GET", "/datasets/v3/snapshot/ID/input?batch_size=1000", "", "batch_size"},
		{"POST", "/datasets/v3/snapshot/ID/cancel?zz_=1", "", "zz_"},
		{"POST", "/datasets/v3/snapshot/ID/rerun?zz_=1", "", "zz_"},
		{"GET", "/datasets/v3/log/ID?zz_=1", "", "zz_"},
		{"GET", "/datasets/v3/snapshots?zz_=1", "", "zz_"},
		{"GET", "/datasets/v3/scrapers?zz_=1", "", "zz_"},
		{"GET", "/datasets/v3/delivery/x?zz_=1", "", "zz_"},
		{"GET", "/datasets/v3/deliveries?zz_=1", "", "zz_"},
		{"GET", "/datasets/list?zz_=1", "", "zz_"},
		{"GET", "/datasets/gd_pages/metadata?zz_=1", "", "zz_"},
		{"GET", "/datasets/snapshots?zz_=1", "", "zz_"},
		{"POST", "/datasets/v3/deliver/ID?zz_=1", `{"deliver":` + hook + `}}`, "zz_"},
		{"POST", "/datasets/v3/deliver/ID", `{"deliver":` + hook + `},"zz_":1}`, "zz_"},
		{"POST", "/datasets/v3/deliver/ID", `{"deliver":` + hook + `,"zz_":1}}`, "deliver.zz_"},
		{"POST", "/datasets/v3/deliver/ID", `{"deliver":` + hook + `,"filename":{"zz_":1}}}`, "deliver.filename.zz_"},
		{"POST", "/datasets/v3/deliver/ID", `{"deliver":` + hook + `},"deliver.endpoint":"x"}`, "deliver.endpoint"},
		{"POST", "/datasets/filter?zz_=1", `{"dataset_id":"gd_products",` + priced + `}}`, "zz_"},
		{"POST", "/datasets/filter", `{"dataset_id":"gd_products","zz_":1,` + priced + `}}`, "zz_"},
		{"POST", "/datasets/search/gd_products", `{"zz_":1,` + priced + `}}`, "zz_"},
	}
	for _, loose := range []bool{false, true} {
		g := start(t, options{loose: loose})
		for _, c := range cases {
			id := g.trigger("dataset_id=gd_pages", urls("http://lab.test/ok"))
			g.status(id, "ready")
			before := len(g.jobs.List())
			r := g.do(c.method, strings.Replace(c.path, "ID", id, 1), c.body)
			note := strings.Join(r.header.Values(answer.NoteHeader), "\n")
			if loose {
				if !strings.Contains(note, c.name) || strings.Contains(r.body, c.name) {
					t.Errorf("loose: %s %s %s: %+v", c.method, c.path, c.body, r)
				}
			} else if r.status != 400 || !strings.Contains(r.body, c.name) || note != "" || len(g.jobs.List()) != before {
				t.Errorf("%s %s %s: %+v", c.method, c.path, c.body, r)
			}
		}
	}
	g := start(t, options{})
	for path, body := range map[string]string{
		"/datasets/filter":             `{"dataset_id":"gd_products",` + priced + `,"zz_":1}}`,
		"/datasets/search/gd_products": `{"filter":{"operator":"and","filters":[{"name":"price","operator":"is_null","zz_":1}]}}`,
	} {
		if r := g.do("POST", path, body); r.status != 400 || !strings.Contains(r.body, "nothing else") {
			t.Errorf("%s %s: %+v", path, body, r)
		}
		if r := g.do("POST", path, body, "text/plain"); r.status != 400 || !strings.Contains(r.body, "Content-Type") {
			t.Errorf("%s as text: %+v", path, r)
		}
	}
}

func TestAScrapeIsAnsweredWithinTheGrace(t *testing.T) {
	g := start(t, options{jobs: jobs.Config{Grace: time.Hour}})
	r := g.do("POST", "/datasets/v3/scrape?dataset_id=gd_pages&custom_output_fields=title", urls("http://lab.test/ok"))
	if r.status != 200 || r.body != `[{"title":"It works"}]` {
		t.Errorf("%+v", r)
	}
	r = g.do("POST", "/datasets/v3/scrape?dataset_id=gd_products", urls("http://lab.test/product/99"))
	if r.status != 400 || r.body != "Snapshot is empty" {
		t.Errorf("nothing but errors: %+v", r)
	}
}

// A reader of CSV passes over an empty line, so that a row of one empty cell is none.
func TestARowOfOneEmptyCellIsARow(t *testing.T) {
	g := start(t, options{})
	id := g.trigger("dataset_id=gd_pages&custom_output_fields=title", urls("http://lab.test/ok", "http://lab.test/json", "http://lab.test/ok"))
	g.status(id, "ready")
	if r := g.do("GET", "/datasets/v3/snapshot/"+id+"?format=csv", nil); r.body != "title\nIt works\n\"\"\nIt works\n" {
		t.Errorf("%+v", r)
	}
}

func TestALogMasksUnknownParameters(t *testing.T) {
	g := start(t, options{loose: true})
	id := g.trigger("dataset_id=gd_pages&api_key=s3cret", urls("http://lab.test/ok"))
	if r := g.do("GET", "/datasets/v3/log/"+id, nil); strings.Contains(r.body, "s3cret") || !strings.Contains(r.body, "dataset_id=gd_pages") {
		t.Errorf("%+v", r)
	}
}
