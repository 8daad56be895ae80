package sandbox

import (
	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/compare"
	"zonedeck/ui/kit"
)

// compareForm opens the comparison of the form's request, or asks what to compare if there is none yet.
func (m *Model) compareForm() tea.Cmd {
	m.endEditing()
	m.form.tried = true
	m.refresh()
	if shown, running := m.compare.ShowFor(m.form.request); running {
		return kit.Warn("This comparison is still running. When it has ended, " + m.deps.Theme.Key("sandbox.compare") + " compares the form's request.")
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
	if ask := m.askVariables(act((*Model).compareForm)); ask != nil {
		return ask
	}
	return m.compare.Compare(m.form.request, m.form.profile)
}

// fillFrom fills the form with the request of a comparison. The key of another profile is
// left out, as in draftOfShown.
func (m *Model) fillFrom(f compare.Fill) tea.Cmd {
	d := draftOf(f.Request.Template())
	if m.foreign(f.Profile) {
		d.Key, d.Profile = m.session.Key.Name, f.Profile
	}
	changed := m.setForm(d) // shows the form
	if !f.Loaded {
		return m.form.notify(f.Notice)
	}
	m.compare.Show()
	if changed {
		return m.form.notify("The form holds this request now; " + m.deps.Theme.Key("sandbox.undo") + " undoes this.")
	}
	return nil
}

// keyDoubts says what is asked before the requests of a comparison are sent with a key.
type keyDoubts struct{ *Model }

// Confirm notes that the operator was asked about a key, and wants it sent.
func (m keyDoubts) Confirm(key string) { m.confirmKey(key) }

// Doubt is what the operator is asked before requests are sent with a key, or "".
func (m keyDoubts) Doubt(key string) string {
	_, problems := m.check(draft{Key: key})
	p, _ := first(problems, doubt)
	return p.Text
}

// confirmKey notes that the operator was asked about a key, and wants it sent.
func (m *Model) confirmKey(key string) {
	if k, known := pickKey(m.session, key); known && m.session.OtherAccounts[k.Name] != "" && m.deps.Owners != nil {
		m.deps.Owners.Confirm(k.Name)
	}
}
