package text

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"zonedeck/model"
)

// Bytes is a size for a screen: "812 B", "18.2 KB", "1.4 MB" (powers of 1000).
func Bytes(n int64) string {
	switch {
	case n < 0:
		return "-"
	case n < 1000:
		return strconv.FormatInt(n, 10) + " B"
	}
	v, units := float64(n), []string{"KB", "MB", "GB", "TB", "PB", "EB"}
	for _, u := range units {
		v /= 1000
		if v < 999.95 {
			return fmt.Sprintf("%.1f %s", v, u)
		}
	}
	return fmt.Sprintf("%.1f EB", v)
}

// Count groups digits: 12 345.
func Count(n int) string {
	s := strconv.Itoa(n)
	neg := ""
	if n < 0 {
		neg, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + " " + s[i:]
	}
	return neg + s
}

// Duration is a duration for a screen: "412 ms", "1.4 s", "2 min 5 s". A negative one
// means that it did not happen and is "-".
func Duration(d time.Duration) string {
	switch {
	case d < 0:
		return "-"
	case d < time.Millisecond:
		return strconv.FormatInt(d.Microseconds(), 10) + " µs"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return units(int(d.Seconds()), "min", "s")
	default:
		return units(int(d.Minutes()), "h", "min")
	}
}

// units is n of a unit of which 60 are one of a larger: "2 min 5 s", or "2 min".
func units(n int, larger, unit string) string {
	if n%60 == 0 {
		return fmt.Sprintf("%d %s", n/60, larger)
	}
	return fmt.Sprintf("%d %s %d %s", n/60, larger, n%60, unit)
}

// Ago is the time from t to now in its largest unit: "now", "12s", "4m", "3h", "9d",
// or "4m ahead" for what was written by a clock that was ahead: the emulator's can be moved and reset. A zero t is "-".
func Ago(t, now time.Time) string {
	if t.IsZero() {
		return "-"
	}
	if now.Sub(t) <= -time.Second {
		return span(t.Sub(now)) + " ahead"
	}
	return span(now.Sub(t))
}

func span(d time.Duration) string {
	switch {
	case d < time.Second:
		return "now"
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + "s"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + "m"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d.Hours())) + "h"
	default:
		return strconv.Itoa(int(d.Hours()/24)) + "d"
	}
}

// Clock is the time of day if t is today, and otherwise the date and time, in now's
// location.
func Clock(t, now time.Time) string {
	if t.IsZero() {
		return "-"
	}
	t = t.In(now.Location())
	if y, m, d := now.Date(); t.Year() == y && t.Month() == m && t.Day() == d {
		return t.Format("15:04:05")
	}
	return t.Format("2006-01-02 15:04")
}

// ShortClock is the time of day if t is today, and otherwise the date, in now's location; where t lies ahead, the Ago.
func ShortClock(t, now time.Time) string {
	t = t.In(now.Location())
	switch {
	case t.Sub(now) > time.Minute:
		return Ago(t, now)
	case t.Format(time.DateOnly) == now.Format(time.DateOnly):
		return t.Format(time.TimeOnly)
	default:
		return t.Format(time.DateOnly)
	}
}

// ClockAndAge is the absolute and the relative time together: "12:04:31 (4m)".
func ClockAndAge(t, now time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return Clock(t, now) + " (" + Ago(t, now) + ")"
}

// HeaderLines are the lines of a header, "name: value", sorted by name. They are as
// remote as the header: Clean them before they are drawn.
func HeaderLines(header map[string][]string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, value := range header[name] {
			out = append(out, name+": "+value)
		}
	}
	return out
}

// FewRecords says that a ready job gave fewer records than it has inputs, "" if it did not.
func FewRecords(j model.Job) string {
	if j.State != model.JobReady || j.Records < 0 || j.Records >= j.Inputs {
		return ""
	}
	few := Counted(j.Records, "record") + " from " + Counted(j.Inputs, "input")
	switch {
	case j.Records == 0:
		return few + ": it has ended without a result"
	case j.Inputs > 1:
		few += ": some inputs returned none"
	}
	return few
}

// Counted is "1 row", "2 rows", "2 fetches".
func Counted(n int, what string) string { return model.Counted(n, what) }
