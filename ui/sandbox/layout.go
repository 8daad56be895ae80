package sandbox

import (
	"fmt"
	"strings"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// Areas that are no panes of their own. The bar is the part of the form that a wide screen
// shows over its full width; it has the focus when a field of it does. The zones have no
// keys; a click puts one into the form.
const (
	areaBar = panes + iota
	areaZones
)

// layOut prepares the form for a width: from kit.StackBelow cells on zone, URL and access
// method are a bar.
func (m *Model) layOut() {
	if m.wide() {
		m.form.form.SetBar(string(fieldZone), string(fieldURL), string(fieldVia))
	} else {
		m.form.form.SetBar()
	}
}

// wide reports whether the panes stand side by side.
func (m *Model) wide() bool { return m.width >= kit.StackBelow }

// areas places the panes. On a wide screen the bar is over the full width; below it are the
// rest of the form and what is sent in a narrow column, and the response in a wide one; then
// the history. Otherwise they are stacked, and those without focus are folded if necessary.
func (m *Model) areas(w, h int) []kit.Area {
	if !m.wide() {
		return m.stacked(w, h)
	}
	bar := min(m.form.form.BarHeight(w-2)+2, h/2)
	history := min(max(m.history.table.Len()+3, 5), max(h/4, 5))
	middle := h - bar - history
	left := min(max(w*33/100, 38), 56)
	form := min(m.form.form.Height(left-2)+2, middle*2/3)
	wire, zones := middle-form, 0
	if spare := wire - m.form.wireHeight(left-2) - 2; spare >= 5 && len(m.session.Zones) > 0 {
		zones = min(spare, len(m.session.Zones)+2)
		wire -= zones
	}
	out := []kit.Area{
		{Pane: areaBar, W: w, H: bar},
		{Pane: paneForm, Y: bar, W: left, H: form},
		{Pane: paneWire, Y: bar + form, W: left, H: wire},
	}
	if zones > 0 {
		out = append(out, kit.Area{Pane: areaZones, Y: bar + form + wire, W: left, H: zones})
	}
	return append(out,
		kit.Area{Pane: paneResult, X: left, Y: bar, W: w - left, H: middle},
		kit.Area{Pane: paneHistory, Y: bar + middle, W: w, H: history})
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
	if m.compare.Open() {
		return m.compare.Render(w, h)
	}
	return m.panes.Draw(w, h, m.areas, m.pane)
}

func (m *Model) pane(r kit.Area) string {
	on := m.panes.At == r.Pane
	switch {
	case r.Pane == areaBar:
		on = m.panes.At == paneForm && m.form.form.InBar()
	case r.Pane == paneForm && m.wide() && !m.panes.Zoomed:
		on = on && !m.form.form.InBar()
	}
	title := m.paneTitle(r.Pane)
	if r.H < 3 {
		return m.foldedPane(r, title)
	}
	iw, ih := widget.Inner(r.W, r.H)
	var body string
	var of kit.Scroller
	switch r.Pane {
	case areaBar:
		body = m.form.form.RenderBar(on, iw, ih)
	case areaZones:
		body = m.renderZones(iw, ih)
	case paneForm:
		body, of = m.renderForm(on, iw, ih), m.form.form
	case paneWire:
		if body = m.renderWire(iw, ih); on {
			of = &m.form.scroll
		}
	case paneResult:
		if body = m.renderResult(on, iw, ih); !m.result.ofBody() {
			of = &m.result.page
		}
	case paneHistory:
		body, of = m.history.render(on, iw, ih), &m.history.table
	}
	return widget.ScrollPane(m.deps.Theme, title, of, on, r.W, r.H, body)
}

// renderForm draws the form: the zoomed one with its bar.
func (m *Model) renderForm(on bool, w, h int) string {
	f := m.form.form
	if !m.wide() || !m.panes.Zoomed {
		return f.Render(on, w, h)
	}
	bar := min(f.BarHeight(w), h)
	return widget.Stack(f.RenderBar(on, w, bar), f.Render(on, w, h-bar))
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
		if m.result.hasResult() {
			words = m.result.statusLine()
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
	case areaBar:
		return ofProfile("Request", m.form.profile)
	case areaZones:
		return "Zones, last result"
	case paneForm:
		if m.wide() && !m.panes.Zoomed {
			return "Options"
		}
		return ofProfile("Request", m.form.profile)
	case paneWire:
		return "Will be sent"
	case paneHistory:
		return m.history.title()
	}
	switch {
	case m.result.flight != nil:
		return "Response · " + target(m.result.flight.request)
	case m.result.hasResult():
		return ofProfile("Response", m.result.profile) + " · " + target(m.result.res.Request)
	default:
		return "Response"
	}
}

// target names zone, access method and URL of a request.
func target(r model.FetchRequest) string {
	url := r.Summary()
	if r.Method != "" {
		url = r.Method + " " + url
	}
	if r.Via == model.ViaAgent {
		if r.Tool != "" {
			return url
		}
		return r.Via.String() + " · " + url
	}
	return fmt.Sprintf("%s · %s · %s", r.Zone.Name, r.Via, url)
}

// ofProfile names the profile in a pane's title, if it is not the one in use.
func ofProfile(title, profile string) string {
	if profile == "" {
		return title
	}
	return title + " of profile " + profile
}

// renderZones lists the zones of the profile with their last results.
func (m *Model) renderZones(w, h int) string {
	th := m.deps.Theme
	var lines []string
	for _, z := range m.session.Zones[:min(len(m.session.Zones), h)] {
		line := " " + text.Fit(text.Clean(string(z.Name)), min(20, w/2)) + " "
		if last, ok := m.history.last[string(z.Name)]; ok {
			glyph, ink := th.ClassMark(last.Class)
			line += ink.Render(glyph+" "+model.ClassWord(last.Class, last.Cause)) + th.Muted.Render(" · "+last.Via.String()+" · "+text.Ago(last.At, m.deps.Profile.Now()))
		} else {
			line += th.Muted.Render("- " + z.Product.String())
		}
		lines = append(lines, text.Cut(line, w))
	}
	return widget.Block(strings.Join(lines, "\n"), w, h)
}
