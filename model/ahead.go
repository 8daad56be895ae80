package model

import (
	"strconv"
	"time"
)

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
