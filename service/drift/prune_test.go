package drift

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

// Page runs that drift in one field are still compared with for other fields. They stay like good runs, however many
// others follow and however old they get.
func TestRunsThatAreGoodForOneFieldStayForIt(t *testing.T) {
	shop := Subject{"p", Target, "shop.test/x"}
	fetches := func(t *testing.T, m *Monitor, from, n int, age func(i int) time.Duration, found ...string) {
		t.Helper()
		for i := from; i < from+n; i++ {
			r := model.FetchResult{ID: fmt.Sprintf("f_%03d", i), Started: today.Add(-age(i)), Request: model.FetchRequest{URL: "http://shop.test/x"}}
			for _, path := range []string{".never", ".price", ".title"} {
				r.Fields = append(r.Fields, model.Field{Path: path, Found: slices.Contains(found, path), Value: "text of " + path})
			}
			noerr.Must(t, m.Fetched(t.Context(), "p", r, nil))
		}
	}
	missing := func(t *testing.T, d Detail, field string) string {
		t.Helper()
		i := slices.IndexFunc(d.Verdict.Findings, func(f Finding) bool { return f.Field == field && f.Word == Missing })
		if i < 0 {
			t.Fatalf("nothing is said of %s: %+v", field, d.Verdict.Findings)
		}
		return d.Verdict.Findings[i].Text
	}
	ago := func(i int) time.Duration { return time.Duration(500-i) * time.Hour }
	t.Run("number", func(t *testing.T) {
		m := monitor(t, openStore(t, Keep{Runs: 8, Age: 1000 * 24 * time.Hour, Bytes: 1 << 30, Accepted: 5}))
		fetches(t, m, 0, 60, ago, ".title", ".price")
		fetches(t, m, 60, 40, ago, ".title")
		fetches(t, m, 100, 10, ago)
		d, err := m.Show(t.Context(), shop)
		noerr.Must(t, err)
		for field, last := range map[string]string{".title": "in the last 30 runs that were good for it", ".price": "in the last 30 runs that were good for it"} {
			if got := missing(t, d, field); !strings.Contains(got, "; it matched "+last) {
				t.Errorf("%s: %q", field, got)
			}
		}
		if got := missing(t, d, ".never"); strings.Contains(got, "it matched") {
			t.Errorf("%q", got)
		}
		var refs []string
		for _, r := range mustRuns(t, m, shop) {
			refs = append(refs, r.Ref)
		}
		// The first and last 30 good for the title, the last 30 for the price (the first are the same), and the newest 8.
		if n := len(refs); n != 30+30+30+8 || !slices.Contains(refs, "f_000") || !slices.Contains(refs, "f_059") || !slices.Contains(refs, "f_099") || slices.Contains(refs, "f_065") {
			t.Errorf("%d runs: %q", n, refs)
		}
	})
	t.Run("age", func(t *testing.T) {
		m := monitor(t, openStore(t, Keep{Runs: 200, Age: 10 * 24 * time.Hour, Bytes: 1 << 30, Accepted: 5}))
		old := func(i int) time.Duration { return 100*24*time.Hour - time.Duration(i)*time.Hour }
		fetches(t, m, 0, 80, old, ".title")
		fetches(t, m, 80, 1, func(int) time.Duration { return 0 })
		d, err := m.Show(t.Context(), shop)
		noerr.Must(t, err)
		if got := missing(t, d, ".title"); !strings.Contains(got, "it matched in the last 30 runs that were good for it") {
			t.Errorf("%q", got)
		}
		if n := len(mustRuns(t, m, shop)); n != 30+30+1 {
			t.Errorf("%d runs", n)
		}
	})
	t.Run("size", func(t *testing.T) {
		s := openStore(t, Keep{Runs: 500, Age: 1000 * 24 * time.Hour, Bytes: 8 << 10, Accepted: 5})
		m := monitor(t, s)
		fetches(t, m, 0, 120, ago, ".title")
		var bytes int
		if err := s.db.QueryRowContext(t.Context(), "SELECT sum(length(fields)+length(findings)) FROM runs").Scan(&bytes); err != nil || bytes > 8<<10 {
			t.Errorf("%d bytes, %v", bytes, err)
		}
	})
}

func mustRuns(t *testing.T, m *Monitor, c Subject) []Run {
	t.Helper()
	s, err := m.cfg.Open(t.Context())
	noerr.Must(t, err)
	all, err := s.Runs(t.Context(), c, 1000)
	noerr.Must(t, err)
	return all
}
