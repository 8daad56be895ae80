package widget

import (
	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
)

// formIntent is the meaning of a form's key. A view passes it to Form.Update like every
// message it does not handle itself.
type formIntent int

const (
	formEdit formIntent = iota
	formDown
	formUp
	formStepDown // as formDown, by a letter: the form is at rest then, so that the next letter is a key, too
	formStepUp
	formNext // the next option
	formPrev
	formDone   // accept the value
	formEscape // end editing
	formOlder  // recall an earlier value
	formNewer
)

// Bindings are the form's keys that work now; a view appends them to its own.
func (f *Form) Bindings() []kit.Binding {
	fd := f.current()
	if fd == nil {
		return nil
	}
	const group = kit.GroupForm
	if f.editing {
		return f.typingBindings(fd)
	}
	out := []kit.Binding{}
	switch fd.Kind {
	case FieldChoice, FieldToggle:
		out = append(out,
			kit.Binding{Name: "form.change", Keys: []string{"space", "right", "l"}, Label: "change", Help: "Choose the next value of the field.", Group: group, Intent: formNext},
			kit.Binding{Name: "form.change-back", Keys: []string{"left", "h"}, Label: "change back", Help: "Choose the previous value.", Group: group, Intent: formPrev, Hidden: true},
			kit.Binding{Name: "form.go-on", Keys: []string{"enter"}, Label: "go on", Help: "Go on to the next field.", Group: group, Intent: formDone, Hidden: true})
	case FieldPick:
		out = append(out, kit.Binding{Name: "form.pick", Keys: []string{"enter", "i", "space"}, Label: "pick", Help: "Choose from the list; typing filters it.", Group: group, Intent: formEdit})
	default:
		out = append(out, kit.Binding{Name: "form.edit", Keys: []string{"enter", "i"}, Label: "edit", Help: "Edit the field.", Group: group, Intent: formEdit})
	}
	down, up := []string{"down"}, []string{"up"}
	if f.Dialog {
		down, up = append(down, "tab"), append(up, "shift+tab")
	}
	letters := fieldKeys([]string{"j"}, []string{"k"}, false)
	letters[0].Intent, letters[1].Intent = formStepDown, formStepUp
	return append(append(out, fieldKeys(down, up, false)...), letters...)
}

// fieldKeys go from field to field.
func fieldKeys(down, up []string, typing bool) []kit.Binding {
	const group = kit.GroupForm
	return []kit.Binding{
		{Name: "form.next-field", Keys: down, Label: "next field", Help: "Go to the next field.", Group: group, Intent: formDown, Hidden: true, WhileTyping: typing},
		{Name: "form.previous-field", Keys: up, Label: "previous field", Help: "Go to the previous field.", Group: group, Intent: formUp, Hidden: true, WhileTyping: typing},
	}
}

func (f *Form) typingBindings(fd *field) []kit.Binding {
	const group = kit.GroupForm
	esc := kit.Binding{Name: "form.end", Keys: []string{"esc"}, Label: "done", Help: "End editing: letters and digits are keys then, until enter or i edits again.", Group: group, Intent: formEscape, WhileTyping: true}
	accept := kit.Binding{Name: "form.accept", Keys: []string{"enter"}, Label: "pick", Help: "Take the value and go on to the next field.", Group: group, Intent: formDone, WhileTyping: true}
	out := []kit.Binding{accept, esc}
	if fd.Kind != FieldPick { // the footer says where letters go
		accept.Hidden, esc.Label = true, "end typing"
		verb := "goes into "
		if fd.whole && fd.value() != "" {
			verb = "replaces "
		}
		out = []kit.Binding{esc, {Keys: []string{"typing"}, Label: verb + model.Cut(fd.Label, 16), Group: group, WhileTyping: true}, accept}
	}
	if fd.Kind == FieldArea {
		out = out[:2]
	}
	edges := fieldKeys([]string{"down"}, []string{"up"}, true)
	switch {
	case fd.Kind == FieldArea: // its first and last lines lead out of it
		line := fd.editor().LineInfo()
		if fd.area.Line() == fd.area.LineCount()-1 && line.RowOffset >= line.Height-1 {
			out = append(out, edges[0])
		}
		if fd.area.Line() == 0 && line.RowOffset == 0 {
			out = append(out, edges[1])
		}
	case fd.Kind == FieldText && fd.recalls():
		out = append(out, recalls()...)
	case fd.Kind == FieldText:
		out = append(out, edges...)
	}
	if len(fd.earlier.values) > 0 {
		out = append(out, completes())
	}
	if f.Dialog {
		tab := fieldKeys([]string{"tab"}, []string{"shift+tab"}, true)
		tab[0].Hidden = fd.Kind != FieldArea
		out = append(out, tab...)
	}
	return out
}

// Update handles the form's intents and, while a field is edited, keys and pastes.
// changed reports whether a value has changed.
func (f *Form) Update(msg tea.Msg) (cmd tea.Cmd, changed bool) {
	fd := f.current()
	if fd == nil {
		return nil, false
	}
	before := fd.value()
	defer func() {
		if changed = fd.value() != before; changed {
			fd.touch(before)
		}
	}()
	if intent, ok := msg.(formIntent); ok {
		return f.act(fd, intent), false
	}
	if _, pasted := msg.(tea.PasteMsg); pasted && f.Dialog && !f.editing {
		if fd.Kind != FieldText && fd.Kind != FieldArea {
			return kit.Warn(fd.Label + " takes no pasted text: go to the field that it is for and paste it there"), false
		}
		f.edit() // it goes where the focus is seen
	}
	if !f.editing {
		return nil, false
	}
	if _, ok := msg.(tea.KeyPressMsg); ok {
		f.arrived = false
	}
	switch fd.Kind {
	case FieldText:
		if fd.complete(msg) {
			return nil, true
		}
		fd.replace(msg)
		cmd = updateField(fd.input, msg)
		if fd.value() != before {
			fd.err, fd.earlier.at = "", -1
		}
	case FieldArea:
		if paste, ok := msg.(tea.PasteMsg); ok {
			paste.Content = text.PastedLines(paste.Content)
			msg = paste
		}
		editor := fd.editor()
		*editor, cmd = editor.Update(msg)
	case FieldPick:
		cmd = fd.list.update(msg)
	}
	return cmd, false
}

// replace empties a field of which what is typed or pasted first takes the place.
func (fd *field) replace(msg tea.Msg) {
	key, pressed := msg.(tea.KeyPressMsg)
	_, pasted := msg.(tea.PasteMsg)
	if fd.whole && (pasted || key.Text != "") {
		fd.input.SetValue("")
	}
	fd.whole = fd.whole && !pressed && !pasted
}

// touch remembers the value before the operator's first change.
func (fd *field) touch(before string) {
	if !fd.changed {
		fd.changed, fd.first = true, before
	}
}

func (f *Form) act(fd *field, intent formIntent) tea.Cmd {
	arrived := f.arrived
	f.arrived = false
	if m := fd.correction(); m != "" && intent == formDone {
		fd.show(-1, m)
	}
	switch intent {
	case formEdit:
		return f.edit()
	case formNext:
		fd.cycle(1)
	case formPrev:
		fd.cycle(-1)
	case formEscape:
		f.stop()
		f.resting = true
	case formDown, formUp, formStepDown, formStepUp, formOlder, formNewer:
		by := 1
		if intent == formUp || intent == formStepUp || intent == formOlder {
			by = -1
		}
		if (intent == formOlder || intent == formNewer) && (fd.recall(-by) || fd.earlier.at >= 0) {
			return nil
		}
		f.stop()
		if f.move(by) && (intent == formStepDown || intent == formStepUp) {
			f.resting = true
		}
		if !f.resting {
			f.arrived = true
			return f.editText()
		}
	case formDone:
		switch {
		case fd.Kind == FieldPick:
			return f.takePick(fd)
		case f.editing && arrived && !f.Dialog: // enter begins to type here, as it did to whoever does not see the cursor
			return nil
		}
		if fd.Secret && fd.value() == "" && !fd.held && !f.atEnd() { // pressed to begin typing: the secret would go into the next field
			return kit.Warn(fd.Label + " is empty: type or paste it, or tab skips it")
		}
		f.stop()
		return f.goOn(fd)
	}
	return nil
}

// goOn leaves a field whose value was taken: for the next one, or for the end of the form.
func (f *Form) goOn(fd *field) tea.Cmd {
	f.leaving = f.end != nil
	if f.leaving {
		return nil
	}
	return f.advance(fd)
}

func (f *Form) advance(fd *field) tea.Cmd {
	f.leaving = false
	switch {
	case fd.err != "": // a wrong value is edited further
	case f.move(1):
	case f.end != nil:
		return f.end()
	}
	return f.editText()
}

// editText begins editing the current field if it is a text.
func (f *Form) editText() tea.Cmd {
	if fd := f.current(); fd != nil && (fd.Kind == FieldText || fd.Kind == FieldArea) {
		return f.edit()
	}
	return nil
}

func (f *Form) takePick(fd *field) tea.Cmd {
	typed := fd.list.input.Value()
	if i, ok := fd.list.chosen(); ok {
		o := fd.Options[i]
		if o.Disabled != "" {
			return kit.Warn(o.label() + ": " + o.Disabled)
		}
		fd.Value = o.Value
	} else if fd.Free && typed != "" {
		fd.Value = typed
	} else {
		return nil
	}
	fd.err = ""
	f.stop()
	fd.check()
	return f.goOn(fd)
}
