package export

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// ShellQuote makes one word of a POSIX shell.
func ShellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// goString is a string of Go; bytes that are not text are escapes.
func goString(s string) string {
	if strings.ContainsAny(s, `"\`) && strconv.CanBackquote(s) {
		return "`" + s + "`"
	}
	return strconv.Quote(s)
}

// apostrophes turns a text in double quotes into one in single quotes where that needs fewer
// escapes; both are the same to Python and JavaScript.
func apostrophes(quoted string) string {
	if strings.Count(quoted, `\"`) <= strings.Count(quoted, "'") {
		return quoted
	}
	return "'" + strings.NewReplacer(`\\`, `\\`, `\"`, `"`, "'", `\'`).Replace(quoted[1:len(quoted)-1]) + "'"
}

// PythonQuote is a string of Python. s is UTF-8: Go's escapes mean the same there.
func PythonQuote(s string) string { return apostrophes(strconv.Quote(s)) }

// pyBytes is an expression of Python that gives the bytes of s.
func pyBytes(s string) string {
	switch {
	case ascii(s):
		return "b" + PythonQuote(s)
	case utf8.ValidString(s):
		return PythonQuote(s) + ".encode()"
	}
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, `\x%02x`, s[i])
	}
	return `b"` + b.String() + `"`
}

// jsString is a string of JavaScript. s is UTF-8.
func jsString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r == '\n':
			b.WriteString(`\n`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	b.WriteByte('"')
	return apostrophes(b.String())
}

// jsBytes is an expression of Node that gives the bytes of s.
func jsBytes(s string) string {
	if utf8.ValidString(s) {
		return "Buffer.from(" + jsString(s) + ")"
	}
	return fmt.Sprintf(`Buffer.from("%x", "hex")`, s)
}

func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII })
}
