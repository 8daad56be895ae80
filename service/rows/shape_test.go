package rows

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"zonedeck/model"
)

func shopShape() Shape {
	return Shape{Strict: true, Fields: []model.InputField{
		{Name: "keyword", Type: "text", Required: true},
		{Name: "zip_code"},
		{Name: "pages", Type: "number"},
		{Name: "deep", Type: "boolean"},
		{Name: "skip", Type: "array"},
		{Name: "start_url", Type: "url"},
	}}
}

func TestRowsFollowTheFieldsOfTheDataSet(t *testing.T) {
	type extra = map[string]string
	row := func(n int, e extra) model.JobInput { return model.JobInput{Extra: e, Row: n} }
	open := shopShape()
	open.Strict = false
	defaults := Shape{Fields: []model.InputField{{Name: "prompt", Required: true}, {Name: "n", Required: true, Default: `"10"`}}}
	defaults.Fields[1].Required = true
	for _, c := range []struct {
		name, kind, text string
		shape            Shape
		want             []model.JobInput
		problems         []string // "where|text", "!" before a warning
		rejected         string
		columns          []Column
		err              string
	}{
		{name: "lines are the one field that is required", text: "lamp\n red lamp \n", shape: shopShape(), want: []model.JobInput{row(1, extra{"keyword": `"lamp"`}), row(2, extra{"keyword": `"red lamp"`})}},
		{
			name: "a table whose headers come near", text: "Zip Code;KEYWORD;Pages;colour\n0123;lamp;3;red\n;desk;;\n", shape: shopShape(),
			want:     []model.JobInput{row(2, extra{"keyword": `"lamp"`, "pages": "3", "zip_code": `"0123"`}), row(3, extra{"keyword": `"desk"`})},
			columns:  []Column{{"Zip Code", "zip_code"}, {"KEYWORD", "keyword"}, {"Pages", "pages"}, {"colour", ""}},
			problems: []string{`!|column "colour" is not sent`},
		},
		{
			name: "a table with a map", text: "a,b,pages\nlamp,2,3\n", shape: func() Shape {
				s := shopShape()
				s.Map = map[string]string{"a": "keyword", "pages": "", "b": "pages"}
				return s
			}(),
			want:     []model.JobInput{row(2, extra{"keyword": `"lamp"`, "pages": "2"})},
			columns:  []Column{{"a", "keyword"}, {"b", "pages"}, {"pages", ""}},
			problems: []string{`!|column "pages" is not sent`},
		},
		{
			name: "bad rows are kept as they stood", kind: "csv", text: "keyword,pages,deep,skip,start_url\r\n\"a, b\",two,,,\r\n,1,,,\r\nlamp,1,YES,,\r\nlamp,1,True,x,\r\nlamp,2,true,\"[1]\",lab.test\r\n\"a\"b,1,,,\r\nlamp,2,true,\"[1]\",http://lab.test/\r\n", shape: shopShape(),
			want: []model.JobInput{row(8, extra{"keyword": `"lamp"`, "pages": "2", "deep": "true", "skip": "[1]", "start_url": `"http://lab.test/"`})},
			problems: []string{
				`row 2, column pages|"two" is not a number`, `row 3, column keyword|it is required and has no value`,
				`row 4, column deep|"YES" is not true or false`, `row 5, column skip|"x" is not a JSON array`,
				`row 6, column start_url|"lab.test": not an absolute address: did you mean http://lab.test?`, `row 7|extraneous or missing " in quoted-field; expected CSV`,
			},
			rejected: "keyword,pages,deep,skip,start_url\n\"a, b\",two,,,\n,1,,,\nlamp,1,YES,,\nlamp,1,True,x,\nlamp,2,true,\"[1]\",lab.test\n\"a\"b,1,,,\n",
			columns:  []Column{{"keyword", "keyword"}, {"pages", "pages"}, {"deep", "deep"}, {"skip", "skip"}, {"start_url", "start_url"}},
		},
		{
			name: "JSON rows", kind: "json", text: "[{\"keyword\":\"a\",\"pages\":\"3\"},\n {\"keyword\": 5,\n \"pages\":true}, {\"keyword\":[1]}, {\"colour\":1,\"keyword\":\"a\"}, \"b\", {\"keyword\":\"a\",\"pages\":3}, {}]", shape: shopShape(),
			want: []model.JobInput{row(1, extra{"keyword": `"a"`, "pages": "3"}), row(5, extra{"keyword": `"b"`})},
			problems: []string{
				`row 2, field pages|true is not a number`, `row 3, field keyword|[1] is not a text`,
				`row 4, field colour|the data set has no such field; it takes keyword, zip_code, pages, deep, skip, start_url`,
				`!row 6|the same as row 1; it is sent once`, `row 7, field keyword|it is required and has no value`,
			},
			rejected: "{\"keyword\":5,\"pages\":true}\n{\"keyword\":[1]}\n{\"colour\":1,\"keyword\":\"a\"}\n{}\n",
		},
		{
			name: "fields that public sources do not show are sent", kind: "ndjson", text: "{\"keyword\":\"a\",\"colour\":1}\n", shape: open,
			want: []model.JobInput{row(1, extra{"keyword": `"a"`, "colour": "1"})}, problems: []string{`!|field "colour", in 1 rows, is not shown for this data set; it is sent`},
		},
		{name: "a default fills what is required", text: `{"prompt":"a"}`, shape: defaults, want: []model.JobInput{row(1, extra{"prompt": `"a"`, "n": `"10"`})}},
		{name: "an address by another name of its column", text: "Link,url2\nhttp://lab.test/1,x\n", kind: "csv", shape: Shape{Fields: []model.InputField{{Name: "url", Required: true}}}, want: []model.JobInput{{URL: "http://lab.test/1", Row: 2}}, columns: []Column{{"Link", "url"}, {"url2", ""}}, problems: []string{`!|column "url2" is not sent`}},
		{name: "any row where nothing is shown", kind: "ndjson", text: "{\"keyword\":\"a\"}\n{}\n\"http://lab.test/1\"\n", shape: Shape{Free: true}, want: []model.JobInput{row(1, extra{"keyword": `"a"`}), {URL: "http://lab.test/1", Row: 3}}, problems: []string{"row 2|it has no value"}, rejected: "{}\n"},
		{name: "a value where several are required", text: "lamp\n", shape: Shape{Fields: []model.InputField{{Name: "a", Required: true}, {Name: "b", Required: true}}}, problems: []string{`row 1|"lamp": it is one value, and a row needs a and b: give CSV, JSON or NDJSON`}, rejected: "lamp\n"},
		{name: "an empty row where none is required", kind: "ndjson", text: "{}\n", shape: Shape{Fields: []model.InputField{{Name: "upc"}}}, problems: []string{"row 1|it has no value"}, rejected: "{}\n"},
		{name: "a table without a field", kind: "csv", text: "a,b\n1,2\n", shape: shopShape(), columns: []Column{{"a", ""}, {"b", ""}}, err: `the header has no keyword column: "a, b"`},
		{name: "a map to no field", text: "a\n", shape: Shape{Strict: true, Fields: []model.InputField{{Name: "k"}}, Map: map[string]string{"a": "z"}}, err: `column "a" cannot fill "z": the data set takes k`},
		{name: "a map of no column", text: "a\n", shape: Shape{Fields: []model.InputField{{Name: "k"}}, Map: map[string]string{"b": "k"}}, err: `there is no column "b"; the header has "a"`},
		{name: "a map of two columns to one field", text: "a,b\n", shape: Shape{Fields: []model.InputField{{Name: "k"}}, Map: map[string]string{"a": "k", "b": "k"}}, err: `two columns fill "k"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Read(iotest.OneByteReader(strings.NewReader(c.text)), c.kind, c.shape)
			if !reflect.DeepEqual(got.Rows, c.want) {
				t.Errorf("got  %+v\nwant %+v", got.Rows, c.want)
			}
			var problems []string
			for _, p := range got.Problems {
				text := p.Location() + "|" + p.Text
				if p.Warning {
					text = "!" + text
				}
				problems = append(problems, text)
			}
			if !reflect.DeepEqual(problems, c.problems) {
				t.Errorf("problems %s", strings.Join(problems, "\n"))
			}
			if string(got.Rejected) != c.rejected {
				t.Errorf("rejected %q", got.Rejected)
			}
			if !reflect.DeepEqual(got.Columns, c.columns) {
				t.Errorf("columns %+v", got.Columns)
			}
			if fmt.Sprint(err) != c.err && (err != nil || c.err != "") {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestASampleIsTakenAfterAllRowsWereChecked(t *testing.T) {
	var text strings.Builder
	for i := range 200 {
		fmt.Fprintf(&text, "http://lab.test/%d\n", i%150)
	}
	text.WriteString("nope\n")
	got, err := Read(strings.NewReader(text.String()), "", Shape{})
	first := Sample(got.Rows, 5)
	if err != nil || len(first) != 5 || len(got.Rows) != 150 || len(Sample(got.Rows, 0)) != 150 || len(Sample(got.Rows, 151)) != 150 || got.Folded != 50 || got.Bad != 1 || first[4].Row != 5 || string(got.Rejected) != "nope\n" || got.RejectedKind != "txt" {
		t.Errorf("%+v, %v", got, err)
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{
		"keyword,pages\na,1\n", "zip code;keyword\n\"a\nb\";c\n", `[{"keyword":"a","deep":"true"},5]`, "{\"keyword\":null}\n", "lamp\n", "\"keyword\"\n\"", "keyword\n\"a\"b\n\"",
	} {
		for _, kind := range []string{"", InputCSV, InputJSON, InputNDJSON} {
			f.Add(kind, []byte(s), "a", "keyword")
		}
	}
	f.Fuzz(func(t *testing.T, kind string, source []byte, column, field string) {
		for _, shape := range []Shape{shopShape(), {Free: true}, {Fields: shopShape().Fields, Map: map[string]string{column: field}}} {
			got, err := Read(strings.NewReader(string(source)), kind, shape)
			if (got.Bad == 0) != (len(got.Rejected) == 0) && err == nil {
				t.Fatalf("%d rows, %d bad, %q rejected", len(got.Rows), got.Bad, got.Rejected)
			}
			r := model.TriggerRequest{Dataset: "gd_x", Inputs: got.Rows}
			if ps := r.Problems(model.Sends{Dataset: true, InputFields: true}); len(got.Rows) > 0 && len(ps) > 0 {
				t.Fatalf("what was taken cannot be sent: %+v", ps)
			}
			// What was rejected is rejected again: no row is lost or changed.
			if err != nil || got.Bad == 0 || got.Bad > 50 || len(source) > 1000 {
				continue
			}
			again, err := Read(strings.NewReader(string(got.Rejected)), got.RejectedKind, shape)
			if err == nil && (again.Bad > got.Bad || len(again.Rows) > got.Bad) {
				t.Fatalf("%q: %d bad rows became %d bad and %d good: %q", source, got.Bad, again.Bad, len(again.Rows), got.Rejected)
			}
		}
	})
}
