package widget

import (
	"strings"

	"zonedeck/model"
	"zonedeck/ui/kit/text"
)

// areaLines draw an area: the editor while it is edited, else the lines that there is room for.
func (f *Form) areaLines(fd *field, on bool, head, indent string, width int) []string {
	if fd.area != nil {
		fd.area.SetWidth(width)
		fd.area.SetHeight(max(fd.Rows, 2))
	}
	shown := fd.displayed()
	var words []string
	above := 0 // lines that scrolled away
	switch {
	case on && f.editing && (shown != fd.value() || strings.ContainsFunc(shown, invisible)):
		words, above = f.masked(fd, shown, width)
	case on && f.editing:
		words = strings.Split(solidCursor(fd.area.View(), fd.area.Styles().Cursor.Color), "\n")
		above = fd.area.ScrollYOffset()
	case shown == "":
		return []string{head + f.theme.Placeholder.Render(text.Cut(fd.Placeholder, width))}
	default:
		rows, all := max(fd.Rows, 2), strings.Split(shown, "\n")
		if len(all) > rows {
			all = append(all[:rows-1:rows-1], "… "+text.Count(len(all)-rows+1)+" more lines")
		}
		for _, l := range all {
			words = append(words, text.Cut(text.Clean(l), width))
		}
	}
	out := make([]string, len(words))
	for i, l := range words {
		if i == 0 {
			out[i] = head + l
		} else {
			out[i] = indent + l
		}
	}
	if above > 0 && len(out) > 1 {
		out[1] = f.theme.Muted.Render(text.FitRight(hiddenSign("↑", above), len(indent))) + words[1]
	}
	return out
}

// invisible reports whether the editor would draw a rune in a way that is not seen.
func invisible(r rune) bool { return r != '\n' && r != '\t' && !model.Visible(r) }

// displayed is what is drawn of an area's value.
func (fd *field) displayed() string {
	if fd.Mask == nil {
		return fd.value()
	}
	return fd.Mask(fd.value())
}

// masked draws an area while it is edited and secrets stand in it, which the editor itself would
// show, or characters that it would not. Lines are cut, and follow the cursor.
func (f *Form) masked(fd *field, shown string, width int) (out []string, from int) {
	rows, lines := max(fd.Rows, 2), strings.Split(shown, "\n")
	at := min(fd.area.Line(), len(lines)-1)
	from = max(at-rows+1, 0)
	out = make([]string, rows)
	for i := range out {
		if from+i >= len(lines) {
			continue
		}
		line := []rune(lines[from+i])
		if from+i != at {
			out[i] = text.Cut(text.Clean(string(line)), width)
			continue
		}
		col := min(fd.area.Column(), len(line))
		cursor, behind := "█", ""
		if col < len(line) {
			cursor, behind = f.theme.Cursor.Render(text.Clean(string(line[col]))), string(line[col+1:])
		}
		before := line[max(col-width+1, 0):col]
		out[i] = text.Cut(text.Clean(string(before))+cursor+text.Clean(behind), width)
	}
	return out, from
}
