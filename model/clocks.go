package model

import (
	"slices"
	"time"
)

// BannerDays is how many days before a clock of the key in use runs out every tab says so.
const BannerDays = 7

// Thresholds are the days before a clock runs out at which a key's urgency changes, the
// earliest first.
func Thresholds() []int { return []int{30, SoonDays, BannerDays, 1} }

// Due reports whether the key asks for work: one of its clocks runs out within SoonDays, or has.
// It is the one meaning of "due" on screens, in counts and in exit codes.
func (k Key) Due(now time.Time) bool { return k.DueWithin(now, SoonDays*day) }

// DueWithin is Due with another time ahead.
func (k Key) DueWithin(now time.Time, within time.Duration) bool {
	return k.State(now, within) >= KeySoon
}

// Runs is the clock of a key that runs out first.
type Runs struct {
	Expiry bool      // the expiry; else the rotation
	At     time.Time // when (UTC)
	Days   int       // days until then, one that has begun among them; negative once past
}

// Next is the clock that runs out first; ok is false when neither is known.
func (k Key) Next(now time.Time) (r Runs, ok bool) {
	if left, aged := k.Rotation.DaysLeft(now); aged {
		at, _ := k.Rotation.Due()
		r, ok = Runs{At: at, Days: left}, true
	}
	if left, dated := k.Expires.DaysLeft(now); dated && (!ok || left < r.Days || left == r.Days && k.Expires.At.Before(r.At)) {
		r, ok = Runs{Expiry: true, At: k.Expires.At, Days: left}, true
	}
	return r, ok
}

// Threshold is the last of Thresholds that the key has reached, in days; 0 says that a clock has
// run out. ok is false when no threshold is reached, or no clock known.
func (k Key) Threshold(now time.Time) (days int, ok bool) {
	if s := k.State(now, 0); s == KeyExpired || s == KeyOverdue {
		return 0, true
	}
	for _, t := range slices.Backward(Thresholds()) {
		if k.DueWithin(now, time.Duration(t)*day) {
			return t, true
		}
	}
	return 0, false
}

// Within counts the keys by threshold: how many have reached each of Thresholds, in their order.
// A key counts at every threshold that it has passed.
func Within(keys []Key, now func(Key) time.Time) []int {
	counts := make([]int, len(Thresholds()))
	for _, k := range keys {
		reached, ok := k.Threshold(now(k))
		for i, t := range Thresholds() {
			if ok && reached <= t {
				counts[i]++
			}
		}
	}
	return counts
}
