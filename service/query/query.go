package query

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"zonedeck/model"
)

// Fields is what the rows of a list can be asked.
type Fields[R any] []Field[R]

// Field is one that a term can name, or that words are looked for in.
type Field[R any] struct {
	name, example string
	columns       []string // in SQL
	kind          kind[R]
}

// kind is how a field's value is compared.
type kind[R any] interface {
	check(name string, t Term) error
	holds(row R, t *Term) bool
	// clause is the condition on a column.
	clause(column string, t Term) (string, []any)
}

type (
	wordsOf[R any] func(R) string
	textOf[R any]  func(R) string
	listOf[R any]  func(R) []string
	timeOf[R any]  func(R) time.Time
)

type enumOf[R any] struct {
	row    interface{ value(row R) []string }
	values []string
}

type clockOf[R any] struct {
	at, now interface{ value(row R) time.Time }
}

func (f listOf[R]) value(row R) []string  { return f(row) }
func (f timeOf[R]) value(row R) time.Time { return f(row) }

// SearchText is the text of a row in which words are looked for, in any case: text gives it in lower case.
func SearchText[R any](text func(R) string) Field[R] { return Field[R]{kind: wordsOf[R](text)} }

// Text is a field whose value is a text.
func Text[R any](name, example string, of func(R) string) Field[R] {
	return Field[R]{name: name, example: example, kind: textOf[R](of)}
}

// List is a field with some values, of which a row has a value as a whole.
func List[R any](name, example string, of func(R) []string) Field[R] {
	return Field[R]{name: name, example: example, kind: listOf[R](of)}
}

// Enum is a field whose values are a fixed set of words: their beginning is enough, with "-" or "_" for a blank. of
// gives the words for a row's value. Without values every word is taken.
func Enum[R any](name, example string, values []string, of func(R) []string) Field[R] {
	return Field[R]{name: name, example: example, kind: enumOf[R]{listOf[R](of), values}}
}

// Since is the time of a row: not before a span until now ("2h", "3d", "1w"), or a date. now is the clock of the row.
func Since[R any](at, now func(R) time.Time) Field[R] {
	return Field[R]{name: "since", example: "2h", kind: clockOf[R]{timeOf[R](at), timeOf[R](now)}}
}

// In says in which columns of a table the field is: it has a value where one of them does.
func (f Field[R]) In(columns ...string) Field[R] {
	f.columns = columns
	return f
}

// Examples are the fields' names, each with an example.
func (f Fields[R]) Examples() []string {
	var out []string
	for _, field := range f {
		if field.name != "" {
			out = append(out, field.name+":"+field.example)
		}
	}
	return out
}

// Query is a filter over the rows of a list. The zero Query lets every row pass.
type Query[R any] struct {
	fields Fields[R]
	terms  []Term
	tests  []test[R] // the terms again, as rows meet them
}

// test is a term with the field that it is about, so that no row has to look for it.
type test[R any] struct {
	Term
	kind[R]
}

// Parse reads a filter over fields. The error says what is wrong, and names the fields.
func Parse[R any](text string, fields Fields[R]) (Query[R], error) {
	terms, err := Terms(text)
	if err != nil {
		return Query[R]{}, err
	}
	q := Query[R]{fields: fields, terms: terms}
	for i, t := range terms {
		terms[i].Name = strings.ToLower(t.Name)
		f, known := fields.field(terms[i].Name)
		if !known {
			return Query[R]{}, fmt.Errorf("unknown term %q: use words and %s", t.Name, strings.Join(fields.Examples(), ", "))
		}
		if err := f.kind.check(f.name, t); t.Op != Has && err != nil {
			return Query[R]{}, err
		}
		if t.Op == Says {
			t.Value = strings.ToLower(t.Value)
		}
		q.tests = append(q.tests, test[R]{t, f.kind})
	}
	return q, nil
}

func (f Fields[R]) field(name string) (Field[R], bool) {
	i := slices.IndexFunc(f, func(field Field[R]) bool { return field.name == name })
	if i < 0 {
		return Field[R]{}, false
	}
	return f[i], true
}

// Terms are the query's, in order.
func (q Query[R]) Terms() []Term { return q.terms }

// Match reports whether a row passes.
func (q Query[R]) Match(row R) bool {
	for i := range q.tests {
		if t := &q.tests[i]; t.holds(row, &t.Term) == t.Not {
			return false
		}
	}
	return true
}

// Names reports whether the words of the query, of which there is one at least, all stand in a row's name.
func (q Query[R]) Names(name string) bool {
	name, words := strings.ToLower(name), 0
	for _, t := range q.tests {
		if t.Op == Says && !t.Not {
			words++
			if !strings.Contains(name, t.Value) {
				return false
			}
		}
	}
	return words > 0
}

// WithoutSQL is what SQL does not express of a query.
func (q Query[R]) WithoutSQL() Query[R] {
	rest := Query[R]{fields: q.fields}
	for i, t := range q.terms {
		if _, _, ok := q.SQL(t); !ok {
			rest.terms, rest.tests = append(rest.terms, t), append(rest.tests, q.tests[i])
		}
	}
	return rest
}

// SQL is a term as a condition of a statement, with "?" for its arguments; false for a word, and for a field without
// a column.
func (q Query[R]) SQL(t Term) (clause string, args []any, ok bool) {
	f, known := q.fields.field(t.Name)
	if t.Op == Says || !known || len(f.columns) == 0 {
		return "", nil, false
	}
	var some []string
	for _, column := range f.columns {
		if t.Op == Has {
			some = append(some, column+" <> ''")
			continue
		}
		one, values := f.kind.clause(column, t)
		some, args = append(some, one), append(args, values...)
	}
	if clause = strings.Join(some, " OR "); len(some) > 1 {
		clause = "(" + clause + ")"
	}
	if t.Not {
		clause = "NOT (" + clause + ")"
	}
	return clause, args, true
}

func (wordsOf[R]) check(string, Term) error { return nil }

func (text wordsOf[R]) holds(row R, t *Term) bool { return strings.Contains(text(row), t.Value) }

func (wordsOf[R]) clause(string, Term) (string, []any) { return "", nil } // it has no column

func (textOf[R]) check(string, Term) error { return nil }

func (of textOf[R]) holds(row R, t *Term) bool {
	value := of(row)
	switch t.Op {
	case Has:
		return value != ""
	case Contains:
		return strings.Contains(strings.ToLower(value), strings.ToLower(t.Value))
	default:
		return ordered(t.Op, cmp.Compare(value, t.Value))
	}
}

func (textOf[R]) clause(column string, t Term) (string, []any) {
	if t.Op == Contains {
		return `lower(` + column + `) LIKE ? ESCAPE '\'`, []any{"%" + strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(strings.ToLower(t.Value)) + "%"}
	}
	return column + signOf(t.Op) + "?", []any{t.Value}
}

func (listOf[R]) check(name string, t Term) error { return equality(name, t) }

func (f listOf[R]) holds(row R, t *Term) bool {
	values := f(row)
	if t.Op == Has {
		return slices.ContainsFunc(values, func(v string) bool { return v != "" })
	}
	return slices.ContainsFunc(values, func(v string) bool { return strings.EqualFold(v, t.Value) })
}

func (listOf[R]) clause(column string, t Term) (string, []any) {
	return column + " = ?", []any{t.Value}
}

// plain is a word as it is compared with the beginnings of others.
func plain(s string) string {
	return strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(s))
}

func (e enumOf[R]) check(name string, t Term) error {
	if err := equality(name, t); err != nil || len(e.values) == 0 || len(e.begun(t)) > 0 {
		return err
	}
	return fmt.Errorf("%s %q is not one of %s", name, t.Value, strings.Join(e.values, ", "))
}

// begun are the values that a term means.
func (e enumOf[R]) begun(t Term) (values []string) {
	for _, v := range e.values {
		if strings.EqualFold(v, t.Value) || t.Op == Contains && strings.HasPrefix(plain(v), plain(t.Value)) {
			values = append(values, v)
		}
	}
	return values
}

func (e enumOf[R]) holds(row R, t *Term) bool {
	return slices.ContainsFunc(e.row.value(row), func(v string) bool {
		switch t.Op {
		case Has:
			return v != ""
		case Equal:
			return strings.EqualFold(v, t.Value)
		default:
			return strings.HasPrefix(plain(v), plain(t.Value))
		}
	})
}

func (e enumOf[R]) clause(column string, t Term) (string, []any) {
	var args []any
	for _, v := range e.begun(t) {
		args = append(args, v)
	}
	return column + " IN (?" + strings.Repeat(", ?", len(args)-1) + ")", args
}

func (c clockOf[R]) check(_ string, t Term) error {
	_, _, err := c.since(*new(R), t)
	return err
}

// since is what a row's time is compared with, and how.
func (c clockOf[R]) since(row R, t Term) (time.Time, Op, error) {
	since, err := model.ParseSince(t.Value, c.now.value(row))
	if t.Op == Contains {
		t.Op = AtLeast
	}
	return since, t.Op, err
}

func (c clockOf[R]) holds(row R, t *Term) bool {
	if t.Op == Has {
		return !c.at.value(row).IsZero()
	}
	since, op, err := c.since(row, *t)
	return err == nil && ordered(op, c.at.value(row).Compare(since))
}

// clause compares with a column of microseconds.
func (c clockOf[R]) clause(column string, t Term) (string, []any) {
	since, op, _ := c.since(*new(R), t) // Parse has read it
	return column + signOf(op) + "?", []any{since.UnixMicro()}
}

// equality refuses to order what has no order.
func equality(name string, t Term) error {
	if t.Op == Contains || t.Op == Equal {
		return nil
	}
	return fmt.Errorf("%s has no order: write %s:%s", name, name, t.Value)
}

// ordered reports whether an operator holds for the order of two values.
func ordered(op Op, order int) bool {
	switch op {
	case Less:
		return order < 0
	case AtMost:
		return order <= 0
	case More:
		return order > 0
	case AtLeast:
		return order >= 0
	default:
		return order == 0
	}
}

func signOf(op Op) string {
	return map[Op]string{Less: " < ", AtMost: " <= ", More: " > ", AtLeast: " >= "}[op] + map[bool]string{true: " = "}[op == Equal]
}
