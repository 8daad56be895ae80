package rows

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"zonedeck/model"
)

func TestReadInputs(t *testing.T) {
	type row = model.JobInput
	one := []row{{URL: "http://lab.test/1", Row: 1}}
	for _, c := range []struct {
		name, kind, text string
		want             []row
		problems         []string // "row: part of the text", "!" before a warning
		err              string   // a part of it
	}{
		{name: "one address", text: "http://lab.test/1", want: one},
		{name: "lines of any ending, blank ones and comments", text: "\ufeffhttp://lab.test/1\r\n\r\n# no\n  https://lab.test/2  \n", want: []row{{URL: "http://lab.test/1", Row: 1}, {URL: "https://lab.test/2", Row: 4}}},
		{name: "nothing", text: ""},
		{name: "nothing but a mark", text: "\ufeff"},
		{
			name: "lines other than addresses", text: "lab.test/1\nftp://lab.test/\nhttp://\nhttp://a b\nhttp://u:p@lab.test/\nhttp://lab.test/1\n",
			want:     []row{{URL: "http://lab.test/1", Row: 6}},
			problems: []string{"1: absolute address", "2: use http or https", "3: the host is missing", "4: one address", "5: login"},
		},
		{
			name: "the same twice", text: "http://lab.test/1\nhttp://lab.test/1\n",
			want:     one,
			problems: []string{"!2: the same as row 1"},
		},
		{
			name: "a line without end", text: "http://lab.test/" + strings.Repeat("a", 100_000) + "\nhttp://lab.test/1",
			want: []row{{URL: "http://lab.test/1", Row: 2}}, problems: []string{"1: longer than 64 KiB"},
		},
		{
			name: "CSV", text: "name, URL ,n\n\"a \"\"b\"\"\",http://lab.test/1,20\n\n,http://lab.test/2,\n",
			want:     []row{{URL: "http://lab.test/1", Extra: map[string]string{"name": `"a \"b\""`, "n": `"20"`}, Row: 2}, {URL: "http://lab.test/2", Row: 4}},
			problems: []string{"!3: the row is blank; it is left out"},
		},
		{
			name: "CSV with rows that are blank or have cells alone", kind: "csv", text: "\nurl,n\r\n\r\n,\nhttp://lab.test/1,\n\n\n\"a\"b,1\n\"\",\n\nhttp://lab.test/2,2\n\n\n",
			want:     []row{{URL: "http://lab.test/1", Row: 5}, {URL: "http://lab.test/2", Extra: map[string]string{"n": `"2"`}, Row: 11}},
			problems: []string{"8: expected CSV", "!0: 6 rows are blank; they are left out: rows 3, 4, 6, 7, 9 and 1 more"},
		},
		{name: "CSV with semicolons and CRLF", text: "\ufeffurl;n\r\nhttp://lab.test/1,2;x\r\n", want: []row{{URL: "http://lab.test/1,2", Extra: map[string]string{"n": `"x"`}, Row: 2}}},
		{name: "CSV of one column", kind: "csv", text: "url\nhttp://lab.test/1\n", want: []row{{URL: "http://lab.test/1", Row: 2}}},
		{
			name: "CSV rows that are wrong", kind: "csv", text: "n,url\n1\n1,http://lab.test/1,3\nx,\n\"a\"b,http://lab.test/1\n2,http://lab.test/2\n",
			want:     []row{{URL: "http://lab.test/2", Extra: map[string]string{"n": `"2"`}, Row: 6}},
			problems: []string{"2: no url", "3: 3 cells; the header has 2", "4: no url", "5: expected CSV"},
		},
		{
			name: "CSV with cells of several lines", kind: "csv", text: "\nn,url\n\"1\n2\",x\n\n3,x\n\"a\"b,x\n4,http://lab.test/1\n5,x\n",
			want:     []row{{URL: "http://lab.test/1", Extra: map[string]string{"n": `"4"`}, Row: 7}},
			problems: []string{"3: absolute", "5 (line 6): absolute", "6 (line 7): expected CSV", "8 (line 9): absolute", "!4: the row is blank; it is left out"},
		},
		{name: "CSV without the column", kind: "csv", text: "a,b\n1,2\n", err: "no url column"},
		{name: "CSV with a column twice", kind: "csv", text: "url,a,a\n", err: "twice: rename one"},
		{
			name: "CSV with values in columns without a name", kind: "csv", text: "url,,\nhttp://lab.test/1,a,b\nhttp://lab.test/2,,c\n",
			want: []row{{URL: "http://lab.test/1", Row: 2}, {URL: "http://lab.test/2", Row: 3}}, problems: []string{"!0: 3 values stand in columns without a name; they are not sent"},
		},
		{
			name: "CSV with a row that is too long", kind: "csv", text: "url,n\nhttp://lab.test/1,\n\nhttp://lab.test/2," + strings.Repeat("a", 200_000) + "\nhttp://lab.test/3,\n",
			want: []row{{URL: "http://lab.test/1", Row: 2}}, err: "row 4: it is longer than 64 KiB, or a quote in it is not closed",
		},
		{name: "empty CSV", kind: "csv", text: "", err: "expected a header"},
		{name: "CSV with an open quote", kind: "csv", text: "url\n\"http://lab.test/1\n", problems: []string{"2: expected CSV"}},
		{name: "CSV with an open quote and no end", kind: "csv", text: "url\n\"" + strings.Repeat("a\n", 200_000), err: "row 2: it is longer than 64 KiB, or a quote in it is not closed"},
		{
			name: "JSON", text: ` [ {"url":"http://lab.test/1","n": 20,"o":{"a" : [1, 2]}}, "http://lab.test/2" ] `,
			want: []row{{URL: "http://lab.test/1", Extra: map[string]string{"n": "20", "o": `{"a":[1,2]}`}, Row: 1}, {URL: "http://lab.test/2", Row: 2}},
		},
		{name: "JSON under input", text: "{ \"input\" :\n [{\"url\":\"http://lab.test/1\"}], \"limit_per_input\": 3}", want: one},
		{
			name: "JSON rows that are wrong", text: `[1, null, {"n":1}, {"url":5}, {"url":"x"}, [], {"url":"http://lab.test/1"}]`,
			want:     []row{{URL: "http://lab.test/1", Row: 7}},
			problems: []string{"1: not a JSON object", "2: no url", "3: no url", "4: it is 5; expected a text", "5: absolute", "6: not a JSON object"},
		},
		{name: "JSON with a field twice", text: `[{"url":"http://lab.test/1"},{"url":"http://lab.test/1","n":{"url":1},"url":"http://lab.test/2"}]`, want: one, problems: []string{"2: it is there twice"}},
		{name: "JSON that ends early", text: `[{"url":"http://lab.test/1"}, {"url":`, want: one, err: "record 2: it ends early"},
		{name: "JSON with a second array", text: `[{"url":"http://lab.test/1"}] [{"url":"http://lab.test/2"}]`, want: one, err: "more follows the array"},
		{name: "JSON with a rest", text: `["http://lab.test/1"] ]`, want: one, err: "more follows the array"},
		{name: "JSON without its end", text: `[{"url":"http://lab.test/1"}`, want: one, err: "ends early"},
		{name: "JSON that is broken", text: `[{"url":"http://lab.test/1"}, nope]`, want: one, err: "record 2"},
		{name: "JSON that is one object", kind: "json", text: "{\n \"url\":\"http://lab.test/1\"\n}\n", want: one},
		{name: "JSON of two objects", kind: "json", text: `{"url":"http://lab.test/1"} {"url":"http://lab.test/2"}`, err: "more follows the object"},
		{name: "JSON without anything", kind: "json", text: " ", err: "it ends early; expected an array"},
		{name: "JSON that is a text", kind: "json", text: `"http://lab.test/1"`, err: "expected an array"},
		{name: "JSON whose input is a text", kind: "json", text: `{"input": "http://lab.test/1"}`, err: "expected an array"},
		{name: "JSON whose input is an object", kind: "json", text: `{"input": {"url":"http://lab.test/1"}}`, err: "expected an array"},
		{name: "JSON whose input is missing", kind: "json", text: `{"input":`, err: "ends early"},
		{name: "JSON with a huge record", kind: "json", text: `["` + strings.Repeat("a", 100_000) + `"]`, err: "record 1: it is longer than 64 KiB: shorten it, or take it out"},
		{
			name: "NDJSON", text: "{\"url\":\"http://lab.test/1\"}\r\n\n{\"url\":\"http://lab.test/2\",\"a\":null}\nnope\n",
			want:     []row{{URL: "http://lab.test/1", Row: 1}, {URL: "http://lab.test/2", Extra: map[string]string{"a": "null"}, Row: 3}},
			problems: []string{"4: not a JSON object"},
		},
		{name: "jsonl by its name", kind: "JSONL", text: `"http://lab.test/1"`, want: one},
		{name: "a text file of addresses", kind: "txt", text: "http://lab.test/1", want: one},
		{name: "a file that is not text", text: "\x7fELF\x02\x00\x00", err: "not text"},
		{name: "UTF-16", text: "\xff\xfeh\x00", err: "UTF-16"},
		{name: "bytes other than text", text: "http://lab.test/\xff", problems: []string{"1: it holds bytes that are not UTF-8; save the file as UTF-8"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			// Reading one byte at a time finds mistakes at the edges of a buffer.
			for _, r := range []io.Reader{strings.NewReader(c.text), iotest.OneByteReader(strings.NewReader(c.text))} {
				got, problems, err := ReadInputs(r, c.kind)
				if !reflect.DeepEqual(got, c.want) {
					t.Errorf("got %+v", got)
				}
				if len(problems) != len(c.problems) {
					t.Fatalf("problems %+v", problems)
				}
				for i, want := range c.problems {
					want, warning := strings.CutPrefix(want, "!")
					at, part, _ := strings.Cut(want, ": ")
					p := problems[i]
					where := fmt.Sprint(p.Row)
					if p.Line > 0 {
						where += fmt.Sprintf(" (line %d)", p.Line)
					}
					if where != at || !strings.Contains(p.Text, part) || p.Warning != warning {
						t.Errorf("problem %+v, want %s", p, c.problems[i])
					}
				}
				if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
					t.Errorf("error %v", err)
				}
			}
		})
	}
}

// ReadInputs is Read with the zero Shape.
func ReadInputs(r io.Reader, kind string) ([]model.JobInput, []Problem, error) {
	in, err := Read(r, kind, Shape{})
	return in.Rows, in.Problems, err
}

func TestInputsAreBounded(t *testing.T) {
	t.Run("bytes", func(t *testing.T) {
		_, _, err := ReadInputs(generated(func() string { return "#" + strings.Repeat(" ", 1000) + "\n" }), InputLines)
		if err == nil || !strings.Contains(err.Error(), "64 MiB") {
			t.Error(err)
		}
	})
	t.Run("problems", func(t *testing.T) {
		_, problems, err := ReadInputs(strings.NewReader(strings.Repeat("x\n", 1000)), InputLines)
		if err != nil || len(problems) != maxProblems+1 || problems[maxProblems].Warning || !strings.Contains(problems[maxProblems].Text, "800 more") || problems[maxProblems].Rows() != 800 {
			t.Errorf("%d problems, %v", len(problems), err)
		}
	})
	t.Run("notes", func(t *testing.T) {
		source := strings.Repeat("http://lab.test/\n", 3000) + "x\n"
		inputs, problems, err := ReadInputs(strings.NewReader(source), InputLines)
		if err != nil || len(inputs) != 1 || len(problems) != maxNotes+2 {
			t.Fatalf("%d inputs, problems %+v, %v", len(inputs), problems, err)
		}
		bad, rest := problems[maxNotes], problems[maxNotes+1]
		if bad.Warning || bad.Row != 3001 || bad.Rows() != 1 {
			t.Errorf("the bad row: %+v", bad)
		}
		if !rest.Warning || rest.Row != 0 || rest.Rows() != 2999-maxNotes || !strings.Contains(rest.Text, "2994 more rows repeat another one; each is sent once") {
			t.Errorf("the rest: %+v", rest)
		}
	})
}

// generated is an endless reader.
type generated func() string

func (g generated) Read(p []byte) (int, error) { return copy(p, g()), nil }

func FuzzReadInputs(f *testing.F) {
	for _, s := range []string{
		"http://lab.test/1\n", "url,n\nhttp://lab.test/1,2\n", `[{"url":"http://lab.test/1","n":1}]`, `{"url":"http://lab.test/1"}` + "\n",
		`{"input":[{"url":"http://lab.test/1"}]}`, "\ufeff", "\"url\"\n\"", "\"url\"\n\"\n\"", "[[[[", "{\"url\":1e999}",
	} {
		for _, kind := range []string{"", InputLines, InputCSV, InputJSON, InputNDJSON} {
			f.Add(kind, []byte(s))
		}
	}
	f.Fuzz(func(t *testing.T, kind string, source []byte) {
		inputs, problems, _ := ReadInputs(strings.NewReader(string(source)), kind)
		if len(problems) > maxProblems+maxNotes+2 {
			t.Fatalf("%d problems", len(problems))
		}
		for _, in := range inputs {
			if err := checkURL(in.URL); err != nil {
				t.Fatalf("%q was taken: %v", in.URL, err)
			}
		}
		// What was read can be sent: the body is an array of objects with these urls.
		var body []map[string]any
		if err := json.Unmarshal(Body(inputs), &body); err != nil || len(body) != len(inputs) {
			t.Fatalf("%d inputs gave %d objects: %v", len(inputs), len(body), err)
		}
		for i, in := range inputs {
			if body[i]["url"] != in.URL {
				t.Fatalf("%q was sent as %q", in.URL, body[i]["url"])
			}
		}
	})
}
