package widget

import (
	"cmp"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
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
	// Guard says that the keys that submit are ignored for a moment: those that opened it may go on.
	Guard bool
	// Many begins the names of the toggles that one key ticks, or unticks.
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

// Guarded ignores the keys that submit for a moment.
func (d *FormDialog) Guarded(key string) bool {
	b, _ := kit.Find(d.theme.Bound(d.Bindings()), key, d.CapturingText())
	return d.Guard && b.Label == d.Submit
}

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
	return width, min(d.Form.Height(width, true)+len(d.footLines(width))+len(d.problem(width, h)), h-2)
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

// Bindings are, as the footer names them, what enter does, the way out, submit, the owner's keys, and the form's others.
func (d *FormDialog) Bindings() []kit.Binding {
	fd, typing, fields := d.Form.current(), d.CapturingText(), d.Form.Bindings()
	extra, ownEsc := d.extra()
	submit := kit.Binding{Name: "dialog.submit", Keys: []string{"ctrl+s", "ctrl+j"}, Label: d.Submit, Help: "Check the fields and submit.", Group: kit.GroupForm, Intent: dialogSubmit{}, WhileTyping: true, Disabled: kit.Reason(d.Busy, cmp.Or(d.Doing, "already in progress"))}
	if typing && fd.Kind == FieldArea {
		submit.Keys = submit.Keys[:1] // ctrl+j is the end of a line there, as some terminals send a paste
	}
	esc := kit.Binding{Name: "dialog.close", Keys: []string{"esc"}, Label: "close", Help: "Close without submitting; asks first if something was filled in.", Intent: kit.Close{}, WhileTyping: true}
	end, fields := taken(fields, "esc")
	switch {
	case ownEsc:
		esc, extra = taken(extra, "esc")
	case typing && (d.filled() || fd.Kind == FieldPick): // esc ends editing
		esc = end
	case d.filled():
		esc.Intent, esc.WhileTyping = dialogLeave{}, false
	}
	enter, fields := taken(fields, "enter")
	switch {
	case enter.Intent != formDone || fd.Kind == FieldPick:
	case !d.Form.atEnd():
		enter.Label, enter.Hidden = "next", false
	case !d.Deliberate: // one action, one name
		enter.Label, enter.Hidden, submit.Hidden = d.Submit, d.Busy, true
	}
	return slices.DeleteFunc(slices.Concat([]kit.Binding{enter, esc, submit}, extra, fields), func(b kit.Binding) bool { return b.Intent == nil && len(b.Keys) == 0 })
}

// taken is the binding of a key, and the others.
func taken(list []kit.Binding, key string) (kit.Binding, []kit.Binding) {
	b, _ := kit.Find(list, key, false)
	return b, slices.DeleteFunc(list, func(o kit.Binding) bool { return o.Key() == key })
}

// extra are the further keys. ownEsc reports that esc is one of them: it then has no other meaning.
func (d *FormDialog) extra() (out []kit.Binding, ownEsc bool) {
	if d.Owner != nil {
		out = d.Owner.Extra()
	}
	if d.Many != "" {
		out = append(out, kit.Binding{Name: "dialog.many", Keys: []string{"ctrl+a"}, Label: "those that fit", Help: "Tick all that fit what is asked for; if they are all ticked, untick them. Others are ticked one by one.", Intent: dialogMany{}, WhileTyping: true})
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

// Render draws the form with its intro, what is below it, and the verdicts out of sight.
func (d *FormDialog) Render(w, h int) string {
	problem := d.problem(w, max(h-3, 1))
	below, room := d.footLines(w), h-len(problem)
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
	rest := h - len(below)
	out := append([]string{d.Form.Render(true, w, max(rest, 1))}, below...)
	if d.Form.outside(w-1) != "" && rest > 1 {
		out[0] = d.Form.Render(true, w, rest-1)
		out = append(out, " "+d.Form.outside(w-1))
	}
	return Block(strings.Join(out, "\n"), w, h)
}
