package rows

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
	"golang.org/x/net/http/httpguts"

	"zonedeck/model"
)

// The bounds on a job's inputs. The contract shows no limit on a payload
// (service.md 8); public documentation speaks of 1 GB for one job, and these are
// the console's, far above any file that a person writes.
const (
	maxInputBytes = 64 << 20 // of the source
	maxInputRow   = 64 << 10 // one row
	maxExtras     = 64       // further fields of one row
	maxProblems   = 200      // that are reported one by one
	maxNotes      = 5        // the same for rows that are used all the same
)

// notText is what is wrong with a row in another encoding.
const notText = "it holds bytes that are not UTF-8; save the file as UTF-8"

// The kinds of source that ReadInputs knows.
const (
	InputLines  = "lines"  // one URL a line; empty lines and lines that begin with # are skipped
	InputCSV    = "csv"    // with a header that has a url column
	InputJSON   = "json"   // an array of objects with a url, or of URLs, or {"input": [...]}, or one object
	InputNDJSON = "ndjson" // one of these objects a line
)

// InputKinds are the kinds of source.
func InputKinds() []string { return []string{InputLines, InputCSV, InputJSON, InputNDJSON} }

// Problem is what is wrong with one row. Unless it is a warning, the row is not
// among the inputs.
type Problem struct {
	// Row is the number of the row or record in the source, from 1, counting the header; 0 if More is set.
	// Line is the line where it begins, if cells of several lines before it make that a different number; else 0.
	Row, Line int
	// Column is the column or field that is wrong, "" for the row as a whole; Field is the
	// input's field that it fills.
	Column, Field string
	// Further is how many further rows the last problems stand for. These are not reported one by
	// one.
	Further int
	// Text says what is wrong and what was expected. It may quote the source.
	Text string
	// Warning says that the row is used nevertheless.
	Warning bool
}

// Location says which row and which column the problem is about, "" for none.
func (p Problem) Location() string {
	if p.Row == 0 {
		return ""
	}
	out := fmt.Sprintf("row %d", p.Row)
	if p.Line > 0 {
		out += fmt.Sprintf(" (line %d)", p.Line)
	}
	if p.Column != "" {
		out += ", " + model.Line(p.Column, 60)
	}
	return out
}

// Rows is how many rows the problem is about, at least 1.
func (p Problem) Rows() int { return max(p.Further, 1) }

// Read reads a job's inputs row by row. kind is one of the Input kinds or
// a file name's extension (txt, csv, json, ndjson, jsonl); with anything else
// the content decides. A byte order mark and any line ends are fine.
//
// Bad rows are reported, left out and kept in Rejected. A row that repeats another is left out
// with a warning, because both would be billed. An error means that from some point on the source
// cannot be read as its kind: the inputs are then those before that point, and nothing should be
// sent.
func Read(r io.Reader, kind string, shape Shape) (Inputs, error) {
	src := &meter{r: r, remaining: maxInputBytes, over: fmt.Errorf("more than %d MiB; split it", maxInputBytes>>20)}
	in := &inputReader{shape: shape, firstRow: map[[sha256.Size]byte]int{}, unknown: map[string]int{}}
	begun, err := in.read(src, kind)
	if !begun {
		return Inputs{}, err
	}
	in.addFurther(in.out.Bad-maxProblems, false, "more rows cannot be used", "1 more row cannot be used")
	in.addFurther(in.out.Folded-maxNotes, true, "more rows repeat another one; each is sent once", "1 more row repeats another one; it is sent once")
	in.sayBlank()
	in.sayMarked()
	for _, name := range slices.Sorted(maps.Keys(in.unknown)) {
		in.out.Problems = append(in.out.Problems, Problem{Text: fmt.Sprintf("field %s, in %d rows, is not shown for this data set; it is sent", Quote(name), in.unknown[name]), Warning: true})
		if len(in.out.Problems) > maxProblems+2*maxNotes {
			break
		}
	}
	return in.out, err
}

// read reads the rows of a source. begun is false where it is not text.
func (in *inputReader) read(src io.Reader, kind string) (begun bool, err error) {
	br := bufio.NewReaderSize(src, 64<<10)
	if err := skipMark(br); err != nil {
		return false, err
	}
	if head, _ := br.Peek(4 << 10); bytes.IndexByte(head, 0) >= 0 {
		return false, errors.New("it is not text: it holds zero bytes")
	}
	if br, in.comma = plainLines(br); in.comma != 0 && inputKind(kind, br, in.shape) == InputLines {
		kind = InputCSV
	}
	switch k := inputKind(kind, br, in.shape); k {
	case InputCSV:
		in.out.RejectedKind = "csv"
		return true, in.csv(br)
	case InputJSON:
		in.out.RejectedKind = "ndjson"
		return true, in.json(br)
	case InputNDJSON:
		in.out.RejectedKind = "ndjson"
		return true, in.ndjson(br)
	default:
		in.out.RejectedKind = "txt"
		return true, in.lines(br)
	}
}

// meter reads at most left bytes, and fails with over after them. A caller that
// bounds single records renews the allowance for each.
type meter struct {
	r         io.Reader
	remaining int64
	over      error
}

func (m *meter) Read(p []byte) (int, error) {
	if m.remaining <= 0 {
		return 0, m.over
	}
	n, err := m.r.Read(p[:min(int64(len(p)), m.remaining)])
	m.remaining -= int64(n)
	return n, err
}

// skipMark drops a UTF-8 byte order mark and refuses UTF-16 and what is compressed.
func skipMark(br *bufio.Reader) error {
	head, err := br.Peek(3)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch {
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		_, err = br.Discard(3)
		return err
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		return errors.New("it is UTF-16; save it as UTF-8")
	}
	head, _ = br.Peek(br.Buffered())
	if what := model.Packed(head); what != "" {
		return fmt.Errorf("it is %s: unpack it first", what)
	}
	return nil
}

// inputKind is the kind by name, or by what the first bytes look like.
func inputKind(kind string, br *bufio.Reader, shape Shape) string {
	switch kind = strings.ToLower(kind); kind {
	case InputLines, InputCSV, InputJSON, InputNDJSON:
		return kind
	case "jsonl":
		return InputNDJSON
	}
	head, _ := br.Peek(4 << 10) // fewer bytes at the end of the source
	text := strings.TrimLeft(string(head), " \t\r\n")
	switch {
	case strings.HasPrefix(text, "["):
		return InputJSON
	case strings.HasPrefix(text, "{"):
		if wrapped(text) {
			return InputJSON
		}
		return InputNDJSON
	}
	first, _, _ := strings.Cut(text, "\n")
	if len(shape.Map) > 0 || slices.ContainsFunc(splitHeader(strings.TrimRight(first, "\r")), shape.isColumn) {
		return InputCSV
	}
	return InputLines
}

// wrapped reports whether the text begins like {"input": [.
func wrapped(text string) bool {
	rest := strings.TrimLeft(text[1:], " \t\r\n")
	rest, ok := strings.CutPrefix(rest, `"input"`)
	if !ok {
		return false
	}
	rest, ok = strings.CutPrefix(strings.TrimLeft(rest, " \t\r\n"), ":")
	return ok && strings.HasPrefix(strings.TrimLeft(rest, " \t\r\n"), "[")
}

// inputReader gathers rows.
type inputReader struct {
	shape    Shape
	out      Inputs
	firstRow map[[sha256.Size]byte]int // the digest of a row's content to its number
	unknown  map[string]int            // fields that are not shown, to the rows that have them
	blank    []int                     // the first rows of a table that have no value
	line     int                       // as in Problem, of the row that is read
	comma    rune                      // what separates the cells, where a line says so
	marks    string                    // that were taken off the ends of values, and in how many rows
	marked   int
	taker    Taker // of a Stream, of whose rows nothing is kept; nil for a job's inputs
}

// reject reports a row that is left out, and keeps it. raw is its text.
func (in *inputReader) reject(row int, raw []byte, column, format string, args ...any) {
	if in.taker != nil {
		in.taker.Reject(Problem{Row: row, Line: in.line, Column: column, Text: fmt.Sprintf(format, args...)})
		return
	}
	if in.out.Bad++; in.out.Bad <= maxProblems {
		in.out.Problems = append(in.out.Problems, Problem{Row: row, Line: in.line, Column: column, Text: fmt.Sprintf(format, args...)})
	}
	in.out.Rejected = append(append(in.out.Rejected, bytes.TrimRight(raw, "\r\n")...), '\n')
}

// repeated notes that a row is the same as an earlier one.
func (in *inputReader) repeated(row, first int) {
	if in.out.Folded++; in.out.Folded <= maxNotes {
		in.out.Problems = append(in.out.Problems, Problem{Row: row, Line: in.line, Text: fmt.Sprintf("the same as row %d; it is sent once", first), Warning: true})
	}
}

// addFurther adds a problem that stands for n further rows, if n is positive.
func (in *inputReader) addFurther(n int, warning bool, many, one string) {
	if n <= 0 {
		return
	}
	text := fmt.Sprintf("%d %s", n, many)
	if n == 1 {
		text = one
	}
	in.out.Problems = append(in.out.Problems, Problem{Further: n, Text: text, Warning: warning})
}

// errTooManyInputs ends the reading.
var errTooManyInputs = fmt.Errorf("more than %d rows; split it into several jobs", model.MaxInputs)

// add checks a row and takes it. raw is its text, values are its fields as JSON, and column
// names the column of a field for an error.
func (in *inputReader) add(row int, raw []byte, values map[string]json.RawMessage, column func(field string) string) error {
	in.trimEnds(values)
	if in.taker != nil {
		return in.taker.Take(Record{Number: row, Line: in.line, Values: values})
	}
	input, notes, wrong := in.shape.check(values)
	if wrong != nil {
		at := ""
		if wrong.field != "" {
			at = column(wrong.field)
		}
		in.reject(row, raw, at, "%s", wrong.text)
		if last := len(in.out.Problems) - 1; in.out.Bad <= maxProblems {
			in.out.Problems[last].Field = wrong.field
		}
		return nil
	}
	input.Row = row
	digest := sha256.Sum256(appendInput(nil, input))
	if first, ok := in.firstRow[digest]; ok {
		in.repeated(row, first)
		return nil
	}
	if len(in.out.Rows) >= model.MaxInputs {
		return errTooManyInputs
	}
	in.firstRow[digest] = row
	for _, name := range notes {
		in.unknown[name]++
	}
	in.out.Rows = append(in.out.Rows, input)
	return nil
}

// trimEnds takes marks off the ends of a row's texts.
func (in *inputReader) trimEnds(values map[string]json.RawMessage) {
	found := false
	for _, name := range slices.Sorted(maps.Keys(values)) {
		var text string
		if raw := values[name]; len(raw) < 3 || raw[0] != '"' || !bytes.ContainsFunc(raw, func(r rune) bool { return r > 0x7f || r == '\\' }) || json.Unmarshal(raw, &text) != nil {
			continue
		}
		trimmed, marks := model.TrimMarks(text)
		if marks == "" {
			continue
		}
		values[name] = jsonText(trimmed)
		for mark := range strings.SplitSeq(marks, ", ") {
			if !strings.Contains(in.marks, mark) {
				in.marks = strings.TrimPrefix(in.marks+", "+mark, ", ")
			}
		}
		found = true
	}
	if found {
		in.marked++
	}
}

// sayMarked names the marks that were taken off.
func (in *inputReader) sayMarked() {
	if in.marked > 0 {
		in.out.Problems = append(in.out.Problems, Problem{Text: fmt.Sprintf("rows with %s at the ends of values, which was taken off: %d", in.marks, in.marked), Warning: true})
	}
}

// singleValue takes a row that is a single value.
func (in *inputReader) singleValue(row int, raw []byte, text string) error {
	f, err := in.shape.only()
	if err != nil {
		in.reject(row, raw, "", "%s: %v", Quote(text), err)
		return nil
	}
	return in.add(row, raw, map[string]json.RawMessage{f.Name: jsonText(text)}, func(string) string { return "" })
}

// checkURL reports why a row's address cannot be fetched. A login in it is
// refused, because it would be kept with the job.
func checkURL(address string) error {
	u, err := model.ParseTarget(address)
	if err != nil {
		return err
	}
	if _, err := httpguts.PunycodeHostPort(u.Host); err != nil {
		return fmt.Errorf("its host: %w", err)
	}
	return nil
}

// Quote quotes the beginning of a text.
func Quote(s string) string { return strconv.Quote(model.Cut(s, 60)) }

// lines reads one value a line.
func (in *inputReader) lines(br *bufio.Reader) error {
	only, _ := in.shape.only() // without one, each row says so
	return eachLine(br, func(row int, line []byte, err error) error {
		text := strings.Trim(string(line), " \t")
		bare, _ := model.TrimMarks(text)
		switch {
		case bare == "" || strings.HasPrefix(bare, "#"):
		case err != nil:
			in.reject(row, line, "", "%v", err)
		case only.Type == typeURL && len(strings.Fields(bare)) > 1:
			in.reject(row, line, "", "%s: expected one address on the line", Quote(text))
		case !utf8.ValidString(text):
			in.reject(row, line, "", "%s: %s", Quote(text), notText)
		default:
			return in.singleValue(row, line, text)
		}
		return nil
	})
}

// ndjson reads one object a line.
func (in *inputReader) ndjson(br *bufio.Reader) error {
	return eachLine(br, func(row int, line []byte, err error) error {
		text := bytes.TrimSpace(line)
		switch {
		case len(text) == 0:
			return nil
		case err != nil:
			in.reject(row, line, "", "%v", err)
			return nil
		default:
			return in.value(row, text)
		}
	})
}

// json reads an array of rows, an object whose "input" is one, or one row.
func (in *inputReader) json(br *bufio.Reader) error {
	m := &meter{r: br, remaining: maxInputRow, over: errLongInput}
	dec := json.NewDecoder(m)
	if isObject(br) {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return jsonFault(err)
		}
		m.remaining = maxInputRow
		if _, err := dec.Token(); !errors.Is(err, io.EOF) {
			return errors.New("more follows the object; put all inputs into one array")
		}
		return in.value(1, raw)
	}
	wrapped, err := openArray(dec)
	if err != nil {
		return err
	}
	for row := 1; dec.More(); row++ {
		// The decoder reads ahead: the allowance covers what it has not read yet.
		m.remaining = maxInputRow
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return fmt.Errorf("record %d: %w", row, jsonFault(err))
		}
		if err := in.value(row, raw); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil {
		return fmt.Errorf("the end of the array: %w", jsonFault(err))
	}
	if wrapped { // what else the object holds is not an input
		return nil
	}
	m.remaining = maxInputRow
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more follows the array; put all inputs into one array")
	}
	return nil
}

// isObject reports whether the text begins as an object without "input" at its beginning.
func isObject(br *bufio.Reader) bool {
	head, _ := br.Peek(4 << 10) // fewer bytes at the end of the source
	rest, ok := strings.CutPrefix(strings.TrimLeft(string(head), " \t\r\n"), "{")
	return ok && !strings.HasPrefix(strings.TrimLeft(rest, " \t\r\n"), `"input"`)
}

// openArray reads up to the first element. wrapped says that the array is in an object.
func openArray(dec *json.Decoder) (wrapped bool, err error) {
	const expected = `expected an array of objects with a "url", like [{"url": "https://example.com/page"}]`
	tok, err := dec.Token()
	if err != nil {
		return false, fmt.Errorf("%w; %s", jsonFault(err), expected)
	}
	if wrapped = tok == json.Delim('{'); wrapped {
		if name, err := dec.Token(); err != nil || name != "input" {
			return false, errors.New(expected)
		}
		if tok, err = dec.Token(); err != nil {
			return false, fmt.Errorf("%w; %s", jsonFault(err), expected)
		}
	}
	if tok != json.Delim('[') {
		return false, errors.New(expected)
	}
	return wrapped, nil
}

// jsonFault says in plain words that the text ended early. A reader's error that
// wraps such an end says more, and stays.
func jsonFault(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF { //nolint:errorlint // see above
		return errors.New("it ends early")
	}
	return err
}

// value takes one JSON row: an object, or the one value that a row needs.
func (in *inputReader) value(row int, raw []byte) error {
	if !utf8.Valid(raw) { // encoding/json would send other characters in their place
		in.reject(row, oneLine(raw), "", notText)
		return nil
	}
	var text string
	if string(raw) != "null" && json.Unmarshal(raw, &text) == nil {
		return in.singleValue(row, raw, text)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil {
		why := ""
		if !errors.As(err, new(*json.UnmarshalTypeError)) {
			why = fmt.Sprintf(" (%v)", jsonFault(err))
		}
		in.reject(row, oneLine(raw), "", "%s is not a JSON object%s", Quote(string(raw)), why)
		return nil
	}
	if name := repeatedField(raw); name != "" {
		in.reject(row, oneLine(raw), "field "+name, "it is there twice")
		return nil
	}
	values := make(map[string]json.RawMessage, len(object))
	for name, raw := range object {
		values[name] = oneLine(raw) // the object was read, so its fields are JSON
	}
	return in.add(row, oneLine(raw), values, func(field string) string { return "field " + field })
}

// repeatedField is a field that a JSON object has twice, of which a reader takes one without a word; "" for none.
func repeatedField(object []byte) (twice string) {
	seen := map[string]bool{}
	fields(object, func(name string, _ gjson.Result) bool {
		if seen[name] {
			twice = name
		}
		seen[name] = true
		return twice == ""
	})
	return twice
}

// oneLine is a JSON text without what is between its parts, or the text without its line ends.
func oneLine(raw []byte) []byte {
	var compact bytes.Buffer
	if json.Compact(&compact, raw) == nil {
		return compact.Bytes()
	}
	return bytes.ReplaceAll(raw, []byte("\n"), []byte(" "))
}
