package rows

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

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

// The kinds of source that ReadInputs knows.
const (
	InputLines  = "lines"  // one URL a line; empty lines and lines that begin with # are skipped
	InputCSV    = "csv"    // with a header that has a url column
	InputJSON   = "json"   // an array of objects with a url, or of URLs, or {"input": [...]}
	InputNDJSON = "ndjson" // one of these objects a line
)

// Problem is what is wrong with one row. Unless it is a warning, the row is not
// among the inputs.
type Problem struct {
	// Row is the line or record number in the source, from 1; 0 when More is set.
	Row int
	// More is how many further rows the last problems stand for, which are not
	// reported one by one.
	More int
	// Text says what is wrong and what was expected. It may quote the source.
	Text string
	// Warning says that the row is used all the same.
	Warning bool
}

// Rows is how many rows the problem is about, at least 1.
func (p Problem) Rows() int { return max(p.More, 1) }

// ReadInputs reads a job's inputs row by row. kind is one of the Input kinds or
// a file name's extension (txt, csv, json, ndjson, jsonl); with anything else
// the content decides. A byte order mark and any line ends are fine.
//
// Bad rows are reported and left out; a row that repeats another one is a
// warning, because both are billed. An error means that the source cannot be
// read as its kind from some point on: then the inputs are those before it, and
// nothing should be sent.
func ReadInputs(r io.Reader, kind string) ([]model.JobInput, []Problem, error) {
	src := &meter{r: r, left: maxInputBytes, over: fmt.Errorf("more than %d MiB; split it", maxInputBytes>>20)}
	br := bufio.NewReaderSize(src, 64<<10)
	if err := skipMark(br); err != nil {
		return nil, nil, err
	}
	if head, _ := br.Peek(4 << 10); bytes.IndexByte(head, 0) >= 0 {
		return nil, nil, errors.New("it is not text: it holds zero bytes")
	}
	in := &inputReader{seen: map[string]int{}}
	var err error
	switch k := inputKind(kind, br); k {
	case InputCSV:
		err = in.csv(br)
	case InputJSON:
		err = in.json(br)
	case InputNDJSON:
		err = in.ndjson(br)
	default:
		err = in.lines(br)
	}
	in.more(in.bad-maxProblems, false, "more rows cannot be used", "1 more row cannot be used")
	in.more(in.notes-maxNotes, true, "more rows repeat another one; they are sent, too", "1 more row repeats another one; it is sent, too")
	return in.inputs, in.problems, err
}

// meter reads at most left bytes, and fails with over after them. A caller that
// bounds single records renews the allowance for each.
type meter struct {
	r    io.Reader
	left int64
	over error
}

func (m *meter) Read(p []byte) (int, error) {
	if m.left <= 0 {
		return 0, m.over
	}
	n, err := m.r.Read(p[:min(int64(len(p)), m.left)])
	m.left -= int64(n)
	return n, err
}

// skipMark drops a UTF-8 byte order mark and refuses UTF-16.
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
	return nil
}

// inputKind is the kind by name, or by what the first bytes look like.
func inputKind(kind string, br *bufio.Reader) string {
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
	if slices.ContainsFunc(splitHeader(strings.TrimRight(first, "\r")), isURLColumn) {
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
	inputs   []model.JobInput
	problems []Problem
	bad      int            // rows that are left out
	notes    int            // rows that are used all the same, but worth a word
	seen     map[string]int // a row's content to its number
}

// reject reports a row that is left out, and lets the reading go on.
func (in *inputReader) reject(row int, format string, args ...any) error {
	in.refuse(row, format, args...)
	return nil
}

// refuse reports a row that is left out.
func (in *inputReader) refuse(row int, format string, args ...any) {
	if in.bad++; in.bad <= maxProblems {
		in.problems = append(in.problems, Problem{Row: row, Text: fmt.Sprintf(format, args...)})
	}
}

// repeated notes that a row is the same as an earlier one.
func (in *inputReader) repeated(row, first int) {
	if in.notes++; in.notes <= maxNotes {
		in.problems = append(in.problems, Problem{Row: row, Text: fmt.Sprintf("the same as row %d; both are sent", first), Warning: true})
	}
}

// more adds the problem that stands for n further rows; none if n is not positive.
func (in *inputReader) more(n int, warning bool, many, one string) {
	if n <= 0 {
		return
	}
	text := fmt.Sprintf("%d %s", n, many)
	if n == 1 {
		text = one
	}
	in.problems = append(in.problems, Problem{More: n, Text: text, Warning: warning})
}

// errTooManyInputs ends the reading.
var errTooManyInputs = fmt.Errorf("more than %d rows; split it into several jobs", model.MaxInputs)

// add checks a row and takes it. extra holds JSON text by field name.
func (in *inputReader) add(row int, address string, extra map[string]string) error {
	address = strings.TrimSpace(address)
	if address == "" {
		return in.reject(row, "it has no url; expected an absolute address, like https://example.com/page")
	}
	if err := CheckURL(address); err != nil {
		return in.reject(row, "%s: %v", Quote(address), err)
	}
	if len(extra) > maxExtras {
		return in.reject(row, "it has %d fields; at most %d are sent", len(extra)+1, maxExtras+1)
	}
	if len(in.inputs) >= model.MaxInputs {
		return errTooManyInputs
	}
	input := model.JobInput{URL: address, Extra: extra, Row: row}
	text := string(appendInput(nil, input))
	if first, ok := in.seen[text]; ok {
		in.repeated(row, first)
	} else {
		in.seen[text] = row
	}
	in.inputs = append(in.inputs, input)
	return nil
}

// CheckURL reports why a row's address cannot be fetched. A login in it is
// refused, because it would be kept with the job.
func CheckURL(address string) error {
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

// lines reads one URL a line.
func (in *inputReader) lines(br *bufio.Reader) error {
	for row := 1; ; row++ {
		line, err := readLine(br)
		if text := strings.TrimSpace(string(line)); text != "" && !strings.HasPrefix(text, "#") {
			switch {
			case errors.Is(err, errLongRow):
				in.refuse(row, "%v", err)
			case len(strings.Fields(text)) > 1:
				in.refuse(row, "%s: expected one address on the line", Quote(text))
			default:
				if err := in.add(row, text, nil); err != nil {
					return err
				}
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !errors.Is(err, errLongRow):
			return err
		}
	}
}

var errLongRow = fmt.Errorf("the row is longer than %d KiB", maxInputRow>>10)

// readLine reads a line of bounded length without its end; of a longer one it
// gives the beginning, errLongRow, and drops the rest. The last line comes with
// io.EOF.
func readLine(br *bufio.Reader) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := br.ReadSlice('\n')
		if room := maxInputRow - len(line); len(part) > room {
			long = true
			part = part[:room]
		}
		line = append(line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if long {
			// A long last line is reported first; the next call says io.EOF.
			return line, errLongRow
		}
		return line, err
	}
}

// ndjson reads one object a line.
func (in *inputReader) ndjson(br *bufio.Reader) error {
	for row := 1; ; row++ {
		line, err := readLine(br)
		if text := bytes.TrimSpace(line); len(text) > 0 {
			if errors.Is(err, errLongRow) {
				in.refuse(row, "%v", err)
			} else if err := in.value(row, text); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !errors.Is(err, errLongRow):
			return err
		}
	}
}

// json reads an array of rows, or an object whose "input" is one.
func (in *inputReader) json(br *bufio.Reader) error {
	m := &meter{r: br, left: maxInputRow, over: errLongRow}
	dec := json.NewDecoder(m)
	wrapped, err := openArray(dec)
	if err != nil {
		return err
	}
	for row := 1; dec.More(); row++ {
		// The decoder reads ahead: the allowance covers what it has not read yet.
		m.left = maxInputRow
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
	m.left = maxInputRow
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more follows the array; put all inputs into one array")
	}
	return nil
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

// value takes one JSON row: an object with a url, or a URL.
func (in *inputReader) value(row int, raw []byte) error {
	var address string
	if json.Unmarshal(raw, &address) == nil {
		return in.add(row, address, nil)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil {
		return in.reject(row, "%s is not a JSON object with a url (%v)", Quote(string(raw)), jsonFault(err))
	}
	if raw, ok := object["url"]; ok && json.Unmarshal(raw, &address) != nil {
		return in.reject(row, "url is %s; expected a text", cut(string(raw), 60))
	}
	var extra map[string]string
	for name, raw := range object {
		if name == "url" {
			continue
		}
		var compact bytes.Buffer
		_ = json.Compact(&compact, raw) // the object was read, so its fields are JSON
		if extra == nil {
			extra = make(map[string]string, len(object)-1)
		}
		extra[name] = compact.String()
	}
	return in.add(row, address, extra)
}

// validText reports whether every part of a row is UTF-8.
func validText(parts []string) bool {
	return !slices.ContainsFunc(parts, func(s string) bool { return !utf8.ValidString(s) })
}
