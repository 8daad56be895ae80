package jobs

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
)

// Formats of a download.
func Formats() []string { return []string{"json", "ndjson", "jsonl", "csv"} }

// ContentType is the media type of a format.
func ContentType(format string) string {
	switch format {
	case "csv":
		return "text/csv; charset=utf-8"
	case "ndjson":
		return "application/x-ndjson"
	case "jsonl":
		return "application/jsonl"
	default:
		return "application/json"
	}
}

// Slice is a part of a download; the zero value is all of it.
type Slice struct {
	// Batch is how many rows a part has, Part its number from 1.
	Batch, Part int
}

// Parts is how many parts a snapshot has. Errors: those of [Engine.Download], but
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

// Download checks that a snapshot can be had and gives a function that streams it from
// disk, in the order of its inputs. Errors: [ErrNoSnapshot], [ErrNotReady],
// [ErrExpired], [ErrEmpty], [ErrNotComplete] for failed and canceled jobs, [ErrNoPart].
func (e *Engine) Download(id, format string, part Slice) (write func(io.Writer) error, err error) {
	j, err := e.downloadable(id)
	if err != nil {
		return nil, err
	}
	from, to, err := part.bounds(j.snapshot().Rows())
	if err != nil {
		return nil, err
	}
	return func(w io.Writer) error { return j.write(w, format, from, to) }, nil
}

// Records is [Engine.Download] for a webhook: an empty snapshot is no error, and a new
// one is there at once.
func (e *Engine) Records(id, format string, part Slice) (write func(io.Writer) error, err error) {
	j, err := e.job(id)
	if err != nil {
		return nil, err
	}
	if err := j.downloadable(); err != nil && !errors.Is(err, ErrEmpty) {
		return nil, err
	}
	from, to, err := part.bounds(j.snapshot().Rows())
	if err != nil && j.snapshot().Rows() > 0 {
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

// bounds are the rows of a part: from one number to the one before another.
func (s Slice) bounds(rows int) (from, to int, err error) {
	if s.Batch == 0 {
		if s.Part > 1 {
			return 0, 0, ErrNoPart
		}
		return 0, rows, nil
	}
	n := max(s.Part, 1) - 1
	if n > rows/s.Batch || n*s.Batch >= rows {
		return 0, 0, ErrNoPart
	}
	return n * s.Batch, min(rows, n*s.Batch+min(s.Batch, rows)), nil
}

// errEnough ends a walk over the lines; it goes no further than this file.
var errEnough = errors.New("enough rows")

// write streams the rows from one number to the one before another.
func (j *job) write(w io.Writer, format string, from, to int) error {
	bw := bufio.NewWriterSize(w, 32<<10)
	rows := j.rows(format, bw)
	if err := rows.begin(); err != nil {
		return err
	}
	row := 0
	one := func(b json.RawMessage) error {
		row++
		if row > to {
			return errEnough
		}
		if row <= from {
			return nil
		}
		return rows.row(b)
	}
	err := j.eachLine(func(l line) error {
		for _, r := range l.Records {
			if err := one(r); err != nil {
				return err
			}
		}
		if !j.shape.errors {
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
	case row < to:
		return ErrExpired // meanwhile: what was written is cut short
	}
	if err := rows.end(); err != nil {
		return err
	}
	return bw.Flush()
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
		var columns []string
		for _, f := range d.Columns(j.shape.discover) {
			if len(j.shape.fields) == 0 || slices.Contains(j.shape.fields, f.Name) {
				columns = append(columns, f.Name)
				continue
			}
			for _, p := range j.shape.fields {
				if strings.HasPrefix(p, f.Name+".") {
					columns = append(columns, p)
				}
			}
		}
		if j.shape.errors {
			columns = append(columns, "error", "error_code", "input")
		}
		return &csvRows{w: csv.NewWriter(w), out: w, columns: columns}
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
	out     *bufio.Writer
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
		cells[i] = Cell(at(fields, c))
	}
	if len(cells) == 1 && cells[0] == "" {
		// An empty line is no row to most readers, and the writer would make one.
		r.w.Flush()
		_, err := r.out.WriteString("\"\"\n")
		return errors.Join(r.w.Error(), err)
	}
	return r.w.Write(cells)
}

// at is the value at a dotted path, nil where there is none.
func at(fields map[string]json.RawMessage, path string) json.RawMessage {
	for {
		name, rest, dotted := strings.Cut(path, ".")
		b := fields[name]
		if !dotted {
			return b
		}
		fields, path = nil, rest
		if json.Unmarshal(b, &fields) != nil {
			return nil
		}
	}
}

func (r *csvRows) end() error {
	r.w.Flush()
	return r.w.Error()
}

// Cell is a value in a CSV, without JSON's quotes; null and a missing field are empty.
func Cell(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}
