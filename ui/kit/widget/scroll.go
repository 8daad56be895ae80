package widget

import (
	tea "charm.land/bubbletea/v2"
)

// ScrollBy returns how many lines a motion key or the wheel scrolls a pane without a
// cursor; 0 for other messages.
func ScrollBy(msg tea.Msg) int {
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		switch msg.String() {
		case "up", "k":
			return -1
		case "down", "j":
			return 1
		case "pgup", "ctrl+u", "ctrl+b":
			return -8
		case "pgdown", "ctrl+d", "ctrl+f", "space":
			return 8
		case "home", "g":
			return -1 << 20
		case "end", "G":
			return 1 << 20
		}
	case tea.MouseWheelMsg:
		if msg.Button == tea.MouseWheelUp {
			return -3
		}
		if msg.Button == tea.MouseWheelDown {
			return 3
		}
	}
	return 0
}
