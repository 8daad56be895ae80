package index

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"zonedeck/internal/noerr"
	"zonedeck/service/emulator/lab"
	"zonedeck/service/emulator/state"
	"zonedeck/service/emulator/state/statetest"
)

func day(t testing.TB, s string) time.Time {
	t.Helper()
	d, err := time.Parse(time.DateOnly, s)
	noerr.Must(t, err)
	return d
}

// fixtures are small documents that carry every fact that the tests expect.
func fixtures(t testing.TB) []Document {
	lamp := map[string]string{"price": "$49.00", "sku": "LAB-1007", "availability": "In stock", "rating": "4.2", "customer count": "120"}
	again := maps.Clone(lamp)
	again["country"] = "us"
	return []Document{
		{URL: "http://lab.test/docs/flat-bread", Title: "Flat bread in a pan", Description: "A bread without yeast.", Category: "recipes", Published: day(t, "2026-03-01"), Text: "Flour, water and salt make a bread in ten minutes. Servings: 4\nBy Rosa Okafor. Rated 4.5 stars by readers.", Facts: map[string]string{"author": "Rosa Okafor", "servings": "4", "rating": "4.5"}},
		{URL: "http://lab.test/docs/rye-bread", Title: "Rye bread with sourdough", Description: "A dark bread for patient people.", Category: "recipes", Published: day(t, "2025-06-15"), Text: "Rye flour ferments for a day. The bread keeps a week. Servings: 8\nRated 3.9 stars.", Facts: map[string]string{"servings": "8", "rating": "3.9"}},
		{URL: "http://lab.test/docs/desk-lamp", Title: "Brass desk lamp", Description: "A lamp for the desk.", Category: "products", Published: day(t, "2026-01-10"), Text: "Price: $49.00\nSKU LAB-1007, in stock. Rated 4.2 out of 5 by 120 customers.", Facts: lamp},
		{URL: "http://shop.lab.test/docs/floor-lamp", Title: "Oak floor lamp", Description: "A tall lamp.", Category: "products", Published: day(t, "2024-11-30"), Text: "It costs $120.00 and is sold out. Made in Berlin since the company was founded in 2018.", Facts: map[string]string{"price": "$120.00", "availability": "Sold out", "city": "Berlin", "country": "de", "founded": "2018"}},
		{URL: "http://lab.test/docs/desk-lamp?b=2&a=1", Title: "Brass desk lamp", Description: "The same page again.", Category: "products", Published: day(t, "2026-01-10"), Text: "Price: $49.00\nSKU LAB-1007, in stock. Rated 4.2 out of 5 by 120 customers.", Facts: again},
		{URL: "http://lab.test/docs/lampe", Title: "Messinglampe", Description: "Eine lamp fürs Pult.", Category: "products", Text: "Preis: 49 €", Facts: map[string]string{"language": "de"}},
		{URL: "http://lab.test/docs/clip-lamp", Title: "Steel clip lamp", Description: "A lamp for a shelf.", Category: "products", Published: day(t, "2025-02-02"), Text: "It clips on. $19 only, SKU LAB-2001.", Facts: map[string]string{"price": "$19", "sku": "LAB-2001"}},
		{URL: "http://lab.test/docs/night-trains", Title: "Night trains return", Description: "More sleepers on old lines.", Category: "news", Text: "The operator orders 25 sleeping cars. Contact press@rail.example for details.", Facts: map[string]string{"email": "press@rail.example", "sleeping cars count": "25"}},
	}
}

// newCorpus is an index over the fixtures.
func newCorpus(t testing.TB) *corpus {
	t.Helper()
	c, err := openCorpus(t.Context(), fixtures(t))
	noerr.Must(t, err)
	t.Cleanup(func() { noerr.Want(t, c.close()) })
	return c
}

// scores are those of a discovery, by title.
func scores(t testing.TB, c *corpus, text string) map[string]float64 {
	t.Helper()
	found, err := c.discover(t.Context(), request{query: text, results: maxResults, duplicates: true})
	noerr.Must(t, err)
	out := map[string]float64{}
	for _, r := range found {
		out[r.Title] = *r.Score
	}
	return out
}

func TestAWordThatNoDocumentHoldsLowersTheScore(t *testing.T) {
	c := newCorpus(t)
	known, unknown := scores(t, c, "brass desk lamp"), scores(t, c, "brass desk lamp zebra")
	if known["Brass desk lamp"] <= unknown["Brass desk lamp"] || unknown["Brass desk lamp"] <= 0 {
		t.Errorf("%v, with a zebra %v", known, unknown)
	}
}

func TestScoresOfAnyTextLieBetweenZeroAndOne(t *testing.T) {
	c := newCorpus(t)
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.SampledFrom([]string{"lamp", "bread desk", ""}).Draw(rt, "known") + " " + rapid.String().Draw(rt, "text")
		for title, s := range scores(t, c, text) {
			if s < 0 || s > 1 || s != s {
				rt.Fatalf("score %v of %s for %q", s, title, text)
			}
		}
	})
}

func TestAQueryIsNeverSyntaxOfTheIndex(t *testing.T) {
	c := newCorpus(t)
	for _, text := range []string{
		`lamp"`, `"`, `""`, `"""lamp`, `lamp AND`, `NOT lamp`, `NEAR(lamp desk, 2)`, `title:lamp`, `{title text}:lamp`, `^lamp`, `lamp*`, `(lamp`, `lamp)`,
		`-`, `--`, `-"lamp"`, `lamp -(`, `site:`, `site:* lamp`, `lamp + desk`, "lamp\x00desk", `'; DROP TABLE documents; --`, `%`, "\u00ad", "🜁", "e\u0301",
		strings.Repeat("(", maxQuery), strings.Repeat("lamp OR ", 200), strings.Repeat(`"lamp" `, 200), strings.Repeat("-a ", 500),
		strings.Join(strings.Split(strings.Repeat("abcdefghij", 50), ""), " x"),
	} {
		for _, r := range []request{{query: text}, {query: "lamp", intent: text}, {query: "lamp", keywords: []string{text}}} {
			r.results = maxResults
			if _, err := c.discover(t.Context(), r); err != nil {
				t.Errorf("%+.80v: %v", r, err)
			}
		}
		if _, err := c.meets(t.Context(), hit{doc: &c.docs[0]}, column{Name: "x", Description: text}); err != nil {
			t.Errorf("constraint %.80q: %v", text, err)
		}
	}
	if len(scores(t, c, "lamp")) != 4 {
		t.Error("the index is damaged")
	}
}

func TestManyDifferentWordsAreBounded(t *testing.T) {
	terms := make([]string, 10*maxTerms)
	for i := range terms {
		terms[i] = "w" + strconv.Itoa(i)
	}
	if n := strings.Count(anyTerm(terms), " OR "); n != maxTerms-1 {
		t.Errorf("%d", n)
	}
}

func TestEndingsOfWordsDoNotMatter(t *testing.T) {
	c := newCorpus(t)
	for text, want := range map[string]string{"LAMPS": "Steel clip lamp", "the operators' order": "Night trains return", "fermenting": "Rye bread with sourdough", "furs pult": "Messinglampe"} {
		got := scores(t, c, text)
		if _, found := got[want]; !found {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestColumnsAreFilledFromTheFactsOfTheDocument(t *testing.T) {
	c := newCorpus(t)
	for _, tc := range []struct {
		doc    int
		column string
		want   any // nil: the document does not say
	}{
		{0, "name", "Flat bread in a pan"},
		{0, "recipe_name", "Flat bread in a pan"},
		{0, "chef_name", nil},
		{0, "author", "Rosa Okafor"},
		{0, "servings", 4.0},
		{0, "rating", 4.5},
		{0, "price", nil},
		{0, "published", "2026-03-01"},
		{0, "published_year", 2026.0},
		{0, "url", "http://lab.test/docs/flat-bread"},
		{0, "category", "recipes"},
		{0, "country", nil},
		{2, "price", "$49.00"},
		{2, "sku", "LAB-1007"},
		{2, "availability", "In stock"},
		{2, "customer_count", 120.0},
		{2, "customerCount", 120.0},
		{2, "rating", 4.2},
		{3, "price", "$120.00"},
		{3, "availability", "Sold out"},
		{3, "founded_year", 2018.0},
		{3, "founded", 2018.0},
		{3, "made", nil},
		{3, "country", "de"},
		{3, "employee_count", nil},
		{7, "email", "press@rail.example"},
		{7, "published", nil},
		{7, "sleeping_cars_count", 25.0},
		{7, "cto_name", nil},
		{7, "_", nil},
	} {
		t.Run(fmt.Sprintf("%s of %s", tc.column, c.docs[tc.doc].Title), func(t *testing.T) {
			got, ok := c.docs[tc.doc].value(tc.column)
			if ok != (tc.want != nil) || ok && got != tc.want {
				t.Fatalf("%v %t, want %v", got, ok, tc.want)
			}
		})
	}
}

func TestConstraintsHoldOnlyWhereTheDocumentShowsIt(t *testing.T) {
	c := newCorpus(t)
	for _, tc := range []struct {
		doc               int
		name, description string
		want              bool
	}{
		{2, "cheap", "Price under $50", true},
		{3, "cheap", "Price under $50", false},
		{0, "cheap", "Price under $50", false}, // it has none
		{2, "price", "at most 49", true},
		{0, "well_rated", "Rating above 4", true},
		{1, "well_rated", "Rating above 4", false},
		{0, "recent", "Published after 2025", true},
		{1, "recent", "Published after 2025", false},
		{1, "recent", "Published since 2025-06-15", true},
		{7, "recent", "Published after 2000", false}, // it has no date
		{0, "is_recipe", "Must be a recipe", true},
		{2, "is_recipe", "Must be a recipe", false},
		{0, "has_phrase", `It has "in ten minutes"`, true},
		{1, "has_phrase", `It has "in ten minutes"`, false},
		{0, "servings", "at least 4", true},
		{0, "servings", "more than 4", false},
		{2, "customer_count", "more than 0.1k", true},
		{0, "in_stock", "", false},
		{2, "in_stock", "", true},
		{0, "the", "", false},
	} {
		got, err := c.meets(t.Context(), hit{doc: &c.docs[tc.doc], number: tc.doc}, column{tc.name, tc.description, "constraint"})
		if err != nil || got != tc.want {
			t.Errorf("%s %q of %s: %t, %v", tc.name, tc.description, c.docs[tc.doc].Title, got, err)
		}
	}
}

// TestTasksOutliveTheProcess ends a service while one task of each kind is over and another
// is not: the next one has the results of the first, and those of the second in the end.
func TestTasksOutliveTheProcess(t *testing.T) {
	dir := statetest.Open(t, t.TempDir())
	hold := make(chan struct{})
	first := newBench(t, func(c *Config) {
		c.State = dir
		c.Wait = func(ctx context.Context, _ time.Duration) error {
			select {
			case <-hold:
				<-ctx.Done()
				return ctx.Err()
			default:
				return ctx.Err()
			}
		}
	})
	const lookups = "/datasets/deep_lookup/v1"
	ask := func() []string {
		return []string{
			"/discover?task_id=" + first.ask("POST", "/discover", `{"query":"brass lamp","num_results":2}`)["task_id"].(string),
			lookups + "/request/" + first.ask("POST", lookups+"/trigger", `{"query":"lamp price","spec":{"columns":[{"name":"name"},{"name":"price"}]},"result_limit":2}`)["request_id"].(string),
			lookups + "/preview/" + first.ask("POST", lookups+"/preview", `{"query":"lamp with price"}`)["preview_id"].(string),
		}
	}
	over := ask()
	first.settle()
	var before []map[string]any
	for _, at := range over {
		before = append(before, first.ask("GET", at, ""))
	}
	close(hold)
	cut := ask()
	first.server.Close()
	first.Close()

	next := newBench(t, func(c *Config) { c.State = dir })
	for i, at := range over {
		if after := next.ask("GET", at, ""); !reflect.DeepEqual(after, before[i]) {
			t.Errorf("%s was %v and is %v", at, before[i], after)
		}
	}
	next.settle()
	for i, at := range cut {
		after := next.ask("GET", at, "")
		if i == 0 && !reflect.DeepEqual(after["results"], before[i]["results"]) || i == 1 && !reflect.DeepEqual(after["data"], before[i]["data"]) || after["status"] != before[i]["status"] {
			t.Errorf("%s began again and is %v, not as %v", at, after, before[i])
		}
	}
	added := next.ask("POST", over[1]+"/enrich", `{"column_name":"sku"}`)
	next.settle()
	if added["status"] != "processing" {
		t.Error(added)
	}
	enriched := next.ask("GET", over[1], "")
	third := newBench(t, func(c *Config) { c.State = dir })
	if after := third.ask("GET", over[1], ""); !reflect.DeepEqual(after, enriched) || reflect.DeepEqual(after["columns"], before[1]["columns"]) {
		t.Errorf("enriched, it was %v and is %v", enriched, after)
	}
}

func TestWhatIsTooOldGoesFromTheDiskToo(t *testing.T) {
	dir := statetest.Open(t, t.TempDir())
	b := newBench(t, func(c *Config) { c.State = dir })
	old := b.ask("POST", "/discover", `{"query":"lamp"}`)["task_id"].(string)
	b.settle()
	b.clock(b.now.Load().Add(retention + time.Minute))
	fresh := b.ask("POST", "/discover", `{"query":"lamp"}`)["task_id"].(string)
	b.settle()
	for id, want := range map[string]bool{old: false, fresh: true} {
		if _, ok, err := tasksTable.Get(dir, id); ok != want || err != nil {
			t.Errorf("%s is on disk: %t, %v", id, ok, err)
		}
	}
}

func TestAStoredTaskThatCannotBeReadIsLeftOut(t *testing.T) {
	dir := statetest.Open(t, t.TempDir())
	for id, v := range map[string]stored{"a": {Kind: kindDiscover, Ask: []byte("[]")}, "b": {Kind: kindLookup}, "c": {Kind: "other", Lookup: &storedLookup{}}} {
		noerr.Must(t, dir.Update(func(tx *state.Tx) error { return tasksTable.Put(tx, id, v) }))
	}
	newBench(t, func(c *Config) { c.State = dir })
	if len(dir.Notes()) != 3 {
		t.Errorf("%q", dir.Notes())
	}
}

func labDocuments() []Document {
	pages := lab.Documents()
	docs := make([]Document, len(pages))
	for i, p := range pages {
		docs[i] = Document(p)
	}
	return docs
}

func BenchmarkIndexingTheLab(b *testing.B) {
	docs := labDocuments()
	for b.Loop() {
		c, err := openCorpus(b.Context(), docs)
		noerr.Must(b, err)
		noerr.Must(b, c.close())
	}
	b.ReportMetric(float64(len(docs)), "documents")
}

func TestTheLabCanBeLookedUp(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Documents = labDocuments })
	titles, _ := b.discover(`{"query":"brass desk lamp review","num_results":3}`)
	if len(titles) != 3 || titles[0] != "Brass desk lamp review" {
		t.Errorf("%q", titles)
	}
	v := b.lookup(`{"query":"Find all reviews of things with a price","spec":{"name":"reviews","query":"product reviews","title":"Reviews","columns":[
		{"name":"name","description":"What it is","type":"enrichment"},
		{"name":"price","description":"Price","type":"enrichment"},
		{"name":"rating","description":"Rating","type":"enrichment"},
		{"name":"is_review","description":"The category must be reviews","type":"constraint"},
		{"name":"cheap","description":"Price under $40","type":"constraint"}]}}`)
	rows := v["data"].([]any)
	if len(rows) == 0 || v["skipped_records"] == 0.0 {
		t.Fatalf("%v", v)
	}
	for _, r := range rows {
		if row := r.(map[string]any); row["price"] == nil || row["rating"] == nil {
			t.Errorf("%v", row)
		}
	}
}
