package kit

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
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
		{"bytes that are no UTF-8", "a\xff\xfeb", `a\xff\xfeb`},
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
			if run > maxMarks {
				t.Fatalf("%d marks on one letter in %q", run, got)
			}
		} else {
			run = 0
		}
	}
	if !strings.Contains(got, "‹U+0301›") {
		t.Errorf("what was taken away is not shown: %q", got)
	}
}

// safe fails the test when text could do anything to a terminal but show.
func safe(t *testing.T, what, s string) {
	t.Helper()
	if !utf8.ValidString(s) {
		t.Fatalf("%s is not UTF-8: %q", what, s)
	}
	for _, r := range s {
		if !Shown(r) {
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

// FuzzBodyRow draws any bytes: nothing that could act on a terminal, and lines
// of exactly the width asked for.
func FuzzBodyRow(f *testing.F) {
	f.Add([]byte(`{"a":"\u001b[31m","b":[1,2.5e3,true]}`), 20, 0, true)
	f.Add([]byte("<a href='x'\x1b]0;t\x07>\u202e<!-- c"), 11, 3, false)
	f.Add([]byte("価格価格e\u0301\u0301\u0301\u0301\u0301\xff\x9b\t\t"), 7, 1, true)
	f.Fuzz(func(t *testing.T, b []byte, width, x int, wrap bool) {
		if len(b) > rowBytes || width < 1 || width > 500 || x < 0 || x > rowBytes {
			return
		}
		b = []byte(strings.ReplaceAll(string(b), "\n", " "))
		for _, syntax := range []Syntax{SyntaxNone, SyntaxJSON, SyntaxHTML} {
			lex := lexer{syntax: syntax}
			r := bodyRow{text: b, spans: lex.row(b, true)}
			end := 0
			for _, s := range r.spans {
				if s.from < end || s.to > len(b) || s.from > s.to {
					t.Fatalf("spans overlap or leave the row: %v of %d bytes", r.spans, len(b))
				}
				end = s.to
			}
			p := painter{inks: NewTheme(true, false), row: r, marks: []inkRange{{0, min(3, len(b)), NewTheme(true, false).Match}}, width: width}
			lines := []string{p.cut(x)}
			if wrap {
				p.span = 0
				lines = p.wrapped()
			}
			for _, l := range lines {
				text := withoutInks(l)
				safe(t, "the row", text)
				if n := cellsOf(text); n != width {
					t.Fatalf("%d cells instead of %d: %q", n, width, text)
				}
			}
		}
	})
}

// withoutInks takes away the SGR sequences the painter itself wrote.
func withoutInks(s string) string {
	for {
		i := strings.Index(s, "\x1b[")
		if i < 0 {
			return s
		}
		j := strings.IndexByte(s[i:], 'm')
		if j < 0 || strings.Trim(s[i+2:i+j], "0123456789;") != "" {
			return s
		}
		s = s[:i] + s[i+j+1:]
	}
}

// cellsOf measures as the painter does: piece by piece.
func cellsOf(s string) int { return cellsBefore([]byte(s), len(s)) }

func TestPieceWidthsAddUpToTheLine(t *testing.T) {
	for _, s := range []string{"plain", "価格", "Größe", "e\u0301a", "\x1b[31m", "a\u202eb", "😀x"} {
		clean := Clean(s)
		if got, want := cellsOf(clean), ansi.StringWidth(clean); got != want {
			t.Errorf("%q: %d cells by pieces, %d by the terminal's measure", clean, got, want)
		}
	}
}

func BenchmarkClean(b *testing.B) {
	s := strings.Repeat("Größe \x1b[31m plain text and more of it ", 20)
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		Clean(s)
	}
}
