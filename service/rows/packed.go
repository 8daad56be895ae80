package rows

import (
	"bytes"
	"unicode/utf8"
)

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
