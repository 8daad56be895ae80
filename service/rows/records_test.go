package rows

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"zonedeck/model"
)

func TestReadRecords(t *testing.T) {
	type col = model.RecordColumn
	for _, c := range []struct {
		name, format, text string
		n                  int
		want               model.RecordTable
		err                string
	}{
		{
			name: "an array, columns as they come", format: "json", n: 10,
			text: ` [{"b":"x","a":1},{"a":2.50,"c":null},{"b":"","c":[],"d":{"e" : 1}}] `,
			want: model.RecordTable{
				Columns: []col{{Name: "b", Type: "text", Filled: 1}, {Name: "a", Type: "number", Filled: 2}, {Name: "c", Type: "list"}, {Name: "d", Type: "object", Filled: 1}},
				Rows:    [][]string{{"x", "1", "", ""}, {"", "2.50", "", ""}, {"", "", "", `{"e":1}`}}, Total: 3,
			},
		},
		{
			name: "the first two of four", format: "json", n: 2, text: `[{"a":1},{"a":true},{"a":3},{"a":4}]`,
			want: model.RecordTable{Columns: []col{{Name: "a", Type: "mixed", Filled: 2}}, Rows: [][]string{{"1"}, {"true"}}, Total: -1},
		},
		{
			name: "as many as there are", format: "json", n: 2, text: `[{"a":1},{"a":2}]`,
			want: model.RecordTable{Columns: []col{{Name: "a", Type: "number", Filled: 2}}, Rows: [][]string{{"1"}, {"2"}}, Total: 2},
		},
		{
			name: "one a line", format: "ndjson", n: 10, text: "{\"a\":null}\n\n{\"a\":\"x\\ny\"}\r\n",
			want: model.RecordTable{Columns: []col{{Name: "a", Type: "text", Filled: 1}}, Rows: [][]string{{""}, {"x\ny"}}, Total: 2},
		},
		{
			name: "only the first record", format: "ndjson", n: 1, text: "{\"a\":1}\n{\"a\":2}\nbroken, and never read",
			want: model.RecordTable{Columns: []col{{Name: "a", Type: "number", Filled: 1}}, Rows: [][]string{{"1"}}, Total: -1},
		},
		{
			name: "CSV", format: "csv", n: 10, text: "\ufeffa,b,a\n1,,true\n\"x,y\",z\n",
			want: model.RecordTable{
				Columns: []col{{Name: "a", Type: "mixed", Filled: 2}, {Name: "b", Type: "text", Filled: 1}, {Name: "a 3", Type: "bool", Filled: 1}},
				Rows:    [][]string{{"1", "", "true"}, {"x,y", "z", ""}}, Total: 2,
			},
		},
		{name: "values other than objects", format: "", n: 10, text: `[1,"x",null]`, want: model.RecordTable{Columns: []col{{Name: "value", Type: "mixed", Filled: 2}}, Rows: [][]string{{"1"}, {"x"}, {""}}, Total: 3}},
		{name: "a field twice", format: "", n: 10, text: `{"a":1,"a":2}`, want: model.RecordTable{Columns: []col{{Name: "a", Type: "number", Filled: 1}}, Rows: [][]string{{"1"}}, Total: 1}},
		{name: "an array after blanks", format: "json", n: 10, text: " \t\r\n[{\"a\":1}]", want: model.RecordTable{Columns: []col{{Name: "a", Type: "number", Filled: 1}}, Rows: [][]string{{"1"}}, Total: 1}},
		{name: "nothing", format: "json", n: 10, text: "", want: model.RecordTable{Total: 0}},
		{name: "no records", format: "json", n: 10, text: "[]", want: model.RecordTable{Total: 0}},
		{name: "a CSV header alone", format: "", n: 10, text: "a,b\n", want: model.RecordTable{Columns: []col{{Name: "a", Type: "null"}, {Name: "b", Type: "null"}}, Total: 0}},
		{
			name: "an array that breaks off", format: "json", n: 10, text: `[{"a":1},{"a":`, err: "record 2: it ends early",
			want: model.RecordTable{Columns: []col{{Name: "a", Type: "number", Filled: 1}}, Rows: [][]string{{"1"}}, Total: -1},
		},
		{name: "no JSON", format: "json", n: 10, text: "<html>", err: "record 1", want: model.RecordTable{Total: -1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(c.text), iotest.OneByteReader(strings.NewReader(c.text))} {
				got, err := ReadRecords(r, c.format, c.n)
				if !reflect.DeepEqual(got, c.want) {
					t.Errorf("got  %+v\nwant %+v", got, c.want)
				}
				if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
					t.Errorf("error %v", err)
				}
				var re *RecordsError
				if err != nil && !errors.As(err, &re) {
					t.Errorf("%T", err)
				}
			}
		})
	}
}

// TestHostileRecordsAreBounded reads results that try to fill the memory.
func TestAPreviewOfHugeRecordsIsCutShort(t *testing.T) {
	record := `{"a":"` + strings.Repeat("x", maxCell) + `"` // 160 cells of 4 KiB: 640 KiB
	for i := range 159 {
		record += fmt.Sprintf(`,"a%d":"%s"`, i, strings.Repeat("y", maxCell))
	}
	record += "}\n"
	table, err := ReadRecords(strings.NewReader(strings.Repeat(record, 30)), "ndjson", 100)
	if err != nil || table.Total != -1 || len(table.Rows) < 10 || len(table.Rows) > 16 {
		t.Errorf("%d rows, total %d, %v", len(table.Rows), table.Total, err)
	}
}

func TestNamesAndCellsAreCutAtTheirBound(t *testing.T) {
	a := func(n int) string { return strings.Repeat("a", n) }
	for _, c := range []struct{ name, cell, wantName, wantCell string }{
		{a(maxColumnName), a(maxCell), a(maxColumnName), a(maxCell)},
		{a(maxColumnName + 1), a(maxCell + 1), a(maxColumnName) + "…", a(maxCell) + "…"},
	} {
		want := model.RecordTable{Columns: []model.RecordColumn{{Name: c.wantName, Type: "text", Filled: 1}}, Rows: [][]string{{c.wantCell}}, Total: 1}
		for format, text := range map[string]string{"json": `{"` + c.name + `":"` + c.cell + `"}`, "csv": c.name + "\n" + c.cell + "\n"} {
			if got, err := ReadRecords(strings.NewReader(text), format, 10); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: a name of %d and a cell of %d bytes: %v", format, len(c.name), len(c.cell), err)
			}
		}
	}
}

func TestLongNamesThatBeginAlikeAreTwoColumns(t *testing.T) {
	name := strings.Repeat("a", maxColumnName)
	got, err := ReadRecords(strings.NewReader(name+"x,"+name+"y\n1,2\n"), "csv", 10)
	if err != nil || len(got.Columns) != 2 || !reflect.DeepEqual(got.Rows, [][]string{{"1", "2"}}) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestARecordThatBreaksIsNamed(t *testing.T) {
	broken := errors.New("the disk is on fire")
	for text, want := range map[string]string{
		``:                     "record 1: the disk is on fire",
		` `:                    "record 1: the disk is on fire",
		`[`:                    "record 1: the disk is on fire",
		`[{"a":1}`:             "record 2: the disk is on fire",
		`{"a":1}` + "\n":       "record 2: the disk is on fire",
		`{"a":1}` + "\n{\"b\"": "record 2: the disk is on fire",
		`[{"a":1},{"b"`:        "record 2: the disk is on fire",
	} {
		_, err := ReadRecords(io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)), "json", 10)
		if err == nil || err.Error() != want || !errors.Is(err, broken) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestHostileRecordsAreBounded(t *testing.T) {
	many := func(n int, one func(int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(one(i))
		}
		return b.String()
	}
	for _, c := range []struct {
		name string
		r    io.Reader
		err  bool
	}{
		{"a text without end", io.MultiReader(strings.NewReader(`[{"a":"`), generated(func() string { return "aaaaaaaaaaaaaaaa" })), true},
		{"a name without end", io.MultiReader(strings.NewReader(`{"`), generated(func() string { return "aaaaaaaaaaaaaaaa" })), true},
		{"white space without end", io.MultiReader(strings.NewReader(`[{"a":1},`), generated(func() string { return "                " })), true},
		{"brackets without end", generated(func() string { return "[[[[[[[[[[[[[[[[" }), true},
		{"a CSV quote without end", io.MultiReader(strings.NewReader("a\n\""), generated(func() string { return "x\n" })), true},
		{"a CSV header without end", generated(func() string { return "abc," }), true},
		{"records without end", generated(func() string { return "{\"a\":1}\n" }), false},
		{"many columns", strings.NewReader("{" + many(5000, func(i int) string { return fmt.Sprintf(`"c%d":1,`, i) }) + `"z":1}`), false},
		{"many columns of CSV", strings.NewReader(many(5000, func(i int) string { return fmt.Sprintf("c%d,", i) }) + "z\n" + strings.Repeat("1,", 5000) + "\n"), false},
		{"a long cell and a long name", strings.NewReader(`{"` + strings.Repeat("ü", 5000) + `":"` + strings.Repeat("ü", 50_000) + `"}`), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			table, err := ReadRecords(c.r, "", 100)
			runtime.ReadMemStats(&after)
			if (err != nil) != c.err {
				t.Errorf("error %v", err)
			}
			if grown := after.TotalAlloc - before.TotalAlloc; grown > 64<<20 {
				t.Errorf("it allocated %d MiB", grown>>20)
			}
			checkTable(t, table, 100)
		})
	}
}

// checkTable checks what every table promises.
func checkTable(t *testing.T, table model.RecordTable, n int) {
	t.Helper()
	if len(table.Columns) > maxColumns || len(table.Rows) > n {
		t.Fatalf("%d columns, %d rows", len(table.Columns), len(table.Rows))
	}
	filled := make([]int, len(table.Columns))
	for _, row := range table.Rows {
		if len(row) != len(table.Columns) {
			t.Fatalf("%d cells under %d columns", len(row), len(table.Columns))
		}
		for i, cell := range row {
			if len(cell) > 3*maxCell+10 || !utf8.ValidString(cell) {
				t.Fatalf("a cell of %d bytes", len(cell))
			}
			if cell != "" {
				filled[i]++
			}
		}
	}
	for i, column := range table.Columns {
		if column.Filled != filled[i] {
			t.Errorf("column %q says %d of %d are filled", column.Name, column.Filled, filled[i])
		}
	}
	if table.Total >= 0 && table.Total != len(table.Rows) {
		t.Errorf("total %d with %d rows", table.Total, len(table.Rows))
	}
}

func FuzzReadRecords(f *testing.F) {
	for _, s := range []string{`[{"a":1},{"b":[1,{"c":2}]}]`, "{\"a\":1}\n{\"a\":\"\xff\"}", "a,b\n1,2\n", "\ufeff[", "[[]]", `{"a":1,"a":{}}`, "\"\"\"", "a,a\n,,,,"} {
		for _, format := range append(Formats(), "") {
			f.Add(format, []byte(s))
		}
	}
	f.Fuzz(func(t *testing.T, format string, result []byte) {
		table, _ := ReadRecords(strings.NewReader(string(result)), format, 20)
		checkTable(t, table, 20)
	})
}

func TestATableHasAtMostTwoHundredColumns(t *testing.T) {
	for n, want := range map[int]int{199: 199, 200: 200, 201: 200} {
		names := make([]string, n)
		for i := range names {
			names[i] = fmt.Sprintf("c%d", i)
		}
		for format, text := range map[string]string{
			"csv":  strings.Join(names, ",") + "\n" + strings.Repeat("1,", n-1) + "1\n",
			"json": `{"` + strings.Join(names, `":1,"`) + `":1}`,
		} {
			table, err := ReadRecords(strings.NewReader(text), format, 10)
			if err != nil || len(table.Columns) != want || len(table.Rows) != 1 || len(table.Rows[0]) != want {
				t.Errorf("%d columns of %s: %d, %d rows, %v", n, format, len(table.Columns), len(table.Rows), err)
			}
		}
	}
}
