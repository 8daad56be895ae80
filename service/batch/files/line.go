package files

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Line is a line of results.
type Line struct {
	N          int64    `json:"n"` // number of the item
	URL        string   `json:"url"`
	Class      string   `json:"class"`
	Cause      string   `json:"cause"`
	Status     int      `json:"status"`
	MS         int64    `json:"ms"`
	Bytes      int64    `json:"bytes"`
	Cost       *float64 `json:"cost,omitempty"` // dollars; nil without a rate
	Tries      int      `json:"tries"`
	FirstClass string   `json:"first_class,omitempty"` // of the first try, if it is another
	SHA256     string   `json:"sha256,omitempty"`      // of the body, in hex; empty without one
	BodyAt     *BodyAt  `json:"body_at,omitempty"`
	Missing    []string `json:"missing,omitempty"` // required fields that were not there
	Rule       string   `json:"rule"`
	Zone       string   `json:"zone"`
	Summary    string   `json:"summary"`
	Error      string   `json:"error,omitempty"`
}

// lineStart begins every line that a Log wrote.
const lineStart = `{"n":`

// scanLines gives the whole lines of r, each at most MaxLine long. It stops at a line that is cut short, and at a byte
// of zero, which stands where a power cut kept a block from being written.
func scanLines(r io.Reader) *bufio.Scanner {
	s := bufio.NewScanner(r)
	s.Buffer(nil, MaxLine)
	s.Split(func(b []byte, _ bool) (int, []byte, error) {
		end := bytes.IndexByte(b, '\n')
		if zero := bytes.IndexByte(b[:max(end, 0)], 0); zero >= 0 || end < 0 && bytes.IndexByte(b, 0) >= 0 {
			return 0, nil, bufio.ErrFinalToken
		}
		if end < 0 {
			return 0, nil, nil
		}
		return end + 1, b[:end], nil
	})
	return s
}

// scanError is why the scanner stopped before the end, if it was an error.
func scanError(s *bufio.Scanner) error {
	if err := s.Err(); !errors.Is(err, bufio.ErrTooLong) {
		return err
	}
	return fmt.Errorf("%w: it has more than %d bytes", ErrDamaged, MaxLine)
}

// itemOf is the number of the item that a line is about.
func itemOf(raw []byte) (int64, error) {
	rest, is := bytes.CutPrefix(raw, []byte(lineStart))
	digits, _, _ := bytes.Cut(rest, []byte{','})
	n, err := strconv.ParseInt(string(digits), 10, 64)
	if !is || err != nil || n < 0 {
		return 0, fmt.Errorf("%w: it does not begin with the number of an item, as in %s12,", ErrDamaged, lineStart)
	}
	return n, nil
}

// parseLine reads a line of a worker's results.
func parseLine(raw []byte, worker string) (Line, error) {
	var line Line
	number, err := itemOf(raw)
	if err != nil {
		return Line{}, err
	}
	if err := json.Unmarshal(raw, &line); err != nil {
		return Line{}, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	at := line.BodyAt
	if line.N != number || at != nil && (at.Worker != worker || !at.possible()) {
		return Line{}, fmt.Errorf("%w: its number or its body's place cannot be", ErrDamaged)
	}
	return line, nil
}

// lineError says in which line of a file an error is, by the offset at which that line begins.
func lineError(f io.ReaderAt, name string, offset int64, err error) error {
	number := 1
	before := bufio.NewReader(io.NewSectionReader(f, 0, offset))
	for {
		_, short := before.ReadSlice('\n')
		if short == nil {
			number++
		} else if !errors.Is(short, bufio.ErrBufferFull) {
			return fmt.Errorf("%s, line %d: %w", name, number, err)
		}
	}
}
