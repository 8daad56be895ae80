package clock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"zonedeck/internal/noerr"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func frozen(t *testing.T, base time.Time, start time.Time) *Clock {
	t.Helper()
	c, err := New(func() time.Time { return base }, start)
	noerr.Must(t, err)
	return c
}

func TestTheClockGoesForwardOnly(t *testing.T) {
	base := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	c := frozen(t, base, time.Time{})
	for _, step := range []struct {
		name string
		move func() (time.Time, error)
		want time.Time
		err  error
	}{
		{"by 36 hours", func() (time.Time, error) { return c.Advance(36 * time.Hour) }, base.Add(36 * time.Hour), nil},
		{"by nothing", func() (time.Time, error) { return c.Advance(0) }, base.Add(36 * time.Hour), nil},
		{"back", func() (time.Time, error) { return c.Advance(-time.Nanosecond) }, base.Add(36 * time.Hour), ErrBackwards},
		{"to a later moment", func() (time.Time, error) { return c.Set(base.Add(40 * time.Hour)) }, base.Add(40 * time.Hour), nil},
		{"to an earlier moment", func() (time.Time, error) { return c.Set(base) }, base.Add(40 * time.Hour), ErrBackwards},
		{"too far", func() (time.Time, error) { return c.Advance(MaxOffset) }, base.Add(40 * time.Hour), ErrTooFar},
		{"to a moment too far", func() (time.Time, error) { return c.Set(base.Add(MaxOffset + 1)) }, base.Add(40 * time.Hour), ErrTooFar},
	} {
		got, err := step.move()
		if !errors.Is(err, step.err) {
			t.Errorf("%s: error %v, want %v", step.name, err, step.err)
		}
		if err == nil && !got.Equal(step.want) {
			t.Errorf("%s: it says %v, want %v", step.name, got, step.want)
		}
		if !c.Now().Equal(step.want) {
			t.Errorf("%s: now %v, want %v", step.name, c.Now(), step.want)
		}
	}
}

func TestAClockCanBeginAtAnotherMoment(t *testing.T) {
	base := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	start := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	c := frozen(t, base, start)
	if !c.Now().Equal(start) {
		t.Errorf("it begins at %v", c.Now())
	}
	if _, err := New(func() time.Time { return base }, base.AddDate(200, 0, 0)); !errors.Is(err, ErrTooFar) {
		t.Errorf("a start in 200 years: %v", err)
	}
}

func TestTheOffsetIsKept(t *testing.T) {
	base := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	c := frozen(t, base, time.Time{})
	noerr.Must(t, noerr.From(c.Advance(36*time.Hour+time.Minute)))
	again := frozen(t, base, time.Time{})
	if err := again.Restore(c.Offset()); err != nil || !again.Now().Equal(c.Now()) {
		t.Errorf("it came back as %v, %v", again.Now(), err)
	}
	for _, bad := range []time.Duration{MaxOffset + 1, -MaxOffset - 1} {
		if err := again.Restore(bad); !errors.Is(err, ErrTooFar) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if !again.Now().Equal(c.Now()) {
		t.Error("an offset out of reach moved the clock")
	}
}

func TestWhoWaitsForAMomentIsWokenByTimeOrByAMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := New(time.Now, time.Time{})
		noerr.Must(t, err)
		begun := time.Now()
		if err := c.Wait(t.Context(), c.Now().Add(time.Minute)); err != nil || time.Since(begun) != time.Minute {
			t.Errorf("time passed: %v after %s", err, time.Since(begun))
		}
		woken := make(chan error, 1)
		until := c.Now().Add(24 * time.Hour)
		go func() { woken <- c.Wait(t.Context(), until) }()
		synctest.Wait()
		begun = time.Now()
		_, _ = c.Advance(23 * time.Hour)
		synctest.Wait()
		select {
		case <-woken:
			t.Fatal("woken an hour early")
		default:
		}
		_, _ = c.Advance(time.Hour)
		if err := <-woken; err != nil || time.Since(begun) != 0 {
			t.Errorf("time was moved: %v after %s", err, time.Since(begun))
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("the server ends")
		cancel(why)
		if err := c.Wait(ctx, c.Now().Add(time.Hour)); !errors.Is(err, why) {
			t.Errorf("the wait ended with %v", err)
		}
	})
}

func TestAPauseEndsWithItsTimeOrItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		if err := errors.Join(Pause(t.Context(), time.Minute), Pause(t.Context(), 0)); err != nil || time.Since(begun) != time.Minute {
			t.Errorf("%v after %s", err, time.Since(begun))
		}
		why := errors.New("the server ends")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, why)
		defer cancel()
		begun = time.Now()
		for _, d := range []time.Duration{time.Minute, 0} {
			if err := Pause(ctx, d); !errors.Is(err, why) || time.Since(begun) != time.Second {
				t.Errorf("%s: %v after %s", d, err, time.Since(begun))
			}
		}
	})
}
