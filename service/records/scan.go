package records

import (
	"bytes"
	"errors"
	"io"
)

// maxRow bounds one row, in bytes. A longer one counts and is not read.
const maxRow = 64 << 20

const scanBuffer = 1 << 20

// scanner reads the rows of a part of a file, which begins where a row does.
type scanner struct {
	r        io.ReaderAt
	off, end int64 // where the next bytes come from, and where the part ends
	last     bool  // the part ends with the file
	split    splitter
	longest  int // row, in bytes
	ahead    int // bytes that are read next; 0 for as many as there is room for
	buf      []byte
	lo, hi   int
	// at is where the current row begins; long says that it is over longest, and cut that the file
	// ends within it.
	at        int64
	long, cut bool
	over      bool // the array has ended, at pos
}

func newScanner(r io.ReaderAt, l layout, from, to int64, buf []byte) *scanner {
	if buf == nil {
		buf = make([]byte, scanBuffer)
	}
	return &scanner{r: r, off: from, end: to, last: to == l.size, split: splitter{format: l.format, comma: l.comma}, longest: l.longest, buf: buf}
}

// pos is where in the file the bytes begin that no row was made of.
func (s *scanner) pos() int64 { return s.off - int64(s.hi-s.lo) }

// firstAhead is how much is read at a place that was gone to, before more is: rows in another order than the file's are
// not beside one another.
const firstAhead = 4 << 10

// seek goes to a row that begins at the given place; what is in the buffer is not read again.
func (s *scanner) seek(at int64) {
	s.over = false
	if first := s.off - int64(s.hi); at >= first && at < s.off {
		s.lo = int(at - first)
		return
	}
	s.off, s.lo, s.hi, s.ahead = at, 0, 0, firstAhead
}

// fill reads on. It keeps what is in buf[lo:hi].
func (s *scanner) fill() error {
	if s.lo > 0 {
		copy(s.buf, s.buf[s.lo:s.hi])
		s.hi -= s.lo
		s.lo = 0
	}
	switch {
	case s.hi == len(s.buf):
		s.buf = append(make([]byte, 0, 2*len(s.buf)), s.buf...)[:2*len(s.buf)]
	case len(s.buf) > 8*scanBuffer && s.hi < scanBuffer: // it was for one row
		s.buf = append(make([]byte, 0, scanBuffer), s.buf[:s.hi]...)[:scanBuffer]
	}
	size := min(int64(len(s.buf)-s.hi), s.end-s.off)
	if s.ahead > 0 {
		size = min(size, int64(s.ahead))
		if s.ahead *= 4; s.ahead >= len(s.buf) {
			s.ahead = 0
		}
	}
	n, err := s.r.ReadAt(s.buf[s.hi:s.hi+int(size)], s.off)
	s.hi += n
	s.off += int64(n)
	if errors.Is(err, io.EOF) {
		err = nil
		if n == 0 {
			err = io.ErrUnexpectedEOF // the file has become shorter
		}
	}
	return err
}

func (s *scanner) eof() bool { return s.off >= s.end }

// next gives the next row, valid until the call after it; io.EOF after the last.
func (s *scanner) next() ([]byte, error) {
	if s.over {
		return nil, io.EOF
	}
	for {
		n, over, more := s.split.before(s.buf[s.lo:s.hi], s.eof())
		s.lo += n
		if over {
			s.over = true
			return nil, io.EOF
		}
		if s.lo < s.hi && !more {
			break
		}
		if s.eof() {
			return nil, io.EOF
		}
		if err := s.fill(); err != nil {
			return nil, err
		}
	}
	return s.row()
}

// row reads the row that begins at lo.
func (s *scanner) row() ([]byte, error) {
	s.at, s.long, s.cut = s.pos(), false, false
	s.split.depth, s.split.quoted, s.split.begun = 0, false, false
	for from := 0; ; {
		eof := s.eof()
		end, next, seen, found := s.split.end(s.buf[s.lo:s.hi], from, eof)
		if found {
			row := s.buf[s.lo : s.lo+end]
			s.lo += next
			s.cut = eof && s.last && s.lo == s.hi && (s.split.quoted || s.split.depth > 0)
			if s.long || len(row) > s.longest {
				s.long = true
				return nil, nil
			}
			return bytes.TrimRight(row, s.split.trims()), nil
		}
		from = seen
		if s.hi-s.lo > s.longest {
			s.long = true
		}
		if s.long && from > 0 { // what was seen is not needed
			keep := from - 1 // a \r before the end of a line
			s.lo += keep
			from = 1
		}
		if err := s.fill(); err != nil {
			return nil, err
		}
	}
}

// trims are the bytes that end a row without being part of it.
func (s *splitter) trims() string {
	if s.format == CSV {
		return ""
	}
	return " \t\r\n"
}
