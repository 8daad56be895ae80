package rows

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/tidwall/gjson"
)

// maxResultRow bounds one row of a result. A row may hold a whole page.
const maxResultRow = 64 << 20

var errLongResultRow = fmt.Errorf("it is larger than %d MiB", maxResultRow>>20)

// Row is one row of a result.
type Row struct {
	// Input is what the row says it was collected for: a JSON object, or nil. For a row that a
	// discovery found it is the input of the discovery.
	Input json.RawMessage
	// Data says that the row reports no error and has a field whose value is not just repeated
	// from its input.
	Data bool
	// Error says that the row reports an error, whatever else it has. Code and Text are the service's
	// words; each may be empty.
	Error      bool
	Code, Text string
	// Flat says that every value is a text, because the format has no other types.
	Flat bool
	// fields are the row's own fields, for a row without an input; valid within the call that
	// the row is given to.
	fields func() map[string]string
	// each gives the row's own fields in their order; see Each.
	each func(on func(name string, value gjson.Result) bool)
}

// Each calls on for the fields of the row in their order until it returns false, without the row's
// input and what it says about an error. It is valid within the call that the row is passed to.
func (r Row) Each(on func(name string, value gjson.Result) bool) {
	if r.each == nil {
		return
	}
	r.each(func(name string, value gjson.Result) bool {
		switch name {
		case "input", "discovery_input", "error", "error_code", "timestamp", "warning", "warning_code":
			return true
		}
		return on(name, value)
	})
}

// EachRow calls on for every row of a result in one of Formats; with any other format the content
// decides. It holds one row in memory. An error of on ends it. A *RecordsError names a row that
// cannot be read.
func EachRow(r io.Reader, format string, on func(Row) error) error {
	m := &meter{r: r, remaining: maxResultRow, over: errLongResultRow}
	br := bufio.NewReaderSize(m, 64<<10)
	n := 0
	each := func(row Row) error {
		n++
		m.remaining = max(m.remaining, maxResultRow)
		return on(row)
	}
	err := skipMark(br)
	if err == nil {
		switch recordFormat(format, br) {
		case "csv":
			err = eachCSV(br, each)
		case "ndjson":
			m.remaining = math.MaxInt64 // a line has its own bound
			err = throughLines(br, &Lines{On: func(raw []byte) error {
				if !Valid(raw) {
					return ErrNoRow
				}
				return each(rowOf(raw))
			}})
		default:
			err = eachJSON(br, each)
		}
	}
	var row *RecordsError
	if err != nil && !errors.As(err, &row) {
		err = &RecordsError{Record: n + 1, Err: jsonFault(err)}
	}
	return err
}

// eachJSON reads an array of rows, or rows one after the other.
func eachJSON(br *bufio.Reader, on func(Row) error) error {
	array, err := beginsArray(br)
	if err != nil {
		return err
	}
	dec := json.NewDecoder(br)
	if array {
		_, _ = dec.Token() // the bracket that was seen
	}
	var raw json.RawMessage
	for !array || dec.More() {
		switch err := dec.Decode(&raw); {
		case errors.Is(err, io.EOF) && !array:
			return nil
		case err != nil:
			return err
		}
		if err := on(rowOf(raw)); err != nil {
			return err
		}
	}
	_, err = dec.Token()
	return err
}

// eachCSV reads rows below a header.
func eachCSV(br *bufio.Reader, on func(Row) error) error {
	r := csv.NewReader(br)
	r.FieldsPerRecord, r.LazyQuotes, r.ReuseRecord = -1, true, true
	cells, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return err
	}
	header := append([]string(nil), cells...)
	for {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		s := rowSum{out: Row{
			Flat:   true,
			fields: func() map[string]string { return cellsOf(header, cells) },
			each:   func(on func(string, gjson.Result) bool) { eachCell(header, cells, on) },
		}}
		for i, cell := range cells[:min(len(cells), len(header))] {
			value := gjson.Result{Type: gjson.String, Str: cell, Raw: cell}
			if (header[i] == "input" || header[i] == "discovery_input") && Valid([]byte(cell)) {
				value = gjson.Parse(cell)
			}
			s.field(header[i], value)
		}
		if err := on(s.row()); err != nil {
			return err
		}
	}
}

// cellsOf are the cells of a row that say anything, by their columns.
func cellsOf(header, cells []string) map[string]string {
	fields := map[string]string{}
	for i, cell := range cells[:min(len(cells), len(header))] {
		if cell != "" {
			fields[header[i]] = cell
		}
	}
	return fields
}

// CountRow is a row of a job that asked for something, for callers that only need Data, Error, Code and Text. It is false
// for a row that is not JSON.
func CountRow(raw []byte, asked Asked) (Row, bool) {
	switch useful, valid := usefulness(raw, asked.longest); {
	case !valid:
		return Row{}, false
	case useful:
		return Row{Data: true}, true
	default:
		return asked.Judge(rowOf(raw)), true
	}
}

// eachCell gives the cells of a row by their columns.
func eachCell(header, cells []string, on func(string, gjson.Result) bool) {
	for i, cell := range cells[:min(len(cells), len(header))] {
		if !on(header[i], gjson.Result{Type: gjson.String, Str: cell, Raw: cell}) {
			return
		}
	}
}

// rowOf reads one JSON row.
func rowOf(raw []byte) Row {
	whole := gjson.ParseBytes(raw)
	if !whole.IsObject() {
		return Row{Data: filled(whole)}
	}
	var s rowSum
	s.out.fields = func() map[string]string { return textsOf(raw) }
	s.out.each = func(on func(string, gjson.Result) bool) {
		whole.ForEach(func(name, value gjson.Result) bool { return on(name.Str, value) })
	}
	whole.ForEach(func(name, value gjson.Result) bool {
		s.field(name.Str, value)
		return true
	})
	return s.row()
}

// rowSum gathers the fields of a row.
type rowSum struct {
	out              Row
	input, discovery gjson.Result
	fields           []rowField // that may be data
}

type rowField struct {
	name  string
	value gjson.Result
}

func (s *rowSum) field(name string, value gjson.Result) {
	switch name {
	case "input":
		s.input = value
	case "discovery_input":
		s.discovery = value
	case "error":
		if tellsError(value) {
			s.out.Error, s.out.Text = true, cut(value.String(), maxProblemText)
		}
	case "error_code":
		if tellsError(value) {
			s.out.Error, s.out.Code = true, cut(value.String(), maxErrorCode)
		}
	case "timestamp", "warning", "warning_code":
	default:
		if filled(value) {
			s.fields = append(s.fields, rowField{name, value})
		}
	}
}

// The bounds on what is kept of an error row, in bytes.
const (
	maxProblemText = 300
	maxErrorCode   = 80
)

// row decides what the fields come to.
func (s *rowSum) row() Row {
	for _, in := range []gjson.Result{s.discovery, s.input} {
		if in.IsObject() && len(s.out.Input) == 0 {
			s.out.Input = json.RawMessage(in.Raw)
		}
	}
	if s.out.Error {
		return s.out
	}
	for _, f := range s.fields {
		if !repeats(s.input, f) && !repeats(s.discovery, f) {
			s.out.Data = true
			break
		}
	}
	return s.out
}

// repeats reports whether a field is what the input says, too.
func repeats(input gjson.Result, f rowField) bool {
	same := false
	if input.IsObject() {
		input.ForEach(func(name, value gjson.Result) bool {
			same = name.Str == f.name && value.String() == f.value.String()
			return !same
		})
	}
	return same
}

// TellsError reports whether a field of a row, as JSON or the text of a cell, says that the row is an error and not a
// record.
func TellsError(name string, raw []byte, cell bool) bool {
	switch {
	case name != "error" && name != "error_code":
		return false
	case cell:
		return tellsError(gjson.Result{Type: gjson.String, Str: string(raw)})
	default:
		return tellsError(gjson.ParseBytes(raw))
	}
}

// tellsError reports whether the value of an error field says that there is an error. In a CSV every
// value is text.
func tellsError(v gjson.Result) bool {
	if !filled(v) || v.Type == gjson.False {
		return false
	}
	switch strings.ToLower(v.String()) {
	case "false", "null", "none", "0":
		return false
	default:
		return true
	}
}

// filled reports whether a value says anything.
func filled(v gjson.Result) bool {
	switch {
	case v.Type == gjson.Null:
		return false
	case v.Type == gjson.String:
		return v.Str != ""
	case v.IsArray() || v.IsObject():
		some := false
		v.ForEach(func(_, _ gjson.Result) bool {
			some = true
			return false
		})
		return some
	default:
		return true
	}
}
