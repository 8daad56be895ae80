package records

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"

	"zonedeck/service/rows"
)

// Export says how rows are written.
type Export struct {
	Format  Format // Array, Lines or CSV
	Columns []string
	// Raw leaves cells of CSV that a spreadsheet would take for a formula as they are. Without it, an
	// apostrophe is put before them.
	Raw bool
}

// Written is what an export came to.
type Written struct {
	Rows    int64
	Skipped int64  // damaged or too long, not written
	First   string // why the first of them was not
	Defused int64  // cells
}

// The bounds of a table.
const (
	maxSheet      = 16_384  // columns: what a sheet takes
	maxSheetNames = 8 << 20 // bytes of all names
)

// Export writes the rows of a view. As CSV without columns it has every field of any row, in the order in which
// they first appear; fields that are too many for a sheet are an error.
func (f *File) Export(ctx context.Context, w io.Writer, view View, e Export, on func(Progress)) (out Written, err error) {
	if e.Format == CSV && e.Columns == nil {
		if e.Columns, err = f.fieldNames(ctx); err != nil {
			return out, err
		}
	}
	if err := f.Index(ctx, nil); err != nil {
		return out, err
	}
	x := &exporter{e: e, w: bufio.NewWriterSize(w, 256<<10)}
	if err := x.begin(); err != nil {
		return out, err
	}
	if view.Rows == nil {
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
				on(Progress{Rows: n, Found: view.Rows.Len()})
			}
			return x.row(file, row)
		})
	}
	if err != nil {
		return x.out, err
	}
	return x.out, x.end()
}

// fieldNames are the names of all fields.
func (f *File) fieldNames(ctx context.Context) (out []string, err error) {
	p, err := f.Profile(ctx, nil)
	if err != nil {
		return nil, err
	}
	whole := !p.MoreColumns
	for _, c := range p.Columns {
		whole = whole && !isCut(c.Name)
		out = append(out, c.Name)
	}
	if whole {
		return out, nil
	}
	sum := newNames(f.layout)
	err = inParts(ctx, f.parts(scanBuffer), func(p part, buf []byte) (*names, error) {
		n := newNames(f.layout)
		s := newScanner(f.f, f.layout, p.from, p.to, buf)
		return n, eachRow(ctx, s, func(_ int64, row []byte) error {
			if row == nil || !f.layout.valid(row) {
				return nil
			}
			return n.row(row)
		})
	}, func(n *names) error {
		for _, name := range n.names {
			if err := sum.addName(name); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = f.checkUnchanged()
	}
	return sum.names, err
}

// names gathers the names of fields, and finds the place of one.
type names struct {
	layout layout
	names  []string
	at     map[string]int
	size   int // bytes
}

func newNames(l layout, all ...string) *names {
	n := &names{layout: l, names: all, at: make(map[string]int, len(all))}
	for i, name := range all {
		if _, twice := n.at[name]; !twice {
			n.at[name] = i
		}
	}
	return n
}

// row takes the names of a row.
func (n *names) row(row []byte) (err error) {
	guess := 0
	n.layout.eachField(row, func(spelled []byte, _ value) bool {
		if guess = n.place(spelled, guess) + 1; guess == 0 {
			guess = len(n.names) + 1
			err = n.addName(n.layout.name(spelled))
		}
		return err == nil
	})
	return err
}

func (n *names) addName(name string) error {
	if _, known := n.at[name]; known {
		return nil
	}
	if n.size += len(name); len(n.names) == maxSheet || n.size > maxSheetNames {
		return fmt.Errorf("its fields are more than the %d columns of a sheet, or their names longer than %d MiB: name the columns, or take NDJSON", maxSheet, maxSheetNames>>20)
	}
	n.add(name)
	return nil
}

// add adds a name that is not there, and gives its place.
func (n *names) add(name string) int {
	n.at[name] = len(n.names)
	n.names = append(n.names, name)
	return len(n.names) - 1
}

// place is where a name that a row spells is, -1 for nowhere. Most rows have their fields in the same order:
// guess is where it may be.
func (n *names) place(spelled []byte, guess int) int {
	if guess < len(n.names) && n.layout.sameName(spelled, n.names[guess]) {
		return guess
	}
	name := n.layout.name(spelled)
	for _, name := range []string{name, shortName(name)} {
		if i, ok := n.at[name]; ok {
			return i
		}
	}
	return -1
}

// eachOf gives the rows of a view that has a list.
func (f *File) eachOf(ctx context.Context, view View, on func(n int64, file *File, e entry, row []byte) error) error {
	var entries [256]entry
	scanners := map[*File]*scanner{f: newScanner(f.f, f.layout, 0, f.layout.size, make([]byte, 32<<10))}
	if view.Old != nil {
		scanners[view.Old] = newScanner(view.Old.f, view.Old.layout, 0, view.Old.layout.size, make([]byte, 32<<10))
	}
	for i := int64(0); ; {
		n, err := view.Rows.get(i, entries[:])
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
	// columns finds those of a file that has rows to write as CSV.
	columns map[*File]*names
	cells   []string
	filled  []bool
	buf     []byte
	out     Written
}

func (x *exporter) begin() error {
	switch x.e.Format {
	case Array:
		_, err := x.w.WriteString("[")
		return err
	case CSV:
		x.csv, x.columns = csv.NewWriter(x.w), map[*File]*names{}
		x.cells, x.filled = make([]string, len(x.e.Columns)), make([]bool, len(x.e.Columns))
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
		if x.out.Skipped++; x.out.Skipped == 1 {
			x.out.First = f.layout.fault(row)
		}
		return nil
	}
	x.out.Rows++
	if x.e.Format == CSV {
		return x.table(f, row)
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

// table writes a row as CSV. If a field is repeated, the first one counts.
func (x *exporter) table(f *File, row []byte) error {
	columns := x.columns[f]
	if columns == nil {
		columns = newNames(f.layout, x.e.Columns...)
		x.columns[f] = columns
	}
	clear(x.cells)
	clear(x.filled)
	i := -1
	f.layout.eachField(row, func(name []byte, v value) bool {
		at := columns.place(name, i+1)
		if at < 0 || x.filled[at] {
			return true
		}
		i, x.filled[at] = at, true
		if v.kind != Null {
			x.cells[at] = x.cell(string(v.text()), v.kind)
		}
		return true
	})
	if len(x.cells) == 1 && x.cells[0] == "" { // most readers skip an empty line
		x.csv.Flush()
		_, err := x.w.WriteString("\"\"\n")
		return errors.Join(x.csv.Error(), err)
	}
	return x.csv.Write(x.cells)
}

// cell defuses what a spreadsheet would take for a formula.
func (x *exporter) cell(text string, k Kind) string {
	if x.e.Raw || k == Number {
		return text
	}
	cell, defused := rows.Defuse(text)
	if defused {
		x.out.Defused++
	}
	return cell
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
