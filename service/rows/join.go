package rows

import (
	"bytes"

	"github.com/tidwall/gjson"
)

// Joiner turns the rows of an answer that has one per line, and comes in pieces, into the text of a file: one per line
// or, with Array, an array with one per line. A line that is an array stands for its elements, so that the rows also come
// from a service that sends an array although lines were asked for. Lines that are not JSON pass unchanged. It holds one
// row in memory.
type Joiner struct {
	Array bool
	Begun bool   // rows stand before those that come
	held  []byte // the beginning of a line whose end did not come yet
	long  bool   // of this line, which is too long to be held, the beginning was given
}

// Add appends to out the text for the rows that end in p.
func (j *Joiner) Add(out, p []byte) []byte {
	for {
		line, rest, whole := bytes.Cut(p, []byte("\n"))
		switch {
		case j.long:
			out = append(out, line...)
		case !whole && len(j.held)+len(line) <= maxResultRow:
			j.held = append(j.held, line...)
			return out
		default:
			if len(j.held) > 0 {
				line = append(j.held, line...)
				j.held = line[:0]
			}
			if j.long = !whole; j.long {
				out = append(j.before(out), line...)
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

// Flush appends the row that needs no line break, because nothing follows.
func (j *Joiner) Flush(out []byte) []byte {
	last := j.held
	j.held, j.long = nil, false
	return j.line(out, last)
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
	case line[0] == '[' && Valid(line):
		gjson.ParseBytes(line).ForEach(func(_, v gjson.Result) bool {
			out = append(j.before(out), v.Raw...)
			return true
		})
		return out
	}
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
