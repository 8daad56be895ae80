package text

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

func TestCleanMakesTheInvisibleVisible(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain text stays", "GET /shop 200", "GET /shop 200"},
		{"other scripts stay", "Größe 価格 цена 😀", "Größe 価格 цена 😀"},
		{"an escape sequence is spelled out", "\x1b[31mred\x1b[0m", "␛[31mred␛[0m"},
		{"a hyperlink is spelled out", "\x1b]8;;http://x\x07y", "␛]8;;http://x␇y"},
		{"a C1 control as UTF-8", "a\u009b31mb", "a‹U+009B›31mb"},
		{"a C1 control as a byte", "a\x9b31mb", `a\x9b31mb`},
		{"a carriage return cannot overwrite the line", "safe\rEVIL", "safe␍EVIL"},
		{"a line break stays in its line", "a\nb", "a␊b"},
		{"a tab is spaces", "a\tb", "a    b"},
		{"delete", "a\x7fb", "a␡b"},
		{"a bidirectional override", "user\u202egnp.exe", "user‹U+202E›gnp.exe"},
		{"an isolate", "\u2066x\u2069", "‹U+2066›x‹U+2069›"},
		{"a zero-width space and joiner", "pay\u200bpal\u200d", "pay‹U+200B›pal‹U+200D›"},
		{"a byte order mark", "\ufeffx", "‹U+FEFF›x"},
		{"a soft hyphen", "a\u00adb", "a‹U+00AD›b"},
		{"a variation selector", "a\ufe0fb", "a‹U+FE0F›b"},
		{"tag characters", "a\U000e0041b", "a‹U+E0041›b"},
		{"a Hangul filler", "a\u3164b", "a‹U+3164›b"},
		{"line and paragraph separators", "a\u2028b\u2029c", "a‹U+2028›b‹U+2029›c"},
		{"a mark stays on its letter", "e\u0301", "e\u0301"},
		{"a mark without a letter", "\u0301x", "‹U+0301›x"},
		{"bytes that are not UTF-8", "a\xff\xfeb", `a\xff\xfeb`},
		{"a private character", "a\ue000b", "a‹U+E000›b"},
		{"nothing", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Clean(c.in); got != c.want {
				t.Errorf("Clean(%q) = %q, want %q", c.in, got, c.want)
			}
		})
	}
}

func TestMarksDoNotPileUp(t *testing.T) {
	got := Clean("a" + strings.Repeat("\u0301", 50) + "b")
	run := 0
	for _, r := range got {
		if r == '\u0301' {
			run++
			if run > MaxMarks {
				t.Fatalf("%d marks on one letter in %q", run, got)
			}
		} else {
			run = 0
		}
	}
	if !strings.Contains(got, "‹U+0301›") {
		t.Errorf("the removed characters are not shown: %q", got)
	}
}

// safe fails the test when text could do anything to a terminal but show.
func safe(t *testing.T, what, s string) {
	t.Helper()
	if !utf8.ValidString(s) {
		t.Fatalf("%s is not UTF-8: %q", what, s)
	}
	for _, r := range s {
		if !model.Visible(r) {
			t.Fatalf("%s holds %U: %q", what, r, s)
		}
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"plain", "\x1b[2J", "a\u202eb", "\x9b1m", "e\u0301\u0301\u0301\u0301\u0301\u0301", "\xff\xfe", "\u200d\ufe0f", "\r\n\t", "‹U+202E›"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Clean(s)
		safe(t, "the cleaned text", got)
		if again := Clean(got); again != got {
			t.Fatalf("cleaning twice differs: %q, %q", got, again)
		}
		if plain(s) && got != s {
			t.Fatalf("plain text changed: %q", got)
		}
	})
}

func BenchmarkClean(b *testing.B) {
	s := strings.Repeat("Größe \x1b[31m plain text and more of it ", 20)
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		Clean(s)
	}
}

func TestALongLineOnATerminalKeepsItsCharacters(t *testing.T) {
	in := strings.Repeat("é€🔑", longestLine/4)
	for size := 1; size < 40; size += 7 {
		var out bytes.Buffer
		w := TerminalWriter{To: &out}
		for at := 0; at < len(in); at += size * 1000 {
			noerr.Must(t, noerr.From(io.WriteString(&w, in[at:min(at+size*1000, len(in))])))
		}
		if err := w.Flush(); err != nil || out.String() != in+"\n" {
			t.Errorf("pieces of %d bytes: %d bytes of %d, %v", size*1000, out.Len(), len(in), err)
		}
	}
}
