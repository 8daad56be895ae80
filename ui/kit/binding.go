package kit

import (
	"slices"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
)

// GroupForm is the group of the keys of a form.
const GroupForm = "Form"

// Binding maps keys to an intent. Help, footer, palette and the key reference are
// generated from bindings, so they always match what the keys do.
type Binding struct {
	// Name is the action's in [bindings] of config.toml and in docs/keys.md: its place and what
	// it does ("jobs.download"). It never changes: operators have it in their files.
	Name string
	// Keys as tea.KeyPressMsg.String spells them ("ctrl+j", "f5", "space", "G").
	// The first is the one shown. A binding without keys is a palette
	// command only.
	Keys []string
	// Label is the word or two of the footer; Help one sentence; Group a heading
	// of the help page and the palette ("Request", "Result", "Move").
	Label string
	// Command is its name in the palette, where the label says too little without its tab
	// ("new job"); empty for the label.
	Command string
	// Synonyms are other words that people type in the palette for it, in small letters.
	Synonyms string
	Help     string
	Group    string
	// Intent is passed to the view's Update when the key is pressed; messages to the
	// root (Close, Goto, Copy, …) go there instead. Without an intent the binding only
	// describes the key, which reaches Update as a key press.
	Intent tea.Msg
	// Disabled is the reason why the binding cannot act now, or empty. The root shows
	// the reason instead of passing on the intent; the footer leaves the binding out.
	Disabled string
	// Dangerous marks an action that costs money or destroys something: the view asks
	// with a Confirm first.
	Dangerous bool
	// Stops marks what cancels work that runs. By esc it comes before the dismissal of an error.
	Stops bool
	// Hidden keeps it out of the footer (motion keys); help still lists it.
	Hidden bool
	// WhileTyping lets it act while the view captures text: by its chords, if it has any.
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

// Types reports whether a key is text where text is typed.
func Types(key string) bool { return key == "space" || utf8.RuneCountInString(key) == 1 }

// Chords are the keys that type nothing.
func (b Binding) Chords() []string { return slices.DeleteFunc(slices.Clone(b.Keys), Types) }

// InForm reports whether bindings are those of a form that has the focus: no letter spends or destroys there.
func InForm(bindings []Binding) bool {
	return slices.ContainsFunc(bindings, func(b Binding) bool { return b.Group == GroupForm })
}

// Reason is why a binding cannot act, or empty where it can.
func Reason(disabled bool, why string) string {
	if disabled {
		return why
	}
	return ""
}

// Bound gives bindings the operator's own keys.
func (t *Theme) Bound(list []Binding) []Binding {
	list = slices.Clone(list)
	for i, b := range list {
		list[i].Keys = t.Rebound.Keys(b.Name, b.Keys)
	}
	return list
}

// Key is the display name of the key of an action, for a sentence.
func (t *Theme) Key(name string) string { return KeyName(t.Rebound.Key(name)) }

// KeyName is the display name of a key: "PgDn" for "pgdown". Other keys are spelled as
// in Bubble Tea.
func KeyName(key string) string {
	switch key {
	case "pgdown":
		return "PgDn"
	case "pgup":
		return "PgUp"
	case "up":
		return "↑"
	case "down":
		return "↓"
	case "left":
		return "←"
	case "right":
		return "→"
	}
	if len(key) > 1 && key[0] == 'f' && key[1] >= '1' && key[1] <= '9' {
		return "F" + key[1:]
	}
	return key
}

// KeyNames are the display names of keys, in one line.
func KeyNames(keys []string) string {
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = KeyName(k)
	}
	return strings.Join(out, " ")
}

// Find returns the first binding for a key; with typing, only those that act while
// text is captured.
func Find(bindings []Binding, key string, typing bool) (Binding, bool) {
	for _, b := range bindings {
		if typing && (!b.WhileTyping || Types(key) && len(b.Chords()) > 0) {
			continue
		}
		if b.Matches(key) {
			return b, true
		}
	}
	return Binding{}, false
}
