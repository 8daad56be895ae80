package batch

import (
	"path/filepath"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/batch/store"
	"zonedeck/service/database/postgrestest"
	"zonedeck/service/share"
)

// TestWhatAWorkerMayStillTakeIsNotAnothers has a worker whose part shrinks while it may begin more than it has in flight.
func TestWhatAWorkerMayStillTakeIsNotAnothers(t *testing.T) {
	shares := noerr.Try(share.Open(t.Context(), postgrestest.Server(t, filepath.Join(t.TempDir(), "shares")))).Must(t)
	worker := func(name string) (*slots, func() int) {
		s := &slots{limit: 8, wish: make(chan struct{}, 1), shared: &share.Claim{Zone: "z", Worker: name, Usable: 8}}
		return s, func() int {
			s.lend(noerr.Try(shares.Renew(t.Context(), s.claim(time.Minute))).Must(t)[0])
			return s.atOnce()
		}
	}
	a, renewA := worker("a")
	b, renewB := worker("b")
	for _, s := range []*slots{a, b} {
		for range 8 {
			go func() { _ = s.take(t.Context()) }()
		}
		for waits := 0; waits < 8; <-time.After(time.Millisecond) {
			s.mu.Lock()
			waits = len(s.waiting)
			s.mu.Unlock()
		}
	}
	renew := func(what string, by func() int, want int) {
		t.Helper()
		if got := by(); got != want {
			t.Fatalf("%s: %d at once, want %d", what, got, want)
		}
	}
	renew("a is the first", renewA, 8)
	renew("b finds nothing", renewB, 0)
	for range 5 {
		a.leave()
	}
	renew("a has 3 in flight, and may begin 5", renewB, 0)
	renew("a learns of its part", renewA, 4)
	renew("which b cannot know", renewB, 0)
	renew("a says what it leaves", renewA, 4)
	renew("b has the rest", renewB, 4)
}

func TestSlotsThatAreNotBackAreThoseOfABatchOrOfANamedZone(t *testing.T) {
	for limit, want := range map[string]string{
		lane("batch-1"):     "2 slots of the batch were a dead worker's: they are back in 7 s",
		"work/unlocker_two": "2 slots of zone unlocker_two were a dead worker's: they are back in 7 s",
	} {
		s := &slots{shared: &share.Claim{Zone: limit}, lease: share.Lease{Waiting: 2, Back: 7 * time.Second}}
		if got := s.missing(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestACapThatBytesReachNamesTheLongestBody(t *testing.T) {
	p := Plan{Request: model.FetchRequest{BodyLimit: 10_000_000, Zone: model.Zone{Rate: model.Rate{PerGB: 0.6}}}}
	of := store.Batch{Cap: 6_000_000, Spent: 10_000}
	if got := p.capWords(of, 6_000_000); got != "<$0.0001 of $0.0060 is spent, and one more fetch may cost $0.0060 for a body of 10 MB: with a lower --max-body more fit" {
		t.Error(got)
	}
	if err := p.checkAgain(State{Batch: store.Batch{Cap: 7_000_000, Spent: 10_000}, Plan: p}, 200); err != nil {
		t.Errorf("200 items of a few bytes: %v", err)
	}
}
