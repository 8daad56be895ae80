package widget

import (
	"fmt"
	"time"

	"zonedeck/model"
	"zonedeck/ui/kit/text"
)

// ExpiryCell is a key's expiry clock in a table: the date and the days left.
func ExpiryCell(k model.Key, now time.Time) string {
	left, ok := k.Expires.DaysLeft(now)
	if !ok {
		return k.Expires.String()
	}
	date := k.Expires.At.Format(time.DateOnly)
	if k.Expires.At.After(now) {
		return fmt.Sprintf("%s %dd", date, left)
	}
	if passed := text.Ago(k.Expires.At, now); passed != "now" {
		return date + " " + passed + " ago"
	}
	return date + " now"
}

// RotatedCell is when a key's value was made, and its age.
func RotatedCell(k model.Key, now time.Time) string {
	age, ok := k.Rotation.AgeDays(now)
	if !ok {
		return "unknown"
	}
	return fmt.Sprintf("%s %dd", k.Rotation.Last.UTC().Format(time.DateOnly), age)
}

// RotationCell is a key's rotation clock (service.md 5.4: 90 days).
func RotationCell(k model.Key, now time.Time) string {
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
