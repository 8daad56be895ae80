package widget

import (
	"strconv"
	"strings"
	"testing"

	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/uitest"
)

func TestPaneIsExactlyItsSize(t *testing.T) {
	th := kit.NewTheme(true, false)
	for _, size := range [][2]int{{4, 2}, {10, 3}, {80, 24}, {3, 5}} {
		w, h := size[0], size[1]
		got := Pane(th, "A title that is too long for it", true, w, h, "line one\nline two\n"+strings.Repeat("x", 200))
		lines := strings.Split(got, "\n")
		if len(lines) != h {
			t.Errorf("%v: %d lines", size, len(lines))
		}
		for _, l := range lines {
			if text.Width(l) != w {
				t.Errorf("%v: %d cells: %q", size, text.Width(l), l)
			}
		}
	}
	if got := uitest.Plain(Pane(th, "Request", true, 20, 3, "")); !strings.HasPrefix(got, "╭▌Request ") {
		t.Errorf("the focus does not show without colour: %q", got)
	}
}

func TestOverKeepsWhatIsAround(t *testing.T) {
	base := strings.Join([]string{"0123456789", "\x1b[31mabcdefghij\x1b[m", "価格価格価格"}, "\n")
	got := strings.Split(uitest.Plain(Over(base, "XX\nYY\nZZ", 3, 0)), "\n")
	want := []string{"012XX56789", "abcYYfghij", "価 ZZ"}
	for i := range 2 {
		if got[i] != want[i] {
			t.Errorf("line %d: %q, want %q", i, got[i], want[i])
		}
	}
	if !strings.HasPrefix(got[2], want[2]) || text.Width(got[2]) > 12 {
		t.Errorf("wide characters under an edge: %q", got[2])
	}
}

func TestHelpNamesEveryGroupOnce(t *testing.T) {
	bind := func(key, group string) kit.Binding { return kit.Binding{Keys: []string{key}, Label: key, Group: group} }
	h := NewHelp(kit.NewTheme(true, true), []HelpSection{{Title: "Tab", Bindings: []kit.Binding{
		bind("a", "Request"), bind("j", "Move"), bind("b", "Result"), bind("c", "Request"),
	}}})
	text := h.Render(60, 20)
	if strings.Count(text, "Request") != 1 || strings.Index(text, "Move") < strings.Index(text, "Result") {
		t.Errorf("drawn as\n%s", text)
	}
}

func TestThePaneWithTheFocusIsTheWiderOne(t *testing.T) {
	for w := 10; w < 250; w++ {
		focused, other := SideBySide(w, true, false)
		left, right := SideBySide(w, false, true)
		even, rest := SideBySide(w, false, false)
		if focused+other != w || left+right != w || even+rest != w || focused < other || right < left || rest-even > 1 {
			t.Errorf("%d cells: %d and %d, %d and %d, %d and %d", w, focused, other, left, right, even, rest)
		}
	}
}

func TestTilePutsColumnsSideBySideAndKeepsTheirRegions(t *testing.T) {
	areas := []kit.Area{{Pane: 0, W: 2, H: 1}, {Pane: 1, Y: 1, W: 2, H: 2}, {Pane: 2, X: 2, W: 3, H: 3}}
	frame, drawn := tile(areas, func(a kit.Area) string {
		return Block(strings.Repeat(strings.Repeat(strconv.Itoa(a.Pane), a.W)+"\n", a.H), a.W, a.H)
	})
	if want := "00222\n11222\n11222"; frame != want {
		t.Errorf("drawn\n%s\nwant\n%s", frame, want)
	}
	if hit, ok := drawn.At(4, 1); !ok || hit != (kit.Hit{Pane: 2, Line: 0, Col: 1}) {
		t.Errorf("under the pointer is %v, %v", hit, ok)
	}
}

func TestAFrameSaysWhatIsHidden(t *testing.T) {
	var list Table
	list.Columns = []Column{{Width: 4}}
	list.SetRows(2000, func(i int) []Cell { return []Cell{C("r" + strconv.Itoa(i))} })
	th := kit.NewTheme(true, false)
	draw := func() []string {
		body := list.Render(th, true, 18, 2)
		return strings.Split(uitest.Plain(ScrollPane(th, "Long title of rows", &list, true, 20, 4, body)), "\n")
	}
	for _, c := range []struct {
		cursor      int
		top, bottom string
	}{
		{0, "╭▌Long title of … ─╮", "╰───────── ↓ 1 998 ╯"},
		{9, "╭▌Long titl… ─ ↑ 8 ╮", "╰───────── ↓ 1 990 ╯"},
		{1999, "╭▌Long … ─ ↑ 1 998 ╮", "╰──────────────────╯"},
	} {
		list.SetCursor(c.cursor)
		if got := draw(); got[0] != c.top || got[3] != c.bottom {
			t.Errorf("at row %d:\n%s\n%s\nwant\n%s\n%s", c.cursor, got[0], got[3], c.top, c.bottom)
		}
	}
}

func TestStackedPanesGrowInTheirOrder(t *testing.T) {
	needs := []Need{{Pane: 7, Lines: 10}, {Pane: 8, Lines: 2}, {Pane: 9, Lines: 30}}
	for _, c := range []struct {
		h     int
		first []int
		want  []int
	}{
		{30, []int{7, 9}, []int{10, 2, 18}},
		{30, []int{9}, []int{4, 2, 24}},
		{60, []int{7}, []int{10, 2, 48}},
		{12, []int{7}, []int{6, 2, 4}},
	} {
		y := 0
		for i, a := range Stacked(80, c.h, 4, c.first, needs...) {
			if a.Pane != needs[i].Pane || a.Y != y || a.H != c.want[i] || a.W != 80 {
				t.Errorf("of %d lines, first %v: pane %d has %+v, want %d lines from %d", c.h, c.first, i, a, c.want[i], y)
			}
			y += a.H
		}
	}
}
