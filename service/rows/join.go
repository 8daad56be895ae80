package rows

import (
	"bytes"

	"github.com/tidwall/gjson"
)

// Joiner turns the rows of an answer that has one per line, and comes in pieces, into the text of a file: one per line
// or, with Array, an array with one per line. An answer that is nothing but an array on one line stands for its elements,
// so that the rows also come from a service that sends an array although lines were asked for. In any other answer each
// line is a row, even one that is an array. Lines that are not JSON pass unchanged. It holds one row in memory.
type Joiner struct {
	Array   bool
	Begun   bool   // rows stand before those that come
	partial []byte // the beginning of a line whose end did not come yet
	long    bool   // of this line, which is too long to be held, the beginning was given
	later   bool   // a line of this answer came before
	first   []byte // the first line of it, if that is an array and no other came yet
}

// Add appends to out the text for the rows that end in p.
func (j *Joiner) Add(out, p []byte) []byte {
	for {
		line, rest, whole := bytes.Cut(p, []byte("\n"))
		switch {
		case j.long:
			out = append(out, line...)
		case !whole && len(j.partial)+len(line) <= maxResultRow:
			j.partial = append(j.partial, line...)
			return out
		default:
			if len(j.partial) > 0 {
				line = append(j.partial, line...)
				j.partial = line[:0]
			}
			if j.long = !whole; j.long {
				out = append(j.before(j.row(out)), line...)
				j.later = true
			} else {
				out = j.line(out, line)
			}
		}
		if !whole {
			return out
		}
		j.long, p = false, rest
	}
}

// Flush ends an answer: it appends the row that needs no line break, because nothing follows.
func (j *Joiner) Flush(out []byte) []byte {
	last := j.partial
	j.partial, j.long = nil, false
	out = j.line(out, last)
	if j.first != nil {
		gjson.ParseBytes(j.first).ForEach(func(_, v gjson.Result) bool {
			out = append(j.before(out), v.Raw...)
			return true
		})
	}
	j.first, j.later = nil, false
	return out
}

// End appends what ends the file.
func (j *Joiner) End(out []byte) []byte {
	switch {
	case j.Array && !j.Begun:
		return append(out, "[]"...)
	case j.Array:
		return append(out, ']')
	case j.Begun:
		return append(out, '\n')
	default:
		return out
	}
}

func (j *Joiner) line(out, line []byte) []byte {
	line = rowOn(line)
	switch {
	case len(line) == 0:
		return out
	case !j.later && line[0] == '[' && Valid(line):
		j.later, j.first = true, bytes.Clone(line)
		return out
	}
	j.later = true
	return append(j.before(j.row(out)), line...)
}

// row appends the first line, if that was held: it is a row, because another follows.
func (j *Joiner) row(out []byte) []byte {
	if j.first == nil {
		return out
	}
	line := j.first
	j.first = nil
	return append(j.before(out), line...)
}

// before appends what stands before a row.
func (j *Joiner) before(out []byte) []byte {
	begun := j.Begun
	j.Begun = true
	switch {
	case begun && j.Array:
		return append(out, ",\n"...)
	case begun:
		return append(out, '\n')
	case j.Array:
		return append(out, '[')
	default:
		return out
	}
}
