package drift

import (
	"fmt"
	"slices"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

// A selector that never matched did not stop matching.
func TestASelectorThatNeverMatchedIsSaidSo(t *testing.T) {
	m := monitor(t, openStore(t, DefaultKeep()))
	fetch := func(id string, days int, path string, found bool) Detail {
		t.Helper()
		r := model.FetchResult{ID: id, Started: today.AddDate(0, 0, -days), ContentType: "text/html", Request: model.FetchRequest{URL: "http://shop.test/x/1"}, Fields: []model.Field{{Path: path, Found: found, Value: "1"}}}
		page := "<div class=card></div>"
		if found {
			page = "<div class=card><b class=price>1</b></div>"
		}
		noerr.Must(t, m.Fetched(t.Context(), "p", r, []byte(page)))
		d, err := m.Show(t.Context(), Subject{"p", Target, "shop.test/x/*"})
		noerr.Must(t, err)
		return d
	}
	for i, c := range []struct {
		path   string
		found  bool
		want   string
		useful int
	}{
		{"h1", false, "h1 matches nothing, and it matched in no known run", 0},
		{".card .price", false, ".price matches nothing, and it matched in no known run; .card matches", 0},
		{".card .price", true, "", 1},
		{".card .price", false, ".price matches nothing any more; .card still matches", 0},
		{"h1", false, "h1 matches nothing, and it matched in no known run", 0},
	} {
		d := fetch(fmt.Sprintf("f_%d", i), 9-i, c.path, c.found)
		if got := d.line(c.path).Failure(); got != c.want || d.Run.UsefulRows() != c.useful || d.Run.Useful != 1 {
			t.Errorf("%d: %q, %d useful", i, got, d.Run.UsefulRows())
		}
	}
	for name, want := range map[string]string{
		"shop.test/x/*": "shop.test/x/*", "shop.test/x/4": "shop.test/x/*", "https://u:p@Shop.test/x/77?y": "shop.test/x/*", "shop.test/y/4": "shop.test/y/*",
	} {
		if c, err := m.Named(t.Context(), "p", name); err != nil || c != (Subject{"p", Target, want}) {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
	if c, err := m.Named(t.Context(), "p", "gd_x"); err != nil || c.Kind != Dataset || c.Name != "gd_x" {
		t.Errorf("%+v, %v", c, err)
	}
}

// Selectors are independent: if one never matched, the others still have their earlier runs.
func TestASelectorThatStoppedMatchingIsHeldAgainstTheRunsInWhichItMatched(t *testing.T) {
	m := monitor(t, openStore(t, DefaultKeep()))
	fetch := func(n int, page string, price bool) {
		t.Helper()
		r := model.FetchResult{
			ID: fmt.Sprintf("f_%d", n), Started: today.AddDate(0, 0, n-9), ContentType: "text/html", Request: model.FetchRequest{URL: fmt.Sprintf("http://shop.test/x/%d", n)},
			Fields: []model.Field{{Path: "body .price", Found: price, Value: "1"}, {Path: "h1"}},
		}
		noerr.Must(t, m.Fetched(t.Context(), "p", r, []byte(page)))
	}
	for n := range 3 {
		fetch(n+1, "<p class=price>1</p>", true)
	}
	for n, since := range []string{"", "; first seen at f_4"} {
		fetch(n+4, "<em>1</em>", false)
		d, err := m.Show(t.Context(), Subject{"p", Target, "shop.test/x/*"})
		noerr.Must(t, err)
		want := "drift\nmissing: body .price matched nothing, and the fetch requires it; it matched in the last 3 runs that were good for it" + since +
			"\nmissing: h1 matched nothing, and the fetch requires it; first seen at f_1"
		if got := said(d.Verdict); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
		if l := d.Lines[0]; l.Field != "body .price" || l.Before != 1 || l.Against != 3 || d.Lines[1].Before != -1 {
			t.Errorf("%+v", d.Lines)
		}
		if got := [2]string{d.Lines[0].Failure(), d.Lines[1].Failure()}; got != [2]string{".price matches nothing any more; body still matches", "h1 matches nothing, and it matched in no known run"} {
			t.Errorf("%q", got)
		}
	}
}

// A fetch says nothing about a field it did not request, and counts for a field it found even if it missed others.
func TestAPageIsHeldAgainstTheRunsThatAskedForTheSame(t *testing.T) {
	var earlier []Run
	var got []string
	for i, f := range [][]model.Field{
		{{Path: "h1"}}, {{Path: ".price", Found: true, Value: "1"}, {Path: "h1"}}, {{Path: ".name", Found: true, Value: "n"}, {Path: "h1"}}, {{Path: ".price"}, {Path: "h1"}}, {{Path: ".name", Found: true, Value: "n"}},
	} {
		r := pageRun("p", model.FetchResult{ID: fmt.Sprintf("f_%d", i), Request: model.FetchRequest{URL: "http://shop.test/x/1"}, Fields: f}, nil, nil)
		v := Judge(r, earlier, nil)
		r.State, r.Findings = v.State, v.Findings
		earlier = append([]Run{r}, earlier...)
		got = append(got, fmt.Sprintf("%s %d", v.State, v.Against))
		if i == 3 && v.Findings[0].Text != ".price matched nothing, and the fetch requires it; it matched in the last run that was good for it" {
			t.Errorf("%s", said(v))
		}
	}
	if want := []string{"drift 0", "drift 0", "drift 0", "drift 1", "ok 1"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
