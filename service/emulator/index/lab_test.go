package index

import (
	"testing"

	"zonedeck/service/emulator/lab"
)

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
		if err != nil {
			b.Fatal(err)
		}
		if err := c.close(); err != nil {
			b.Fatal(err)
		}
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
