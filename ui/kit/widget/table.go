package widget

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
)

// Column is one column of a Table.
type Column struct {
	Title string
	// Width is the column's width in cells; a Flex column takes what is left, but
	// never less than Width.
	Width int
	Flex  bool
	Right bool
	// Priority decides what goes when the table is too narrow: the highest number
	// first; 0 always stays.
	Priority int
}

// Cell is one cell. Text may be remote: the table sanitises it. A zero Ink
// draws it plainly.
type Cell struct {
	Text string
	Ink  kit.Ink
}

// C is a cell in plain ink.
func C(text string) Cell { return Cell{Text: text} }

// Table shows rows that come from a callback. Only the rows on screen are asked
// for, so a million of them cost what fifty do.
type Table struct {
	Columns []Column
	// Empty is what stands there when there are no rows.
	Empty string
	// Key identifies a row across SetRows: the cursor and the marks stay with it.
	// Nil means that rows are known by their position.
	Key func(i int) string

	n      int
	row    func(i int) []Cell
	cursor int
	top    int
	page   int    // rows drawn last, for paging keys
	on     string // key of the cursor's row
	marked map[string]bool
}

// SetRows replaces the rows; row(i) is called while drawing, for visible rows only.
func (t *Table) SetRows(n int, row func(i int) []Cell) {
	t.n, t.row = n, row
	t.clamp()
}

// SetRowsKeyed replaces the rows and keeps the cursor on the row whose key it
// was on, when that row is still there.
func (t *Table) SetRowsKeyed(n int, key func(i int) string, row func(i int) []Cell) {
	old := t.on // asked for when the cursor came there: the rows may have changed since
	t.Key, t.n, t.row = key, n, row
	if t.cursor >= n || key == nil || key(t.cursor) != old {
		for i := range n {
			if key != nil && key(i) == old {
				t.cursor = i
				break
			}
		}
	}
	t.clamp()
}

// Len is the number of rows, Cursor the row the cursor is on (0 when there are none).
func (t *Table) Len() int { return t.n }

// Cursor is the row the cursor is on; with no rows it is 0.
func (t *Table) Cursor() int { return t.cursor }

// CursorKey is the key of the cursor's row; false when there is none.
func (t *Table) CursorKey() (string, bool) {
	if t.Key == nil || t.cursor >= t.n {
		return "", false
	}
	return t.Key(t.cursor), true
}

// SetCursor moves the cursor to row i.
func (t *Table) SetCursor(i int) {
	t.cursor = i
	t.clamp()
}

// Move moves the cursor by rows.
func (t *Table) Move(by int) { t.SetCursor(t.cursor + by) }

// ToggleMark marks or unmarks the cursor's row; rows need a Key for it.
func (t *Table) ToggleMark() {
	k, ok := t.CursorKey()
	if !ok {
		return
	}
	if t.marked == nil {
		t.marked = map[string]bool{}
	}
	if t.marked[k] {
		delete(t.marked, k)
		return
	}
	t.marked[k] = true
}

// Marked lists the rows that are marked, in their order.
func (t *Table) Marked() []int {
	var out []int
	if t.Key == nil || len(t.marked) == 0 {
		return out
	}
	for i := range t.n {
		if t.marked[t.Key(i)] {
			out = append(out, i)
		}
	}
	return out
}

// ClearMarks unmarks every row.
func (t *Table) ClearMarks() { t.marked = nil }

// Update moves the cursor by keys (vim and arrows) and the mouse wheel; it
// reports whether the message was for it.
func (t *Table) Update(msg tea.Msg) bool {
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		by, ok := Motion(msg.String(), max(t.page, 1), t.n)
		if ok {
			t.Move(by)
		}
		return ok
	case tea.MouseWheelMsg:
		switch msg.Button {
		case tea.MouseWheelUp:
			t.Move(-3)
		case tea.MouseWheelDown:
			t.Move(3)
		default:
			return false
		}
		return true
	}
	return false
}

// Click moves the cursor to the row drawn on line y of the table, counted from
// 0 at its header; it reports whether there is one.
func (t *Table) Click(y int) bool {
	if t.headed() {
		y--
	}
	if y < 0 || y >= t.page || t.top+y >= t.n {
		return false
	}
	t.SetCursor(t.top + y)
	return true
}

// Motion reads a vertical motion key.
func Motion(key string, page, n int) (by int, ok bool) {
	switch key {
	case "up", "k":
		return -1, true
	case "down", "j":
		return 1, true
	case "pgup", "ctrl+b":
		return -page, true
	case "pgdown", "ctrl+f", "space":
		return page, true
	case "ctrl+u":
		return -max(page/2, 1), true
	case "ctrl+d":
		return max(page/2, 1), true
	case "home", "g":
		return -n, true
	case "end", "G":
		return n, true
	}
	return 0, false
}

// MotionBindings describes the keys that Table.Update and body.View take by
// themselves, for the help page.
func MotionBindings() []kit.Binding {
	return []kit.Binding{
		{Keys: []string{"down", "j"}, Label: "down", Help: "One row down.", Group: "Move", Hidden: true},
		{Keys: []string{"up", "k"}, Label: "up", Help: "One row up.", Group: "Move", Hidden: true},
		{Keys: []string{"pgdown", "ctrl+f", "space"}, Label: "page down", Help: "One page down.", Group: "Move", Hidden: true},
		{Keys: []string{"pgup", "ctrl+b"}, Label: "page up", Help: "One page up.", Group: "Move", Hidden: true},
		{Keys: []string{"ctrl+d"}, Label: "half page down", Help: "Half a page down.", Group: "Move", Hidden: true},
		{Keys: []string{"ctrl+u"}, Label: "half page up", Help: "Half a page up.", Group: "Move", Hidden: true},
		{Keys: []string{"home", "g"}, Label: "first", Help: "To the first row.", Group: "Move", Hidden: true},
		{Keys: []string{"end", "G"}, Label: "last", Help: "To the last row.", Group: "Move", Hidden: true},
	}
}

func (t *Table) clamp() {
	t.cursor = min(max(t.cursor, 0), max(t.n-1, 0))
	t.on = ""
	if k, ok := t.CursorKey(); ok {
		t.on = k
	}
	if t.page > 0 {
		t.scroll(t.page)
	}
}

func (t *Table) scroll(rows int) {
	if t.cursor < t.top {
		t.top = t.cursor
	}
	if t.cursor >= t.top+rows {
		t.top = t.cursor - rows + 1
	}
	t.top = min(max(t.top, 0), max(t.n-rows, 0))
}

// Render draws the header (when a column has a title) and the visible rows as exactly h lines of w cells.
// It remembers how many rows fit, so that the paging keys know what a page is.
func (t *Table) Render(th *kit.Theme, focused bool, w, h int) string {
	if h <= 0 || w <= 0 {
		return ""
	}
	widths := t.widths(w - 1)
	var b strings.Builder
	b.Grow(w * h * 2)
	rows := h
	if t.headed() {
		b.WriteString(th.Muted.Render(text.Fit(" "+t.line(widths, nil), w)))
		rows--
	}
	t.page = max(rows, 1)
	if rows == 0 {
		return b.String()
	}
	if t.n == 0 {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(Block(th.Muted.Render(" "+text.Cut(t.Empty, w-1)), w, rows))
		return b.String()
	}
	t.scroll(t.page)
	for y := range rows {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		i := t.top + y
		if i >= t.n {
			b.WriteString(text.Spaces(w))
			continue
		}
		t.drawRow(&b, th, i, widths, w, focused)
	}
	return b.String()
}

// headed reports whether a column has a title; without one there is no header.
func (t *Table) headed() bool {
	for _, c := range t.Columns {
		if c.Title != "" {
			return true
		}
	}
	return false
}

func (t *Table) drawRow(b *strings.Builder, th *kit.Theme, i int, widths []int, w int, focused bool) {
	cells := t.row(i)
	mark := " "
	if t.Key != nil && t.marked[t.Key(i)] {
		mark = "*"
	}
	if i == t.cursor {
		ink := th.SelectedBlur
		if focused {
			ink = th.Selected
		}
		if mark == " " {
			mark = "›"
		}
		b.WriteString(ink.Render(text.Fit(mark+t.line(widths, cells), w)))
		return
	}
	b.WriteString(mark)
	used := 1
	first := true
	for c, width := range widths {
		if width == 0 {
			continue
		}
		if !first {
			b.WriteByte(' ')
			used++
		}
		first = false
		if c < len(cells) {
			b.WriteString(cells[c].Ink.Render(t.cell(c, width, cells[c].Text)))
		} else {
			b.WriteString(text.Spaces(width))
		}
		used += width
	}
	b.WriteString(text.Spaces(w - used))
}

// line is the text of a row (or of the header, for nil cells) without inks.
func (t *Table) line(widths []int, cells []Cell) string {
	var b strings.Builder
	first := true
	for c, width := range widths {
		if width == 0 {
			continue
		}
		if !first {
			b.WriteByte(' ')
		}
		first = false
		text := t.Columns[c].Title
		if cells != nil {
			text = ""
			if c < len(cells) {
				text = cells[c].Text
			}
		}
		b.WriteString(t.cell(c, width, text))
	}
	return b.String()
}

func (t *Table) cell(c, width int, words string) string {
	words = text.Clean(words)
	if t.Columns[c].Right {
		return text.FitRight(words, width)
	}
	return text.Fit(words, width)
}

// widths decides which columns are drawn and how wide; 0 leaves one out.
func (t *Table) widths(w int) []int {
	out := make([]int, len(t.Columns))
	for i, c := range t.Columns {
		out[i] = max(c.Width, 1)
	}
	need := func() int {
		sum, cols := 0, 0
		for _, n := range out {
			if n > 0 {
				sum += n
				cols++
			}
		}
		return sum + max(cols-1, 0)
	}
	for need() > w {
		worst, at := 0, -1
		for i, c := range t.Columns {
			if out[i] > 0 && c.Priority > worst {
				worst, at = c.Priority, i
			}
		}
		if at < 0 {
			break
		}
		out[at] = 0
	}
	flex := 0
	for i, c := range t.Columns {
		if c.Flex && out[i] > 0 {
			flex++
		}
	}
	left := w - need()
	for i, c := range t.Columns {
		if left <= 0 || flex == 0 {
			break
		}
		if c.Flex && out[i] > 0 {
			share := left / flex
			out[i] += share
			left -= share
			flex--
		}
	}
	return out
}
