package journal

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

func TestURLsAreTheDistinctOnesOfAProfileNewestFirst(t *testing.T) {
	j := openTest(t, filepath.Join(t.TempDir(), "journal.db"))
	put := func(profile, url string, kind model.HistoryKind) {
		t.Helper()
		noerr.Must(t, j.PutEntry(t.Context(), model.HistoryEntry{Kind: kind, Profile: profile, URL: url}))
	}
	put("acme", "http://forgotten.test/", model.HistoryFetch)
	for i := range lookBack - 6 {
		put("acme", fmt.Sprintf("http://lab.test/%d", i%3), model.HistoryFetch)
	}
	put("acme", "http://lab.test/2", model.HistoryFetch)
	put("other", "http://other.test/", model.HistoryFetch)
	put("acme", "http://twin.test/", model.HistoryComparison)
	put("acme", "", model.HistoryFetch)
	put("acme", "http://u:xxxxx@lab.test/", model.HistoryFetch)
	put("acme", model.Masked+"@lab.test/%zz", model.HistoryFetch)
	put("acme", "http://lab.test/@user", model.HistoryFetch)
	got, err := j.URLs(t.Context(), "acme", 3)
	last := fmt.Sprintf("http://lab.test/%d", (lookBack-7)%3)
	if last == "http://lab.test/2" {
		t.Fatal("the newest must not be the one that is used again")
	}
	if err != nil || len(got) != 3 || !slices.Equal(got[:3], []string{"http://lab.test/@user", "http://lab.test/2", last}) {
		t.Errorf("%q, %v", got, err)
	}
	if all, err := j.URLs(t.Context(), "acme", 500); err != nil || slices.Contains(all, "http://forgotten.test/") || len(all) != 4 {
		t.Errorf("%q, %v; the oldest entry is out of sight", all, err)
	}
}
