package widget

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
)

// Scroll is the position in a text that may be longer than its pane. The zero value is
// at the beginning.
type Scroll struct {
	top  int // first line on screen
	page int // lines that fit
	n    int // lines of the text
}

// Update moves by a motion key or the mouse wheel; other messages change nothing.
func (s *Scroll) Update(msg tea.Msg) {
	by, _ := motionOf(msg, max(s.page, 1), s.n)
	s.top = max(min(s.top+by, s.n-s.page), 0)
}

// End goes to the end of the text, whatever its length will be.
func (s *Scroll) End() { s.top = 1 << 30 }

// To moves to a line.
func (s *Scroll) To(line int) { s.top = line }

// Visible returns the lines on screen, at most h, and keeps both sizes for the next
// Update.
func (s *Scroll) Visible(lines []string, h int) []string {
	s.page, s.n = h, len(lines)
	s.top = max(min(s.top, s.n-h), 0)
	return lines[s.top:min(s.top+h, s.n)]
}

// Hidden are the lines that were not drawn last.
func (s *Scroll) Hidden() (above, below int) { return s.top, s.n - s.page - s.top }

// Pane draws lines of text in a pane of w×h cells.
func (s *Scroll) Pane(t *kit.Theme, title string, focused bool, w, h int, lines []string) string {
	_, ih := Inner(w, h)
	body := strings.Join(Indent(s.Visible(lines, ih)), "\n")
	return ScrollPane(t, title, s, focused, w, h, body)
}

// Page is an overlay with a text that scrolls.
type Page struct {
	// Heading is the title, Width the preferred width, and Lines the text at a width.
	Heading string
	Width   int
	Lines   func(w int) []string
	// Closing is the binding that closes it.
	Closing kit.Binding

	at Scroll
}

// Init does nothing.
func (p *Page) Init() tea.Cmd { return nil }

// Title is the heading.
func (p *Page) Title() string { return p.Heading }

// Hidden are the lines of the text that were not drawn last.
func (p *Page) Hidden() (above, below int) { return p.at.Hidden() }

// Size is the size of the text.
func (p *Page) Size(w, h int) (int, int) {
	w = min(p.Width, w-4)
	return w, min(len(p.Lines(w)), h-4)
}

// Bindings close the page and scroll it.
func (p *Page) Bindings() []kit.Binding {
	return append([]kit.Binding{p.Closing}, MotionBindings()...)
}

// Update scrolls.
func (p *Page) Update(msg tea.Msg) tea.Cmd {
	p.at.Update(msg)
	return nil
}

// Render draws the lines on screen.
func (p *Page) Render(w, h int) string {
	return Block(strings.Join(p.at.Visible(p.Lines(w), h), "\n"), w, h)
}
