package textfile

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"zonedeck/model"
)

const sep = "\x1f"

// At names a place in a document by the names of tables and fields, and by an int for
// each list element, as in At("profiles", "acme", "zones", 0, "name").
func At(parts ...any) string {
	out := make([]string, len(parts))
	for i, p := range parts {
		out[i] = fmt.Sprint(p)
	}
	return strings.Join(out, sep)
}

// Fields maps the names of the fields and tables in a table to their offsets in the source, in bytes.
// at is the table, as At names it.
func (d Doc) Fields(at string) map[string]int {
	fields := map[string]int{}
	locate(d.source, func(p place) bool {
		name, in := strings.CutPrefix(p.path, at+sep)
		if _, seen := fields[name]; in && !seen && !strings.Contains(name, sep) {
			fields[name] = p.off
		}
		return true
	})
	return fields
}

// Fault is an Error at a place that At names, or at the nearest table around it in the
// document: a missing field is reported at its table.
func (d Doc) Fault(at, msg, expected string) *Error {
	e := &Error{File: d.file, Msg: shorten(msg), Expected: expected}
	nearest, off := "", -1
	locate(d.source, func(p place) bool {
		if len(p.path) > len(nearest) && (p.path == at || strings.HasPrefix(at, p.path+sep)) {
			nearest, off = p.path, p.off
		}
		return nearest != at
	})
	if off >= 0 {
		e.Line, e.Column = position(d.source, off)
	}
	return e
}

// longest limits a message, in bytes: it may quote a value of any length.
const longest = 300

func shorten(s string) string { return model.Cut(s, longest) }

// place is where a table or a field is in the source.
type place struct {
	path  string // as At makes it
	shape string // path with 0 for the index of each list element
	off   int    // in bytes
}

// locator visits the tables and fields of a document in their order.
type locator struct {
	p      unstable.Parser
	visit  func(place) bool
	ended  bool
	arrays map[string]int // path of an array of tables -> elements so far
}

// locate visits the places of a text that was decoded without error. It stops when visit returns false.
func locate(b []byte, visit func(place) bool) {
	l := &locator{visit: visit, arrays: map[string]int{}}
	l.p.Reset(b)
	var table place
	for !l.ended && l.p.NextExpression() {
		switch n := l.p.Expression(); n.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = l.table(n)
		case unstable.KeyValue:
			l.keyValue(table, n)
		default:
		}
	}
}

func (l *locator) table(n *unstable.Node) place {
	at := place{off: -1}
	for it := n.Key(); it.Next(); {
		if count := l.arrays[at.path]; at.path != "" && count > 0 {
			at = at.element(count - 1)
		}
		at = at.field(it.Node())
	}
	if n.Kind == unstable.ArrayTable {
		l.arrays[at.path]++
	}
	if count := l.arrays[at.path]; count > 0 {
		at = at.element(count - 1)
	}
	l.mark(at)
	return at
}

func (l *locator) keyValue(table place, n *unstable.Node) {
	at := table
	at.off = -1
	for it := n.Key(); it.Next(); {
		at = at.field(it.Node())
	}
	l.mark(at)
	l.value(at, n.Value())
}

func (l *locator) value(at place, n *unstable.Node) {
	switch n.Kind {
	case unstable.InlineTable:
		for it := n.Children(); it.Next(); {
			l.keyValue(at, it.Node())
		}
	case unstable.Array:
		i := 0
		for it := n.Children(); it.Next(); {
			el := at.element(i)
			if r := it.Node().Raw; r.Length > 0 {
				el.off = int(r.Offset)
			}
			l.mark(el)
			l.value(el, it.Node())
			i++
		}
	default:
	}
}

func (l *locator) mark(at place) {
	if !l.ended && at.off >= 0 {
		l.ended = !l.visit(at)
	}
}

// field is the place of a field in a table. It sets off if that is not known yet.
func (p place) field(key *unstable.Node) place {
	if p.off < 0 {
		p.off = int(key.Raw.Offset)
	}
	name := string(key.Data)
	return place{path: join(p.path, name), shape: join(p.shape, name), off: p.off}
}

func (p place) element(i int) place {
	return place{path: join(p.path, strconv.Itoa(i)), shape: join(p.shape, "0"), off: p.off}
}

func join(path, part string) string {
	if path == "" {
		return part
	}
	return path + sep + part
}
