package widget

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
)

// Panes are the panes of a tab: the one with the focus may be zoomed to the whole tab.
type Panes struct {
	At     int // the pane with the focus, from 0
	N      int // how many there are
	Zoomed bool
	drawn  kit.Regions
}

// PaneIntent is the meaning of a key that moves between panes.
type PaneIntent int

const (
	paneNext PaneIntent = iota
	panePrevious
	paneZoom
)

// Bindings are the keys that move between panes; with typing, they act while text is
// typed too.
func (p *Panes) Bindings(typing bool) []kit.Binding {
	const group = "Panes"
	return []kit.Binding{
		{Name: "panes.next", Keys: []string{"tab"}, Label: "pane", Help: "Go to the next pane.", Group: group, Intent: paneNext, WhileTyping: typing},
		{Name: "panes.previous", Keys: []string{"shift+tab"}, Label: "previous pane", Help: "Go to the previous pane.", Group: group, Intent: panePrevious, WhileTyping: typing, Hidden: true},
		{Name: "panes.zoom", Keys: []string{"z"}, Label: "zoom", Synonyms: "fullscreen maximize", Help: "Give the focused pane the whole tab, or take it back.", Group: group, Intent: paneZoom, Hidden: true},
	}
}

// Update handles the intents of Bindings. It reports whether it handled the message.
func (p *Panes) Update(msg tea.Msg) bool {
	i, ok := msg.(PaneIntent)
	if !ok {
		return false
	}
	switch i {
	case paneNext:
		p.At = (p.At + 1) % p.N
	case panePrevious:
		p.At = (p.At + p.N - 1) % p.N
	case paneZoom:
		p.Zoomed = !p.Zoomed
	}
	return true
}

// Draw draws the panes at w by h in their areas, which are ordered by column and leave
// no gaps; a zoomed pane fills the tab. It keeps the areas for At.
func (p *Panes) Draw(w, h int, areas func(w, h int) []kit.Area, draw func(a kit.Area) string) string {
	list := []kit.Area{{Pane: p.At, W: w, H: h}}
	if !p.Zoomed {
		list = areas(w, h)
	}
	var frame string
	frame, p.drawn = tile(list, draw)
	return frame
}

// Under is the pane under the pointer, as drawn last; false if there is none.
func (p *Panes) Under(m tea.Mouse) (kit.Hit, bool) { return p.drawn.At(m.X, m.Y) }

// Need is how many lines a pane needs to show all that it has.
type Need struct{ Pane, Lines int }

// Stacked puts panes on top of each other at w by h. Each has at least so many lines, unless it needs fewer; those of
// first, in their order, get what they need, and the last one of all takes what is over. None grows to a frame of nothing.
func Stacked(w, h, least int, first []int, needs ...Need) []kit.Area {
	out := make([]kit.Area, len(needs))
	for i, n := range needs {
		out[i] = kit.Area{Pane: n.Pane, W: w, H: min(n.Lines, least)}
		h -= out[i].H
	}
	for _, pane := range first {
		i := slices.IndexFunc(needs, func(n Need) bool { return n.Pane == pane })
		more := max(min(needs[i].Lines-out[i].H, h), 0)
		out[i].H, h = out[i].H+more, h-more
	}
	out[len(out)-1].H += h
	grown := slices.IndexFunc(needs, func(n Need) bool { return n.Pane == first[0] })
	for i := range out {
		if out[i].H == 2 && needs[i].Lines > 2 { // a line and a blank
			out[i].H, out[grown].H = 1, out[grown].H+1
		}
	}
	for i := range out[1:] {
		out[i+1].Y = out[i].Y + out[i].H
	}
	return out
}
