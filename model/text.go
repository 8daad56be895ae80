package model

import (
	"strings"
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

// Beginning is at most size bytes of a text whose secrets are masked next. Of an address that is cut it has the scheme
// alone: half a login cannot be told from a host.
func Beginning(s string, size int) string {
	if len(s) <= size {
		return s
	}
	for size > 0 && !utf8.RuneStart(s[size]) {
		size--
	}
	s = s[:size]
	if i := strings.LastIndex(s, "://"); i >= 0 && !strings.ContainsAny(s[i:], " \t\r\n\f\"'<>") {
		return s[:i]
	}
	return s
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
