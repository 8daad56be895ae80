package sandbox

import (
	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/sandbox/twin"
)

// compare opens the comparison of the form's request, and sends it if there is none yet.
func (m *Model) compare() tea.Cmd {
	m.endEditing()
	m.form.tried = true
	m.refresh()
	if shown, running := m.twin.ShowFor(m.form.request); running {
		return kit.Warn("This comparison is still running. When it has ended, w compares the form's request.")
	} else if shown {
		return nil
	}
	for _, pr := range m.form.problems {
		if pr.Severity == stop && pr.Field != fieldZone && pr.Field != fieldVia {
			m.result.trouble = "Not sent: " + string(pr.Field) + ": " + pr.Text
			m.focus(paneForm)
			return m.toField(pr.Field)
		}
	}
	if ask := m.askVariables(compareForm{}); ask != nil {
		return ask
	}
	return m.twin.Compare(m.form.request, m.form.profile)
}

// updateTwin handles what the comparison says and asks for.
func (m *Model) updateTwin(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case twin.Sent:
		m.form.profile = ""
	case twin.Ended:
		return m.loadHistory()
	case twin.Fill:
		m.fillFrom(msg)
		return m.form.notify(msg.Notice)
	}
	return nil
}

// showTwin shows a comparison of the history, and fills the form with its request.
func (m *Model) showTwin(g model.Grid) tea.Cmd {
	changed := m.fillFrom(m.twin.Loaded(g, m.form.request.Zone.Name)) // shows the form
	m.twin.Show()
	if changed {
		return m.form.notify("The form holds this request now; U undoes this.")
	}
	return nil
}

// fillFrom fills the form with the request of a comparison. The key of another profile is
// left out, as in draftOfShown. It reports whether the form has changed.
func (m *Model) fillFrom(f twin.Fill) bool {
	d := draftOf(f.Request.Template())
	if m.foreign(f.Profile) {
		d.Key, d.Profile = m.session.Key.Name, f.Profile
	}
	return m.setForm(d)
}

// confirmKey notes that the operator was asked about a key, and wants it sent.
func (m *Model) confirmKey(key string) {
	if k, known := pickKey(m.session, key); known && m.session.Elsewhere[k.Name] != "" && m.deps.ConfirmKey != nil {
		m.deps.ConfirmKey(k.Name)
	}
}

// keyDoubt is what the operator is asked before requests are sent with a key, or "".
func (m *Model) keyDoubt(key string) string {
	p, _ := first(keyProblems(m.session, key, m.deps.Now()), ask)
	return p.Text
}
