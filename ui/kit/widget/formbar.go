package widget

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit/text"
)

// barPart is where a field of the bar is drawn: its line, its first cell and its width.
type barPart struct{ field, y, x, w int }

// SetBar names the fields that RenderBar draws side by side, in the order of the form;
// Render leaves them out.
func (f *Form) SetBar(names ...string) { f.bar = names }

// InBar reports whether the field with the focus is drawn by RenderBar.
func (f *Form) InBar() bool {
	fd := f.current()
	return fd != nil && f.barred(fd)
}

func (f *Form) barred(fd *field) bool { return slices.Contains(f.bar, fd.Name) }

// RenderBar draws the fields of the bar as exactly h lines of w cells. A text that is too
// long for its place has a line of its own. Below them are the list of the field that is
// edited, and what is wrong.
func (f *Form) RenderBar(focused bool, w, h int) string {
	parts := f.placeBar(focused, w)
	f.barDrawn = parts
	return Block(strings.Join(f.barLines(parts, focused, w), "\n"), w, h)
}

// BarHeight is how many lines RenderBar needs at width w.
func (f *Form) BarHeight(w int) int { return len(f.barLines(f.placeBar(true, w), true, w)) }

// ClickBar is a press of the mouse at x, y of the bar as it was drawn: see Click.
func (f *Form) ClickBar(x, y int) (cmd tea.Cmd, changed bool) {
	for _, p := range f.barDrawn {
		if p.y == y && x >= p.x && x < p.x+p.w {
			label := text.Clean(f.fields[p.field].Label)
			return f.press(p.field, 0, x-p.x-text.Width(label)-3, barValue(p.w, label))
		}
	}
	return nil, false
}

// barLines are the lines of the bar.
func (f *Form) barLines(parts []barPart, focused bool, w int) []string {
	var lines, below []string
	for _, p := range parts {
		fd := f.fields[p.field]
		on := focused && p.field == f.at
		for len(lines) <= p.y {
			lines = append(lines, "")
		}
		if gap := p.x - text.Width(lines[p.y]); gap > 0 {
			lines[p.y] += text.Spaces(gap)
		}
		mark, ink := " ", f.theme.Muted
		if on {
			mark, ink = f.theme.BorderFocus.Render("›"), f.theme.Strong
		}
		label := text.Clean(fd.Label)
		lines[p.y] += mark + ink.Render(label) + "  " + text.Fit(f.valueText(fd, on, barValue(p.w, label)), barValue(p.w, label))
		indent := text.Spaces(p.x + text.Width(label) + 3)
		if on && f.editing && fd.Kind == FieldPick {
			below = append(below, fd.list.lines(len(indent), max(w-len(indent)-1, 8))...)
		}
		if fd.err != "" {
			below = append(below, Hung(" ", f.theme.Bad, "✗ "+label+": "+f.wrong(fd), w-1)...)
		} else if on && fd.Help != "" {
			below = append(below, Hung(" ", f.theme.Muted, fd.Help, w-1)...)
		}
	}
	return append(lines, below...)
}

// barValue is the width of a value in a part of the bar, whose mark, label and two blanks
// come before it.
func barValue(w int, label string) int { return max(w-text.Width(label)-3, 4) }

// placeBar decides where the fields are: all on one line, where texts have the room that
// the others leave, or the last text on a line of its own if it is too long for that.
func (f *Form) placeBar(focused bool, w int) []barPart {
	const gap = 2
	var parts []barPart
	left, texts := w, 0
	for i, fd := range f.fields {
		if fd.Hidden || !f.barred(fd) {
			continue
		}
		p := barPart{field: i}
		if fd.Kind == FieldText {
			texts++
		} else {
			most := max(w*3/10, 24)
			if fd.Kind == FieldChoice { // all of its options are wanted
				most = max(w/2, 24)
			}
			p.w = min(text.Width(fd.Label)+3+f.naturalWidth(fd, focused && i == f.at), most)
			left -= p.w
		}
		left -= gap
		parts = append(parts, p)
	}
	own := -1 // the text with a line of its own
	for i, p := range parts {
		fd := f.fields[p.field]
		if fd.Kind == FieldText && text.Width(fd.Label)+5+text.Width(fd.value()) > left/texts {
			own = i
		}
	}
	if own >= 0 {
		texts--
	}
	x := 0
	for i := range parts {
		p := &parts[i]
		switch {
		case i == own:
			p.y, p.w = 1, w
			continue
		case f.fields[p.field].Kind == FieldText:
			p.w = max(left/texts, 12)
		}
		p.x = x
		x += p.w + gap
	}
	return parts
}

// naturalWidth is the width of the value of a field that is no text.
func (f *Form) naturalWidth(fd *field, on bool) int {
	if fd.Kind == FieldPick && on && f.editing {
		return 30
	}
	return text.Width(strings.TrimRight(f.valueText(fd, false, 1000), " ")) + 2 // a choice wants two blanks at its end
}
