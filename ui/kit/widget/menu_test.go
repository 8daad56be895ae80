package widget

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/uitest"
)

// A line that the window cuts is shown whole below the list while it is selected.
func TestAMenuShowsALineThatIsCutBelow(t *testing.T) {
	var open kit.Open
	why := "the job may have started: there are no rows to compare with yet"
	uitest.Settle(t, OpenMenu(kit.NewTheme(true, false), "Launch", kit.Jobs, []MenuItem{{Key: "w", Label: "the whole job"}, {Key: "o", Label: "only what is missing", Disabled: why}}), func(m tea.Msg) tea.Cmd {
		open, _ = m.(kit.Open)
		return nil
	})
	m := open.Overlay
	w, h := m.Size(60, 24)
	if got := uitest.Plain(m.Render(w, h)); w != 54 || h != 5 || strings.Contains(got, "with yet") {
		t.Errorf("%d by %d, drawn as\n%s", w, h, got)
	}
	m.Update(tea.KeyPressMsg{Code: tea.KeyDown})
	got := strings.Fields(strings.Join(strings.Split(uitest.Plain(m.Render(w, h)), "\n")[3:], " "))
	if want := "only what is missing (" + why + ")"; strings.Join(got, " ") != want {
		t.Errorf("below the list stands %q, want %q", strings.Join(got, " "), want)
	}
	if w, h := m.Size(120, 24); w < text.Width(why) || h != 2 {
		t.Errorf("%d by %d where nothing is cut", w, h)
	}
}
