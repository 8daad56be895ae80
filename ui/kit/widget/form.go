package widget

import (
	"errors"
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
)

// FieldKind is how a field is filled in.
type FieldKind int

// The kinds of fields. A note is text that cannot be edited.
const (
	FieldText   FieldKind = iota // one line
	FieldArea                    // several lines
	FieldChoice                  // a few options side by side, cycled with left, right and space
	FieldPick                    // many options in a list that filters while one types
	FieldToggle                  // "true" or ""
	FieldNote
)

// Option is one value of a choice or a pick.
type Option struct {
	Value string
	Label string // shown; Value when empty
	Note  string // shown beside it and matched by the filter
	Hint  string // a key or an age, shown at the right edge of a Finder
	Also  string // matched by the filter of a Finder with Free, and not shown
	// Cells stand in columns of their own behind Label and Note in the list of a form's pick.
	Cells []Cell
	// Disabled is the reason why it cannot be chosen, or empty.
	Disabled string
}

// Field describes one field of a form.
type Field struct {
	Name        string
	Label       string
	Kind        FieldKind
	Value       string
	Placeholder string
	// Help is shown under the field while it has the focus.
	Help    string
	Options []Option
	// Free lets a pick accept typed text that matches no option.
	Free bool
	// Replace has what is typed first take the place of a text's value; a key that types nothing, as an arrow, edits it.
	Replace bool
	// Secret masks what is typed.
	Secret bool
	// Mask is what is drawn of an area in place of its value, rune for rune, so that secrets in it
	// are not seen; nil draws the value. A text of which it would draw something else is masked whole.
	Mask func(value string) string
	// Rows is the height of an area.
	Rows int
	// Check validates a value; its error is shown under the field.
	Check func(value string) error
	// Correction is what was meant by a wrong text, or empty: enter takes it.
	Correction func(value string) string
	Hidden     bool
	// Note is what was found out about the value, under the field, with a mark of its own.
	Note Note
}

// Note is a verdict on a field's value. The zero value is none.
type Note struct {
	Mark NoteMark
	Text string
}

// NoteMark is how a verdict came out.
type NoteMark int

// The marks of a note.
const (
	NoteOpen NoteMark = iota // not known
	NoteGood
	NoteWarn
	NoteBad
)

// Form is a column of fields. Up and down move between fields. Enter takes a value and goes on
// to the next field; a list it opens first. A text that has the focus takes what is typed, unless
// the form is at rest: esc puts it there, and j and k move through it so. Another motion, enter
// and i end that. Left, right and space change choices and toggles.
type Form struct {
	theme   *kit.Theme
	fields  []*field
	at      int
	editing bool
	resting bool // letters are keys: after esc, j or k
	arrived bool // a motion brought the focus here, and nothing was typed since
	top     int
	drawn   drawnForm
	bar     []string
	// barDrawn is where the fields of the bar were drawn last.
	barDrawn []barPart
	// Dialog makes tab and shift+tab move between fields. It is for overlays, where tab has no
	// other meaning.
	Dialog bool
	// end is called when enter has taken the value of the last field; it may be nil.
	end func() tea.Cmd
	// leaving says that enter has taken a value of a FormDialog, which goes on after it has
	// updated the other fields.
	leaving bool
	brief   bool // while lines are made without the hint
}

type field struct {
	Field
	err string
	// first is the value before the operator's first change, if there was one.
	first   string
	changed bool
	input   *textinput.Model // of a text
	area    *textarea.Model  // of an area that was edited; see editor
	list    *picker          // of a pick
	earlier recent
	whole   bool // what is typed next replaces the value
	warns   bool // Help does
	held    bool // see SetHeld
}

// NewForm makes a form; the first field that can be edited has the focus.
func NewForm(t *kit.Theme, fields ...Field) *Form {
	f := &Form{theme: t}
	for _, spec := range fields {
		f.fields = append(f.fields, newField(t, spec))
	}
	f.at = -1
	f.move(1)
	return f
}

func newField(t *kit.Theme, spec Field) *field {
	fd := &field{Field: spec}
	switch spec.Kind {
	case FieldText:
		input := NewInput(t)
		fd.input = &input
		fd.input.Placeholder = spec.Placeholder
		fd.input.EchoCharacter = '•'
		fd.input.SetValue(spec.Value)
	case FieldArea:
		if spec.Value != "" {
			fd.editor()
		}
	case FieldPick:
		list := newPicker(t, "type to filter")
		fd.list = &list
		fd.list.set(spec.Options)
	}
	return fd
}

// editor is the text area of a field, which is large and therefore made when it is needed.
func (fd *field) editor() *textarea.Model {
	if fd.area != nil {
		return fd.area
	}
	a := textarea.New()
	a.Prompt = ""
	a.ShowLineNumbers = false
	a.CharLimit = 1 << 20
	a.MaxHeight = 0
	a.Placeholder = "  " + fd.Placeholder // behind the cursor
	a.KeyMap.InsertNewline.SetKeys("enter", "ctrl+m", "ctrl+j")
	a.KeyMap.Paste = key.NewBinding(key.WithDisabled())
	a.SetHeight(max(fd.Rows, 2))
	a.SetValue(fd.Value)
	fd.area = &a
	return fd.area
}

// Splice replaces the fields that old names by others, which stand behind the field after.
// The focus, and what is being typed, stay with their field, or the focus goes to after.
// Nothing happens for an unknown after.
func (f *Form) Splice(after string, old func(name string) bool, fields ...Field) {
	behind := f.find(after)
	if behind == nil {
		return
	}
	focus := f.current()
	var all []*field
	for _, fd := range f.fields {
		if old(fd.Name) {
			continue
		}
		all = append(all, fd)
		if fd != behind {
			continue
		}
		for _, spec := range fields {
			all = append(all, newField(f.theme, spec))
		}
	}
	f.fields = all
	if f.at = slices.Index(all, focus); f.at < 0 {
		f.editing, f.at = false, slices.Index(all, behind)
	}
}

func (f *Form) find(name string) *field {
	for _, fd := range f.fields {
		if fd.Name == name {
			return fd
		}
	}
	return nil
}

// Value returns the value of a field, that of a line without blanks at its ends, or "" for an unknown name. A toggle that is
// on is "true".
func (f *Form) Value(name string) string {
	if fd := f.find(name); fd != nil {
		return fd.trimmed()
	}
	return ""
}

func (fd *field) trimmed() string {
	if fd.Kind == FieldText {
		return strings.TrimSpace(fd.input.Value())
	}
	return fd.value()
}

func (fd *field) value() string {
	switch {
	case fd.Kind == FieldText:
		return fd.input.Value()
	case fd.area != nil:
		return fd.area.Value()
	default:
		return fd.Value
	}
}

// On reports whether a toggle is on.
func (f *Form) On(name string) bool { return f.Value(name) == "true" }

// SetValue sets a field's value and clears its error.
func (f *Form) SetValue(name, value string) {
	fd := f.find(name)
	if fd == nil {
		return
	}
	fd.err = ""
	switch {
	case fd.Kind == FieldText:
		fd.set(value)
	case fd.area != nil, fd.Kind == FieldArea && value != "":
		fd.editor().SetValue(value) // which may not hold all of it as it is
	default:
		fd.Value = value
	}
}

// SetOptions replaces the options of a choice or a pick; the value stays.
func (f *Form) SetOptions(name string, options []Option) {
	fd := f.find(name)
	if fd == nil {
		return
	}
	fd.Options = options
	if fd.Kind == FieldPick {
		fd.list.set(options)
	}
}

// SetError shows text under a field; empty removes it.
func (f *Form) SetError(name, text string) {
	if fd := f.find(name); fd != nil {
		fd.err = text
	}
}

// SetNote says what was found out about a field's value; the zero Note takes it back.
func (f *Form) SetNote(name string, n Note) {
	if fd := f.find(name); fd != nil {
		fd.Note = n
	}
}

// SetHelp changes what is shown under a field while it has the focus. One that warns is shown where hints have no room, too.
func (f *Form) SetHelp(name, text string, warns bool) {
	if fd := f.find(name); fd != nil {
		fd.Help, fd.warns = text, warns
	}
}

// SetPlaceholder changes the text shown in an empty field.
func (f *Form) SetPlaceholder(name, text string) {
	if fd := f.find(name); fd != nil {
		fd.Placeholder = text
		if fd.Kind == FieldText {
			fd.input.Placeholder = text
		}
	}
}

// SetHeld says of a secret that was taken out of its field, and is held elsewhere, how it is shown there.
func (f *Form) SetHeld(name, text string) {
	f.SetValue(name, "")
	f.SetPlaceholder(name, text)
	f.find(name).held = true
}

// SetHidden shows or hides a field.
func (f *Form) SetHidden(name string, hidden bool) {
	fd := f.find(name)
	if fd == nil {
		return
	}
	fd.Hidden = hidden
	if hidden && f.current() == fd {
		f.stop()
		f.move(1)
	}
}

// Focused is the name of the field that has the focus.
func (f *Form) Focused() string {
	if fd := f.current(); fd != nil {
		return fd.Name
	}
	return ""
}

// FocusOn moves the focus to a field; with edit it is edited at once.
func (f *Form) FocusOn(name string, edit bool) tea.Cmd {
	f.stop()
	for i, fd := range f.fields {
		if fd.Name == name && i != f.at {
			f.at, f.resting, f.arrived = i, false, true
		}
	}
	if edit {
		return f.edit()
	}
	return nil
}

// Replace edits a text of which what is typed next takes the place, as in a browser's line of addresses.
func (f *Form) Replace(name string) tea.Cmd {
	cmd := f.FocusOn(name, true)
	f.find(name).whole = true
	return cmd
}

// Refuse shows text under a field that is visible, and has it edited: what is typed next corrects it.
// ok is false where there is no such field.
func (f *Form) Refuse(name, text string) (cmd tea.Cmd, ok bool) {
	fd := f.find(name)
	if fd == nil || fd.Hidden {
		return nil, false
	}
	cmd = f.FocusOn(name, false)
	if fd.Kind != FieldChoice && fd.Kind != FieldToggle { // which editing would change
		cmd = f.edit()
	}
	fd.err = text
	return cmd, true
}

// Valid runs the checks of all visible fields, shows their errors, and moves the focus
// to the first invalid field.
func (f *Form) Valid() bool {
	first := -1
	for i, fd := range f.fields {
		if !fd.check() && first < 0 {
			first = i
		}
	}
	if first >= 0 {
		f.stop()
		f.at, f.resting = first, false
	}
	return first < 0
}

// Required is a Check that asks for a value.
func Required(ask string) func(string) error {
	return func(value string) error {
		if strings.TrimSpace(value) == "" {
			return errors.New(ask)
		}
		return nil
	}
}

// Touched reports whether the operator has changed a value that still differs from what it
// was.
func (f *Form) Touched() bool {
	return slices.ContainsFunc(f.fields, func(fd *field) bool { return fd.changed && fd.value() != fd.first })
}

func (fd *field) check() bool {
	fd.err = ""
	if fd.Hidden || fd.Check == nil {
		return true
	}
	if err := fd.Check(fd.trimmed()); err != nil {
		fd.err = err.Error()
		return false
	}
	return true
}

// CapturingText reports whether a field is being edited.
func (f *Form) CapturingText() bool { return f.editing }

// Picking reports whether a list is open.
func (f *Form) Picking() bool { return f.editing && f.current().Kind == FieldPick }

// Attend has a text that has the focus take what is typed, unless it is at rest; without attention nothing
// does. A view calls it after every message.
func (f *Form) Attend(attention bool) tea.Cmd {
	switch {
	case !attention:
		f.stop()
		f.resting, f.arrived = false, false
	case !f.editing && !f.resting:
		return f.editText()
	}
	return nil
}

func (f *Form) current() *field {
	if f.at < 0 || f.at >= len(f.fields) {
		return nil
	}
	return f.fields[f.at]
}

// move goes to the next field that can have the focus; it stops at the ends.
func (f *Form) move(by int) bool {
	for i := f.at + by; i >= 0 && i < len(f.fields); i += by {
		if fd := f.fields[i]; !fd.Hidden && fd.Kind != FieldNote {
			f.at, f.resting = i, false
			return true
		}
	}
	return false
}

// atEnd reports whether no field comes after the current one.
func (f *Form) atEnd() bool {
	return !slices.ContainsFunc(f.fields[f.at+1:], func(fd *field) bool { return !fd.Hidden && fd.Kind != FieldNote })
}

// edit begins editing the current field; choices and toggles change instead.
func (f *Form) edit() tea.Cmd {
	fd := f.current()
	if fd == nil {
		return nil
	}
	f.resting = false
	switch fd.Kind {
	case FieldText:
		f.editing = true
		styleInput(fd.input, f.theme)
		fd.earlier.at = -1
		fd.input.CursorEnd()
		fd.whole = fd.Replace
		return fd.input.Focus()
	case FieldArea:
		f.editing = true
		styleArea(fd.editor(), f.theme)
		return fd.area.Focus()
	case FieldPick:
		f.editing = true
		styleInput(&fd.list.input, f.theme)
		fd.list.input.SetValue("")
		fd.list.filter()
		fd.list.selectValue(fd.Value)
		return fd.list.input.Focus()
	case FieldChoice, FieldToggle:
		fd.cycle(1)
	}
	return nil
}

// stop ends editing and keeps the value.
func (f *Form) stop() {
	fd := f.current()
	if !f.editing || fd == nil {
		return
	}
	f.editing = false
	switch fd.Kind {
	case FieldText:
		fd.input.Blur()
		fd.recheck()
	case FieldArea:
		fd.editor().Blur()
		fd.recheck()
	case FieldPick:
		fd.list.input.Blur()
	}
}

// recheck runs the field's check, if it has one: what SetError said of it stays otherwise.
func (fd *field) recheck() {
	if fd.Check != nil {
		fd.check()
	}
}

// toggleAll turns all toggles on whose names begin so or, if all are on, off.
func (f *Form) toggleAll(prefix string) {
	off := slices.ContainsFunc(f.fields, func(fd *field) bool { return strings.HasPrefix(fd.Name, prefix) && fd.Value == "" })
	for _, fd := range f.fields {
		if strings.HasPrefix(fd.Name, prefix) && (fd.Value == "") == off {
			fd.touch(fd.Value)
			fd.cycle(1)
		}
	}
}

// chosen reports whether an option is the field's value.
func (fd *field) chosen(o Option) bool { return o.Value == fd.Value }

// cycle chooses the next enabled option.
func (fd *field) cycle(by int) {
	fd.err = ""
	if fd.Kind == FieldToggle {
		if fd.Value == "true" {
			fd.Value = ""
		} else {
			fd.Value = "true"
		}
		return
	}
	n, at := len(fd.Options), slices.IndexFunc(fd.Options, fd.chosen)
	for range n {
		at = ((at+by)%n + n) % n
		if fd.Options[at].Disabled == "" {
			fd.Value = fd.Options[at].Value
			return
		}
	}
}
