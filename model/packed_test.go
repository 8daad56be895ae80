package model

import (
	"strings"
	"testing"
)

func TestWhatIsPackedIsNoText(t *testing.T) {
	for text, want := range map[string]string{
		"\x1f\x8b\x08": "compressed (gzip)", "\x28\xb5\x2f\xfd\x04": "compressed (zstd)", "PK\x03\x04": "compressed (zip)",
		"\x1b\x2a\x00\xf8\x8d": "binary, as what is compressed with brotli is", "\xc3(\x01": "binary, as what is compressed with brotli is",
		"": "", "url\nhttp://lab.test/caf\xe9\n": "", "{\"a\":\"\x01é\"}": "", strings.Repeat("é", 600): "", "\x00\x01": "", "PK,name": "",
	} {
		if got := Packed([]byte(text)); got != want {
			t.Errorf("%.20q: %q, want %q", text, got, want)
		}
	}
}
