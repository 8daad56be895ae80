package document

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	day  = 24 * time.Hour
	week = 7 * day
)

// durationParts are a sign, weeks, days, and what time.ParseDuration reads.
var durationParts = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(-?)(?:([0-9.]+)w)?(?:([0-9.]+)d)?(.*)$`)
})

// ParseDuration reads what time.ParseDuration does, with days and weeks: "7d",
// "1.5w", "1d12h", "-3d".
func ParseDuration(s string) (time.Duration, error) {
	m := durationParts().FindStringSubmatch(s)
	if m == nil || m[0] == m[1] || strings.HasPrefix(m[4], "-") || strings.HasPrefix(m[4], "+") {
		return 0, fmt.Errorf("%s is not a duration", Quote(s))
	}
	weeks, errW := strconv.ParseFloat(cmp.Or(m[2], "0"), 64)
	days, errD := strconv.ParseFloat(cmp.Or(m[3], "0"), 64)
	rest, errR := time.ParseDuration(cmp.Or(m[4], "0"))
	if errW != nil || errD != nil || errR != nil {
		return 0, fmt.Errorf("%s is not a duration", Quote(s))
	}
	long := weeks*float64(week) + days*float64(day)
	if long > 0 && long+float64(rest) >= math.MaxInt64 {
		return 0, fmt.Errorf("%s is too long", Quote(s))
	}
	d := time.Duration(long) + rest
	if m[1] != "" {
		d = -d
	}
	return d, nil
}
