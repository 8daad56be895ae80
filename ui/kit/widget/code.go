package widget

import (
	"strings"

	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
)

// Code is the text of a program in lines of at most w cells. A longer line goes on in the
// next one, which is marked; comments are muted.
func Code(t *kit.Theme, code string, w int) []string {
	var out []string
	for line := range strings.SplitSeq(strings.TrimSuffix(text.CleanLines(code), "\n"), "\n") {
		ink := t.Text
		if begin := strings.TrimLeft(line, " "); strings.HasPrefix(begin, "#") || strings.HasPrefix(begin, "//") {
			ink = t.Muted
		}
		line = strings.ReplaceAll(line, "\t", "    ")
		mark := ""
		for _, part := range text.Wrap(line, max(w-3, 8)) {
			out = append(out, t.Muted.Render(mark)+ink.Render(part))
			mark = "↪ "
		}
	}
	return out
}
