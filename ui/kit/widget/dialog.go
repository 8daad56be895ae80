package widget

import (
	"cmp"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
)

// FormDialog is a form in an overlay: new job, add key, add profile.
type FormDialog struct {
	// Form is the form; Intro stands above it.
	Form  *Form
	Intro string
	// Submit is the label of the key that submits (ctrl+s, and enter in the last field).
	// OnSubmit is then called if the form is valid. The dialog stays open until
	// Close{Overlay: dialog}, so that it can show errors.
	Submit string
	// Deliberate says that what is submitted costs: enter does not submit.
	Deliberate bool
	// Guard says that keys are ignored for a moment: those that opened it may go on, and submit it.
	Guard bool
	// Many begins the names of toggles that one key chooses all of, or none.
	Many     string
	OnSubmit func(*Form) tea.Cmd
	// OnChange is called after every change of a value, to update other fields.
	OnChange func(*Form)
	// Owner has further keys; nil for none.
	Owner FormOwner
	// Width is the preferred inner width; 0 means 72.
	Width int

	title string
	theme *kit.Theme
	// Problem is shown in red above the keys; set it if a submit fails.
	Problem string
	// Foot stands below the form, whatever part of it is seen: what was found out about it. Where its lines do not fit
	// below the fields, it scrolls.
	Foot string
	// Busy disables submit while one is in flight, or what Doing says.
	Busy  bool
	Doing string

	foot Scroll
}

// footLeast is how many lines the foot has where the fields scroll.
const footLeast = 4

// FormOwner is whose dialog it is, where that has more to it than the fields.
type FormOwner interface {
	// Extra are further keys of the dialog. Handle gets their intents: it sees every message first, and reports whether
	// it was its own. Settled is called after every other.
	Extra() []kit.Binding
	Handle(msg tea.Msg) (cmd tea.Cmd, ok bool)
	Settled(f *Form)
	// Filled reports that something was filled in that no field holds any more.
	Filled() bool
}

// NewFormDialog makes a dialog; editing its first text field begins at once.
func NewFormDialog(t *kit.Theme, title string, form *Form) *FormDialog {
	form.Dialog = true
	form.fields, form.at = slices.Insert(form.fields, 0, &field{Field: Field{Name: "the intro", Kind: FieldNote, Hidden: true}}), form.at+1
	d := &FormDialog{Form: form, title: title, theme: t, Submit: "ok"}
	form.end = d.ended
	return d
}

// Intents of a dialog.
type (
	dialogSubmit struct{}
	dialogMany   struct{}
	dialogLeave  struct{} // it was filled in: ask first
)

// ended submits after enter in the last field.
func (d *FormDialog) ended() tea.Cmd {
	if d.Deliberate || d.Busy {
		return nil
	}
	return d.submit()
}

// Init begins editing if the first field is a text.
func (d *FormDialog) Init() tea.Cmd { return d.Form.Attend(true) }

// Title is the dialog's heading.
func (d *FormDialog) Title() string { return d.title }

// Hidden are the lines of the form that were not drawn last.
func (d *FormDialog) Hidden() (above, below int) { return d.Form.Hidden() }

// Guarded ignores keys for a moment.
func (d *FormDialog) Guarded() bool { return d.Guard }

// CapturingText reports whether a field is being edited.
func (d *FormDialog) CapturingText() bool { return d.Form.CapturingText() }

// Size is the size the form needs.
func (d *FormDialog) Size(w, h int) (int, int) {
	width := d.Width
	if width == 0 {
		width = 72
	}
	width = min(width, w-2)
	d.setIntro(true)
	return width, min(d.Form.Height(width, true)+len(d.footLines(width))+len(d.problem(width, h))+2, h-2)
}

// setIntro puts the intro above the first field, or takes it away.
func (d *FormDialog) setIntro(on bool) {
	note := d.Form.fields[0]
	note.Value, note.Hidden = d.Intro+"\n", !on || d.Intro == ""
}

// footLines and problem are the lines below the form.
func (d *FormDialog) footLines(w int) []string {
	if d.Foot == "" {
		return nil
	}
	return Indent(Wrapped(d.theme.Muted, d.Foot, w-1))
}

func (d *FormDialog) problem(w, most int) []string {
	if d.Problem == "" {
		return nil
	}
	return Indent(WrappedTo(d.theme.Bad, "✗ "+d.Problem, w-2, most))
}

// Bindings are submit, close and the form's bindings.
func (d *FormDialog) Bindings() (list []kit.Binding) {
	busy := ""
	if d.Busy {
		busy = cmp.Or(d.Doing, "already in progress")
	}
	submit := []string{"ctrl+s", "ctrl+j"}
	if fd := d.Form.current(); fd != nil && fd.Kind == FieldArea && d.CapturingText() {
		submit = submit[:1] // ctrl+j is the end of a line there, as some terminals send a paste
	}
	out := []kit.Binding{{Name: "dialog.submit", Keys: submit, Label: d.Submit, Help: "Check the fields and submit.", Intent: dialogSubmit{}, WhileTyping: true, Disabled: busy}}
	extra, ownEsc := d.extra()
	if d.CapturingText() { // where letters go is said first
		defer func() { list = append(list, extra...) }()
	} else {
		out = append(out, extra...)
	}
	esc := kit.Binding{Name: "dialog.close", Keys: []string{"esc"}, Label: "close", Help: "Close without submitting; asks first if something was filled in.", Intent: kit.Close{}}
	fields := d.Form.Bindings()
	isEsc := func(b kit.Binding) bool { return b.Key() == "esc" }
	if ownEsc {
		return append(out, slices.DeleteFunc(fields, isEsc)...)
	}
	switch fd := d.Form.current(); {
	case d.Form.CapturingText() && fd != nil && (d.filled() || fd.Kind == FieldPick): // esc ends editing
		return append(out, fields...)
	case d.filled():
		esc.Intent = dialogLeave{}
	default:
		esc.WhileTyping = true
		fields = slices.DeleteFunc(fields, isEsc)
	}
	i := min(1, len(fields)) // after the field's own key
	return append(out, slices.Insert(fields, i, esc)...)
}

// extra are the further keys. ownEsc reports that esc is one of them: it then has no other meaning.
func (d *FormDialog) extra() (out []kit.Binding, ownEsc bool) {
	if d.Owner != nil {
		out = d.Owner.Extra()
	}
	if d.Many != "" {
		out = append(out, kit.Binding{Name: "dialog.many", Keys: []string{"ctrl+a"}, Label: "all or none", Help: "Choose all that the form lists; if all are chosen, none.", Intent: dialogMany{}, WhileTyping: true})
	}
	return out, slices.ContainsFunc(out, func(b kit.Binding) bool { return b.Key() == "esc" })
}

// filled reports whether closing would lose something.
func (d *FormDialog) filled() bool { return d.Form.Touched() || d.Owner != nil && d.Owner.Filled() }

// leave asks whether what was filled in may be lost.
func (d *FormDialog) leave() tea.Cmd {
	return Confirm(d.theme, ConfirmSpec{
		Title: "Discard what you filled in?", Body: d.title + ": what you typed and chose is lost.",
		Yes: "discard it", Intent: kit.Close{Overlay: d},
	})
}

// dialogWork is work that the dialog begins, dialogDone its result.
type (
	dialogWork func() (then tea.Msg, err error)
	dialogDone struct {
		then tea.Msg
		err  error
	}
)

// Run runs work in a command and disables submit meanwhile. The dialog shows the error
// of work; without one it closes, and then is sent to the root.
func (d *FormDialog) Run(work func() (then tea.Msg, err error)) tea.Cmd {
	d.Busy, d.Problem = true, ""
	return func() tea.Msg {
		then, err := work()
		return kit.ForOverlay{Overlay: d, Msg: dialogDone{then, err}}
	}
}

// Work is the message that makes the dialog Run work: the intent of a question that the
// dialog asks.
func (d *FormDialog) Work(work func() (then tea.Msg, err error)) tea.Msg {
	return kit.ForOverlay{Overlay: d, Msg: dialogWork(work)}
}

// Update submits, runs work, or passes the message to the form.
func (d *FormDialog) Update(msg tea.Msg) tea.Cmd {
	if d.Owner == nil {
		return tea.Batch(d.update(msg), d.Form.Attend(true))
	}
	cmd, ok := d.Owner.Handle(msg)
	if !ok {
		cmd = d.update(msg)
		d.Owner.Settled(d.Form)
	}
	return tea.Batch(cmd, d.Form.Attend(true))
}

func (d *FormDialog) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case dialogWork:
		return d.Run(msg)
	case dialogDone:
		d.Busy = false
		if msg.err != nil {
			d.Problem = msg.err.Error()
			return nil
		}
		return tea.Batch(kit.CloseOverlay(d), kit.Send(msg.then))
	case dialogSubmit:
		return d.submit()
	case dialogMany:
		d.Form.toggleAll(d.Many)
		return d.follow(nil, true)
	case dialogLeave:
		return d.leave()
	case tea.MouseClickMsg:
		return d.follow(d.Form.Click(msg.X, msg.Y))
	case tea.KeyPressMsg:
		if name := msg.String(); (name == "pgdown" || name == "pgup") && !d.pagesField() {
			d.foot.Update(msg)
			return nil
		}
	}
	return d.follow(d.Form.Update(msg))
}

// pagesField reports whether pgup and pgdown are the field's, which has pages of its own.
func (d *FormDialog) pagesField() bool {
	fd := d.Form.current()
	return d.CapturingText() && (fd.Kind == FieldPick || fd.Kind == FieldArea)
}

// follow updates the other fields after a change, and then goes on to the next field, if
// enter has taken a value.
func (d *FormDialog) follow(cmd tea.Cmd, changed bool) tea.Cmd {
	if changed && d.OnChange != nil {
		d.OnChange(d.Form)
	}
	if fd := d.Form.current(); d.Form.leaving && fd != nil {
		return tea.Batch(cmd, d.Form.advance(fd))
	}
	return cmd
}

// Right reports whether the checks of all visible fields pass, and shows nothing.
func (f *Form) Right() bool {
	for _, fd := range f.fields {
		if !fd.Hidden && fd.Check != nil && fd.Check(fd.trimmed()) != nil {
			return false
		}
	}
	return true
}

// submit checks the fields, and passes them on if they are right.
func (d *FormDialog) submit() tea.Cmd {
	d.Form.stop()
	switch {
	case !d.Form.Valid():
		return d.Form.editText()
	case d.OnSubmit == nil:
		return nil
	}
	d.Problem = ""
	return d.OnSubmit(d.Form)
}

// Render draws the form with its intro, what is below it, and the keys.
func (d *FormDialog) Render(w, h int) string {
	problem := d.problem(w, max(h-3, 1))
	below, room := d.footLines(w), h-2-len(problem)
	d.setIntro(false) // it scrolls away
	fields := d.Form.Height(w, true)
	d.setIntro(true)
	fit := max(room-fields, 2)
	if fields > room { // they scroll, too
		fit = footLeast
	}
	if fit = min(fit, room-1); fit <= 0 {
		below = nil
	} else if len(below) > fit {
		below = slices.Clone(d.foot.Visible(below, fit-1))
		up, down := d.foot.Hidden()
		keys := "pgup, pgdn scroll"
		if d.pagesField() {
			keys = "the next field scrolls this"
		}
		below = append(below, " "+d.theme.Muted.Render(keys+hiddenSign("↑", up)+hiddenSign("↓", down)))
	}
	below = append(below, problem...)
	out := append([]string{d.Form.Render(true, w, max(h-len(below)-2, 1))}, below...)
	out = append(out, " "+d.Form.outside(w-1), " "+d.keys(w-1))
	return Block(strings.Join(out, "\n"), w, h)
}

// keys are the keys that end the dialog or go on in it. Where there is no room for all, the first and
// the last stay: none is cut.
func (d *FormDialog) keys(w int) string {
	fd, last, typing := d.Form.current(), d.Form.atEnd(), d.CapturingText()
	ends := last && !d.Deliberate
	hints := [][2]string{{d.theme.Key("dialog.submit"), d.Submit}}
	extra, ownEsc := d.extra()
	for _, b := range d.theme.Bound(extra) {
		if !b.Hidden {
			hints = append(hints, [2]string{b.Keys[0], b.Label})
		}
	}
	switch {
	case fd == nil:
	case fd.Kind == FieldArea && typing:
		hints = append(hints, [2]string{"tab", "next field"})
	case fd.Kind == FieldPick && typing:
		hints = append(hints, [2]string{"enter", "pick"})
	case fd.Kind == FieldPick, fd.Kind == FieldArea, fd.Kind == FieldText && !typing:
		hints = append(hints, [2]string{"enter", "edit"})
	case ends:
		hints[0][0] = "enter"
	case !last:
		hints = append(hints, [2]string{"enter", "next field"})
	}
	switch {
	case ownEsc:
	case typing && (d.filled() || fd.Kind == FieldPick):
		hints = append(hints, [2]string{"esc", "end editing"})
	default:
		hints = append(hints, [2]string{"esc", "close"})
	}
	parts := make([]string, len(hints))
	for i, h := range hints {
		parts[i] = d.theme.KeyHint.Render(kit.KeyName(h[0])) + " " + h[1]
	}
	line := strings.Join(parts, d.theme.Muted.Render(" · "))
	for len(parts) > 2 && text.Width(line) > w {
		parts = slices.Delete(parts, len(parts)-2, len(parts)-1)
		line = strings.Join(parts, d.theme.Muted.Render(" · "))
	}
	return line
}
