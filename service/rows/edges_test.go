package rows

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"zonedeck/model"
)

func TestAMeterGivesWhatItMayAndThenSaysWhy(t *testing.T) {
	over := errors.New("too much")
	for left, want := range map[int64]string{0: "", 1: "a", 2: "ab", 3: "abc", 4: "abc"} {
		m := &meter{r: strings.NewReader("abc"), remaining: left, over: over}
		got, err := io.ReadAll(m)
		if string(got) != want || (err == nil) != (left > 3) || err != nil && !errors.Is(err, over) {
			t.Errorf("%d: %q, %v", left, got, err)
		}
	}
}

func TestALineIsBounded(t *testing.T) {
	for n, want := range map[int]error{maxInputRow - 1: nil, maxInputRow: errLongRow, maxInputRow + 1: errLongRow, 3 * maxInputRow: errLongRow} {
		br := bufio.NewReader(strings.NewReader(strings.Repeat("a", n) + "\nnext\n"))
		line, err := readLine(br)
		if !errors.Is(err, want) || want == nil && len(line) != n || len(line) > maxInputRow {
			t.Errorf("%d bytes: %d, %v", n, len(line), err)
		}
		if next, err := readLine(br); string(next) != "next" || err != nil {
			t.Errorf("%d bytes: then %q, %v", n, next, err)
		}
		if rest, err := readLine(br); len(rest) != 0 || !errors.Is(err, io.EOF) {
			t.Errorf("%d bytes: at the end %q, %v", n, rest, err)
		}
	}
}

func TestEveryKindOfInputsIsBoundedInRows(t *testing.T) {
	for kind, c := range map[string]struct{ before, between, after string }{
		InputJSON: {"[", ",", "]"}, InputNDJSON: {"", "\n", "\n"}, InputCSV: {"url\n", "\n", "\n"}, InputLines: {"", "\n", "\n"},
	} {
		quote := `"`
		if kind == InputCSV || kind == InputLines {
			quote = ""
		}
		text := func(n int) string {
			rows := make([]string, n)
			for i := range rows {
				rows[i] = fmt.Sprintf("%shttp://lab.test/%d%s", quote, i, quote)
			}
			return c.before + strings.Join(rows, c.between) + c.after
		}
		if got, _, err := ReadInputs(strings.NewReader(text(model.MaxInputs+1)), kind); !errors.Is(err, errTooManyInputs) || len(got) != model.MaxInputs {
			t.Errorf("%s: %d rows, %v", kind, len(got), err)
		}
	}
}

func TestARowIsBoundedInFields(t *testing.T) {
	text := func(n int) string {
		var b strings.Builder
		b.WriteString(`{"url":"http://lab.test/1"`)
		for i := range n {
			fmt.Fprintf(&b, `,"f%d":%d`, i, i)
		}
		return b.String() + "}\n"
	}
	if got, problems, err := ReadInputs(strings.NewReader(text(maxExtras)), InputNDJSON); err != nil || len(got) != 1 || len(problems) != 0 || len(got[0].Extra) != maxExtras {
		t.Errorf("at the bound: %d rows, %+v, %v", len(got), problems, err)
	}
	got, problems, err := ReadInputs(strings.NewReader(text(maxExtras+1)), InputNDJSON)
	if err != nil || len(got) != 0 || len(problems) != 1 || problems[0].Text != fmt.Sprintf("it has %d fields; at most %d are sent", maxExtras+2, maxExtras+1) {
		t.Errorf("beyond it: %d rows, %+v, %v", len(got), problems, err)
	}
}

func TestRowsThatAreWrongAreReportedAndTheNextIsRead(t *testing.T) {
	long := strings.Repeat("a", maxInputRow)
	for name, c := range map[string]struct{ kind, text, problem string }{
		"NDJSON, a long line":             {InputNDJSON, `{"url":"` + long + "\"}\n{\"url\":\"http://lab.test/2\"}\n", "1: longer than 64 KiB"},
		"CSV, bytes that are not text":    {InputCSV, "url,n\nhttp://lab.test/1,\xff\nhttp://lab.test/2,\n", "2: not UTF-8"},
		"NDJSON, bytes that are not text": {InputNDJSON, "{\"url\":\"http://lab.test/\xff\"}\n{\"url\":\"http://lab.test/2\"}\n", "1: not UTF-8"},
		"JSON, bytes that are not text":   {InputJSON, "[{\"url\":\"http://lab.test/1\",\"n\":\"caf\xe9\"},{\"url\":\"http://lab.test/2\"}]", "1: not UTF-8"},
		"lines, a host without a name":    {InputLines, "http://ä.xn--0/\nhttp://lab.test/2\n", "1: its host"},
		"CSV, a column without a name":    {InputCSV, "url,\nx,\nhttp://lab.test/2,\n", "2: absolute"},
		"lines, a long line of two words": {InputLines, "http://lab.test/ " + long + "\nhttp://lab.test/2\n", "1: longer than 64 KiB"},
	} {
		got, problems, err := ReadInputs(strings.NewReader(c.text), c.kind)
		at, part, _ := strings.Cut(c.problem, ": ")
		if err != nil || len(got) != 1 || got[0].URL != "http://lab.test/2" || got[0].Extra != nil || len(problems) != 1 || fmt.Sprint(problems[0].Row) != at || !strings.Contains(problems[0].Text, part) {
			t.Errorf("%s: %+v, %+v, %v", name, got, problems, err)
		}
	}
	broken := errors.New("the disk is on fire")
	for kind, begin := range map[string]string{InputNDJSON: "{\"url\":\"http://lab.test/1\"}\n", InputLines: "http://lab.test/1\n", InputCSV: "url\nhttp://lab.test/1\n", InputJSON: `["http://lab.test/1",`} {
		got, _, err := ReadInputs(io.MultiReader(strings.NewReader(begin), iotest.ErrReader(broken)), kind)
		if !errors.Is(err, broken) || len(got) != 1 {
			t.Errorf("%s: %+v, %v", kind, got, err)
		}
	}
}

func TestRecordsOfCSVEndWhereTheyShould(t *testing.T) {
	one := []model.RecordColumn{{Name: "a", Type: "number", Filled: 1}}
	for text, want := range map[string]model.RecordTable{
		"":           {Total: 0},
		"a\n1\n":     {Columns: one, Rows: [][]string{{"1"}}, Total: 1},
		"a\n1\n2\n":  {Columns: one, Rows: [][]string{{"1"}}, Total: -1},
		"a\n1,2,3\n": {Columns: one, Rows: [][]string{{"1"}}, Total: 1},
	} {
		if got, err := ReadRecords(strings.NewReader(text), "csv", 1); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	broken := errors.New("the disk is on fire")
	for text, rows := range map[string]int{"a,b": 0, "a\n1\n": 1} {
		got, err := ReadRecords(io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)), "csv", 5)
		if !errors.Is(err, broken) || len(got.Rows) != rows || got.Total != -1 {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func TestWhatACellOfCSVLooksLike(t *testing.T) {
	for cell, want := range map[string]string{
		"": "null", "true": "bool", "false": "bool", "True": "text", "0": "number", "9": "number", "-1": "number", "+1.5e3": "number", ".5": "number",
		"1x": "text", "-": "text", "x": "text", "inf": "text", "NaN": "text", "/": "text", ":": "text",
	} {
		if got := csvKind(cell); got != want {
			t.Errorf("%q: %s, want %s", cell, got, want)
		}
	}
}

func TestTheFormatOfRecordsIsNamedOrSeen(t *testing.T) {
	for _, c := range []struct{ format, text, want string }{
		{"json", "a", "json"},
		{"NDJSON", "a", "ndjson"},
		{"jsonl", "a", "ndjson"},
		{"CSV", "[", "csv"},
		{"", " \t\r\n[", "json"},
		{"", "{", "json"},
		{"xml", "{", "json"},
		{"", "a,b", "csv"},
		{"", "", "csv"},
	} {
		if got := recordFormat(c.format, bufio.NewReader(strings.NewReader(c.text))); got != c.want {
			t.Errorf("%q, %q: %s, want %s", c.format, c.text, got, c.want)
		}
	}
	for _, space := range []string{" ", "\t", "\r", "\n", " \t\r\n  "} {
		if table, err := ReadRecords(strings.NewReader(space+`[{"a":1}]`), "json", 5); err != nil || table.Total != 1 {
			t.Errorf("%q before an array: %+v, %v", space, table, err)
		}
	}
	broken := errors.New("the disk is on fire")
	if _, err := ReadRecords(io.MultiReader(strings.NewReader("     "), iotest.ErrReader(broken)), "json", 5); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

func TestNamesOfColumnsAreTrimmed(t *testing.T) {
	got, problems, err := ReadInputs(strings.NewReader(" url , n ,\tm\nhttp://lab.test/1,1,2\n"), InputCSV)
	want := []model.JobInput{{URL: "http://lab.test/1", Extra: map[string]string{"n": `"1"`, "m": `"2"`}, Row: 2}}
	if err != nil || len(problems) != 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %+v, %v", got, problems, err)
	}
}
