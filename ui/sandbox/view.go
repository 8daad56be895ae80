package sandbox

import (
	"cmp"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"zonedeck/model"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// renderWire shows the exact request except for the secrets. Long lines wrap, so that
// nothing is hidden.
func (m *Model) renderWire(w, h int) string {
	th := m.deps.Theme
	if !m.session.Ready {
		return widget.Block(" "+th.Muted.Render(text.Cut(m.notReady(), w-1)), w, h)
	}
	lines := m.form.wireNotes(w, true)
	rows := m.form.scroll.Visible(m.form.wireRows(w-2), max(h-len(lines), 0))
	return widget.Block(strings.Join(append(lines, widget.Indent(rows)...), "\n"), w, h)
}

// wireNotes are shown above the request, and below the form while that is folded: why it cannot be sent, unless a field
// says so and atFields is false, and what is unsafe.
func (p *formPane) wireNotes(w int, atFields bool) []string {
	th := p.deps.Theme
	var lines []string
	why := p.wire.Problem
	if p.untyped() {
		why = ""
	}
	for _, p := range p.problems { // the bytes do not show that there is no key
		if p.Field == fieldKey && p.Severity == stop {
			why = cmp.Or(why, p.Text)
		}
	}
	if _, said := first(p.problems, stop); why != "" && (atFields || !said) {
		lines = widget.Hung(" ", th.Bad, "✗ "+why, w-1)
	}
	if p := p.profile; p != "" {
		lines = append(lines, widget.Hung(" ", th.Warn, "! a request of profile "+p+": sending asks first", w-1)...)
	}
	if hidden := p.hidden(); hidden != "" {
		lines = append(lines, widget.Hung(" ", th.Warn, "! folded under More: "+hidden, w-1)...)
	}
	if p.request.Via == model.ViaNative && !p.deps.Profile.CurrentProfile().Verify {
		lines = append(lines, " "+th.Warn.Render("! certificate checks are off"))
	}
	return lines
}

// wireView caches the wrapped rows of the request: a large body is not wrapped again for
// every frame.
type wireView struct {
	w    int
	rows []string
}

// wireRows are the rows of the request in w cells.
func (p *formPane) wireRows(w int) []string {
	v := &p.rows
	if v.rows != nil && v.w == w {
		return v.rows
	}
	*v = wireView{w: w}
	for _, l := range p.wire.Lines {
		v.rows = append(v.rows, hardWrap(text.Clean(l), w)...)
	}
	return v.rows
}

// hardWrap breaks a line at exactly w cells, without regard for words, so that the text
// is shown exactly.
func hardWrap(s string, w int) []string {
	if w <= 0 {
		return nil
	}
	return strings.Split(ansi.Hardwrap(s, w, true), "\n")
}

func (p *historyPane) render(on bool, w, h int) string {
	th := p.deps.Theme
	switch {
	case p.problem != "":
		return widget.Block(" "+th.Bad.Render("✗ "+text.Cut(text.Clean(p.problem), w-4)), w, h)
	case !p.loaded:
		return widget.Block(" "+th.Muted.Render("reading the journal…"), w, h)
	}
	return p.table.Render(th, on, w, h)
}
