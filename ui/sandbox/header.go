package sandbox

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"zonedeck/ui/kit"
	"zonedeck/ui/kit/inspect"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// A response pane of at least tallPane lines shows more than the open page if that leaves
// spare of them blank.
const (
	tallPane = 40
	spare    = 12
)

// fillBelow puts timing and headers below a body of h lines of w cells that leaves room for
// them. The last line of the page, which says where it is, stays below its rows.
func (p *resultPane) fillBelow(page string, w, h int) string {
	if h < tallPane || p.tab != resultTab(inspect.Body) {
		return page
	}
	lines := strings.Split(page, "\n")
	last := len(lines) - 1
	rows := last
	for rows > 0 && strings.TrimSpace(ansi.Strip(lines[rows-1])) == "" {
		rows--
	}
	if last-rows < spare {
		return page
	}
	th, res := p.deps.Theme, p.res
	lines = append(lines[:rows:rows], lines[last])
	section := func(name string, more []string) {
		if h-len(lines) > 3 {
			lines = append(lines, "", " "+th.Muted.Render(name))
			lines = append(lines, more...)
		}
	}
	section("Timing", waterfall(th, res.Timing, res.Request, w))
	section("Headers", p.headerLines(w))
	return widget.Block(strings.Join(lines, "\n"), w, h)
}

// headerLines are the page of headers in lines of w cells.
func (p *resultPane) headerLines(w int) []string {
	var out []string
	for _, l := range strings.Split(text.CleanLines(headerPage(p.res)), "\n") {
		for _, part := range hardWrap(l, w-2) {
			out = append(out, " "+part)
		}
	}
	return out
}

// keyLines are the keys that act in an empty response pane of h lines: they are shown where
// there is room for them.
func (m *Model) keyLines(w, h int) []string {
	if h < tallPane || !m.session.Ready {
		return nil
	}
	const keyW = 16
	var out []string
	for _, b := range m.deps.Theme.Bound(m.Bindings()) {
		if b.Disabled != "" || b.Key() == "" || b.Group == "Move" || b.Group == "Form" {
			continue
		}
		head := " " + m.deps.Theme.KeyHint.Render(text.Fit(kit.KeyNames(b.Keys), keyW)) + " "
		out = append(out, widget.Hung(head, m.deps.Theme.KeyLabel, b.Help, w-1)...)
	}
	return append([]string{""}, out[:min(len(out), h-4)]...)
}
