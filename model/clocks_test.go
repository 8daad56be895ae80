package model

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// anyKey draws a key whose clocks lie within a year of now.
func anyKey(t *rapid.T, now time.Time) Key {
	moment := func(name string) time.Time {
		return now.Add(time.Duration(rapid.Int64Range(-int64(365*day), int64(365*day)).Draw(t, name)))
	}
	k := Key{Name: "k"}
	switch rapid.IntRange(0, 2).Draw(t, "expiry") {
	case 1:
		k.Expires = Unlimited()
	case 2:
		k.Expires = ExpiresAt(moment("expires"))
	}
	if rapid.Bool().Draw(t, "aged") {
		k.Rotation.Last = moment("rotated")
	}
	k.Rotation.Interval = rapid.IntRange(0, 400).Draw(t, "interval")
	return k
}

var epoch = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestAKeyOnlyGetsMoreUrgentAsTimePasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := anyKey(t, epoch)
		if k.Rotation.Last.After(epoch) {
			k.Rotation.Last = epoch // a date that is yet to come says nothing until then
		}
		later := epoch.Add(time.Duration(rapid.Int64Range(0, int64(500*day)).Draw(t, "later")))
		if before, after := k.State(epoch, SoonDays*day), k.State(later, SoonDays*day); after < before {
			t.Fatalf("%v at first, %v after %v", before, after, later.Sub(epoch))
		}
		before, reached := k.Threshold(epoch)
		after, still := k.Threshold(later)
		if reached && (!still || after > before) {
			t.Fatalf("threshold %d at first, %d, %v after %v", before, after, still, later.Sub(epoch))
		}
	})
}

func TestEveryCountOfDueKeysIsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := make([]Key, rapid.IntRange(0, 5).Draw(t, "keys"))
		due := 0
		for i := range keys {
			if keys[i] = anyKey(t, epoch); keys[i].Due(epoch) {
				due++
			}
		}
		within := Within(keys, func(Key) time.Time { return epoch })
		if at := slices.Index(Thresholds(), SoonDays); within[at] != due {
			t.Fatalf("%d are due, and %d within %d days", due, within[at], SoonDays)
		}
		if !slices.IsSortedFunc(within, func(a, b int) int { return b - a }) {
			t.Fatalf("a key that passed a threshold is not counted at an earlier one: %v", within)
		}
	})
}

func TestTheNextClockIsTheOneThatRunsOutFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := anyKey(t, epoch)
		r, ok := k.Next(epoch)
		rotation, aged := k.Rotation.DaysLeft(epoch)
		expiry, dated := k.Expires.DaysLeft(epoch)
		switch {
		case ok != (aged || dated):
			t.Fatalf("known %v", ok)
		case !ok:
		case aged && r.Days > rotation, dated && r.Days > expiry:
			t.Fatalf("%d days, rotation %d, expiry %d", r.Days, rotation, expiry)
		case r.Expiry && !r.At.Equal(k.Expires.At), !r.Expiry && !r.At.Equal(k.Rotation.Last.Add(time.Duration(k.Rotation.Every())*day)):
			t.Fatalf("%+v of %+v", r, k)
		}
	})
}

// TestBothClocksCountTheSameDays has a key whose value expires in the moment in which its rotation is due.
func TestBothClocksCountTheSameDays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		every := rapid.IntRange(1, 400).Draw(t, "interval")
		last := epoch.Add(-time.Duration(rapid.Int64Range(0, int64(800*day)).Draw(t, "age")))
		k := Key{Rotation: Rotation{Last: last, Interval: every}, Expires: ExpiresAt(last.Add(time.Duration(every) * day))}
		expiry, _ := k.Expires.DaysLeft(epoch)
		rotation, _ := k.Rotation.DaysLeft(epoch)
		if expiry != rotation {
			t.Fatalf("%d days until the expiry, %d until the rotation, at %s", expiry, rotation, k.Expires.At.Sub(epoch))
		}
		if ahead := k.Expires.At.After(epoch); ahead != (expiry > 0) {
			t.Fatalf("%d days, ahead %v", expiry, ahead)
		}
		within := time.Duration(rapid.IntRange(0, 40).Draw(t, "within")) * day
		soonExpires := k.Expires.State(epoch, within) == ExpiryStateSoon
		if soonDue := k.Rotation.State(epoch, within) == RotationSoon; soonExpires != soonDue {
			t.Fatalf("expires soon %v, due soon %v", soonExpires, soonDue)
		}
	})
}

func TestTheStateDoesNotDependOnTheZoneOfTheClock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := anyKey(t, epoch)
		there := epoch.In(time.FixedZone("there", rapid.IntRange(-12*3600, 14*3600).Draw(t, "offset")))
		here, _ := k.Next(epoch)
		if other, _ := k.Next(there); k.State(epoch, SoonDays*day) != k.State(there, SoonDays*day) || here != other {
			t.Fatalf("%+v in UTC, %+v there", here, other)
		}
	})
}

func TestAnIntervalMovesTheRotationAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := anyKey(t, epoch)
		k.Rotation.Interval = 0
		plain, ok := k.Rotation.DaysLeft(epoch)
		k.Rotation.Interval = rapid.IntRange(1, 400).Draw(t, "days")
		if left, same := k.Rotation.DaysLeft(epoch); same != ok || ok && left-plain != k.Rotation.Interval-RotationDays {
			t.Fatalf("%d by 90 days, %d by %d", plain, left, k.Rotation.Interval)
		}
	})
}

func TestThresholds(t *testing.T) {
	in := func(d time.Duration) Key {
		return Key{Expires: ExpiresAt(epoch.Add(d)), Rotation: Rotation{Last: epoch}}
	}
	for _, c := range []struct {
		key  Key
		days int
		ok   bool
	}{
		{in(31 * day), 0, false},
		{in(30 * day), 30, true},
		{in(14*day + time.Second), 30, true},
		{in(14 * day), 14, true},
		{in(7 * day), 7, true},
		{in(25 * time.Hour), 7, true},
		{in(day), 1, true},
		{in(0), 0, true},
		{Key{Rotation: Rotation{Last: epoch.Add(-90 * day)}}, 1, true},
		{Key{Rotation: Rotation{Last: epoch.Add(-91 * day)}}, 0, true},
		{Key{Rotation: Rotation{Last: epoch.Add(-29 * day), Interval: 30}}, 1, true},
		{Key{}, 0, false},
		{Key{Expires: Unlimited()}, 0, false},
	} {
		if days, ok := c.key.Threshold(epoch); days != c.days || ok != c.ok {
			t.Errorf("%+v: %d, %v; want %d, %v", c.key, days, ok, c.days, c.ok)
		}
	}
}
