package model

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// errSpan says how a span is written.
var errSpan = errors.New("write a time like 36h, 7d, 2w or 1d12h")

// ParseSince reads the time that "since" means in a filter: a span before now ("90m", "2h",
// "3d", "1w") or a date ("2026-11-20", in now's location).
func ParseSince(s string, now time.Time) (time.Time, error) {
	if t, err := time.ParseInLocation(time.DateOnly, s, now.Location()); err == nil {
		return t, nil
	}
	d, err := ParseSpan(s)
	if err != nil {
		d, err = time.ParseDuration(s)
	}
	if err != nil || d <= 0 {
		return time.Time{}, fmt.Errorf("since %q: write 2h, 3d, 1w or a date like 2026-11-20", s)
	}
	return now.Add(-d), nil
}

// ParseSpan reads a span of time with the units w, d, h, m and s, such as "7d" or
// "1d12h". It is more than nothing.
func ParseSpan(s string) (time.Duration, error) {
	total := time.Duration(0)
	for rest := s; rest != ""; {
		i := 0
		for i < len(rest) && rest[i] >= '0' && rest[i] <= '9' {
			i++
		}
		if i == 0 || i == len(rest) {
			return 0, errSpan
		}
		n, err := strconv.ParseInt(rest[:i], 10, 64)
		unit := unitOf(rest[i])
		if err != nil || unit == 0 || n > int64(math.MaxInt64-total)/int64(unit) {
			return 0, errSpan
		}
		total += time.Duration(n) * unit
		rest = rest[i+1:]
	}
	if total <= 0 {
		return 0, errSpan
	}
	return total, nil
}

func unitOf(letter byte) time.Duration {
	switch letter {
	case 'w':
		return 7 * 24 * time.Hour
	case 'd':
		return 24 * time.Hour
	case 'h':
		return time.Hour
	case 'm':
		return time.Minute
	case 's':
		return time.Second
	default:
		return 0
	}
}

// Ahead is how far a clock is ahead in its two largest units: "+7d", "+1d 12h",
// "+90s". Zero is the empty string.
func Ahead(d time.Duration) string {
	if d == 0 {
		return ""
	}
	sign := "+"
	if d < 0 {
		sign, d = "-", -d
	}
	units := []struct {
		unit time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}}
	for i, u := range units {
		if d < u.unit {
			continue
		}
		out := sign + strconv.FormatInt(int64(d/u.unit), 10) + u.name
		if i+1 < len(units) {
			if rest := d % u.unit / units[i+1].unit; rest > 0 {
				out += " " + strconv.FormatInt(int64(rest), 10) + units[i+1].name
			}
		}
		return out
	}
	return sign + d.String()
}

// Counted is "1 row", "2 rows", "2 fetches".
func Counted[N int | int64](n N, what string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(what, "ch"):
		what += "es"
	default:
		what += "s"
	}
	return strconv.FormatInt(int64(n), 10) + " " + what
}
