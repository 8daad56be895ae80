package journal

import (
	"path/filepath"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

// What one profile or one zone does much of takes no place from another.
func TestTheNewestFetchesOfEachZone(t *testing.T) {
	j := openTest(t, filepath.Join(t.TempDir(), "journal.db"))
	put := func(n int, e model.HistoryEntry) {
		t.Helper()
		for range n {
			noerr.Must(t, j.PutEntry(t.Context(), e))
		}
	}
	put(3, model.HistoryEntry{Kind: model.HistoryFetch, Profile: "acme", Zone: "web_1", Class: model.ClassOK})
	put(1, model.HistoryEntry{Kind: model.HistoryFetch, Profile: "acme", Zone: "web_1"})
	put(1, model.HistoryEntry{Kind: model.HistoryComparison, Profile: "acme", Zone: "web_1", Class: model.ClassOK})
	put(1, model.HistoryEntry{Kind: model.HistoryFetch, Profile: "acme", Zone: "web_1", Class: model.ClassOK, Source: model.SourceRotation})
	put(1, model.HistoryEntry{Kind: model.HistoryFetch, Profile: "acme", Class: model.ClassOK})
	put(300, model.HistoryEntry{Kind: model.HistoryFetch, Profile: "local", Zone: "web_1", Class: model.ClassTimeout})
	put(300, model.HistoryEntry{Kind: model.HistoryFetch, Profile: "acme", Zone: "web_2", Class: model.ClassOK})
	list, err := j.Entries(t.Context(), model.HistoryFilter{Profile: "acme", PerZone: 12, Limit: 1000})
	got := model.RecentOf(list, 1000)
	if err != nil || len(list) != 15 || len(got["web_1"]) != 3 || got["web_1"][0].Class != model.ClassOK || len(got["web_2"]) != 12 {
		t.Errorf("%d entries, %d of web_1 and %d of web_2, %v; want 3 and 12", len(list), len(got["web_1"]), len(got["web_2"]), err)
	}
	s := narrow(model.HistoryFilter{Profile: "acme", PerZone: 12, Limit: 1000}).plain()
	rows := noerr.Try(j.db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN SELECT id FROM "+s.text, s.args...)).Must(t)
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var step string
		noerr.Must(t, rows.Scan(&id, &parent, &unused, &step))
		if strings.HasPrefix(step, "SCAN") && !strings.Contains(step, "zones") {
			t.Errorf("a step reads every entry: %s", step)
		}
	}
	noerr.Must(t, rows.Err())
}
