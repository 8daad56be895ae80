package widget

import (
	"fmt"
	"strings"
	"testing"

	"zonedeck/ui/uitest"

	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
)

// findKeys presses keys the way the root does: a binding first, then Update.
func findKeys(f *TableFind, t *Table, keys ...string) {
	for _, k := range keys {
		var msg tea.Msg = tea.KeyPressMsg{Code: []rune(k)[0], Text: k}
		if b, ok := kit.Find(f.With(), k, f.CapturingText()); ok {
			msg = b.Intent
		}
		f.Update(t, msg)
	}
}

func TestTableFind(t *testing.T) {
	var table Table
	table.Columns = []Column{{Width: 10}}
	names := []string{"alpha", "Beta", "gamma", "beta two", "delta"}
	table.SetRows(len(names), func(i int) []Cell { return []Cell{C(fmt.Sprint(i)), C(names[i])} })
	f := NewTableFind(kit.NewTheme(true, false))
	table.SetCursor(2)
	steps := []struct {
		why  string
		keys []string
		row  int
		line string
	}{
		{"the first match from the cursor on", []string{"/", "b", "e", "t"}, 3, "bet 2 of 2"},
		{"after enter n goes around the end", []string{"enter", "n"}, 1, "1 of 2 · n next"},
		{"and N back", []string{"N"}, 3, "2 of 2"},
		{"esc ends the search and stays", []string{"esc"}, 3, ""},
		{"no match leaves the cursor", []string{"/", "z", "z"}, 3, "nothing matches"},
		{"esc while typing goes back", []string{"esc", "/", "a", "l", "p", "esc"}, 3, ""},
	}
	for _, s := range steps {
		findKeys(&f, &table, s.keys...)
		line := strings.Join(strings.Fields(uitest.Plain(f.line(60))), " ")
		if table.Cursor() != s.row || !strings.Contains(line, s.line) || s.line == "" && line != "" {
			t.Errorf("%s: on row %d with %q, want row %d and %q", s.why, table.Cursor(), line, s.row, s.line)
		}
	}
	if _, ok := kit.Find(f.With(), "n", false); ok {
		t.Error("n belongs to the search that ended")
	}
}
