package code

import (
	"errors"
	"strings"

	"zonedeck/service/history"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// Render draws the titles of the pages, the code, and what is known of its use.
func (p *pane) Render(w, h int) string {
	titles, at := p.titles(w)
	head, foot := append(titles, ""), p.foot(w)
	p.titled = at
	lines := p.lines(p.at, w)
	room := max(h-len(head)-len(foot), 1)
	shown := p.scroll.Visible(lines, room)
	for len(shown) < room {
		shown = append(shown, "")
	}
	out := append(append(head, widget.Indent(shown)...), foot...)
	return widget.Block(strings.Join(out, "\n"), w, h)
}

// lines are the code of a page, or why there is none. They are kept until the width or the
// theme changes.
func (p *pane) lines(page, w int) []string {
	t, pg := p.deps.Theme, p.pages[page]
	if d := p.drawn; d.lines == nil || d.width != w || d.version != t.Version {
		p.drawn = wrapped{w, t.Version, make([][]string, len(p.pages))}
	}
	kept := &p.drawn.lines[page]
	switch {
	case *kept != nil:
	case pg.Err != nil:
		*kept = widget.Wrapped(t.Warn, pg.Err.Error()+".", w-2)
	default:
		*kept = widget.Code(t, pg.Text, w-2)
	}
	return *kept
}

// titles are the pages' titles, the one on screen marked, in as many lines as they need, and
// where each page's is.
func (p *pane) titles(w int) ([]string, kit.Regions) {
	t := p.deps.Theme
	lines, width := []string{""}, 0
	var at kit.Regions
	for i, pg := range p.pages {
		word := "  " + pg.Title
		ink := t.Text
		switch {
		case i == p.at:
			word, ink = " ▸"+pg.Title, t.Strong
		case pg.Err != nil:
			ink = t.Muted
		}
		n := text.Width(word)
		if width+n > w {
			lines, width = append(lines, ""), 0
		}
		at = append(at, kit.Area{Pane: i, X: width, Y: len(lines) - 1, W: n, H: 1, Bare: true})
		width += n
		lines[len(lines)-1] += ink.Render(word)
	}
	return lines, at
}

// foot says what the program needs, and what compared runs showed.
func (p *pane) foot(w int) []string {
	t := p.deps.Theme
	if p.page().Document() {
		return nil
	}
	needs, ink := "", t.Note
	if env := p.source.Env(); strings.Contains(p.page().Text, env) {
		needs = "needs " + env + " · "
	}
	shown, ok := p.observedUse()
	if !ok {
		shown, ink = "not compared yet: safe concurrency, pause and cost are unknown", t.Muted
		if err := p.newest.err; err != nil && !errors.Is(err, history.ErrNotFound) {
			shown, ink = "the compared runs could not be read: "+err.Error(), t.Warn
		}
	}
	return append([]string{""}, widget.Indent(widget.Hung(t.Muted.Render(needs), ink, shown, w-2))...)
}
