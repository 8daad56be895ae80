package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/service/dialect"
	service "zonedeck/service/jobs"
	"zonedeck/service/rows"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// columnsField is the field of an input that holds the columns of a deep lookup.
const columnsField = typedField + "columns"

type (
	// askPreview asks for a preview of what the form describes; previewLookup confirms it.
	askPreview    struct{}
	previewLookup struct{}
	// lookupPreviewed is a preview, or what kept the form from being previewed.
	lookupPreviewed struct {
		checked checkedInputs
		preview dialect.LookupPreview
		err     error
	}
	// takeColumns puts the columns of a preview into the form.
	takeColumns struct{ words string }
)

// previewBindings is the key of a preview, where the dialect knows one and the input is typed.
func (l *launch) previewBindings(m *Model) []kit.Binding {
	d, err := dialect.Find(m.profile.Dialect)
	c, _ := m.collector(l)
	if err != nil || !d.Previews(c.ID) || l.form.Value(fieldSource) != sourceTyped {
		return nil
	}
	return []kit.Binding{{Keys: []string{"ctrl+l"}, Label: "preview", Help: "Ask the service for columns and a sample; nothing is launched.", Intent: askPreview{}, WhileTyping: true}}
}

// askPreview asks before a preview, except on the emulator: what one costs is not known.
func (m *Model) askPreview(l *launch) tea.Cmd {
	if l.dialog.Busy {
		return nil
	}
	key := m.keyNamed(l.form.Value(fieldKey))
	switch f, bad := forbidden(key, m.session.KeyNow(key, m.deps.Now())); {
	case key.Name == "":
		return l.refuse(m, fieldKey, m.session.MissingKey(l.form.Value(fieldKey)))
	case bad:
		return l.refuse(m, fieldKey, f.Text+"; a preview needs another key")
	case m.profile.Local:
		return m.previewLookup(l)
	}
	return widget.Confirm(m.deps.Theme, widget.ConfirmSpec{
		Title: "Ask for a preview?", Yes: "ask for it", View: kit.Jobs, Intent: previewLookup{},
		Body: fmt.Sprintf("The service makes columns and a sample, with key %s. What a preview costs is not shown by public sources. No job is launched.", key.Name),
	})
}

// previewLookup checks the form, and has the service make a preview.
func (m *Model) previewLookup(l *launch) tea.Cmd {
	d, err := dialect.Find(m.profile.Dialect)
	if err != nil {
		l.failed(err.Error())
		return nil
	}
	l.dialog.Busy, l.dialog.Problem = true, ""
	l.note("Asking the service for a preview: nothing is launched.")
	line := l.typedInput()
	r, shape, _ := l.asked()
	deps, sends := m.deps, d.Sends()
	return kit.Do(kit.Jobs, &l.slot, m.deps.Ctx, func(ctx context.Context) tea.Msg {
		out := deps.inputsOf(ctx, sends, r, shape, 0, func() (io.ReadCloser, string, error) {
			return io.NopCloser(strings.NewReader(line)), rows.InputNDJSON, nil
		})
		out.source = "the form"
		if out.err != nil || len(out.in.Rows) == 0 {
			return lookupPreviewed{checked: out}
		}
		preview, err := deps.Ledger.PreviewJob(ctx, out.request)
		return lookupPreviewed{out, preview, err}
	})
}

// previewed offers the columns of a preview.
func (l *launch) previewed(m *Model, msg lookupPreviewed) tea.Cmd {
	l.dialog.Busy = false
	if msg.checked.err != nil || len(msg.checked.in.Rows) == 0 {
		return l.inputsRead(m, msg.checked)
	}
	l.changed(m)
	if msg.err != nil {
		return l.noPreview(m, msg.err)
	}
	lines := previewLines(msg.preview)
	d, err := dialect.Find(m.profile.Dialect)
	if note := d.PreviewNote(msg.checked.request); err == nil && note != "" {
		lines = append([]string{note}, lines...)
	}
	words, ok := dialect.WordsOfColumns(msg.preview.Columns)
	if !ok {
		l.note(append(lines, "The form cannot hold these columns in one line; another preview may name others.")...)
		return nil
	}
	return widget.Confirm(m.deps.Theme, widget.ConfirmSpec{
		Title: "Preview: take these columns?", Yes: "take the columns", View: kit.Jobs, Body: strings.Join(lines, "\n"), Intent: takeColumns{words},
	})
}

// noPreview says why there is none, and what is left of it at the service.
func (l *launch) noPreview(m *Model, err error) tea.Cmd {
	l.dialog.Problem = err.Error()
	var lost *service.PreviewError
	if !errors.As(err, &lost) {
		return nil
	}
	left := lost.Left()
	l.dialog.Problem += "; " + left
	return m.showWhy("No preview", strings.ToUpper(left[:1])+left[1:]+".", err)
}

// previewedRows is how many records of a preview are shown.
const previewedRows = 2

// previewLines are the columns of a preview and the first records of its sample.
func previewLines(p dialect.LookupPreview) []string {
	var lines []string
	for _, c := range p.Columns {
		about := text.Clean(c.Name)
		if c.Description != "" {
			about += ": " + text.Clean(c.Description)
		}
		lines = append(lines, text.Cut(about, 100))
	}
	shown := p.Rows[:min(len(p.Rows), previewedRows)]
	switch n := len(p.Rows); {
	case n == 0:
		return append(lines, "The sample holds no record: nothing was found yet.")
	case n > len(shown):
		lines = append(lines, fmt.Sprintf("%s in the sample, the first %d of them:", text.Counted(n, "record"), len(shown)))
	default:
		lines = append(lines, text.Counted(n, "record")+" in the sample:")
	}
	for _, row := range shown {
		lines = append(lines, text.Cut(text.Clean(string(row)), 150))
	}
	return lines
}

// takeColumns puts columns into the form, to be changed or launched.
func (l *launch) takeColumns(m *Model, msg takeColumns) {
	l.form.SetValue(columnsField, msg.words)
	l.changed(m)
}
