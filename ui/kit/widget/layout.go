package widget

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
)

// Block cuts or pads text to exactly h lines of exactly w cells.
func Block(s string, w, h int) string {
	if h <= 0 {
		return ""
	}
	var b strings.Builder
	b.Grow(len(s) + w)
	for i := range h {
		line := ""
		line, s, _ = strings.Cut(s, "\n")
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(text.Fit(line, w))
	}
	return b.String()
}

// Row puts blocks of the same height side by side.
func Row(blocks ...string) string {
	if len(blocks) == 1 {
		return blocks[0]
	}
	parts := make([][]string, len(blocks))
	h := 0
	for i, s := range blocks {
		parts[i] = strings.Split(s, "\n")
		h = max(h, len(parts[i]))
	}
	var b strings.Builder
	for y := range h {
		if y > 0 {
			b.WriteByte('\n')
		}
		for _, lines := range parts {
			if y < len(lines) {
				b.WriteString(lines[y])
			}
		}
	}
	return b.String()
}

// Stack puts blocks on top of each other; empty ones are left out.
func Stack(blocks ...string) string {
	kept := make([]string, 0, len(blocks))
	for _, s := range blocks {
		if s != "" {
			kept = append(kept, s)
		}
	}
	return strings.Join(kept, "\n")
}

// SideBySide divides w cells between two panes that stand side by side: three fifths are for the one with the focus.
func SideBySide(w int, onLeft, onRight bool) (left, right int) {
	switch left = w / 2; {
	case onLeft:
		left = w * 3 / 5
	case onRight:
		left = w * 2 / 5
	}
	return left, w - left
}

// Pane draws body in a frame of w×h cells, border included. The focused pane has a
// coloured border and a "▌" before its title.
func Pane(t *kit.Theme, title string, focused bool, w, h int, body string) string {
	return PaneOf(t, []Cell{C(title)}, nil, focused, w, h, body)
}

// ScrollPane is Pane of what was drawn into body; at the right, the frame says how many lines of it are hidden: "↑ 3", "↓ 12".
func ScrollPane(t *kit.Theme, title string, of kit.Scroller, focused bool, w, h int, body string) string {
	return PaneOf(t, []Cell{C(title)}, of, focused, w, h, body)
}

// PaneOf is ScrollPane with a title of parts; a part without an ink has that of titles. Nothing scrolls in it where of is nil.
func PaneOf(t *kit.Theme, title []Cell, of kit.Scroller, focused bool, w, h int, body string) string {
	if w < 4 || h < 2 {
		return Block(body, w, h)
	}
	ink, mark, plain := t.Border, " ", t.Muted
	if focused {
		ink, mark, plain = t.BorderFocus, "▌", t.Title
	}
	up, down := "", ""
	if of != nil {
		above, below := of.Hidden()
		up, down = hiddenSign("↑", above), hiddenSign("↓", below)
	}
	head := ink.Render("╭" + strings.Repeat("─", max(w-2-text.Width(up), 0)))
	if label, width := paneTitle(title, plain, w-5-text.Width(up)); width > 0 {
		head = ink.Render("╭"+mark) + label + ink.Render(" "+strings.Repeat("─", w-4-width-text.Width(up)))
	}
	head += plain.Render(up) + ink.Render("╮")
	side := ink.Render("│")
	var b strings.Builder
	b.Grow(len(body) + h*16)
	b.WriteString(head)
	for range h - 2 {
		line := ""
		line, body, _ = strings.Cut(body, "\n")
		b.WriteByte('\n')
		b.WriteString(side)
		b.WriteString(text.Fit(line, w-2))
		b.WriteString(side)
	}
	b.WriteByte('\n')
	b.WriteString(ink.Render("╰"+strings.Repeat("─", max(w-2-text.Width(down), 0))) + plain.Render(down) + ink.Render("╯"))
	return b.String()
}

// Folded is a pane in one line of w cells: its title and its gist.
func Folded(t *kit.Theme, title, gist string, w int) string {
	return text.Fit(t.Border.Render("╶ ")+t.Muted.Render(title)+"  "+text.Cut(text.Clean(gist), max(w-text.Width(title)-5, 0)), w)
}

// hiddenSign says that n lines are hidden on one side; "" for none.
func hiddenSign(arrow string, n int) string {
	if n <= 0 {
		return ""
	}
	return " " + arrow + " " + text.Count(n) + " "
}

// paneTitle draws a title's parts in at most w cells, and says in how many.
func paneTitle(parts []Cell, plain kit.Ink, w int) (label string, width int) {
	whole := ""
	for _, p := range parts {
		whole += text.Clean(p.Text)
	}
	rest := text.Cut(whole, w)
	width = text.Width(rest)
	for _, p := range parts {
		ink := p.Ink
		if ink.Plain() {
			ink = plain
		}
		part, after := rest, ""
		if clean := text.Clean(p.Text); strings.HasPrefix(rest, clean) {
			part, after = clean, rest[len(clean):]
		}
		label += ink.Render(part)
		rest = after
	}
	return label, width
}

// tile draws every area and joins them. The areas are ordered by column and leave no
// gaps. It also returns the regions of the frame.
func tile(areas []kit.Area, draw func(a kit.Area) string) (string, kit.Regions) {
	h := 0
	for _, a := range areas {
		h = max(h, a.Y+a.H)
	}
	lines := make([]string, h)
	for _, a := range areas {
		block := draw(a)
		for y := range a.H {
			var line string
			line, block, _ = strings.Cut(block, "\n")
			lines[a.Y+y] += line
		}
	}
	return strings.Join(lines, "\n"), areas
}

// Inner is the size inside a pane of w×h.
func Inner(w, h int) (iw, ih int) { return max(w-2, 0), max(h-2, 0) }

// Over draws box on top of base with its left upper corner at x, y.
func Over(base, box string, x, y int) string {
	lines, top := strings.Split(base, "\n"), strings.Split(box, "\n")
	for i, s := range top {
		if row := y + i; row >= 0 && row < len(lines) {
			lines[row] = overLine(lines[row], s, x)
		}
	}
	return strings.Join(lines, "\n")
}

func overLine(line, s string, x int) string {
	const reset = "\x1b[m"
	w := text.Width(s)
	left := ansi.Truncate(line, x, "")
	left += text.Spaces(x - text.Width(left))
	right := ansi.TruncateLeft(line, x+w, "")
	if keep := text.Width(line) - x - w; text.Width(right) > keep { // a wide character under the right edge
		right = " " + ansi.TruncateLeft(line, x+w+1, "")
	}
	return left + reset + s + reset + right
}
