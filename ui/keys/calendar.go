package keys

import (
	"fmt"
	"strings"
	"time"

	"zonedeck/model"
)

// stripDays is how far the calendar strip looks ahead: one rotation period.
const stripDays = model.RotationDays

// strip is the calendar of what comes due: one mark per day or per few days.
type strip struct {
	marks string
	axis  string
	// perCell is how many days one mark stands for.
	perCell int
	// next says which key's clock runs out first, and how; empty if none does.
	next string
}

// Marks of the strip.
const (
	markNone   = '·'
	markExpiry = 'E'
	markRotate = 'R'
)

// days are the clocks that run out on each day from today to stripDays later.
type days struct {
	counts [stripDays + 1]int
	kinds  [stripDays + 1]rune // of the last clock
	next   string              // see strip
}

// daysOf are those of the clocks of all keys; each key has a time by which they run.
func daysOf(keys []model.Key, clock func(model.Key) time.Time) (d days) {
	best := stripDays + 1
	put := func(days int, mark rune, what string) {
		if days < 0 || days > stripDays {
			return
		}
		d.counts[days]++
		d.kinds[days] = mark
		if days < best {
			best, d.next = days, fmt.Sprintf("%s in %d d", what, days)
			if days == 0 {
				d.next = what + " today"
			}
		}
	}
	for _, k := range keys {
		now := clock(k)
		if left, ok := k.Expires.DaysLeft(now); ok && k.Expires.At.After(now) {
			put(left, markExpiry, k.Name+" expires")
		}
		if left, ok := k.Rotation.DaysLeft(now); ok {
			put(left, markRotate, k.Name+" due for rotation")
		}
	}
	return d
}

// calendar shows the days from today in at most width cells. A cell with several clocks shows their
// number ("+" for ten or more).
func calendar(d days, today time.Time, width int) strip {
	per := 1
	for width > 0 && (stripDays+per)/per > width {
		per++
	}
	n := (stripDays + per) / per // day 0 to day 90
	counts := make([]int, n)
	kinds := make([]rune, n)
	for day, count := range d.counts {
		if count > 0 {
			counts[day/per] += count
			kinds[day/per] = d.kinds[day]
		}
	}
	return strip{marks: drawStrip(counts, kinds), axis: drawAxis(n, per, today), perCell: per, next: d.next}
}

func drawStrip(counts []int, kinds []rune) string {
	var b strings.Builder
	for i, c := range counts {
		switch {
		case c == 0:
			b.WriteRune(markNone)
		case c == 1:
			b.WriteRune(kinds[i])
		case c < 10:
			b.WriteByte(byte('0' + c))
		default:
			b.WriteByte('+')
		}
	}
	return b.String()
}

// drawAxis writes "21 Nov" under today and each month's name under its first day,
// where they fit.
func drawAxis(n, per int, now time.Time) string {
	axis := []rune(strings.Repeat(" ", n))
	free := 0
	label := func(cell int, text string) {
		if cell < free || cell+len(text) > n {
			return
		}
		copy(axis[cell:], []rune(text))
		free = cell + len(text) + 1
	}
	label(0, now.UTC().Format("2 Jan"))
	month := time.Date(now.UTC().Year(), now.UTC().Month(), 1, 0, 0, 0, 0, time.UTC)
	today := now.UTC().Truncate(24 * time.Hour)
	for range 4 {
		month = month.AddDate(0, 1, 0)
		label(int(month.Sub(today)/(24*time.Hour))/per, month.Format("Jan"))
	}
	return strings.TrimRight(string(axis), " ")
}
