package keys

import (
	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// intent is the meaning of a key.
type intent int

const (
	intentAdd intent = iota
	intentEdit
	intentRemove
	intentRotate
	intentRefresh
	intentEnded
	intentLint
	intentLevels
	intentRadius
	intentScan
	intentSnippets
	intentDetails
	intentReload
	intentCopy
	intentBack
)

// changeKeys is what a read-only profile refuses of the inventory.
const changeKeys = "change the key inventory"

// Bindings are the keys that work now.
func (m *Model) Bindings() []kit.Binding {
	if m.page.Open() {
		return m.page.Bindings()
	}
	if m.list.page.Filter.Typing() {
		return m.filterBindings()
	}
	none := m.whyNot(func(model.Key) string { return "" })
	out := append([]kit.Binding{
		{Name: "keys.add", Keys: []string{"a"}, Label: "add", Command: "record a key", Synonyms: "add new", Help: "Record a key: its clocks and where its value is, never the value.", Group: "Keys", Intent: intentAdd, Disabled: m.session.Refused(changeKeys)},
		{Name: "keys.rotate", Keys: []string{"R"}, Label: m.rotateLabel(), Synonyms: "regenerate renew revoke retire", Help: "Rotate by a new key, with proof of each step: nothing stops working. Continues an unfinished rotation.", Group: "Keys", Intent: intentRotate, Disabled: m.whyNot(m.whyNotRotate)},
		{Name: "keys.refresh", Keys: []string{"!"}, Label: "refresh", Synonyms: "revoke leaked", Help: "Give the key itself a new value. The old one ends at once; the outage is announced and measured.", Group: "Keys", Intent: intentRefresh, Disabled: m.whyNot(m.whyNotRefresh), Dangerous: true},
		{Name: "keys.last-rotation", Keys: []string{"o"}, Label: "last rotation", Help: "Open the key's last finished rotation: its proofs, and uses of the old value since.", Group: "Keys", Intent: intentEnded, Disabled: m.whyNot(m.whyNotEnded), Hidden: true},
		{Name: "keys.lint", Keys: []string{"l"}, Label: "lint (" + m.findingCount() + ")", Help: "Show what the rules find wrong with the keys, and the fix.", Group: "Look", Intent: intentLint},
		{Name: "keys.blast-radius", Keys: []string{"b"}, Label: "blast radius", Help: "Show what uses the key, and which uses the console can prove after a rotation.", Group: "Look", Intent: intentRadius, Disabled: none},
		{Name: "keys.scan", Keys: []string{"s"}, Label: "scan folders", Help: "Search folders for what uses the keys: environment, shell and settings files, and what git tracks. Values are recognised by their fingerprint.", Group: "Look", Intent: intentScan, Disabled: m.whyNotScan(), Hidden: true},
		{Name: "keys.automate", Keys: []string{"x"}, Label: "automate", Synonyms: "schedule cron systemd ci", Help: "The check of the keys for cron, systemd, GitHub and GitLab, as text to copy.", Group: "Look", Intent: intentSnippets, Hidden: true},
		{Name: "keys.levels", Keys: []string{"v"}, Label: "levels", Help: "Show what each permission level may do (contract 5.3).", Group: "Look", Intent: intentLevels},
		{Name: "keys.details", Keys: []string{"enter"}, Label: "details", Help: "Show the key's clocks, uses and findings.", Group: "Look", Intent: intentDetails, Disabled: none},
		{Name: "keys.edit", Keys: []string{"e"}, Label: "edit", Help: "Correct the record of the key.", Group: "Keys", Intent: intentEdit, Disabled: m.whyNot(m.whyNotChange), Hidden: true},
		{Name: "keys.forget", Keys: []string{"X"}, Label: "forget", Synonyms: "delete remove", Help: "Remove the key from the inventory. The key itself stays at the service.", Group: "Keys", Intent: intentRemove, Disabled: m.whyNot(m.whyNotChange), Dangerous: true, Hidden: true},
		{Name: "keys.copy", Keys: []string{"y"}, Label: "copy", Help: "Copy the key's name, reference or fingerprint.", Group: "Keys", Intent: intentCopy, Disabled: none, Hidden: true},
		{Name: "keys.reload", Keys: []string{"r", "ctrl+r"}, Label: "reload", Help: "Read the inventory again.", Group: "Keys", Intent: intentReload, Hidden: true},
	}, m.panes.Bindings(false)...)
	if m.canGoBack() {
		out = append(out, kit.Binding{Name: "keys.back", Keys: []string{"esc"}, Label: "back", Help: "Go back to the list.", Group: "Panes", Intent: intentBack})
	}
	return append(append(out, m.filterBindings()...), widget.MotionBindings()...)
}

// canGoBack reports whether esc has a step to go back to the list.
func (m *Model) canGoBack() bool {
	return m.panes.At == paneSide || m.panes.Zoomed || m.side != sideDetail
}

func (m *Model) rotateLabel() string {
	if k, ok := m.selected(); ok {
		if _, running := m.running(k.Name); running {
			return "continue rotation"
		}
	}
	return "rotate"
}

// whyNot is why nothing can be done with the selected key: there is none, or the reason.
func (m *Model) whyNot(reason func(k model.Key) string) string {
	if k, ok := m.selected(); ok {
		return reason(k)
	}
	return "no key is selected"
}

// whyNotChange is why the key's record cannot be changed, or "".
func (m *Model) whyNotChange(k model.Key) string {
	switch {
	case m.session.Profile.ReadOnly:
		return m.session.Refused(changeKeys)
	case !m.list.recorded[k.Name]:
		return k.Name + " is not in the inventory: it comes with the profile"
	case m.change.Running():
		return "a change is being written"
	}
	return ""
}

// whyNotRotate is why the key cannot be rotated, or "": of two keys with one name the rotation finds the
// inventory's.
func (m *Model) whyNotRotate(k model.Key) string {
	name := m.list.namesakes[k.Name]
	if why := m.session.Refused("rotate keys"); why != "" || name == "" {
		return why
	}
	return "the inventory also has a key " + name + ": rename that one first"
}

// whyNotEnded is why no rotation can be looked at again, or "".
func (m *Model) whyNotEnded(k model.Key) string {
	if _, ended := m.ended(k); !ended {
		return "no rotation of " + k.Name + " has ended"
	}
	return ""
}

func (m *Model) whyNotRefresh(k model.Key) string {
	if _, running := m.running(k.Name); running {
		return k.Name + " is already being rotated: " + m.deps.Theme.Key("keys.rotate") + " continues it"
	}
	return m.whyNotRotate(k)
}
