package answer

import (
	"strings"
	"unicode/utf8"
)

// Cut returns the first bytes of a text, at most limit, and never half of a rune. What was
// invalid UTF-8 before stays as it is.
func Cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for back := 0; back < utf8.UTFMax && limit > 0 && !utf8.RuneStart(text[limit]); back++ {
		limit--
	}
	return text[:limit]
}

// Shortened is a text as a message shows it: valid UTF-8, and with an ellipsis where more
// than limit bytes were cut to that.
func Shortened(text string, limit int) string {
	if len(text) > limit {
		text = Cut(text, limit) + "…"
	}
	return strings.ToValidUTF8(text, "")
}
