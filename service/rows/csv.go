package rows

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// csv reads rows below a header with a url column. The separator is a comma, a
// semicolon or a tab, as the header shows. Empty cells are left out.
func (in *inputReader) csv(br *bufio.Reader) error {
	head, _ := br.Peek(maxInputRow) // fewer bytes at the end of the source
	first, _, _ := strings.Cut(strings.TrimLeft(string(head), "\r\n"), "\n")
	m := &meter{r: br, left: 2 * maxInputRow, over: errLongRow}
	r := csv.NewReader(m)
	r.Comma = separator(first)
	r.FieldsPerRecord = -1
	header, err := r.Read()
	if errors.Is(err, io.EOF) {
		return errors.New("it is empty; expected a header with a url column")
	}
	if err != nil {
		return err
	}
	header = slices.Clone(header)
	at := slices.IndexFunc(header, isURLColumn)
	if at < 0 {
		return fmt.Errorf("the header has no url column: %s", Quote(strings.Join(header, ", ")))
	}
	for i := range header {
		header[i] = strings.TrimSpace(header[i])
		if i != at && slices.Contains(header[:i], header[i]) {
			return fmt.Errorf("the header names column %s twice", Quote(header[i]))
		}
	}
	for {
		m.left = 2 * maxInputRow
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if fault, err := rowFault(err); err != nil {
			return err
		} else if fault != nil {
			in.refuse(fault.StartLine, "%v; expected CSV", fault.Err)
			continue
		}
		row, _ := r.FieldPos(0)
		if err := in.cells(row, header, at, cells); err != nil {
			return err
		}
	}
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

func (in *inputReader) cells(row int, header []string, at int, cells []string) error {
	switch {
	case len(cells) > len(header):
		return in.reject(row, "%d cells under %d columns", len(cells), len(header))
	case !validText(cells):
		return in.reject(row, "it holds bytes that are not UTF-8")
	case len(cells) <= at:
		return in.add(row, "", nil)
	}
	var extra map[string]string
	for i, cell := range cells {
		if i == at || cell == "" || header[i] == "" {
			continue
		}
		if extra == nil {
			extra = make(map[string]string, len(cells)-1)
		}
		extra[header[i]] = string(jsonText(cell))
	}
	return in.add(row, cells[at], extra)
}

func isURLColumn(name string) bool {
	return strings.EqualFold(strings.Trim(strings.TrimSpace(name), `"`), "url")
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
