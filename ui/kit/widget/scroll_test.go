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
		name, want, more string
		msg              tea.Msg
	}{
		{"the beginning", "abcd", " · 6 more below", kit.Tick{}},
		{"j", "bcde", " · 5 more below", tea.KeyPressMsg{Code: 'j', Text: "j"}},
		{"a page down", "fghi", " · 1 more below", tea.KeyPressMsg{Code: tea.KeyPgDown}},
		{"half a page up", "defg", " · 3 more below", tea.KeyPressMsg{Code: 'u', Mod: tea.ModCtrl}},
		{"the wheel", "ghij", "", tea.MouseWheelMsg{Button: tea.MouseWheelDown}},
		{"beyond the end", "ghij", "", tea.KeyPressMsg{Code: 'j', Text: "j"}},
		{"another key", "ghij", "", tea.KeyPressMsg{Code: 'x', Text: "x"}},
		{"home", "abcd", " · 6 more below", tea.KeyPressMsg{Code: tea.KeyHome}},
		{"G", "ghij", "", tea.KeyPressMsg{Code: 'G', Text: "G"}},
	} {
		visible()
		s.Update(c.msg)
		if got := visible(); got != c.want || s.Below() != c.more {
			t.Errorf("%s: %q and %q, want %q and %q", c.name, got, s.Below(), c.want, c.more)
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
