package pace

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/internal/noerr"
)

var ofBatch = Call{Profile: "acme", Zone: "unlocker1", Host: "shop.example", Cap: 16, Timeout: 10 * time.Second, Batch: true}

// fill takes all the places that there are.
func fill(t *testing.T, l *Limiter, c Call) (turns []*Turn) {
	t.Helper()
	for {
		turn := &Turn{limiter: l, call: c}
		if _, blocked := turn.take(t.Context()); blocked != nil {
			return turns
		}
		turns = append(turns, turn)
	}
}

// end ends calls, and gives what the last one says.
func end(t *testing.T, turns []*Turn, a Answer) (says string) {
	t.Helper()
	for _, turn := range turns {
		says = turn.End(t.Context(), a)
	}
	return says
}

func TestTheZoneOfABatchBeginsLowAndGrowsByHalfWithoutAFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pace")
	a, _, log := limiters(t, dir)
	var limits []int
	for range 9 {
		turns := fill(t, a, ofBatch)
		if limits = append(limits, len(turns)); len(turns) > 16 {
			t.Fatal(limits)
		}
		end(t, turns, Answer{Good: true})
	}
	if want := []int{4, 4, 6, 6, 9, 9, 13, 13, 16}; !slices.Equal(limits, want) {
		t.Errorf("%v", limits)
	}
	if _, err := os.Stat(dir); err == nil || log.Len() > 0 {
		t.Errorf("the folder: %v, log %q", err, log)
	}
	if got := a.Words(t.Context(), ofBatch); got != "16 of 16: 26 calls were answered well while 13 were allowed" {
		t.Errorf("it says %q", got)
	}
	if turns := fill(t, a, Call{Profile: "acme", Zone: "serp1", Cap: 2, Batch: true}); len(turns) != 2 {
		t.Errorf("another zone begins at %d", len(turns))
	}
}

func TestARefusalToABatchGoesToTheStoreWithAllPlaces(t *testing.T) {
	a, b, _ := limiters(t, t.TempDir())
	for range 4 {
		end(t, fill(t, a, ofBatch), Answer{Good: true})
	}
	turns := fill(t, a, ofBatch)
	if len(turns) != 9 {
		t.Fatalf("%d at once", len(turns))
	}
	const says = "zone unlocker1 for shop.example: at most 8 at once, because it said too fast while 9 were in flight"
	if got := end(t, turns[8:], byTarget); got != says {
		t.Errorf("it says %q", got)
	}
	// Eight are in flight, for the other process too, whether or not its calls are a batch's.
	if others := fill(t, b, toShop); len(others) != 0 {
		t.Errorf("%d more go at once", len(others))
	}
	if got := end(t, turns[:4], Answer{Good: true}); got != says {
		t.Errorf("it says %q", got)
	}
	if more := len(fill(t, a, ofBatch)); more != 4 {
		t.Errorf("%d more go at once", more)
	}
	if got := b.Words(t.Context(), ofBatch); got != "8 of 16 for shop.example: it said too fast while 9 were in flight" {
		t.Errorf("it says %q", got)
	}
}

func TestWhatTheStoreForgotHoldsABatchNotBackAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _, _ := limiters(t, t.TempDir())
		end(t, fill(t, a, ofBatch), byTarget)
		time.Sleep(Window) //nolint:forbidigo // the bubble's clock
		if n := len(fill(t, a, ofBatch)); n != 16 {
			t.Errorf("%d at once", n)
		}
	})
}

func TestACallOfABatchWaitsForTheEndOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _, _ := limiters(t, t.TempDir())
		turns := fill(t, a, ofBatch)
		time.AfterFunc(time.Millisecond, func() { turns[0].End(t.Context(), Answer{Good: true}) })
		began := time.Now()
		var reasons []string
		_, _, err := a.Enter(t.Context(), ofBatch, free, func(reason string) { reasons = append(reasons, reason) })
		noerr.Must(t, err)
		if d := time.Since(began); d != time.Millisecond || !slices.Equal(reasons, []string{"zone unlocker1: at most 4 at once, because a batch begins low"}) {
			t.Errorf("after %v: %q", d, reasons)
		}
	})
}

// slowStore is a store and a memory of probes that wait until they are let go on.
type slowStore struct {
	Files
	Safes

	zone            string // whose calls wait
	asked, answered chan struct{}
}

func (s *slowStore) wait(zone string) {
	if zone == s.zone {
		s.asked <- struct{}{}
		<-s.answered
	}
}

func (s *slowStore) Learn(ctx context.Context, o Outcome) (string, error) {
	s.wait(o.Call.Zone)
	return s.Files.Learn(ctx, o)
}

func (s *slowStore) Find(ctx context.Context, c Call) (Safe, bool) {
	s.wait(c.Zone)
	return s.Safes.Find(ctx, c)
}

func TestAZoneThatWaitsForItsStoreHoldsNoOtherBackAndNothingPassesItsWall(t *testing.T) {
	s := &slowStore{Files: Files{Dir: t.TempDir()}, zone: ofBatch.Zone, asked: make(chan struct{}), answered: make(chan struct{})}
	l := &Limiter{Store: s, Safes: s, Clock: bubble{}, Log: slog.New(slog.DiscardHandler)}
	other := ofBatch
	other.Zone = "serp1"
	othersGo := func() {
		t.Helper()
		<-s.asked
		if _, blocked := (&Turn{limiter: l, call: other}).take(t.Context()); blocked != nil {
			t.Error(blocked)
		}
		if words := l.Words(t.Context(), other); words == "" {
			t.Error("nothing is known of the other zone")
		}
	}
	filled := make(chan []*Turn)
	go func() { filled <- fill(t, l, ofBatch) }()
	othersGo() // while what a probe found is read
	s.answered <- struct{}{}
	turns := <-filled
	if len(turns) != 4 {
		t.Fatalf("%d go", len(turns))
	}
	ended := make(chan string)
	go func() { ended <- end(t, turns[:1], byService) }()
	othersGo() // while the wall is written
	go func() { filled <- fill(t, l, ofBatch) }()
	s.answered <- struct{}{}
	<-ended
	if more := <-filled; len(more) != 0 {
		t.Errorf("%d pass the wall", len(more))
	}
}
