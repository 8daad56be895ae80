package body

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/uitest"
)

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
			p := painter{inks: kit.NewTheme(true, false), row: r, marks: []inkRange{{0, min(3, len(b)), kit.NewTheme(true, false).Match}}, width: width}
			lines := []string{p.cut(x)}
			if wrap {
				p.span = 0
				lines = p.wrapped()
			}
			for _, l := range lines {
				words := withoutInks(l)
				if hidden := func(r rune) bool { return !model.Visible(r) }; !utf8.ValidString(words) || strings.ContainsFunc(words, hidden) {
					t.Fatalf("the row could do more to a terminal than show: %q", words)
				}
				if n := cellsOf(words); n != width {
					t.Fatalf("%d cells instead of %d: %q", n, width, words)
				}
			}
		}
	})
}

func TestARowThatIsCutAtTheLeftSaysSo(t *testing.T) {
	b := New(t.Context(), kit.Sandbox, kit.NewTheme(true, false))
	b.pos.w = 20
	r := bodyRow{text: []byte("0123456789")}
	if got := withoutInks(b.rowLines(r)[0]); !strings.HasPrefix(strings.TrimLeft(got, " "), "1 0123") {
		t.Errorf("at the left edge: %q", got)
	}
	b.pos.x = 4
	if got := withoutInks(b.rowLines(r)[0]); !strings.HasPrefix(strings.TrimLeft(got, " "), "1…4567") {
		t.Errorf("four columns further: %q", got)
	}
	if got := withoutInks(b.rowLines(bodyRow{})[0]); strings.Contains(got, "…") {
		t.Errorf("an empty row: %q", got)
	}
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
		clean := text.Clean(s)
		if got, want := cellsOf(clean), ansi.StringWidth(clean); got != want {
			t.Errorf("%q: %d cells by pieces, %d by the terminal's measure", clean, got, want)
		}
	}
}

func TestProseIsBrokenBetweenWords(t *testing.T) {
	b := newBody(t, 25, 6)
	b.SetProse()
	openText(t, b, "the quick brown fox jumps over antidisestablishmentarianism\n", "text/markdown")
	want := []string{"   1 the quick brown fox", "     jumps over", "     antidisestablishment", "     arianism"}
	for i, got := range strings.Split(uitest.Plain(b.Render(true, 25, 6)), "\n")[:len(want)] {
		if strings.TrimRight(got, " ") != want[i] {
			t.Errorf("line %d is %q, want %q", i, got, want[i])
		}
	}
	b.SetWrap(true)
	uitest.Settle(t, b.Search("fox"), b.Update)
	if got := uitest.Plain(b.Render(true, 25, 6)); !strings.Contains(got, "1 of 1") {
		t.Errorf("a search in it:\n%s", got)
	}
}
