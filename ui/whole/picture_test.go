package whole

import (
	"fmt"
	"html"
	"image/color"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	uv "github.com/charmbracelet/ultraviolet"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/ui/uitest"
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

// picture compares the screen, in colour, with the SVG file at path. Mask must keep the width of every line. With
// -update the file is written instead.
func picture(t *testing.T, p *uitest.Whole, path string, mask func(string) string) {
	t.Helper()
	f := newFilm(p, mask, 1)
	f.frame(t, path)
	f.end(t, path)
}

// film is an SVG of several screens that follow one another: a picture, if it has one.
type film struct {
	p    *uitest.Whole
	mask func(string) string
	n    int // frames
	// drawn are the frames so far, rows the row in them that has a text in a style: what a row was before is used again.
	drawn string
	rows  map[string]int
	count int
}

// perFrame is how long a screen is seen, in seconds.
const perFrame = 3

func newFilm(p *uitest.Whole, mask func(string) string, frames int) *film {
	f := &film{p: p, mask: mask, n: frames, rows: map[string]int{}}
	w, _, text := p.Cells()
	width, height := float64(w)*cellWidth+2*margin, float64(strings.Count(text, "\n")+1)*cellHeight+2*margin
	f.drawn = fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.1f %.1f" font-family="ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace" font-size="%g">`+"\n", width, height, fontSize)
	if frames > 1 {
		f.drawn += fmt.Sprintf("<style>.f{visibility:hidden;animation:f %ds step-end infinite}@keyframes f{0%%{visibility:visible}%.3f%%,to{visibility:hidden}}"+
			"@media (prefers-reduced-motion:reduce){.f{animation:none}.f:last-child{visibility:visible}}</style>\n", frames*perFrame, 100/float64(frames))
	}
	f.drawn += fmt.Sprintf(`<rect width="100%%" height="100%%" rx="8" fill="%s"/>`+"\n", paperColour)
	return f
}

// frame adds the screen, once it is as the file at path has it: a text may come before its colours.
func (f *film) frame(t *testing.T, path string) {
	t.Helper()
	want, err := os.ReadFile(path)
	if !uitest.Updating() {
		noerr.Must(t, err)
	}
	drawn, rows := "", map[string]int(nil)
	same := func() bool {
		drawn, rows = f.draw()
		return uitest.Updating() || strings.HasPrefix(string(want), drawn)
	}
	if !uitest.Await(same) {
		at := 0
		for at < min(len(drawn), len(want)) && drawn[at] == want[at] {
			at++
		}
		row, _, _ := strings.Cut(drawn[strings.LastIndex(drawn[:at], "\n")+1:], "\n")
		t.Fatalf("%s is not the screen as it is drawn now, from here on; run the test with -update and look at it:\n%s", path, row)
	}
	f.drawn, f.rows, f.count = drawn, rows, f.count+1
}

// draw is the film with the screen as its next frame, and the rows that it then has.
func (f *film) draw() (drawn string, rows map[string]int) {
	_, at, text := f.p.Cells()
	var b strings.Builder
	rows = maps.Clone(f.rows)
	if f.n > 1 {
		fmt.Fprintf(&b, `<g class="f" style="animation-delay:%ds">`+"\n", f.count*perFrame)
	}
	for y, line := range strings.Split(f.mask(text), "\n") {
		var row strings.Builder
		drawRow(&row, y, func(x int) *uv.Cell { return at(x, y) }, line)
		switch known, ok := rows[row.String()]; {
		case f.n == 1 || row.Len() == 0:
			b.WriteString(row.String())
		case ok:
			fmt.Fprintf(&b, `<use href="#r%d"/>`+"\n", known)
		default:
			rows[row.String()] = len(rows)
			fmt.Fprintf(&b, `<g id="r%d">`+"\n%s</g>\n", len(rows)-1, row.String())
		}
	}
	if f.n > 1 {
		b.WriteString("</g>\n")
	}
	return f.drawn + b.String(), rows
}

// end compares the whole film with the file at path, or writes it.
func (f *film) end(t *testing.T, path string) {
	t.Helper()
	if f.drawn += "</svg>\n"; uitest.Updating() {
		noerr.Must(t, os.WriteFile(path, []byte(f.drawn), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	noerr.Must(t, err)
	if string(want) != f.drawn {
		t.Errorf("%s is not what is drawn now; run the test with -update and look at it", path)
	}
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
		if !c.Style.Equal(&style) && (r != ' ' || !plain(c.Style) || !plain(style)) {
			flush()
			style = c.Style
		}
		run.WriteRune(r)
		x += max(c.Width, 1)
	}
	flush()
}

// plain reports whether a blank is not seen: in which colour it was written, the terminal alone knows.
func plain(s uv.Style) bool {
	return s.Bg == nil && s.Underline == uv.UnderlineNone && s.Attrs&uv.AttrReverse == 0
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

// TestTheFirstPictureOfTheReadme goes through a first minute with the console: fetches, a comparison, a job that may have
// started, the keys.
func TestTheFirstPictureOfTheReadme(t *testing.T) {
	h := newHome(t)
	seedJob(h, model.JobMayHave, func(j *model.Job) {
		j.Snapshot, j.Detail = "", "the call broke after sending: the connection was reset"
	})
	p := h.open(120, 32)
	path := filepath.Join("docs", "pictures", "first-minute.svg")
	ready(p)
	scenes := []func(*uitest.Whole){
		see("alt+1", "This is the embedded emulator"),
		see("ctrl+j", "It works"),
		script(see("enter"), typed("datacenter"), see("enter", "datacenter_demo  dat"), see("ctrl+l ctrl+u"), typed("http://lab.test/captcha"), see("ctrl+j", "g-recaptcha")),
		see("ctrl+w", "What to compare"),
		see("ctrl+s", "winner: unlocker_demo by API"),
		see("2", "may have"),
		see("4", "etl"),
		see("R", "delete the old"),
	}
	f := newFilm(p, h.mask, len(scenes))
	for _, scene := range scenes {
		scene(p)
		f.frame(t, path)
		h.later.Add(int64(perFrame * time.Second)) // a question takes no key in its first moments
	}
	f.end(t, path)
	if len(f.drawn) > 300_000 {
		t.Errorf("the picture has %d bytes, want at most 300,000", len(f.drawn))
	}
}
