package jobs

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// Formats of a download.
func Formats() []string { return []string{"json", "ndjson", "jsonl", "csv"} }

// Download checks that a snapshot can be had and gives a function that streams it from
// disk, in the order of its inputs. Errors: [ErrNoSnapshot], [ErrNotReady],
// [ErrExpired], [ErrEmpty], [ErrNotComplete] for failed and canceled jobs.
func (e *Engine) Download(id, format string) (write func(io.Writer) error, err error) {
	j, err := e.job(id)
	if err != nil {
		return nil, err
	}
	s := j.snapshot()
	rows := s.Records
	if s.IncludeErrors {
		rows += s.Errors
	}
	switch {
	case !s.Status.Ended():
		return nil, ErrNotReady
	case e.conf.Now().Sub(s.Created) > Retention:
		return nil, ErrExpired
	case s.Status != Ready:
		return nil, ErrNotComplete
	case rows == 0:
		return nil, ErrEmpty
	}
	return func(w io.Writer) error { return j.write(w, format) }, nil
}

// span is where an input's line lies in records.ndjson.
type span struct {
	at, n int64
}

func (j *job) write(w io.Writer, format string) error {
	f, err := os.Open(filepath.Join(j.dir, recordsName))
	if err != nil {
		return err
	}
	defer f.Close()
	spans := make([]span, j.snapshot().Inputs)
	_, err = scanLines(f, func(at int64, b []byte) error {
		var l struct {
			I int `json:"i"`
		}
		if json.Unmarshal(b, &l) == nil && l.I >= 0 && l.I < len(spans) && spans[l.I].n == 0 {
			spans[l.I] = span{at, int64(len(b))}
		}
		return nil
	})
	if err != nil {
		return err
	}
	bw := bufio.NewWriterSize(w, 32<<10)
	rows := j.rows(format, bw)
	if err := rows.begin(); err != nil {
		return err
	}
	for i, sp := range spans {
		if sp.n == 0 {
			continue
		}
		b := make([]byte, sp.n)
		if _, err := f.ReadAt(b, sp.at); err != nil {
			return fmt.Errorf("reading the records of input %d: %w", i, err)
		}
		var l line
		if err := json.Unmarshal(b, &l); err != nil {
			return fmt.Errorf("reading the records of input %d: %w", i, err)
		}
		if err := j.writeLine(rows, l); err != nil {
			return err
		}
	}
	if err := rows.end(); err != nil {
		return err
	}
	return bw.Flush()
}

func (j *job) writeLine(rows rowWriter, l line) error {
	for _, r := range l.Records {
		if err := rows.row(r); err != nil {
			return err
		}
	}
	if l.Error == "" || !j.shape.errors {
		return nil
	}
	b, err := json.Marshal(map[string]any{"error": l.Error, "error_code": l.Code, "input": input{l.URL}})
	if err != nil {
		return err
	}
	return rows.row(b)
}

type rowWriter interface {
	begin() error
	row(json.RawMessage) error
	end() error
}

func (j *job) rows(format string, w *bufio.Writer) rowWriter {
	switch format {
	case "json":
		return &jsonRows{w: w}
	case "csv":
		d, _ := datasetOf(j.shape.dataset)
		columns := d.Fields
		if len(j.shape.fields) > 0 {
			columns = slices.DeleteFunc(slices.Clone(columns), func(f string) bool { return !slices.Contains(j.shape.fields, f) })
		}
		if j.shape.errors {
			columns = append(slices.Clone(columns), "error", "error_code", "input")
		}
		return &csvRows{w: csv.NewWriter(w), columns: columns}
	default:
		return &lineRows{w: w}
	}
}

type jsonRows struct {
	w *bufio.Writer
	n int
}

func (r *jsonRows) begin() error { return r.w.WriteByte('[') }

func (r *jsonRows) row(b json.RawMessage) error {
	sep := ",\n"
	if r.n == 0 {
		sep = ""
	}
	r.n++
	if _, err := r.w.WriteString(sep); err != nil {
		return err
	}
	_, err := r.w.Write(b)
	return err
}

func (r *jsonRows) end() error { return r.w.WriteByte(']') }

type lineRows struct{ w *bufio.Writer }

func (r *lineRows) begin() error { return nil }

func (r *lineRows) row(b json.RawMessage) error {
	if _, err := r.w.Write(b); err != nil {
		return err
	}
	return r.w.WriteByte('\n')
}

func (r *lineRows) end() error { return nil }

type csvRows struct {
	w       *csv.Writer
	columns []string
}

func (r *csvRows) begin() error { return r.w.Write(r.columns) }

func (r *csvRows) row(b json.RawMessage) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(b, &fields); err != nil {
		return err
	}
	cells := make([]string, len(r.columns))
	for i, c := range r.columns {
		cells[i] = cell(fields[c])
	}
	return r.w.Write(cells)
}

func (r *csvRows) end() error {
	r.w.Flush()
	return r.w.Error()
}

// cell is a value without JSON's quotes; null and a missing field are empty.
func cell(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}
