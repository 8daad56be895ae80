package textfile

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"zonedeck/model"
)

const sep = "\x1f"

// At names a place in a document: the names of tables and fields, and an int for
// the element of a list, as in At("profiles", "acme", "zones", 0, "name").
func At(parts ...any) string {
	out := make([]string, len(parts))
	for i, p := range parts {
		out[i] = fmt.Sprint(p)
	}
	return strings.Join(out, sep)
}

// Offset is where a place made by At stands in the source, in bytes; -1 where the document lacks it.
func (d Doc) Offset(at string) int {
	if off, ok := d.where[at]; ok {
		return off
	}
	return -1
}

// Fault is an Error at a place made by At, or at the nearest table around it
// that the document has (a missing field is reported at its table).
func (d Doc) Fault(at, msg, expected string) *Error {
	e := &Error{File: d.file, Msg: shorten(msg), Expected: expected}
	for {
		if off, ok := d.where[at]; ok {
			before := d.source[:off]
			e.Line = bytes.Count(before, []byte("\n")) + 1
			e.Column = off - bytes.LastIndexByte(before, '\n')
			return e
		}
		i := strings.LastIndex(at, sep)
		if i < 0 {
			return e
		}
		at = at[:i]
	}
}

// longest is how much of a message is kept, in bytes: it may quote a value of
// any length.
const longest = 300

func shorten(s string) string { return model.Cut(s, longest) }

// locator collects the offset of every table and field of a document.
type locator struct {
	p      unstable.Parser
	where  map[string]int
	arrays map[string]int // path of an array of tables -> elements so far
}

// locate is run on text that was decoded without error.
func locate(b []byte) map[string]int {
	l := &locator{where: map[string]int{}, arrays: map[string]int{}}
	l.p.Reset(b)
	table := ""
	for l.p.NextExpression() {
		switch n := l.p.Expression(); n.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = l.table(n)
		case unstable.KeyValue:
			l.keyValue(table, n)
		default:
		}
	}
	return l.where
}

func (l *locator) table(n *unstable.Node) string {
	path := ""
	off := -1
	for it := n.Key(); it.Next(); {
		if count := l.arrays[path]; path != "" && count > 0 {
			path = join(path, strconv.Itoa(count-1))
		}
		path = join(path, string(it.Node().Data))
		if off < 0 {
			off = int(it.Node().Raw.Offset)
		}
	}
	if n.Kind == unstable.ArrayTable {
		l.arrays[path]++
	}
	if count := l.arrays[path]; count > 0 {
		path = join(path, strconv.Itoa(count-1))
	}
	l.mark(path, off)
	return path
}

func (l *locator) keyValue(table string, n *unstable.Node) {
	path := table
	off := -1
	for it := n.Key(); it.Next(); {
		path = join(path, string(it.Node().Data))
		if off < 0 {
			off = int(it.Node().Raw.Offset)
		}
	}
	l.mark(path, off)
	l.value(path, n.Value(), off)
}

func (l *locator) value(path string, n *unstable.Node, off int) {
	switch n.Kind {
	case unstable.InlineTable:
		for it := n.Children(); it.Next(); {
			l.keyValue(path, it.Node())
		}
	case unstable.Array:
		i := 0
		for it := n.Children(); it.Next(); {
			el := join(path, strconv.Itoa(i))
			at := off
			if r := it.Node().Raw; r.Length > 0 {
				at = int(r.Offset)
			}
			l.mark(el, at)
			l.value(el, it.Node(), at)
			i++
		}
	default:
	}
}

// mark keeps the first place of a path: a table may be opened more than once.
func (l *locator) mark(path string, off int) {
	if _, ok := l.where[path]; !ok && off >= 0 {
		l.where[path] = off
	}
}

func join(path, part string) string {
	if path == "" {
		return part
	}
	return path + sep + part
}
