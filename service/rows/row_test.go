package rows

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

func eachOf(t *testing.T, text, format string) []Row {
	t.Helper()
	var out []Row
	if err := EachRow(strings.NewReader(text), format, func(r Row) error {
		r.Input, r.fields, r.each = bytes.Clone(r.Input), nil, nil
		out = append(out, r)
		return nil
	}); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return out
}

func TestARowIsDataOrAnErrorOrNothing(t *testing.T) {
	for text, want := range map[string]Row{
		`{"url":"u","title":"x"}`:                                                                   {Data: true},
		`{"title":"x","timestamp":"2026-01-01","input":{"url":"u"}}`:                                {Data: true, Input: json.RawMessage(`{"url":"u"}`)},
		`{"error":"dead","error_code":"dead_page","input":{"url":"u"}}`:                             {Error: true, Code: "dead_page", Text: "dead", Input: json.RawMessage(`{"url":"u"}`)},
		`{"url":"u","error_code":"dead_page","input":{"url":"u"},"title":null,"list":[],"map":{}}`:  {Error: true, Code: "dead_page", Input: json.RawMessage(`{"url":"u"}`)},
		`{"url":"u","title":"x","error":"the second page failed","input":{"url":"u"}}`:              {Error: true, Text: "the second page failed", Input: json.RawMessage(`{"url":"u"}`)},
		`{"input":{"url":"u"},"url":"u/","error":"Page not found","error_code":"dead_page"}`:        {Error: true, Code: "dead_page", Text: "Page not found", Input: json.RawMessage(`{"url":"u"}`)},
		`{"success":false,"status":"failed","error_code":"blocked","request_id":"r-1"}`:             {Error: true, Code: "blocked"},
		`{"title":"x","error":0,"error_code":0}`:                                                    {Data: true},
		`{"title":"x","error":"False","error_code":"null"}`:                                         {Data: true},
		`{"url":"u","title":"","warning":"slow","warning_code":"w","input":{"url":"u"}}`:            {Input: json.RawMessage(`{"url":"u"}`)},
		`{"error":null,"error_code":"","price":0}`:                                                  {Data: true},
		`{"keyword":"lamp","input":{"url":"u"},"discovery_input":{"keyword":"lamp"},"error":false}`: {Input: json.RawMessage(`{"keyword":"lamp"}`)},
		`{"rating":{"__TYPE__":"n","value":4}}`:                                                     {Data: true},
		`"a text"`:                                                                                  {Data: true},
		`null`:                                                                                      {},
	} {
		got := eachOf(t, text, "ndjson")
		if len(got) != 1 || !reflect.DeepEqual(got[0], want) && (len(want.Input) > 0 || len(got[0].Input) > 0 || got[0].Data != want.Data) {
			t.Errorf("%s\ngot  %+v\nwant %+v", text, got, want)
		}
		if array := eachOf(t, "\ufeff ["+text+", "+text+"]", "json"); len(array) != 2 || !reflect.DeepEqual(array[0], got[0]) || !reflect.DeepEqual(array[1], got[0]) {
			t.Errorf("%s in an array: %+v", text, array)
		}
	}
	got := eachOf(t, "url,title,error,error_code,input\nu,x,,,\nu,,dead,dead_page,\"{\"\"url\"\":\"\"u\"\"}\"\nu\n", "csv")
	want := []Row{{Data: true, Flat: true}, {Error: true, Code: "dead_page", Text: "dead", Input: json.RawMessage(`{"url":"u"}`), Flat: true}, {Data: true, Flat: true}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("CSV:\ngot  %+v\nwant %+v", got, want)
	}
	got = eachOf(t, "url,title,error,error_code\nu,x,false,null\nu,,dead,0\nu,x,0,\n", "csv")
	want = []Row{{Data: true, Flat: true}, {Error: true, Text: "dead", Flat: true}, {Data: true, Flat: true}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("CSV without errors:\ngot  %+v\nwant %+v", got, want)
	}
	for _, format := range Formats() {
		if got := eachOf(t, "", format); got != nil {
			t.Errorf("nothing as %s: %+v", format, got)
		}
	}
}

func TestARowGivesItsFields(t *testing.T) {
	for _, c := range []struct{ text, format, want string }{
		{`{"a b":1,"input":{"x":1},"c":{"d":[1]},"error":"e","url":"u"}`, "ndjson", `a b=1;c={"d":[1]};url="u";`},
		{"a,b,error,c\n1,x y,,\n", "csv", "a=1;b=x y;c=;"},
		{`"a text"`, "ndjson", ""},
	} {
		got := ""
		if err := EachRow(strings.NewReader(c.text), c.format, func(r Row) error {
			r.Each(func(name string, value gjson.Result) bool {
				got += name + "=" + value.Raw + ";"
				return true
			})
			return nil
		}); err != nil || got != c.want {
			t.Errorf("%s: %q, %v; want %q", c.text, got, err, c.want)
		}
	}
	n := 0
	if err := EachRow(strings.NewReader(`{"a":1,"b":2}`), "ndjson", func(r Row) error {
		r.Each(func(string, gjson.Result) bool { n++; return false })
		return nil
	}); err != nil || n != 1 {
		t.Errorf("%d fields, %v", n, err)
	}
}

func TestARowThatCannotBeReadIsNamed(t *testing.T) {
	stop := errors.New("enough")
	for _, c := range []struct {
		text, format string
		row          int
	}{
		{"[{\"a\":1},{\"a\":", "json", 2},
		{"[{\"a\":1}", "json", 2},
		{"{\"a\":1}\n{\"a\"", "ndjson", 2},
		{"{\"a\":1}\nx", "ndjson", 2},
	} {
		var fault *RecordsError
		if err := EachRow(strings.NewReader(c.text), c.format, func(Row) error { return nil }); !errors.As(err, &fault) || fault.Record != c.row {
			t.Errorf("%q: %v", c.text, err)
		}
	}
	n := 0
	if err := EachRow(strings.NewReader("{}\n{}\n{}"), "ndjson", func(Row) error {
		if n++; n == 2 {
			return stop
		}
		return nil
	}); !errors.Is(err, stop) || n != 2 {
		t.Errorf("%d rows, %v", n, err)
	}
	endless := io.MultiReader(strings.NewReader(`[{"a":"`), &zeros{left: maxResultRow + 1<<20})
	if err := EachRow(endless, "json", func(Row) error { return nil }); !errors.Is(err, errLongResultRow) {
		t.Errorf("a row without an end: %v", err)
	}
}

// zeros is a long text.
type zeros struct{ left int }

func (z *zeros) Read(p []byte) (int, error) {
	if z.left <= 0 {
		return 0, io.EOF
	}
	n := min(len(p), z.left)
	for i := range p[:n] {
		p[i] = '0'
	}
	z.left -= n
	return n, nil
}

func TestRowsAreMatchedByTheirInput(t *testing.T) {
	inputs := []model.JobInput{
		{URL: "http://lab.test/1"},
		{URL: "http://lab.test/2", Extra: map[string]string{"limit": "10", "country": `""`}},
		{URL: "http://lab.test/2", Extra: map[string]string{"limit": "20"}},
		{URL: "http://lab.test/3"},
		{URL: "http://lab.test/3"}, // twice
		{URL: "http://lab.test/4"},
		{URL: "http://lab.test/5"},
	}
	m := NewMatch(inputs)
	noerr.Must(t, EachRow(strings.NewReader(`
{"error":"blocked","error_code":"blocked","request_id":"r-1","input":{"url":"http://lab.test/2","limit":"20"}}
{"title":"three","input":{"url":"http://lab.test/3","country":"us"}}
{"error":"dead","input":{"url":"http://lab.test/4"}}
{"title":"two","input":{"limit":"10","url":"http://lab.test/2"}}
{"title":"nobody asked","input":{"url":"http://lab.test/9"}}
{"title":"without an input"}
{"title":"without an input, at the place of the first"}
{"error":"dead","input":{"url":"http://lab.test/1"}}
{"url":"http://lab.test/1","title":"one"}
{"url":"http://lab.test/5","input":{"url":"http://lab.test/5"}}
`), "ndjson", func(r Row) error {
		m.Row(r)
		return nil
	}))
	rest, failed := m.Missing()
	want := []model.JobInput{inputs[2], inputs[5], inputs[6]}
	if !reflect.DeepEqual(rest, want) || failed != 2 || m.Unmatched != 3 {
		t.Errorf("%d failed, %d unmatched, %+v", failed, m.Unmatched, rest)
	}
	csv := NewMatch(inputs[:1])
	noerr.Must(t, EachRow(strings.NewReader("title,url\none,http://lab.test/1\n"), "csv", func(r Row) error {
		csv.Row(r)
		return nil
	}))
	if rest, _ := csv.Missing(); len(rest) != 0 || csv.Unmatched != 0 {
		t.Errorf("CSV: %+v, %d unmatched", rest, csv.Unmatched)
	}
	none := NewMatch(inputs)
	if rest, failed := none.Missing(); len(rest) != len(inputs) || failed != 0 || none.Unmatched != 0 {
		t.Errorf("without rows: %d, %d", len(rest), failed)
	}
}

func FuzzEachRow(f *testing.F) {
	f.Add(`[{"url":"u","error":"x","input":{"url":"u"}}]`, "json")
	f.Add("{\"a\":1}\n{}", "ndjson")
	f.Add("url,error,input\nu,x,\"{\"\"url\"\":1}\"", "csv")
	f.Fuzz(func(t *testing.T, text, format string) {
		m := NewMatch([]model.JobInput{{URL: "u"}})
		n := 0
		err := EachRow(strings.NewReader(text), format, func(r Row) error {
			n++
			if len(r.Input) > 0 && !json.Valid(r.Input) || r.Error && r.Data || len(r.Text) > maxProblemText+8 || len(r.Code) > maxErrorCode+8 {
				return fmt.Errorf("%+v", r)
			}
			m.Row(r)
			return nil
		})
		var fault *RecordsError
		if err != nil && (!errors.As(err, &fault) || fault.Record < 1 || fault.Record > n+1 || strings.Contains(err.Error(), "Input:")) {
			t.Fatal(err)
		}
		if rest, failed := m.Missing(); failed > len(rest) || m.Unmatched > n {
			t.Fatalf("%d failed of %d, %d unmatched of %d", failed, len(rest), m.Unmatched, n)
		}
	})
}

func TestARowThatSaysNoInputIsOfTheOnlyOne(t *testing.T) {
	question := model.JobInput{Extra: map[string]string{"query": `"lamps"`}}
	for text, want := range map[string][3]int{ // rest, failed, unmatched
		`{"name":"a","price":5}`:                {0, 0, 0},
		`{"error":"no luck"}`:                   {1, 1, 0},
		`{"input":{"query":"chairs"},"name":1}`: {1, 0, 1},
	} {
		m := NewMatch([]model.JobInput{question})
		m.Row(rowOf([]byte(text)))
		rest, failed := m.Missing()
		if got := [3]int{len(rest), failed, m.Unmatched}; got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	m := NewMatch([]model.JobInput{question, {URL: "https://a.test/"}})
	if m.Row(rowOf([]byte(`{"name":"a"}`))); m.Unmatched != 1 {
		t.Error("a row of either of two inputs was taken for one")
	}
}
