package compare

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

func answer(name, body string) Answer {
	sum := sha256.Sum256([]byte(body))
	return Answer{Name: name, Body: []byte(body)[:min(len(body), MaxText)], More: len(body) > MaxText, Result: model.FetchResult{
		Status: 200, ContentType: "text/html", Diagnosis: model.Diagnosis{Class: model.ClassOK},
		Body: model.BodyRef{Size: int64(len(body)), SHA256: hex.EncodeToString(sum[:])},
	}}
}

func difference(t *testing.T, a, b Answer) Difference {
	t.Helper()
	d, err := Answers(a, b)
	noerr.Must(t, err)
	return d
}

func TestEqualAnswersDifferInNothing(t *testing.T) {
	for _, body := range []string{"", "<p>x</p>", `{"a":1}`, "\xff\x00"} {
		if d := difference(t, answer("a", body), answer("b", body)); !d.IsEmpty() {
			t.Errorf("%q: %+v", body, d)
		}
	}
}

// Each part alone makes a difference, and two of them do not outweigh one another.
func TestAnyDifferenceIsOne(t *testing.T) {
	one := []Change{{"a", "b", "c"}}
	for name, d := range map[string]Difference{
		"verdict": {Verdict: one}, "headers": {Headers: one}, "structure": {Structure: one}, "text": {Text: "-a\n"}, "note": {Note: "cut"},
		"headers and structure": {Headers: one, Structure: one}, "verdict and structure": {Verdict: one, Structure: one},
	} {
		if d.IsEmpty() {
			t.Errorf("%s: they are called the same", name)
		}
	}
}

func TestVerdictHeadersAndFieldsAreCompared(t *testing.T) {
	a, b := answer("a", "one"), answer("b", "three")
	a.Result.Header = http.Header{"Server": {"x"}, "Date": {"now"}, "Via": {"1", "2"}}
	b.Result.Header = http.Header{"Server": {"y"}, "Date": {"now"}}
	b.Result.Status, b.Result.ContentType = 0, "text/plain"
	b.Result.Diagnosis = model.Diagnosis{Class: model.ClassOutside, Cause: model.CauseNetwork}
	a.Result.Fields = []model.Field{{Path: ".price", Found: true, Value: "7 €"}, {Path: "h1", Found: true, Value: "x"}, {Path: "alone"}}
	b.Result.Fields = []model.Field{{Path: "h1", Found: true, Value: "x"}, {Path: ".price"}}
	d := difference(t, a, b)
	if want := []Change{{"class", "ok", "network"}, {"status", "200", "unknown"}, {"content type", "text/html", "text/plain"}, {"bytes", "3", "5"}, {"field .price", "7 €", "missing"}}; !reflect.DeepEqual(d.Verdict, want) {
		t.Errorf("%v", d.Verdict)
	}
	if want := []Change{{"Server", "x", "y"}, {"Via", "1, 2", ""}}; !reflect.DeepEqual(d.Headers, want) {
		t.Errorf("%v", d.Headers)
	}
	if want := "--- a\n+++ b\n@@ -1 +1 @@\n-one\n+three\n"; d.Text != want {
		t.Errorf("%q", d.Text)
	}
}

func TestTheStructureOfJSONIsComparedByPath(t *testing.T) {
	a := `{"items":[{"price":7,"name":"x"},{"price":8,"name":"y","tags":["t"]}],"next":null,"ok":true}`
	b := `{"items":[{"price":"7.00","name":"x"},{"price":8}],"next":"p2","ok":false,"total":2}`
	d := difference(t, answer("a", a), answer("b", b))
	want := []Change{
		{"items[].price", "number", "number or text"},
		{"items[].tags", "list", ""},
		{"items[].tags[]", "text", ""},
		{"next", "null", "text"},
		{"total", "", "number"},
	}
	if !reflect.DeepEqual(d.Structure, want) {
		t.Errorf("%v", d.Structure)
	}
	if !strings.Contains(d.Text, "-      \"price\": 7,\n") || !strings.Contains(d.Text, "+      \"price\": \"7.00\",\n") {
		t.Errorf("the text is not that of indented JSON:\n%s", d.Text)
	}
	if d := difference(t, answer("a", `{"a":1}`), answer("b", "<p>")); d.Structure != nil || !strings.Contains(d.Text, "-{\"a\":1}") {
		t.Errorf("JSON and HTML: %+v", d)
	}
	if d := difference(t, answer("a", `[1,2]`), answer("b", `[1,3]`)); d.Structure != nil {
		t.Errorf("the same structure: %v", d.Structure)
	}
}

func TestEveryTypeAtAPathIsNamedOnce(t *testing.T) {
	if d := difference(t, answer("a", `[true,false]`), answer("b", `[true,true,false]`)); d.Structure != nil {
		t.Errorf("booleans, two and three: %v", d.Structure)
	}
	d := difference(t, answer("a", `[true,"x",null,false,"y"]`), answer("b", `[1]`))
	if want := []Change{{"[]", "boolean or null or text", "number"}}; !reflect.DeepEqual(d.Structure, want) {
		t.Errorf("%v", d.Structure)
	}
}

// TestJSONThatWouldGrowIsComparedAsText: 256 KiB can become gigabytes when indented, or in paths.
func TestJSONThatWouldGrowIsComparedAsText(t *testing.T) {
	nested := func(depth int, inner string) string {
		return strings.Repeat("[", depth) + inner + strings.Repeat("]", depth)
	}
	var fields strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&fields, `,"%d":1`, i)
	}
	for name, c := range map[string]struct {
		body string
		grow bool
	}{
		"as deep as may be":      {nested(100, `"[[\"[[","x"`), false},
		"deeper":                 {nested(101, ""), true},
		"as deep as JSON may be": {nested(9000, ""), true},
		"wide and deep":          {nested(90, "1"+strings.Repeat(",1", 100_000)), true},
		"wide":                   {nested(2, "1"+strings.Repeat(",1", 100_000)), false},
		"an object":              {`{"a":{"x":1` + fields.String() + `}}`, false},
		"a long name":            {`{"` + strings.Repeat("n", 100_000) + `":{"x":1` + fields.String() + `}}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			d := difference(t, answer("a", c.body), answer("b", `{"other":1}`))
			if noted := d.Note == errSpread.Error(); noted != c.grow || (d.Structure == nil) != c.grow {
				t.Errorf("note %q, %d changes of the structure", d.Note, len(d.Structure))
			}
			if len(d.Text) > 2*maxSpread {
				t.Errorf("%d bytes of text", len(d.Text))
			}
			if text, _, err := readJSON([]byte(c.body)); err == nil && len(text) > spread([]byte(c.body))+1 {
				t.Errorf("indented it has %d bytes, of at most %d", len(text), spread([]byte(c.body)))
			}
		})
	}
}

func TestPagesInOneLineAreBrokenBetweenTags(t *testing.T) {
	d := difference(t, answer("a", "<ul><li>x</li><li>y</li></ul>"), answer("b", "<ul><li>x</li><li>z</li></ul>\r\n"))
	if want := "--- a\n+++ b\n@@ -1,4 +1,4 @@\n <ul>\n <li>x</li>\n-<li>y</li>\n+<li>z</li>\n </ul>\n"; d.Text != want {
		t.Errorf("%q", d.Text)
	}
}

func TestWhatIsNotComparedIsSaid(t *testing.T) {
	if d := difference(t, answer("a", "\xff\xfe"), answer("b", "x")); d.Note != "the bodies are not text, and differ" || d.Text != "" || d.IsEmpty() {
		t.Errorf("%+v", d)
	}
	long := strings.Repeat("ä", MaxText) // the bound cuts one in two or not, by the byte before
	for _, lead := range []string{"", "x"} {
		if d := difference(t, answer("a", lead+long+"1"), answer("b", lead+long+"2")); d.Note != "only the first 256 KB of each body were compared" || d.Text != "" {
			t.Errorf("%q: %s", d.Note, d.Text)
		}
	}
	short := answer("b", "short")
	for _, pair := range [][2]Answer{{answer("a", long), short}, {short, answer("a", long)}} {
		if d := difference(t, pair[0], pair[1]); d.Note != "only the first 256 KB of each body were compared" || d.Text == "" {
			t.Errorf("one is long: %q", d.Note)
		}
	}
	if d := difference(t, answer("a", strings.Repeat("x", 9)), answer("b", strings.Repeat("x", 19))); !reflect.DeepEqual(d.Verdict, []Change{{"bytes", "9", "19"}}) {
		t.Errorf("sizes: %v", d.Verdict)
	}
	a, b := answer("a", "x"), answer("b", "y")
	a.Result.Body.SHA256, b.Result.Body.SHA256 = "", "" // of a fetch whose body was not kept whole
	if d := difference(t, a, b); d.Text == "" {
		t.Error("two answers without sums are called equal")
	}
}
