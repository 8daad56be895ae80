package share

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"zonedeck/internal/noerr"
	"zonedeck/service/database/postgrestest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t testing.TB) *Shares {
	t.Helper()
	s, err := Open(t.Context(), postgrestest.Server(t, filepath.Join(t.TempDir(), "shares")))
	noerr.Must(t, err)
	return s
}

// renew renews a lease of a limit of 8, for fetches of a minute, by a worker that holds nothing but what is in flight.
func (s *Shares) renew(t *testing.T, worker string, flying int, wants bool) Lease {
	t.Helper()
	return s.claim(t, Claim{Zone: "z", Worker: worker, Limit: 8, Usable: 8, Flying: flying, Holds: flying, Wants: wants, Timeout: time.Minute})
}

func (s *Shares) claim(t *testing.T, c Claim) Lease {
	t.Helper()
	return noerr.Try(s.Renew(t.Context(), c)).Must(t)[0]
}

func TestALimitIsSharedAndNeverPassed(t *testing.T) {
	s := open(t)
	for i, step := range []struct {
		worker string
		flying int
		wants  bool
		want   int
	}{
		{"a", 0, true, 8},
		{"b", 0, true, 0}, // a has all
		{"a", 8, true, 4}, // and takes no more until it is below its part
		{"b", 0, true, 0}, // 8 are still in flight
		{"a", 5, true, 4},
		{"b", 0, true, 3},
		{"a", 4, true, 4},
		{"b", 3, true, 4},
		{"c", 0, true, 0},
		{"a", 3, true, 3},
		{"c", 0, true, 1},
		{"b", 1, false, 2}, // it is nearly done: one in reserve
		{"b", 0, false, 0}, // it has nothing to do
		{"a", 3, true, 4},
		{"c", 1, true, 4},
	} {
		if got := s.renew(t, step.worker, step.flying, step.wants).Slots; got != step.want {
			t.Fatalf("step %d: %s gets %d, want %d", i+1, step.worker, got, step.want)
		}
	}
	if held := noerr.Try(s.Held(t.Context(), "z")).Must(t); !maps.Equal(held, map[string]int{"a": 4, "b": 0, "c": 4}) {
		t.Error(held)
	}
	noerr.Must(t, s.Return(t.Context(), "c"))
	if got := s.renew(t, "a", 4, true).Slots; got != 8 {
		t.Errorf("after c has gone a gets %d", got)
	}
}

// A worker whose part shrinks may take what it has until it learns of that: what it does not use goes to others with its
// next renewal.
func TestASurplusGoesToOthersOnceItsWorkerKnows(t *testing.T) {
	s := open(t)
	c := Claim{Zone: "z", Worker: "a", Limit: 8, Usable: 8, Flying: 5, Wants: true, Timeout: time.Minute}
	s.claim(t, c)
	s.renew(t, "b", 0, true)
	c.Holds = 8
	if got := s.claim(t, c).Slots; got != 4 {
		t.Errorf("a gets %d", got)
	}
	if got := s.renew(t, "b", 0, true).Slots; got != 0 {
		t.Errorf("b gets %d while a may still take 8", got)
	}
	c.Holds = 5 // of which one is over
	s.claim(t, c)
	if got := s.renew(t, "b", 0, true).Slots; got != 3 {
		t.Errorf("b gets %d beside 5", got)
	}
}

func TestAWorkerTakesNoMoreThanItCanUseAndTheHighestLimitHolds(t *testing.T) {
	s := open(t)
	a := Claim{Zone: "z", Worker: "a", Limit: 32, Usable: 16, Wants: true, Timeout: time.Minute}
	b := Claim{Zone: "z", Worker: "b", Limit: 16, Usable: 16, Wants: true, Timeout: time.Minute} // of another batch
	if got := s.claim(t, a).Slots; got != 16 {
		t.Errorf("a gets %d", got)
	}
	if got := s.claim(t, b).Slots; got != 16 {
		t.Errorf("b gets %d", got)
	}
}

func TestThePartOfADeadWorkerIsBackWhenItsLeaseEnds(t *testing.T) {
	s := open(t)
	s.renew(t, "a", 0, true)
	s.renew(t, "a", 5, false)
	s.renew(t, "dead", 0, true)
	age := func(column string, by time.Duration) {
		noerr.Must(t, noerr.From(s.db.Pool.Exec(t.Context(), "UPDATE zone_slots SET "+column+" = "+column+" - $1 WHERE worker = 'dead'", by.Microseconds())))
	}
	age("renewed", 10*time.Second)
	s.claim(t, Claim{Zone: "z", Worker: "idle", Limit: 8, Usable: 8, Timeout: time.Hour}) // dead, too, and holds no slot
	noerr.Must(t, noerr.From(s.db.Pool.Exec(t.Context(), "UPDATE zone_slots SET renewed = renewed - 10000000 WHERE worker = 'idle'")))
	lease := s.renew(t, "a", 5, true)
	if lease.Slots != 6 || lease.Waiting != 2 || lease.Back <= 0 || lease.Back > time.Minute+margin {
		t.Errorf("beside a dead worker: %+v", lease)
	}
	age("until", 64*time.Second)
	if lease := s.renew(t, "a", 5, true); lease.Slots != 8 || lease.Waiting != 0 {
		t.Errorf("after its lease: %+v", lease)
	}
}

func TestALeaseCoversFetchesThatEndWithinIt(t *testing.T) {
	now := time.Now()
	lease := Lease{until: At(now.Add(time.Minute)), timeout: 50 * time.Second}
	if !lease.Covers(now) || !lease.Covers(now.Add(9*time.Second)) || lease.Covers(now.Add(10*time.Second)) || (Lease{}).Covers(now) {
		t.Error("a lease covers other fetches than those that end within it")
	}
}

// TestALeaseEndsWhileTheMachineSleeps has one of the clocks stand still meanwhile, and then the other one be set back.
func TestALeaseEndsWhileTheMachineSleeps(t *testing.T) {
	now := time.Now()
	for name, until := range map[string]Deadline{
		"the machine slept":           {now.Add(time.Minute), now.Round(0)},
		"the wall clock was set back": {now, now.Round(0).Add(time.Minute)},
	} {
		if lease := (Lease{until: until}); lease.Covers(now) || !lease.Over(now) {
			t.Errorf("%s, and the lease is not over", name)
		}
	}
}

func TestMomentsOfARateAreTakenOnce(t *testing.T) {
	s := open(t)
	a, b := s.Rate("key"), s.Rate("key")
	for _, r := range []*Rate{a, b} {
		r.Set(0.01) // one in 100 seconds
	}
	noerr.Must(t, a.Wait(t.Context()))
	noerr.Must(t, b.take(t.Context()))
	noerr.Must(t, a.take(t.Context()))
	if at := time.Until(b.moments[0]); at < 90*time.Second || at > 101*time.Second {
		t.Errorf("the second moment is in %s", at)
	}
	if at := time.Until(a.moments[0]); at < 190*time.Second || at > 201*time.Second {
		t.Errorf("the third moment is in %s", at)
	}
	ending, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Wait(ending); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting: %v", err)
	}
	b.Set(0)
	noerr.Must(t, b.Wait(t.Context()))
}

func TestMomentsThatAreOverAreNotMadeUpFor(t *testing.T) {
	r := &Rate{every: 10 * time.Millisecond, turn: make(chan struct{}, 1)}
	next := time.Now().Add(time.Hour)
	for i := range 5 { // as after the process was stopped
		r.moments = append(r.moments, time.Now().Add(-time.Duration(5-i)*time.Second))
	}
	r.moments = append(r.moments, next)
	if at, _ := r.next(); !at.Equal(next) {
		t.Errorf("the next moment is %s", at)
	}
}

// BenchmarkRate reports the most that two workers began in any second, of a rate of 40 and of 200.
func BenchmarkRate(b *testing.B) {
	for _, perSecond := range []float64{40, 200} {
		s := open(b)
		var begun []time.Time
		moments := make(chan time.Time)
		ctx, cancel := context.WithTimeout(b.Context(), 3*time.Second)
		for range 2 {
			r := s.Rate("key")
			r.Set(perSecond)
			go func() {
				for r.Wait(ctx) == nil {
					moments <- time.Now()
				}
				moments <- time.Time{}
			}()
		}
		for ended := 0; ended < 2; {
			if at := <-moments; at.IsZero() {
				ended++
			} else {
				begun = append(begun, at)
			}
		}
		cancel()
		most := 0
		for i := range begun {
			n := 0
			for n = i; n < len(begun) && begun[n].Sub(begun[i]) < time.Second; n++ {
			}
			most = max(most, n-i)
		}
		b.ReportMetric(float64(most)/perSecond, "of-rate-most")
		b.ReportMetric(float64(len(begun))/3/perSecond, "of-rate")
		b.Logf("rate %v: %d in three seconds, at most %d in one", perSecond, len(begun), most)
	}
	for b.Loop() {
	}
}
