package rows

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"zonedeck/model"
)

// csv reads rows below a header. The separator is a comma, a semicolon or a tab, as the header
// shows. Empty cells are left out.
func (in *inputReader) csv(br *bufio.Reader) error {
	head, _ := br.Peek(maxInputRow) // fewer bytes at the end of the source
	first, _, _ := strings.Cut(strings.TrimLeft(string(head), "\r\n"), "\n")
	m := &meter{r: br, remaining: 2 * maxInputRow, over: errLongCells}
	kept := &recorder{r: m}
	r := csv.NewReader(kept)
	if r.Comma = in.comma; r.Comma == 0 {
		r.Comma = separator(first)
	}
	r.FieldsPerRecord = -1
	t, err := in.header(r)
	if err != nil {
		return err
	}
	in.out.Rejected = append(bytes.Clone(bytes.TrimRight(kept.upTo(r.InputOffset()), "\r\n")), '\n')
	row, _ := r.FieldPos(0) // the header's; what is above it are blank rows
	for {
		m.remaining = 2 * maxInputRow
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		fault, err := rowFault(err)
		if errors.Is(err, errLongCells) {
			return fmt.Errorf("row %d: %w", row+1+kept.linesAbove(), err)
		}
		if err != nil {
			return err
		}
		text := kept.upTo(r.InputOffset())
		raw := bytes.TrimLeft(text, "\r\n")
		line := 0
		if fault != nil {
			line = fault.StartLine
		} else {
			line, _ = r.FieldPos(0)
		}
		above := bytes.Count(text[:len(text)-len(raw)], []byte("\n")) // lines that the reader passes over
		for range above {
			row++
			in.skipped(row)
		}
		if row++; row != line {
			in.line = line
		}
		if fault != nil {
			in.reject(row, raw, "", "%v; expected CSV", fault.Err)
			continue
		}
		if !slices.ContainsFunc(cells, func(c string) bool { return c != "" }) {
			in.skipped(row)
			continue
		}
		if err := in.cells(row, raw, &t, cells); err != nil {
			return err
		}
	}
	if in.out.Bad == 0 {
		in.out.Rejected = nil
	}
	in.sayNameless(t.nameless)
	return nil
}

// errLongCells ends the reading: where such a row ends is not known.
var errLongCells = fmt.Errorf("it is longer than %d KiB, or a quote in it is not closed", maxInputRow>>10)

// sayNameless tells of cells that no field can take.
func (in *inputReader) sayNameless(n int) {
	switch {
	case n == 1:
		in.out.Problems = append(in.out.Problems, Problem{Text: "1 value stands in a column without a name; it is not sent", Warning: true})
	case n > 1:
		in.out.Problems = append(in.out.Problems, Problem{Text: fmt.Sprintf("%d values stand in columns without a name; they are not sent", n), Warning: true})
	}
}

// header reads the columns of a table.
func (in *inputReader) header(r *csv.Reader) (t table, err error) {
	header, err := r.Read()
	if errors.Is(err, io.EOF) {
		return t, errors.New("it is empty; expected a header")
	}
	if err != nil {
		if errors.Is(err, errLongCells) {
			err = fmt.Errorf("the header: %w", err)
		}
		return t, err
	}
	t.header = slices.Clone(header)
	for i, name := range t.header {
		t.header[i], _ = model.TrimMarks(name)
		if t.header[i] != "" && slices.Contains(t.header[:i], t.header[i]) {
			return t, fmt.Errorf("the header names column %s twice: rename one", Quote(t.header[i]))
		}
	}
	if t.columns, err = in.shape.propose(t.header); err != nil {
		in.out.Columns = t.columns
		return t, err
	}
	in.out.Columns = t.columns
	for _, c := range t.columns {
		if c.Field == "" && c.Name != "" && in.taker == nil {
			in.out.Problems = append(in.out.Problems, Problem{Column: c.Name, Text: fmt.Sprintf("column %s is not sent", Quote(c.Name)), Warning: true})
		}
		if len(in.out.Problems) == maxNotes {
			break
		}
	}
	return t, nil
}

// skipped counts a row without a value, which is left out.
func (in *inputReader) skipped(row int) {
	if in.out.Blank++; len(in.blank) < maxNotes {
		in.blank = append(in.blank, row)
	}
}

// sayBlank names the rows that were left out because they have no value.
func (in *inputReader) sayBlank() {
	switch n := in.out.Blank; {
	case n == 1:
		in.out.Problems = append(in.out.Problems, Problem{Row: in.blank[0], Text: "the row is blank; it is left out", Warning: true})
	case n > 1:
		words := fmt.Sprint(in.blank[0])
		for _, row := range in.blank[1:] {
			words += fmt.Sprintf(", %d", row)
		}
		if n > len(in.blank) {
			words += fmt.Sprintf(" and %d more", n-len(in.blank))
		}
		in.out.Problems = append(in.out.Problems, Problem{Text: fmt.Sprintf("%d rows are blank; they are left out: rows %s", n, words), Warning: true})
	}
}

// table is the header of a CSV.
type table struct {
	header   []string
	columns  []Column
	nameless int // cells with a value in columns without a name
}

// recorder keeps what was read since the last call of upTo, so that a row can be given as it
// stood.
type recorder struct {
	r    io.Reader
	from int64
	text []byte
}

func (r *recorder) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	r.text = append(r.text, p[:n]...)
	return n, err
}

// upTo is the text from the last place to this one. It is valid until the next call.
func (r *recorder) upTo(offset int64) []byte {
	n := min(max(offset-r.from, 0), int64(len(r.text)))
	out := bytes.Clone(r.text[:n])
	r.text = append(r.text[:0], r.text[n:]...)
	r.from += n
	return out
}

// linesAbove are the blank lines before what was read since the last call of upTo.
func (r *recorder) linesAbove() int {
	return bytes.Count(r.text[:len(r.text)-len(bytes.TrimLeft(r.text, "\r\n"))], []byte("\n"))
}

// rowFault distinguishes an error of one row, after which the reading can go on,
// from an error of the source.
func rowFault(err error) (*csv.ParseError, error) {
	var fault *csv.ParseError
	if err == nil || errors.As(err, &fault) {
		return fault, nil
	}
	return nil, err
}

func (in *inputReader) cells(row int, raw []byte, t *table, cells []string) error {
	switch {
	case len(cells) > len(t.header):
		in.reject(row, raw, "", "%d cells; the header has %d", len(cells), len(t.header))
		return nil
	case !validText(cells):
		in.reject(row, raw, "", notText)
		return nil
	}
	values := make(map[string]json.RawMessage, len(cells))
	if in.taker != nil {
		return in.add(row, raw, named(t, cells), nil)
	}
	for i, cell := range cells {
		switch to := t.columns[i].Field; {
		case cell == "":
		case to != "":
			values[to] = jsonText(cell)
		case t.header[i] == "":
			t.nameless++
		}
	}
	return in.add(row, raw, values, func(field string) string {
		i := slices.IndexFunc(t.columns, func(c Column) bool { return c.Field == field })
		if i < 0 || t.columns[i].Name == field {
			return "column " + field
		}
		return fmt.Sprintf("column %s (%s)", t.columns[i].Name, field)
	})
}

// named are the cells of a row by the names of their columns. A field that another column fills is that one's.
func named(t *table, cells []string) map[string]json.RawMessage {
	values := make(map[string]json.RawMessage, len(cells))
	for i, name := range t.header {
		if name != "" && i < len(cells) {
			values[name] = jsonText(cells[i])
		}
	}
	for i, c := range t.columns {
		switch {
		case c.Field == "" || c.Field == c.Name:
		case i < len(cells):
			values[c.Field] = jsonText(cells[i])
		default:
			delete(values, c.Field)
		}
	}
	return values
}

// SepLine is the first line of a table that names what separates its cells, as spreadsheets write and read it: sep=;
var SepLine = regexp.MustCompile(`^(?i:"?sep=([,;|:\t])"?)\r?\n`)

// plainLines gives a text as the readers of tables take it: lines that end with a carriage return alone end with a line feed, and
// a SepLine is a blank line. comma is what that names, 0 without one.
func plainLines(br *bufio.Reader) (plain *bufio.Reader, comma rune) {
	head, _ := br.Peek(4 << 10) // fewer bytes at the end of the source
	if at := bytes.IndexByte(head, '\r'); at >= 0 && at+1 < 4<<10 && !bytes.Contains(head, []byte("\n")) {
		br = bufio.NewReaderSize(&lineFeeds{br}, maxInputRow)
		head, _ = br.Peek(4 << 10)
	}
	m := SepLine.FindSubmatch(head)
	if m == nil {
		return br, 0
	}
	comma = rune(m[1][0])
	_, _ = br.Discard(len(m[0])) // which was peeked
	return bufio.NewReaderSize(io.MultiReader(strings.NewReader("\n"), br), maxInputRow), comma
}

// lineFeeds reads line feeds for carriage returns.
type lineFeeds struct{ r io.Reader }

func (l *lineFeeds) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	for i := range p[:n] {
		if p[i] == '\r' {
			p[i] = '\n'
		}
	}
	return n, err
}

// isColumn reports whether a cell of the first line is the name of a field, so that the line is
// a header.
func (s Shape) isColumn(name string) bool {
	name = strings.Trim(strings.TrimSpace(name), `"`)
	return slices.Contains(s.Names, name) || slices.ContainsFunc(s.columnsFor(), func(f string) bool { return strings.EqualFold(f, name) })
}

// separator is the character between the header's columns.
func separator(header string) rune {
	best, count := ',', strings.Count(header, ",")
	for _, c := range []rune{';', '\t'} {
		if n := strings.Count(header, string(c)); n > count {
			best, count = c, n
		}
	}
	return best
}

// splitHeader is the header's columns, roughly: enough to see whether it is a header.
func splitHeader(line string) []string { return strings.Split(line, string(separator(line))) }
