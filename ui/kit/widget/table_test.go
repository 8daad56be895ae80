package widget

import (
	"fmt"
	"strings"
	"testing"

	"zonedeck/ui/uitest"

	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
)

func numbered(n int) *Table {
	t := &Table{Columns: []Column{{Title: "NAME", Width: 8, Flex: true}, {Title: "SIZE", Width: 6, Right: true, Priority: 1}, {Title: "NOTE", Width: 10, Priority: 2}}, Empty: "nothing here"}
	t.SetRows(n, func(i int) []Cell { return []Cell{C(fmt.Sprintf("row %d", i)), C(fmt.Sprint(i)), C("note")} })
	return t
}

func TestTableAsksForVisibleRowsOnly(t *testing.T) {
	th := kit.NewTheme(true, false)
	tab := &Table{Columns: []Column{{Title: "N", Width: 10}}}
	asked := map[int]int{}
	tab.SetRows(1_000_000, func(i int) []Cell {
		asked[i]++
		return []Cell{C(fmt.Sprint(i))}
	})
	tab.SetCursor(500_000)
	got := uitest.Plain(tab.Render(th, true, 20, 11))
	if len(asked) != 10 {
		t.Errorf("%d rows were asked for", len(asked))
	}
	if !strings.Contains(got, "›500000") {
		t.Errorf("the cursor is not in sight:\n%s", got)
	}
}

func TestTableKeepsTheCursorInSight(t *testing.T) {
	th := kit.NewTheme(true, false)
	tab := numbered(100)
	tab.Render(th, true, 40, 11)
	for _, step := range []struct {
		key  tea.KeyPressMsg
		want int
	}{
		{tea.KeyPressMsg{Code: 'j', Text: "j"}, 1},
		{tea.KeyPressMsg{Code: tea.KeyPgDown}, 11},
		{tea.KeyPressMsg{Code: 'g', ShiftedCode: 'G', Text: "G", Mod: tea.ModShift}, 99},
		{tea.KeyPressMsg{Code: 'j', Text: "j"}, 99},
		{tea.KeyPressMsg{Code: tea.KeyPgUp}, 89},
		{tea.KeyPressMsg{Code: 'g', Text: "g"}, 0},
		{tea.KeyPressMsg{Code: 'k', Text: "k"}, 0},
	} {
		if !tab.Update(step.key) {
			t.Fatalf("%s was not taken", step.key)
		}
		if tab.Cursor() != step.want {
			t.Errorf("after %s the cursor is at %d, want %d", step.key, tab.Cursor(), step.want)
		}
		if got := uitest.Plain(tab.Render(th, true, 40, 11)); !strings.Contains(got, fmt.Sprintf("›row %d", step.want)) {
			t.Errorf("after %s the cursor is out of sight:\n%s", step.key, got)
		}
	}
}

func TestATableBesideAnInputLeavesTheInputItsKeys(t *testing.T) {
	for name, tt := range map[string]struct {
		msg   tea.Msg
		moves int
		taken bool
	}{
		"up":             {tea.KeyPressMsg{Code: tea.KeyUp}, -1, true},
		"ctrl+p":         {tea.KeyPressMsg{Code: 'p', Mod: tea.ModCtrl}, -1, true},
		"down":           {tea.KeyPressMsg{Code: tea.KeyDown}, 1, true},
		"ctrl+n":         {tea.KeyPressMsg{Code: 'n', Mod: tea.ModCtrl}, 1, true},
		"page down":      {tea.KeyPressMsg{Code: tea.KeyPgDown}, 9, true},
		"page up":        {tea.KeyPressMsg{Code: tea.KeyPgUp}, -9, true},
		"the wheel":      {tea.MouseWheelMsg{Button: tea.MouseWheelDown}, 3, true},
		"a letter":       {tea.KeyPressMsg{Code: 'j', Text: "j"}, 0, false},
		"to the start":   {tea.KeyPressMsg{Code: tea.KeyHome}, 0, false},
		"erase to there": {tea.KeyPressMsg{Code: 'u', Mod: tea.ModCtrl}, 0, false},
		"no key":         {tea.PasteMsg{Content: "j"}, 0, false},
	} {
		tab := numbered(100)
		tab.Render(kit.NewTheme(true, false), true, 40, 10)
		tab.SetCursor(50)
		if taken := tab.UpdateWhileTyping(tt.msg); taken != tt.taken || tab.Cursor() != 50+tt.moves {
			t.Errorf("%s: taken %t, moved by %d; want %t, %d", name, taken, tab.Cursor()-50, tt.taken, tt.moves)
		}
	}
}

func TestTableDropsTheLeastImportantColumns(t *testing.T) {
	th := kit.NewTheme(true, false)
	tab := numbered(1)
	for _, c := range []struct {
		w              int
		want, wantGone string
	}{{40, "NOTE", ""}, {20, "SIZE", "NOTE"}, {12, "NAME", "SIZE"}} {
		got := uitest.Plain(tab.Render(th, true, c.w, 3))
		if !strings.Contains(got, c.want) || c.wantGone != "" && strings.Contains(got, c.wantGone) {
			t.Errorf("at %d cells:\n%s", c.w, got)
		}
		for l := range strings.SplitSeq(tab.Render(th, true, c.w, 3), "\n") {
			if text.Width(l) != c.w {
				t.Errorf("a line has %d cells instead of %d: %q", text.Width(l), c.w, l)
			}
		}
	}
}

func TestTableFollowsARowThatMoves(t *testing.T) {
	names := []string{"a", "b", "c", "d"}
	tab := &Table{Columns: []Column{{Title: "N", Width: 4}}}
	set := func() {
		tab.SetRowsKeyed(len(names), func(i int) string { return names[i] }, func(i int) []Cell { return []Cell{C(names[i])} })
	}
	set()
	tab.SetCursor(2)
	names = []string{"new", "a", "b", "c", "d"}
	set()
	if k, _ := tab.CursorKey(); k != "c" || tab.Cursor() != 3 {
		t.Errorf("the cursor is on %q at %d", k, tab.Cursor())
	}
	names = names[:1]
	set()
	if tab.Cursor() != 0 {
		t.Errorf("the cursor is at %d of one row", tab.Cursor())
	}
}

func TestTableCountsTheRowsThatAreNewAboveTheCursor(t *testing.T) {
	names := []string{"a", "b", "c"}
	tab := &Table{Columns: []Column{{Title: "N", Width: 4}}}
	set := func(now ...string) {
		names = now
		tab.SetRowsKeyed(len(names), func(i int) string { return names[i] }, func(i int) []Cell { return []Cell{C(names[i])} })
	}
	set("a", "b", "c")
	set("z", "a", "b", "c") // the cursor follows a
	if got := tab.News(); got != " · 1 new" {
		t.Errorf("%q", got)
	}
	tab.SetCursor(3)
	set("x", "y", "z", "a", "b", "c")
	if got := tab.News(); got != " · 3 new" || tab.Cursor() != 5 {
		t.Errorf("%q, the cursor is at %d", got, tab.Cursor())
	}
	tab.SetCursor(0)
	if got := tab.News(); got != "" {
		t.Errorf("%q at the top", got)
	}
	set("w", "x", "y", "z")
	tab.ForgetNews()
	if got := tab.News(); got != "" {
		t.Errorf("%q after all are seen", got)
	}
	set("v", "w", "x", "y", "z")
	if got := tab.News(); got != " · 1 new" {
		t.Errorf("%q after another one", got)
	}
	tab.SetCursor(2)
	set("other", "y", "z") // a list of other rows: nothing is known to be new
	if got := tab.News(); got != "" {
		t.Errorf("%q", got)
	}
}

func TestTableGivesRoomToWhatIsCut(t *testing.T) {
	th := kit.NewTheme(true, false)
	row := []Cell{C("datacenter_demo"), C("12 ms"), C("http://lab.test/shop")}
	tab := &Table{Columns: []Column{{Title: "ZONE", Width: 8}, {Title: "TOOK", Width: 6, Right: true}, {Title: "URL", Width: 10, Flex: true}}}
	tab.SetRows(1, func(int) []Cell { return row })
	for w, want := range map[int]string{
		80: "›datacenter_demo  12 ms http://lab.test/shop",
		45: "›datacenter_demo  12 ms http://lab.test/shop",
		40: "›datacenter_de…  12 ms lab.test/shop",
		27: "›datacen…  12 ms http://la…",
	} {
		if got := uitest.Plain(tab.Render(th, true, w, 2)); !strings.Contains(got, want) {
			t.Errorf("at %d cells:\n%s\nwant %s", w, got, want)
		}
	}
}

func TestTableCleansItsCells(t *testing.T) {
	tab := &Table{Columns: []Column{{Width: 20}}}
	tab.SetRows(1, func(int) []Cell { return []Cell{C("a\x1b[2Jb")} })
	if got := tab.Render(kit.NewTheme(true, false), false, 30, 2); strings.Contains(got, "\x1b[2J") {
		t.Errorf("an escape sequence got through: %q", got)
	}
}

func TestEmptyTableSaysSo(t *testing.T) {
	if got := uitest.Plain(numbered(0).Render(kit.NewTheme(true, false), true, 30, 4)); !strings.Contains(got, "nothing here") || strings.Count(got, "\n") != 3 {
		t.Errorf("got %q", got)
	}
}

func BenchmarkTable(b *testing.B) {
	th := kit.NewTheme(true, false)
	tab := numbered(1_000_000)
	b.Run("frame", func(b *testing.B) {
		for b.Loop() {
			tab.Render(th, true, 200, 50)
		}
	})
	b.Run("move", func(b *testing.B) {
		for b.Loop() {
			tab.Move(1)
			tab.Render(th, true, 200, 50)
		}
	})
}

// A cell that has a short form gives way to other columns, and is never cut.
func TestACellShowsItsShortFormWhereTheLongOneDoesNotFit(t *testing.T) {
	th := kit.NewTheme(true, false)
	tab := &Table{Columns: []Column{{Title: "KEY", Width: 6}, {Title: "USED BY", Width: 7, Flex: true}}}
	tab.SetRows(1, func(int) []Cell {
		return []Cell{C("etl-main-2"), {Text: "profile acme, cron", Short: "2 uses"}}
	})
	for w, want := range map[int]string{
		20: "›etl-main-2 2 uses", 29: "›etl-main-2 2 uses", 30: "›etl-main-2 profile acme, cron",
	} {
		if got := strings.TrimRight(strings.Split(uitest.Plain(tab.Render(th, true, w, 2)), "\n")[1], " "); got != want {
			t.Errorf("in %d cells: %q, want %q", w, got, want)
		}
	}
}

func TestASentenceInPlaceOfRowsIsNotCut(t *testing.T) {
	th := kit.NewTheme(true, false)
	tab := &Table{Columns: []Column{{Title: "N", Width: 10}}, Empty: "nothing has come; r reads it again"}
	if got := uitest.Plain(tab.Render(th, true, 20, 4)); !strings.Contains(got, "nothing has come; r") || !strings.Contains(got, "reads it again") {
		t.Errorf("drawn as\n%s", got)
	}
	if got := uitest.Plain(Trouble(th, "the journal cannot be read", "r tries again.", 20, 5)); !strings.Contains(got, "✗ the journal") || !strings.Contains(got, "cannot be read") {
		t.Errorf("drawn as\n%s", got)
	}
}

func TestTheWheelLeavesTheCursorOfATableThatIsLookedThrough(t *testing.T) {
	th, tab := kit.NewTheme(true, false), numbered(20)
	drawn := func() string { return uitest.Plain(tab.Render(th, false, 40, 6)) }
	drawn()
	tab.Scroll(tea.MouseWheelMsg{Button: tea.MouseWheelDown})
	tab.SetRows(20, tab.row)
	if above, below := tab.Hidden(); !strings.Contains(drawn(), "row 3") || strings.Contains(drawn(), "row 2 ") || above != 3 || below != 12 || tab.Cursor() != 0 {
		t.Errorf("%d above, %d below, the cursor at %d:\n%s", above, below, tab.Cursor(), drawn())
	}
	if tab.Click(2); tab.Cursor() != 4 {
		t.Errorf("a click on the second row goes to %d", tab.Cursor())
	}
	if tab.SetCursor(0); !strings.Contains(drawn(), "›row 0") {
		t.Errorf("the cursor is out of sight:\n%s", drawn())
	}
}
