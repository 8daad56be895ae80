package document

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

const (
	day  = 24 * time.Hour
	week = 7 * day
)

// ParseDuration reads what time.ParseDuration does, with days and weeks: "7d",
// "1.5w", "1d12h", "-3d".
func ParseDuration(s string) (time.Duration, error) {
	bad := fmt.Errorf("%s is not a duration", Quote(s))
	rest, negative := strings.CutPrefix(s, "-")
	if rest == "" {
		return 0, bad
	}
	total := 0.0 // nanoseconds
	for _, unit := range [...]struct {
		letter string
		length time.Duration
	}{{"w", week}, {"d", day}} {
		head, tail, found := strings.Cut(rest, unit.letter)
		if !found {
			continue
		}
		if strings.Trim(head, "0123456789.") != "" {
			return 0, bad
		}
		n, err := strconv.ParseFloat(head, 64)
		if err != nil {
			return 0, bad
		}
		total += n * float64(unit.length)
		rest = tail
	}
	small := time.Duration(0)
	if strings.HasPrefix(rest, "-") || strings.HasPrefix(rest, "+") {
		return 0, bad // a sign stands in front of everything
	}
	if rest != "" {
		var err error
		if small, err = time.ParseDuration(rest); err != nil {
			return 0, bad
		}
	}
	if total > 0 && total+float64(small) >= math.MaxInt64 {
		return 0, fmt.Errorf("%s is too long", Quote(s))
	}
	d := time.Duration(total) + small
	if negative {
		d = -d
	}
	return d, nil
}
