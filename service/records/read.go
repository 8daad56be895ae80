package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tidwall/gjson"

	"zonedeck/service/rows"
)

// Cell is what a table shows of a value: the first bytes of its text.
type Cell struct {
	Kind Kind
	Text string
}

// maxCell bounds a cell, in bytes.
const maxCell = 512

// Row is a row as a table shows it.
type Row struct {
	N      int64 // from 0
	Cells  []Cell
	Change Change
	// Error is the beginning of the error, or else of its code, of a row that tells one and is no record; or empty.
	Error string
	// Damaged says why the row cannot be shown in columns, or is empty; Raw is its beginning then.
	Damaged, Raw string
}

// Rows gives n rows from the i-th of a view on, as far as there are any, with a cell for each of the columns.
func (f *File) Rows(ctx context.Context, view View, i int64, n int, columns []string) ([]Row, error) {
	if view.Rows == nil {
		return f.rowsFrom(ctx, i, n, columns)
	}
	entries := make([]entry, n)
	n, err := view.Rows.get(i, entries)
	if err != nil {
		return nil, err
	}
	out := make([]Row, 0, n)
	for _, e := range entries[:n] {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		file, number, at := f, e.row, e.at
		if e.change == Removed {
			file, number, at = view.Old, e.oldRow, e.oldAt
		}
		s := newScanner(file.f, file.layout, at, file.layout.size, make([]byte, 16<<10))
		row, err := s.next()
		if err != nil {
			return nil, file.shorter(err)
		}
		r := file.row(number, row, s, columns)
		r.Change = e.change
		out = append(out, r)
	}
	return out, nil
}

func (f *File) rowsFrom(ctx context.Context, i int64, n int, columns []string) ([]Row, error) {
	known := f.State().Rows
	s, err := f.at(i)
	if err != nil {
		if isEnd(err) && i >= known {
			return nil, nil
		}
		return nil, f.shorter(err)
	}
	out := make([]Row, 0, n)
	err = eachRow(ctx, s, func(k int64, row []byte) error {
		if len(out) == n {
			return errEnough
		}
		out = append(out, f.row(i+k, row, s, columns))
		return nil
	})
	if err == nil && int64(len(out)) < min(int64(n), known-i) {
		err = io.ErrUnexpectedEOF
	}
	return out, f.shorter(err)
}

// shorter is ErrChanged where a file ended too early.
func (f *File) shorter(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s: %w", f.name, errChanged)
	}
	return err
}

// row is a row for a table.
func (f *File) row(n int64, row []byte, s *scanner, columns []string) Row {
	out := Row{N: n, Cells: make([]Cell, len(columns))}
	switch {
	case s.long:
		out.Damaged = f.layout.tooLong()
		return out
	case !f.layout.valid(row):
		out.Damaged, out.Raw = f.layout.damage(row, s.cut), cut(row)
		return out
	}
	f.layout.eachField(row, func(name []byte, v value) bool {
		for _, field := range [...]string{"error", "error_code"} {
			if (out.Error == "" || field == "error") && f.layout.sameName(name, field) && rows.TellsError(field, v.raw, v.cell) {
				out.Error = v.tableCell().Text
			}
		}
		for i, c := range columns {
			if out.Cells[i].Kind == Missing && f.layout.sameName(name, c) {
				out.Cells[i] = v.tableCell()
				break
			}
		}
		return true
	})
	return out
}

// tooLong says what is wrong with a row that is not read.
func (l layout) tooLong() string { return fmt.Sprintf("it is larger than %d MiB", l.longest>>20) }

// fault says what is wrong with a row, which is nil if it is too long.
func (l layout) fault(row []byte) string {
	if row == nil {
		return l.tooLong()
	}
	return l.damage(row, false)
}

// damage says what is wrong with a row.
func (l layout) damage(row []byte, ends bool) string {
	if ends {
		return "the file ends within it"
	}
	if l.format == CSV {
		return "it is not UTF-8: save the file as UTF-8"
	}
	var v json.RawMessage
	if err := json.Unmarshal(row, &v); err != nil {
		return "it is not JSON: " + err.Error()
	}
	return "it is not JSON"
}

func cut(b []byte) string {
	return strings.ToValidUTF8(string(b[:min(len(b), maxCell)]), "�")
}

// Detail is a whole row.
type Detail struct {
	N    int64
	Size int64
	// JSON is the row as JSON, or its bytes as they stand where it is damaged.
	JSON    io.ReaderAt
	Damaged string
	// Change is what a difference says of it, and Fields are those that differ.
	Change Change
	Fields []FieldChange
}

// Detail reads the i-th row of a view.
func (f *File) Detail(view View, i int64) (Detail, error) {
	if view.Rows == nil {
		s, err := f.at(i)
		if err != nil {
			return Detail{}, err
		}
		return f.detail(s, i)
	}
	var e [1]entry
	if n, err := view.Rows.get(i, e[:]); n == 0 || err != nil {
		if err == nil {
			err = io.EOF
		}
		return Detail{}, err
	}
	if e[0].change == Removed {
		d, err := view.Old.detail(newScanner(view.Old.f, view.Old.layout, e[0].oldAt, view.Old.layout.size, nil), e[0].oldRow)
		d.Change = Removed
		return d, err
	}
	d, err := f.detail(newScanner(f.f, f.layout, e[0].at, f.layout.size, nil), e[0].row)
	if err == nil && e[0].change == Changed {
		d.Fields, err = f.changes(view.Old, e[0], view.Ignore)
	}
	d.Change = e[0].change
	return d, err
}

func (f *File) detail(s *scanner, n int64) (Detail, error) {
	row, err := s.next()
	if err != nil {
		return Detail{}, err
	}
	d := Detail{N: n, Size: int64(len(row))}
	switch {
	case s.long:
		d.Damaged = f.layout.tooLong()
	case !f.layout.valid(row):
		d.Damaged = f.layout.damage(row, s.cut)
		d.JSON = io.NewSectionReader(f.f, s.at, d.Size)
	case f.layout.format == CSV:
		text := string(f.layout.appendJSON(nil, row, nil))
		d.JSON, d.Size = strings.NewReader(text), int64(len(text))
	default:
		d.JSON = io.NewSectionReader(f.f, s.at, d.Size)
	}
	return d, nil
}

// appendJSON appends a row as JSON in one line, with the given columns alone or, where there are none, as it
// stands. Cells of CSV are texts.
func (l layout) appendJSON(b, row []byte, columns []string) []byte {
	if l.format != CSV && columns == nil {
		return appendLine(b, row)
	}
	b = append(b, '{')
	add := func(name string, v value) {
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		b = append(append(b, spelled(name)...), ':')
		if v.cell {
			b = append(b, spelled(string(v.raw))...)
		} else {
			b = appendLine(b, v.raw)
		}
	}
	if columns == nil {
		l.eachField(row, func(name []byte, v value) bool {
			add(l.name(name), v)
			return true
		})
		return append(b, '}')
	}
	for _, c := range columns {
		if v := l.field(row, c); v.raw != nil || v.cell {
			add(c, v)
		}
	}
	return append(b, '}')
}

// appendLine appends JSON without its line ends; inside texts it has none.
func appendLine(b, row []byte) []byte {
	for _, c := range row {
		if c != '\n' && c != '\r' {
			b = append(b, c)
		}
	}
	return b
}

func writeText(b interface{ Write([]byte) (int, error) }, s string) {
	_, _ = b.Write(gjson.AppendJSONString(nil, s)) // a buffer
}
