package records

import (
	"bytes"
	"path/filepath"
	"strings"

	"zonedeck/service/rows"
)

// Format is how rows follow one another in a file.
type Format string

// The formats of a result.
const (
	Array  Format = "json"   // one array of rows
	Lines  Format = "ndjson" // a row on each line
	Values Format = "values" // JSON values one after the other, over any number of lines
	CSV    Format = "csv"    // rows below a header
)

// FormatOf is the format that the ending of a file's name says, "" for none.
func FormatOf(name string) Format {
	return map[string]Format{".json": Array, ".ndjson": Lines, ".jsonl": Lines, ".csv": CSV}[strings.ToLower(filepath.Ext(name))]
}

// splitter finds where a row ends. It remembers where in a row it stands, so that it can go on with more
// bytes and needs none that it has seen.
type splitter struct {
	format Format
	comma  byte
	depth  int
	quoted bool
	// begun says that the row's first byte, or the cell's in CSV, was seen.
	begun bool
}

// before counts the bytes between rows at the beginning of b. over says that no row follows in the array, and more that
// what does follow may belong to them, too. eof says that b ends with the file.
func (s *splitter) before(b []byte, eof bool) (n int, over, more bool) {
	if s.format == Lines {
		n, more = rows.Before(b)
		return n, false, more && !eof
	}
	for n < len(b) {
		switch c := b[n]; {
		case s.format == CSV && c == '\r':
			if n+1 == len(b) && !eof {
				return n, false, true
			}
			if n+1 < len(b) && b[n+1] != '\n' {
				return n, false, false
			}
		case s.format == CSV && c != '\n':
			return n, false, false
		case s.format == Array && c == ']':
			return n, true, false
		case c != ' ' && c != '\n' && c != '\r' && c != '\t':
			return n, false, false
		}
		n++
	}
	return n, false, false
}

// end goes on in b[from:] and reports the end of the row that begins with b, and where the next
// one may begin. If b ends before, seen is where to go on once there is more.
func (s *splitter) end(b []byte, from int, eof bool) (end, next, seen int, found bool) {
	switch s.format {
	case Lines:
		i := bytes.IndexByte(b[from:], '\n')
		if i < 0 {
			return len(b), len(b), len(b), eof
		}
		return from + i, from + i + 1, 0, true
	case CSV:
		return s.endCSV(b, from, eof)
	default:
		return s.endJSON(b, from, eof)
	}
}

// Classes of bytes outside of texts.
const (
	plain = iota
	opens
	closes
	quote
	comma
	blank
)

var classOf = func() (t [256]byte) {
	t['{'], t['['], t['}'], t[']'] = opens, opens, closes, closes
	t['"'], t[','] = quote, comma
	t[' '], t['\n'], t['\r'], t['\t'] = blank, blank, blank, blank
	return t
}()

func (s *splitter) endJSON(b []byte, from int, eof bool) (end, next, seen int, found bool) {
	i := from
	for i < len(b) {
		if s.quoted {
			after, back := closeText(b, i)
			if after < 0 {
				return len(b), len(b), back, eof
			}
			i, s.quoted = after, false
			if s.format == Values && s.depth == 0 {
				return i, i, 0, true
			}
			continue
		}
		class := classOf[b[i]]
		if class == plain {
			i++
			continue
		}
		if s.depth == 0 && i > 0 && s.format == Values && class != closes {
			return i, i, 0, true // a number or a word ends before this
		}
		if s.depth == 0 && s.format == Array && b[i] == ']' {
			return i, i, 0, true
		}
		switch class {
		case opens:
			s.depth++
		case quote:
			s.quoted = true
		case closes:
			s.depth = max(s.depth-1, 0)
			if s.format == Values && s.depth == 0 {
				return i + 1, i + 1, 0, true
			}
		case comma:
			if s.depth == 0 {
				return i, i + 1, 0, true
			}
		}
		i++
	}
	return len(b), len(b), len(b), eof
}

// closeText is the place after the quote that ends a text, for which b[i:] is inside. Without one
// it is -1, and back is where to go on: before a backslash whose second half is missing.
func closeText(b []byte, i int) (after, back int) {
	for at := i; ; {
		j := bytes.IndexByte(b[at:], '"')
		if j < 0 {
			back = len(b)
			if backslashes(b[i:])%2 == 1 {
				back--
			}
			return -1, back
		}
		at += j
		if backslashes(b[i:at])%2 == 0 {
			return at + 1, 0
		}
		at++
	}
}

// backslashes counts those at the end of b.
func backslashes(b []byte) int {
	n := 0
	for n < len(b) && b[len(b)-1-n] == '\\' {
		n++
	}
	return n
}

// endCSV reads quotes as encoding/csv does with LazyQuotes.
func (s *splitter) endCSV(b []byte, from int, eof bool) (end, next, seen int, found bool) {
	i := from
	for i < len(b) {
		if s.quoted {
			j := bytes.IndexByte(b[i:], '"')
			if j < 0 {
				return unclosed(b, eof), len(b), len(b), eof
			}
			i += j
			after, known := quoteEnds(b, i, eof)
			if !known {
				return len(b), len(b), i, false
			}
			if i += after; after == 1 {
				s.quoted = !cellEnds(b, i, s.comma, eof)
			}
			continue
		}
		switch c := b[i]; {
		case c == '"' && !s.begun:
			s.quoted, s.begun = true, true
		case c == s.comma:
			s.begun = false
		case c == '\n':
			return withoutReturn(b, i), i + 1, 0, true
		default:
			s.begun = true
		}
		i++
	}
	return unclosed(b, eof), len(b), len(b), eof
}

// unclosed is where a row ends that the file ends in.
func unclosed(b []byte, eof bool) int {
	if eof {
		return withoutReturn(b, len(b))
	}
	return len(b)
}

// withoutReturn is the end of b[:end] without a \r there.
func withoutReturn(b []byte, end int) int {
	if end > 0 && b[end-1] == '\r' {
		end--
	}
	return end
}

// quoteEnds says how many bytes a quote inside a quoted cell covers: 2 for one that is doubled. known is
// false where that depends on bytes after b.
func quoteEnds(b []byte, i int, eof bool) (n int, known bool) {
	switch {
	case i+1 == len(b):
		return 1, eof
	case b[i+1] == '"':
		return 2, true
	case b[i+1] == '\r' && i+2 == len(b) && !eof:
		return 1, false
	default:
		return 1, true
	}
}

// cellEnds reports whether a quoted cell is over before b[i:].
func cellEnds(b []byte, i int, comma byte, eof bool) bool {
	rest := b[i:]
	return len(rest) == 0 || rest[0] == comma || rest[0] == '\n' || rest[0] == '\r' && (len(rest) == 1 && eof || len(rest) > 1 && rest[1] == '\n')
}
