package widget

import (
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
)

// Cell is one cell. Text may be remote: the table sanitises it. A zero Ink
// leaves it unstyled.
type Cell struct {
	Text string
	// Short stands in a Flex column where Text does not fit; empty cuts Text.
	Short string
	Ink   kit.Ink
	// Inks are those of the characters of Text, each of which is one cell wide, where they differ.
	Inks []kit.Ink
	// Span is how many of the columns after it the cell covers as well.
	Span int
}

// fitting is the text that stands in so many cells.
func (c Cell) fitting(width int) string {
	if c.Short != "" && text.Width(c.Text) > width {
		return c.Short
	}
	return c.Text
}

// inked is what is drawn of the cell, in its ink or inks.
func (c Cell) inked(drawn string) string {
	if len(c.Inks) == 0 {
		return c.Ink.Render(drawn)
	}
	out, inks := "", append(c.Inks, make([]kit.Ink, len(drawn))...)
	for i, r := range []rune(drawn) {
		out += inks[i].Render(string(r))
	}
	return out
}

// Named is the cell of a name that is cut where it would leave no room for the columns beside it.
func Named(name string) Cell { return Cell{Text: name, Short: text.Cut(name, 24)} }

// C is a cell in plain ink.
func C(text string) Cell { return Cell{Text: text} }
