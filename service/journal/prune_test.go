package journal

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/database"
)

func TestPruneForgetsTheOldest(t *testing.T) {
	j := openTest(t, filepath.Join(t.TempDir(), "journal.db"))
	for i := range 10 {
		r := sampleFetch(fmt.Sprint(i))
		r.Started = testTime.Add(time.Duration(i) * time.Second)
		r.Body = model.BodyRef{Bytes: make([]byte, 100), Size: 100}
		r.Request.Zone.Rate = model.Rate{Per1000: 1.5}
		noerr.Must(t, errors.Join(
			j.PutComparison(t.Context(), model.Grid{ID: "t" + r.ID, Started: r.Started}), // a line, too; the fetch's is the newer
			j.PutFetch(t.Context(), "p", r),
		))
	}
	noerr.Must(t, j.flush(t.Context()))
	noerr.Must(t, j.Prune(t.Context(), Keep{Entries: 14, Fetches: 5, Comparisons: 2, BodyBytes: 250}))
	lines, err := j.Entries(t.Context(), model.HistoryFilter{})
	if err != nil || len(lines) != 14 || lines[12].Ref != "3" {
		t.Errorf("%d lines, %v", len(lines), err)
	}
	var costs int
	if err := j.db.QueryRowContext(t.Context(), "SELECT count(*) FROM activity_costs").Scan(&costs); err != nil || costs != 7 {
		t.Errorf("%d costs of the 7 fetches among them, %v", costs, err)
	}
	for i := range 10 {
		if _, err := j.Comparison(t.Context(), fmt.Sprintf("t%d", i)); (i < 8) != errors.Is(err, database.ErrNotFound) {
			t.Errorf("comparison %d: %v", i, err)
		}
		r, err := j.Fetch(t.Context(), fmt.Sprint(i))
		switch {
		case i < 5:
			if !errors.Is(err, database.ErrNotFound) {
				t.Errorf("fetch %d: %v", i, err)
			}
		case err != nil || r.Body.Size != 100 || (len(r.Body.Bytes) == 100) != (i >= 8):
			t.Errorf("fetch %d: %d of %d bytes, %v", i, len(r.Body.Bytes), r.Body.Size, err)
		}
	}
	noerr.Must(t, j.Prune(t.Context(), defaultKeep()))
	if lines, err := j.Entries(t.Context(), model.HistoryFilter{}); err != nil || len(lines) != 14 {
		t.Errorf("within the bounds: %d lines, %v", len(lines), err)
	}
}

func TestTheJournalPrunesItself(t *testing.T) {
	set := defaults()
	set.keep = Keep{Entries: 100, Fetches: 100, BodyBytes: 1 << 20}
	path := filepath.Join(t.TempDir(), "journal.db")
	// Each round opens the journal anew, as each command does.
	for range 6 {
		j, _, err := open(t.Context(), path, clock(), set)
		noerr.Must(t, err)
		for range 100 {
			noerr.Must(t, j.PutEntry(t.Context(), model.HistoryEntry{Text: "x"}))
		}
		noerr.Must(t, j.Close())
	}
	j := openTest(t, path)
	lines, err := j.Entries(t.Context(), model.HistoryFilter{Limit: 1000})
	if err != nil || len(lines) != 100 || lines[0].ID != 600 {
		t.Errorf("%d lines, %v", len(lines), err)
	}
}

// fillRows puts lines of many kinds into the timeline.
func fillRows(t testing.TB, j *Journal, n int) {
	t.Helper()
	for i := range n {
		noerr.Must(t, j.PutEntry(t.Context(), sampleRow(i)))
	}
	noerr.Must(t, j.flush(t.Context()))
}

func sampleRow(i int) model.HistoryEntry {
	zones := []string{"unlocker_demo", "serp_demo", "browser_demo", "residential_demo"}
	classes := model.Classes()
	return model.HistoryEntry{
		At: testTime.Add(time.Duration(i) * time.Second), Kind: model.HistoryFetch, Profile: "local",
		Zone: zones[i%len(zones)], URL: fmt.Sprintf("http://lab.test/shop?page=%d", i), Via: model.ViaAPI, Key: "batch-user",
		Class: classes[i%len(classes)], Status: 200, Bytes: 18_000, Total: 400 * time.Millisecond,
		Ref: fmt.Sprintf("f%d", i), Text: "the target answered as asked",
	}
}
