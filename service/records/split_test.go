package records

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/service/rows"
)

// scan gives all rows of a text, read in pieces of the given size.
func scan(tb testing.TB, text, name string, piece int) (rows []string, s *scanner, l layout) {
	tb.Helper()
	l, err := layoutOf(strings.NewReader(text), int64(len(text)), name)
	noerr.Must(tb, err)
	s = newScanner(strings.NewReader(text), l, l.from, l.size, make([]byte, piece))
	for {
		row, err := s.next()
		if errors.Is(err, io.EOF) {
			return rows, s, l
		}
		noerr.Must(tb, err)
		if got := text[s.at:min(int(s.at)+len(row), len(text))]; got != string(row) {
			tb.Fatalf("row %q is said to begin at %d, where %q is", row, s.at, got)
		}
		if len(rows) > len(text) {
			tb.Fatal("there are more rows than bytes")
		}
		rows = append(rows, string(row))
	}
}

func TestRowsOfEachFormat(t *testing.T) {
	for _, c := range []struct {
		name, file, text string
		format           Format
		want             []string
	}{
		{"an array", "a.json", "\ufeff [ {\"a\": \"],{\\\"\"} ,\n 2,\"x, y\" ]\n", Array, []string{`{"a": "],{\""}`, "2", `"x, y"`}},
		{"an empty array", "a.json", "[ ]", Array, nil},
		{"an array that is cut", "a.json", `[{"a":1},{"a":`, Array, []string{`{"a":1}`, `{"a":`}},
		{"an array with a bracket too many", "a.json", `[1},2]`, Array, []string{"1}", "2"}},
		{"lines", "a.ndjson", "{\"a\":1}\r\n\n  {\"a\":2}  \n{\"a\":3}", Lines, []string{`{"a":1}`, `{"a":2}`, `{"a":3}`}},
		{"lines by what they are", "a.txt", "{\"a\":1}\n{\"a\":2}\n", Lines, []string{`{"a":1}`, `{"a":2}`}},
		{"values over several lines", "a.json", "{\n \"a\": 1\n}\n{\"b\":[1,\n2]} 7 \"x\\\"\" null", Values, []string{"{\n \"a\": 1\n}", "{\"b\":[1,\n2]}", "7", `"x\""`, "null"}},
		{"a table", "a.csv", "a,b\r\n1,\"x\r\n\"\"y\"\"\"\r\n\r\n\n,\n", CSV, []string{"1,\"x\r\n\"\"y\"\"\"", ","}},
		{"a table without a last line end", "a.csv", "a\n\"x\ny\"", CSV, []string{"\"x\ny\""}},
		{"nothing", "a.ndjson", "", Lines, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			for piece := 1; piece < 40; piece++ {
				rows, _, l := scan(t, c.text, c.file, piece)
				if l.format != c.format || strings.Join(rows, "|") != strings.Join(c.want, "|") || len(rows) != len(c.want) {
					t.Fatalf("in pieces of %d: %s %q, want %s %q", piece, l.format, rows, c.format, c.want)
				}
			}
		})
	}
}

func TestWhatPartsTheCellsOfATable(t *testing.T) {
	for text, want := range map[string]byte{
		"a,b\n1,2\n": ',', "a;b\n1;2\n": ';', "a\tb\n": '\t', "a;b;c,d\n1,2\n": ',', "a;b;c\nx\n": ';', "\"a,b,c\";d\n1;2\n": ';',
		"\r\n\"x;\n;;\",y\n\n1,\"2;\"\n;;;;": ',', "a": ',', "": ',', "a;b,c;d\n1,5;2;3\n": ';',
	} {
		if got := commaOf([]byte(text)); got != want {
			t.Errorf("%q is parted by %q, want %q", text, got, want)
		}
	}
	// A table of this console's own.
	f := file(t, "a.json", `[{"a;b;c":1,"d":";"}]`)
	var b strings.Builder
	noerr.Must(t, noerr.From(f.Export(t.Context(), &b, View{}, Export{Format: CSV}, nil)))
	if got := written(t, file(t, "a.csv", b.String()), View{}); got != "{\"a;b;c\":\"1\",\"d\":\";\"}\n" {
		t.Errorf("%q comes back as %q", b.String(), got)
	}
}

// counted counts what is read.
type counted struct {
	io.ReaderAt
	n int
}

func (c *counted) ReadAt(p []byte, at int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, at)
	c.n += n
	return n, err
}

func TestRowsInAnotherOrderReadLittle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.ndjson")
	size := writeRows(t, path, 5_000)
	rows, err := os.Open(path)
	noerr.Must(t, err)
	defer rows.Close()
	l, err := layoutOf(rows, size, path)
	noerr.Must(t, err)
	var places []int64
	var texts []string
	s := newScanner(rows, l, 0, size, nil)
	for {
		row, err := s.next()
		if err != nil {
			break
		}
		places, texts = append(places, s.at), append(texts, string(row))
	}
	for _, c := range []struct {
		name string
		next func(i int) int
		most int // bytes a row
	}{
		{"backwards", func(i int) int { return len(places) - 1 - i }, firstAhead},
		{"here and there", func(i int) int { return i * 2_003 % len(places) }, firstAhead},
		{"onwards", func(i int) int { return i }, int(size)/len(places) + 1},
	} {
		r := &counted{ReaderAt: rows}
		s := newScanner(r, l, 0, size, make([]byte, 32<<10))
		for i := range places {
			k := c.next(i)
			s.seek(places[k])
			if row, err := s.next(); err != nil || string(row) != texts[k] {
				t.Fatalf("%s: row %d is %q, %v", c.name, k, row, err)
			}
		}
		if r.n > c.most*len(places) {
			t.Errorf("%s: %d bytes were read for %d rows of %d", c.name, r.n, len(places), size)
		}
	}
}

func TestPackedFilesAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.json.gz")
	noerr.Must(t, os.WriteFile(path, []byte{0x1f, 0x8b, 8, 0}, 0o600))
	if _, err := Open(path, Options{}); !errors.Is(err, errPacked) {
		t.Errorf("a gzip file was opened: %v", err)
	}
}

// refused reports whether a text is not read at all, as what is binary.
func refused(text, name string) bool {
	_, err := layoutOf(strings.NewReader(text), int64(len(text)), name)
	return err != nil
}

func FuzzArrayAgainstEncodingJSON(f *testing.F) {
	for _, s := range []string{`[]`, `[1,{"a":"],{\""},[ [] ], "\\"]`, " [ null ,\n true]", `[{"a":1}`, `[1}]`, `["\`, `[,]`} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, text string, piece int) {
		if !strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "[") || refused(text, "a.json") && !json.Valid([]byte(text)) {
			return
		}
		rows, s, _ := scan(t, text, "a.json", 1+max(piece, -piece, 0)%64)
		var want []json.RawMessage
		if json.Unmarshal([]byte(text), &want) != nil {
			return
		}
		if len(rows) != len(want) || !s.over {
			t.Fatalf("%d rows, want %d", len(rows), len(want))
		}
		for i := range rows {
			if rows[i] != string(want[i]) {
				t.Errorf("row %d is %q, want %q", i, rows[i], want[i])
			}
		}
	})
}

func FuzzLinesAgainstADecoder(f *testing.F) {
	for _, s := range []string{"{\"a\":1}\n{}\n", "1\r\n\r\n2", "\"x\\n\"\n", "{\n}\n"} {
		f.Add(s, 3, true)
	}
	f.Fuzz(func(t *testing.T, text string, piece int, lines bool) {
		name := "a.json"
		if lines {
			name = "a.ndjson"
		}
		if c := strings.TrimLeft(text, " \t\r\n"); !lines && (c == "" || c[0] == '[') || refused(text, name) {
			return
		}
		rows, _, l := scan(t, text, name, 1+max(piece, -piece, 0)%64)
		var want []string
		dec := json.NewDecoder(strings.NewReader(text[l.from:]))
		for {
			var v json.RawMessage
			err := dec.Decode(&v)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return
			}
			if l.format == Lines && bytes.ContainsRune(v, '\n') {
				return // a value over several lines
			}
			if l.format == Values && !strings.ContainsRune(`{["`, rune(v[0])) {
				return // a decoder takes 00 for two numbers
			}
			want = append(want, string(v))
		}
		if l.format == Lines && len(rows) != len(want) {
			return // several values on a line are one damaged row
		}
		if strings.Join(rows, "\x00") != strings.Join(want, "\x00") {
			t.Errorf("%q, want %q", rows, want)
		}
	})
}

func FuzzTableAgainstEncodingCSV(f *testing.F) {
	for _, s := range []string{"a,b\n1,2\n", "a\n\"x\n\"\"y\"\"\"\n", "a,b\r\n\"1\r\n\",\r\n", "a\n\"x\"y\",\n", "a\n\r\n\rb\r", "a;b\n1;\"2\"\n", "a\n\"x\r", "a\nx\"y,\"z\"\n"} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, text string, piece int) {
		if refused(text, "a.csv") || strings.Contains(text, "sep=") { // that line is skipped
			return
		}
		rows, _, l := scan(t, text, "a.csv", 1+max(piece, -piece, 0)%64)
		r := csv.NewReader(strings.NewReader(text[len(text)-len(strings.TrimPrefix(text, "\ufeff")):]))
		r.Comma, r.FieldsPerRecord, r.LazyQuotes = rune(l.comma), -1, true
		all, err := r.ReadAll()
		if err != nil {
			return
		}
		if len(all) == 0 {
			if len(rows) != 0 {
				t.Errorf("rows %q of nothing", rows)
			}
			return
		}
		if len(rows) != len(all)-1 {
			t.Fatalf("rows %q, want %q", rows, all[1:])
		}
		for i, row := range rows {
			var cells []string
			eachCell([]byte(row), l.comma, func(_ int, cell []byte) bool {
				cells = append(cells, string(cell))
				return true
			})
			if strings.Join(cells, "\x00") != strings.Join(all[i+1], "\x00") || len(cells) != len(all[i+1]) {
				t.Errorf("row %d has cells %q, want %q", i, cells, all[i+1])
			}
		}
	})
}

// One rule says what a row of NDJSON is, whoever reads it: what stands on its line, whatever value that is, without white
// space and byte order marks before it.
func TestTheRowsOfNDJSONAreTheSameForEveryReader(t *testing.T) {
	const text = "\ufeff{\"a\":1}\r\n\n\ufeff{\"a\":2}\n \ufeff\ufeff \n[1,{}]\n\ufeff7\n[]\n\"x\""
	want := []string{`{"a":1}`, `{"a":2}`, `[1,{}]`, "7", "[]", `"x"`}
	for piece := 1; piece < 20; piece++ {
		if got, _, _ := scan(t, text, "a.ndjson", piece); !slices.Equal(got, want) {
			t.Errorf("by %d: %q", piece, got)
		}
	}
	var lines []string
	l := &rows.Lines{On: func(raw []byte) error {
		lines = append(lines, string(raw))
		return nil
	}}
	if _, err := l.Write([]byte(text)); err != nil || l.Close() != nil || !slices.Equal(lines, want) {
		t.Errorf("%q, %v", lines, err)
	}
	n := 0
	if err := rows.EachRow(strings.NewReader(text), "ndjson", func(rows.Row) error { n++; return nil }); err != nil || n != len(want) {
		t.Errorf("%d rows, %v", n, err)
	}
	table, err := rows.ReadRecords(strings.NewReader(text), "ndjson", 100)
	if err != nil || table.Total != len(want) || table.Rows[2][1] != `[1,{}]` {
		t.Errorf("%q, %v", table.Rows, err)
	}
}

func TestARowOfBracketsAloneIsDamaged(t *testing.T) {
	f := file(t, "a.ndjson", "{\"a\":1}\n"+strings.Repeat("[", 9<<20)+"\n")
	if got := rowsOf(t, f, View{}, 3, "a"); len(got) != 2 || got[0].Damaged != "" || !strings.HasSuffix(got[1].Damaged, "exceeded max depth") {
		t.Errorf("%.300q", got[len(got)-1].Damaged)
	}
}
