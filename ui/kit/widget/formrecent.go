package widget

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
)

// recent are the earlier values of a text field.
type recent struct {
	values []string // newest first
	at     int      // the recalled one, -1 for none
	typed  string   // the value before one was recalled
}

// SetRecent gives a text field its earlier values, the newest first: while it is empty, or what is typed replaces its
// value, up and down recall them. The newest that begins with what was typed is shown after the cursor.
func (f *Form) SetRecent(name string, values []string) {
	fd := f.find(name)
	if fd == nil || fd.Kind != FieldText {
		return
	}
	fd.earlier.values = values
	if fd.earlier.at >= 0 {
		fd.earlier.at = slices.Index(values, fd.value()) // -1 when it is gone
	}
	fd.input.ShowSuggestions = len(values) > 0 && !f.theme.NoColor // without colours it would look typed
	fd.input.SetSuggestions(values)
}

// recall puts an earlier value into the field, or with by < 0 a newer one, and at last what
// was typed. It reports whether there was one.
func (fd *field) recall(by int) bool {
	r := &fd.earlier
	if r.at < 0 {
		r.typed = fd.value()
	}
	for i := r.at + by; i >= 0 && i < len(r.values); i += by {
		if v := r.values[i]; v != fd.value() {
			fd.show(i, v)
			return true
		}
	}
	if by < 0 && r.at >= 0 {
		fd.show(-1, r.typed)
		fd.whole = true // as it was
		return true
	}
	return false
}

// recalls reports whether up recalls an earlier value: what was typed is not replaced by one.
func (fd *field) recalls() bool {
	other := func(v string) bool { return v != fd.value() }
	return (fd.whole || fd.value() == "" || fd.earlier.at >= 0) && slices.ContainsFunc(fd.earlier.values, other)
}

func (fd *field) show(at int, value string) {
	fd.earlier.at, fd.whole = at, false
	fd.set(value)
	fd.err = ""
}

// set replaces the text of a field, and with it what is shown after the cursor.
func (fd *field) set(value string) {
	fd.input.SetValue(value)
	fd.input.SetSuggestions(fd.earlier.values)
	fd.input.CursorEnd()
}

// complete takes the value shown after the cursor, if msg is a key that does. It reports
// whether it did.
func (fd *field) complete(msg tea.Msg) bool {
	key, ok := msg.(tea.KeyPressMsg)
	if !ok || !fd.input.ShowSuggestions || !completes().Matches(key.String()) {
		return false
	}
	value, whole := fd.value(), fd.input.CurrentSuggestion()
	if fd.input.Position() < len([]rune(value)) || len(whole) <= len(value) || !strings.EqualFold(whole[:len(value)], value) {
		return false
	}
	fd.show(-1, whole)
	return true
}

// completes describes the keys that complete.
func completes() kit.Binding {
	return kit.Binding{
		Name: "form.complete", Keys: []string{"right", "end", "ctrl+e"}, Label: "complete", Help: "Take the earlier value that is shown after the cursor.",
		Group: kit.GroupForm, Hidden: true, WhileTyping: true,
	}
}

// recalls are the keys that recall earlier values.
func recalls() []kit.Binding {
	const group = kit.GroupForm
	return []kit.Binding{
		{Name: "form.earlier", Keys: []string{"up"}, Label: "earlier", Help: "Recall an earlier value, where the field is empty or typing replaces its value.", Group: group, Intent: formOlder, WhileTyping: true},
		{Name: "form.newer", Keys: []string{"down"}, Label: "next field", Help: "Go back to a newer value, or to the next field.", Group: group, Intent: formNewer, Hidden: true, WhileTyping: true},
	}
}
