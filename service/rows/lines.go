package rows

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// ErrNoRow is the error of a row that cannot be read.
var ErrNoRow = errors.New("it is not JSON")

// mark is a byte order mark.
const mark = "\xef\xbb\xbf"

// Before counts the bytes at the beginning of b that stand before a row of NDJSON: white space, and byte order marks, which
// files that were put together have in their middle. More says that what follows may be the beginning of one.
//
// This and the line break after it are all that parts two rows: a row is what stands on its line, whatever value that is.
func Before(b []byte) (n int, more bool) {
	for {
		if n = blanks(b, n); n == len(b) || b[n] != mark[0] {
			return n, false
		}
		if rest := b[n:]; !bytes.HasPrefix(rest, []byte(mark)) {
			return n, len(rest) < len(mark) && mark[:len(rest)] == string(rest)
		}
		n += len(mark)
	}
}

// Lines calls On for the rows of the NDJSON that is written to it, one after the other: each as it stands on its line,
// JSON or not, and valid only during the call. Close ends the last line. It holds one row in memory. Its errors are
// *RecordsError.
type Lines struct {
	On func(raw []byte) error
	// MaxBytes is how many bytes a row may have; 0 for the bound of a result's rows.
	MaxBytes int
	// Array says that the rows are those of an array, without its brackets, as a Joiner writes it.
	Array   bool
	partial []byte // the beginning of a line whose end did not come yet
	rows    int
}

func (l *Lines) Write(p []byte) (int, error) {
	for rest := p; ; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		if !whole {
			if most, over := l.bound(); len(l.partial)+len(line) > most {
				return 0, &RecordsError{Record: l.rows + 1, Err: over}
			}
			l.partial = append(l.partial, line...)
			return len(p), nil
		}
		if rest = after; len(l.partial) > 0 {
			line = append(l.partial, line...)
			l.partial = line[:0]
		}
		line = rowOn(line)
		if l.Array { // what was last before it came has no comma; that comes alone then
			line = bytes.TrimSuffix(line, []byte(","))
		}
		if err := l.row(line); err != nil {
			return 0, err
		}
	}
}

func (l *Lines) bound() (most int, over error) {
	if l.MaxBytes > 0 {
		return l.MaxBytes, errLongRecord
	}
	return maxResultRow, errLongResultRow
}

// Close takes what came after the last line break as a line, too.
func (l *Lines) Close() error {
	last := l.partial
	l.partial = nil
	return l.row(rowOn(last))
}

func (l *Lines) row(line []byte) error {
	if len(line) == 0 {
		return nil
	}
	l.rows++
	if err := l.On(line); err != nil {
		return &RecordsError{Record: l.rows, Err: err}
	}
	return nil
}

// rowOn is the row on a line, or nothing.
func rowOn(line []byte) []byte {
	n, _ := Before(line)
	for line = line[n:]; len(line) > 0 && blanks(line, len(line)-1) == len(line); {
		line = line[:len(line)-1]
	}
	return line
}

// throughLines calls on for the rows of NDJSON.
func throughLines(r io.Reader, l *Lines) error {
	if _, err := io.CopyBuffer(struct{ io.Writer }{l}, struct{ io.Reader }{r}, make([]byte, 256<<10)); err != nil {
		return err
	}
	return l.Close()
}

// eachLine calls take with every line; err is errLongRow for the beginning of a longer one.
func eachLine(br *bufio.Reader, take func(row int, line []byte, err error) error) error {
	for row := 1; ; row++ {
		line, err := readLine(br)
		long := errors.Is(err, errLongRow)
		if err == nil || long || errors.Is(err, io.EOF) {
			var wrong error
			if long {
				wrong = err
			}
			if err := take(row, line, wrong); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !long:
			return err
		}
	}
}

var (
	errLongInput = fmt.Errorf("it is longer than %d KiB: shorten it, or take it out", maxInputRow>>10)
	errLongRow   = fmt.Errorf("the row is longer than %d KiB; its beginning alone is kept", maxInputRow>>10)
)

// readLine reads a line of bounded length without its end; of a longer one it
// gives the beginning, errLongRow, and drops the rest. The last line comes with
// io.EOF.
func readLine(br *bufio.Reader) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := br.ReadSlice('\n')
		if room := maxInputRow - len(line); len(part) > room {
			long = true
			part = part[:room]
		}
		line = append(line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if long {
			// A long last line is reported first; the next call says io.EOF.
			return line, errLongRow
		}
		return line, err
	}
}
