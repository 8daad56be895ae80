package sandbox

import (
	"cmp"
	"fmt"
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
	lines := m.form.wireNotes(w)
	room := max(h-len(lines), 0)
	rows := m.form.wireRows(w-2, room, m.panes.At != paneWire)
	if m.panes.At == paneWire {
		rows = m.form.scroll.Visible(rows, room)
	}
	for _, r := range rows[:min(len(rows), room)] {
		lines = append(lines, " "+r)
	}
	return widget.Block(strings.Join(lines, "\n"), w, h)
}

// wireNotes are shown above the request: why it cannot be sent, and what is unsafe.
func (p *formPane) wireNotes(w int) []string {
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
	if why != "" {
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

// wireHeight is how many lines the wire pane needs at width w to show the whole request; it is
// an estimate where wide characters meet a line's end.
func (p *formPane) wireHeight(w int) int {
	v := &p.tall
	if v.from != p.from || v.w != w {
		*v = wireTall{from: p.from, w: w}
		for _, l := range p.wire.Lines[:min(len(p.wire.Lines), 200)] { // no screen is that high
			v.lines += max((text.Width(l)+w-3)/max(w-2, 1), 1)
		}
	}
	return len(p.wireNotes(w)) + v.lines
}

// wireTall caches how many lines a request has at a width.
type wireTall struct {
	from     *outcome
	w, lines int
}

// wireView caches the wrapped rows of the request: a large body is not wrapped again for
// every frame.
type wireView struct {
	w, room int
	gist    bool
	rows    []string
}

// wireRows are the rows of the request in w cells: all of them, or a gist of room rows.
func (p *formPane) wireRows(w, room int, brief bool) []string {
	v := &p.rows
	if v.rows != nil && v.w == w && v.gist == brief && (!brief || v.room == room) {
		return v.rows
	}
	lines := p.wire.Lines
	if brief {
		lines = gist(lines, w, room)
	}
	*v = wireView{w: w, room: room, gist: brief}
	for _, l := range lines {
		v.rows = append(v.rows, hardWrap(text.Clean(l), w)...)
	}
	return v.rows
}

// gist shortens a request for a pane of h rows: the request line, how much is left out,
// and the end, where the body is.
func gist(lines []string, w, h int) []string {
	need := func(l string) int { return max(len(hardWrap(text.Clean(l), w)), 1) }
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1] // a request without a body ends with an empty line
	}
	total := 0
	for _, l := range lines {
		total += need(l)
	}
	if total <= h || h < 3 || len(lines) < 4 {
		return lines
	}
	room, from := h-2, len(lines)
	for from > 1 && need(lines[from-1]) <= room {
		from--
		room -= need(lines[from])
	}
	if from == len(lines) { // the last line alone is too long: show the beginning
		to := 1
		for room = h - 1 - need(lines[0]); need(lines[to]) <= room; to++ {
			room -= need(lines[to])
		}
		return append(lines[:to:to], moreLines(len(lines)-to))
	}
	return append([]string{lines[0], moreLines(from - 1)}, lines[from:]...)
}

func moreLines(n int) string {
	if n == 1 {
		return "… 1 more line"
	}
	return fmt.Sprintf("… %d more lines", n)
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
