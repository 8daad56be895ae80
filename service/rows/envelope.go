package rows

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// The bounds on what stands beside the rows of an envelope.
const (
	maxBeside = 64 << 10 // of one field, in bytes
	maxFields = 100
)

// Envelope reads a JSON object that has the rows of a result in one of its fields, and gives
// them one a line. It holds one row in memory. It is used by one goroutine.
type Envelope struct {
	// Fields are the other fields, as far as they were read; Rows counts the rows.
	Fields map[string]json.RawMessage
	Rows   int

	field  string
	from   *source
	src    *meter
	dec    *json.Decoder
	open   bool // within the array of rows
	began  bool
	found  bool
	line   bytes.Buffer
	broken error
}

// NewEnvelope reads r, whose rows are in a field.
func NewEnvelope(r io.Reader, field string) *Envelope {
	from := &source{r: r}
	src := &meter{r: from, remaining: maxResultRow, over: errLongResultRow}
	return &Envelope{Fields: map[string]json.RawMessage{}, field: field, from: from, src: src, dec: json.NewDecoder(src)}
}

// source remembers the error of a reader.
type source struct {
	r   io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// Read gives the rows one a line. The error is io.EOF after the whole object, a *RecordsError for
// one that is not as it should be, or the reader's; io.ErrUnexpectedEOF says that the object is not
// whole.
func (e *Envelope) Read(p []byte) (int, error) {
	for e.line.Len() == 0 {
		if e.broken != nil {
			return 0, e.broken
		}
		e.broken = e.next()
	}
	return e.line.Read(p)
}

// next reads on to the next row, or to the end.
func (e *Envelope) next() error {
	e.src.remaining = maxResultRow
	if !e.began {
		if err := e.delim('{'); err != nil {
			return err
		}
		e.began = true
	}
	for !e.open {
		if !e.dec.More() {
			return e.end()
		}
		name, err := e.dec.Token()
		if err != nil {
			return e.fault(err)
		}
		if err := e.value(fmt.Sprint(name)); err != nil {
			return err
		}
	}
	if !e.dec.More() {
		e.open = false
		return e.delim(']')
	}
	var raw json.RawMessage
	if err := e.dec.Decode(&raw); err != nil {
		return e.fault(err)
	}
	e.Rows++
	if err := json.Compact(&e.line, raw); err != nil {
		return e.fault(err)
	}
	e.line.WriteByte('\n')
	return nil
}

// value reads the value of a field, up to the first row where it holds them.
func (e *Envelope) value(name string) error {
	if name == e.field {
		if e.found {
			return e.fault(fmt.Errorf("%s is there twice", Quote(name)))
		}
		e.found = true
		tok, err := e.dec.Token()
		switch {
		case err != nil:
			return e.fault(err)
		case tok == nil: // null: there are none
			return nil
		case tok != json.Delim('['):
			return e.fault(fmt.Errorf("%s is not an array", Quote(name)))
		}
		e.open = true
		return nil
	}
	var raw json.RawMessage
	if err := e.dec.Decode(&raw); err != nil {
		return e.fault(err)
	}
	if len(raw) <= maxBeside && len(e.Fields) < maxFields {
		e.Fields[name] = raw
	}
	return nil
}

func (e *Envelope) end() error {
	if err := e.delim('}'); err != nil {
		return err
	}
	switch _, err := e.dec.Token(); {
	case errors.Is(err, io.EOF):
		return io.EOF
	case err != nil:
		return e.fault(err)
	default:
		return e.fault(errors.New("more follows the object"))
	}
}

func (e *Envelope) delim(want json.Delim) error {
	tok, err := e.dec.Token()
	if err == nil && tok != want {
		err = errors.New("it is not a JSON object")
	}
	return e.fault(err)
}

// fault names the row at which the text is not as it should be. A reader's own error stays.
func (e *Envelope) fault(err error) error {
	switch {
	case err == nil:
		return nil
	case e.from.err != nil:
		return e.from.err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return io.ErrUnexpectedEOF
	default:
		return &RecordsError{Record: e.Rows + 1, Err: err}
	}
}
