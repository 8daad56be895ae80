package widget

import (
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
)

func TestScrollStaysInsideTheText(t *testing.T) {
	lines := strings.Split("abcdefghij", "")
	var s Scroll
	visible := func() string { return strings.Join(s.Visible(lines, 4), "") }
	for _, c := range []struct {
		name, want   string
		above, below int
		msg          tea.Msg
	}{
		{"the beginning", "abcd", 0, 6, kit.Tick{}},
		{"j", "bcde", 1, 5, tea.KeyPressMsg{Code: 'j', Text: "j"}},
		{"a page down", "fghi", 5, 1, tea.KeyPressMsg{Code: tea.KeyPgDown}},
		{"half a page up", "defg", 3, 3, tea.KeyPressMsg{Code: 'u', Mod: tea.ModCtrl}},
		{"the wheel", "ghij", 6, 0, tea.MouseWheelMsg{Button: tea.MouseWheelDown}},
		{"beyond the end", "ghij", 6, 0, tea.KeyPressMsg{Code: 'j', Text: "j"}},
		{"another key", "ghij", 6, 0, tea.KeyPressMsg{Code: 'x', Text: "x"}},
		{"home", "abcd", 0, 6, tea.KeyPressMsg{Code: tea.KeyHome}},
		{"G", "ghij", 6, 0, tea.KeyPressMsg{Code: 'G', Text: "G"}},
	} {
		visible()
		s.Update(c.msg)
		got := visible()
		if above, below := s.Hidden(); got != c.want || above != c.above || below != c.below {
			t.Errorf("%s: %q, %d above and %d below, want %q, %d and %d", c.name, got, above, below, c.want, c.above, c.below)
		}
	}
	s = Scroll{}
	if s.End(); !slices.Equal(s.Visible(lines[:6], 4), lines[2:6]) {
		t.Error("End does not show the end of a text drawn later")
	}
	if got := s.Visible(lines[:2], 4); len(got) != 2 {
		t.Errorf("a short text shows %d lines", len(got))
	}
}
