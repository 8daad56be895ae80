package answer

import (
	"strings"
	"unicode/utf8"
)

// Cut returns the first bytes of a text, at most limit, without splitting a rune. Invalid
// UTF-8 stays as it is.
func Cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for back := 0; back < utf8.UTFMax && limit > 0 && !utf8.RuneStart(text[limit]); back++ {
		limit--
	}
	return text[:limit]
}

// Shortened prepares a text for a message: valid UTF-8, cut to limit bytes, with an ellipsis if
// it was longer.
func Shortened(text string, limit int) string {
	if len(text) > limit {
		text = Cut(text, limit) + "…"
	}
	return strings.ToValidUTF8(text, "")
}
