package proxy

import (
	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
)

// motions are the motion keys, each with a key press as its intent: a binding
// without an intent would end at the root instead of reaching the table.
func motions() []kit.Binding {
	presses := map[string]tea.KeyPressMsg{
		"down": {Code: tea.KeyDown}, "up": {Code: tea.KeyUp},
		"pgdown": {Code: tea.KeyPgDown}, "pgup": {Code: tea.KeyPgUp},
		"home": {Code: tea.KeyHome}, "end": {Code: tea.KeyEnd},
		"ctrl+d": {Code: 'd', Mod: tea.ModCtrl}, "ctrl+u": {Code: 'u', Mod: tea.ModCtrl},
	}
	out := kit.MotionBindings()
	for i, b := range out {
		if press, ok := presses[b.Key()]; ok && b.Intent == nil {
			out[i].Intent = press
		}
	}
	return out
}
