package drift

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// Percent is a share as it is shown: "-" if it is not known, and never 0 or 100 for what is only close.
func Percent(share float64) string {
	switch p := share * 100; {
	case p < 0:
		return "-"
	case p > 0 && p < 1:
		return "<1 %"
	case p > 99 && p < 100:
		return ">99 %"
	default:
		return fmt.Sprintf("%.0f %%", p)
	}
}

// Sparkline draws the last shares of a field in at most w cells, with a dot for unknown ones.
func Sparkline(history []float64, w int) string {
	const levels = "▁▂▃▄▅▆▇█"
	bars := []rune(levels)
	var b strings.Builder
	for _, x := range history[max(0, len(history)-w):] {
		if x < 0 {
			b.WriteRune('·')
			continue
		}
		b.WriteRune(bars[min(int(x*float64(len(bars))), len(bars)-1)])
	}
	return b.String()
}

// Difference draws a sample before and after as lines that begin with a blank, "-" or "+"; JSON is laid
// out first, without the commas at the ends of lines: one that a later value needs is no difference of the line. Of one that
// is missing nothing is drawn.
func Difference(before, after string) string {
	before, after = laidOut(before), laidOut(after)
	if before == "" || after == "" || before == after {
		one := strings.TrimSuffix(cmp.Or(after, before), "\n")
		if one == "" {
			return ""
		}
		return "  " + strings.ReplaceAll(one, "\n", "\n  ") + "\n"
	}
	diff, err := udiff.ToUnified("", "", before, udiff.Lines(before, after), 3)
	if err != nil {
		return "- " + before + "+ " + after
	}
	var out strings.Builder
	for line := range strings.Lines(diff) {
		if !strings.HasPrefix(line, "---") && !strings.HasPrefix(line, "+++") && !strings.HasPrefix(line, "@@") {
			out.WriteString(line[:1] + " " + line[1:])
		}
	}
	return out.String()
}

// laidOut is a sample with a line break at its end, JSON with a line for each value.
func laidOut(s string) string {
	if s == "" {
		return ""
	}
	var b bytes.Buffer
	if json.Indent(&b, []byte(s), "", "  ") == nil {
		s = strings.ReplaceAll(b.String(), ",\n", "\n") // a text has no line break
	}
	return s + "\n"
}
