package rows

import (
	"bytes"
	"errors"
	"io"

	"github.com/tidwall/gjson"
)

var errNoRow = errors.New("it is not JSON")

// Lines gives the rows of NDJSON that is written to it to On, one after the other: each is
// valid JSON, and good for the call alone. A line that is an array counts as its elements.
// Close ends the last line. It holds one row in memory; its errors are *RecordsError.
type Lines struct {
	On func(raw []byte) error
	// Valid says that every row is known to be valid JSON, so that none is looked at for that.
	Valid bool
	held  []byte // the beginning of a line whose end did not come yet
	rows  int
}

func (l *Lines) Write(p []byte) (int, error) {
	for rest := p; ; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		if !whole {
			if len(l.held)+len(line) > maxResultRow {
				return 0, &RecordsError{Record: l.rows + 1, Err: errLongResultRow}
			}
			l.held = append(l.held, line...)
			return len(p), nil
		}
		if rest = after; len(l.held) > 0 {
			line = append(l.held, line...)
			l.held = line[:0]
		}
		if err := l.line(line); err != nil {
			return 0, err
		}
	}
}

// Close takes what came after the last line break as a line, too.
func (l *Lines) Close() error {
	last := l.held
	l.held = nil
	return l.line(last)
}

func (l *Lines) line(line []byte) error {
	line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))) // each part may begin with a mark
	if len(line) == 0 {
		return nil
	}
	if !l.Valid && !gjson.ValidBytes(line) {
		return &RecordsError{Record: l.rows + 1, Err: errNoRow}
	}
	if line[0] != '[' {
		return l.row(line)
	}
	var err error
	gjson.ParseBytes(line).ForEach(func(_, v gjson.Result) bool {
		err = l.row([]byte(v.Raw))
		return err == nil
	})
	return err
}

func (l *Lines) row(raw []byte) error {
	if l.rows++; l.On == nil {
		return nil
	}
	if err := l.On(raw); err != nil {
		return &RecordsError{Record: l.rows, Err: err}
	}
	return nil
}

// throughLines gives the rows of NDJSON to on.
func throughLines(r io.Reader, valid bool, on func(raw []byte) error) error {
	l := &Lines{On: on, Valid: valid}
	if _, err := io.CopyBuffer(struct{ io.Writer }{l}, struct{ io.Reader }{r}, make([]byte, 256<<10)); err != nil {
		return err
	}
	return l.Close()
}
