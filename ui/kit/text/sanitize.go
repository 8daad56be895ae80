package text

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"zonedeck/model"
)

// MaxMarks is how many combining marks one character may have before they are made
// visible: enough for every script, too few to cover other lines.
const MaxMarks = 4

// Clean makes remote text safe for one line of a terminal and everything in it
// visible: control and escape characters, DEL, C1, line breaks, bidirectional
// and zero-width characters and all other format characters become
// visible tokens; bytes that are not UTF-8 become \xNN; a tab becomes
// spaces. Plain text comes back as it is, without a copy.
func Clean(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	marks := 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if Combining(r) {
			marks++
		} else {
			marks = 0
		}
		switch {
		case r == '\t':
			b.WriteString("    ")
		case r == utf8.RuneError && n == 1:
			writeByteToken(&b, s[i])
		case marks > MaxMarks || marks > 0 && i == 0 || !model.Visible(r):
			b.WriteString(Token(r))
			marks = 0
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

// Combining reports whether a rune combines with the one before it.
func Combining(r rune) bool {
	return r >= 0x300 && unicode.In(r, unicode.Mn, unicode.Me, unicode.Mc)
}

// CleanLines is Clean for text of several lines: line breaks (LF, CR LF) stay.
func CleanLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = Clean(strings.TrimSuffix(l, "\r"))
	}
	return strings.Join(lines, "\n")
}

func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// Token is the visible replacement for an invisible rune: a control picture for C0
// and DEL, ‹U+XXXX› for the rest.
func Token(r rune) string {
	switch {
	case r >= 0 && r < ' ':
		return string(0x2400 + r)
	case r == 0x7f:
		return "␡"
	}
	return "‹U+" + strings.ToUpper(pad4(strconv.FormatInt(int64(r), 16))) + "›"
}

func pad4(s string) string {
	if len(s) >= 4 {
		return s
	}
	return strings.Repeat("0", 4-len(s)) + s
}

func writeByteToken(b *strings.Builder, c byte) {
	const hex = "0123456789abcdef"
	b.WriteString(`\x`)
	b.WriteByte(hex[c>>4])
	b.WriteByte(hex[c&15])
}

// OnlyShown drops the characters that Clean would replace by tokens; tabs and line
// breaks become spaces. It is for searches.
func OnlyShown(s string) string {
	if plain(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t', r == '\n', r == '\r':
			return ' '
		case !model.Visible(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
}

// PastedLines is a pasted text of several lines without control characters: line breaks stay, and so do tabs, which
// separate the columns of rows pasted from a spreadsheet, and all that is only not visible, since with another character
// an address is another one.
func PastedLines(s string) string {
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.ToValidUTF8(s, ""))
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
}
