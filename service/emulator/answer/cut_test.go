package answer

import "testing"

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
