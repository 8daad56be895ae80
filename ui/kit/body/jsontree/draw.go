package jsontree

import (
	"fmt"
	"strconv"
	"strings"

	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
)

// Render draws exactly h lines of w cells: the rows, and below them the path of the
// cursor's value. It remembers its size for the paging keys.
func (v *View) Render(focused bool, w, h int) string {
	if w <= 0 || h <= 0 {
		return ""
	}
	v.pos.w = w
	foot := v.feet(h)
	h -= len(foot)
	v.pos.h = max(h, 1)
	if len(v.rows) > 0 {
		v.follow()
	}
	var out strings.Builder
	out.Grow(w * h * 2)
	lines := v.visible(focused, h)
	for y := range h {
		if y < len(lines) {
			out.WriteString(lines[y])
		} else {
			out.WriteString(text.Spaces(w))
		}
		out.WriteByte('\n')
	}
	out.WriteString(strings.Join(foot, "\n"))
	return out.String()
}

// Hidden are the rows that were not drawn last.
func (v *View) Hidden() (above, below int) { return v.pos.top, len(v.rows) - v.pos.top - v.pos.h }

func (v *View) visible(focused bool, h int) []string {
	t, w := v.theme, v.pos.w
	switch {
	case v.err != nil:
		return []string{t.Bad.Render(text.Fit(" ✗ the body cannot be read: "+text.Clean(v.err.Error()), w))}
	case !v.Opened():
		return []string{t.Muted.Render(text.Fit(" no body", w))}
	case !v.x.done:
		return []string{t.Muted.Render(text.Fit(fmt.Sprintf(" reading … %d %%", v.reading*100/max(v.src.Size, 1)), w))}
	}
	var out []string
	for i := v.pos.top; i < len(v.rows) && len(out) < h; i++ {
		out = append(out, v.line(i, focused))
	}
	return out
}

// line draws one row.
func (v *View) line(row int, focused bool) string {
	t, i := v.theme, v.rows[row]
	n := v.x.nodes[i]
	mark := "  "
	if n.open() && n.count > 0 {
		mark = "▾ "
		if v.folded[i] {
			mark = "▸ "
		}
	}
	indent := min(2*int(n.depth), v.pos.w/2)
	head := " " + text.Spaces(indent) + mark
	l, read := v.labels[i]
	key, ink := "", t.Syntax.Key
	switch {
	case n.keyed && read:
		key = text.Clean(unquoted(l.key)) + ": "
	case n.parent >= 0 && !n.keyed, v.x.tops > 1 && n.parent < 0:
		key, ink = strconv.Itoa(int(n.ord))+": ", t.Muted
	}
	value, valueInk := v.value(i, l, read)
	if row == v.pos.at {
		cursor := t.SelectedBlur
		if focused {
			cursor = t.Selected
		}
		return cursor.Render(text.Fit(head+key+value, v.pos.w))
	}
	room := max(v.pos.w-text.Width(head), 0)
	key = text.Cut(key, room)
	room -= text.Width(key)
	value = text.Cut(value, room)
	return t.Muted.Render(head) + ink.Render(key) + valueInk.Render(value) + text.Spaces(room-text.Width(value))
}

// unquoted is a key without its quotes, which one that shows nothing keeps; escapes stay as the body has them.
func unquoted(key string) string {
	inside := strings.TrimSuffix(strings.TrimPrefix(key, `"`), `"`)
	if strings.TrimSpace(inside) == "" {
		return key
	}
	return inside
}

func (v *View) value(i int32, l label, read bool) (string, kit.Ink) {
	s, n := v.theme.Syntax, v.x.nodes[i]
	switch n.kind {
	case '{':
		return "{} " + counted(n.count, v.x.cut(i), "key", "keys"), v.theme.Muted
	case '[':
		return "[] " + counted(n.count, v.x.cut(i), "value", "values"), v.theme.Muted
	}
	if !read {
		return "…", v.theme.Muted
	}
	value := text.Clean(l.value)
	switch n.kind {
	case '"':
		return value, s.String
	case '0':
		return value, s.Number
	default:
		return value, s.Word
	}
}

func counted(n int32, cut bool, one, many string) string {
	switch {
	case cut && n == 0:
		return "cut"
	case cut:
		return "at least " + counted(n, false, one, many)
	case n == 0:
		return "empty"
	case n == 1:
		return "1 " + one
	default:
		return text.Count(int(n)) + " " + many
	}
}

// feet are the lines below the rows: why the tree ends before the body, if it does, and
// where the cursor is. With a height of h that leaves no row for both, it is the first.
func (v *View) feet(h int) []string {
	t, w := v.theme, v.pos.w
	if !v.x.done || len(v.rows) == 0 {
		return []string{text.Spaces(w)}
	}
	if v.x.fault == nil {
		return []string{v.foot()}
	}
	why := t.Warn.Render(text.Fit(" ! "+text.Clean(v.x.fault.String()), w))
	if h < 3 {
		return []string{why}
	}
	return []string{why, v.foot()}
}

// foot is the path of the cursor's value on the left, and the position on the right.
func (v *View) foot() string {
	t, w := v.theme, v.pos.w
	right := fmt.Sprintf("row %s of %s ", text.Count(v.pos.at+1), text.Count(len(v.rows)))
	n := v.x.nodes[v.rows[v.pos.at]]
	path := text.Clean(v.path.text)
	if v.x.tops > 1 {
		top := n
		for top.parent >= 0 {
			top = v.x.nodes[top.parent]
		}
		path = "value " + strconv.Itoa(int(top.ord)) + "  " + path
	}
	room := w - text.Width(right) - 2
	if wide := text.Width(path); wide > room { // the end of a path says more than its beginning
		path = "…" + cutLeft(path, room-1)
	}
	return text.Edge(" "+t.Accent.Render(path), t.Muted.Render(right), w)
}

// cutLeft is the end of a text, at most w cells.
func cutLeft(s string, w int) string {
	for i := range s {
		if text.Width(s[i:]) <= w {
			return s[i:]
		}
	}
	return ""
}

// String says what ended the tree, and where.
func (f *Fault) String() string {
	if f.Partial {
		return fmt.Sprintf("%s, at byte %s", f.Text, text.Count(int(f.Off)))
	}
	return fmt.Sprintf("not JSON at line %s, column %s: %s", text.Count(f.Line), text.Count(f.Column), f.Text)
}
