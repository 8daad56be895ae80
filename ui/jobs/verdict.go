package jobs

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	service "zonedeck/service/jobs"
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
	if at, ok := f.RetryAt(); ok && at.After(m.deps.Clock.Now()) {
		out = append(out, widget.Hung("try again ", t.Muted, "at "+text.Clock(at, m.deps.Clock.Now()), w)...)
	}
	return out
}

// errorLines are the verdict on a call that failed, seen at a time or, for its zero value, at none that is known, and what
// to do next; nil for another error.
func (m *Model) errorLines(err error, at time.Time, w int) []string {
	d, ok := service.Verdict(err)
	if !ok {
		return nil
	}
	out := m.verdictLines(model.JobFault{Diagnosis: d, At: at}, w)
	for _, s := range d.Steps {
		out = append(out, widget.Hung("do next   ", kit.Ink{}, kit.StepHelp(s), w)...)
	}
	return out
}

// showVerdict opens a page with the verdict on a call that failed and left no job to show it; nil for another error. said
// stands above it.
func (m *Model) showVerdict(heading, said string, err error) tea.Cmd {
	if _, ok := service.Verdict(err); !ok {
		return nil
	}
	at := m.deps.Clock.Now()
	return kit.OpenOverlay(&widget.Page{
		Heading: heading, Width: 90, Lines: func(w int) []string {
			out := widget.Wrapped(kit.Ink{}, err.Error(), w-2)
			if said != "" {
				out = append(out, widget.Wrapped(kit.Ink{}, said, w-2)...)
			}
			return widget.Indent(append(append(out, ""), m.errorLines(err, at, w-2)...))
		},
		Closing: kit.Binding{Keys: []string{"esc", "enter", "q"}, Label: "close", Help: "Go back.", Intent: kit.Close{}},
	})
}
