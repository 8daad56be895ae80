package kit

import (
	"slices"

	tea "charm.land/bubbletea/v2"
)

// Binding ties keys to an intent. Help, footer, palette and the key reference
// are read off bindings, so that what is shown is what acts.
type Binding struct {
	// Keys as tea.KeyPressMsg.String spells them ("ctrl+j", "f5", "space", "G").
	// The first is the one shown. Without keys the binding is a command of the
	// palette only.
	Keys []string
	// Label is the word or two of the footer; Help one sentence; Group a heading
	// of the help page and the palette ("Request", "Result", "Move").
	Label string
	Help  string
	Group string
	// Intent is given to the view's Update when the key is pressed; a message to
	// the root (Close, Goto, Copy, …) goes there instead. Without an intent the
	// binding only describes the key, which reaches Update as a key press.
	Intent tea.Msg
	// Disabled is the reason why it cannot act now; empty means it can. The root
	// shows the reason instead of passing the intent on.
	Disabled string
	// Dangerous marks what costs or destroys: the view opens a Confirm for it.
	Dangerous bool
	// Hidden keeps it out of the footer (motion keys); help still lists it.
	Hidden bool
	// WhileTyping lets it act while the view captures text.
	WhileTyping bool
}

// Matches reports whether key is one of the binding's.
func (b Binding) Matches(key string) bool { return slices.Contains(b.Keys, key) }

// Key is the key to show, or empty.
func (b Binding) Key() string {
	if len(b.Keys) == 0 {
		return ""
	}
	return b.Keys[0]
}

// Find returns the first binding that key means; with typing only those that
// act while text is captured.
func Find(bindings []Binding, key string, typing bool) (Binding, bool) {
	for _, b := range bindings {
		if typing && !b.WhileTyping {
			continue
		}
		if b.Matches(key) {
			return b, true
		}
	}
	return Binding{}, false
}
