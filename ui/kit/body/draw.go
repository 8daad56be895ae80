package body

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// drawnRows caches drawn rows until something they depend on changes: scrolling by a
// line draws one row.
type drawnRows struct {
	w       int
	version int
	lines   map[int][]string
}

// gutter is the width of the line numbers with the blank after them.
func (b *View) gutter() int {
	n := b.index.lines
	if len(b.window.rows) > 0 {
		n = max(n, b.window.rows[len(b.window.rows)-1].line+1)
	}
	return max(len(strconv.Itoa(n)), 3) + 2
}

func (b *View) textWidth() int { return max(b.pos.w-b.gutter(), 1) }

// Render draws exactly h lines of w cells: the rows, and below them a line with the
// position. It remembers its size for the paging keys.
func (b *View) Render(focused bool, w, h int) string {
	if w <= 0 || h <= 0 {
		return ""
	}
	b.pos.w, b.pos.h = w, max(h-1, 1)
	if b.drawn.lines == nil || b.drawn.w != w || b.drawn.version != b.theme.Version {
		b.drawn = drawnRows{w: w, version: b.theme.Version, lines: map[int][]string{}}
	}
	var out strings.Builder
	out.Grow(w * h * 2)
	rows := h - 1
	for _, l := range b.visible(rows) {
		out.WriteString(l)
		out.WriteByte('\n')
	}
	out.WriteString(b.foot(focused, w))
	return out.String()
}

func (b *View) visible(rows int) []string {
	t, w := b.theme, b.pos.w
	out := make([]string, 0, rows)
	switch {
	case b.err != nil:
		out = append(out, t.Bad.Render(text.Fit(" ✗ the body cannot be read: "+text.Clean(b.err.Error()), w)))
	case b.src.Reader == nil || b.src.Size <= 0:
		out = append(out, t.Muted.Render(text.Fit(" no body", w)))
	case len(b.window.rows) == 0:
		out = append(out, t.Muted.Render(text.Fit(" reading …", w)))
	}
	skip := 0
	if b.wrap {
		skip = b.pos.sub
	}
	for i := b.pos.top; len(out) < rows; i++ {
		r, ok := b.window.row(i)
		if !ok {
			break
		}
		lines := b.rowLines(r)
		for _, l := range lines[min(skip, len(lines)):] {
			if len(out) < rows {
				out = append(out, l)
			}
		}
		skip = 0
	}
	for len(out) < rows {
		out = append(out, text.Spaces(w))
	}
	return out
}

// rowLines are the screen lines of a row: one, or several with wrapping.
func (b *View) rowLines(r bodyRow) []string {
	if l, ok := b.drawn.lines[r.row]; ok {
		return l
	}
	number := strconv.Itoa(r.line + 1)
	if r.seg > 0 {
		number = "↪"
	}
	g := b.gutter()
	head := b.theme.LineN.Render(text.FitRight(number, g-1)) + " "
	if !b.wrap && b.pos.x > 0 && len(r.text) > 0 { // what is cut at the left
		head = strings.TrimSuffix(head, " ") + b.theme.Muted.Render("…")
	}
	width := b.textWidth()
	p := painter{inks: b.theme, row: r, marks: b.inks(r), width: width, wordWrap: b.wordWrap}
	var lines []string
	if b.wrap {
		for _, l := range p.wrapped() {
			lines = append(lines, head+l)
			head = text.Spaces(g)
		}
	} else {
		lines = []string{head + p.cut(b.pos.x)}
	}
	if len(b.drawn.lines) > 2*(rowsAbove+rowsBelow) {
		clear(b.drawn.lines)
	}
	if b.drawn.lines != nil {
		b.drawn.lines[r.row] = lines
	}
	return lines
}

// wrapped is the number of screen lines of a row.
func (b *View) wrapped(row int) int {
	r, ok := b.window.row(row)
	if !ok {
		return 1
	}
	return len(b.rowLines(r))
}

// wrappedLineOf is the screen line of a row that holds a byte of it.
func (b *View) wrappedLineOf(r bodyRow, at int) int {
	return cellsBefore(r.text, at) / max(b.textWidth(), 1)
}

func (b *View) foot(focused bool, w int) string {
	t := b.theme
	left := ""
	switch n := len(b.find.hits); {
	case b.find.typing && focused:
		b.find.input.SetWidth(max(w/2, 8))
		left = " " + t.KeyHint.Render("/") + widget.ViewInput(b.find.input)
	case b.find.query != "":
		count := strconv.Itoa(b.find.at+1) + " of " + strconv.Itoa(n)
		switch {
		case b.find.truncated:
			count += "+"
		case b.slots.search.Running():
			count += " so far, searching …"
		case n == 0:
			count = "not found"
		}
		left = " " + t.Accent.Render("/"+text.Clean(b.find.query)) + t.Muted.Render("  "+count)
	case b.pos.x > 0 && !b.wrap:
		left = t.Muted.Render(fmt.Sprintf(" from column %d", b.pos.x+1))
	}
	return text.Edge(left, t.Muted.Render(b.Status()+" "), w)
}

// Status is the position in the body: "line 12 of 3 400 · 12 %".
func (b *View) Status() string {
	if b.src.Size <= 0 || b.src.Reader == nil {
		return ""
	}
	r, ok := b.window.row(b.pos.top)
	if !ok {
		return text.Bytes(b.src.Size)
	}
	if !b.index.done {
		return fmt.Sprintf("line %s · reading %d %%", text.Count(r.line+1), b.index.scanned*100/max(b.src.Size, 1))
	}
	last, _ := b.window.row(min(b.pos.top+b.pos.h, b.index.rows) - 1)
	percent := int64(100)
	if last.row < b.index.rows-1 {
		percent = (last.off + int64(len(last.text))) * 100 / b.src.Size
	}
	return fmt.Sprintf("line %s of %s · %d %%", text.Count(r.line+1), text.Count(b.index.lines), percent)
}

// painter draws one row piece by piece, sanitised, in the inks of its tokens and
// marks.
type painter struct {
	inks     *kit.Theme
	row      bodyRow
	marks    []inkRange
	width    int
	wordWrap bool // lines are broken between words
	span     int  // the token span reached
}

// piece is drawn as a unit: a grapheme, or a token for an invisible character.
type piece struct {
	text  string
	cells int
	bytes int
	token bool // stands for an invisible character
}

// nextPiece reads one piece of b, which is not empty.
func nextPiece(b []byte) piece {
	c := b[0]
	switch {
	case c >= ' ' && c < 0x7f && (len(b) == 1 || b[1] < utf8.RuneSelf):
		return piece{text: string(rune(c)), cells: 1, bytes: 1}
	case c == '\t':
		return piece{text: "    ", cells: 4, bytes: 1}
	}
	r, n := utf8.DecodeRune(b)
	if r == utf8.RuneError && n <= 1 {
		return piece{text: fmt.Sprintf(`\x%02x`, c), cells: 4, bytes: 1, token: true}
	}
	if !model.Visible(r) {
		words := text.Token(r)
		return piece{text: words, cells: text.Width(words), bytes: n, token: true}
	}
	// A base character includes its combining marks, up to a readable number.
	end, marks := n, 0
	for end < len(b) && marks < text.MaxMarks {
		m, size := utf8.DecodeRune(b[end:])
		if !text.Combining(m) || !model.Visible(m) {
			break
		}
		end += size
		marks++
	}
	words := string(b[:end])
	if text.Combining(r) {
		words = text.Token(r)
		return piece{text: words, cells: text.Width(words), bytes: n, token: true}
	}
	return piece{text: words, cells: max(ansi.StringWidth(words), 1), bytes: end}
}

func cellsBefore(b []byte, at int) int {
	cells := 0
	for i := 0; i < min(at, len(b)); {
		p := nextPiece(b[i:])
		cells += p.cells
		i += p.bytes
	}
	return cells
}

// ink is the ink of the byte at i.
func (p *painter) ink(i int) kit.Ink {
	for _, m := range p.marks {
		if i >= m.from && i < m.to {
			return m.ink
		}
	}
	for p.span < len(p.row.spans) && p.row.spans[p.span].to <= i {
		p.span++
	}
	if p.span < len(p.row.spans) && p.row.spans[p.span].from <= i {
		return inkOf(p.inks.Syntax, p.row.spans[p.span].kind)
	}
	return kit.Ink{}
}

// cut draws the cells from x to x+width as one line of exactly width cells; "…" ends it where more follows.
func (p *painter) cut(x int) string {
	b := p.row.text
	i, cell := 0, 0
	for i < len(b) && cell < x {
		q := nextPiece(b[i:])
		i += q.bytes
		cell += q.cells
	}
	lead := min(cell-x, p.width)
	if lead < 0 {
		return text.Spaces(p.width)
	}
	span, room := p.span, p.width-lead
	line, used, next := p.line(i, room)
	if next < len(b) && room > 1 {
		p.span = span
		line, used, _ = p.line(i, room-1)
		line, used = line+p.inks.Muted.Render("…"), used+1
	}
	return text.Spaces(lead) + line + text.Spaces(room-used)
}

// wrapped draws the whole row as lines of exactly width cells.
func (p *painter) wrapped() []string {
	var out []string
	whole := p.row.text
	for i := 0; ; {
		span := p.span
		line, used, next := p.line(i, p.width)
		if at := wordStart(p.row.text, i, next); p.wordWrap && at < next {
			p.row.text, p.span = p.row.text[:at], span
			line, used, _ = p.line(i, p.width)
			p.row.text, next = whole, at
		}
		out = append(out, line+text.Spaces(p.width-used))
		if next >= len(p.row.text) || next == i {
			return out
		}
		i = next
	}
}

// wordStart is where the word begins that a line from byte i to byte next would cut, or next.
func wordStart(b []byte, i, next int) int {
	if next >= len(b) || b[next] == ' ' {
		return next
	}
	if at := bytes.LastIndexByte(b[i:next], ' '); at >= 0 {
		return i + at + 1
	}
	return next
}

// line draws from byte i as much as fits into room cells. It returns the text, the
// cells used and the byte where it stopped.
func (p *painter) line(i, room int) (words string, used, next int) {
	var out, run strings.Builder
	var runInk kit.Ink
	flush := func() {
		out.WriteString(runInk.Render(run.String()))
		run.Reset()
	}
	b := p.row.text
	for i < len(b) {
		q := nextPiece(b[i:])
		if used+q.cells > room {
			if q.cells > room && used == 0 { // wider than the line: cut it
				q.text, q.cells = text.Cut(q.text, room), min(q.cells, room)
			} else {
				break
			}
		}
		ink := p.ink(i)
		if q.token && ink.Plain() {
			ink = p.inks.Invisible
		}
		if !ink.Equal(runInk) {
			flush()
			runInk = ink
		}
		run.WriteString(q.text)
		used += q.cells
		i += q.bytes
	}
	flush()
	return out.String(), used, i
}
