package keys

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"zonedeck/model"
)

// soon is how long before a clock runs out its state turns to "soon".
const soon = model.SoonDays * 24 * time.Hour

// expiresCell is the expiry clock: the date and the days left.
func expiresCell(k model.Key, now time.Time) string {
	switch k.Expires.Kind {
	case model.ExpiryUnlimited:
		return "Unlimited !"
	case model.ExpiryDate:
		left, _ := k.Expires.DaysLeft(now)
		date := k.Expires.At.Format(time.DateOnly)
		if passed := now.Sub(k.Expires.At); passed >= 0 {
			return fmt.Sprintf("%s %dd ago", date, int(passed/(24*time.Hour)))
		}
		return fmt.Sprintf("%s %dd", date, left)
	default:
		return "unknown"
	}
}

// rotatedCell is when the key's value was made, and its age.
func rotatedCell(k model.Key, now time.Time) string {
	age, ok := k.Rotation.AgeDays(now)
	if !ok {
		return "unknown"
	}
	return fmt.Sprintf("%s %dd", k.Rotation.Last.UTC().Format(time.DateOnly), age)
}

// ninetyCell is the rotation clock (service.md 5.4: 90 days).
func ninetyCell(k model.Key, now time.Time) string {
	left, ok := k.Rotation.DaysLeft(now)
	switch {
	case !ok:
		return "unknown"
	case left < 0:
		return fmt.Sprintf("%d d over", -left)
	case left == 0:
		return "due today"
	default:
		return fmt.Sprintf("%d d left", left)
	}
}

func usedByCell(k model.Key) string {
	return cmp.Or(strings.Join(k.UsedBy, ", "), "-")
}

func dutyCell(d model.Duty) string {
	return string(cmp.Or(d, "unknown"))
}

// clocks describes each of the two clocks in one line.
func clocks(k model.Key, now time.Time) []string {
	expiry := map[model.ExpiryState]string{
		model.ExpiryStateValid:     "accepted until then",
		model.ExpiryStateUnlimited: "never expires; an explicit expiry is recommended (contract 2.1)",
		model.ExpiryStateUnknown:   "never recorded",
		model.ExpiryStateSoon:      "expires soon",
		model.ExpiryStateExpired:   "requests with it are rejected (contract 3)",
	}[k.Expires.State(now, soon)]
	rotation := map[model.RotationState]string{
		model.RotationFresh:   "fresh",
		model.RotationUnknown: "age unknown, so it may be overdue",
		model.RotationSoon:    "due soon",
		model.RotationDue:     "due today",
		model.RotationOverdue: "past the recommended 90 days (contract 5.4)",
	}[k.Rotation.State(now, soon)]
	age := rotatedCell(k, now) + " · " + ninetyCell(k, now)
	if k.Rotation.Last.IsZero() {
		age = "unknown"
	}
	return []string{
		"Expiry    " + expiresCell(k, now) + " · " + expiry,
		"Rotation  " + age + " · " + rotation,
	}
}
