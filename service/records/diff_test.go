package records

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"zonedeck/internal/noerr"
	"zonedeck/service/query"
)

func TestTheDifferenceOfTwoResults(t *testing.T) {
	old := file(t, "old.json", `[{"id":1,"p q":5,"at":"mon"},{"id":2,"x":null,"n":[1, 2]},{"id":3},{"id":3,"p q":9},{"name":"no key"},{"id":[1]}, oops]`)
	now := file(t, "new.ndjson", "{\"at\":\"tue\",\"p q\":6,\"id\":\"1\"}\n{\"n\":[1, 2],\"id\":2,\"at\":\"tue\"}\n{\"id\":4}\n{\"id\":4,\"x\":1}\n{\"id\":null}\n")
	c, err := now.Compare(t.Context(), old, CompareOptions{Key: "id", Ignore: []string{"at"}}, nil)
	noerr.Must(t, err)
	defer c.Rows.Close()
	var got []string
	noerr.Must(t, c.EachChange(t.Context(), now, func(change Change, row []byte, fields []FieldChange) error {
		got = append(got, fmt.Sprintf("%s %s %v", change, row, fields))
		return nil
	}))
	want := []string{
		`changed {"at":"tue","p q":6,"id":"1"} [{p q {number 5} {number 6}}]`,
		`added {"id":4} []`,
		`removed {"id":3} []`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if c.Added != 1 || c.Removed != 1 || c.Changed != 1 || c.Unchanged != 1 || c.Old != (Keyed{7, 1, 2, 1, 0}) || c.New != (Keyed{5, 1, 1, 0, 0}) {
		t.Errorf("%+v", c)
	}
	if got, want := strings.Join(c.Counts(), "\n"), `the old result: 2 of 7 rows not compared, without id
the old result: 1 of 7 rows repeat a key, of which the first counts
the old result: 1 of 7 rows cannot be read
the new result: 1 of 5 rows not compared, without id
the new result: 1 of 5 rows repeat a key, of which the first counts`; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	d, err := now.Detail(c.View(), 0)
	if err != nil || d.Change != Changed || len(d.Fields) != 1 || d.Fields[0].Name != "p q" {
		t.Errorf("%+v, %v", d, err)
	}
	if d, err = now.Detail(c.View(), 2); err != nil || d.Change != Removed || d.N != 2 {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestAKeyThatNoRowHasComparesNothing(t *testing.T) {
	rows := func(name, text string) *File { return file(t, name, text) }
	some, none := rows("some.ndjson", `{"sku: 1":"a"}`+"\n"), rows("none.ndjson", `{"id":1}`+"\n"+`{"error":"dead"}`+"\n")
	for _, pair := range [][2]*File{{some, none}, {none, some}} {
		var missing *KeyError
		if _, err := pair[1].Compare(t.Context(), pair[0], CompareOptions{Key: `"sku: 1"`}, nil); !errors.As(err, &missing) || missing.Key != "sku: 1" {
			t.Errorf("%v", err)
		}
	}
	for given, want := range map[string]string{"id": "id", `"sku: 1"`: "sku: 1", `"a\"b\\c"`: `a"b\c`, `"`: `"`, `"a`: `"a`, `"a"b"`: `"a"b"`, "": ""} {
		if got := query.FieldName(given); got != want {
			t.Errorf("%s is taken for %s", given, got)
		}
	}
	for _, empty := range []*File{rows("empty.ndjson", ""), rows("errors.ndjson", `{"error":"dead"}`+"\n")} { // nothing is known of their fields
		c, err := some.Compare(t.Context(), empty, CompareOptions{Key: "sku: 1"}, nil)
		if err != nil || c.Added != 1 {
			t.Errorf("%+v, %v", c, err)
			continue
		}
		_ = c.Rows.Close()
	}
}

func TestAResultThatCannotBeReadIsNotSaidToLackTheKey(t *testing.T) {
	some, torn := file(t, "some.ndjson", `{"sku":"a"}`+"\n"), file(t, "torn.ndjson", "{\n{\n")
	c, err := some.Compare(t.Context(), torn, CompareOptions{Key: "sku"}, nil)
	if err != nil || c.Old.Unreadable != 2 || c.Added != 1 {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestOnlyNewRows(t *testing.T) {
	old := file(t, "old.csv", "id,name\n1,a\n2,b\n")
	now := file(t, "new.json", `[{"id":3},{"id":2},{"id":5},{"id":3,"x":1},{}]`)
	c, err := now.Compare(t.Context(), old, CompareOptions{Key: "id", OnlyNew: true}, nil)
	noerr.Must(t, err)
	defer c.Rows.Close()
	if got := written(t, now, c.View()); got != "{\"id\":3}\n{\"id\":5}\n" || c.Removed != 1 || c.Unchanged != 1 {
		t.Errorf("%q, %+v", got, c)
	}
}

// differs says which rows differ by id, and in which fields.
func differs(t *testing.T, now, old *File, how CompareOptions) string {
	t.Helper()
	c, err := now.Compare(t.Context(), old, how, nil)
	noerr.Must(t, err)
	defer c.Rows.Close()
	var out []string
	noerr.Must(t, c.EachChange(t.Context(), now, func(change Change, row []byte, fields []FieldChange) error {
		words := change.String() + " " + gjson.GetBytes(row, how.Key).String()
		for _, f := range fields {
			words += " " + f.Name
		}
		out = append(out, words)
		return nil
	}))
	return strings.Join(out, ", ")
}

func TestRowsThatTellAnErrorAreNotCompared(t *testing.T) {
	old := file(t, "old.ndjson", `{"url":"k1","error":"dead page","error_code":"dead_page"}
{"url":"k2","name":"b"}
{"url":"k3","name":"c","error":null}
{"error_code":"x"}
`)
	now := file(t, "new.ndjson", `{"url":"k1","name":"a"}
{"url":"k2","error":"crashed"}
{"url":"k3","name":"c","error":false}
`)
	if got := differs(t, now, old, CompareOptions{Key: "url", Ignore: []string{"error"}}); got != "added k1, removed k2" {
		t.Error(got)
	}
	c, err := now.Compare(t.Context(), old, CompareOptions{Key: "url", OnlyNew: true}, nil)
	noerr.Must(t, err)
	defer c.Rows.Close()
	if got := written(t, now, c.View()); got != "{\"url\":\"k1\",\"name\":\"a\"}\n" || c.Old != (Keyed{Rows: 4, Errors: 2}) || c.New != (Keyed{Rows: 3, Errors: 1}) {
		t.Errorf("%q, %+v, %+v", got, c.Old, c.New)
	}
	if got := c.Counts(); len(got) != 2 || got[0] != "the old result: 2 of 4 rows not compared, as they tell an error" {
		t.Errorf("%q", got)
	}
	table := file(t, "old.csv", "url,error\nk1,dead page\nk2,\n")
	if got := differs(t, now, table, CompareOptions{Key: "url", Ignore: []string{"name", "error"}}); got != "added k1, added k3, removed k2" {
		t.Error(got)
	}
}

func TestWhatMakesARowAnother(t *testing.T) {
	for _, c := range []struct{ name, old, now, want string }{
		{"a number that becomes a text", `{"id":1,"v":7}`, `{"id":1,"v":"7"}`, "changed 1 v"},
		{"a word that becomes a text", `{"id":1,"v":true}`, `{"id":1,"v":"true"}`, "changed 1 v"},
		{"another spelling of a number", `{"id":1,"v":7}`, `{"id":1,"v":7.0}`, "changed 1 v"},
		{"white space", `{"id":1,"v":{"a b":[1,"x y"]}}`, `{ "id" : 1 , "v" : { "a b": [ 1, "x y" ]}}`, ""},
		{"white space in a text", `{"id":1,"v":["x y"]}`, `{"id":1,"v":["xy"]}`, "changed 1 v"},
		{"an escape", `{"id":1,"v":"\u00e9"}`, `{"id":1,"v":"é"}`, ""},
		{"null and nothing", `{"id":1,"v":null}`, `{"id":1}`, ""},
		{"an empty text and nothing", `{"id":1,"v":""}`, `{"id":1}`, "changed 1 v"},
		{"a field twice", `{"id":1,"v":1,"v":2}`, `{"id":1,"v":1}`, ""},
		{"the first of two", `{"id":1,"v":2,"v":1}`, `{"id":1,"v":1,"v":1}`, "changed 1 v"},
		{"order", `{"id":1,"v":2,"w":3}`, `{"w":3,"v":2,"id":1}`, ""},
	} {
		if got := differs(t, file(t, "new.ndjson", c.now), file(t, "old.ndjson", c.old), CompareOptions{Key: "id"}); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// A table that was made of rows is the same as the rows.
func TestATableBesideItsRows(t *testing.T) {
	const result = `[{"id":"@a","n":-5,"t":"=1+1","x":{"a": [1, 2]},"ok":true,"z":"00","e":"","gone":null,"lines":"a\r\nb"},
 {"id":"b","n":1.50,"t":"-5","x":[],"ok":false}]`
	f := file(t, "a.json", result)
	var b strings.Builder
	noerr.Must(t, noerr.From(f.Export(t.Context(), &b, View{}, Export{Format: CSV}, nil)))
	table := file(t, "a.csv", b.String())
	if got := differs(t, f, table, CompareOptions{Key: "id"}); got != "" {
		t.Error(got)
	}
	if got := differs(t, table, f, CompareOptions{Key: "id"}); got != "" {
		t.Error(got)
	}
	other := file(t, "b.csv", strings.Replace(b.String(), "-5", "-6", 1))
	if got := differs(t, other, f, CompareOptions{Key: "id"}); got != "changed '@a n" {
		t.Error(got)
	}
}
