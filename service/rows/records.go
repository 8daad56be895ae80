package rows

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"zonedeck/model"
)

// The bounds on a preview of records: a result is remote and may be anything.
const (
	maxRecords     = 1000
	maxRecordBytes = 1 << 20 // one record
	maxColumns     = 200
	maxCell        = 4 << 10 // the rest of a cell is dropped
	maxColumnName  = 200
	maxTable       = 8 << 20 // all cells together; fewer rows than asked for come then
)

// Formats lists the formats of a download, the default first. They are
// a dialect's; the contract shows no format.
func Formats() []string { return []string{"json", "ndjson", "csv"} }

// RecordsError names the record of a result that cannot be read.
type RecordsError struct {
	Record int // from 1
	Err    error
}

func (e *RecordsError) Error() string { return fmt.Sprintf("record %d: %v", e.Record, e.Err) }

// Unwrap gives the cause.
func (e *RecordsError) Unwrap() error { return e.Err }

var errLongRecord = fmt.Errorf("it is larger than %d KiB", maxRecordBytes>>10)

// ReadRecords reads the first n records of a result in one of Formats; with any
// other format the content decides. However large the result is, it holds one
// record and n bounded rows in memory.
func ReadRecords(r io.Reader, format string, n int) (model.RecordTable, error) {
	n = min(max(n, 0), maxRecords)
	m := &meter{r: r, remaining: maxRecordBytes, over: errLongRecord}
	br := bufio.NewReaderSize(m, 32<<10)
	t := &recordTable{at: map[string]int{}, want: n}
	err := skipMark(br)
	if err == nil {
		switch recordFormat(format, br) {
		case "csv":
			plain, comma := plainLines(br)
			err = t.csv(plain, comma, m)
		case "ndjson":
			m.remaining = math.MaxInt64 // a line has its own bound
			err = throughLines(br, &Lines{MaxBytes: maxRecordBytes, On: t.line})
		default:
			err = t.json(br, m)
		}
	}
	var row *RecordsError
	switch {
	case t.truncated:
		err = nil // what was asked for is there
	case err != nil && !errors.As(err, &row):
		err = &RecordsError{Record: len(t.rows) + 1, Err: jsonFault(err)}
	}
	return t.table(err == nil && !t.truncated), err
}

func recordFormat(format string, br *bufio.Reader) string {
	switch format = strings.ToLower(format); format {
	case "json", "ndjson", "csv":
		return format
	case "jsonl":
		return "ndjson"
	}
	head, _ := br.Peek(512) // fewer bytes at the end of the result
	if text := strings.TrimLeft(string(head), " \t\r\n"); strings.HasPrefix(text, "[") || strings.HasPrefix(text, "{") {
		return "json"
	}
	return "csv"
}

// recordTable gathers rows while the columns are still being found.
type recordTable struct {
	columns   []model.RecordColumn
	at        map[string]int
	rows      [][]string
	want      int
	size      int  // bytes of all cells
	truncated bool // there are records beyond those that were asked for
}

// table gives every row a cell for every column.
func (t *recordTable) table(whole bool) model.RecordTable {
	for i, row := range t.rows {
		for len(row) < len(t.columns) {
			row = append(row, "")
		}
		t.rows[i] = row
	}
	out := model.RecordTable{Columns: t.columns, Rows: t.rows, Total: -1}
	if whole {
		out.Total = len(t.rows)
	}
	return out
}

// full reports whether the next record is more than was asked for.
func (t *recordTable) full() bool {
	t.truncated = len(t.rows) >= t.want || t.size >= maxTable
	return t.truncated
}

// errEnough ends the reading when no more is asked for.
var errEnough = errors.New("there are enough records")

// line reads one record of NDJSON.
func (t *recordTable) line(raw []byte) error {
	switch {
	case t.full():
		return errEnough
	case !Valid(raw):
		return ErrNoRow
	}
	t.record(raw)
	return nil
}

// json reads an array of records, or records one after the other.
func (t *recordTable) json(br *bufio.Reader, m *meter) error {
	dec := json.NewDecoder(br)
	dec.UseNumber()
	if array, err := beginsArray(br); err != nil || !array {
		if err != nil {
			return err
		}
		for {
			m.remaining = maxRecordBytes
			var raw json.RawMessage
			err := dec.Decode(&raw)
			switch {
			case errors.Is(err, io.EOF):
				return nil
			case err != nil:
				return err
			case t.full():
				return nil
			}
			t.record(raw)
		}
	}
	_, _ = dec.Token() // the bracket that was seen
	for dec.More() {
		if t.full() {
			return nil
		}
		m.remaining = maxRecordBytes
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return err
		}
		t.record(raw)
	}
	_, err := dec.Token()
	return err
}

// beginsArray looks at the first byte after white space.
func beginsArray(br *bufio.Reader) (bool, error) {
	for {
		b, err := br.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return false, nil
		case err != nil:
			return false, err
		case b == ' ' || b == '\t' || b == '\r' || b == '\n':
			continue
		}
		return b == '[', br.UnreadByte()
	}
}

// record takes one JSON record, which is valid, its fields in their order.
func (t *recordTable) record(raw json.RawMessage) {
	row := make([]string, len(t.columns))
	seen := map[string]bool{}
	fields(raw, func(name string, v gjson.Result) bool {
		if !seen[name] { // a repeated field counts once
			seen[name] = true
			kind, text := jsonCell(json.RawMessage(v.Raw))
			row = t.put(row, name, kind, text)
		}
		return true
	})
	t.rows = append(t.rows, row)
}

// jsonCell is a value's type and text. Empty texts, objects and lists are not
// filled: their text is "".
func jsonCell(value json.RawMessage) (kind, text string) {
	switch {
	case len(value) == 0 || value[0] == 'n':
		return "null", ""
	case value[0] == '"':
		var s string
		_ = json.Unmarshal(value, &s) // the decoder has accepted it
		return "text", s
	case value[0] == '{':
		return "object", nested(value)
	case value[0] == '[':
		return "list", nested(value)
	case value[0] == 't' || value[0] == 'f':
		return "bool", string(value)
	default:
		return "number", string(value)
	}
}

// nested is an object or a list in one line, "" for an empty one.
func nested(value json.RawMessage) string {
	var b bytes.Buffer
	_ = json.Compact(&b, value) // the decoder that gave the value has checked it
	if b.Len() == 2 {
		return ""
	}
	return b.String()
}

// put puts a cell into its column and makes the column when it is new.
func (t *recordTable) put(row []string, name, kind, text string) []string {
	name = cut(name, maxColumnName)
	i, ok := t.at[name]
	if !ok {
		if len(t.columns) >= maxColumns {
			return row
		}
		i = len(t.columns)
		t.at[name] = i
		t.columns = append(t.columns, model.RecordColumn{Name: name, Type: "null"})
	}
	for len(row) <= i {
		row = append(row, "")
	}
	column := &t.columns[i]
	switch {
	case kind == "null" || column.Type == kind:
	case column.Type == "null":
		column.Type = kind
	default:
		column.Type = "mixed"
	}
	t.size -= len(row[i])
	row[i] = cut(text, maxCell)
	if t.size += len(row[i]); text != "" {
		column.Filled++
	}
	return row
}

// cut is a text of at most size bytes of valid UTF-8, and an ellipsis.
func cut(s string, size int) string { return strings.ToValidUTF8(model.Cut(s, size), "�") }

// csv reads records below a header.
func (t *recordTable) csv(br *bufio.Reader, comma rune, m *meter) error {
	r := csv.NewReader(br)
	r.Comma = cmp.Or(comma, ',')
	r.FieldsPerRecord = -1
	r.LazyQuotes = true
	header, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(header) > maxColumns {
		header = header[:maxColumns]
	}
	for i, name := range header {
		if _, twice := t.at[cut(name, maxColumnName)]; twice {
			header[i] = cut(name, maxColumnName-8) + " " + strconv.Itoa(i+1) // as long as a name may be
		}
		t.put(nil, header[i], "null", "")
	}
	for {
		m.remaining = maxRecordBytes
		cells, err := r.Read()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case t.full():
			return nil
		}
		row := make([]string, len(t.columns))
		for i, cell := range cells[:min(len(cells), len(header))] {
			row = t.put(row, header[i], csvKind(cell), cell)
		}
		t.rows = append(t.rows, row)
	}
}

// csvKind is what a cell looks like; in CSV everything is a text.
func csvKind(cell string) string {
	if cell == "" {
		return "null"
	}
	if cell == "true" || cell == "false" {
		return "bool"
	}
	if strings.IndexByte("+-.0123456789", cell[0]) >= 0 {
		if _, err := strconv.ParseFloat(cell, 64); err == nil {
			return "number"
		}
	}
	return "text"
}
