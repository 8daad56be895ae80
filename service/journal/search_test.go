package journal

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

// found are the numbers of the lines that a filter gives.
func found(t testing.TB, j *Journal, f model.HistoryFilter) []int64 {
	t.Helper()
	list, err := j.Entries(t.Context(), f)
	if err != nil {
		t.Fatalf("%+v: %v", f, err)
	}
	ids := make([]int64, len(list))
	for i, a := range list {
		ids[i] = a.ID
	}
	return ids
}

func TestTheIndexFollowsTheLines(t *testing.T) {
	j := openTest(t, filepath.Join(t.TempDir(), "journal.db"))
	for i := range 20 {
		noerr.Must(t, j.PutEntry(t.Context(), sampleRow(i)))
	}
	twin := model.Grid{ID: "t1", Started: testTime, Base: model.FetchRequest{URL: "http://lab.test/first"}}
	noerr.Must(t, j.PutComparison(t.Context(), twin))
	if got := found(t, j, model.HistoryFilter{Words: []string{"cells"}}); len(got) != 1 {
		t.Errorf("a comparison: %v", got)
	}
	twin.Cells = []model.Cell{{Vary: model.Vary{Zone: model.Zone{Name: "winner_zone"}, Via: model.ViaAPI}, Runs: []model.Run{{Class: model.ClassOK}}}}
	noerr.Must(t, j.PutComparison(t.Context(), twin))
	if got := found(t, j, model.HistoryFilter{Words: []string{"winner"}}); len(got) != 1 {
		t.Errorf("a comparison that was replaced: %v", got)
	}
	noerr.Must(t, j.Prune(t.Context(), Keep{Entries: 3, Fetches: 1, Comparisons: 1}))
	var rows int
	if err := j.db.QueryRowContext(t.Context(), "SELECT count(*) FROM activity_search_docsize").Scan(&rows); err != nil || rows != 3 {
		t.Errorf("the index has %d lines after pruning to 3, %v", rows, err)
	}
	if got := found(t, j, model.HistoryFilter{Words: []string{"fetch"}}); len(got) != 2 {
		t.Errorf("of the fetches that stay: %v", got)
	}
}

// A file of schema 11 that had an older one has lines below a mark which are not in the index.
func TestLinesThatNoConsoleIndexedAreFound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := openTest(t, path)
	for i := range 4 {
		noerr.Must(t, j.PutEntry(t.Context(), sampleRow(i)))
	}
	want := found(t, j, model.HistoryFilter{Words: []string{"fetch"}})
	noerr.Must(t, j.db.Write(t.Context(), "an older file", func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM activity_search WHERE rowid < 3; DROP INDEX activity_at;
			CREATE TABLE activity_unindexed (below INTEGER NOT NULL) STRICT; INSERT INTO activity_unindexed VALUES (3); PRAGMA user_version = 11`)
		return err
	}))
	noerr.Must(t, j.Close())
	j = openTest(t, path)
	if got := found(t, j, model.HistoryFilter{Words: []string{"fetch"}}); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Above 20,000 lines the first since a time is not looked for. The clock went backwards here.
func TestEveryLineOfManySinceATimeIsFound(t *testing.T) {
	j := openTest(t, filepath.Join(t.TempDir(), "journal.db"))
	const n = 20_010
	err := j.db.Write(t.Context(), "filling", func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
			INSERT INTO activity (at, kind, profile, zone, url, via, key, class, cause, status, bytes, total, ref, text, words)
			SELECT ? + 1 - i, 'fetch', '', '', '', '', '', '', '', 0, 0, 0, '', '', iif(i = 1, 'first', iif(i % 1000 = 0, 'round', 'plain')) FROM n`, n, n)
		return err
	})
	noerr.Must(t, err)
	for _, c := range []struct {
		since int64
		words []string
		want  int
	}{{2, []string{"round"}, 20}, {2001, []string{"round"}, 18}, {2, []string{"first"}, 1}, {n - 9, []string{"plain"}, 9}, {n + 1, []string{"plain"}, 0}, {20_000, nil, 11}, {2, nil, maxPage}} {
		if got := found(t, j, model.HistoryFilter{Words: c.words, Since: time.UnixMicro(c.since), Limit: maxPage}); len(got) != c.want {
			t.Errorf("since %d %q: %d lines, want %d", c.since, c.words, len(got), c.want)
		}
	}
}

// A filter's name is looked up in its own column: one whose signs stand in every line, and that
// no line has, reads no line.
func TestANameInOtherScriptsIsFoundInItsColumn(t *testing.T) {
	j := openTest(t, filepath.Join(t.TempDir(), "journal.db"))
	names := []string{"商店", "ЗОНА", "ひら", "가나", "Éé", "Ǆ", "ſ", "İ", "ς", "زون", "אזור", "🛒", "", "zone-商店", "商店-1", "ﬀ", "𠀀"}
	for _, name := range names {
		noerr.Must(t, j.PutEntry(t.Context(), model.HistoryEntry{Kind: model.HistoryFetch, Zone: name, Key: name, Profile: name, Text: "seen in 商店 ЗОНА"}))
	}
	for i, name := range names {
		if name == "" {
			continue
		}
		for what, f := range map[string]model.HistoryFilter{"zone": {Zone: name}, "key": {Key: name}, "profile": {Profile: name}, "zone and word": {Zone: name, Words: []string{"seen"}}} {
			if list, err := j.Entries(t.Context(), f); err != nil || len(list) != 1 || list[0].ID != int64(i+1) {
				t.Errorf("%s %q: %d lines, %v", what, name, len(list), err)
			}
		}
	}
	for name, column := range map[string]bool{"東京": true, "зона": true, "🛒": false, "𠀀": false} {
		if got := strings.Contains(narrow(model.HistoryFilter{Zone: name}).match, "zone : "); got != column {
			t.Errorf("%q is looked up in its column: %v", name, got)
		}
	}
}

func TestAWordFindsWhatBeginsWithIt(t *testing.T) {
	j := openTest(t, filepath.Join(t.TempDir(), "journal.db"))
	for _, text := range []string{"shopping at Café", "the workshop", "50% of 商店街", "a \"quoted\" OR NEAR(word)", "sd_m3k1 <b>", "Магазин 🛒/€"} {
		noerr.Must(t, j.PutEntry(t.Context(), model.HistoryEntry{Text: text}))
	}
	many := []string{}
	for range 3 * maxTerms {
		many = append(many, "the")
	}
	for _, c := range []struct {
		words []string
		want  []int64
	}{
		{[]string{"shop"}, []int64{1}},
		{[]string{"CAFE"}, []int64{1}},
		{[]string{"at", "shop"}, []int64{1}},
		{[]string{"店"}, []int64{3}},
		{[]string{"50%"}, []int64{3}},
		{[]string{"%"}, []int64{6, 5, 4, 3, 2, 1}},
		{[]string{"of", "商店"}, []int64{3}},
		{[]string{"店街"}, []int64{3}},
		{[]string{"商街"}, []int64{}},
		{[]string{"街商"}, []int64{}},
		{[]string{"商店街道"}, []int64{}},
		{[]string{"商店", "店街"}, []int64{3}},
		{[]string{"「商店"}, []int64{}},
		{[]string{"、商店街"}, []int64{}},
		{[]string{"é"}, []int64{1}},
		{[]string{"магазин"}, []int64{6}},
		{[]string{"ГАЗ"}, []int64{6}},
		{[]string{"€"}, []int64{6}},
		{[]string{"🛒"}, []int64{6}},
		{[]string{"%🛒!€"}, []int64{}},
		{[]string{"🛒/€"}, []int64{6}},
		{[]string{"x"}, []int64{}},
		{[]string{"5546"}, []int64{}},
		{[]string{"\ue000"}, []int64{}},
		{[]string{`"quoted`}, []int64{4}},
		{[]string{`near(word`}, []int64{4}},
		{[]string{"OR"}, []int64{4}},
		{[]string{"words:a"}, []int64{}},
		{[]string{"sd_m3k1"}, []int64{5}},
		{[]string{"<b>"}, []int64{5}},
		{[]string{"the*"}, []int64{2}},
		{[]string{"workshop\x00x"}, []int64{}},
		{many, []int64{2}},
		{append(many, "nowhere"), []int64{}},
	} {
		if got := found(t, j, model.HistoryFilter{Words: c.words}); !slices.Equal(got, c.want) {
			t.Errorf("%q: %v, want %v", c.words, got, c.want)
		}
	}
}

// FuzzSearch: no text breaks the index's language, and a line is found by its own text.
func FuzzSearch(f *testing.F) {
	for _, s := range []string{"shop", `a"b`, "x AND (", "class : y", "-", "NEAR/2", "^a*", "\x00a", "\xff1", "İstanbul", "a\u0301", "{words}:a", "'); DROP"} {
		f.Add(s, "unlocker_demo")
	}
	f.Add("!); DROP", "\xb2\xb2\xb2omker_dcoe")
	j := openTest(f, filepath.Join(f.TempDir(), "journal.db"))
	f.Fuzz(func(t *testing.T, word, zone string) {
		if len(word)+len(zone) > 1<<12 {
			return
		}
		noerr.Must(t, j.PutEntry(t.Context(), model.HistoryEntry{Text: clean(word), Zone: zone}))
		all, err := j.Entries(t.Context(), model.HistoryFilter{Words: []string{word}, Zone: zone, Limit: 1})
		if err != nil {
			t.Fatalf("%q %q: %v", word, zone, err)
		}
		newest, err := j.Entries(t.Context(), model.HistoryFilter{Limit: 1})
		if err != nil || len(newest) != 1 {
			t.Fatalf("%v, %v", newest, err)
		}
		if strings.ContainsRune(zone, 0) { // SQLite's texts are compared to their end, and the index sees a blank
			return
		}
		if len(all) != 1 || all[0].ID != newest[0].ID {
			t.Errorf("%q in zone %q gives %v, and not the line %v", word, zone, all, newest[0])
		}
	})
}

// BenchmarkSearch asks the 200,000 lines that are kept what the console asks them, as it
// does once Index is done.
func BenchmarkSearch(b *testing.B) {
	j := openTest(b, filepath.Join(b.TempDir(), "journal.db"))
	n := defaultKeep().Entries
	fillSpoken(b, j, n)
	recent := testTime.Add(time.Duration(n-100) * time.Second)
	for _, c := range []struct {
		name string
		f    model.HistoryFilter
	}{
		{"in every line", model.HistoryFilter{Words: []string{"http://lab.test/shop"}}},
		{"in every line, and of a common class", model.HistoryFilter{Words: []string{"answered"}, Class: model.ClassCaptcha}},
		{"in every line, and since the newest", model.HistoryFilter{Words: []string{"answered"}, Since: recent}},
		{"in every line, and since the oldest", model.HistoryFilter{Words: []string{"answered"}, Since: testTime}},
		{"in every line, and before the middle", model.HistoryFilter{Words: []string{"answered"}, Before: int64(n / 2)}},
		{"in every line, and of a zone that never was", model.HistoryFilter{Words: []string{"answered"}, Zone: "none"}},
		{"in every line, and of a zone that never was, in Chinese", model.HistoryFilter{Words: []string{"answered"}, Zone: "東京"}},
		{"in every line, and of a zone that never was and whose name stands in every line, in Chinese", model.HistoryFilter{Words: []string{"answered"}, Zone: "商店"}},
		{"no words, of a zone that never was and whose name stands in every line, in Chinese", model.HistoryFilter{Zone: "商店"}},
		{"in every line, and of a profile that never was", model.HistoryFilter{Words: []string{"answered"}, Profile: "none"}},
		{"in every line, and of a class and kind that never meet", model.HistoryFilter{Words: []string{"answered"}, Class: model.ClassCaptcha, Kind: model.HistoryComparison}},
		{"in one line", model.HistoryFilter{Words: []string{fmt.Sprintf("page=%d", n/2)}}},
		{"a beginning of many", model.HistoryFilter{Words: []string{"1"}}},
		{"two that never meet", model.HistoryFilter{Words: []string{"captcha", "timeout"}}},
		{"nowhere", model.HistoryFilter{Words: []string{"nowhere"}}},
		{"in every line, in Chinese", model.HistoryFilter{Words: []string{"商店"}}},
		{"in one line, in Chinese", model.HistoryFilter{Words: []string{"限定版"}}},
		{"nowhere, of signs in every line, in Chinese", model.HistoryFilter{Words: []string{"店商"}}},
		{"nowhere, in Japanese", model.HistoryFilter{Words: []string{"ショッピング"}}},
		{"nowhere, in Russian", model.HistoryFilter{Words: []string{"магазин"}}},
		{"one sign that is nowhere", model.HistoryFilter{Words: []string{"€"}}},
		{"punctuation that is nowhere", model.HistoryFilter{Words: []string{"%"}}},
		{"no words, since the newest", model.HistoryFilter{Since: recent}},
		{"no words, of a zone that never was", model.HistoryFilter{Zone: "none"}},
		{"no words, of a profile that never was", model.HistoryFilter{Profile: "none"}},
		{"no words, of a common class in a zone that never has it", model.HistoryFilter{Class: model.ClassOK, Zone: "serp_demo"}},
		{"no words, of a class and kind that never meet", model.HistoryFilter{Class: model.ClassCaptcha, Kind: model.HistoryComparison}},
		{"no words, of a common class, before the middle", model.HistoryFilter{Class: model.ClassCaptcha, Before: int64(n / 2)}},
	} {
		c.f.Limit = defaultPage
		b.Run(c.name, func(b *testing.B) {
			for range b.N {
				noerr.Must(b, noerr.From(j.Entries(b.Context(), c.f)))
			}
		})
	}
}

// fillSpoken fills the file with n lines that have Chinese words, too.
func fillSpoken(t testing.TB, j *Journal, n int) {
	t.Helper()
	for i := range n {
		a := sampleRow(i)
		a.Text += ": 商店街の案内"
		if i == n/2 {
			a.Text += " 限定版"
		}
		noerr.Must(t, j.PutEntry(t.Context(), a))
	}
	noerr.Must(t, j.flush(t.Context()))
}
