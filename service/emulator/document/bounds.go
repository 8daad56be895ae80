package document

import (
	"bytes"
	"fmt"

	"github.com/pelletier/go-toml/v2/unstable"
)

// bounded refuses a text with too many tables or fields. It stops at a fault of the text,
// which decoding will tell. The error is an *Error.
func bounded(file string, text []byte) error {
	var p unstable.Parser
	p.Reset(text)
	tables, fields := 0, 0
	for p.NextExpression() {
		n := p.Expression()
		switch n.Kind {
		case unstable.Table, unstable.ArrayTable:
			tables, fields = tables+parts(n), 0
		default: // a comment has no fields
			fields += count(n)
		}
		if tables > maxTables {
			return beyond(file, text, n, "the file has too many tables", maxTables)
		}
		if fields > maxFields {
			return beyond(file, text, n, "the table has too many fields", maxFields)
		}
	}
	return nil
}

// beyond is the mistake that an expression is one too many.
func beyond(file string, text []byte, n *unstable.Node, msg string, most int) error {
	it := n.Key()
	it.Next()
	before := text[:it.Node().Raw.Offset]
	return &Error{
		File: file, Line: bytes.Count(before, []byte("\n")) + 1, Column: len(before) - bytes.LastIndexByte(before, '\n'),
		Msg: msg, Expected: fmt.Sprintf("at most %d", most),
	}
}

// count is the number of fields of an expression, those in its value too: of a list those
// of the element with most.
func count(n *unstable.Node) int {
	all := 0
	switch n.Kind {
	case unstable.KeyValue:
		return parts(n) + count(n.Value())
	case unstable.InlineTable:
		for it := n.Children(); it.Next(); {
			all += count(it.Node())
		}
	case unstable.Array:
		for it := n.Children(); it.Next(); {
			all = max(all, count(it.Node()))
		}
	default: // a plain value
	}
	return all
}

// parts is how many tables or fields a key names: a.b.c is three.
func parts(n *unstable.Node) int {
	all := 0
	for it := n.Key(); it.Next(); {
		all++
	}
	return all
}
