// Package document reads scenario files (TOML) and the bodies of requests (JSON) strictly. A
// field is read by name and kind; a field that is not read is a mistake. Each mistake says
// where it is and what belongs there.
//
// scenario, fault and every endpoint with a JSON body call it. A Table belongs to one
// goroutine.
package document

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pelletier/go-toml/v2/unstable"

	"zonedeck/service/emulator/answer"
)

// The bounds of a file; the key a.b.c is three tables or fields. The library compares each
// name with those beside it and goes down to each from the top, so that its time grows with
// the square of their number.
const (
	MaxBytes  = 4 << 20
	maxTables = 10_000 // [tables] and [[elements]]
	maxFields = 1_000  // of one table, those of the tables written inside it too
)

// maxQuoted bounds, in characters, what a message quotes out of a document.
const maxQuoted = 80

// Error is a mistake in a document.
type Error struct {
	// File is the name given to TOML, empty for JSON.
	File string
	// Line and Column count from 1 (columns in bytes); 0 is unknown, as in JSON.
	Line, Column int
	// Field is the path of the field, like "zones[1].product".
	Field string
	// Msg says what is wrong, Expected what belongs there (may be empty).
	Msg, Expected string

	// Unknown marks a field that was not read.
	Unknown bool

	table   string // the path of the table it is in
	missing bool   // the field is missing
	says    bool   // Msg continues the field's name: "is required"
	kind    bool   // Expected is the kind of value that belongs there
}

// Reason continues the path of the field: "must be a string".
func (e *Error) Reason() string {
	switch {
	case e.Unknown:
		return "is not allowed"
	case e.kind:
		return "must be " + e.Expected
	}
	return e.Msg
}

// detail words a mistake in a body for the list of an [answer.InvalidError].
func (e *Error) detail() string {
	if e.Unknown || e.kind {
		return e.Field + " " + e.Reason()
	}
	return e.Error()
}

// Error is "file:line:column: msg; expected …" in one line, with the field's path in
// place of a position that is not known, or "field must be …".
func (e *Error) Error() string {
	if e.says {
		return strings.TrimPrefix(e.Field+" ", " ") + e.Msg
	}
	at, text := e.File, e.Msg
	if e.Line > 0 {
		at += fmt.Sprintf(":%d:%d", e.Line, e.Column)
	}
	if e.File == "" {
		at += e.Field
	}
	if at != "" {
		text = at + ": " + text
	}
	if e.Expected != "" {
		text += "; expected " + e.Expected
	}
	return text
}

// Table is a table of a file, or an object of a body. A missing field reads as the zero
// value; a field of the wrong kind is a mistake, and reads as the zero value too. Call Done
// after the last field; Err and Invalid return the mistakes.
type Table struct {
	doc    *source
	prefix string         // path made by join
	fields map[string]any // of a body: jsontext.Value, see open
	read   []string
}

// source is what the tables of one document share.
type source struct {
	json      bool
	loose     bool
	file      string
	text      []byte
	positions map[string]int // path -> byte offset
	errs      []*Error
	ignored   []string
}

// sep separates the names of a path; it cannot stand in a bare key, and a quoted key
// that has it only gets a worse position.
const sep = "\x1f"

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + sep + name
}

// path is that of a field; an empty name is the table itself.
func (t *Table) path(name string) string {
	if name == "" {
		return t.prefix
	}
	return join(t.prefix, name)
}

// Fail records a mistake in a field; an empty name is the table itself.
func (t *Table) Fail(name, msg, expected string) {
	_, present := t.fields[name]
	t.doc.fail(t.path(name), &Error{Msg: msg, Expected: expected, table: t.prefix, missing: !present})
}

// FailIf is Fail where the value of a field is wrong.
func (t *Table) FailIf(wrong bool, name, msg, expected string) {
	if wrong {
		t.Fail(name, msg, expected)
	}
}

// RefuseIf is Refuse where the value of a field is wrong.
func (t *Table) RefuseIf(wrong bool, name, format string, args ...any) {
	if wrong {
		t.Refuse(name, format, args...)
	}
}

// Refuse records a mistake in a field of a body. The text continues the field's path: "must
// be a date". An empty name is the table itself. Fail is for texts that stand alone.
func (t *Table) Refuse(name, format string, args ...any) {
	t.doc.errs = append(t.doc.errs, &Error{Field: pretty(t.path(name)), Msg: fmt.Sprintf(format, args...), says: true})
}

// fail records a mistake at a path, with its position.
func (s *source) fail(at string, e *Error) {
	e.File, e.Field = s.file, pretty(at)
	// A missing field is shown at the nearest table around it.
	for near := at; ; {
		if off, ok := s.positions[near]; ok {
			e.Line, e.Column = position(s.text, off)
			break
		}
		i := strings.LastIndex(near, sep)
		if i < 0 {
			break
		}
		near = near[:i]
	}
	s.errs = append(s.errs, e)
}

// Err is the first mistake in the document, or nil. If that is a missing field, and its
// table has an unknown one, it is the unknown one: a mistyped name is both.
func (t *Table) Err() error {
	if len(t.doc.errs) == 0 {
		return nil
	}
	first := slices.MinFunc(t.doc.errs, func(a, b *Error) int { return cmp.Or(a.Line-b.Line, a.Column-b.Column) })
	if first.missing {
		for _, e := range t.doc.errs {
			if e.Unknown && e.table == first.table {
				return e
			}
		}
	}
	return first
}

// Fine reports whether a field, and everything within it, has no mistake so far.
func (t *Table) Fine(name string) bool {
	at := pretty(t.path(name))
	return !slices.ContainsFunc(t.doc.errs, func(e *Error) bool {
		rest, ok := strings.CutPrefix(e.Field, at)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

// Errs lists all mistakes, in the order in which they were found.
func (t *Table) Errs() []*Error { return t.doc.errs }

// Invalid lists all mistakes in a body, in the order in which they were found, or is nil.
func (t *Table) Invalid() error {
	if len(t.doc.errs) == 0 {
		return nil
	}
	all := &answer.InvalidError{}
	for _, e := range t.doc.errs {
		all.Add("%s", e.detail())
	}
	return all
}

// Loose accepts unknown fields; Ignored lists their paths.
func (t *Table) Loose(on bool) *Table {
	t.doc.loose = on
	return t
}

// Ignored lists the paths of the unknown fields that a loose reader accepted.
func (t *Table) Ignored() []string { return t.doc.ignored }

// Finish is called after the last field of a body. It returns what [Table.Invalid] does, and
// notes the fields that a loose service ignores.
func (t *Table) Finish(w http.ResponseWriter) error {
	t.Done()
	if err := t.Invalid(); err != nil {
		return err
	}
	for _, name := range t.Ignored() {
		answer.NoteUnknown(w, name)
	}
	return nil
}

// Done records every field that was not read as unknown.
func (t *Table) Done() {
	known := slices.Compact(slices.Sorted(slices.Values(t.read)))
	for _, name := range t.Names() {
		switch at := join(t.prefix, name); {
		case slices.Contains(known, name):
		case t.doc.loose:
			t.doc.ignored = append(t.doc.ignored, pretty(at))
		default:
			t.doc.fail(at, &Error{
				Msg: "unknown field " + Quote(name), Expected: "one of " + strings.Join(known, ", "), table: t.prefix, Unknown: true,
			})
		}
	}
}

// Quote shortens and quotes text of a document for a message.
func Quote(s string) string {
	if r := []rune(s); len(r) > maxQuoted {
		s = string(r[:maxQuoted]) + "…"
	}
	return fmt.Sprintf("%q", s)
}

// pretty shows a path: zones[1].product.
func pretty(at string) string {
	var b strings.Builder
	for i, part := range strings.Split(at, sep) {
		switch {
		case isIndex(part):
			b.WriteString("[" + part + "]")
		case i == 0:
			b.WriteString(part)
		default:
			b.WriteString("." + part)
		}
	}
	return b.String()
}

func isIndex(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

func position(text []byte, off int) (line, column int) {
	before := text[:off]
	return 1 + bytes.Count(before, []byte("\n")), off - bytes.LastIndexByte(before, '\n')
}

// checkSize refuses a text with too many tables or fields. It stops at a fault of the text,
// which decoding will tell. The error is an *Error.
func checkSize(file string, text []byte) error {
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
			return tooMany(file, text, n, "the file has too many tables", maxTables)
		}
		if fields > maxFields {
			return tooMany(file, text, n, "the table has too many fields", maxFields)
		}
	}
	return nil
}

// tooMany is the mistake that an expression is one too many.
func tooMany(file string, text []byte, n *unstable.Node, msg string, most int) error {
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

const (
	day  = 24 * time.Hour
	week = 7 * day
)

// durationParts are a sign, weeks, days, and what time.ParseDuration reads.
var durationParts = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(-?)(?:([0-9.]+)w)?(?:([0-9.]+)d)?(.*)$`)
})

// ParseDuration reads what time.ParseDuration does, with days and weeks: "7d",
// "1.5w", "1d12h", "-3d".
func ParseDuration(s string) (time.Duration, error) {
	m := durationParts().FindStringSubmatch(s)
	if m == nil || m[0] == m[1] || strings.HasPrefix(m[4], "-") || strings.HasPrefix(m[4], "+") {
		return 0, fmt.Errorf("%s is not a duration", Quote(s))
	}
	weeks, errW := strconv.ParseFloat(cmp.Or(m[2], "0"), 64)
	days, errD := strconv.ParseFloat(cmp.Or(m[3], "0"), 64)
	rest, errR := time.ParseDuration(cmp.Or(m[4], "0"))
	if errW != nil || errD != nil || errR != nil {
		return 0, fmt.Errorf("%s is not a duration", Quote(s))
	}
	long := weeks*float64(week) + days*float64(day)
	if long > 0 && long+float64(rest) >= math.MaxInt64 {
		return 0, fmt.Errorf("%s is too long", Quote(s))
	}
	d := time.Duration(long) + rest
	if m[1] != "" {
		d = -d
	}
	return d, nil
}
