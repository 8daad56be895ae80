package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// RotationDays is the recommended rotation of a key (service.md 5.4, 8), unless the operator
// has set another interval for its level.
const RotationDays = 90

// SoonDays is how many days before a clock runs out the console calls it soon,
// unless the operator says otherwise.
const SoonDays = 14

const day = 24 * time.Hour

// ExpiryKind tells the three things that can be known about a key's expiry.
type ExpiryKind int

// The zero value is unknown: a key without a recorded expiry is never shown as
// fresh.
const (
	ExpiryUnknown ExpiryKind = iota
	ExpiryDate
	ExpiryUnlimited
)

// Expiry is the "date, or Unlimited" of service.md 2.1, or unknown.
type Expiry struct {
	Kind ExpiryKind
	// At is the moment (UTC) from which requests are rejected; set for ExpiryDate.
	At time.Time
}

// Unlimited is the expiry of a key that never expires.
func Unlimited() Expiry { return Expiry{Kind: ExpiryUnlimited} }

// ExpiresAt is the expiry at a moment.
func ExpiresAt(t time.Time) Expiry { return Expiry{Kind: ExpiryDate, At: t.UTC()} }

// ParseExpiry reads "Unlimited", a date (2027-01-31, the start of that day in
// UTC), an RFC 3339 moment, or the empty string for unknown.
func ParseExpiry(s string) (Expiry, error) {
	switch s {
	case "", "unknown":
		return Expiry{}, nil
	case "Unlimited", "unlimited":
		return Unlimited(), nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, s); err == nil {
			return ExpiresAt(t), nil
		}
	}
	return Expiry{}, fmt.Errorf("expiry %q: write a date like 2027-01-31, or Unlimited", s)
}

// String is the form that ParseExpiry reads; unknown is "unknown".
func (e Expiry) String() string {
	switch e.Kind {
	case ExpiryUnlimited:
		return "Unlimited"
	case ExpiryDate:
		if e.At.Equal(e.At.Truncate(day)) {
			return e.At.Format(time.DateOnly)
		}
		return e.At.Format(time.RFC3339)
	default:
		return "unknown"
	}
}

// ExpiryState is the state of the expiry clock.
type ExpiryState int

// The states of the expiry clock, from the best to the worst that asks for work.
const (
	ExpiryStateValid ExpiryState = iota
	ExpiryStateUnlimited
	ExpiryStateUnknown
	ExpiryStateSoon
	ExpiryStateExpired
)

// String is the state's word.
func (s ExpiryState) String() string {
	return [...]string{"valid", "unlimited", "unknown", "expires", "expired"}[s]
}

// State tells where the expiry clock stands at now; within is how long before
// the end it counts as soon.
func (e Expiry) State(now time.Time, within time.Duration) ExpiryState {
	switch e.Kind {
	case ExpiryUnlimited:
		return ExpiryStateUnlimited
	case ExpiryDate:
		switch left := e.At.Sub(now); {
		case left <= 0:
			return ExpiryStateExpired
		case left <= within:
			return ExpiryStateSoon
		default:
			return ExpiryStateValid
		}
	default:
		return ExpiryStateUnknown
	}
}

// DaysLeft is the number of days until the expiry, by the rule of Rotation.DaysLeft. ok is false when
// there is no date.
func (e Expiry) DaysLeft(now time.Time) (days int, ok bool) {
	if e.Kind != ExpiryDate {
		return 0, false
	}
	return daysUntil(e.At.Sub(now)), true
}

// daysUntil counts a day that has begun: of a moment ahead there is at least one left, 0 is up to a day
// past it, and what is further past is negative. Both clocks of a key count by it.
func daysUntil(d time.Duration) int { return -floorDays(-d) }

// RotationState is the state of the rotation clock.
type RotationState int

// The states of the rotation clock. Due is the last day itself, the 90th; overdue is past it.
const (
	RotationFresh RotationState = iota
	RotationUnknown
	RotationSoon
	RotationDue
	RotationOverdue
)

// String is the state's word.
func (s RotationState) String() string {
	return [...]string{"fresh", "unknown", "due soon", "due", "overdue"}[s]
}

// Rotation is the 90-day clock of a key (service.md 5.4). A zero Last is "age
// unknown", which is never fresh.
type Rotation struct {
	// Last is when the key's value was made: its creation or its last refresh (UTC).
	Last time.Time
	// Interval is how many days a value is used; 0 means RotationDays. It comes from the
	// configuration and is not part of a key's record.
	Interval int
}

// Every is the interval in days.
func (r Rotation) Every() int { return cmp.Or(r.Interval, RotationDays) }

// Due is the moment from which the value is older than the interval; ok is false when its age
// is not known.
func (r Rotation) Due() (at time.Time, ok bool) {
	return r.Last.Add(time.Duration(r.Every()) * day), !r.Last.IsZero()
}

// AgeDays is the age of the key's value in whole days; ok is false when unknown.
// A date further ahead than today is east of UTC is a mistake, and says nothing.
func (r Rotation) AgeDays(now time.Time) (days int, ok bool) {
	age := now.Sub(r.Last)
	if r.Last.IsZero() || age < -day {
		return 0, false
	}
	return max(floorDays(age), 0), true
}

// DaysLeft is the number of days until the rotation is due, a day that has begun among them; 0 on the
// day when it is due, negative once past that.
func (r Rotation) DaysLeft(now time.Time) (days int, ok bool) {
	age, ok := r.AgeDays(now)
	return r.Every() - age, ok
}

// State tells where the rotation clock stands; within is how long before the
// last day it counts as soon.
func (r Rotation) State(now time.Time, within time.Duration) RotationState {
	left, ok := r.DaysLeft(now)
	switch {
	case !ok:
		return RotationUnknown
	case left < 0:
		return RotationOverdue
	case left == 0:
		return RotationDue
	case time.Duration(left)*day <= within:
		return RotationSoon
	default:
		return RotationFresh
	}
}

func floorDays(d time.Duration) int {
	n := int(d / day)
	if d < 0 && d%day != 0 {
		n--
	}
	return n
}

// Duty is what a key is used for; an automated duty must not use ADMIN
// (service.md 5.4).
type Duty string

// The duties the inventory knows. Other text is kept and treated as a human duty.
const (
	DutyUnknown Duty = ""
	DutyHuman   Duty = "human"
	DutyBatch   Duty = "batch job"
	DutyCI      Duty = "CI"
	DutyService Duty = "service"
)

// Automated reports whether the duty runs without a person.
func (d Duty) Automated() bool { return d == DutyBatch || d == DutyCI || d == DutyService }

// Key is one API key of the inventory. It never holds the key's value.
type Key struct {
	Name  string
	Level Level
	Duty  Duty
	// Fingerprint is the first 16 hex digits of the SHA-256 of the value; Last4 its
	// last four characters. Both are empty until the value was seen once.
	Fingerprint string
	Last4       string
	Expires     Expiry
	Rotation    Rotation
	// Created is when the key was made (UTC), however often its value was made anew since;
	// zero where that is not known.
	Created time.Time
	// Secret is a reference to the value ("env:NAME", "keyring:…", "cmd:…",
	// "file:…", "demo:…"), or empty when the console only tracks the key.
	Secret string
	// UsedBy names what uses the key, as far as the console was told or has seen.
	UsedBy []string
	Note   string
}

// What ends the name of a key in a call that a rotation makes with the value that ends, or with the one
// that it has not seen to work.
const (
	oldValue = " (old value)"
	newValue = " (new value)"
)

// OldValueOf is what a key is called in a call that a rotation makes to see its old value refused.
func OldValueOf(key string) string { return key + oldValue }

// isOldValue reports whether a call's key is an OldValueOf one: that it is refused is no fault.
func isOldValue(key string) bool { return strings.HasSuffix(key, oldValue) }

// NewValueOf is what a key is called in the call that a rotation makes to see a new value work.
func NewValueOf(key string) string { return key + newValue }

// IsNewValue reports whether a call's key is a NewValueOf one: that it is refused says nothing of the key.
func IsNewValue(key string) bool { return strings.HasSuffix(key, newValue) }

// PlainName is a key's name without what OldValueOf or NewValueOf adds.
func PlainName(key string) string {
	return strings.TrimSuffix(strings.TrimSuffix(key, oldValue), newValue)
}

// KeyState is the state of a key's row: the worse of the two clocks.
type KeyState int

// The states of a key from the best to the worst.
const (
	KeyOK KeyState = iota
	KeyUnlimited
	KeyUnknown
	KeySoon
	KeyDue
	KeyOverdue
	KeyExpired
)

// String is the state's word in the table.
func (s KeyState) String() string {
	return [...]string{"ok", "unlimited", "unknown", "soon", "due", "overdue", "expired"}[s]
}

// Usable reports whether requests with the key are accepted as far as the
// clocks tell (service.md 3): only a passed expiry makes a key unusable.
func (s KeyState) Usable() bool { return s != KeyExpired }

// State is the worse of the key's two clocks at now.
func (k Key) State(now time.Time, within time.Duration) KeyState {
	return max(expiryKeyState(k.Expires.State(now, within)), rotationKeyState(k.Rotation.State(now, within)))
}

// StateWord is the state's word for a table: where the state is soon, it says which
// of the two clocks runs out first.
func (k Key) StateWord(now time.Time, within time.Duration) string {
	s := k.State(now, within)
	if s != KeySoon {
		return s.String()
	}
	left, dated := k.Expires.DaysLeft(now)
	rotate, aged := k.Rotation.DaysLeft(now)
	if dated && k.Expires.State(now, within) == ExpiryStateSoon && (!aged || left <= rotate) {
		return ExpiryStateSoon.String()
	}
	return "rotate soon"
}

// SortKeys sorts keys by their state, the worst first, each at its own time; keys of one state
// stay in their order.
func SortKeys(keys []Key, now func(Key) time.Time, within time.Duration) {
	type at struct {
		key   Key
		state KeyState
	}
	list := make([]at, len(keys))
	for i, k := range keys {
		list[i] = at{k, k.State(now(k), within)}
	}
	slices.SortStableFunc(list, func(a, b at) int { return cmp.Compare(b.state, a.state) })
	for i := range list {
		keys[i] = list[i].key
	}
}

func expiryKeyState(s ExpiryState) KeyState {
	switch s {
	case ExpiryStateValid:
		return KeyOK
	case ExpiryStateUnlimited:
		return KeyUnlimited
	case ExpiryStateSoon:
		return KeySoon
	case ExpiryStateExpired:
		return KeyExpired
	default:
		return KeyUnknown
	}
}

func rotationKeyState(s RotationState) KeyState {
	switch s {
	case RotationFresh:
		return KeyOK
	case RotationSoon:
		return KeySoon
	case RotationDue:
		return KeyDue
	case RotationOverdue:
		return KeyOverdue
	default:
		return KeyUnknown
	}
}

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
