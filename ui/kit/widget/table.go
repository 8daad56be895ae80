package widget

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
)

// Column is one column of a Table.
type Column struct {
	Title string
	// Width is the column's width in cells. A column whose cells need more takes it from the
	// cells that are left, and a Flex column the rest of them.
	Width int
	Flex  bool
	Right bool
	// Priority decides which columns are dropped if the table is too narrow: the highest
	// number first; 0 always stays.
	Priority int
}

// Table shows rows from a callback. It asks only for the rows on screen, so a million
// rows cost no more than fifty.
type Table struct {
	Columns []Column
	// Empty is shown if there are no rows.
	Empty string
	// Key identifies a row across SetRows: the cursor stays with it.
	// Nil means that rows are known by their position.
	Key func(i int) string

	n      int
	row    func(i int) []Cell
	cursor int
	top    int
	page   int    // rows drawn last, for paging keys
	moved  bool   // the cursor was, so that it stays on its row
	away   bool   // the cursor may be out of sight
	on     string // key of the cursor's row
	drawn  []int  // widths of the columns drawn last
	needs  []int  // the widest cell drawn in each column since SetRows
	// newest is the key of the first row when the cursor was last there, and news how many
	// rows have come above it.
	newest string
	news   int
}

// SetRows replaces the rows; row(i) is called for visible rows only.
func (t *Table) SetRows(n int, row func(i int) []Cell) {
	t.n, t.row, t.needs = n, row, nil
	t.clamp()
}

// SetRowsKeyed replaces the rows and keeps the cursor on the row with the same key, if
// it still exists.
func (t *Table) SetRowsKeyed(n int, key func(i int) string, row func(i int) []Cell) {
	old := t.on // recorded when the cursor moved: the rows may have changed since
	t.Key, t.n, t.row, t.needs = key, n, row, nil
	if t.cursor >= n || key == nil || key(t.cursor) != old {
		for i := range n {
			if key != nil && key(i) == old {
				t.cursor = i
				break
			}
		}
	}
	t.clamp()
	t.count()
}

// count counts the rows that are new above.
func (t *Table) count() {
	if t.cursor == 0 || t.Key == nil {
		return // clamp has noted it
	}
	t.news = 0
	for i := range t.n {
		if t.Key(i) == t.newest {
			t.news = i
			return
		}
	}
}

// News says how many rows have come above since the cursor was at the top, as part of a
// title; "" for none. It knows them by their keys.
func (t *Table) News() string {
	if t.news == 0 {
		return ""
	}
	return fmt.Sprintf(" · %d new", t.news)
}

// ForgetNews makes none of the rows new: they are others because of a filter, and did not come.
func (t *Table) ForgetNews() {
	t.news = 0
	if t.Key != nil && t.n > 0 {
		t.newest = t.Key(0)
	}
}

// Hidden are the rows that were not drawn last.
func (t *Table) Hidden() (above, below int) { return t.top, t.n - t.top - t.page }

// Len is the number of rows.
func (t *Table) Len() int { return t.n }

// Cursor is the index of the selected row; 0 if there are no rows.
func (t *Table) Cursor() int { return t.cursor }

// CursorKey returns the key of the selected row; false if there is none.
func (t *Table) CursorKey() (string, bool) {
	if t.Key == nil || t.cursor >= t.n {
		return "", false
	}
	return t.Key(t.cursor), true
}

// SetCursor moves the cursor to row i.
func (t *Table) SetCursor(i int) {
	t.cursor, t.moved, t.away = i, true, false
	t.clamp()
}

// KeepFirst puts the cursor on the first row until somebody moves it: of a list whose first row is the worst.
func (t *Table) KeepFirst() {
	if !t.moved {
		t.cursor = 0
		t.clamp()
	}
}

// Move moves the cursor by rows.
func (t *Table) Move(by int) { t.SetCursor(t.cursor + by) }

// Scroll turns the mouse wheel over a table whose cursor stays.
func (t *Table) Scroll(msg tea.MouseWheelMsg) {
	by, _ := Wheel(msg)
	t.top, t.away = t.top+by, true
}

// Update moves the cursor by keys (vim and arrows) and the mouse wheel. It reports
// whether it handled the message.
func (t *Table) Update(msg tea.Msg) bool {
	by, ok := motionOf(msg, max(t.page, 1), t.n)
	if ok {
		t.Move(by)
	}
	return ok
}

// UpdateWhileTyping does the same where letters go into an input beside the table.
func (t *Table) UpdateWhileTyping(msg tea.Msg) bool {
	by, ok := motionWhileTyping(msg, max(t.page, 1), t.n)
	if ok {
		t.Move(by)
	}
	return ok
}

// Click moves the cursor to the row drawn on line y of the table (0 is the header). It
// reports whether there is a row.
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

// ColumnAt is the column drawn at cell x of the table, by its index in Columns; false on a
// gap or beside the columns.
func (t *Table) ColumnAt(x int) (int, bool) {
	from := 1 // the cursor's mark
	for i, width := range t.drawn {
		if width > 0 && x >= from && x < from+width {
			return i, true
		}
		if width > 0 {
			from += width + 1
		}
	}
	return 0, false
}

// motionOf reads a vertical motion key or the mouse wheel.
func motionOf(msg tea.Msg, page, n int) (by int, ok bool) {
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		return Motion(msg.String(), page, n)
	case tea.MouseWheelMsg:
		return Wheel(msg)
	}
	return 0, false
}

// motionWhileTyping reads a vertical motion key that is no text and none of an input's own, or the
// mouse wheel.
func motionWhileTyping(msg tea.Msg, page, n int) (by int, ok bool) {
	if key, pressed := msg.(tea.KeyPressMsg); pressed {
		switch key.String() {
		case "ctrl+p":
			return -1, true
		case "ctrl+n":
			return 1, true
		case "up", "down", "pgup", "pgdown":
		default:
			return 0, false
		}
	}
	return motionOf(msg, page, n)
}

// Wheel is how many rows a turn of the mouse wheel moves.
func Wheel(msg tea.MouseWheelMsg) (by int, ok bool) {
	switch msg.Button {
	case tea.MouseWheelUp:
		return -3, true
	case tea.MouseWheelDown:
		return 3, true
	}
	return 0, false
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

// MotionBindings describe the motion keys that Table.Update and body.View handle, for
// the help page.
func MotionBindings() []kit.Binding {
	return []kit.Binding{
		{Name: "move.down", Keys: []string{"down", "j"}, Label: "down", Help: "Move one row down.", Group: "Move", Hidden: true},
		{Name: "move.up", Keys: []string{"up", "k"}, Label: "up", Help: "Move one row up.", Group: "Move", Hidden: true},
		{Name: "move.page-down", Keys: []string{"pgdown", "ctrl+f", "space"}, Label: "page down", Help: "Move one page down.", Group: "Move", Hidden: true},
		{Name: "move.page-up", Keys: []string{"pgup", "ctrl+b"}, Label: "page up", Help: "Move one page up.", Group: "Move", Hidden: true},
		{Name: "move.half-page-down", Keys: []string{"ctrl+d"}, Label: "half page down", Help: "Move half a page down.", Group: "Move", Hidden: true},
		{Name: "move.half-page-up", Keys: []string{"ctrl+u"}, Label: "half page up", Help: "Move half a page up.", Group: "Move", Hidden: true},
		{Name: "move.first", Keys: []string{"home", "g"}, Label: "first", Help: "Go to the first row.", Group: "Move", Hidden: true},
		{Name: "move.last", Keys: []string{"end", "G"}, Label: "last", Help: "Go to the last row.", Group: "Move", Hidden: true},
	}
}

// WithMotion adds bindings and the motion keys to those of a view, without the keys that it has itself.
func WithMotion(own []kit.Binding, more ...kit.Binding) []kit.Binding {
	for _, b := range append(more, MotionBindings()...) {
		b.Keys = slices.DeleteFunc(b.Keys, func(key string) bool { _, taken := kit.Find(own, key, false); return taken })
		if len(b.Keys) > 0 {
			own = append(own, b)
		}
	}
	return own
}

func (t *Table) clamp() {
	t.cursor = min(max(t.cursor, 0), max(t.n-1, 0))
	t.on = ""
	if k, ok := t.CursorKey(); ok {
		t.on = k
	}
	if t.cursor == 0 {
		t.newest, t.news = t.on, 0
	}
	if t.page > 0 {
		t.scroll(t.page)
	}
}

func (t *Table) scroll(rows int) {
	if !t.away {
		t.top = max(min(t.top, t.cursor), t.cursor-rows+1)
	}
	t.top = min(max(t.top, 0), max(t.n-rows, 0))
}

// Render draws the header (if a column has a title) and the visible rows as exactly h
// lines of w cells. It remembers how many rows fit, for the paging keys.
func (t *Table) Render(th *kit.Theme, focused bool, w, h int) string {
	if h <= 0 || w <= 0 {
		return ""
	}
	rows := h
	if t.headed() {
		rows--
	}
	t.page = max(rows, 1)
	t.scroll(t.page)
	shown := t.visible(rows)
	widths := t.widths(w - 1)
	t.drawn = widths
	var b strings.Builder
	b.Grow(w * h * 2)
	if rows < h {
		b.WriteString(th.Muted.Render(text.Fit(" "+t.line(widths, nil, false), w)))
	}
	if rows == 0 {
		return b.String()
	}
	if t.n == 0 {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(Block(strings.Join(Indent(Wrapped(th.Muted, t.Empty, w-1)), "\n"), w, rows))
		return b.String()
	}
	for y := range rows {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		i := t.top + y
		if i >= t.n {
			b.WriteString(text.Spaces(w))
			continue
		}
		t.drawRow(&b, th, i, shown[y], widths, w, focused)
	}
	return b.String()
}

// visible are the rows on screen, cleaned. It notes how wide their cells are.
func (t *Table) visible(rows int) [][]Cell {
	out := make([][]Cell, 0, max(rows, 0))
	if len(t.needs) != len(t.Columns) {
		t.needs = make([]int, len(t.Columns))
	}
	for i := t.top; i < min(t.top+rows, t.n); i++ {
		cells := t.row(i)
		clean := make([]Cell, len(cells))
		for c, cell := range cells {
			clean[c] = cell
			clean[c].Text, clean[c].Short = text.Clean(cell.Text), text.Clean(cell.Short)
			if c < len(t.needs) && cell.Span == 0 {
				t.needs[c] = max(t.needs[c], text.Width(cmp.Or(clean[c].Short, clean[c].Text)))
			}
		}
		out = append(out, clean)
	}
	return out
}

// headed reports whether the table has a header: a column with a title.
func (t *Table) headed() bool {
	for _, c := range t.Columns {
		if c.Title != "" {
			return true
		}
	}
	return false
}

func (t *Table) drawRow(b *strings.Builder, th *kit.Theme, i int, cells []Cell, widths []int, w int, focused bool) {
	if i != t.cursor {
		b.WriteString(" " + t.line(widths, cells, true) + text.Spaces(w-1-cellsOf(widths)))
		return
	}
	ink := th.SelectedBlur
	if focused {
		ink = th.Selected
	}
	b.WriteString(ink.Render(text.Fit("›"+t.line(widths, cells, false), w)))
}

// line is the text of a row, or of the header if cells is nil, in the cells' inks or
// without.
func (t *Table) line(widths []int, cells []Cell, inked bool) string {
	var b strings.Builder
	covered := 0 // columns that a cell before them covers
	for c, width := range widths {
		if covered > 0 {
			covered--
			continue
		}
		if width == 0 {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		if c < len(cells) && cells[c].Span > 0 {
			covered = min(cells[c].Span, len(widths)-c-1)
			width = cellsOf(widths[c : c+covered+1])
		}
		switch {
		case cells == nil:
			b.WriteString(t.cell(c, width, t.Columns[c].Title))
		case c >= len(cells):
			b.WriteString(text.Spaces(width))
		case inked:
			b.WriteString(cells[c].inked(t.cell(c, width, cells[c].fitting(width))))
		default:
			b.WriteString(t.cell(c, width, cells[c].fitting(width)))
		}
	}
	return b.String()
}

func (t *Table) cell(c, width int, words string) string {
	if t.Columns[c].Right {
		return text.FitRight(words, width)
	}
	return text.Fit(words, width)
}

// cellsOf is the width of a row with columns of these widths, and a blank between two.
func cellsOf(widths []int) int {
	sum := 0
	for _, n := range widths {
		if n > 0 {
			sum += n + 1
		}
	}
	return max(sum-1, 0)
}

// missing is how many cells more the Flex columns need than they have.
func (t *Table) missing(widths []int) int {
	n := 0
	for i, c := range t.Columns {
		if c.Flex && widths[i] > 0 {
			n += t.lacks(widths, i)
		}
	}
	return n
}

// lacks is how many cells more a column needs than it has.
func (t *Table) lacks(widths []int, i int) int { return max(t.needs[i]-widths[i], 0) }

// widths decides how wide the columns are; 0 drops one.
func (t *Table) widths(w int) []int {
	out := make([]int, len(t.Columns))
	for i, c := range t.Columns {
		out[i] = max(c.Width, 1)
	}
	for cellsOf(out) > w {
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
	var flex []int
	for i, c := range t.Columns {
		if c.Flex && out[i] > 0 {
			flex = append(flex, i)
		}
	}
	left := w - cellsOf(out)
	for i, c := range t.Columns { // what is cut comes first: half of the room, where a Flex column has a use for the rest
		if out[i] == 0 || c.Flex {
			continue
		}
		room := left
		if len(flex) > 0 {
			room = max(left/2, left-t.missing(out))
		}
		more := min(t.lacks(out, i), max(room, 0))
		out[i] += more
		left -= more
	}
	slices.SortStableFunc(flex, func(a, b int) int { return t.lacks(out, a) - t.lacks(out, b) })
	for n, i := range flex { // each takes what it lacks, as far as that is fair
		share := min(t.lacks(out, i), left/(len(flex)-n))
		out[i] += share
		left -= share
	}
	for n, i := range flex {
		share := left / (len(flex) - n)
		out[i] += share
		left -= share
	}
	return out
}
