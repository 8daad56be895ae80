package kit

import (
	"strings"
)

// pickRows is the height of the list a pick opens under its field.
const pickRows = 8

// Render draws the form as exactly h lines of w cells, scrolled so that the
// field with the focus is in sight.
func (f *Form) Render(focused bool, w, h int) string {
	lines, from, to := f.lines(focused, w)
	if to > f.top+h {
		f.top = to - h
	}
	if from < f.top {
		f.top = from
	}
	f.top = max(min(f.top, len(lines)-h), 0)
	return Block(strings.Join(lines[f.top:min(f.top+h, len(lines))], "\n"), w, h)
}

// Height is how many lines the form needs at width w.
func (f *Form) Height(w int) int {
	lines, _, _ := f.lines(true, w)
	return len(lines)
}

func (f *Form) lines(focused bool, w int) (lines []string, from, to int) {
	labels := f.labels(w)
	for i, fd := range f.fields {
		if fd.Hidden {
			continue
		}
		on := focused && i == f.at
		if i == f.at {
			from = len(lines)
		}
		lines = append(lines, f.fieldLines(fd, on, labels, w)...)
		if i == f.at {
			to = len(lines)
		}
	}
	return lines, from, to
}

// labels is the width of the labels in a form of w cells.
func (f *Form) labels(w int) int {
	widest := 0
	for _, fd := range f.fields {
		if !fd.Hidden && fd.Kind != FieldNote {
			widest = max(widest, Width(fd.Label))
		}
	}
	return min(widest, max(w/3, 8))
}

func (f *Form) fieldLines(fd *field, on bool, labels, w int) []string {
	t := f.theme
	if fd.Kind == FieldNote {
		var out []string
		for _, l := range WrapText(CleanLines(fd.Value), w-1) {
			out = append(out, " "+t.Muted.Render(l))
		}
		return out
	}
	mark, ink := " ", t.Muted
	if on {
		mark, ink = t.BorderFocus.Render("›"), t.Strong
	}
	head := mark + ink.Render(Fit(Clean(fd.Label), labels)) + "  "
	indent := spaces(labels + 3)
	width := max(w-labels-4, 4)
	var out []string
	if fd.Kind == FieldArea {
		out = f.areaLines(fd, on, head, indent, width)
	} else {
		out = []string{head + f.valueText(fd, on, width)}
	}
	if on && f.editing && fd.Kind == FieldPick {
		rows := max(min(len(fd.shown), pickRows), 1)
		for l := range strings.SplitSeq(fd.list.Render(t, true, width, rows), "\n") {
			out = append(out, indent+l)
		}
	}
	if fd.err != "" {
		for _, l := range WrapText("✗ "+CleanLines(fd.err), width) {
			out = append(out, indent+t.Bad.Render(l))
		}
	} else if on && fd.Help != "" {
		for _, l := range WrapText(CleanLines(fd.Help), width) {
			out = append(out, indent+t.Muted.Render(l))
		}
	}
	return out
}

func (f *Form) areaLines(fd *field, on bool, head, indent string, width int) []string {
	fd.area.SetWidth(width)
	fd.area.SetHeight(max(fd.Rows, 2))
	var text []string
	if on && f.editing {
		text = strings.Split(fd.area.View(), "\n")
	} else {
		v := fd.area.Value()
		if v == "" {
			return []string{head + f.theme.Placeholder.Render(Cut(fd.Placeholder, width))}
		}
		rows, all := max(fd.Rows, 2), strings.Split(v, "\n")
		if len(all) > rows {
			all = append(all[:rows-1:rows-1], "… "+Count(len(all)-rows+1)+" more lines")
		}
		for _, l := range all {
			text = append(text, Cut(Clean(l), width))
		}
	}
	out := make([]string, len(text))
	for i, l := range text {
		if i == 0 {
			out[i] = head + l
		} else {
			out[i] = indent + l
		}
	}
	return out
}

func (f *Form) valueText(fd *field, on bool, width int) string {
	t := f.theme
	switch fd.Kind {
	case FieldText:
		if on && f.editing {
			fd.input.SetWidth(width - 1)
			return fd.input.View()
		}
		v := fd.input.Value()
		if v == "" {
			return t.Placeholder.Render(Cut(fd.Placeholder, width))
		}
		if fd.Secret {
			return strings.Repeat("•", min(len([]rune(v)), width))
		}
		return t.Text.Render(Cut(Clean(v), width))
	case FieldPick:
		if on && f.editing {
			fd.input.SetWidth(width - 1)
			return fd.input.View()
		}
		if fd.Value == "" {
			return t.Placeholder.Render(Cut(fd.Placeholder, width))
		}
		text := fd.Value
		for _, o := range fd.Options {
			if o.Value == fd.Value {
				text = Clean(o.label())
				if o.Note != "" {
					return Cut(t.Text.Render(text)+"  "+t.Muted.Render(Clean(o.Note)), width)
				}
			}
		}
		return t.Text.Render(Cut(Clean(text), width))
	case FieldToggle:
		if fd.Value == "true" {
			return t.Text.Render("[x] " + Clean(fd.Placeholder))
		}
		return t.Text.Render("[ ] " + Clean(fd.Placeholder))
	default:
		return f.choiceText(fd, width)
	}
}

// choiceText is the options in a row. Where they do not all fit, the first ones
// go, so that the one that is taken is seen.
func (f *Form) choiceText(fd *field, width int) string {
	parts := make([]string, 0, len(fd.Options))
	taken := 0
	for i, o := range fd.Options {
		if o.Value == fd.Value {
			taken = i
		}
		dot, ink := "( ) ", f.theme.Muted
		if o.Value == fd.Value {
			dot, ink = "(•) ", f.theme.Text
		}
		text := dot + Clean(o.label())
		if o.Disabled != "" {
			text = "(-) " + Clean(o.label())
		}
		parts = append(parts, ink.Render(text))
	}
	from, head := 0, ""
	for from < taken && Width(head+strings.Join(parts[from:taken+1], " ")) > width-2 {
		from, head = from+1, "… "
	}
	return Cut(head+strings.Join(parts[from:], " "), width)
}

func onlyShownLines(s string) string {
	lines := strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	for i, l := range lines {
		lines[i] = strings.Map(func(r rune) rune {
			if r == '\t' {
				return r // separates columns in what is pasted from a sheet
			}
			if !Shown(r) {
				return -1
			}
			return r
		}, strings.ToValidUTF8(l, ""))
	}
	return strings.Join(lines, "\n")
}
