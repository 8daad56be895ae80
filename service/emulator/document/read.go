package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// TOML reads a file's text; file names it in mistakes. The error is an *Error.
func TOML(file string, text []byte) (*Table, error) {
	doc := &source{file: file, text: text}
	switch {
	case len(text) > MaxBytes:
		return nil, &Error{File: file, Msg: fmt.Sprintf("the file is larger than %d bytes", MaxBytes)}
	case !utf8.Valid(text):
		return nil, &Error{File: file, Msg: "the text is not UTF-8", Expected: "a TOML file in UTF-8"}
	}
	fields := map[string]any{}
	if err := toml.Unmarshal(text, &fields); err != nil {
		e := &Error{File: file, Msg: "the file is no TOML", Expected: "a TOML file"}
		if de := (*toml.DecodeError)(nil); errors.As(err, &de) {
			// Only message and place are taken: the long form quotes lines around.
			e.Line, e.Column = de.Position()
			e.Msg, e.Expected = strings.TrimPrefix(de.Error(), "toml: "), ""
		}
		return nil, e
	}
	doc.where = locate(text)
	return &Table{doc: doc, fields: fields}, nil
}

// JSON reads one object, and nothing after it. The error is an *Error.
func JSON(text []byte) (*Table, error) {
	var fields map[string]any
	if err := decode(text, &fields); err != nil {
		return nil, err
	}
	if fields == nil {
		return nil, &Error{Msg: "the body is no JSON object", Expected: anObject}
	}
	return &Table{doc: &source{}, fields: fields}, nil
}

const anObject = "an object like {\"name\": \"value\"}"

// JSONList reads an array of objects, or one object as a list of one. The error is an
// *Error. The tables share their mistakes.
func JSONList(text []byte) ([]*Table, error) {
	if b := bytes.TrimLeft(text, " \t\r\n"); len(b) == 0 || b[0] != '[' {
		t, err := JSON(text)
		return []*Table{t}, err
	}
	var list []any
	if err := decode(text, &list); err != nil {
		return nil, err
	}
	all := &Table{doc: &source{}, fields: map[string]any{"body": list}}
	tables := all.Tables("body")
	return tables, all.Err()
}

func decode(text []byte, into any) error {
	if len(text) > MaxBytes {
		return &Error{Msg: fmt.Sprintf("the body is larger than %d bytes", MaxBytes)}
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(into); err != nil {
		return &Error{Msg: "the body is no JSON object", Expected: anObject}
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return &Error{Msg: "something follows the JSON", Expected: anObject}
	}
	return nil
}

// locator collects the offsets of the tables and fields of a TOML text that was
// decoded without error.
type locator struct {
	where    map[string]int
	elements map[string]int // path of an array of tables -> elements so far
}

func locate(text []byte) map[string]int {
	l := &locator{where: map[string]int{}, elements: map[string]int{}}
	var p unstable.Parser
	p.Reset(text)
	table := ""
	for p.NextExpression() {
		switch n := p.Expression(); n.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = l.header(n)
		case unstable.KeyValue:
			l.field(table, n)
		default: // comments
		}
	}
	return l.where
}

// header is the path that a [table] or [[table]] opens. A name on the way that is an
// array of tables means its last element.
func (l *locator) header(n *unstable.Node) string {
	path, off := "", -1
	for it := n.Key(); it.Next(); {
		if count := l.elements[path]; path != "" && count > 0 {
			path = join(path, strconv.Itoa(count-1))
		}
		path = join(path, string(it.Node().Data))
		if off < 0 {
			off = int(it.Node().Raw.Offset)
		}
	}
	if n.Kind == unstable.ArrayTable {
		l.elements[path]++
	}
	if count := l.elements[path]; count > 0 {
		path = join(path, strconv.Itoa(count-1))
	}
	l.mark(path, off)
	return path
}

func (l *locator) field(table string, n *unstable.Node) {
	path, off := table, -1
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
			l.field(path, it.Node())
		}
	case unstable.Array:
		i := 0
		for it := n.Children(); it.Next(); {
			el := it.Node()
			if el.Kind == unstable.Comment {
				continue
			}
			at := off
			if el.Raw.Length > 0 {
				at = int(el.Raw.Offset)
			}
			path := join(path, strconv.Itoa(i))
			l.mark(path, at)
			l.value(path, el, at)
			i++
		}
	default: // a plain value stands where its name does
	}
}

// mark keeps the first place of a path: a table may be opened more than once.
func (l *locator) mark(path string, off int) {
	if _, ok := l.where[path]; !ok && off >= 0 {
		l.where[path] = off
	}
}
