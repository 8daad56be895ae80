package code

import (
	"strings"

	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// Render draws the titles of the pages, the code, and what is known of its use.
func (p *pane) Render(w, h int) string {
	head := append(p.titles(w), "")
	foot := p.foot(w)
	lines := p.lines(p.page(), w)
	room := max(h-len(head)-len(foot), 1)
	shown := p.scroll.Visible(lines, room)
	for len(shown) < room {
		shown = append(shown, "")
	}
	out := append(append(head, widget.Indent(shown)...), foot...)
	return widget.Block(strings.Join(out, "\n"), w, h)
}

// lines are the code of a page, or why there is none.
func (p *pane) lines(pg page, w int) []string {
	if pg.err != nil {
		return widget.Wrapped(p.deps.Theme.Warn, pg.err.Error()+".", w-2)
	}
	return widget.Code(p.deps.Theme, pg.text, w-2)
}

// titles are the pages' titles, the one on screen marked, in as many lines as they need.
func (p *pane) titles(w int) []string {
	t := p.deps.Theme
	lines, width := []string{""}, 0
	for i, pg := range p.pages {
		word := "  " + pg.title + " "
		ink := t.Text
		switch {
		case i == p.at:
			word, ink = " ▸"+pg.title+" ", t.Strong
		case pg.err != nil:
			ink = t.Muted
		}
		if n := text.Width(word); width+n > w {
			lines, width = append(lines, ""), 0
		}
		width += text.Width(word)
		lines[len(lines)-1] += ink.Render(word)
	}
	return lines
}

// foot says what the program needs, and what compared runs showed.
func (p *pane) foot(w int) []string {
	t := p.deps.Theme
	if p.page().target.Name == "" {
		return nil
	}
	needs, ink := "", t.Note
	if env := p.source.Env(); strings.Contains(p.page().text, env) {
		needs = "needs " + env + " · "
	}
	shown, ok := p.shown()
	if !ok {
		shown, ink = "not compared yet: safe concurrency, pause and cost are unknown", t.Muted
	}
	return append([]string{""}, widget.Indent(widget.Hung(t.Muted.Render(needs), ink, shown, w-2))...)
}
