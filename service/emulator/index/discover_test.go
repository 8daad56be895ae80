package index

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// discover runs a request to its end and returns the results' titles.
func (b *bench) discover(body string) ([]string, []map[string]any) {
	b.t.Helper()
	started := b.ask("POST", "/discover", body)
	if started["status"] != "ok" {
		b.t.Fatalf("%v", started)
	}
	b.settle()
	v := b.ask("GET", "/discover?task_id="+started["task_id"].(string), "")
	if v["status"] != "done" {
		b.t.Fatalf("%v", v)
	}
	titles, rows := []string{}, []map[string]any{}
	for _, r := range v["results"].([]any) {
		row := r.(map[string]any)
		rows = append(rows, row)
		titles = append(titles, row["title"].(string))
	}
	return titles, rows
}

func TestEveryFieldOfDiscoverIsHonoured(t *testing.T) {
	b := newBench(t, nil)
	lamp, oak, flat, rye := "Brass desk lamp", "Oak floor lamp", "Flat bread in a pan", "Rye bread with sourdough"
	german, clip := "Messinglampe", "Steel clip lamp"
	for name, tc := range map[string]struct {
		body string
		want []string
	}{
		"the query alone, without duplicates":    {`{"query":"desk lamp"}`, []string{lamp, clip, oak, german}},
		"duplicates are kept":                    {`{"query":"desk lamp","remove_duplicates":false}`, []string{lamp, lamp, clip, oak, german}},
		"as many as asked for":                   {`{"query":"desk lamp","num_results":1}`, []string{lamp}},
		"the intent decides more than the query": {`{"query":"bread","intent":"sourdough for patient people"}`, []string{rye, flat}},
		"another intent, another order":          {`{"query":"bread","intent":"without yeast, in a pan, ten minutes"}`, []string{flat, rye}},
		"a language":                             {`{"query":"lamp","language":"de"}`, []string{german}},
		"a language with a region":               {`{"query":"lamp","language":"de-AT"}`, []string{german}},
		"a keyword":                              {`{"query":"lamp","filter_keywords":["Berlin"]}`, []string{oak}},
		"every keyword has to be there":          {`{"query":"lamp","filter_keywords":["Berlin","brass"]}`, []string{}},
		"from a day on":                          {`{"query":"bread","start_date":"2026-01-01"}`, []string{flat}},
		"up to a day, that day included":         {`{"query":"bread","end_date":"2025-06-15"}`, []string{rye}},
		"a page without a date is in no range":   {`{"query":"night trains","start_date":"2000-01-01"}`, []string{}},
		"a site and those below it":              {`{"query":"lamp site:shop.lab.test"}`, []string{oak}},
		"a site alone":                           {`{"query":"site:shop.lab.test"}`, []string{oak}},
		"a phrase":                               {`{"query":"\"floor lamp\""}`, []string{oak}},
		"a word that must not occur":             {`{"query":"lamp -oak -pult -steel"}`, []string{lamp}},
		"a country moves its pages up":           {`{"query":"lamp","country":"DE","filter_keywords":["in"]}`, []string{oak, lamp}},
		"a city moves its pages up":              {`{"query":"lamp","city":"Berlin","filter_keywords":["in"]}`, []string{oak, lamp}},
		"nothing found":                          {`{"query":"zebra"}`, []string{}},
		"an array of one":                        {`[{"query":"zebra"}]`, []string{}},
		"zeroRanking keeps the index's order and ignores the count": {`{"query":"bread","mode":"zeroRanking","num_results":1}`, []string{flat, rye}},
		"null is left out": {`{"query":"night trains","intent":null,"num_results":null,"include_images":false,"mode":"fast"}`, []string{"Night trains return"}},
	} {
		t.Run(name, func(t *testing.T) {
			b.t = t
			if got, _ := b.discover(tc.body); !slices.Equal(got, tc.want) {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

func TestAResultHasTheDocumentedFields(t *testing.T) {
	b := newBench(t, nil)
	_, rows := b.discover(`{"query":"sourdough rye flour"}`)
	r := rows[0]
	if r["link"] != "http://lab.test/docs/rye-bread" || r["description"] != "Rye flour ferments for a day. The bread keeps a week. Servings: 8 Rated 3.9 stars." {
		t.Errorf("%v", r)
	}
	if s, ok := r["relevance_score"].(float64); !ok || s <= 0 || s > 1 {
		t.Errorf("score %v", r["relevance_score"])
	}
	if _, there := r["content"]; there {
		t.Error("content that nobody asked for")
	}
	_, rows = b.discover(`{"query":"rye","include_content":true}`)
	if c := rows[0]["content"].(string); !strings.HasPrefix(c, "Rye flour ferments") {
		t.Errorf("plain content %q", c)
	}
	_, rows = b.discover(`{"query":"rye","include_content":true,"format":"md"}`)
	if c := rows[0]["content"].(string); !strings.HasPrefix(c, "# Rye bread with sourdough\n\nRye flour") {
		t.Errorf("markdown content %q", c)
	}
	_, rows = b.discover(`{"query":"rye","include_content":true,"mode":"zeroRanking"}`)
	if _, scored := rows[0]["relevance_score"]; scored || rows[0]["content"] != nil {
		t.Errorf("zeroRanking: %v", rows[0])
	}
}

func TestADiscoverTaskIsProcessingUntilItIsDone(t *testing.T) {
	steps := newStepped(t)
	b := newBench(t, func(c *Config) { c.Wait = steps.wait })
	id := b.ask("POST", "/discover", `{"query":"bread"}`)["task_id"].(string)
	steps.arrive()
	b.clock(b.now.Load().Add(4100 * time.Millisecond))
	v := b.ask("GET", "/discover?task_id="+id, "")
	if v["status"] != "processing" || v["duration_seconds"] != 4.1 || v["results"] != nil {
		t.Errorf("%v", v)
	}
	steps.release()
	b.settle()
	b.clock(b.now.Load().Add(time.Hour))
	v = b.ask("GET", "/discover?task_id="+id, "")
	if v["status"] != "done" || v["duration_seconds"] != 4.1 || len(v["results"].([]any)) != 2 {
		t.Errorf("%v", v)
	}
}

func TestADiscoverTaskThatFailsSaysSo(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Fail = func() error { return errScenario } })
	id := b.ask("POST", "/discover", `{"query":"bread"}`)["task_id"].(string)
	b.settle()
	if v := b.ask("GET", "/discover?task_id="+id, ""); v["status"] != "error" || v["results"] != nil {
		t.Errorf("%v", v)
	}
	if _, err := b.Discover(t.Context(), []byte(`{"query":"bread"}`)); err == nil {
		t.Error("the inside call did not fail")
	}
}

func TestAnUnknownTaskIsNotFound(t *testing.T) {
	b := newBench(t, nil)
	if status, _, _ := b.call("GET", "/discover", ""); status != http.StatusBadRequest {
		t.Errorf("without task_id: %d", status)
	}
	if status, _, _ := b.call("GET", "/discover?task_id=../x", ""); status != http.StatusNotFound {
		t.Errorf("unknown: %d", status)
	}
}

func TestDiscoverFromInsideNamesAWrongField(t *testing.T) {
	b := newBench(t, nil)
	found, err := b.Discover(t.Context(), []byte(`{"query":"desk lamp","num_results":1}`))
	if err != nil || len(found) != 1 || found[0].Title != "Brass desk lamp" {
		t.Fatalf("%v %v", found, err)
	}
	if _, err := b.Discover(t.Context(), []byte(`{"query":"x","num_results":0}`)); err == nil || !strings.Contains(err.Error(), "num_results") {
		t.Errorf("%v", err)
	}
}
