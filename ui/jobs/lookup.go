package jobs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	service "zonedeck/service/jobs"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// columnsField is the field of an input that holds the columns of a deep lookup.
const columnsField = typedField + "columns"

type (
	// askPreview asks for a preview of what the form describes.
	askPreview struct{}
	// lookupPreviewed is a preview, or what kept the form from being previewed.
	lookupPreviewed struct {
		checked service.Checked
		service.LookupPreview
	}
)

// previewBindings is the key of a preview, where the dialect knows one and the input is typed.
func (l *launch) previewBindings() []kit.Binding {
	c, _ := l.dataset()
	if !l.m.session.Profile.Can.Previews(c.ID) || l.form.Value(fieldSource) != sourceTyped {
		return nil
	}
	return []kit.Binding{{Name: "launch.preview", Keys: []string{"ctrl+l"}, Label: "preview", Help: "Ask the service for columns and a sample; nothing is launched.", Intent: askPreview{}, WhileTyping: true}}
}

// askPreview asks before a preview, except on the emulator: what one costs is not known.
func (l *launch) askPreview() tea.Cmd {
	if l.dialog.Busy {
		return nil
	}
	key := l.m.launches.keyNamed(l.form.Value(fieldKey))
	switch f, bad := forbidden(key, l.m.session.KeyNow(key, l.m.deps.Clock.Now())); {
	case key.Name == "":
		return l.refuse(fieldKey, l.m.session.MissingKey(l.form.Value(fieldKey)))
	case bad:
		return l.refuse(fieldKey, f.Text+"; a preview needs another key")
	case l.m.session.Profile.Local:
		return l.previewLookup()
	}
	return widget.Confirm(l.m.deps.Theme, widget.ConfirmSpec{
		Title: "Ask for a preview?", Yes: "ask for it", Intent: kit.Call(kit.Jobs, func() tea.Cmd { return l.previewLookup() }),
		Body: fmt.Sprintf("The service makes columns and a sample, with key %s. Public sources do not show what a preview costs. No job is launched.", key.Name),
	})
}

// previewLookup checks the form, and has the service make a preview.
func (l *launch) previewLookup() tea.Cmd {
	l.dialog.Busy, l.dialog.Problem = true, ""
	l.note("Asking the service for a preview: nothing is launched.")
	jobs, d, from := l.m.deps.Jobs, l.draft(), l.source()
	d.Sample, d.Preview = 0, true
	return kit.Load(kit.Jobs, &l.slot, l.m.deps.Ctx, func(ctx context.Context) (lookupPreviewed, error) {
		var out lookupPreviewed
		var err error
		if out.checked.Report, out.checked.Err = from.check(ctx, jobs, d); out.checked.Err == nil {
			out.LookupPreview, err = jobs.PreviewJob(ctx, out.checked.Request)
		}
		return out, err
	}, func(out lookupPreviewed, err error) tea.Cmd {
		if l != l.m.launches.form {
			return nil
		}
		return l.previewed(out, err)
	})
}

// previewed offers the columns of a preview.
func (l *launch) previewed(out lookupPreviewed, err error) tea.Cmd {
	l.dialog.Busy = false
	if out.checked.Err != nil {
		l.checked = out.checked
		return l.show()
	}
	l.changed()
	if err != nil {
		return l.noPreview(err)
	}
	lines := previewLines(out.LookupPreview)
	if out.Note != "" {
		lines = append([]string{out.Note}, lines...)
	}
	words, ok := service.ColumnWords(out.LookupPreview)
	if !ok {
		l.note(append(lines, "The form cannot hold these columns in one line; another preview may name others.")...)
		return nil
	}
	return widget.Confirm(l.m.deps.Theme, widget.ConfirmSpec{
		Title: "Preview: take these columns?", Yes: "take the columns", Body: strings.Join(lines, "\n"), Intent: kit.Call(kit.Jobs, func() tea.Cmd {
			if l == l.m.launches.form { // to be changed or launched
				l.form.SetValue(columnsField, words)
				l.changed()
			}
			return nil
		}),
	})
}

// noPreview says why there is none, and what is left of it at the service.
func (l *launch) noPreview(err error) tea.Cmd {
	l.dialog.Problem = err.Error()
	var lost *service.PreviewError
	if !errors.As(err, &lost) {
		return nil
	}
	left := lost.AtService()
	l.dialog.Problem += "; " + left
	return l.m.detail.showVerdict("No preview", strings.ToUpper(left[:1])+left[1:]+".", err)
}

// previewedRows is how many records of a preview are shown.
const previewedRows = 2

// previewLines are the columns of a preview and the first records of its sample.
func previewLines(p service.LookupPreview) []string {
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
