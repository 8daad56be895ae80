package dialect

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"zonedeck/model"
)

func TestJobsAreReadAsTheServiceListsThem(t *testing.T) {
	d := Embedded()
	jobs, skipped, err := d.ReadSnapshots([]byte(`[
		{"id":"sd_1","created":"2026-11-20T10:00:00.5Z","status":"ready","dataset_id":"gd_1","dataset_size":12},
		{"id":"sd_2","created":"soon","status":"digesting","dataset_id":"gd_1"},
		{"id":"../x","status":"ready"},
		{"id":"sd_3","status":"No data found in discovery","dataset_size":-1},
		{"id":"sd_4","status":"cancelled"}]`))
	if err != nil || skipped != 1 || len(jobs) != 4 {
		t.Fatalf("%+v, %d, %v", jobs, skipped, err)
	}
	if j := jobs[0]; j.State != model.JobReady || j.Records != 12 || !j.Created.Equal(time.Date(2026, 11, 20, 10, 0, 0, 5e8, time.UTC)) {
		t.Errorf("%+v", j)
	}
	if j := jobs[1]; j.State != model.JobRunning || j.Records != -1 || !j.Created.IsZero() || j.Wire != "digesting" {
		t.Errorf("%+v", j)
	}
	if jobs[2].State != model.JobFailed || jobs[2].Records != -1 || jobs[3].State != model.JobCanceled {
		t.Errorf("%+v", jobs[2:])
	}
	path, query := d.Snapshots("v3", "gd_1", 1e6)
	if path != "/datasets/v3/snapshots" || query.Encode() != "dataset_id=gd_1&limit=5000" {
		t.Errorf("%s ?%s", path, query.Encode())
	}
}

func TestSentencesInPlaceOfAStateEndTheJob(t *testing.T) {
	d := Embedded()
	for body, want := range map[string]model.JobState{
		`{"status":"Account is suspended"}`:            model.JobFailed,
		`{"status":"Input validation failed: no url"}`: model.JobFailed,
		"Snapshot is empty\n":                          model.JobFailed,
		"Account is new, please activate it by mail":   model.JobFailed,
		`{"status":"collecting"}`:                      model.JobRunning,
		`{"status":"a new word"}`:                      model.JobRunning,
	} {
		p, err := d.ReadProgress([]byte(body))
		if err != nil || p.State != want || want == model.JobFailed && (p.Detail == "" || p.Detail != strings.TrimSpace(p.Detail)) {
			t.Errorf("%q: %+v, %v", body, p, err)
		}
	}
	if _, err := d.ReadProgress([]byte("<html>Account is suspended</html>")); err == nil {
		t.Error("a page is taken for a state")
	}
}

func TestReadScrapers(t *testing.T) {
	d := brightdata(t)
	got, skipped, err := d.ReadScrapers([]byte(`[
		{"id":"gd_a","name":"A\u001b[31m","domain":"a.test","category":"ecommerce","scraper_type":["discover_by_keyword","collect_by_url","odd"],"scrapers":{
			"collect_by_url":{"input_schema":[{"name":"url","type":"url","required":true,"example":"http://a.test/"},{"name":""},{"name":"a\u0007"}]},
			"discover_by_keyword":{"input_schema":[{"name":"q","type":"number","example": [ 1 ]}]},
			"discover_by_sietmap":{},
			"discover_by_a/b":{"input_schema":[]}}},
		{"id":"gd_m6gjtfmeh43we6cqc"}, {"id":"gd_s","category":"search"}, {"id":"gd_t","name":"Amazon products_search","category":"ecommerce"}, {"id":"gd_u","name":"Research"}, {"id":"../x"}, {}]`))
	want := []model.Dataset{
		{ID: "gd_a", Name: "A [31m", Kind: model.CollectScraper, Domain: "a.test", Methods: []model.CollectMethod{
			{Discover: "keyword", Fields: []model.InputField{{Name: "q", Type: "number", Example: "[1]"}}},
			{Fields: []model.InputField{{Name: "url", Type: "url", Required: true, Example: `"http://a.test/"`}}},
			{Discover: "sietmap"},
		}},
		{ID: "gd_m6gjtfmeh43we6cqc", Kind: model.CollectCrawl},
		{ID: "gd_s", Kind: model.CollectSearch},
		{ID: "gd_t", Name: "Amazon products_search", Kind: model.CollectSearch},
		{ID: "gd_u", Name: "Research", Kind: model.CollectScraper},
	}
	if len(got) > 0 {
		want[0].Name = got[0].Name
	}
	if err != nil || skipped != 2 || !reflect.DeepEqual(got, want) || strings.Contains(got[0].Name, "\x1b") {
		t.Errorf("%d skipped, %v\n%+v\n%+v", skipped, err, got, want)
	}
	for _, body := range []string{"", "{}", "[1]", `[{"id":5}]`} {
		if _, _, err := d.ReadScrapers([]byte(body)); err == nil {
			t.Errorf("%s is a list", body)
		}
	}
	if path, query := d.Scrapers("v4", "gd_a"); path != "/datasets/v4/scrapers" || query.Encode() != "dataset_id=gd_a" {
		t.Error(path, query)
	}
	if Default().ListsScrapers() {
		t.Error("which dialect lists them")
	}
}

func FuzzReadScrapers(f *testing.F) {
	f.Add([]byte(`[{"id":"gd_a","scraper_type":["discover_by_x"],"scrapers":{"collect_by_url":{"input_schema":[{"name":"url","example":{}}]}}}]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		list, _, err := Embedded().ReadScrapers(body)
		if err != nil && list != nil {
			t.Fatal("a list with an error")
		}
		for _, c := range list {
			if _, ok := word(c.ID); !ok || clean(c.Name) != c.Name || len(c.Methods) > maxMethods {
				t.Fatalf("%+v", c)
			}
			for _, m := range c.Methods {
				if len(m.Fields) > maxFields {
					t.Fatalf("%d fields", len(m.Fields))
				}
				for _, field := range m.Fields {
					if field.Name == "" || clean(field.Name) != field.Name || field.Example != "" && !json.Valid([]byte(field.Example)) {
						t.Fatalf("%+v", field)
					}
				}
			}
		}
	})
}
