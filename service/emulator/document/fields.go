package document

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/pelletier/go-toml/v2"
)

// Has reports whether the document has the field.
func (t *Table) Has(name string) bool {
	_, ok := t.take(name)
	return ok
}

func (t *Table) take(name string) (any, bool) {
	t.read = append(t.read, name)
	v := open(t.fields[name])
	return v, v != nil // null counts as missing
}

// wrong records a value of the wrong kind.
func (t *Table) wrong(name, msg, expected string) {
	t.Fail(name, msg, expected)
	t.doc.errs[len(t.doc.errs)-1].kind = true
}

func (t *Table) wrongKind(name string, v any, toml, json string) {
	if t.doc.json {
		toml = json
	}
	t.wrong(name, fmt.Sprintf("%s is %s", name, kind(v)), toml)
}

// Names are the names of all fields, in order.
func (t *Table) Names() []string { return slices.Sorted(maps.Keys(t.fields)) }

// Set adds a field to a body.
func (t *Table) Set(name string, v jsontext.Value) { t.fields[name] = v }

// MarshalJSON gives the fields of a body as they came.
func (t *Table) MarshalJSON() ([]byte, error) { return json.Marshal(t.fields) }

// Peek is a field of text, or "" if it is missing or of another kind. It records no
// mistake.
func (t *Table) Peek(name string) string {
	s, _ := open(t.fields[name]).(string)
	return s
}

// Raw is a field of a body as it was sent, including null; nil if it is missing.
func (t *Table) Raw(name string) jsontext.Value {
	t.read = append(t.read, name)
	raw, _ := t.fields[name].(jsontext.Value)
	return raw
}

func kind(v any) string {
	switch v.(type) {
	case string:
		return "text"
	case bool:
		return "true or false"
	case int64, float64, json.Number:
		return "a number"
	case []any:
		return "a list"
	case map[string]any:
		return "a table"
	case time.Time, toml.LocalDate, toml.LocalDateTime, toml.LocalTime:
		return "a date or a time"
	default:
		return "of an unknown kind"
	}
}

// value is a field of one kind, which is named for TOML and for JSON, or T's zero value.
func value[T any](t *Table, name, toml, json string) (out T) {
	v, ok := t.take(name)
	if !ok {
		return out
	}
	if out, ok = v.(T); !ok {
		t.wrongKind(name, v, toml, json)
	}
	return out
}

// Text is a field of text.
func (t *Table) Text(name string) string {
	return value[string](t, name, "text in quotes", "a string")
}

// Word is a field of text that is not empty.
func (t *Table) Word(name string) string {
	v := t.fields[name]
	s, _ := open(v).(string)
	if t.read = append(t.read, name); v != nil && s == "" {
		t.Refuse(name, "must be a string that is not empty")
	}
	return s
}

// Words is a field of one Word or of a list of them that is not empty.
func (t *Table) Words(name string) []string {
	v := t.fields[name]
	if t.read = append(t.read, name); v == nil {
		return nil
	}
	list := open(v)
	if s, ok := list.(string); ok && s != "" {
		return []string{s}
	}
	els, _ := list.([]any)
	out := make([]string, len(els))
	for i, el := range els {
		s, ok := open(el).(string)
		if !ok {
			els = nil
			break
		}
		out[i] = s
	}
	if len(els) == 0 {
		t.Refuse(name, "must be a string or an array of strings")
		return nil
	}
	return out
}

// OneOf is a field of text with a closed set of values, or "" if it is missing.
func (t *Table) OneOf(name string, values ...string) string {
	s := t.Text(name)
	if slices.Contains(values, s) {
		return s
	}
	if _, isText := open(t.fields[name]).(string); isText {
		t.wrong(name, fmt.Sprintf("%s is not a known %s", Quote(s), strings.ReplaceAll(name, "_", " ")), "one of "+strings.Join(values, ", "))
	}
	return ""
}

// Bool is true or false.
func (t *Table) Bool(name string) bool {
	return value[bool](t, name, "true or false without quotes", "true or false")
}

// Number is Int, with a value for a missing field.
func (t *Table) Number(name string, lowest, highest, otherwise int) int {
	if !t.Has(name) {
		return otherwise
	}
	return int(t.Int(name, int64(lowest), int64(highest)))
}

// Int is a whole number from lowest to highest.
func (t *Table) Int(name string, lowest, highest int64) int64 {
	v, ok := t.take(name)
	if !ok {
		return 0
	}
	expected := fmt.Sprintf("a whole number from %d to %d", lowest, highest)
	n, ok := v.(int64)
	if num, isJSON := v.(json.Number); isJSON {
		var err error
		if n, err = strconv.ParseInt(num.String(), 10, 64); err != nil {
			t.wrong(name, fmt.Sprintf("%s is not a whole number", Quote(num.String())), expected)
			return 0
		}
		ok = true
	}
	switch {
	case !ok:
		t.wrongKind(name, v, expected, expected)
		return 0
	case n < lowest || n > highest:
		t.wrong(name, fmt.Sprintf("%d is out of range", n), expected)
		return 0
	}
	return n
}

// Float is a number from lowest to highest.
func (t *Table) Float(name string, lowest, highest float64) float64 {
	v, ok := t.take(name)
	if !ok {
		return 0
	}
	expected := fmt.Sprintf("a number from %v to %v", lowest, highest)
	var f float64
	switch n := v.(type) {
	case float64:
		f = n
	case int64:
		f = float64(n)
	case json.Number:
		f, _ = n.Float64() // out of range is infinite, which is refused below
	default:
		t.wrongKind(name, v, expected, expected)
		return 0
	}
	if math.IsNaN(f) || f < lowest || f > highest {
		t.wrong(name, fmt.Sprintf("%v is out of range", f), expected)
		return 0
	}
	return f
}

// Duration is text like "250ms", "36h" or "7d", not below zero and at most longest.
func (t *Table) Duration(name string, longest time.Duration) time.Duration {
	d := t.Signed(name, longest)
	if d < 0 {
		t.Fail(name, fmt.Sprintf("%s lies in the past", Quote(t.Text(name))), "a duration like 250ms, 36h or 7d")
		return 0
	}
	return d
}

// Signed is a Duration that may have a leading minus.
func (t *Table) Signed(name string, longest time.Duration) time.Duration {
	const expected = "a duration like 250ms, 36h or 7d"
	v, ok := t.take(name)
	if !ok {
		return 0
	}
	s, ok := v.(string)
	if !ok {
		t.wrongKind(name, v, expected+", in quotes", expected)
		return 0
	}
	d, err := ParseDuration(s)
	switch {
	case err != nil:
		t.Fail(name, err.Error(), expected)
		return 0
	case d > longest || d < -longest:
		t.Fail(name, fmt.Sprintf("%s is too long", Quote(s)), fmt.Sprintf("at most %s", longest))
		return 0
	}
	return d
}

// Time is a moment: a TOML date or date and time, RFC 3339 text, or a date as text. Without
// a zone it is UTC.
func (t *Table) Time(name string) time.Time {
	v, ok := t.take(name)
	if !ok {
		return time.Time{}
	}
	switch m := v.(type) {
	case time.Time:
		return m.UTC()
	case toml.LocalDate:
		return m.AsTime(time.UTC)
	case toml.LocalDateTime:
		return m.AsTime(time.UTC)
	case string:
		moment, err := ParseTime(m)
		if err != nil {
			t.Fail(name, err.Error(), "a moment like 2026-11-21T12:00:00Z")
		}
		return moment
	}
	t.wrongKind(name, v, "a moment like 2026-11-21T12:00:00Z", "a moment like 2026-11-21T12:00:00Z")
	return time.Time{}
}

// ParseTime reads RFC 3339, or a date, which is its first moment in UTC.
func ParseTime(s string) (time.Time, error) {
	for _, layout := range [...]string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%s is not a moment", Quote(s))
}

// elements is a list of one kind. Elements of another kind are mistakes, and left out.
func elements[T any](t *Table, name string, list, one [2]string, made func(at string, v any) (T, bool)) []T {
	v, ok := t.take(name)
	if !ok {
		return nil
	}
	all, ok := v.([]any)
	if !ok {
		t.wrongKind(name, v, list[0], list[1])
		return nil
	}
	out := make([]T, 0, len(all))
	for i, el := range all {
		at := join(t.path(name), strconv.Itoa(i))
		el = open(el)
		if v, ok := made(at, el); ok {
			out = append(out, v)
			continue
		}
		e := &Error{Msg: fmt.Sprintf("an element of %s is %s", name, kind(el)), Expected: one[0], kind: true}
		if t.doc.json {
			e.Expected = one[1]
		}
		t.doc.fail(at, e)
	}
	return out
}

// Texts is a list of text; a single text stands for a list of one.
func (t *Table) Texts(name string) []string {
	v, ok := t.take(name)
	if !ok {
		return nil
	}
	if s, ok := v.(string); ok {
		return []string{s}
	}
	return t.List(name)
}

// List is a list of text.
func (t *Table) List(name string) []string {
	return elements(t, name, [2]string{"a list of texts", "an array of strings"}, [2]string{"text in quotes", "a string"},
		func(_ string, v any) (string, bool) {
			s, ok := v.(string)
			return s, ok
		})
}

// Table is a table within this one, or nil.
func (t *Table) Table(name string) *Table {
	m := value[map[string]any](t, name, "a table", "an object")
	if m == nil {
		return nil
	}
	return &Table{doc: t.doc, prefix: join(t.prefix, name), fields: m}
}

// Object is Table, or an empty table if the field is missing.
func (t *Table) Object(name string) *Table {
	if in := t.Table(name); in != nil {
		return in
	}
	return &Table{doc: t.doc, prefix: join(t.prefix, name)}
}

// Skip accepts fields that have no effect, with any value.
func (t *Table) Skip(names ...string) { t.read = append(t.read, names...) }

// Require records a missing field as a mistake.
func (t *Table) Require(name string) {
	if _, ok := t.fields[name]; !ok {
		t.Refuse(name, "is required")
	}
}

// SubTable is Table for a field that may be of another kind: then it is nil.
func (t *Table) SubTable(name string) *Table {
	if _, ok := open(t.fields[name]).(map[string]any); !ok {
		return nil
	}
	return t.Table(name)
}

// Map is a table with any names, whose values are text.
func (t *Table) Map(name string) map[string]string {
	in := t.Table(name)
	if in == nil {
		return nil
	}
	out := make(map[string]string, len(in.fields))
	for key := range in.fields {
		out[key] = in.Text(key)
	}
	return out
}

// Tables is a list of tables, as [[name]] writes it.
func (t *Table) Tables(name string) []*Table {
	return elements(t, name, [2]string{"a list of tables: [[" + name + "]]", "an array of objects"}, [2]string{"a table", "an object"},
		func(at string, v any) (*Table, bool) {
			m, ok := v.(map[string]any)
			return &Table{doc: t.doc, prefix: at, fields: m}, ok
		})
}
