package sandbox

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// areas places the panes: side by side from kit.StackBelow cells on, otherwise stacked,
// with the panes without focus folded if necessary.
func (m *Model) areas(w, h int) []kit.Area {
	if w < kit.StackBelow {
		return m.stacked(w, h)
	}
	left := min(max(w*33/100, 38), 64)
	formH := min(m.form.form.Height(left-2)+2, h*2/3)
	historyH := min(max(h/4, 5), 14)
	return []kit.Area{
		{Pane: paneForm, W: left, H: formH},
		{Pane: paneWire, Y: formH, W: left, H: h - formH},
		{Pane: paneResult, X: left, W: w - left, H: h - historyH},
		{Pane: paneHistory, X: left, Y: h - historyH, W: w - left, H: historyH},
	}
}

func (m *Model) stacked(w, h int) []kit.Area {
	heights := map[int]int{paneForm: 1, paneWire: 1, paneResult: 1, paneHistory: 1}
	formH := min(m.form.form.Height(w-2)+2, h*2/3)
	switch m.panes.At {
	case paneForm:
		heights[paneForm] = formH
		if rest := h - formH; rest >= 10 {
			heights[paneWire] = 5
		}
		heights[paneResult] = h - formH - heights[paneWire] - 1
	case paneWire:
		heights[paneWire] = h - 3
	case paneResult:
		heights[paneResult] = h - 3
	case paneHistory:
		heights[paneResult] = max((h-2)/3, 1)
		heights[paneHistory] = h - 2 - heights[paneResult]
	}
	var out []kit.Area
	y := 0
	for _, p := range []int{paneForm, paneWire, paneResult, paneHistory} {
		out = append(out, kit.Area{Pane: p, Y: y, W: w, H: heights[p]})
		y += heights[p]
	}
	return out
}

// Render draws the tab; see kit.View.
func (m *Model) Render(w, h int) string {
	if m.twin.Open() {
		return m.twin.Render(w, h)
	}
	return m.panes.Draw(w, h, m.areas, m.pane)
}

func (m *Model) pane(r kit.Area) string {
	on := m.panes.At == r.Pane
	title := m.paneTitle(r.Pane)
	if r.H < 3 {
		return m.foldedPane(r, title)
	}
	iw, ih := widget.Inner(r.W, r.H)
	var body string
	switch r.Pane {
	case paneForm:
		body = m.form.form.Render(on, iw, ih)
	case paneWire:
		body = m.renderWire(iw, ih)
	case paneResult:
		body = m.renderResult(on, iw, ih)
	case paneHistory:
		body = m.renderHistory(on, iw, ih)
	}
	return widget.Pane(m.deps.Theme, title, on, r.W, r.H, body)
}

// foldedPane is a pane in one line: its title and its gist.
func (m *Model) foldedPane(r kit.Area, title string) string {
	th := m.deps.Theme
	words := ""
	switch r.Pane {
	case paneForm:
		r := m.form.request
		words = strings.Join(append([]string{string(r.Zone.Name), r.Via.String(), r.URL}, m.form.from.draft.extras()...), " · ")
	case paneWire:
		words = m.form.wire.Problem
		if words == "" && len(m.form.wire.Lines) > 0 {
			words = m.form.wire.Lines[0]
		}
	case paneResult:
		if m.result.have() {
			words = m.statusLine()
		}
		if m.result.trouble != "" {
			words = "! " + m.result.trouble
		}
	case paneHistory:
		words = m.historyGist()
	}
	head := th.Border.Render("╶ ") + th.Muted.Render(title) + "  "
	line := head + text.Cut(text.Clean(words), max(r.W-text.Width(title)-5, 0))
	return widget.Block(line, r.W, max(r.H, 0))
}

func (m *Model) paneTitle(pane int) string {
	switch pane {
	case paneForm:
		return ofProfile("Request", m.form.profile)
	case paneWire:
		return "Will be sent"
	case paneHistory:
		return "History"
	}
	if m.work.send.Running() || !m.result.have() {
		return "Response"
	}
	title := "Response"
	if m.result.origin == fromHistory {
		title = ofProfile(title, m.result.profile) + " · from history, " + widget.When(m.session, m.result.profile, m.result.res.Started, m.deps.Now()) + ", nothing was sent"
	}
	if url := m.result.res.Request.URL; url != m.form.request.URL {
		title += " · " + url
	}
	return title
}

// ofProfile names the profile in a pane's title, if it is not the one in use.
func ofProfile(title, profile string) string {
	if profile == "" {
		return title
	}
	return title + " of profile " + profile
}

// renderWire shows the exact request except for the secrets. Long lines wrap, so that
// nothing is hidden.
func (m *Model) renderWire(w, h int) string {
	th := m.deps.Theme
	if !m.session.Ready {
		return widget.Block(" "+th.Muted.Render(text.Cut(m.notReady(), w-1)), w, h)
	}
	lines := m.wireNotes(w)
	room := max(h-len(lines), 0)
	rows := m.wireRows(w-2, room)
	if m.panes.At == paneWire {
		rows = m.form.scroll.Visible(rows, room)
	}
	for _, r := range rows[:min(len(rows), room)] {
		lines = append(lines, " "+r)
	}
	return widget.Block(strings.Join(lines, "\n"), w, h)
}

// wireNotes are shown above the request: why it cannot be sent, and what is unsafe.
func (m *Model) wireNotes(w int) []string {
	th := m.deps.Theme
	var lines []string
	if p := m.form.wire.Problem; p != "" && !m.untyped() {
		lines = widget.Hung(" ", th.Bad, "✗ "+p, w-1)
	}
	if p := m.form.profile; p != "" {
		lines = append(lines, widget.Hung(" ", th.Warn, "! a request of profile "+p+": sending asks first", w-1)...)
	}
	if hidden := m.form.hidden(); hidden != "" {
		lines = append(lines, widget.Hung(" ", th.Warn, "! folded under More: "+hidden, w-1)...)
	}
	if m.form.request.Via == model.ViaNative && !m.deps.Profile().Verify {
		lines = append(lines, " "+th.Warn.Render("! certificate checks are off"))
	}
	return lines
}

// wireView caches the wrapped rows of the request: a large body is not wrapped again for
// every frame.
type wireView struct {
	w, room int
	gist    bool
	rows    []string
}

// wireRows are the rows of the request in w cells: all of them if the pane has the
// focus, and otherwise a gist of room rows.
func (m *Model) wireRows(w, room int) []string {
	v := &m.form.rows
	brief := m.panes.At != paneWire
	if v.rows != nil && v.w == w && v.gist == brief && (!brief || v.room == room) {
		return v.rows
	}
	lines := m.form.wire.Lines
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

func (m *Model) renderHistory(on bool, w, h int) string {
	th := m.deps.Theme
	switch {
	case m.history.problem != "":
		return widget.Block(" "+th.Bad.Render("✗ "+text.Cut(text.Clean(m.history.problem), w-4)), w, h)
	case !m.history.loaded:
		return widget.Block(" "+th.Muted.Render("reading the journal…"), w, h)
	}
	return m.history.table.Render(th, on, w, h)
}
