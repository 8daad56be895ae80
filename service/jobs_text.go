package service

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxDetail bounds a text of the ledger, in bytes.
const maxDetail = 1000

// singleLine makes a text one bounded line of valid UTF-8 without control
// characters, for the ledger.
func singleLine(s string) string {
	s = strings.ToValidUTF8(s[:min(len(s), 4*maxDetail)], "?")
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
	if len(s) <= maxDetail {
		return s
	}
	cut := maxDetail
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

// joinText joins what is not empty with a colon.
func joinText(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + ": " + b
}
