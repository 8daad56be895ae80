// Package document reads what people hand to the emulator (scenario files in TOML,
// bodies of the control API in JSON) strictly: every field is asked for by name and
// kind, what nobody asked for is a mistake, and a mistake says where it stands and
// what belongs there.
//
// scenario and fault call it. A Table belongs to one goroutine.
package document

import (
	"fmt"
	"slices"
	"strings"
)

// MaxBytes bounds a document. One of this size is a mistake.
const MaxBytes = 4 << 20

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

	table   string // the path of the table it is in
	missing bool   // it is about a field that is not there
	unknown bool   // it is about a field that nobody asked for
}

// Error is "file:line:column: msg; expected …" in one line, with the field's path in
// place of a position that is not known.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
	}
	if e.File == "" {
		b.WriteString(e.Field)
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	b.WriteString(e.Msg)
	if e.Expected != "" {
		b.WriteString("; expected ")
		b.WriteString(e.Expected)
	}
	return b.String()
}

// Table is a table of a document, or an object. Reading a field that is missing gives
// the zero value; one of the wrong kind is a mistake, and gives the zero value too.
// Done is called after the last field, Err says what was wrong.
type Table struct {
	doc    *source
	at     string // path made by join
	fields map[string]any
	asked  []string
}

// source is what the tables of one document share.
type source struct {
	file  string
	text  []byte
	where map[string]int // path -> byte offset
	errs  []*Error
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

// Fail records a mistake in a field; an empty name is the table itself.
func (t *Table) Fail(name, msg, expected string) {
	at := t.at
	if name != "" {
		at = join(t.at, name)
	}
	_, there := t.fields[name]
	t.doc.fail(at, &Error{Msg: msg, Expected: expected, table: t.at, missing: !there})
}

// fail records a mistake at a path, and fills in where that is.
func (s *source) fail(at string, e *Error) {
	e.File, e.Field = s.file, pretty(at)
	// A field that is not there is shown at the nearest table around it.
	for near := at; ; {
		if off, ok := s.where[near]; ok {
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

// Err is the mistake that stands first in the document, or nil. Where that is a field
// that is missing, and its table has one that nobody knows, it is the latter: a name
// that was mistyped is both.
func (t *Table) Err() error {
	if len(t.doc.errs) == 0 {
		return nil
	}
	first := slices.MinFunc(t.doc.errs, func(a, b *Error) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	if first.missing {
		for _, e := range t.doc.errs {
			if e.unknown && e.table == first.table {
				return e
			}
		}
	}
	return first
}

// Done records every field that nobody asked for as unknown.
func (t *Table) Done() {
	var unknown []string
	for name := range t.fields {
		if !slices.Contains(t.asked, name) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	known := slices.Clone(t.asked)
	slices.Sort(known)
	for _, name := range unknown {
		t.doc.fail(join(t.at, name), &Error{
			Msg: fmt.Sprintf("unknown field %s", Quote(name)), Expected: "one of " + strings.Join(slices.Compact(known), ", "), table: t.at, unknown: true,
		})
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
	line, column = 1, 1
	for _, c := range text[:off] {
		column++
		if c == '\n' {
			line, column = line+1, 1
		}
	}
	return line, column
}
