package rows

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestRowsAsAnArray(t *testing.T) {
	for in, want := range map[string]string{
		"":                                    "[]",
		"\n\n":                                "[]",
		`{"a":1}`:                             `[{"a":1}]`,
		"\ufeff{\"a\":1}\r\n\n[2,[3]]\n\"x\"": "[{\"a\":1},\n2,\n[3],\n\"x\"]",
	} {
		var out bytes.Buffer
		if err := WriteJSON(&out, iotest.OneByteReader(strings.NewReader(in)), false); err != nil || out.String() != want {
			t.Errorf("%q: %q, %v", in, out.String(), err)
		}
	}
	var row *RecordsError
	if err := WriteJSON(io.Discard, strings.NewReader("{}\n\n{\"a\":\n"), false); !errors.As(err, &row) || row.Record != 2 {
		t.Errorf("%v", err)
	}
}

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
		n, err := WriteCSV(&out, strings.NewReader(in), raw, false)
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
	if _, err := WriteCSV(io.Discard, strings.NewReader(wide.String()), false, false); err == nil || !strings.Contains(err.Error(), "columns of a sheet") {
		t.Errorf("%v", err)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

var errFull = errors.New("no room")

func TestAFullDiskIsNoFaultOfARow(t *testing.T) {
	in := strings.Repeat("{\"a\":\"x\"}\n", 100_000)
	_, err := WriteCSV(full{}, strings.NewReader(in), false, false)
	for _, err := range []error{err, WriteJSON(full{}, strings.NewReader(in), false)} {
		var row *RecordsError
		if !errors.Is(err, errFull) || errors.As(err, &row) {
			t.Errorf("%v", err)
		}
	}
}

// FuzzConvert: whatever the rows are, what is written can be read again, with as many rows.
func FuzzConvert(f *testing.F) {
	f.Add([]byte("{\"a\":1}\n{\"b\":\"=x\"}\n"))
	f.Add([]byte("[1,{\"a\":[]}]\n\"\\u0000\"\n{}"))
	f.Add([]byte("{\"\":\"\"}\n{\"\":\"\\r\"}"))
	f.Fuzz(func(t *testing.T, in []byte) {
		n := 0
		l := &Lines{On: func([]byte) error { n++; return nil }}
		_, err := l.Write(in)
		if err == nil {
			err = l.Close()
		}
		var array, sheet bytes.Buffer
		if werr := WriteJSON(&array, bytes.NewReader(in), false); (werr == nil) != (err == nil) {
			t.Fatalf("%v, and %v", err, werr)
		}
		_, serr := WriteCSV(&sheet, bytes.NewReader(in), false, false)
		if err != nil {
			if serr == nil {
				t.Fatalf("%v, and the sheet is one", err)
			}
			return
		}
		var known, knownSheet bytes.Buffer // that it is valid
		jerr := WriteJSON(&known, bytes.NewReader(in), true)
		if _, kerr := WriteCSV(&knownSheet, bytes.NewReader(in), false, true); jerr != nil || kerr != nil || known.String() != array.String() || knownSheet.String() != sheet.String() {
			t.Fatalf("%q and %q, %v, %v: %q", known.String(), knownSheet.String(), jerr, kerr, in)
		}
		var all []json.RawMessage
		if err := json.Unmarshal(array.Bytes(), &all); err != nil || len(all) != n {
			t.Fatalf("%d rows, %d of the array, %v: %q", n, len(all), err, array.Bytes())
		}
		if serr != nil {
			t.Fatal(serr)
		}
		r := csv.NewReader(&sheet)
		rows, err := r.ReadAll()
		if err != nil {
			t.Fatalf("%v: %q", err, in)
		}
		if len(rows) > 0 && len(rows) != n+1 {
			t.Fatalf("%d rows, %d of the sheet: %q", n, len(rows), in)
		}
		for _, row := range rows {
			for _, cell := range row {
				if cell != "" && strings.ContainsRune("=@\t\r\n", rune(cell[0])) {
					t.Fatalf("a formula: %q", cell)
				}
			}
		}
	})
}

func TestTheFirstValueOfAFieldCounts(t *testing.T) {
	var sheet bytes.Buffer
	const in = `{"a":null,"a":1,"a":2,"b":"","b":"x","a":null}`
	if _, err := WriteCSV(&sheet, strings.NewReader(in), false, false); err != nil || sheet.String() != "a,b\n1,x\n" {
		t.Errorf("%q, %v", sheet.String(), err)
	}
}
