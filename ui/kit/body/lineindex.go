package body

import (
	"bytes"
	"errors"
	"io"
	"sort"
	"unicode/utf8"
)

const (
	// rowBytes bounds a row: a longer line is shown as several rows, so that a
	// body of one endless line costs no more than any other.
	rowBytes = 4096
	// markEvery is the number of rows per mark of the index.
	markEvery = 128
	// scanBytes is how much the scanner reads at a time.
	scanBytes = 256 << 10
)

// rowMark is the start of a row: an entry of the sparse index.
type rowMark struct {
	off  int64
	row  int // counted from 0
	line int // the line the row belongs to, from 0
	seg  int // which part of the line it is, from 0
}

// bodyRow is one row with its bytes, without the line break.
type bodyRow struct {
	rowMark
	text  []byte
	spans []tokenSpan
}

// rowScanner cuts a reader into rows, front to back from a mark on.
type rowScanner struct {
	r     io.ReaderAt
	size  int64
	pos   rowMark // of the row that comes next
	buf   []byte
	start int   // offset of the next row in buf
	end   int64 // file offset of buf's end
}

func newRowScanner(r io.ReaderAt, size int64, from rowMark) *rowScanner {
	return &rowScanner{r: r, size: size, pos: from, end: from.off, buf: make([]byte, 0, scanBytes+rowBytes)}
}

// next returns the next row; its text is valid until the call after. The last
// one is followed by io.EOF.
func (s *rowScanner) next() (text []byte, mark rowMark, err error) {
	if len(s.buf)-s.start <= rowBytes+2 && s.end < s.size {
		if err := s.fill(); err != nil {
			return nil, rowMark{}, err
		}
	}
	rest := s.buf[s.start:]
	if len(rest) == 0 {
		return nil, s.pos, io.EOF
	}
	mark = s.pos
	s.pos.row++
	// A line of exactly a row's length ends with its row, not with an empty one.
	if i := bytes.IndexByte(rest[:min(len(rest), rowBytes+2)], '\n'); i >= 0 && (i <= rowBytes || rest[rowBytes] == '\r') {
		s.start += i + 1
		s.pos.off += int64(i + 1)
		s.pos.line++
		s.pos.seg = 0
		return bytes.TrimSuffix(rest[:i], []byte{'\r'}), mark, nil
	}
	n := min(len(rest), rowBytes)
	if n < len(rest) {
		n = runeCut(rest, n)
	}
	s.start += n
	s.pos.off += int64(n)
	s.pos.seg++
	return rest[:n], mark, nil
}

// runeCut moves a cut at n back so that it does not split a rune.
func runeCut(b []byte, n int) int {
	for back := 0; back < utf8.UTFMax && n-back > 0; back++ {
		if utf8.RuneStart(b[n-back]) {
			return n - back
		}
	}
	return n
}

func (s *rowScanner) fill() error {
	kept := copy(s.buf[:cap(s.buf)], s.buf[s.start:])
	s.start = 0
	want := min(int64(cap(s.buf)-kept), s.size-s.end)
	n, err := s.r.ReadAt(s.buf[kept:kept+int(want)], s.end)
	s.buf = s.buf[:kept+n]
	s.end += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if int64(n) < want {
		s.size = s.end // the file became shorter: show what is left
	}
	return nil
}

// rowIndex is the sparse index as far as it has been built.
type rowIndex struct {
	marks   []rowMark
	rows    int   // rows counted so far
	lines   int   // lines counted so far
	scanned int64 // bytes counted so far
	done    bool
}

// before is the last mark at or before a row.
func (x *rowIndex) before(row int) rowMark {
	i := sort.Search(len(x.marks), func(i int) bool { return x.marks[i].row > row })
	if i == 0 {
		return rowMark{}
	}
	return x.marks[i-1]
}

// beforeOffset is the last mark at or before a byte offset, and one further
// back, so that some rows above it come along.
func (x *rowIndex) beforeOffset(off int64) rowMark {
	i := sort.Search(len(x.marks), func(i int) bool { return x.marks[i].off > off })
	if i < 2 {
		return rowMark{}
	}
	return x.marks[i-2]
}

// scanRows builds the index and reports it in parts, each with the marks that are new;
// stop is asked between them.
func scanRows(r io.ReaderAt, size int64, stop func() bool, part func(rowIndex)) error {
	const partBytes = 4 << 20
	s := newRowScanner(r, size, rowMark{})
	var p rowIndex
	nextPart := int64(partBytes)
	lines := 0
	for {
		_, m, err := s.next()
		if errors.Is(err, io.EOF) {
			p.rows, p.lines, p.scanned, p.done = s.pos.row, lines, size, true
			part(p)
			return nil
		}
		if err != nil {
			return err
		}
		lines = m.line + 1
		if m.row%markEvery == 0 {
			p.marks = append(p.marks, m)
		}
		if m.off >= nextPart {
			if stop() {
				return nil
			}
			p.rows, p.lines, p.scanned = m.row, lines, m.off
			part(p)
			p = rowIndex{}
			nextPart = m.off + partBytes
		}
	}
}

// add adds a part of the scan: its marks, and how far it came.
func (x *rowIndex) add(p rowIndex) {
	x.marks = append(x.marks, p.marks...)
	x.rows, x.lines, x.scanned, x.done = p.rows, p.lines, p.scanned, p.done
}
