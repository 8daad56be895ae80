package rows

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
)

func TestRowsAsASheet(t *testing.T) {
	const in = `{"name":"=1+1","a b":"x, \"y\"","n":-3}
{"n":"-3","=cmd":"@SUM(A1)","nested":{"x":["+1"]},"gone":null}
"plain"
{"name":"\tx","a b":"line\nbreak"}
`
	for raw, want := range map[bool]string{
		false: "name,a b,n,'=cmd,nested,gone,value\n" +
			"'=1+1,\"x, \"\"y\"\"\",-3,,,,\n" +
			",,-3,'@SUM(A1),\"{\"\"x\"\":[\"\"+1\"\"]}\",,\n" +
			",,,,,,plain\n" +
			"'\tx,\"line\nbreak\",,,,,\n",
		true: "name,a b,n,=cmd,nested,gone,value\n" +
			"=1+1,\"x, \"\"y\"\"\",-3,,,,\n" +
			",,-3,@SUM(A1),\"{\"\"x\"\":[\"\"+1\"\"]}\",,\n" +
			",,,,,,plain\n" +
			"\"\tx\",\"line\nbreak\",,,,,\n",
	} {
		var out bytes.Buffer
		n, err := WriteCSV(&out, strings.NewReader(in), raw)
		if err != nil || out.String() != want || raw != (n == 0) || !raw && n != 4 {
			t.Errorf("raw %v: %d, %v\n%s\nwant\n%s", raw, n, err, out.String(), want)
		}
	}
	var wide strings.Builder
	wide.WriteString("{")
	for i := range maxCSVColumns + 1 {
		if i > 0 {
			wide.WriteString(",")
		}
		wide.WriteString(`"` + strings.Repeat("c", i%7) + strings.Repeat("d", i/7%7) + string(rune('a'+i%26)) + strings.Repeat("e", i/49) + `":1`)
	}
	wide.WriteString("}")
	if _, err := WriteCSV(io.Discard, strings.NewReader(wide.String()), false); err == nil || !strings.Contains(err.Error(), "columns of a sheet") {
		t.Errorf("%v", err)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

var errFull = errors.New("no room")

func TestAFullDiskIsNoFaultOfARow(t *testing.T) {
	in := strings.Repeat("{\"a\":\"x\"}\n", 100_000)
	_, err := WriteCSV(full{}, strings.NewReader(in), false)
	var row *RecordsError
	if !errors.Is(err, errFull) || errors.As(err, &row) {
		t.Errorf("%v", err)
	}
}

// FuzzConvert: whatever the rows are, what is written can be read again, with as many rows.
func FuzzConvert(f *testing.F) {
	f.Add([]byte("{\"a\":1}\n{\"b\":\"=x\"}\n"), uint8(3))
	f.Add([]byte("[1,{\"a\":[]}]\n\"\\u0000\"\n{}"), uint8(1))
	f.Add([]byte("{\"\":\"\"}\n\ufeff{\"\":\"\\r\"}"), uint8(20))
	f.Add([]byte("[\n,\n,,\n]\n"), uint8(0))
	f.Fuzz(func(t *testing.T, in []byte, size uint8) {
		array, rows := joined(in, int(size)+1, true), joined(in, int(size)+1, false)
		lines, elements, valid := linesOf(t, rows, false), linesOf(t, bytes.TrimPrefix(array[:len(array)-1], []byte("[")), true), true
		if len(lines) != len(elements) {
			t.Fatalf("%q, and of the array %q", lines, elements)
		}
		for i, line := range lines {
			if valid = valid && Valid([]byte(line)); elements[i] != line {
				t.Fatalf("%q, and of the array %q", line, elements[i])
			}
		}
		if !valid {
			return
		}
		var all []json.RawMessage
		if err := json.Unmarshal(array, &all); err != nil || len(all) != len(lines) {
			t.Fatalf("%d rows, %d of the array, %v: %q", len(lines), len(all), err, array)
		}
		isSheet(t, rows, len(lines))
	})
}

// A row is a line, also if it is an array. An answer that is an array, and has no lines, stands for its elements.
func TestALineThatIsAnArrayIsARow(t *testing.T) {
	for in, want := range map[string]string{
		"[1,2]\n{\"a\":1}\n":    "[1,2]\n{\"a\":1}\n",
		"{\"a\":1}\n[1,2]\n":    "{\"a\":1}\n[1,2]\n",
		"[1]\n\n[2]":            "[1]\n[2]\n",
		"\n[{\"a\":1},[2]]\n\n": "{\"a\":1}\n[2]\n",
		"[{\"a\":1}]":           "{\"a\":1}\n",
		"[]\n":                  "",
	} {
		for _, size := range []int{1, 3, 100} {
			if got := string(joined([]byte(in), size, false)); got != want {
				t.Errorf("%q by %d: %q, want %q", in, size, got, want)
			}
		}
	}
	j := Joiner{}
	out := j.Flush(j.Add(nil, []byte("[1,2]\n")))
	if out = j.End(j.Flush(j.Add(out, []byte("[3]\n4\n")))); string(out) != "1\n2\n[3]\n4\n" {
		t.Errorf("two parts: %q", out)
	}
}

// joined is what a Joiner makes of a text that comes in pieces.
func joined(in []byte, size int, array bool) (out []byte) {
	j := Joiner{Array: array}
	for piece := range slices.Chunk(in, size) {
		out = j.Add(out, piece)
	}
	return j.End(j.Flush(out))
}

func linesOf(t *testing.T, text []byte, array bool) (rows []string) {
	t.Helper()
	l := &Lines{Array: array, On: func(raw []byte) error {
		rows = append(rows, string(raw))
		return nil
	}}
	noerr.Must(t, noerr.From(l.Write(text)))
	noerr.Must(t, l.Close())
	return rows
}

// isSheet writes valid rows as CSV, and looks for what a sheet would take for formulas.
func isSheet(t *testing.T, text []byte, n int) {
	t.Helper()
	var sheet bytes.Buffer
	noerr.Must(t, noerr.From(WriteCSV(&sheet, bytes.NewReader(text), false)))
	rows, err := csv.NewReader(&sheet).ReadAll()
	if err != nil {
		t.Fatalf("%v: %q", err, text)
	}
	if len(rows) > 0 && len(rows) != n+1 {
		t.Fatalf("%d rows, %d of the sheet: %q", n, len(rows), text)
	}
	for _, row := range rows {
		for _, cell := range row {
			if cell != "" && strings.ContainsRune("=@\t\r\n", rune(cell[0])) {
				t.Fatalf("a formula: %q", cell)
			}
		}
	}
}

func TestRowsAsAnArrayAndByLines(t *testing.T) {
	for in, want := range map[string][2]string{
		"":        {"[]", ""},
		"\n\n":    {"[]", ""},
		"[]":      {"[]", ""},
		`{"a":1}`: {`[{"a":1}]`, "{\"a\":1}\n"},
		"\ufeff{\"a\":1}\r\n\n \ufeff [2,[3]]\n\"x\"": {"[{\"a\":1},\n[2,[3]],\n\"x\"]", "{\"a\":1}\n[2,[3]]\n\"x\"\n"},
		"{}\n\n{\"a\":\n": {"[{},\n{\"a\":]", "{}\n{\"a\":\n"},
	} {
		for _, size := range []int{1, 2, 1000} {
			if got := [2]string{string(joined([]byte(in), size, true)), string(joined([]byte(in), size, false))}; got != want {
				t.Errorf("%q by %d: %q", in, size, got)
			}
		}
	}
}

// A row that is too long to be held goes through, and is no row for who counts.
func TestARowThatIsTooLongGoesThrough(t *testing.T) {
	long := bytes.Repeat([]byte("x"), maxResultRow/2)
	in := slices.Concat([]byte("1\n"), long, long, long, []byte("\n2\n"))
	if got := joined(in, 1<<20, false); !bytes.Equal(got, in) {
		t.Errorf("%d bytes of %d", len(got), len(in))
	}
	if got := joined(in, 1<<20, true); len(got) != len(in)+3 || !bytes.HasSuffix(got, []byte("x,\n2]")) {
		t.Errorf("%d bytes of %d, %q", len(got), len(in), got[len(got)-8:])
	}
	var row *RecordsError
	_, err := (&Lines{On: func([]byte) error { return nil }}).Write(in[:len(in)-4])
	if !errors.As(err, &row) || row.Record != 2 || !errors.Is(err, errLongResultRow) {
		t.Errorf("%v", err)
	}
}

func TestTheFirstValueOfAFieldCounts(t *testing.T) {
	var sheet bytes.Buffer
	const in = `{"a":null,"a":1,"b":"x","b":"y","c":"","c":"z"}`
	if _, err := WriteCSV(&sheet, strings.NewReader(in), false); err != nil || sheet.String() != "a,b,c\n,x,\n" {
		t.Errorf("%q, %v", sheet.String(), err)
	}
}
