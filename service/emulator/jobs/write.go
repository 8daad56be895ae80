package jobs

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// Formats of a download.
func Formats() []string { return []string{"json", "ndjson", "jsonl", "csv"} }

// Slice is a part of a download; the zero value is all of it.
type Slice struct {
	// Batch is how many rows a part has, Part its number from 1.
	Batch, Part int
}

// Parts is how many parts a snapshot has. Errors: those of [Engine.Download], except
// [ErrNoPart].
func (e *Engine) Parts(id string, batch int) (int, error) {
	j, err := e.downloadable(id)
	if err != nil {
		return 0, err
	}
	if batch == 0 {
		return 1, nil
	}
	return (j.snapshot().Rows() + batch - 1) / batch, nil
}

// Download checks that a snapshot can be downloaded and gives a function that streams it
// from disk, in the order of its inputs. Errors: [ErrNoSnapshot], [ErrNotReady],
// [ErrExpired], [ErrEmpty], [ErrNotComplete] for failed and canceled jobs, [ErrNoPart].
func (e *Engine) Download(id, format string, part Slice) (write func(io.Writer) error, err error) {
	j, err := e.downloadable(id)
	if err != nil {
		return nil, err
	}
	return j.download(format, part)
}

// Records is [Engine.Download] for a webhook: it gives an empty snapshot too, and a new one
// within the grace.
func (e *Engine) Records(id, format string, part Slice) (write func(io.Writer) error, err error) {
	j, err := e.job(id)
	if err != nil {
		return nil, err
	}
	if err := j.downloadable(); err != nil && !errors.Is(err, ErrEmpty) {
		return nil, err
	}
	return j.download(format, part)
}

func (j *job) download(format string, part Slice) (write func(io.Writer) error, err error) {
	from, to, err := part.bounds(j.snapshot().Rows())
	if err != nil {
		return nil, err
	}
	return func(w io.Writer) error { return j.write(w, format, from, to) }, nil
}

// downloadable gives the job that can be downloaded.
func (e *Engine) downloadable(id string) (*job, error) {
	if _, err := e.Get(id); err != nil {
		return nil, err
	}
	j, err := e.job(id)
	if err != nil {
		return nil, err
	}
	return j, j.downloadable()
}

func (j *job) downloadable() error {
	s := j.snapshot()
	switch {
	case !s.Status.Ended():
		return ErrNotReady
	case j.engine.conf.Now().Sub(s.Created) > Retention:
		return ErrExpired
	case s.Status != Ready:
		return ErrNotComplete
	case s.Rows() == 0:
		return ErrEmpty
	}
	return nil
}

// bounds are the rows of a part, counted from 0; to is exclusive.
func (s Slice) bounds(rows int) (from, to int, err error) {
	switch {
	case rows == 0:
		return 0, 0, nil
	case s.Batch == 0 && s.Part > 1:
		return 0, 0, ErrNoPart
	case s.Batch == 0:
		return 0, rows, nil
	}
	n := max(s.Part, 1) - 1
	if n > rows/s.Batch || n*s.Batch >= rows {
		return 0, 0, ErrNoPart
	}
	return n * s.Batch, min(rows, n*s.Batch+min(s.Batch, rows)), nil
}

// errEnough ends a walk over the lines; no caller sees it.
var errEnough = errors.New("enough rows")

// write streams the rows from a number, counted from 0, to another, exclusive.
func (j *job) write(w io.Writer, format string, from, to int) error {
	bw := bufio.NewWriterSize(w, 32<<10)
	row, end := j.rows(format, bw)
	n := 0
	one := func(b json.RawMessage) error {
		n++
		if n > to {
			return errEnough
		}
		if n <= from {
			return nil
		}
		return row(b)
	}
	err := j.eachLine(func(l line) error {
		for _, r := range l.Records {
			if err := one(r); err != nil {
				return err
			}
		}
		if !j.spec.IncludeErrors {
			return nil
		}
		for _, f := range l.Errors {
			b, err := encodeValue(f)
			if err != nil {
				return err
			}
			if err := one(b); err != nil {
				return err
			}
		}
		return nil
	})
	switch {
	case errors.Is(err, errEnough):
	case err != nil:
		return err
	case n < to:
		return ErrExpired // meanwhile: what was written is cut short
	}
	if err := end(); err != nil {
		return err
	}
	return bw.Flush()
}

// rows gives a function that writes a row, and one that ends what was written.
func (j *job) rows(format string, w *bufio.Writer) (row func(json.RawMessage) error, end func() error) {
	switch format {
	case "json":
		before := "["
		row = func(b json.RawMessage) error {
			_, err := fmt.Fprintf(w, "%s%s", before, b)
			before = ",\n"
			return err
		}
		end = func() error {
			_, err := w.WriteString(strings.TrimSuffix(before, ",\n") + "]") // "[]" without rows
			return err
		}
		return row, end
	case "csv":
		return csvRows(w, j.columns())
	}
	row = func(b json.RawMessage) error {
		_, err := fmt.Fprintf(w, "%s\n", b)
		return err
	}
	return row, func() error { return nil }
}

// columns are those of a CSV: the fields that were asked for, dotted ones too, then those
// of an error row.
func (j *job) columns() []string {
	d, _ := Find(j.spec.Dataset) // as when the job was started
	var columns []string
	for _, f := range d.Columns(j.spec.Discover) {
		if len(j.spec.Fields) == 0 || slices.Contains(j.spec.Fields, f.Name) {
			columns = append(columns, f.Name)
			continue
		}
		for _, p := range j.spec.Fields {
			if strings.HasPrefix(p, f.Name+".") {
				columns = append(columns, p)
			}
		}
	}
	if j.spec.IncludeErrors {
		columns = append(columns, "error", "error_code", "input")
	}
	return columns
}

func csvRows(out *bufio.Writer, columns []string) (row func(json.RawMessage) error, end func() error) {
	w := csv.NewWriter(out)
	head := w.Write(columns)
	cells := make([]string, len(columns))
	row = func(b json.RawMessage) error {
		for i, path := range columns {
			cells[i] = cell(gjson.GetBytes(b, path))
		}
		if len(cells) == 1 && cells[0] == "" {
			// Most readers skip an empty line, which the writer would make of this row.
			w.Flush()
			_, err := out.WriteString("\"\"\n")
			return errors.Join(w.Error(), err)
		}
		return w.Write(cells)
	}
	end = func() error {
		w.Flush()
		return errors.Join(head, w.Error())
	}
	return row, end
}

// Cell is a value in a CSV, without JSON's quotes; null and a missing field are empty.
func Cell(raw json.RawMessage) string { return cell(gjson.ParseBytes(raw)) }

func cell(v gjson.Result) string {
	switch v.Type {
	case gjson.Null:
		return ""
	case gjson.String:
		return v.Str
	default:
		return v.Raw
	}
}

// record is a row read from a page. A field that was not found in its place is nil.
type record map[string]any

// object is a JSON object with its fields in order.
type object []member

type member struct {
	name  string
	value any
}

// MarshalJSON keeps the fields in their order.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		v, err := encodeValue(m.value)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(v)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// encodeValue does not escape < and &: the bodies of pages are full of them.
func encodeValue(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// encode writes the fields of the record in their order. paths choose among them
// (custom_output_fields); without paths it writes all.
func (r record) encode(fields []Field, paths []string) (json.RawMessage, error) {
	whole := make(object, 0, len(fields))
	for _, f := range fields {
		whole = append(whole, member{f.Name, r[f.Name]})
	}
	if len(paths) > 0 {
		whole = choose(whole, paths)
	}
	return encodeValue(whole)
}

// choose keeps the paths of an object, in the order of the object. The public service does
// not show how it shapes a dotted path; here the nesting stays.
func choose(o object, paths []string) object {
	var out object
	for _, m := range o {
		var below []string
		chosen := false
		for _, p := range paths {
			name, rest, dotted := strings.Cut(p, ".")
			if name != m.name {
				continue
			}
			chosen = true
			if !dotted {
				below = nil
				break
			}
			below = append(below, rest)
		}
		if !chosen {
			continue
		}
		if inner, ok := m.value.(object); ok && len(below) > 0 {
			m.value = choose(inner, below)
		}
		out = append(out, m)
	}
	return out
}

func hasPath(fields []Field, path string) bool {
	name, rest, dotted := strings.Cut(path, ".")
	i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == name })
	if i < 0 {
		return false
	}
	return !dotted || hasPath(fields[i].Fields, rest)
}
