package model

import "testing"

func TestMarksAtTheEndsOfATextAreTakenOffAndNamed(t *testing.T) {
	for in, want := range map[string][2]string{
		"":                             {"", ""},
		" a b\t\r\n":                   {"a b", ""},
		"\ufeff\u200b a\u200e\u202f\n": {"a", "U+FEFF, U+200B, U+200E, U+202F"},
		"\u2066a\u2069\u2060":          {"a", "U+2066, U+2069, U+2060"},
		"\u200ca\u200d\ufe0f":          {"\u200ca\u200d\ufe0f", ""},
		"a\u200b\u202eb":               {"a\u200b\u202eb", ""},
		"\u00a0\u00a0":                 {"", "U+00A0"},
		"\xffa\xff":                    {"\xffa\xff", ""},
	} {
		if text, names := TrimMarks(in); text != want[0] || names != want[1] {
			t.Errorf("%q: %q, %q", in, text, names)
		}
	}
}
