package records

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"zonedeck/internal/noerr"
	"zonedeck/service/filter"
	"zonedeck/service/query"
)

const shop = `{"id":1,"name":"Été","list price (USD)":5,"a/b:c":"x y","seller":{"city":"Köln \"Süd\""}}
{"id":2,"name":"b","list price (USD)":"7","ok":true,"a/b:c":null}
{"id":3,"name":"\u00c9t\u00e9 \"two\"","list price (USD)":12.50,"ok":false,"note":""}
{"id":4,"name":"-5"}
[1,2]
`

func TestFilters(t *testing.T) {
	results := []*File{
		file(t, "a.ndjson", shop),
		file(t, "a.json", "["+strings.ReplaceAll(strings.TrimSpace(shop), "\n", ",\n")+"]"),
		file(t, "b.json", strings.ReplaceAll(shop, "\n", " ")),
	}
	for _, c := range []struct{ filter, want string }{
		{"", "1 2 3 4 5"},
		{"été", "1 3"},
		{`"köln \"süd"`, "1"},
		{"name:ÉT", "1 3"},
		{"-name:ét", "2 4 5"},
		{`"list price (USD)">5`, "2 3"},
		{`"list price (USD)">=5 "list price (USD)"<12.5`, "1 2"},
		{`"list price (USD)"=12.5`, "3"},
		{`"list price (USD)"=7`, "2"},
		{`"a/b:c":x`, "1"},
		{`"a/b:c"="x y"`, "1"},
		{`"a/b:c"=x`, ""},
		{"has:note", ""},
		{`has:"a/b:c"`, "1"},
		{"-has:ok", "1 4 5"},
		{"ok=true", "2"},
		{"ok=false name:two", "3"},
		{"seller:süd", "1"},
		{"name=-5", "4"},
		{"name>b", "1 3"},
		{`name="=5"`, ""},
		{"name:>", ""},
		{"value:2", "5"},
		{"http://lab.test", ""},
		{`name:"two" -id=1`, "3"},
		{"-b -été", "4 5"},
		{"b and", ""}, // words alone are looked for
		{`id=1 "and"`, ""},
		{"price(USD)>5 -id=1 -id=2", ""},
		{"sku=abc==", ""},
		{"date>2026-01-01", ""},
		{"name:x)", ""},
	} {
		f, err := ParseFilter(c.filter)
		if err != nil {
			t.Errorf("%s: %v", c.filter, err)
			continue
		}
		for _, r := range results {
			if got := numbers(t, r, Query{Filter: f}); got != c.want {
				t.Errorf("%s: %s lets rows %q through, want %q", r.Format(), c.filter, got, c.want)
			}
		}
	}
}

func TestAFilterLetsNoDamagedRowThrough(t *testing.T) {
	f := file(t, "a.ndjson", "{\"a\":1}\n{\"a\":oops}\n{\"a\":2}\n")
	for filter, want := range map[string]string{"-x": "1 3", "oops": "", "-has:b": "1 3", "": "1 2 3"} {
		if got := numbers(t, f, Query{Filter: mustFilter(t, filter)}); got != want {
			t.Errorf("%q lets rows %q through, want %q", filter, got, want)
		}
	}
}

func TestFiltersOnATable(t *testing.T) {
	f := file(t, "a.csv", "id,\"list price, USD\",name\n1,5,\"a \"\"b\"\"\"\n2,,x\n3,12,\n")
	for _, c := range []struct{ filter, want string }{
		{`"list price, USD">5`, "3"}, {`has:"list price, USD"`, "1 3"}, {`"a \"b\""`, "1"}, {`name=""`, "3"}, {`name:x`, "2"}, {"-has:name", "3"},
	} {
		q, err := ParseFilter(c.filter)
		noerr.Must(t, err)
		if got := ids(t, f, Query{Filter: q}); got != c.want {
			t.Errorf("%s: %q, want %q", c.filter, got, c.want)
		}
	}
}

// each gives a word of each row of a query.
func each(t *testing.T, f *File, q Query, word func(Row) string) string {
	t.Helper()
	got, err := f.Select(t.Context(), q, nil, nil)
	noerr.Must(t, err)
	defer got.Rows.Close()
	rows, err := f.Rows(t.Context(), View{Rows: got.Rows}, 0, int(got.Rows.Len()), []string{"id"})
	noerr.Must(t, err)
	out := make([]string, 0, len(rows))
	for _, r := range rows {
		out = append(out, word(r))
	}
	return strings.Join(out, " ")
}

// ids are the ids of the rows of a query.
func ids(t *testing.T, f *File, q Query) string {
	t.Helper()
	return each(t, f, q, func(r Row) string { return r.Cells[0].Text })
}

// numbers are those of the rows of a query, from 1.
func numbers(t *testing.T, f *File, q Query) string {
	t.Helper()
	return each(t, f, q, func(r Row) string { return strconv.FormatInt(r.N+1, 10) })
}

func TestFiltersThatAreWrong(t *testing.T) {
	for _, c := range []struct{ filter, want string }{
		{`"open`, `the quote before "open" does not end`},
		{"has:", "has: names no field"},
		{"price>", `price> has no value: write one, or "" for an empty one`},
		{":x", `":x" has no field before it`},
		{"price>>30", `price>>30: ">>" is not an operator; a value that begins with > stands in quotes`},
		{"-price==30", `price==30: "==" is not an operator; a value that begins with = stands in quotes`},
		{"price<>30", `price<>30: "<>" is not an operator; a value that begins with > stands in quotes`},
		{"price>20)(=", `price>20)(=: the value 20)(= looks like a part of an expression: a text like that stands in quotes, as in price>"20)(="`},
		{"-price<5>2", `price<5>2: the value 5>2 looks like a part of an expression: a text like that stands in quotes, as in price<"5>2"`},
		{`"a b"=(x`, `a b=(x: the value (x looks like a part of an expression: a text like that stands in quotes, as in "a b"="(x"`},
		{"(price>20 name:x)", `(price>20: the field (price looks like a part of an expression, and there are no brackets and no !: a field of that name stands in quotes, as in "(price">20`},
		{"price!=20", `price!=20: the field price! looks like a part of an expression, and there are no brackets and no !: a field of that name stands in quotes, as in "price!"=20`},
		{"price>20 AND ok=true", "AND joins nothing here: every term has to hold, and -term has not to; put it in quotes to look for the word, or write the condition for jq"},
		{`name="b"c`, "c follows a quote: put a blank between them, or all of it in quotes"},
		{`"b"c d`, "c follows a quote: put a blank between them, or all of it in quotes"},
		{`""`, `"" says nothing: write what to look for`},
		{"\xff", "a filter is UTF-8"},
		{strings.Repeat("x", query.MaxFilter+1), "a filter has at most 4096 bytes"},
	} {
		if _, err := ParseFilter(c.filter); err == nil || err.Error() != c.want {
			t.Errorf("%q: %v, want %s", c.filter, err, c.want)
		}
	}
}

func FuzzFilter(f *testing.F) {
	for _, s := range []string{`a:b "c d">5 -has:"x"`, `"a\"b":""`, "-", "http://x", `x=""`, "has:has", "\v", "//"} {
		f.Add(s, `{"a":"b","c d":6}`)
	}
	f.Fuzz(func(t *testing.T, text, row string) {
		q, err := ParseFilter(text)
		if err != nil {
			return
		}
		for _, l := range []layout{{format: Lines}, {format: CSV, comma: ',', header: []string{"a", "b"}}} {
			q.matcher(l).match([]byte(row))
		}
		name := query.QuoteName(text)
		if again, err := ParseFilter("has:" + name); text != "" && (err != nil || len(again.terms) != 1 || again.terms[0].Name != text) {
			t.Errorf("has:%s is %+v: %v", name, again, err)
		}
		if again, err := ParseFilter(name + "=1"); text != "" && (err != nil || len(again.terms) != 1 || again.terms[0].Name != text) {
			t.Errorf("%s=1 is %+v: %v", name, again, err)
		}
	})
}

func TestJQ(t *testing.T) {
	synctest.Test(t, testJQ) // no time passes there while jq works: its bound ends no expression of these
}

func testJQ(t *testing.T) {
	f := file(t, "a.ndjson", shop)
	for _, c := range []struct {
		expr, want string
		failed     int64
	}{
		{".ok", "2", 1},
		{`select(.["a/b:c"]=="x y")`, "1", 1},
		{"type==\"array\"", "", 0},
		{".id>2", "3 4", 1},
		{"empty", "", 0},
	} {
		cond, err := filter.NewCondition(c.expr)
		noerr.Must(t, err)
		got, err := f.Select(t.Context(), Query{JQ: cond}, nil, nil)
		if err != nil || got.Failed != c.failed {
			t.Errorf("%s: %+v, %v", c.expr, got, err)
		}
		_ = got.Rows.Close()
		if c.expr != "type==\"array\"" {
			if got := ids(t, f, Query{JQ: cond}); got != c.want {
				t.Errorf("%s: %q, want %q", c.expr, got, c.want)
			}
		}
	}
}

// What a run of jq is ended with is said with the place. Its list stays open: somebody may be reading it.
func TestJQThatIsEnded(t *testing.T) {
	f := file(t, "a.ndjson", shop)
	index1(t, f)
	endless, err := filter.NewCondition("def f: f; f")
	noerr.Must(t, err)
	ctx, end := context.WithCancelCause(t.Context())
	got, err := f.Select(ctx, Query{JQ: endless}, func(*RowList) { end(filter.ErrTime) }, nil)
	if !errors.Is(err, filter.ErrTime) {
		t.Errorf("%+v, %v", got, err)
	}
	if rows, err := f.Rows(t.Context(), View{Rows: got.Rows}, 0, 1, nil); err != nil || len(rows) != 0 {
		t.Errorf("the list that somebody may be reading: %v, %v", rows, err)
	}
	noerr.Want(t, got.Rows.Close())
	if _, err := f.selectPart(ctx, Query{JQ: endless}, f.parts(jqPart)[0], make([]byte, 1<<10)); err == nil || err.Error() != "jq on the rows from 1 on: "+filter.ErrTime.Error() {
		t.Errorf("%v", err)
	}
}

func TestTheOrderOfASort(t *testing.T) {
	const rows = `{"id":1,"v":"b"}
{"id":2,"v":10}
{"id":3}
{"id":4,"v":-2.5}
{"id":5,"v":"B"}
{"id":6,"v":true}
{"id":7,"v":null}
{"id":8,"v":[1]}
{"id":9,"v":9}
{"id":10,"v":"b2"}
{"id":11,"v":"b"}
{"id":12,"v":{}}
{"id":13,"v":-0}
{"id":14,"v":0.0}
`
	f := file(t, "a.ndjson", rows)
	if got := ids(t, f, Query{Sort: "v"}); got != "4 13 14 9 2 5 1 11 10 6 12 8 3 7" {
		t.Errorf("upwards %s", got)
	}
	if got := ids(t, f, Query{Sort: "v", Down: true}); got != "8 12 6 10 1 11 5 2 9 13 14 4 3 7" {
		t.Errorf("downwards %s", got)
	}
	q, err := ParseFilter("v:b")
	noerr.Must(t, err)
	if got := ids(t, f, Query{Filter: q, Sort: "id", Down: true}); got != "11 10 5 1" {
		t.Errorf("filtered %s", got)
	}
}

func TestASortThatDoesNotFitIntoMemory(t *testing.T) {
	s := (&File{temp: t.TempDir(), memory: 4 << 10}).newSorter()
	defer s.close()
	r := rand.New(rand.NewPCG(1, 2))
	var want []string
	for i := range 5000 {
		key := strconv.Itoa(r.IntN(700))
		want = append(want, fmt.Sprintf("%s %05d", key, i))
		noerr.Must(t, s.add([]byte(key), fmt.Appendf(nil, "%05d", i)))
	}
	slices.SortStableFunc(want, func(a, b string) int { return strings.Compare(strings.Fields(a)[0], strings.Fields(b)[0]) })
	var got []string
	noerr.Must(t, s.eachSorted(t.Context(), func(key, load []byte) error {
		got = append(got, string(key)+" "+string(load))
		return nil
	}))
	if len(s.ends) < 10 || !slices.Equal(got, want) {
		t.Errorf("%d runs, %d items", len(s.ends), len(got))
	}
}

func TestSearch(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.ndjson")
	writeRows(t, path, 20_000)
	f := keeping(t, path)
	index1(t, f)
	want, err := ParseFilter(`"seller 7\""`)
	noerr.Must(t, err)
	third, err := ParseFilter("in_stock=true")
	noerr.Must(t, err)
	got, err := f.Select(t.Context(), Query{Filter: third, Sort: "id", Down: true}, nil, nil)
	noerr.Must(t, err)
	defer got.Rows.Close()
	for _, c := range []struct {
		name string
		view View
		from int64
		back bool
		at   int64
		ok   bool
	}{
		{"from the beginning", View{}, -1, false, 7, true},
		{"after a hit", View{}, 7, false, 1007, true},
		{"far on", View{}, 18_500, false, 19_007, true},
		{"after the last", View{}, 19_007, false, 0, false},
		{"at the end", View{}, 19_999, false, 0, false},
		{"back", View{}, 19_999, true, 19_007, true},
		{"back from a hit", View{}, 1007, true, 7, true},
		{"back before the first", View{}, 7, true, 0, false},
		{"in a sorted list", View{Rows: got.Rows}, 0, false, (19_998 - 17_007) / 3, true},
		{"back in it", View{Rows: got.Rows}, got.Rows.Len(), true, (19_998 - 2_007) / 3, true},
		{"back before the first of it", View{Rows: got.Rows}, (19_998 - 17_007) / 3, true, 0, false},
	} {
		at, ok, err := f.Find(t.Context(), c.view, c.from, c.back, want, nil)
		if err != nil || ok != c.ok || at != c.at {
			t.Errorf("%s: %d %t, %v; want %d %t", c.name, at, ok, err, c.at, c.ok)
		}
	}
}
