package widget

import (
	"testing"

	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
)

func TestScrollByReadsMotionKeysAndTheWheel(t *testing.T) {
	for _, c := range []struct {
		name string
		msg  tea.Msg
		want int
	}{
		{"j", tea.KeyPressMsg{Code: 'j', Text: "j"}, 1},
		{"up", tea.KeyPressMsg{Code: tea.KeyUp}, -1},
		{"a page down", tea.KeyPressMsg{Code: tea.KeyPgDown}, 8},
		{"half a page up", tea.KeyPressMsg{Code: 'u', Mod: tea.ModCtrl}, -8},
		{"the wheel", tea.MouseWheelMsg{Button: tea.MouseWheelDown}, 3},
		{"another key", tea.KeyPressMsg{Code: 'x', Text: "x"}, 0},
		{"another message", kit.Tick{}, 0},
	} {
		if got := ScrollBy(c.msg); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	if top := max(0, 500+ScrollBy(tea.KeyPressMsg{Code: tea.KeyHome})); top != 0 {
		t.Errorf("home leaves the first line at %d", top)
	}
	if top := 3 + ScrollBy(tea.KeyPressMsg{Code: 'G', Text: "G"}); top < 1<<20 {
		t.Errorf("G goes to line %d, not behind the last", top)
	}
}
