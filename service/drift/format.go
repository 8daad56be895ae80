package drift

import (
	"fmt"
	"strings"

	"zonedeck/model"
)

// Percent formats a share, 0 to 1: "-" if negative, which is unknown. Only exact shares are 0 % or 100 %.
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
	var b strings.Builder
	for _, x := range history[max(0, len(history)-w):] {
		if x < 0 {
			b.WriteRune('·')
			continue
		}
		b.WriteRune(model.Bar(x))
	}
	return b.String()
}
