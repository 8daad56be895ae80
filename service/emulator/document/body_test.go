package document

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
)

func TestEverythingThatIsWrongWithABodyIsListed(t *testing.T) {
	const body = `{"name": "", "words": [], "flag": "yes", "count": 0, "colour": "green", "texts": ["a", 1], "inner": {"deep": 1, "x.y": 2}, "rows": 1, "zz": null}`
	tab, err := JSON([]byte(body))
	noerr.Must(t, err)
	readBody(tab)
	want := []string{
		"name must be a string that is not empty",
		"words must be a string or an array of strings",
		"flag must be true or false",
		"count must be a whole number from 1 to 9",
		"colour must be one of red, blue",
		"texts[1] must be a string",
		"rows must be an array of objects",
		"inner.deep must be a string",
		"inner is too deep",
		"inner.x.y is not allowed",
		"zz is not allowed",
	}
	if err := tab.Invalid(); err == nil || !slices.Equal(strings.Split(err.Error(), "; "), want) {
		t.Errorf("got %v", err)
	}
	if got := tab.Names(); !slices.Equal(got, []string{"colour", "count", "flag", "inner", "name", "rows", "texts", "words", "zz"}) {
		t.Errorf("names %q", got)
	}
}

// readBody asks for one field of every kind that only bodies have.
func readBody(t *Table) {
	t.Word("name")
	t.Words("words")
	t.Bool("flag")
	t.Int("count", 1, 9)
	t.OneOf("colour", "red", "blue")
	t.Texts("texts")
	t.Raw("raw")
	t.Tables("rows")
	if in := t.Table("inner"); in != nil {
		in.Text("deep")
		in.Refuse("", "is too deep")
		in.Done()
	}
	t.Done()
}

func TestALooseReaderLetsUnknownFieldsPass(t *testing.T) {
	tab, err := JSON([]byte(`{"name": "a", "words": "b", "raw": {"b": 1, "a": 1e3}, "zz": 1, "inner": {"zz": 2}}`))
	noerr.Must(t, err)
	tab.Loose(true)
	if tab.Word("name") != "a" || !slices.Equal(tab.Words("words"), []string{"b"}) || string(tab.Raw("raw")) != `{"b": 1, "a": 1e3}` || tab.Raw("none") != nil {
		t.Errorf("%q %q %s", tab.Word("name"), tab.Words("words"), tab.Raw("raw"))
	}
	in := tab.Table("inner")
	in.Done()
	tab.Done()
	if got := tab.Ignored(); tab.Invalid() != nil || tab.Err() != nil || !slices.Equal(got, []string{"inner.zz", "zz"}) {
		t.Errorf("%q, %v", got, tab.Invalid())
	}
}

func TestABodyIsBoundedAndSaysThatItIsJSON(t *testing.T) {
	for _, c := range []struct {
		kind, body string
		loose      bool
		want       string
	}{
		{"application/json; charset=utf-8", `{"name":"a"}`, false, ""},
		{"text/plain", `{"name":"a"}`, false, "Content-Type must be application/json"},
		{"text/plain", `{"name":"a"}`, true, ""},
		{"application/json", `{"name":"` + strings.Repeat("a", 64) + `"}`, true, "body could not be read: at most 64 bytes within 30s"},
		{"application/json", `[]`, true, "body must be a JSON object"},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			tab, err := Object(w, r, 64, c.loose)
			if err == nil {
				readBody(tab)
				err = tab.Invalid()
			}
			if err != nil && err.Error() != c.want || err == nil && c.want != "" {
				t.Errorf("%s %.20s: %v", c.kind, c.body, err)
			}
		}))
		resp, err := http.Post(srv.URL, c.kind, strings.NewReader(c.body))
		noerr.Must(t, err)
		resp.Body.Close()
		srv.Close()
	}
}

// What the reader takes is JSON to everybody else, too, and means the same.
func FuzzBody(f *testing.F) {
	for _, s := range []string{
		`{"name":"a","words":["b","c"],"flag":true,"count":3,"colour":"red","texts":["x"],"raw":{"a":[1,2]},"inner":{"deep":"y"}}`,
		`{"name":1,"words":{},"rows":[{"n":1},2],"inner":{"deep":null,"":0}}`,
		`{"a":1,"a":2}`, `{"\u0061":1,"a":2}`, `{} {}`, `[]`, `null`, ` {"x":1e999} `, "{\"name\":\"\xff\"}", `{"a":{"b":{"c":1,"c":1}}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		tab, err := JSON(b)
		if err != nil {
			if err.Error() == "" {
				t.Error("a mistake without a text")
			}
			return
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(b, &fields); err != nil || fields == nil || len(fields) != len(tab.Names()) {
			t.Errorf("%q was taken: %v, %d fields of %d", b, err, len(tab.Names()), len(fields))
		}
		readBody(tab)
		var name string
		if json.Unmarshal(fields["name"], &name) == nil && tab.Word("name") != name {
			t.Errorf("%q: name %q of %q", b, tab.Word("name"), name)
		}
		if err := tab.Invalid(); (err == nil) != (tab.Err() == nil) {
			t.Errorf("%q: %v, %v", b, err, tab.Err())
		}
	})
}
