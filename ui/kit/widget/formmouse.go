package widget

import (
	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit/text"
)

// drawnForm is where the parts of a form are in the frame drawn last.
type drawnForm struct {
	w       int
	fieldOf []int // for each line of the form, the index of its field
	top, h  int   // the lines that are on the screen
}

// line is the field of line y on the screen, and which line of that field it is.
func (d drawnForm) line(y int) (field, line int, ok bool) {
	if y < 0 || y >= d.h || d.top+y >= len(d.fieldOf) {
		return 0, 0, false
	}
	at := d.top + y
	field = d.fieldOf[at]
	for at > 0 && d.fieldOf[at-1] == field {
		at, line = at-1, line+1
	}
	return field, line, true
}

// Click is a press of the mouse at column x of line y of the form as it was drawn. It moves
// the focus to the field there; typed text is kept. On an option of a choice it chooses that,
// a toggle it turns, a list it opens, in an open one it picks the line, and a text it edits.
func (f *Form) Click(x, y int) (cmd tea.Cmd, changed bool) {
	i, line, ok := f.drawn.line(y)
	if !ok {
		return nil, false
	}
	return f.press(i, line, x-f.labels(f.drawn.w)-3, f.valueWidth(f.drawn.w))
}

// press is a press of the mouse at column x of a field's value, which is width cells wide.
func (f *Form) press(i, line, x, width int) (cmd tea.Cmd, changed bool) {
	fd := f.fields[i]
	if fd.Kind == FieldNote {
		return nil, false
	}
	if i != f.at {
		f.stop()
		f.at, f.arrived = i, true
	}
	if fd.Kind == FieldText || fd.Kind == FieldArea {
		cmd = f.edit()
	}
	before := fd.value()
	switch {
	case x < 0:
	case fd.Kind == FieldChoice && line == 0:
		if o, ok := fd.optionAt(x, width); ok && o.Disabled == "" {
			fd.Value, fd.err = o.Value, ""
		}
	case fd.Kind == FieldToggle && line == 0:
		fd.cycle(1)
	case fd.Kind == FieldPick && !f.editing:
		cmd = f.edit()
	case fd.Kind == FieldPick && line > 0 && fd.list.table.Click(line-1):
		cmd = f.takePick(fd)
	}
	if changed = fd.value() != before; changed {
		fd.touch(before)
	}
	return cmd, changed
}

// optionAt is the option of a choice that is drawn at column x.
func (fd *field) optionAt(x, width int) (Option, bool) {
	from, head := fd.firstOption(width)
	at := text.Width(head)
	for _, o := range fd.Options[from:] {
		w := text.Width(optionText(o, false))
		if x >= at && x < at+w && x < width {
			return o, true
		}
		at += w + 1
	}
	return Option{}, false
}
