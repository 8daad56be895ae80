package uitest

import (
	"fmt"
	"html"
	"image/color"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	uv "github.com/charmbracelet/ultraviolet"

	"zonedeck/internal/noerr"
)

// Dimensions of a picture in SVG user units.
const (
	cellWidth  = 8.4
	cellHeight = 16.3
	margin     = 10.0
	fontSize   = 14.0
	baseline   = 12.2 // from the top of a cell
)

// The terminal's own colours in a picture.
const (
	inkColour   = "#d6deeb"
	paperColour = "#10161f"
)

// Picture compares the screen, in colour, with the SVG file at path. Mask must keep
// the width of every line. With -update the file is written instead.
func (p *Whole) Picture(t *testing.T, path string, mask func(string) string) {
	t.Helper()
	draw := func() string {
		p.replay()
		return drawSVG(p.emu.Width(), p.emu.CellAt, strings.Split(mask(p.emu.String()), "\n"))
	}
	if updating() {
		noerr.Must(t, os.WriteFile(path, []byte(draw()), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	noerr.Must(t, err)
	if await(string(want), draw) != string(want) { // a text may come before its colours
		t.Errorf("%s is not the screen as it is drawn now; run the test with -update and look at it", path)
	}
}

// drawSVG draws the lines of a screen w cells wide, in the styles of its cells.
func drawSVG(w int, cell func(x, y int) *uv.Cell, lines []string) string {
	var b strings.Builder
	width, height := float64(w)*cellWidth+2*margin, float64(len(lines))*cellHeight+2*margin
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.1f %.1f" font-family="ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace" font-size="%g">`+"\n", width, height, fontSize)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="8" fill="%s"/>`+"\n", paperColour)
	for y, line := range lines {
		drawRow(&b, y, func(x int) *uv.Cell { return cell(x, y) }, line)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// drawRow draws one line. Each run of cells in the same style is one text, with a
// rectangle before it if the run has a background.
func drawRow(b *strings.Builder, y int, cell func(x int) *uv.Cell, line string) {
	var run strings.Builder
	var style uv.Style
	start, x := 0, 0
	flush := func() {
		drawRun(b, start, y, x-start, run.String(), style)
		run.Reset()
		start = x
	}
	for _, r := range line {
		c := cell(x)
		if c == nil {
			break
		}
		if !c.Style.Equal(&style) {
			flush()
			style = c.Style
		}
		run.WriteRune(r)
		x += max(c.Width, 1)
	}
	flush()
}

// drawRun draws text over n cells from column x of row y.
func drawRun(b *strings.Builder, x, y, n int, text string, style uv.Style) {
	if n == 0 {
		return
	}
	ink, paper := hex(style.Fg, inkColour), hex(style.Bg, "")
	if style.Attrs&uv.AttrReverse != 0 {
		ink, paper = hex(style.Bg, paperColour), hex(style.Fg, inkColour)
	}
	left, top := margin+float64(x)*cellWidth, margin+float64(y)*cellHeight
	if paper != "" {
		fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n", left, top, float64(n)*cellWidth, cellHeight, paper)
	}
	trimmed := strings.TrimRight(text, " ")
	if trimmed == "" && style.Underline == uv.UnderlineNone {
		return
	}
	if style.Underline == uv.UnderlineNone {
		n -= utf8.RuneCountInString(text) - utf8.RuneCountInString(trimmed)
		text = trimmed
	}
	fmt.Fprintf(b, `<text xml:space="preserve" x="%.1f" y="%.1f" textLength="%.1f" fill="%s"%s>%s</text>`+"\n",
		left, top+baseline, float64(n)*cellWidth, ink, attributes(style), html.EscapeString(text))
}

// attributes are the SVG attributes for a style.
func attributes(s uv.Style) string {
	out := ""
	if s.Attrs&uv.AttrBold != 0 {
		out += ` font-weight="bold"`
	}
	if s.Attrs&uv.AttrItalic != 0 {
		out += ` font-style="italic"`
	}
	if s.Attrs&uv.AttrFaint != 0 {
		out += ` opacity="0.6"`
	}
	if s.Underline != uv.UnderlineNone {
		out += ` text-decoration="underline"`
	}
	return out
}

// hex is a colour in SVG notation, or fallback for nil.
func hex(c color.Color, fallback string) string {
	if c == nil {
		return fallback
	}
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
}
