package ui

import (
	"strconv"
	"time"

	"zonedeck/model"
)

// keyClock says in a few words how long a key is good for, by whichever of its two
// clocks runs out first.
func keyClock(k model.Key, state model.KeyState, now time.Time) string {
	left, ok := k.Rotation.DaysLeft(now)
	if e, dated := k.Expires.DaysLeft(now); dated && (!ok || e < left) {
		left, ok = e, true
	}
	switch {
	case state == model.KeyUnknown, !ok:
		return "age unknown"
	case state == model.KeyExpired:
		return "expired"
	case left < 0:
		return strconv.Itoa(-left) + " d over"
	case left == 0:
		return "due today"
	default:
		return strconv.Itoa(left) + " d left"
	}
}
