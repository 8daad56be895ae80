package answer

import (
	"net/http/httptest"
	"strings"
	"testing"
)

func TestCutKeepsRunesWhole(t *testing.T) {
	for _, tc := range []struct {
		text  string
		limit int
		want  string
	}{
		{"abc", 3, "abc"},
		{"abc", 2, "ab"},
		{"abc", 0, ""},
		{"aä", 2, "a"},
		{"aä", 3, "aä"},
		{"€€", 5, "€"},
		{"𝄞", 3, ""},
		{"\xff\xfe\xfd", 2, "\xff\xfe"},
		{"\x80\x80\x80\x80\x80\x80", 5, "\x80"},
	} {
		if got := Cut(tc.text, tc.limit); got != tc.want {
			t.Errorf("%q to %d bytes: %q, want %q", tc.text, tc.limit, got, tc.want)
		}
	}
}

func TestAShortenedTextSaysSo(t *testing.T) {
	for _, tc := range [][2]string{{"abcd", "abcd"}, {"abcde", "abcd…"}, {"abcä", "abc…"}, {"a\xffb", "ab"}} {
		if got := Shortened(tc[0], 4); got != tc[1] {
			t.Errorf("%q: %q, want %q", tc[0], got, tc[1])
		}
	}
}

func TestNotesAreBoundedAndPrintable(t *testing.T) {
	w := httptest.NewRecorder()
	for range 1000 {
		NoteUnknown(w, "é\r\nx-brd-error: no"+strings.Repeat("x", 1000))
	}
	notes := w.Header().Values(NoteHeader)
	if len(notes) != maxNotes {
		t.Errorf("%d notes", len(notes))
	}
	for _, n := range notes {
		if len(n) > 300 || strings.ContainsFunc(n, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Fatalf("%q", n)
		}
	}
}
