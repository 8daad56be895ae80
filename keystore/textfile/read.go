package textfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
)

// MaxSize limits a file that is written by hand, in bytes. A saved request may hold a
// body of 1 MiB; everything else is far smaller.
const MaxSize = 2 << 20

const bom = "\ufeff" // a byte order mark, which some editors write

// Doc is a decoded file. A rule that is checked later can still point at a line with it. The zero value
// points nowhere.
type Doc struct {
	file   string
	source []byte
}

// Source is the text that was decoded.
func (d Doc) Source() []byte { return d.source }

// Read strictly decodes the TOML file at path into the struct that into points to.
// The error is an *Error for a fault in the text. Else it wraps the file system's;
// errors.Is(err, fs.ErrNotExist) means a missing file.
func Read(path string, into any) (Doc, error) {
	b, err := byHand.ReadFile(path)
	if err != nil {
		return Doc{}, err
	}
	return Decode(path, b, into)
}

// ReadFile returns the text of a file. It has the errors of Open. A text that is too large is cut one
// byte after the limit, and Decode refuses it.
func (m Bounds) ReadFile(path string) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return m.readAll(path, f)
}

func (m Bounds) readAll(file string, r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, int64(m.size)+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	return bytes.TrimPrefix(b, []byte(bom)), nil
}

// Marked reports whether a file begins with a byte order mark, which Read leaves out.
func Marked(path string) bool {
	f, err := Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, len(bom))
	_, _ = io.ReadFull(f, head) // a shorter file has none
	return string(head) == bom
}

// ReadFrom is Read for an open file; file names it in errors.
func ReadFrom(file string, r io.Reader, into any) (Doc, error) {
	b, err := byHand.readAll(file, r)
	if err != nil {
		return Doc{}, err
	}
	return Decode(file, b, into)
}

// Decode is Read for text in memory; file names it in errors.
func Decode(file string, b []byte, into any) (Doc, error) { return byHand.Decode(file, b, into) }

// Decode is the function Decode with these bounds.
func (m Bounds) Decode(file string, b []byte, into any) (Doc, error) {
	if len(b) <= m.size && !utf8.Valid(b) {
		return Doc{}, &Error{File: file, Line: lineOfBadUTF8(b), Msg: "the text is not UTF-8", Expected: "a TOML file in UTF-8"}
	}
	if err := m.Check(file, b); err != nil {
		return Doc{}, err
	}
	if err := toml.Unmarshal(b, into); err != nil {
		return Doc{}, fault(file, err)
	}
	doc := Doc{file: file, source: b}
	if err := doc.unknown(reflect.TypeOf(into)); err != nil {
		return Doc{}, err
	}
	return doc, nil
}

// unknown is an error for the first field that t does not have, or nil. The library would
// make an error for every such field; for thousands that takes seconds.
func (d Doc) unknown(t reflect.Type) error {
	first, at := "", -1
	shapes := map[string]bool{} // whether t has a field for a shape
	locate(d.source, func(p place) bool {
		if at >= 0 && p.off > at {
			return false
		}
		there, seen := shapes[p.shape]
		if !seen {
			there = siblings(t, strings.Split(p.shape, sep)) == nil
			shapes[p.shape] = there
		}
		// A dotted key gives several places at one offset: report the longest.
		if !there && len(p.path) > len(first) {
			first, at = p.path, p.off
		}
		return true
	})
	if first == "" {
		return nil
	}
	path := strings.Split(first, sep)
	for n := len(path) - 1; n > 0 && index(path[n]) && siblings(t, path[:n]) != nil; n-- { // an element of an unknown list
		path = path[:n]
	}
	return d.Fault(first, fmt.Sprintf("unknown field %q", last(path)), "one of "+strings.Join(siblings(t, path), ", "))
}

func index(s string) bool { return strings.Trim(s, "0123456789") == "" }

// siblings lists the fields that type t has in place of the first part of path that it lacks. It is nil if t has a
// field at path.
func siblings(t reflect.Type, path []string) []string {
	for _, part := range path {
		switch t = pointee(t); t.Kind() {
		case reflect.Map, reflect.Slice:
			t = t.Elem()
		case reflect.Struct:
			f, ok := fieldNamed(t, part)
			if !ok {
				return fieldNames(t)
			}
			t = f.Type
		default:
			return nil // the library has already refused a table in place of a plain value
		}
	}
	return nil
}

func lineOfBadUTF8(b []byte) int {
	line := 1
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			return line
		}
		if r == '\n' {
			line++
		}
		b = b[n:]
	}
	return line
}

// fault turns an error of the library into an *Error with its message and position
// only. The library's long form quotes the lines around: somebody may have written a
// secret into the wrong file.
func fault(file string, err error) error {
	if de, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, col := de.Position()
		e := &Error{File: file, Line: line, Column: col, Msg: shorten(strings.TrimPrefix(de.Error(), "toml: "))}
		if got, want, ok := typeMismatch(e.Msg); ok {
			e.Msg, e.Expected = fmt.Sprintf("%q is %s", last(de.Key()), got), want
		}
		return e
	}
	return &Error{File: file, Msg: strings.TrimPrefix(err.Error(), "toml: ")}
}

func last(key []string) string {
	if len(key) == 0 {
		return ""
	}
	return key[len(key)-1]
}

// typeMismatch reads the library's "cannot decode TOML string into struct field
// T.Port of type int" and "cannot store a table in a string".
func typeMismatch(msg string) (got, want string, ok bool) {
	if rest, isValue := strings.CutPrefix(msg, "cannot decode TOML "); isValue {
		value, target, found := strings.Cut(rest, " into ")
		if !found {
			return "", "", false
		}
		if i := strings.LastIndex(target, " of type "); i >= 0 {
			target = target[i+len(" of type "):]
		}
		return article(value), kindInWords(target), true
	}
	if rest, isTable := strings.CutPrefix(msg, "cannot store "); isTable {
		value, target, found := strings.Cut(rest, " in a ")
		return value, kindInWords(target), found
	}
	return "", "", false
}

func article(noun string) string {
	if strings.ContainsAny(noun[:min(1, len(noun))], "aeiou") {
		return "an " + noun
	}
	return "a " + noun
}

func kindInWords(target string) string {
	switch target = strings.TrimLeft(target, "*"); {
	case target == "string":
		return "text in quotes"
	case target == "bool":
		return "true or false without quotes"
	case strings.HasPrefix(target, "int"):
		return "a whole number without quotes"
	case strings.HasPrefix(target, "[]") && !strings.Contains(target, "."):
		return "a list in square brackets"
	default:
		return "a table"
	}
}

func pointee(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

func fieldNamed(t reflect.Type, name string) (reflect.StructField, bool) {
	for f := range t.Fields() {
		if tag, _, _ := strings.Cut(f.Tag.Get("toml"), ","); strings.EqualFold(tag, name) {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

func fieldNames(t reflect.Type) []string {
	out := []string{} // not nil: see siblings
	for f := range t.Fields() {
		if tag, _, _ := strings.Cut(f.Tag.Get("toml"), ","); tag != "" && tag != "-" {
			out = append(out, tag)
		}
	}
	slices.Sort(out)
	return out
}
