package sandbox

import (
	"fmt"
	"slices"
	"strconv"
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
// rest of the form, what is sent and the zones in a narrow column, and the response in a wide
// one; then the history. Otherwise they are stacked. What is sent is a line until it has the
// focus; a stacked pane without it is one if necessary.
func (m *Model) areas(w, h int) []kit.Area {
	if !m.wide() {
		return m.stacked(w, h)
	}
	bar := min(m.form.form.BarHeight(w-2)+2, h/2)
	left, wire := min(max(w*2/5, 38), 64), 1
	form := m.form.form.Height(left-2, true) + len(m.formNotes(left-2)) + 2
	most := max(h/4, min(h-bar-form-wire-len(m.session.Zones)-2, h/3)) // no pane is empty below the zones while History has more
	if m.panes.At == paneHistory {
		most = h / 2
	}
	history := min(max(m.history.table.Len()+3, 5), max(most, 5))
	middle := h - bar - history
	form = min(form, middle-1)
	zones := middle - form - wire
	switch {
	case m.panes.At == paneWire:
		form = min(form, middle/2)
		wire, zones = middle-form, 0
	case zones < 3 || len(m.session.Zones) == 0:
		form, zones = middle-wire, 0
	}
	return []kit.Area{
		{Pane: areaBar, W: w, H: bar},
		{Pane: paneForm, Y: bar, W: left, H: form},
		{Pane: paneWire, Y: bar + form, W: left, H: wire},
		{Pane: areaZones, Y: bar + form + wire, W: left, H: zones},
		{Pane: paneResult, X: left, Y: bar, W: w - left, H: middle},
		{Pane: paneHistory, Y: bar + middle, W: w, H: history},
	}
}

// formNotes are what the folded preview would say above the request.
func (m *Model) formNotes(w int) []string {
	if m.panes.At == paneWire || !m.session.Ready {
		return nil
	}
	return m.form.wireNotes(w, false)
}

func (m *Model) stacked(w, h int) []kit.Area {
	form, result, first := 1, h, []int{m.panes.At}
	switch m.panes.At {
	case paneForm:
		form, first = m.form.form.Height(w-2, true)+len(m.formNotes(w-2))+2, []int{paneForm, paneResult}
	case paneHistory:
		result, first = max((h-2)/3, 1), []int{paneResult, paneHistory}
	}
	return widget.Stacked(w, h, 1, first, widget.Need{Pane: paneForm, Lines: form}, widget.Need{Pane: paneWire, Lines: h},
		widget.Need{Pane: paneResult, Lines: result}, widget.Need{Pane: paneHistory, Lines: h})
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
		body, of = m.renderZones(iw, ih), &m.zones
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
	f, notes := m.form.form, m.formNotes(w)
	below := strings.Join(notes, "\n")
	if h -= len(notes); !m.wide() || !m.panes.Zoomed {
		return widget.Stack(f.Render(on, w, h), below)
	}
	bar := min(f.BarHeight(w), h)
	return widget.Stack(f.RenderBar(on, w, bar), f.Render(on, w, h-bar), below)
}

// foldedPane is a pane in one line: its title and its gist.
func (m *Model) foldedPane(r kit.Area, title string) string {
	words := ""
	switch r.Pane {
	case paneForm:
		r := m.form.request
		words = strings.Join(append([]string{string(r.Zone.Name), r.Via.String(), r.URL}, m.form.from.draft.extras()...), " · ")
	case paneWire:
		words = m.form.wire.Problem
		if _, said := first(m.form.problems, stop); said && words != "" { // at the field
			words = "nothing yet"
		}
		if lines := m.form.wire.Lines; words == "" && len(lines) > 0 {
			words = strings.TrimSuffix(lines[0]+" … "+lines[len(lines)-1], " … ")
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
	return widget.Folded(m.deps.Theme, title, words, r.W)
}

func (m *Model) paneTitle(pane int) string {
	switch pane {
	case areaBar:
		return ofProfile("Request", m.form.profile)
	case areaZones:
		return "Zones, last " + strconv.Itoa(recentFetches) + " fetches"
	case paneForm:
		if m.wide() && !m.panes.Zoomed {
			return "Options"
		}
		return ofProfile("Request", m.form.profile)
	case paneWire:
		title := "Will be sent"
		if r := m.form.request; m.billed() && (r.Zone.Name != "" || r.Via == model.ViaAgent) {
			title += " · " + m.price(r.Zone)
		}
		if m.panes.At != paneWire {
			title += " · " + m.deps.Theme.Key("sandbox.wire")
		}
		return title
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

// strip draws the last fetches of a zone, a bar for each in the ink of its class, and says what they came to; empty
// without one.
func (p *historyPane) strip(r model.Recent) (bars, words widget.Cell) {
	if len(r) == 0 {
		return bars, words
	}
	bars.Text, bars.Inks = text.FitRight(r.Bars(), recentFetches), make([]kit.Ink, recentFetches-len(r))
	for _, e := range slices.Backward(r) {
		_, ink := p.deps.Theme.ClassMark(e.Class)
		bars.Inks = append(bars.Inks, ink)
	}
	useful, median := r.Useful()
	words.Text, words.Short = fmt.Sprintf("%d of %d useful", useful, len(r)), fmt.Sprintf("%d/%d", useful, len(r))
	if useful > 0 {
		words.Text, words.Short = "p50 "+text.Duration(median)+" · "+words.Text, text.Duration(median)+" · "+words.Short
	}
	if last := r[0]; last.Class != model.ClassOK {
		glyph, ink := p.deps.Theme.ClassMark(last.Class)
		verdict := glyph + " " + model.ClassWord(last.Class, last.Cause)
		words = widget.Cell{Text: words.Text + " · " + verdict, Short: fmt.Sprintf("%d/%d %s", useful, len(r), verdict), Ink: ink}
	}
	return bars, words
}

// renderZones lists the zones of the profile with their last fetches.
func (m *Model) renderZones(w, h int) string {
	zones := m.session.Zones
	m.zones.Columns = []widget.Column{{Width: 10}, {Width: recentFetches}, {Width: 8, Flex: true}}
	m.zones.SetRows(len(zones), func(i int) []widget.Cell {
		bars, words := m.history.strip(m.history.recent[string(zones[i].Name)])
		if bars.Text == "" {
			bars = widget.Cell{Text: "- " + zones[i].Product.String(), Ink: m.deps.Theme.Muted, Span: 1}
		}
		return []widget.Cell{widget.Named(string(zones[i].Name)), bars, words}
	})
	if at := max(slices.IndexFunc(zones, func(z model.Zone) bool { return z.Name == m.form.request.Zone.Name }), 0); at != m.zones.Cursor() {
		m.zones.SetCursor(at)
	}
	return m.zones.Render(m.deps.Theme, false, w, h)
}
