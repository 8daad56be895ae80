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

// takePaste reads a pasted curl command, HAR text or bare URL into the form. It returns nil for
// anything else, and where a field of several lines is typed: there it is that field's text.
func (m *Model) takePaste(msg tea.PasteMsg) tea.Cmd {
	if f := m.form.form; f.CapturingText() {
		switch field(f.Focused()) {
		case fieldHeaders, fieldBody, fieldRequired:
			return nil
		}
	}
	text, known := msg.Content, m.known()
	switch {
	case fetch.Importable(text):
		return kit.Load(kit.Sandbox, &m.work.paste, m.deps.Ctx, func(context.Context) (p pastedText, err error) {
			p.Imported, p.entries, err = fetch.Import(text, known)
			return p, err
		}, func(p pastedText, err error) tea.Cmd {
			if len(p.entries) > 0 {
				return m.chooseEntry(p.entries)
			}
			return m.pasted(p.Imported, err)
		})
	case !m.CapturingText():
		return m.takeURL(text)
	}
	return nil
}

// takeURL puts an address that was pasted outside a field into the form. It returns nil for
// anything else.
func (m *Model) takeURL(pasted string) tea.Cmd {
	url, marks := model.TrimMarks(pasted)
	if _, err := model.ParseTarget(url); err != nil {
		return nil
	}
	d := m.form.draft()
	d.URL, d.Options.Query = url, ""
	m.setForm(d)
	if marks != "" {
		marks = " Without " + marks + " at its ends."
	}
	return m.form.notify("Pasted URL." + marks + " " + m.deps.Theme.Key("sandbox.undo") + " undoes this.")
}

// known is what tells calls of the service from others.
func (m *Model) known() fetch.ImportKnown {
	return fetch.ImportKnown{Profile: m.deps.Profile.CurrentProfile(), Keys: m.session.Keys}
}

// pastedText is what was read of a pasted text: a request, or the several entries of a HAR file.
type pastedText struct {
	fetch.Imported
	entries []fetch.ImportEntry
}

// chooseEntry asks which entry of a HAR file fills the form.
func (m *Model) chooseEntry(entries []fetch.ImportEntry) tea.Cmd {
	choices := make([]widget.Choice, 0, len(entries))
	for i, e := range entries {
		note := ""
		if e.Status > 0 {
			note = fmt.Sprint(e.Status)
		}
		choices = append(choices, widget.Choice{
			Option: widget.Option{Value: fmt.Sprintf("%d  %s  %s", i+1, e.Method, e.URL), Hint: note},
			Pick:   kit.SendTo(kit.Sandbox, act(func(m *Model) tea.Cmd { return m.pasted(e.Import(m.known())) })),
		})
	}
	return kit.OpenOverlay(widget.NewFinder(m.deps.Theme, "Requests of the HAR file", "type to filter", choices))
}

// pasted fills the form with what a curl command or an entry of a HAR file says.
func (m *Model) pasted(got fetch.Imported, err error) tea.Cmd {
	switch {
	case errors.Is(err, context.Canceled):
		return nil
	case err != nil:
		return kit.Warn("The pasted text did not fill the form: " + err.Error() + ".")
	}
	was := m.form.draft()
	m.setForm(m.form.draftOfImport(got.Request))
	if m.form.draft().Body != got.Request.Body {
		m.setForm(was)
		return kit.Warn("The pasted text did not fill the form: its body holds line ends or characters that the form cannot hold. zonedeck request --curl FILE, or --har FILE, sends it as it is.")
	}
	if len(got.Dropped)+len(got.Replaced) > 0 {
		return kit.OpenOverlay(m.importPage(got))
	}
	return m.form.notify("Pasted " + got.Summary() + " " + m.deps.Theme.Key("sandbox.undo") + " undoes this.")
}

// importPage says what of a pasted request the form holds, and what it does not.
func (m *Model) importPage(got fetch.Imported) kit.Overlay {
	th := m.deps.Theme
	return &widget.Page{
		Heading: "Pasted: " + got.Source, Width: 76,
		Lines: func(w int) []string {
			out := widget.Wrapped(th.Text, "The form holds "+strings.Join(got.FilledFields(), ", ")+". Nothing was sent; "+th.Key("sandbox.undo")+" undoes this.", w-2)
			list := func(head string, ink kit.Ink, notes []string) {
				if len(notes) == 0 {
					return
				}
				out = append(out, "", th.Muted.Render(head))
				for _, n := range notes {
					out = append(out, widget.Wrapped(ink, "· "+n, w-2)...)
				}
			}
			list("Secrets and their placeholders", th.Text, got.Replaced)
			list("Left out", th.Warn, got.Dropped)
			return widget.Indent(out)
		},
		Closing: kit.Binding{Name: "page.close", Keys: []string{"enter", "esc", "q"}, Label: "close", Help: "Close the page; the form keeps what was pasted.", Intent: kit.Close{}},
	}
}

// draftOfImport is the form for a request that was read: what it does not say stays as it
// is, but for what belongs to another request.
func (p *formPane) draftOfImport(r model.FetchRequest) draft {
	now, d := p.draft(), draftOf(r)
	if r.Zone.Name == "" {
		d.Zone = now.Zone
	}
	if r.Via == "" {
		d.Via = now.Via
	}
	if r.Format == "" {
		d.Format = now.Format
	}
	return d
}
