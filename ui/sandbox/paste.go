package sandbox

import (
	"context"
	"errors"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service/importers"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// Messages of a pasted request.
type (
	// pasted is what a curl command or an entry of a HAR file says.
	pasted struct {
		got importers.Imported
		err error
	}
	// pastedHAR is a HAR file with more than one request.
	pastedHAR struct{ entries []importers.HAREntry }
	takeEntry struct{ entry importers.HAREntry }
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
	case importers.IsCurl(text):
		return kit.Do(kit.Sandbox, &m.work.paste, m.deps.Ctx, func(context.Context) tea.Msg {
			got, err := importers.Curl(text, known)
			return pasted{got, err}
		})
	case importers.IsHAR(text):
		return kit.Do(kit.Sandbox, &m.work.paste, m.deps.Ctx, func(context.Context) tea.Msg {
			entries, err := importers.HAR(strings.NewReader(text))
			if err != nil || len(entries) > 1 {
				if err != nil {
					return pasted{err: err}
				}
				return pastedHAR{entries}
			}
			got, err := entries[0].Import(known)
			return pasted{got, err}
		})
	case !m.CapturingText():
		return m.takeURL(strings.TrimSpace(text))
	}
	return nil
}

// takeURL puts an address that was pasted outside a field into the form. It returns nil for
// anything else.
func (m *Model) takeURL(url string) tea.Cmd {
	if _, err := model.ParseTarget(url); err != nil {
		return nil
	}
	d := m.form.draft()
	d.URL, d.Options.Query = url, ""
	m.setForm(d)
	return m.tell("Pasted URL. U undoes this.")
}

// known is what tells calls of the service from others.
func (m *Model) known() importers.Known {
	return importers.Known{Profile: m.deps.Profile(), Keys: m.session.Keys}
}

// updatePaste handles the results.
func (m *Model) updatePaste(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case pastedHAR:
		choices := make([]widget.Choice, 0, len(msg.entries))
		for i, e := range msg.entries {
			note := ""
			if e.Status > 0 {
				note = fmt.Sprint(e.Status)
			}
			choices = append(choices, widget.Choice{
				Option: widget.Option{Value: fmt.Sprintf("%d  %s  %s", i+1, e.Method, e.URL), Hint: note},
				Pick:   kit.SendTo(kit.Sandbox, takeEntry{e}),
			})
		}
		return kit.OpenOverlay(widget.NewFinder(m.deps.Theme, "Requests of the HAR file", "type to filter", choices))
	case takeEntry:
		got, err := msg.entry.Import(m.known())
		return m.updatePaste(pasted{got, err})
	case pasted:
		switch {
		case errors.Is(msg.err, context.Canceled):
			return nil
		case msg.err != nil:
			return kit.Warn("The pasted text did not fill the form: " + msg.err.Error() + ".")
		}
		m.setForm(m.draftOfImport(msg.got.Request))
		if len(msg.got.Left)+len(msg.got.Replaced) > 0 {
			return kit.OpenOverlay(m.importPage(msg.got))
		}
		return m.tell("Pasted " + msg.got.Summary() + " U undoes this.")
	}
	return nil
}

// importPage says what of a pasted request the form holds, and what it does not.
func (m *Model) importPage(got importers.Imported) kit.Overlay {
	th := m.deps.Theme
	return &widget.Page{
		Heading: "Pasted: " + got.Source, Width: 76,
		Lines: func(w int) []string {
			out := widget.Wrapped(th.Text, "The form holds "+strings.Join(got.Taken(), ", ")+". Nothing was sent; U undoes this.", w-2)
			list := func(head string, ink kit.Ink, notes []string) {
				if len(notes) == 0 {
					return
				}
				out = append(out, "", th.Muted.Render(head))
				for _, n := range notes {
					out = append(out, widget.Wrapped(ink, "· "+n, w-2)...)
				}
			}
			list("Secrets and what stands for them", th.Text, got.Replaced)
			list("Not taken", th.Warn, got.Left)
			return widget.Indent(out)
		},
		Closing: kit.Binding{Keys: []string{"enter", "esc", "q"}, Label: "close", Help: "Close the page; the form keeps what was pasted.", Intent: kit.Close{}},
	}
}

// draftOfImport is the form for a request that was read: what it does not say stays as it
// is, but for what belongs to another request.
func (m *Model) draftOfImport(r model.FetchRequest) draft {
	now, d := m.form.draft(), draftOf(r)
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
