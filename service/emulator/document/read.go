package document

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"zonedeck/service/emulator/answer"
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
	if err := checkSize(file, text); err != nil {
		return nil, err
	}
	fields := map[string]any{}
	if err := toml.Unmarshal(text, &fields); err != nil {
		e := &Error{File: file, Msg: "the file is not TOML", Expected: "a TOML file"}
		if de := (*toml.DecodeError)(nil); errors.As(err, &de) {
			// Only message and place are taken: the long form quotes lines around.
			e.Line, e.Column = de.Position()
			e.Msg, e.Expected = strings.TrimPrefix(de.Error(), "toml: "), ""
		}
		return nil, e
	}
	doc.positions = locate(text)
	return &Table{doc: doc, fields: fields}, nil
}

// JSON reads a body that is one object, and nothing after it. The error is an *Error.
func JSON(body []byte) (*Table, error) {
	var fields map[string]jsontext.Value
	if err := decode(body, &fields); err != nil {
		return nil, err
	}
	return Fields(fields), nil
}

// Fields makes a table of JSON values that did not come in one body.
func Fields(fields map[string]jsontext.Value) *Table {
	return &Table{doc: &source{json: true}, fields: anyValues(fields)}
}

// JSONList reads an array of objects, or one object as a list of one. The error is an
// *Error. The tables share their mistakes.
func JSONList(body []byte) ([]*Table, error) {
	if jsontext.Value(bytes.TrimLeft(body, " \t\r\n")).Kind() != '[' {
		t, err := JSON(body)
		return []*Table{t}, err
	}
	var list jsontext.Value
	if err := decode(body, &list); err != nil {
		return nil, err
	}
	all := Fields(map[string]jsontext.Value{"body": list})
	tables := all.Tables("body")
	return tables, all.Err()
}

// Body reads the body of a request. Its Content-Type must be JSON unless the reader is
// loose. The error is an *Error.
func Body(w http.ResponseWriter, r *http.Request, most int64, loose bool) ([]byte, error) {
	if !answer.IsJSON(r.Header) && !loose {
		return nil, &Error{Field: "Content-Type", Msg: "must be application/json", says: true}
	}
	body, err := answer.ReadBody(w, r, most)
	if err != nil {
		return nil, &Error{Field: "body", Msg: fmt.Sprintf("could not be read: at most %d bytes within %s", most, answer.BodyTimeout), says: true}
	}
	return body, nil
}

// Object is [Body] and [JSON] in one.
func Object(w http.ResponseWriter, r *http.Request, most int64, loose bool) (*Table, error) {
	body, err := Body(w, r, most, loose)
	if err != nil {
		return nil, err
	}
	t, err := JSON(body)
	if err != nil {
		return nil, err
	}
	return t.Loose(loose), nil
}

// decode reads JSON, and refuses an object with a repeated name at any depth.
func decode(body []byte, into any) error {
	err := json.Unmarshal(body, into)
	bad := (*jsontext.SyntacticError)(nil)
	switch {
	case err == nil && string(bytes.TrimSpace(body)) != "null":
		return nil
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &bad):
		var path []string
		for name := range bad.JSONPointer.Tokens() {
			path = append(path, name)
		}
		return &Error{Field: pretty(strings.Join(path, sep)), Msg: "is given twice", says: true}
	case errors.As(err, &bad):
		return &Error{Field: "body", Msg: fmt.Sprintf("must be a JSON object: it cannot be read after byte %d", bad.ByteOffset), says: true}
	}
	return &Error{Field: "body", Msg: "must be a JSON object", says: true}
}

// open gives a value of a body the form that TOML has it in; the elements of a list and
// the fields of an object stay closed. A number is a json.Number.
func open(v any) any {
	raw, isJSON := v.(jsontext.Value)
	if !isJSON {
		return v
	}
	var err error
	switch raw.Kind() {
	case '{':
		var fields map[string]jsontext.Value
		if err = json.Unmarshal(raw, &fields); err == nil {
			return anyValues(fields)
		}
	case '[':
		var list []jsontext.Value
		if err = json.Unmarshal(raw, &list); err == nil {
			out := make([]any, len(list))
			for i, el := range list {
				out[i] = el
			}
			return out
		}
	case '0':
		return stdjson.Number(bytes.TrimSpace(raw))
	default:
		var v any
		if err = json.Unmarshal(raw, &v); err == nil {
			return v
		}
	}
	return err // of no kind
}

func anyValues(fields map[string]jsontext.Value) map[string]any {
	out := make(map[string]any, len(fields))
	for name, v := range fields {
		out[name] = v
	}
	return out
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

// key follows the names of a table or a field from a path; off is where they stand. A name on
// the way that is an array of tables means its last element.
func (l *locator) key(path string, n *unstable.Node) (_ string, off int) {
	off = -1
	for it := n.Key(); it.Next(); {
		if count := l.elements[path]; path != "" && count > 0 {
			path = join(path, strconv.Itoa(count-1))
		}
		path = join(path, string(it.Node().Data))
		if off < 0 {
			off = int(it.Node().Raw.Offset)
		}
	}
	return path, off
}

// header is the path that a [table] or [[table]] opens.
func (l *locator) header(n *unstable.Node) string {
	path, off := l.key("", n)
	if n.Kind == unstable.ArrayTable {
		l.mark(path, off)
		l.elements[path]++
	}
	if count := l.elements[path]; count > 0 {
		path = join(path, strconv.Itoa(count-1))
	}
	l.mark(path, off)
	return path
}

func (l *locator) field(table string, n *unstable.Node) {
	path, off := l.key(table, n)
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
