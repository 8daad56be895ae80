package widget

import (
	"slices"
	"strings"
	"unicode/utf8"

	"charm.land/bubbles/v2/textinput"

	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
)

// Render draws the form as exactly h lines of w cells, scrolled so that the field with
// the focus is visible.
func (f *Form) Render(focused bool, w, h int) string {
	lines, of, from, to := f.lines(focused, w)
	if f.brief = len(lines) > h && f.Height(w, false) <= h; f.brief { // hints only where there is room
		lines, of, from, to = f.lines(focused, w)
	}
	f.brief = false
	if from == 0 || of[from-1] == 0 { // the first field, with the intro of a dialog
		f.top = 0
	}
	if to > f.top+h {
		f.top = to - h
	}
	if from < f.top {
		f.top = from
	}
	f.top = max(min(f.top, len(lines)-h), 0)
	f.drawn = drawnForm{w: w, fieldOf: of, top: f.top, h: min(h, len(lines)-f.top)}
	return Block(strings.Join(lines[f.top:min(f.top+h, len(lines))], "\n"), w, h)
}

// Hidden are the lines of the form that were not drawn last.
func (f *Form) Hidden() (above, below int) {
	return f.drawn.top, len(f.drawn.fieldOf) - f.drawn.top - f.drawn.h
}

// Height is how many lines the form needs at width w, with the hint of the field that has the focus, or without.
func (f *Form) Height(w int, hint bool) int {
	f.brief = !hint
	lines, _, _, _ := f.lines(true, w)
	f.brief = false
	return len(lines)
}

// lines returns the lines of the form, the field of each line, and the range of the
// current field.
func (f *Form) lines(focused bool, w int) (lines []string, of []int, from, to int) {
	labels := f.labels(w)
	for i, fd := range f.fields {
		if fd.Hidden || f.barred(fd) {
			continue
		}
		on := focused && i == f.at
		if i == f.at {
			from = len(lines)
		}
		lines = append(lines, f.fieldLines(fd, on, labels, w)...)
		for len(of) < len(lines) {
			of = append(of, i)
		}
		if i == f.at {
			to = len(lines)
		}
	}
	return lines, of, from, to
}

// outside names the fields with a verdict that scrolled out of what was drawn last.
func (f *Form) outside(w int) string {
	out, side, named := "", "", map[int]bool{}
	for at, i := range f.drawn.fieldOf {
		fd, mark := f.fields[i], "↓ "
		glyph, ink := fd.Note.look(f.theme)
		if fd.err != "" {
			glyph, ink = "✗", f.theme.Bad
		}
		if at >= f.drawn.top && at < f.drawn.top+f.drawn.h || named[i] || fd.err == "" && fd.Note.Text == "" {
			continue
		}
		if at < f.drawn.top {
			mark = "↑ "
		}
		if named[i] = true; mark != side {
			out, side = out+f.theme.Muted.Render(mark), mark
		}
		out += ink.Render(glyph+" "+text.Clean(fd.Label)) + "  "
	}
	return text.Cut(out, w)
}

// wrong says what is wrong with a field, and which key mends it.
func (f *Form) wrong(fd *field) string {
	return fd.err + kit.Reason(f.editing && fd.correction() != "", " "+f.theme.Key("form.accept")+" takes it")
}

// correction is what enter puts in place of a wrong text.
func (fd *field) correction() string {
	if fd.Correction == nil || fd.err == "" {
		return ""
	}
	return fd.Correction(fd.trimmed())
}

// labels is the width of the labels in a form of w cells: a third or, for a toggle, all but what its help needs.
func (f *Form) labels(w int) int {
	widest, most := 0, max(w/3, 8)
	for _, fd := range f.fields {
		if !fd.Hidden && fd.Kind != FieldNote && !f.barred(fd) {
			widest = max(widest, text.Width(fd.Label))
		}
		if fd.Kind == FieldToggle {
			most = max(most, min(w-24, text.Width(fd.Label)))
		}
	}
	return min(widest, most)
}

func (f *Form) fieldLines(fd *field, on bool, labels, w int) []string {
	t := f.theme
	if fd.Kind == FieldNote {
		return Indent(Wrapped(t.Muted, fd.Value, w-1))
	}
	mark, ink := " ", t.Muted
	if on {
		mark, ink = t.BorderFocus.Render("›"), t.Strong
	}
	head := mark + ink.Render(text.Fit(text.Clean(fd.Label), labels)) + "  "
	indent := text.Spaces(labels + 3)
	width := f.valueWidth(w)
	var out []string
	if fd.Kind == FieldArea {
		out = f.areaLines(fd, on, head, indent, width)
	} else {
		out = []string{head + f.valueText(fd, on, width)}
	}
	if on && f.editing && fd.Kind == FieldPick {
		out = append(out, fd.list.lines(len(indent), width)...)
	}
	if fd.Note.Text != "" {
		glyph, ink := fd.Note.look(t)
		for _, l := range Wrapped(ink, glyph+" "+fd.Note.Text, width) {
			out = append(out, indent+l)
		}
	}
	if fd.err != "" {
		for _, l := range Wrapped(t.Bad, "✗ "+f.wrong(fd), width) {
			out = append(out, indent+l)
		}
	} else if on && fd.Help != "" && (!f.brief || fd.warns) {
		for _, l := range Wrapped(t.Muted, fd.Help, width) {
			out = append(out, indent+l)
		}
	}
	return out
}

// look is the glyph of a note and its colour.
func (n Note) look(t *kit.Theme) (glyph string, ink kit.Ink) {
	switch n.Mark {
	case NoteGood:
		return "✓", t.Good
	case NoteWarn:
		return "!", t.Warn
	case NoteBad:
		return "✗", t.Bad
	default:
		return "?", t.Muted
	}
}

func (f *Form) typedText(fd *field, on bool, width int) string {
	t := f.theme
	v := fd.input.Value()
	hidden := fd.Secret || fd.Mask != nil && fd.Mask(v) != v
	fd.input.EchoMode = textinput.EchoNormal
	if hidden {
		fd.input.EchoMode = textinput.EchoPassword
	}
	if on && f.editing {
		if width-1 != fd.input.Width() {
			fd.input.SetWidth(width - 1)
			fd.input.SetCursor(fd.input.Position()) // shows what fits now
		}
		return ViewInput(*fd.input)
	}
	switch {
	case v == "" && fd.held:
		return t.Text.Render(text.Cut(fd.Placeholder, width))
	case v == "":
		return t.Placeholder.Render(text.Cut(fd.Placeholder, width))
	case hidden:
		return strings.Repeat("•", min(len([]rune(v)), width))
	}
	return t.Text.Render(text.Cut(text.Clean(v), width))
}

func (f *Form) valueText(fd *field, on bool, width int) string {
	t := f.theme
	switch fd.Kind {
	case FieldText:
		return f.typedText(fd, on, width)
	case FieldPick:
		if on && f.editing {
			fd.list.input.SetWidth(width - 1)
			return ViewInput(fd.list.input)
		}
		if fd.Value == "" {
			return t.Placeholder.Render(text.Cut(fd.Placeholder, width))
		}
		o := Option{Value: fd.Value}
		if i := slices.IndexFunc(fd.Options, fd.chosen); i >= 0 {
			o = fd.Options[i]
		}
		words := t.Text.Render(text.Clean(o.label()))
		if o.Note != "" {
			words += "  " + t.Muted.Render(text.Clean(o.Note))
		}
		return text.Cut(words, width)
	case FieldToggle:
		if fd.Value == "true" {
			return t.Text.Render("[x] " + text.Clean(fd.Placeholder))
		}
		return t.Text.Render("[ ] " + text.Clean(fd.Placeholder))
	default:
		return f.choiceText(fd, width)
	}
}

// choiceText shows the options in a row. If they do not all fit, the first ones are
// dropped, so that the chosen one is visible.
func (f *Form) choiceText(fd *field, width int) string {
	from, line := fd.firstOption(width)
	for i, o := range fd.Options[from:] {
		ink := f.theme.Muted
		if o.Value == fd.Value && o.Disabled == "" {
			ink = f.theme.Text
		}
		if i > 0 {
			line += " "
		}
		line += ink.Render(optionText(o, o.Value == fd.Value))
	}
	return text.Cut(line, width)
}

func optionText(o Option, taken bool) string {
	dot := "( ) "
	switch {
	case o.Disabled != "":
		dot = "(-) "
	case taken:
		dot = "(•) "
	}
	return dot + text.Clean(o.label())
}

// firstOption is the first option that is drawn, and what stands before it.
func (fd *field) firstOption(width int) (from int, head string) {
	taken, used := max(slices.IndexFunc(fd.Options, fd.chosen), 0), 0
	for i := taken; i >= 0; i-- { // back from the chosen one, as far as there is room
		w := text.Width(optionText(fd.Options[i], false)) + 1
		rest := 0
		if i > 0 {
			rest = text.Width("… ")
		}
		if i < taken && used+w-1+rest > width-2 {
			return i + 1, "… "
		}
		used += w
	}
	return 0, ""
}

// valueWidth is the room for a value in a form of w cells.
func (f *Form) valueWidth(w int) int { return max(w-f.labels(w)-4, 4) }

// MaskIf is a Field.Mask of what check refuses, which may be a secret.
func MaskIf(check func(value string) error) func(value string) string {
	return func(value string) string {
		if check(value) == nil {
			return value
		}
		return strings.Repeat("•", utf8.RuneCountInString(value))
	}
}
