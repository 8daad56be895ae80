package sandbox

import (
	"context"
	"errors"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service/fetch"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// saving is a request that is to be saved under a name.
type saving struct {
	name   string
	req    model.FetchRequest
	dialog *widget.FormDialog // nil after the question whether to replace
}

func openSaved(m *Model) tea.Cmd {
	return kit.OpenOverlay(m.deps.Collection.Overlay(m))
}

// OpenSaved fills the form with a saved request.
func (m *Model) OpenSaved(name string) tea.Cmd {
	return kit.SendTo(kit.Sandbox, kit.OpenSaved{Name: name})
}

func restoreSaved(m *Model) tea.Cmd {
	return kit.Load(kit.Sandbox, &m.work.store, m.deps.Ctx, m.deps.Saved.RestoreLast, func(name string, err error) tea.Cmd {
		switch {
		case errors.Is(err, fetch.ErrNoneDeleted):
			return kit.Send(kit.Toast{Text: err.Error(), About: kit.AboutSaved})
		case err != nil:
			return kit.Fail(err.Error())
		}
		return kit.Send(kit.Toast{Text: name + " is back among the saved requests · " + m.deps.Theme.Key("sandbox.saved-requests") + " lists them.", About: kit.AboutSaved})
	})
}

func writeHAR(m *Model) tea.Cmd {
	write, id := m.deps.History.OneHAR, m.result.res.ID
	return kit.Load(kit.Sandbox, &m.work.har, m.deps.Ctx, func(ctx context.Context) (string, error) {
		return write(ctx, id)
	}, func(file string, err error) tea.Cmd {
		if err != nil {
			return kit.Fail("The HAR file could not be written: " + err.Error())
		}
		return kit.Info("Wrote " + file + "; credentials are redacted.")
	})
}

// keepBody copies the body on screen to a file that stays.
func keepBody(m *Model) tea.Cmd {
	keep, res := m.deps.History.KeepBody, m.result.res
	return kit.Load(kit.Sandbox, &m.work.sample, m.deps.Ctx, func(ctx context.Context) (string, error) {
		return keep(ctx, res)
	}, func(file string, err error) tea.Cmd {
		if err != nil {
			return kit.Fail("The body could not be kept: " + err.Error())
		}
		return kit.Info("Saved the body as " + file + ".")
	})
}

// editBody opens the body on screen in the operator's editor.
func editBody(m *Model) tea.Cmd {
	if !m.deps.Bodies.HasEditor() || !m.result.hasResult() {
		return nil
	}
	bodies, b, contentType := m.deps.Bodies, m.result.res.Body, m.result.res.ContentType
	return kit.Load(kit.Sandbox, &m.work.edit, m.deps.Ctx, func(ctx context.Context) (Editor, error) {
		return bodies.Edit(ctx, b, contentType)
	}, func(editor Editor, err error) tea.Cmd {
		if err != nil {
			return kit.Fail("The body could not be opened in an editor: " + err.Error())
		}
		return tea.Exec(editor, func(err error) tea.Msg {
			if err == nil {
				return nil
			}
			return kit.Toast{Kind: kit.ToastError, Text: "The editor ended with an error: " + err.Error()}
		})
	})
}

func (m *Model) askName() tea.Cmd {
	m.endEditing()
	req := m.template()
	form := widget.NewForm(m.deps.Theme, widget.Field{
		Name: "name", Label: "Name", Kind: widget.FieldText, Placeholder: "e.g. shop/cart v2", Check: fetch.CheckRequestName,
		Value: m.form.opened, Help: "Put folders before the name, as in shop/cart.",
	})
	d := widget.NewFormDialog(m.deps.Theme, "Save the request", form)
	d.Intro = "It is saved as a plain TOML file with the key's name. Secret headers are left out, unless they are variables: {{name}}."
	d.Submit = "save"
	d.Width = 60
	d.OnSubmit = func(f *widget.Form) tea.Cmd { return m.save(saving{f.Value("name"), req, d}, false) }
	return kit.OpenOverlay(d)
}

func (m *Model) save(s saving, replace bool) tea.Cmd {
	store := m.deps.Saved
	return kit.Load(kit.Sandbox, &m.work.store, m.deps.Ctx, func(ctx context.Context) (omitted []string, err error) {
		return store.Save(ctx, s.name, s.req, replace)
	}, func(omitted []string, err error) tea.Cmd { return m.saved(s, omitted, err) })
}

func (m *Model) saved(s saving, omitted []string, err error) tea.Cmd {
	var closing tea.Cmd
	if s.dialog != nil {
		closing = kit.CloseOverlay(s.dialog)
	}
	switch {
	case errors.Is(err, fetch.ErrRequestExists):
		store := m.deps.Saved
		return tea.Sequence(closing, kit.Load(kit.Sandbox, &m.work.store, m.deps.Ctx, func(ctx context.Context) (model.FetchRequest, error) {
			return store.Load(ctx, s.name)
		}, func(old model.FetchRequest, err error) tea.Cmd { return m.askReplace(s, old, err) }))
	case err != nil && s.dialog != nil:
		s.dialog.Form.SetError("name", err.Error())
		return nil
	case err != nil:
		return kit.Fail("The request could not be saved: " + err.Error())
	}
	m.form.opened = s.name
	text := "Saved as " + s.name + " · " + m.deps.Theme.Key("sandbox.saved-requests") + " opens it."
	if len(omitted) > 0 {
		text += " Left out, because a secret does not belong in a file: " + strings.Join(omitted, ", ") + "."
	}
	return tea.Sequence(closing, kit.Send(kit.Toast{Text: text, About: kit.AboutSaved}))
}

// template is the form's request as it is saved: with its variables.
func (m *Model) template() model.FetchRequest {
	input, _ := m.form.draft().input() // its problems are shown at the fields
	return fetch.Check(fetch.Known{Profile: m.deps.Profile.CurrentProfile()}, input).Request
}

// RenamedSaved keeps the name of the request in the form.
func (m *Model) RenamedSaved(from, to string) {
	if rest, ok := strings.CutPrefix(m.form.opened+"/", from+"/"); ok {
		m.form.opened = strings.TrimSuffix(to+"/"+rest, "/")
	}
}

// askReplace asks before a saved request is replaced, with what becomes different.
func (m *Model) askReplace(s saving, old model.FetchRequest, err error) tea.Cmd {
	changes := []string{"Its file cannot be read: " + fmt.Sprint(err)}
	if err == nil {
		changes = differences(draftOf(old), draftOf(s.req))
	}
	if len(changes) == 0 {
		m.form.opened = s.name
		return kit.Info(s.name + " already holds this request.")
	}
	return widget.Confirm(m.deps.Theme, widget.ConfirmSpec{
		Title: "Replace " + s.name + "?",
		Body:  "The file is overwritten; this cannot be undone.\n\n" + strings.Join(changes, "\n"),
		Yes:   "replace it", View: kit.Sandbox, Intent: act(func(m *Model) tea.Cmd { return m.save(saving{name: s.name, req: s.req}, true) }),
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
	return kit.Load(kit.Sandbox, &m.work.store, m.deps.Ctx, func(ctx context.Context) (model.FetchRequest, error) {
		return store.Load(ctx, name)
	}, func(r model.FetchRequest, err error) tea.Cmd {
		if err != nil {
			return kit.Fail("The saved request " + name + " could not be opened: " + err.Error())
		}
		m.setForm(draftOf(r))
		m.form.opened = name
		return m.form.notify("The form holds " + name + ". Nothing was sent; " + m.deps.Theme.Key("sandbox.undo") + " undoes this.")
	})
}
