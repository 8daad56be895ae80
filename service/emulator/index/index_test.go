package index

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func day(t testing.TB, s string) time.Time {
	t.Helper()
	d, err := time.Parse(time.DateOnly, s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// fixtures are small documents in which every value that the tests expect can be read.
func fixtures(t testing.TB) []Document {
	return []Document{
		{URL: "http://lab.test/docs/flat-bread", Title: "Flat bread in a pan", Description: "A bread without yeast.", Category: "recipes", Published: day(t, "2026-03-01"), Text: "Flour, water and salt make a bread in ten minutes. Servings: 4\nBy Rosa Okafor. Rated 4.5 stars by readers."},
		{URL: "http://lab.test/docs/rye-bread", Title: "Rye bread with sourdough", Description: "A dark bread for patient people.", Category: "recipes", Published: day(t, "2025-06-15"), Text: "Rye flour ferments for a day. The bread keeps a week. Servings: 8\nRated 3.9 stars."},
		{URL: "http://lab.test/docs/desk-lamp", Title: "Brass desk lamp", Description: "A lamp for the desk.", Category: "products", Published: day(t, "2026-01-10"), Text: "Price: $49.00\nSKU LAB-1007, in stock. Rated 4.2 out of 5 by 120 customers."},
		{URL: "http://shop.lab.test/docs/floor-lamp", Title: "Oak floor lamp", Description: "A tall lamp.", Category: "products", Published: day(t, "2024-11-30"), Country: "de", Text: "It costs $120.00 and is sold out. Made in Berlin since the company was founded in 2018."},
		{URL: "http://lab.test/docs/desk-lamp?b=2&a=1", Title: "Brass desk lamp", Description: "The same page again.", Category: "products", Published: day(t, "2026-01-10"), Country: "us", Text: "Price: $49.00\nSKU LAB-1007, in stock. Rated 4.2 out of 5 by 120 customers."},
		{URL: "http://lab.test/docs/lampe", Title: "Messinglampe", Description: "Eine lamp fürs Pult.", Category: "products", Language: "de", Text: "Preis: 49 €"},
		{URL: "http://lab.test/docs/clip-lamp", Title: "Steel clip lamp", Description: "A lamp for a shelf.", Category: "products", Published: day(t, "2025-02-02"), Text: "It clips on. $19 only, SKU LAB-2001."},
		{URL: "http://lab.test/docs/night-trains", Title: "Night trains return", Description: "More sleepers on old lines.", Category: "news", Text: "The operator orders 25 sleeping cars. Contact press@rail.example for details."},
	}
}

func TestScoresLieBetweenZeroAndOneAndOrderByRelevance(t *testing.T) {
	c := NewCorpus(fixtures(t))
	hits := ranked(c.scores(words("brass desk lamp")))
	if len(hits) < 3 || c.docs[hits[0].doc].Title != "Brass desk lamp" {
		t.Fatalf("hits %v", hits)
	}
	for _, h := range hits {
		if h.score <= 0 || h.score > 1 {
			t.Errorf("score %v of %q", h.score, c.docs[h.doc].Title)
		}
	}
	if unknown := ranked(c.scores(words("brass desk lamp zebra"))); unknown[0].score >= hits[0].score {
		t.Error("a word that no document holds did not lower the score")
	}
}

func TestScoresOfAnyTextLieBetweenZeroAndOne(t *testing.T) {
	c := NewCorpus(fixtures(t))
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{"lamp", "bread desk", ""}).Draw(t, "known") + " " + rapid.String().Draw(t, "text")
		for i, s := range c.scores(words(text)) {
			if s <= 0 || s > 1 || s != s {
				t.Fatalf("score %v of document %d for %q", s, i, text)
			}
		}
	})
}

func TestDocumentsPastTheBoundAreLeftOut(t *testing.T) {
	docs := make([]Document, MaxDocuments+1)
	docs[0].Title, docs[MaxDocuments].Title = "first", "last"
	s := Open(t.Context(), Config{Documents: func() []Document { return docs }})
	defer s.Close()
	if c := s.corpus(); len(c.scores([]string{"first"})) != 1 || len(c.scores([]string{"last"})) != 0 {
		t.Error("not cut at the bound")
	}
}

func TestWordsAreIndexedWithoutPluralEndings(t *testing.T) {
	for text, want := range map[string][]string{
		"The lamps": {"lamp"}, "Recipes & stories": {"recipe", "story"}, "glasses": {"glass"},
		"bus glass this": {"bus", "glass"}, "ÄPFEL 4,5": {"äpfel", "4", "5"},
	} {
		if got := words(text); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestColumnsAreFilledFromWhatTheDocumentSays(t *testing.T) {
	docs := fixtures(t)
	c := NewCorpus(docs)
	x := newExtractor()
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
		t.Run(fmt.Sprintf("%s of %s", tc.column, docs[tc.doc].Title), func(t *testing.T) {
			got, ok := x.value(&c.docs[tc.doc], tc.column)
			if ok != (tc.want != nil) || ok && got != tc.want {
				t.Fatalf("%v %t, want %v", got, ok, tc.want)
			}
		})
	}
}

func TestConstraintsHoldOnlyWhereTheDocumentShowsIt(t *testing.T) {
	c := NewCorpus(fixtures(t))
	x := newExtractor()
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
		{7, "recent", "Published after 2000", false}, // nobody knows
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
		if got := x.meets(&c.docs[tc.doc], column{tc.name, tc.description, "constraint"}); got != tc.want {
			t.Errorf("%s %q of %s: %t", tc.name, tc.description, c.docs[tc.doc].Title, got)
		}
	}
}
