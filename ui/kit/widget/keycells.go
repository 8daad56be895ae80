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

// RotationTitle heads a column of RotationCell: the interval, where all keys have the same.
func RotationTitle(keys []model.Key) string {
	days := model.RotationDays
	for i, k := range keys {
		if i == 0 {
			days = k.Rotation.Every()
		}
		if k.Rotation.Every() != days {
			return "ROTATION"
		}
	}
	return fmt.Sprintf("%d-DAY", days)
}

// RotationCell is a key's rotation clock (service.md 5.4: 90 days, or what the configuration says).
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

// Moment is a moment in UTC, which is what a service means, and as the clock here shows it where
// that is another time.
func Moment(t, now time.Time) string {
	const form = "2006-01-02 15:04"
	utc, here := t.UTC(), t.In(now.Location())
	said := utc.Format(form) + " UTC"
	switch _, offset := here.Zone(); {
	case offset == 0:
		return said
	case here.Day() == utc.Day():
		return said + " (" + here.Format("15:04 MST") + " here)"
	default:
		return said + " (" + here.Format(form+" MST") + " here)"
	}
}
