package config

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
)

// actionsTable has a line for each action of the console: its name, its usual keys, "typing" if it
// acts while text is typed (by its chords), and the places whose actions are offered with it. The test that writes
// docs/keys.md writes it.
//
//go:embed actions.tsv
var actionsTable string

// Bindings are the operator's own keys of actions, by the names of the actions.
type Bindings map[string][]string

// Keys returns the keys of an action: the operator's own, then the usual ones that are reserved.
// Without own ones it returns the usual.
func (b Bindings) Keys(name string, usual []string) []string {
	own, ok := b[name]
	if !ok {
		return usual
	}
	return append(slices.Clone(own), slices.DeleteFunc(slices.Clone(usual), func(k string) bool { return !slices.Contains(reserved, k) })...)
}

// Key is the key of an action for a sentence that names it; "" if there is no such action.
func (b Bindings) Key(name string) string {
	if own := b[name]; len(own) > 0 {
		return own[0]
	}
	return usualKeys()[name]
}

// usualKeys are the first keys of the actions.
var usualKeys = sync.OnceValue(func() map[string]string {
	keys := map[string]string{}
	for line := range strings.Lines(actionsTable) {
		name, rest, _ := strings.Cut(line, "\t")
		rest, _, _ = strings.Cut(rest, "\t")
		keys[name], _, _ = strings.Cut(rest, " ")
	}
	return keys
})

// reserved are the keys that mean the same everywhere: they leave, move and edit text.
var reserved = strings.Fields("ctrl+c ctrl+z esc enter tab shift+tab up down left right home end pgup pgdown backspace delete insert ctrl+a ctrl+e ctrl+h ctrl+k")

// pressable is a key that every terminal reports. ctrl+i, ctrl+m and ctrl+[ are tab, enter and esc there.
var pressable = model.Pattern(`^([\pL\pN\pP\pS]|space|f([1-9]|1[0-2])|ctrl\+[a-gj-ln-z]|alt\+[a-zA-Z0-9])$`)

// action is a line of the table.
type action struct {
	place, name  string
	keys, places []string
	typing       bool
}

// bindings checks the [bindings] table.
func bindings(entries map[string]any, doc textfile.Doc) (Bindings, error) {
	var all []action
	var names []string
	for line := range strings.Lines(actionsTable) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		names = append(names, f[0])
		all = append(all, action{strings.Split(f[0], ".")[0], f[0], strings.Fields(f[1]), strings.Fields(f[3]), f[2] != ""})
	}
	out := Bindings{}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		i := slices.Index(names, name)
		if i < 0 {
			return nil, doc.Fault(textfile.At("bindings", name), fmt.Sprintf("no action is named %q: did you mean %q?", name, model.Nearest(name, names)), "a name that docs/keys.md shows, in quotes")
		}
		keys, fe := all[i].rebound(entries[name])
		if fe != nil {
			return nil, doc.Fault(textfile.At("bindings", name), name+": "+fe.msg, fe.expected)
		}
		out[name] = keys
	}
	for _, a := range all {
		for _, b := range all {
			for _, key := range out[a.name] {
				if a.name != b.name && slices.Contains(a.places, b.place) && slices.Contains(out.Keys(b.name, b.keys), key) && (out[b.name] != nil || !slices.Contains(a.keys, key)) {
					return nil, doc.Fault(textfile.At("bindings", a.name), fmt.Sprintf("%s and %s would both be at %s", a.name, b.name, key), "another key for one of them")
				}
			}
		}
	}
	return out, nil
}

// letters are those of the keys that are text where text is typed.
func letters(keys []string) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return k != "space" && len([]rune(k)) > 1 })
}

// rebound reads the operator's own keys of the action: one, or a list.
func (a action) rebound(value any) (keys []string, fe *fieldError) {
	if slices.Contains([]string{"move", "form", "question"}, a.place) {
		return nil, &fieldError{"", "its keys are the same for everybody", "no line"}
	}
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	for _, v := range list {
		key, _ := v.(string)
		if len(key) > 1 && key[0] == 'F' {
			key = strings.ToLower(key)
		}
		switch {
		case key == "ctrl+j" && a.typing && slices.Contains(a.places, "dialog"):
			return nil, &fieldError{"", "ctrl+j ends a line where several are typed, as in a paste", "another key"}
		case slices.Contains(reserved, key):
			return nil, &fieldError{"", key + " means the same everywhere", "another key"}
		case !pressable().MatchString(key):
			return nil, &fieldError{"", fmt.Sprintf("%#v cannot be pressed", v), `a key, or a list of keys, such as "d", "D", "space", "f6", "ctrl+g" or "alt+d"`}
		}
		keys = append(keys, key)
	}
	text := letters(keys)
	switch {
	case len(keys) == 0:
		return nil, &fieldError{"", "the list is empty", "a key, or no line for the usual one"}
	case a.typing && len(text) > 0 && (len(text) == len(keys) || len(letters(a.keys)) == 0):
		return nil, &fieldError{"", text[0] + " would be text: the action works while one types", "a key with ctrl or alt, or a function key"}
	}
	return keys, nil
}
