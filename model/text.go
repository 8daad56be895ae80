package model

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Cut is at most size bytes of a text, cut at a rune's boundary and marked with
// an ellipsis where something is missing.
func Cut(s string, size int) string {
	if len(s) <= size {
		return s
	}
	cut := size
	for cut > 0 && cut > size-utf8.UTFMax && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

// Line makes a remote text one line of valid UTF-8 without control characters,
// of at most size bytes and an ellipsis. Runs of white space become one space.
// The views still decide what a terminal is shown.
func Line(s string, size int) string {
	s = s[:min(len(s), 4*size)]
	s = strings.Map(func(r rune) rune {
		switch {
		case r == utf8.RuneError:
			return '?'
		case unicode.IsControl(r), unicode.IsSpace(r):
			return ' '
		default:
			return r
		}
	}, s)
	return Cut(strings.Join(strings.Fields(s), " "), size)
}

// IsMark reports whether a rune is a byte order mark, a zero-width space, a word joiner or a mark of direction: copied along with a
// text, never typed as a part of it. U+200C, U+200D and U+FE0F are none: words and signs are spelled with them.
func IsMark(r rune) bool {
	return r == 0xfeff || r == 0x200b || r == 0x2060 || unicode.Is(unicode.Bidi_Control, r)
}

// TrimMarks takes blanks, line ends and marks (see IsMark) off both ends of a text that comes from a person. names are those
// that no key types, as "U+FEFF, U+200B"; "" for none.
func TrimMarks(s string) (text, names string) {
	mark := func(r rune) bool { return unicode.IsSpace(r) || IsMark(r) }
	behind := strings.TrimLeftFunc(s, mark)
	text = strings.TrimRightFunc(behind, mark)
	for _, r := range s[:len(s)-len(behind)] + behind[len(text):] {
		if name := fmt.Sprintf("U+%04X", r); r > 0x7f && !strings.Contains(names, name) {
			names += ", " + name
		}
	}
	return text, strings.TrimPrefix(names, ", ")
}

// Visible reports whether a rune is visible: it has a width (or is a combining mark)
// and changes neither direction nor grouping.
func Visible(r rune) bool {
	switch {
	case r < ' ' || r >= 0x7f && r < 0xa0:
		return false
	case r < 0x300:
		return r != 0xad // soft hyphen
	case r == 0x034f, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r == 0x3164, r == 0xffa0:
		return false // fillers and the grapheme joiner: nothing to see
	case r >= 0x180b && r <= 0x180f, r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0100 && r <= 0xe01ef:
		return false // variation selectors change the width of what is before them
	case r == 0x2028, r == 0x2029:
		return false
	case r >= 0xfff0 && r <= 0xfffb, r >= 0xe0000 && r <= 0xe007f:
		return false
	case r == 0x2800:
		return false // the blank Braille pattern
	}
	return !unicode.In(r, unicode.Cf, unicode.Cc, unicode.Cs, unicode.Co) && r != 0xfffe && r != 0xffff && r&0xfffe != 0xfffe
}

// Packed says what the beginning of a file or an answer is if it is no text but compressed: "compressed (gzip)"; "" for text.
// Brotli has no mark: what is no UTF-8 and has control characters near its beginning may be that.
func Packed(head []byte) string {
	for mark, name := range map[string]string{"\x1f\x8b": "gzip", "\x28\xb5\x2f\xfd": "zstd", "PK\x03\x04": "zip"} {
		if bytes.HasPrefix(head, []byte(mark)) {
			return "compressed (" + name + ")"
		}
	}
	head = head[:min(len(head), 1<<10)]
	text := head
	for i := 1; i < min(utf8.UTFMax, len(text)); i++ { // its last character may be cut
		if last := head[len(head)-i:]; utf8.RuneStart(last[0]) && !utf8.FullRune(last) {
			text = head[:len(head)-i]
		}
	}
	control := func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' && r != '\f' && r != 0x1b }
	if !utf8.Valid(text) && bytes.ContainsFunc(head, control) {
		return "binary, as what is compressed with brotli is"
	}
	return ""
}

// CheckOnce refuses what cannot be the name of what is begun once.
func CheckOnce(name string) error {
	const most = 200
	if name != Line(name, most) {
		return BadField("once", "a name is one line of at most %d bytes, without blanks around it", most)
	}
	return nil
}

// Pattern is a regular expression that is compiled when it is first asked for: most runs need few of those that there
// are, and to compile all of them takes longer than most commands do.
func Pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
