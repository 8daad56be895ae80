package rows

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tidwall/gjson"
)

// The bounds on the columns of a CSV: a result is remote, and its field names may be anything.
const (
	maxCSVColumns = 16_384  // what a sheet takes
	maxCSVNames   = 8 << 20 // bytes of all names
)

// ErrTooWide says that rows are not for CSV, although each of them can be read.
var ErrTooWide = fmt.Errorf("its fields are more than the %d columns of a sheet, or their names longer than %d MiB", maxCSVColumns, maxCSVNames>>20)

// WriteCSV writes the rows of NDJSON below a header with every field of any row, in the order
// in which they first appear; a row that is no object has the one field "value". Of a field that
// a row has twice the first value counts. Texts are as they are, null and what a row lacks are empty, and everything else,
// also what is nested, is JSON. A text that a sheet would take for a formula gets an apostrophe before it, unless raw is
// set; see Defuse.
//
// The rows are known to be JSON. It reads them twice, once for the columns, and holds one in memory. It returns how many
// texts got an apostrophe. A *RecordsError wraps ErrTooWide.
func WriteCSV(w io.Writer, ndjson io.ReadSeeker, raw bool) (defused int, err error) {
	t := &sheet{at: map[string]int{}, raw: raw}
	if err := throughLines(ndjson, &Lines{On: t.look}); err != nil {
		return 0, err
	}
	if _, err := ndjson.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	out := bufio.NewWriterSize(w, 256<<10)
	t.out, t.w = out, csv.NewWriter(out)
	if len(t.names) > 0 {
		for i, name := range t.names {
			t.cells[i] = t.text(name)
		}
		if err := t.put(); err != nil {
			return 0, err
		}
	}
	if err := throughLines(ndjson, &Lines{On: t.row}); err != nil {
		return 0, writeFault(err)
	}
	t.w.Flush()
	return t.defused, errors.Join(t.w.Error(), out.Flush())
}

// writeFault is an error of the file that is written, without the row in which it was seen.
func writeFault(err error) error {
	var row *RecordsError
	if errors.As(err, &row) {
		return row.Err
	}
	return err
}

// sheet is a CSV that is being written.
type sheet struct {
	names   []string
	at      map[string]int
	size    int // bytes of names
	raw     bool
	defused int
	cells   []string
	present []bool // of these, in the row
	out     *bufio.Writer
	w       *csv.Writer
}

// fields gives the fields of a row to on.
func fields(raw []byte, on func(name string, v gjson.Result) bool) {
	whole := gjson.ParseBytes(raw)
	if !whole.IsObject() {
		on("value", whole)
		return
	}
	whole.ForEach(func(name, v gjson.Result) bool { return on(name.Str, v) })
}

// look takes the columns of a row.
func (t *sheet) look(raw []byte) error {
	full := false
	fields(raw, func(name string, _ gjson.Result) bool {
		if _, known := t.at[name]; known {
			return true
		}
		if t.size += len(name); len(t.names) == maxCSVColumns || t.size > maxCSVNames {
			full = true
			return false
		}
		name = strings.Clone(name) // it is a part of the row
		t.at[name] = len(t.names)
		t.names, t.cells, t.present = append(t.names, name), append(t.cells, ""), append(t.present, false)
		return true
	})
	if full {
		return ErrTooWide
	}
	return nil
}

func (t *sheet) row(raw []byte) error {
	clear(t.cells)
	clear(t.present)
	fields(raw, func(name string, v gjson.Result) bool {
		i := t.at[name]
		switch {
		case t.present[i] || v.Type == gjson.Null:
		case v.Type == gjson.String:
			t.cells[i] = t.text(v.Str)
		default:
			t.cells[i] = v.Raw
		}
		t.present[i] = true
		return true
	})
	return t.put()
}

// put writes the cells.
func (t *sheet) put() error {
	if len(t.cells) == 0 {
		return nil // no row has a field
	}
	if len(t.cells) > 1 || t.cells[0] != "" {
		return t.w.Write(t.cells)
	}
	// Most readers skip an empty line, which the writer would make of this row.
	t.w.Flush()
	_, err := t.out.WriteString("\"\"\n")
	return errors.Join(t.w.Error(), err)
}

// text is a cell that no sheet takes for a formula.
func (t *sheet) text(s string) string {
	if t.raw {
		return s
	}
	cell, defused := Defuse(s)
	if defused {
		t.defused++
	}
	return cell
}
