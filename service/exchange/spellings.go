package exchange

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A secret is found as it is, in UTF-16 (either byte order), in base64 (both alphabets, any
// of the three alignments within a longer text, with line breaks) and in hexadecimal (either
// case). In each of them any character, and a line break in base64, may be escaped as in
// JSON (\/, \u0041, \x41), in a URL (%41), in HTML (&amp;, &#65;, &#x41;) or in CSV (""). The
// marks of such an escape may be escaped again, maxLayers deep. A secret is not found if it
// is encrypted, compressed other than by Content-Encoding (for example in an archive),
// encoded twice (base64 of base64 or of UTF-16) or, outside base64, interrupted by line breaks.
const maxLayers = 3

// secret adds a secret and its encodings, also those of its escaped forms, such as the
// base64 of a JSON text.
func (c *compiler) secret(s string) {
	if len(s) < minMasked {
		return
	}
	c.header(s, false)
	forms := []string{s, url.QueryEscape(s), url.PathEscape(s), html.EscapeString(s)}
	for _, escapeHTML := range []bool{true, false} { // most languages do not escape <, > and &
		quoted := inJSON(s, escapeHTML)
		forms = append(forms, quoted, strings.ReplaceAll(quoted, "/", `\/`))
	}
	for _, form := range forms {
		c.add(needle{text: hex.EncodeToString([]byte(form)), fold: true})
		for shift := range 3 {
			c.add(needle{text: inner(form, shift, base64.RawStdEncoding), wraps: true})
			c.add(needle{text: inner(form, shift, base64.RawURLEncoding), wraps: true})
		}
	}
}

// header adds a text from a request's header, as it is and in UTF-16 of both byte orders.
func (c *compiler) header(s string, wraps bool) {
	c.add(needle{text: s, wraps: wraps})
	c.add(needle{text: wide(s, binary.LittleEndian)})
	c.add(needle{text: wide(s, binary.BigEndian)})
}

// wide is s in UTF-16 without zero bytes at the ends: neighbouring characters are then not
// masked, and an ASCII text is the same in both orders.
func wide(s string, order binary.AppendByteOrder) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = order.AppendUint16(b, u)
	}
	return strings.Trim(string(b), "\x00")
}

// inJSON is s between the quotation marks of a JSON text.
func inJSON(s string, escapeHTML bool) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(escapeHTML)
	_ = e.Encode(s) // neither a string nor a strings.Builder fails
	return strings.TrimSuffix(b.String(), "\"\n")[1:]
}

// inner is the part of the base64 of shift bytes and s that depends on s alone.
func inner(s string, shift int, e *base64.Encoding) string {
	all := e.EncodeToString([]byte("\x00\x00"[:shift] + s))
	return all[(8*shift+5)/6 : 8*(shift+len(s))/6]
}

// text is what is searched.
type text struct {
	b     []byte
	whole bool
	// short says that a read needed bytes that are still to come.
	short bool
}

// reading is one way to read the bytes at a position: the text they stand for, and where
// they end.
type reading struct {
	out string
	end int
}

// The bounds of an entity, in bytes: its digits with leading zeros, and its name.
const (
	maxDigits = 12
	maxName   = 32
)

// read appends the readings at i, with at most so many layers of escapes.
func (t *text) read(to []reading, i, layers int) []reading {
	c, ok := t.at(i)
	if !ok {
		return to
	}
	if layers == 0 || !begins(c) {
		return append(to, reading{bytesOf[c : int(c)+1], i + 1})
	}
	from := len(to)
	to = t.read(to, i, layers-1)
	// A reading of the layers below may begin an escape of this one.
	for _, r := range to[from:] {
		if len(r.out) == 1 && begins(r.out[0]) {
			to = t.escape(to, r.out[0], r.end, layers-1)
		}
	}
	return to[:from+len(slices.Compact(to[from:]))]
}

// bytesOf is every byte as a string of its own.
var bytesOf = func() string {
	var b [256]byte
	for i := range b {
		b[i] = byte(i)
	}
	return string(b[:])
}()

// begins reports whether c may begin an escape.
func begins(c byte) bool {
	return c == '\\' || c == '%' || c == '&' || c == '"' || c == '+'
}

// doubled is what the mark c stands for as an escape: + in a query is a space, "" in CSV is one ".
func doubled(c byte) byte {
	if c == '+' {
		return ' '
	}
	return c
}

func (t *text) at(i int) (byte, bool) {
	if i < len(t.b) {
		return t.b[i], true
	}
	t.short = t.short || !t.whole
	return 0, false
}

// escape appends the readings of the escape that begins with c and continues at i.
func (t *text) escape(to []reading, c byte, i, layers int) []reading {
	switch c {
	case '%':
		if v := t.hex(i, 2); v >= 0 {
			return append(to, reading{bytesOf[v : v+1], i + 2})
		}
	case '+':
		return append(to, reading{" ", i})
	case '"':
		for _, end := range t.marks('"', i, layers) {
			to = append(to, reading{`"`, end})
		}
	case '&':
		return t.entity(to, i, layers)
	case '\\':
		return t.backslash(to, i, layers)
	}
	return to
}

// marks returns where the mark c at i may end, escaped or not.
func (t *text) marks(c byte, i, layers int) (ends []int) {
	if first, ok := t.at(i); !ok || first != c && !begins(first) {
		return nil
	}
	var buf [8]reading
	for _, r := range t.read(buf[:0], i, layers) {
		if len(r.out) == 1 && r.out[0] == c {
			ends = append(ends, r.end)
		}
	}
	return ends
}

func (t *text) backslash(to []reading, i, layers int) []reading {
	c, ok := t.at(i)
	switch {
	case !ok:
	case c == 'u':
		if v := t.hex(i+1, 4); v >= 0 {
			return t.character(to, rune(v), i+5, layers)
		}
	case c == 'x':
		if v := t.hex(i+1, 2); v >= 0 {
			return append(to, reading{bytesOf[v : v+1], i + 3})
		}
	case control(c) != 0:
		return append(to, reading{bytesOf[control(c) : int(control(c))+1], i + 1})
	case !isName(c):
		return t.read(to, i, layers)
	}
	return to
}

// character appends the character of a JSON escape that ends at i. A character beyond the
// basic plane takes two escapes.
func (t *text) character(to []reading, v rune, i, layers int) []reading {
	if !utf16.IsSurrogate(v) {
		return append(to, reading{string(v), i})
	}
	for _, end := range t.marks('\\', i, layers) {
		if c, ok := t.at(end); ok && c == 'u' {
			if r := utf16.DecodeRune(v, rune(t.hex(end+1, 4))); r != utf8.RuneError {
				to = append(to, reading{string(r), end + 5})
			}
		}
	}
	return to
}

// entity appends the readings of an HTML entity whose "&" ends at i.
func (t *text) entity(to []reading, i, layers int) []reading {
	for _, end := range t.marks('#', i, layers) {
		to = t.number(to, end, layers)
	}
	n := 0
	for n < maxName {
		c, ok := t.at(i + n)
		if !ok || !isName(c) {
			break
		}
		n++
	}
	name := t.b[i:min(i+n, len(t.b))]
	if n == 0 {
		return to
	}
	if s := named(name); s != "" {
		for _, end := range t.marks(';', i+n, layers) {
			to = append(to, reading{s, end})
		}
	}
	if short := shortName(name); short != "" {
		return append(to, reading{named([]byte(short)), i + len(short)})
	}
	return to
}

// number appends the character of a numeric entity whose "#" ends at i.
func (t *text) number(to []reading, i, layers int) []reading {
	v, n := numeric(t.b[min(i, len(t.b)):])
	if _, more := t.at(i + n); v < 0 || !more && !t.whole {
		return to
	}
	to = append(to, reading{string(rune(v)), i + n})
	for _, end := range t.marks(';', i+n, layers) {
		to = append(to, reading{string(rune(v)), end})
	}
	return to
}

// numeric returns the value of a numeric entity from after its "#", or -1, and its length
// without the semicolon.
func numeric(b []byte) (v, n int) {
	base := 10
	if len(b) > 0 && b[0]|0x20 == 'x' {
		base, n = 16, 1
	}
	from := n
	for n < len(b) && n-from < maxDigits {
		d := hexDigit(b[n])
		if d < 0 || d >= base {
			break
		}
		v = min(v*base+d, utf8.MaxRune+1)
		n++
	}
	if n == from {
		return -1, n
	}
	return v, n
}

// named is the text of a named entity, or empty.
func named(name []byte) string {
	switch string(name) {
	case "amp":
		return "&"
	case "lt":
		return "<"
	case "gt":
		return ">"
	case "quot":
		return `"`
	case "nbsp":
		return "\u00a0"
	}
	entity := "&" + string(name) + ";"
	if s := html.UnescapeString(entity); s != entity {
		return s
	}
	return ""
}

// shortName is the entity that name begins with and that needs no semicolon, or empty.
func shortName(name []byte) string {
	for _, short := range []string{"amp", "quot", "lt", "gt"} {
		if len(name) >= len(short) && strings.EqualFold(string(name[:len(short)]), short) {
			return short
		}
	}
	return ""
}

// isBreak reports whether c is a line break, or a part of one.
func isBreak(c byte) bool { return c == '\n' || c == '\r' }

// maxBreaks is how many line break bytes come together: CR and LF.
const maxBreaks = 2

// control is the control character that a letter after a backslash stands for, or 0.
func control(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	default:
		return 0
	}
}

// hex is the value of n hexadecimal digits at i, or -1.
func (t *text) hex(i, n int) int {
	if i+n > len(t.b) {
		t.short = t.short || !t.whole
		return -1
	}
	return hexValue(t.b[i : i+n])
}

func hexValue(b []byte) int {
	v := 0
	for _, c := range b {
		d := hexDigit(c)
		if d < 0 {
			return -1
		}
		v = v<<4 | d
	}
	return v
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	default:
		return -1
	}
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func isName(c byte) bool { return isLetter(c) || c >= '0' && c <= '9' }
