package jobs

import (
	"errors"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service/exchange"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// verdictLines say of a call that failed its class, what that rests on, and when it may be made again.
func (m *Model) verdictLines(f model.JobFault, w int) []string {
	t, d := m.deps.Theme, f.Diagnosis
	glyph, ink := t.ClassMark(d.Class)
	of := ""
	if f.Any() {
		of = fmt.Sprintf(" (%s)", f.Call)
	}
	out := widget.Wrapped(ink, fmt.Sprintf("%s %s%s: %s", glyph, model.ClassWord(d.Class, d.Cause), of, d.Summary), w)
	for _, e := range d.Evidence {
		out = append(out, widget.Hung("evidence  ", t.Muted, text.Clean(e.Text), w)...)
	}
	if at, ok := f.RetryAt(); ok && at.After(m.deps.Now()) {
		out = append(out, widget.Hung("try again ", t.Muted, "at "+text.Clock(at, m.deps.Now()), w)...)
	}
	return out
}

// whyLines are the verdict on a call that failed, seen at a time or, for its zero value, at none that is known, and what
// to do next; nil for another error.
func (m *Model) whyLines(err error, at time.Time, w int) []string {
	var call *exchange.CallError
	if !errors.As(err, &call) {
		return nil
	}
	out := m.verdictLines(model.JobFault{Diagnosis: call.Diagnosis, At: at}, w)
	for _, s := range call.Diagnosis.Steps {
		out = append(out, widget.Hung("do next   ", kit.Ink{}, kit.StepHelp(s), w)...)
	}
	return out
}

// showWhy opens a page with the verdict on a call that failed and left no job to show it; nil for another error. said
// stands above it.
func (m *Model) showWhy(heading, said string, err error) tea.Cmd {
	if !errors.As(err, new(*exchange.CallError)) {
		return nil
	}
	at := m.deps.Now()
	return kit.OpenOverlay(&widget.Page{
		Heading: heading, Width: 90, Lines: func(w int) []string {
			out := widget.Wrapped(kit.Ink{}, err.Error(), w-2)
			if said != "" {
				out = append(out, widget.Wrapped(kit.Ink{}, said, w-2)...)
			}
			return widget.Indent(append(append(out, ""), m.whyLines(err, at, w-2)...))
		},
		Closing: kit.Binding{Keys: []string{"esc", "enter", "q"}, Label: "close", Help: "Go back.", Intent: kit.Close{}},
	})
}
