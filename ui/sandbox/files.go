package sandbox

import (
	"context"
	"errors"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service/saved"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// Messages of saved requests and of the editor.
type (
	savedLoaded struct {
		name string
		req  model.FetchRequest
		err  error
	}
	// savedDiffers is what stands under a name that is to be saved again.
	savedDiffers struct {
		savedWritten
		old model.FetchRequest
		bad error
	}
	savedWritten struct {
		name    string
		req     model.FetchRequest
		omitted []string
		dialog  *widget.FormDialog // nil after the question whether to replace
		err     error
	}
	loadSaved    struct{ name string }
	replaceSaved struct {
		name string
		req  model.FetchRequest
	}
	editReady struct {
		cmd Editor // nil after an error
		err error
	}
	edited     struct{ err error }
	harWritten struct {
		file string
		err  error
	}
	bodyKept struct {
		file string
		err  error
	}
)

// Close removes what an editor was to show that will not be opened.
func (e editReady) Close() error {
	if e.cmd == nil {
		return nil
	}
	return e.cmd.Close()
}

// files handles the intents about files.
func (m *Model) files(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case saveRequest:
		return m.askName()
	case openSaved:
		return kit.OpenOverlay(m.deps.Collection(
			func(name string) tea.Cmd { return kit.SendTo(kit.Sandbox, loadSaved{name: name}) },
			m.renamed,
		))
	case restoreSaved:
		store := m.deps.Saved
		return kit.Do("", &m.work.store, m.deps.Ctx, func(ctx context.Context) tea.Msg {
			name, err := store.RestoreLast(ctx)
			switch {
			case errors.Is(err, saved.ErrNoneDeleted):
				return kit.Toast{Text: err.Error(), About: kit.AboutSaved}
			case err != nil:
				return kit.Toast{Kind: kit.ToastError, Text: err.Error()}
			}
			return kit.Toast{Text: name + " is back among the saved requests.", About: kit.AboutSaved}
		})
	case loadSaved:
		return m.loadSaved(msg.name)
	case replaceSaved:
		return m.store(msg.name, msg.req, true, nil)
	case keepBody:
		return m.keep()
	case writeHAR:
		write, id := m.deps.HAR, m.result.res.ID
		return kit.Do(kit.Sandbox, &m.work.har, m.deps.Ctx, func(ctx context.Context) tea.Msg {
			file, err := write(ctx, id)
			return harWritten{file, err}
		})
	default:
		return m.edit()
	}
}

// updateFiles handles the results of commands about files.
func (m *Model) updateFiles(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case savedLoaded:
		if msg.err != nil {
			return kit.Fail("The saved request " + msg.name + " could not be opened: " + msg.err.Error())
		}
		m.setForm(draftOf(msg.req))
		m.form.opened = msg.name
		return m.tell("The form holds " + msg.name + ". Nothing was sent; U undoes this.")
	case savedWritten:
		return m.savedWritten(msg)
	case savedDiffers:
		return m.savedDiffers(msg)
	case editReady:
		if msg.err != nil {
			return kit.Fail("The body could not be opened in an editor: " + msg.err.Error())
		}
		return tea.Exec(msg.cmd, func(err error) tea.Msg { return kit.Addressed{View: kit.Sandbox, Msg: edited{err: err}} })
	case edited:
		if msg.err != nil {
			return kit.Fail("The editor ended with an error: " + msg.err.Error())
		}
	case bodyRead:
		return m.bodyRead(msg)
	case harWritten:
		if msg.err != nil {
			return kit.Fail("The HAR file could not be written: " + msg.err.Error())
		}
		return kit.Info("Written as " + msg.file + "; credentials are redacted.")
	case bodyKept:
		if msg.err != nil {
			return kit.Fail("The body could not be kept: " + msg.err.Error())
		}
		return kit.Info("The body is kept as " + msg.file + ".")
	}
	return nil
}

func (m *Model) askName() tea.Cmd {
	m.endEditing()
	req := m.template()
	form := widget.NewForm(m.deps.Theme, widget.Field{
		Name: "name", Label: "Name", Kind: widget.FieldText, Placeholder: "e.g. shop/cart v2", Check: saved.CheckName,
		Value: m.form.opened, Help: "Folders stand before it, as in shop/cart.",
	})
	d := widget.NewFormDialog(m.deps.Theme, "Save the request", form)
	d.Intro = "It is saved as a plain TOML file with the key's name. Secret headers are left out, unless they are variables: {{name}}."
	d.Submit = "save"
	d.Width = 60
	d.OnSubmit = func(f *widget.Form) tea.Cmd { return m.store(f.Value("name"), req, false, d) }
	return kit.OpenOverlay(d)
}

func (m *Model) store(name string, r model.FetchRequest, replace bool, d *widget.FormDialog) tea.Cmd {
	store := m.deps.Saved
	return kit.Do(kit.Sandbox, &m.work.store, m.deps.Ctx, func(ctx context.Context) tea.Msg {
		omitted, err := store.Save(ctx, name, r, replace)
		return savedWritten{name: name, req: r, omitted: omitted, dialog: d, err: err}
	})
}

func (m *Model) savedWritten(msg savedWritten) tea.Cmd {
	closeIt := func() tea.Cmd {
		if msg.dialog == nil {
			return nil
		}
		return kit.CloseOverlay(msg.dialog)
	}
	switch {
	case errors.Is(msg.err, saved.ErrExists):
		store := m.deps.Saved
		return tea.Sequence(closeIt(), kit.Do(kit.Sandbox, &m.work.store, m.deps.Ctx, func(ctx context.Context) tea.Msg {
			old, err := store.Load(ctx, msg.name)
			return savedDiffers{msg, old, err}
		}))
	case msg.err != nil && msg.dialog != nil:
		msg.dialog.Form.SetError("name", msg.err.Error())
		return nil
	case msg.err != nil:
		return kit.Fail("The request could not be saved: " + msg.err.Error())
	}
	m.form.opened = msg.name
	text := "Saved as " + msg.name + "."
	if len(msg.omitted) > 0 {
		text += " Left out, because a secret does not belong in a file: " + strings.Join(msg.omitted, ", ") + "."
	}
	return tea.Sequence(closeIt(), kit.Send(kit.Toast{Text: text, About: kit.AboutSaved}))
}

// template is the form's request as it is saved: with its variables.
func (m *Model) template() model.FetchRequest {
	r, _ := m.form.draft().request(m.session, m.deps.Now()) // its problems are shown at the fields
	return r
}

// renamed keeps the name of the request in the form.
func (m *Model) renamed(from, to string) {
	if rest, ok := strings.CutPrefix(m.form.opened+"/", from+"/"); ok {
		m.form.opened = strings.TrimSuffix(to+"/"+rest, "/")
	}
}

// savedDiffers asks before a saved request is replaced, with what becomes different.
func (m *Model) savedDiffers(msg savedDiffers) tea.Cmd {
	changes := []string{"Its file cannot be read: " + fmt.Sprint(msg.bad)}
	if msg.bad == nil {
		changes = differences(draftOf(msg.old), draftOf(msg.req))
	}
	if len(changes) == 0 {
		m.form.opened = msg.name
		return kit.Info(msg.name + " holds this request already.")
	}
	return widget.Confirm(m.deps.Theme, widget.ConfirmSpec{
		Title: "Replace " + msg.name + "?",
		Body:  "The file is overwritten; this cannot be undone.\n\n" + strings.Join(changes, "\n"),
		Yes:   "replace it", View: kit.Sandbox, Intent: replaceSaved{name: msg.name, req: msg.req},
	})
}

// differences are the fields in which b is another request than a, a line for each.
func differences(a, b draft) []string {
	const long = 60
	short := func(s string) string {
		if s == "" {
			return "nothing"
		}
		return model.Cut(model.Line(s, long+4), long)
	}
	var out []string
	values, others := a.values(), b.values()
	for _, f := range allFields() {
		if values[f] != others[f] {
			out = append(out, string(f)+": "+short(values[f])+" → "+short(others[f]))
		}
	}
	return out
}

func (m *Model) loadSaved(name string) tea.Cmd {
	store := m.deps.Saved
	return kit.Do(kit.Sandbox, &m.work.store, m.deps.Ctx, func(ctx context.Context) tea.Msg {
		r, err := store.Load(ctx, name)
		return savedLoaded{name: name, req: r, err: err}
	})
}

// keep copies the body on screen to a file that stays.
func (m *Model) keep() tea.Cmd {
	keep, res := m.deps.Keep, m.result.res
	return kit.Do(kit.Sandbox, &m.work.sample, m.deps.Ctx, func(ctx context.Context) tea.Msg {
		file, err := keep(ctx, res)
		return bodyKept{file: file, err: err}
	})
}

// edit opens the body on screen in the operator's editor.
func (m *Model) edit() tea.Cmd {
	if m.deps.Edit == nil || !m.result.have() {
		return nil
	}
	prepare, b, contentType := m.deps.Edit, m.result.res.Body, m.result.res.ContentType
	return kit.Do(kit.Sandbox, &m.work.edit, m.deps.Ctx, func(ctx context.Context) tea.Msg {
		cmd, err := prepare(ctx, b, contentType)
		return editReady{cmd: cmd, err: err}
	})
}
