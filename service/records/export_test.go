package records

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/service/query"
)

// exported are the rows of a file as CSV, the header first.
func exported(t *testing.T, f *File, columns ...string) [][]string {
	t.Helper()
	var b strings.Builder
	noerr.Must(t, noerr.From(f.Export(t.Context(), &b, View{}, Export{Format: CSV, Columns: columns}, nil)))
	r := csv.NewReader(strings.NewReader(b.String()))
	all, err := r.ReadAll()
	if err != nil || len(all) == 0 {
		t.Fatalf("%v of %q", err, b.String())
	}
	return all
}

func TestExports(t *testing.T) {
	f := file(t, "a.json", "[{\"a b\":\"=1+1\",\"n\":-5,\"x\":[1,\n 2]},{\"a b\":\"-5\",\"n\":null},{\"a b\":\"@x\\ny\"}, oops]")
	for _, c := range []struct {
		e    Export
		want string
		done Written
	}{
		{Export{Format: CSV}, "a b,n,x\n'=1+1,-5,\"[1,\n 2]\"\n-5,,\n\"'@x\ny\",,\n", Written{Rows: 3, Skipped: 1, Defused: 2}},
		{Export{Format: CSV, Raw: true, Columns: []string{"n", "a b", "no"}}, "n,a b,no\n-5,=1+1,\n,-5,\n,\"@x\ny\",\n", Written{Rows: 3, Skipped: 1, Defused: 0}},
		{Export{Format: CSV, Columns: []string{"n"}}, "n\n-5\n\"\"\n\"\"\n", Written{Rows: 3, Skipped: 1, Defused: 0}},
		{Export{Format: Lines}, "{\"a b\":\"=1+1\",\"n\":-5,\"x\":[1, 2]}\n{\"a b\":\"-5\",\"n\":null}\n{\"a b\":\"@x\\ny\"}\n", Written{Rows: 3, Skipped: 1, Defused: 0}},
		{Export{Format: Array, Columns: []string{"n"}}, "[\n{\"n\":-5},\n{\"n\":null},\n{}\n]\n", Written{Rows: 3, Skipped: 1, Defused: 0}},
	} {
		c.done.First = "it is not JSON: invalid character 'o' looking for beginning of value"
		var b strings.Builder
		done, err := f.Export(t.Context(), &b, View{}, c.e, nil)
		if err != nil || b.String() != c.want || done != c.done {
			t.Errorf("%+v: %q %+v, %v; want %q %+v", c.e, b.String(), done, err, c.want, c.done)
		}
		if c.e.Format == Array && !json.Valid([]byte(b.String())) {
			t.Errorf("%q is not JSON", b.String())
		}
	}
	table := file(t, "a.csv", "name,\"x \"\"y\"\"\",name\nA,\"1\n2\",b\n")
	if got := written(t, table, View{}); got != "{\"name\":\"A\",\"x \\\"y\\\"\":\"1\\n2\",\"name 3\":\"b\"}\n" {
		t.Errorf("%q", got)
	}
	latin := file(t, "latin.csv", "id,name\n1,Jos\xe9\n2,x\n")
	if done, err := latin.Export(t.Context(), io.Discard, View{}, Export{Format: Lines}, nil); err != nil || done != (Written{Rows: 1, Skipped: 1, First: "it is not UTF-8: save the file as UTF-8"}) {
		t.Errorf("%+v, %v", done, err)
	}
	if _, err := f.Export(t.Context(), io.Discard, View{}, Export{Format: "xml"}, nil); err == nil {
		t.Error("rows were written as XML")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Export(ctx, io.Discard, View{}, Export{Format: Lines}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestATableHasEveryField(t *testing.T) {
	wide, want := map[string]int{}, []string{}
	for i := range MaxColumns + 88 {
		name := fmt.Sprintf("field %04d", i)
		want = append(want, name)
		wide[name] = i
	}
	row, err := json.Marshal(wide)
	noerr.Must(t, err)
	all := exported(t, file(t, "a.ndjson", "{\"field 0001\":7}\n"+string(row)+"\n"))
	want = append([]string{want[1], want[0]}, want[2:]...)
	if !slices.Equal(all[0], want) || all[2][len(want)-1] != fmt.Sprint(len(want)-1) || all[2][1] != "0" || all[1][0] != "7" {
		t.Errorf("%d columns %.100q, want %d; the row ends with %q", len(all[0]), all[0], len(want), all[2][len(all[2])-1])
	}
	long := strings.Repeat("é", maxName)
	if all := exported(t, file(t, "b.ndjson", `{"a":1,"`+long+`":"kept"}`)); len(all[0]) != 2 || all[0][1] != long || all[1][1] != "kept" {
		t.Errorf("%q", all)
	}
}

func TestCellsBeyondTheHeaderAreKept(t *testing.T) {
	f := file(t, "a.csv", "id,name\n1,a,x,\n2,b,\n3,c,,y\n")
	if got := written(t, f, View{}); got != `{"id":"1","name":"a","column 3":"x"}
{"id":"2","name":"b"}
{"id":"3","name":"c","column 4":"y"}
` {
		t.Errorf("%s", got)
	}
	if all := exported(t, f); !slices.Equal(all[0], []string{"id", "name", "column 3", "column 4"}) || !slices.Equal(all[3], []string{"3", "c", "", "y"}) {
		t.Errorf("%q", all)
	}
	if got := written(t, file(t, "b.csv", "column 2\na,b\n"), View{}); got != "{\"column 2\":\"a\",\"further column 2\":\"b\"}\n" {
		t.Errorf("%s", got)
	}
	if got := numbers(t, f, Query{Filter: mustFilter(t, `"column 4"=y`)}); got != "3" {
		t.Errorf("rows %q", got)
	}
}

func TestATableOfTooManyFieldsIsRefused(t *testing.T) {
	var b strings.Builder
	for i := range maxSheet + 1 {
		fmt.Fprintf(&b, "{\"%d\":1}\n", i)
	}
	f := file(t, "a.ndjson", b.String())
	if _, err := f.Export(t.Context(), io.Discard, View{}, Export{Format: CSV}, nil); err == nil || !strings.Contains(err.Error(), "more than the 16384 columns of a sheet") {
		t.Errorf("%v", err)
	}
	if done, err := f.Export(t.Context(), io.Discard, View{}, Export{Format: Lines}, nil); err != nil || done.Rows != maxSheet+1 {
		t.Errorf("%+v, %v", done, err)
	}
}

func TestAColumnOfALongNameIsShownShortened(t *testing.T) {
	long := strings.Repeat("é", maxName)
	for name, text := range map[string]string{
		"a.ndjson": `{"a":1,"` + long + `":"kept"}` + "\n" + `{"a":2,"` + strings.Replace(long, "é", `\u00e9`, 1) + `":"more"}`,
		"b.csv":    "a," + long + "\n1,kept\n2,more\n",
	} {
		f := file(t, name, text)
		p, err := f.Profile(t.Context(), nil)
		if err != nil || len(p.Columns) != 2 || !strings.HasSuffix(p.Columns[1].Name, "é…") || len(p.Columns[1].Name) > maxName+3 {
			t.Fatalf("%s: %.100v, %v", name, p.Columns, err)
		}
		short := p.Columns[1].Name
		if got := rowsOf(t, f, View{}, 3, "a", short); len(got) != 2 || got[0].Cells[1].Text != "kept" || got[1].Cells[1].Text != "more" {
			t.Errorf("%s: %.200v", name, got)
		}
		if got := numbers(t, f, Query{Sort: short, Down: true}); got != "2 1" {
			t.Errorf("%s: sorted %q", name, got)
		}
		if got := numbers(t, f, Query{Filter: mustFilter(t, query.QuoteName(short)+"=kept")}); got != "1" {
			t.Errorf("%s: filtered %q", name, got)
		}
		if p.Lacks(long) || p.Lacks(short) || !p.Lacks("b") {
			t.Errorf("%s: which columns lack", name)
		}
		if all := exported(t, f, "a", short); len(all) != 3 || all[1][1] != "kept" {
			t.Errorf("%s: exported %.100q", name, all)
		}
	}
}
