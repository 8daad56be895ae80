package kit

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestBytesAndDurations(t *testing.T) {
	for n, want := range map[int64]string{-1: "-", 0: "0 B", 999: "999 B", 1000: "1.0 KB", 18_200: "18.2 KB", 999_999: "1.0 MB", 1_400_000: "1.4 MB", 256 << 20: "268.4 MB", 1 << 62: "4.6 EB"} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %q, want %q", n, got, want)
		}
	}
	for d, want := range map[time.Duration]string{-1: "-", 0: "0 µs", 900 * time.Microsecond: "900 µs", 412 * time.Millisecond: "412 ms", 1400 * time.Millisecond: "1.4 s", 125 * time.Second: "2 min 5 s", 90 * time.Minute: "1 h 30 min"} {
		if got := Took(d); got != want {
			t.Errorf("Took(%d) = %q, want %q", d, got, want)
		}
	}
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1 000", -12345: "-12 345", 1234567: "1 234 567"} {
		if got := Count(n); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestTimes(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 4, 31, 0, time.UTC)
	for _, c := range []struct {
		at                time.Time
		ago, clock, whole string
	}{
		{time.Time{}, "-", "-", "-"},
		{now, "now", "12:04:31", "12:04:31 (now)"},
		{now.Add(-4 * time.Minute), "4m", "12:00:31", "12:00:31 (4m)"},
		{now.Add(-30 * time.Hour), "30h", "2026-11-20 06:04", "2026-11-20 06:04 (30h)"},
		{now.Add(-9 * 24 * time.Hour), "9d", "2026-11-12 12:04", "2026-11-12 12:04 (9d)"},
		{now.Add(7 * time.Minute), "in 7m", "12:11:31", "12:11:31 (in 7m)"},
	} {
		if got := [3]string{Ago(c.at, now), Clock(c.at, now), When(c.at, now)}; got != [3]string{c.ago, c.clock, c.whole} {
			t.Errorf("%s: %q", c.at, got)
		}
	}
}

func TestFitAndSplitAddUp(t *testing.T) {
	for _, s := range []string{"", "short", "a much longer line than fits", "価格価格価格価格", "\x1b[31mstyled text that is long\x1b[m"} {
		for _, w := range []int{0, 1, 2, 5, 12, 40} {
			if got := Width(Fit(s, w)); got != w {
				t.Errorf("Fit(%q, %d) has %d cells", s, w, got)
			}
			if got := Width(FitRight(s, w)); got != w {
				t.Errorf("FitRight(%q, %d) has %d cells", s, w, got)
			}
			if got := Width(Edge(s, "right", w)); got != w {
				t.Errorf("Edge(%q, %d) has %d cells", s, w, got)
			}
		}
	}
	for total := range 50 {
		sum := 0
		for _, n := range Split(total, 3, 0, 2, 1) {
			sum += n
		}
		if sum != total {
			t.Errorf("Split(%d) gives %d", total, sum)
		}
	}
}

func TestPaneIsExactlyItsSize(t *testing.T) {
	th := NewTheme(true, false)
	for _, size := range [][2]int{{4, 2}, {10, 3}, {80, 24}, {3, 5}} {
		w, h := size[0], size[1]
		got := Pane(th, "A title that is too long for it", true, w, h, "line one\nline two\n"+strings.Repeat("x", 200))
		lines := strings.Split(got, "\n")
		if len(lines) != h {
			t.Errorf("%v: %d lines", size, len(lines))
		}
		for _, l := range lines {
			if Width(l) != w {
				t.Errorf("%v: %d cells: %q", size, Width(l), l)
			}
		}
	}
	if got := plainText(Pane(th, "Request", true, 20, 3, "")); !strings.HasPrefix(got, "╭▌Request ") {
		t.Errorf("the focus does not show without colour: %q", got)
	}
}

func TestOverKeepsWhatIsAround(t *testing.T) {
	base := strings.Join([]string{"0123456789", "\x1b[31mabcdefghij\x1b[m", "価格価格価格"}, "\n")
	got := strings.Split(plainText(Over(base, "XX\nYY\nZZ", 3, 0)), "\n")
	want := []string{"012XX56789", "abcYYfghij", "価 ZZ"}
	for i := range 2 {
		if got[i] != want[i] {
			t.Errorf("line %d: %q, want %q", i, got[i], want[i])
		}
	}
	if !strings.HasPrefix(got[2], want[2]) || Width(got[2]) > 12 {
		t.Errorf("wide characters under an edge: %q", got[2])
	}
}

func TestThemeWithoutColourUsesNone(t *testing.T) {
	th := NewTheme(true, true)
	for name, ink := range map[string]Ink{"bad": th.Bad, "selected": th.Selected, "border": th.BorderFocus, "tab": th.TabOn} {
		if s := ink.Render("x"); strings.Contains(s, "38;") || strings.Contains(s, "48;") || strings.Contains(s, "[3") {
			t.Errorf("%s has a colour: %q", name, s)
		}
	}
	if th.Selected.Render("x") == "x" {
		t.Error("the cursor row cannot be told without colour")
	}
	before := th.Version
	th.Set(false, false)
	if th.Version == before || th.Dark {
		t.Error("setting a theme does not count")
	}
}

func TestHelpNamesEveryGroupOnce(t *testing.T) {
	bind := func(key, group string) Binding { return Binding{Keys: []string{key}, Label: key, Group: group} }
	h := NewHelp(NewTheme(true, true), []HelpSection{{Title: "Tab", Bindings: []Binding{
		bind("a", "Request"), bind("j", "Move"), bind("b", "Result"), bind("c", "Request"),
	}}})
	text := h.Render(60, 20)
	if strings.Count(text, "Request") != 1 || strings.Index(text, "Move") < strings.Index(text, "Result") {
		t.Errorf("drawn as\n%s", text)
	}
}

func TestWrappedTextFitsAndLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOf(rapid.RuneFrom([]rune("ab -/&?,;é価👩🇩\u0301\u200d\ufe0f\n"))).Draw(t, "text")
		w := rapid.IntRange(2, 12).Draw(t, "width")
		lines := WrapText(s, w)
		for _, l := range lines {
			if Width(l) > w {
				t.Errorf("%q at %d cells has the line %q of %d", s, w, l, Width(l))
			}
		}
		words := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if got := words(strings.Join(lines, "")); got != words(s) {
			t.Errorf("%q at %d cells became %q", s, w, lines)
		}
	})
	for _, c := range []struct {
		text string
		w    int
		want []string
	}{
		{"nothing was searched for; / searches", 26, []string{"nothing was searched for;", "/ searches"}},
		{"see http://lab.test/search?q=a&n=2", 24, []string{"see http://lab.test/", "search?q=a&n=2"}},
		{"what stands after --proxy-user", 27, []string{"what stands after --proxy-", "user"}},
		{"what stands after --proxy-user", 20, []string{"what stands after", "--proxy-user"}},
		{"  indented  words", 10, []string{"  indented", "words"}},
		{"abcdefghij", 4, []string{"abcd", "efgh", "ij"}},
		{"one\n\ntwo", 9, []string{"one", "", "two"}},
		{"", 5, []string{""}},
	} {
		if got := WrapText(c.text, c.w); !slices.Equal(got, c.want) {
			t.Errorf("WrapText(%q, %d) = %q, want %q", c.text, c.w, got, c.want)
		}
	}
}
