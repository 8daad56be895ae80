package journal

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

// BenchmarkOpenWarm measures what each command pays for the journal: open an
// existing file, write one fetch, close.
func BenchmarkOpenWarm(b *testing.B) {
	path := filepath.Join(b.TempDir(), "journal.db")
	j := openTest(b, path)
	fillRows(b, j, 10_000)
	b.Run("open", func(b *testing.B) {
		for range b.N {
			j, _, err := Open(b.Context(), path, time.Now)
			noerr.Must(b, err)
			b.StopTimer()
			_ = j.Close()
			b.StartTimer()
		}
	})
	noerr.Must(b, j.Close())
	b.Run("open, keep a fetch, close, alone", func(b *testing.B) {
		for i := range b.N {
			j, _, err := Open(b.Context(), path, time.Now)
			noerr.Must(b, err)
			noerr.Must(b, j.PutFetch(b.Context(), "local", sampleFetch(fmt.Sprint(i))))
			noerr.Must(b, j.Close())
		}
	})
}

// BenchmarkTimeline asks 10,000 rows the questions the tab History asks.
func BenchmarkTimeline(b *testing.B) {
	j := openTest(b, filepath.Join(b.TempDir(), "journal.db"))
	fillRows(b, j, 10_000)
	for _, c := range []struct {
		name string
		f    model.HistoryFilter
	}{
		{"newest 200", model.HistoryFilter{}},
		{"page in the middle", model.HistoryFilter{Before: 5000}},
		{"class", model.HistoryFilter{Class: model.ClassCaptcha}},
		{"zone and words", model.HistoryFilter{Zone: "serp_demo", Words: []string{"shop"}}},
		{"words found nowhere", model.HistoryFilter{Words: []string{"nowhere"}}},
		{"since, all of it", model.HistoryFilter{Since: testTime.Add(9990 * time.Second)}},
	} {
		b.Run(c.name, func(b *testing.B) {
			for range b.N {
				noerr.Must(b, noerr.From(j.Entries(b.Context(), c.f)))
			}
		})
	}
}

// BenchmarkPut is one fetch queued for the next group.
func BenchmarkPut(b *testing.B) {
	j := openTest(b, filepath.Join(b.TempDir(), "journal.db"))
	for i := range b.N {
		noerr.Must(b, j.PutFetch(b.Context(), "local", sampleFetch(fmt.Sprint(i))))
	}
}
