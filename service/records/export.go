package records

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Export says how rows are written.
type Export struct {
	Format  Format // Array, Lines or CSV
	Columns []string
	// Raw leaves cells of CSV that a spreadsheet would take for a formula as they are. Without it they
	// get an apostrophe before them.
	Raw bool
}

// Written is what an export came to.
type Written struct {
	Rows    int64
	Skipped int64 // damaged or too long, not written
	Defused int64 // cells
}

// Export writes the rows of a view. With CSV and no columns those of the profile are written.
func (f *File) Export(ctx context.Context, w io.Writer, view View, e Export, on func(Progress)) (out Written, err error) {
	if e.Format == CSV && e.Columns == nil {
		p, err := f.Profile(ctx, nil)
		if err != nil {
			return out, err
		}
		for _, c := range p.Columns {
			e.Columns = append(e.Columns, c.Name)
		}
	}
	if err := f.Index(ctx, nil); err != nil {
		return out, err
	}
	x := &exporter{e: e, w: bufio.NewWriterSize(w, 256<<10)}
	if err := x.begin(); err != nil {
		return out, err
	}
	if view.List == nil {
		s := newScanner(f.f, f.layout, f.layout.from, f.layout.size, nil)
		p := Progress{Size: f.layout.size}
		err = eachRow(ctx, s, func(n int64, row []byte) error {
			if on != nil && n%4096 == 0 {
				p.Bytes, p.Rows = s.at, n
				on(p)
			}
			return x.row(f, row)
		})
	} else {
		err = f.eachOf(ctx, view, func(n int64, file *File, _ entry, row []byte) error {
			if on != nil && n%4096 == 0 {
				on(Progress{Rows: n, Found: view.List.Len()})
			}
			return x.row(file, row)
		})
	}
	if err != nil {
		return x.out, err
	}
	return x.out, x.end()
}

// eachOf gives the rows of a view that has a list.
func (f *File) eachOf(ctx context.Context, view View, on func(n int64, file *File, e entry, row []byte) error) error {
	var entries [256]entry
	scanners := map[*File]*scanner{f: newScanner(f.f, f.layout, 0, f.layout.size, make([]byte, 32<<10))}
	if view.Old != nil {
		scanners[view.Old] = newScanner(view.Old.f, view.Old.layout, 0, view.Old.layout.size, make([]byte, 32<<10))
	}
	for i := int64(0); ; {
		n, err := view.List.get(i, entries[:])
		if err != nil || n == 0 {
			return err
		}
		for k, e := range entries[:n] {
			if err := ctx.Err(); err != nil {
				return err
			}
			file, at := f, e.at
			if e.change == Removed {
				file, at = view.Old, e.oldAt
			}
			s := scanners[file]
			s.seek(at)
			row, err := s.next()
			if err != nil {
				return err
			}
			if err := on(i+int64(k), file, e, row); err != nil {
				return err
			}
		}
		i += int64(n)
	}
}

type exporter struct {
	e   Export
	w   *bufio.Writer
	csv *csv.Writer
	buf []byte
	out Written
}

func (x *exporter) begin() error {
	switch x.e.Format {
	case Array:
		_, err := x.w.WriteString("[")
		return err
	case CSV:
		x.csv = csv.NewWriter(x.w)
		head := make([]string, len(x.e.Columns))
		for i, c := range x.e.Columns {
			head[i] = x.cell(c, Text)
		}
		return x.csv.Write(head)
	case Lines:
		return nil
	}
	return fmt.Errorf("rows cannot be written as %q", x.e.Format)
}

func (x *exporter) row(f *File, row []byte) error {
	if row == nil || !f.layout.valid(row) {
		x.out.Skipped++
		return nil
	}
	x.out.Rows++
	if x.e.Format == CSV {
		cells := make([]string, len(x.e.Columns))
		f.layout.each(row, func(name []byte, v value) bool {
			for i, c := range x.e.Columns {
				if cells[i] == "" && f.layout.named(name, c) && v.kind != Null {
					cells[i] = x.cell(string(v.text()), v.kind)
					break
				}
			}
			return true
		})
		if len(cells) == 1 && cells[0] == "" { // most readers skip an empty line
			x.csv.Flush()
			_, err := x.w.WriteString("\"\"\n")
			return errors.Join(x.csv.Error(), err)
		}
		return x.csv.Write(cells)
	}
	x.buf = x.buf[:0]
	if x.e.Format == Array && x.out.Rows > 1 {
		x.buf = append(x.buf, ',')
	}
	if x.e.Format == Array {
		x.buf = append(x.buf, '\n')
	}
	x.buf = f.layout.appendJSON(x.buf, row, x.e.Columns)
	if x.e.Format == Lines {
		x.buf = append(x.buf, '\n')
	}
	_, err := x.w.Write(x.buf)
	return err
}

// cell defuses what a spreadsheet would take for a formula.
func (x *exporter) cell(text string, k Kind) string {
	if x.e.Raw || text == "" || k == Number || !strings.ContainsRune("=+-@\t\r\n", rune(text[0])) {
		return text
	}
	if _, number := numberOf([]byte(text)); number {
		return text
	}
	x.out.Defused++
	return "'" + text
}

func (x *exporter) end() error {
	if x.csv != nil {
		x.csv.Flush()
		if err := x.csv.Error(); err != nil {
			return err
		}
	}
	if x.e.Format == Array {
		_, _ = x.w.WriteString("\n]\n") // Flush tells
	}
	return x.w.Flush()
}
