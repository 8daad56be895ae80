package textfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
)

// MaxSize bounds what Read takes in, in bytes. A configuration or an inventory
// of this size is a mistake.
const MaxSize = 1 << 20

// Doc is what is known of a file that was decoded: where its fields stand, so
// that a rule checked later can still point at the line. The zero value points
// nowhere.
type Doc struct {
	file   string
	source []byte
	where  map[string]int // path made by At -> byte offset
}

// Read decodes the TOML file at path strictly into the struct that into points
// to. The error is an *Error for a fault in the text, else it wraps what the
// file system said; errors.Is(err, fs.ErrNotExist) tells a missing file.
func Read(path string, into any) (Doc, error) {
	f, err := os.Open(path)
	if err != nil {
		return Doc{}, fmt.Errorf("reading %s: %w", path, err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return Doc{}, fmt.Errorf("reading %s: %w", path, err)
	}
	return Decode(path, b, into)
}

// Decode is Read for text that is in memory; file names it in errors.
func Decode(file string, b []byte, into any) (Doc, error) {
	if len(b) > MaxSize {
		return Doc{}, &Error{File: file, Msg: "the file is larger than 1 MiB", Expected: "a file written by hand or by zonedeck"}
	}
	if !utf8.Valid(b) {
		return Doc{}, &Error{File: file, Line: lineOfBadUTF8(b), Msg: "the text is not UTF-8", Expected: "a TOML file in UTF-8"}
	}
	dec := toml.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return Doc{}, fault(file, err, into)
	}
	return Doc{file: file, source: b, where: locate(b)}, nil
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

// fault turns the library's errors into ours. Only its message and position are
// taken: its long form quotes the lines around, which may hold a secret that was
// written into the wrong file.
func fault(file string, err error, into any) error {
	if missing, ok := errors.AsType[*toml.StrictMissingError](err); ok && len(missing.Errors) > 0 {
		first := &missing.Errors[0]
		line, col := first.Position()
		key := first.Key()
		e := &Error{File: file, Line: line, Column: col, Msg: fmt.Sprintf("unknown field %q", last(key))}
		if known := fields(reflect.TypeOf(into), key); len(known) > 0 {
			e.Expected = "one of " + strings.Join(known, ", ")
		}
		return e
	}
	if de, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, col := de.Position()
		e := &Error{File: file, Line: line, Column: col, Msg: strings.TrimPrefix(de.Error(), "toml: ")}
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

// typeMismatch reads the library's "cannot decode TOML string into int".
func typeMismatch(msg string) (got, want string, ok bool) {
	rest, ok := strings.CutPrefix(msg, "cannot decode TOML ")
	if !ok {
		return "", "", false
	}
	got, target, ok := strings.Cut(rest, " into ")
	if !ok {
		return "", "", false
	}
	article := "a "
	if strings.HasPrefix(got, "integer") || strings.HasPrefix(got, "array") || strings.HasPrefix(got, "inline") {
		article = "an "
	}
	switch {
	case strings.HasPrefix(target, "[]"):
		want = "a list in square brackets"
	case target == "string" || target == "*string":
		want = "text in quotes"
	case strings.Contains(target, "int"):
		want = "a whole number without quotes"
	case strings.Contains(target, "bool"):
		want = "true or false without quotes"
	default:
		want = "a table"
	}
	return article + got, want, true
}

// fields lists the names that the table holding key may have, by walking the
// target type along the key.
func fields(t reflect.Type, key []string) []string {
	if len(key) == 0 {
		return nil
	}
	for _, part := range key[:len(key)-1] {
		t = element(t)
		switch t.Kind() {
		case reflect.Map:
			t = t.Elem()
		case reflect.Struct:
			f, ok := fieldNamed(t, part)
			if !ok {
				return names(t) // an unknown table: list its siblings
			}
			t = f.Type
		default:
			return nil
		}
	}
	if t = element(t); t.Kind() != reflect.Struct {
		return nil
	}
	return names(t)
}

// element looks through pointers and slices.
func element(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
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

func names(t reflect.Type) []string {
	var out []string
	for f := range t.Fields() {
		if tag, _, _ := strings.Cut(f.Tag.Get("toml"), ","); tag != "" && tag != "-" {
			out = append(out, tag)
		}
	}
	slices.Sort(out)
	return out
}
