package work_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"zonedeck/service/work"
)

// hang ends a test that would never end.
const hang = time.Minute

// suite tests a work.Queue against its contract. open returns a new, empty queue twice: as one
// process and as another has it open (the same value if only one process can).
func suite(t *testing.T, open func(t *testing.T) (a, b work.Queue)) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, work.Queue, work.Queue){
		"an item comes until it is done":       comesUntilDone,
		"a name is there once":                 thereOnce,
		"a lane gets its own items":            ownLane,
		"no item is handed to two at once":     neverTwoAtOnce,
		"an item that waits can be hastened":   hastened,
		"what a handler has can be hastened":   hastenedInHand,
		"who hastens an item may extend it":    extended,
		"who stops leaves its items to others": leftToOthers,
		"an error brings the item again":       errorComesAgain,
		"at most so many at a time":            atMost,
		"many items are listed":                manyItems,
	} {
		t.Run(name, func(t *testing.T) {
			a, b := open(t)
			test(t, a, b)
		})
	}
}

// working works in the background until the test ends or stop is called.
func working(t *testing.T, q work.Queue, lane string, n int, handle work.Handler) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := q.Work(ctx, lane, n, handle); err != nil {
			t.Error(err)
		}
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		wait(t, done, "the worker ends")
	})
	t.Cleanup(stop)
	return stop
}

func wait[T any](t *testing.T, c <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(hang):
		t.Fatalf("waited in vain until %s", what)
	}
	return v
}

func put(t *testing.T, q work.Queue, lane string, keys ...string) {
	t.Helper()
	for _, k := range keys {
		if err := q.Put(t.Context(), work.Item{Lane: lane, Key: k}); err != nil {
			t.Fatal(err)
		}
	}
}

func keys(t *testing.T, q work.Queue, lane string) []string {
	t.Helper()
	items, err := q.Items(t.Context(), lane)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]string, len(items))
	for i, it := range items {
		out[i] = it.Key
	}
	return out
}

// emptied waits until a lane has no items: an item is removed only after its handler has ended.
func emptied(t *testing.T, q work.Queue, lane string) {
	t.Helper()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for end := time.After(hang); len(keys(t, q, lane)) > 0; {
		select {
		case <-look.C:
		case <-end:
			t.Fatalf("the lane %s still has %v", lane, keys(t, q, lane))
		}
	}
}

func comesUntilDone(t *testing.T, a, b work.Queue) {
	until := time.Date(2026, 11, 22, 12, 0, 0, 7000, time.UTC)
	if err := a.Put(t.Context(), work.Item{Lane: "x", Key: "k", Until: until}); err != nil {
		t.Fatal(err)
	}
	calls := make(chan work.Item, 8)
	n := 0
	working(t, b, "x", 1, func(_ context.Context, item work.Item) (time.Duration, error) {
		calls <- item
		if n++; n < 3 {
			return time.Millisecond, nil
		}
		return 0, nil
	})
	for range 3 {
		if got := wait(t, calls, "the item comes"); got.Lane != "x" || got.Key != "k" || !got.Until.Equal(until) {
			t.Errorf("%+v", got)
		}
	}
	emptied(t, a, "x")
	put(t, a, "x", "k") // done, so it can be put again
	wait(t, calls, "the item comes again")
}

func thereOnce(t *testing.T, a, b work.Queue) {
	put(t, a, "x", "k", "k")
	put(t, b, "x", "k")
	put(t, b, "y", "k")
	if got := keys(t, a, "x"); !slices.Equal(got, []string{"k"}) {
		t.Errorf("the lane has %v", got)
	}
	begun, leave := make(chan struct{}, 8), make(chan struct{})
	working(t, a, "x", 4, func(ctx context.Context, _ work.Item) (time.Duration, error) {
		begun <- struct{}{}
		select {
		case <-leave:
		case <-ctx.Done():
		}
		return time.Hour, nil
	})
	wait(t, begun, "the item comes")
	put(t, b, "x", "k", "k2") // the first one is under way
	wait(t, begun, "the other item comes")
	close(leave)
	if got := keys(t, b, "x"); !slices.Equal(got, []string{"k", "k2"}) || len(begun) != 0 {
		t.Errorf("the lane has %v, and %d more came", got, len(begun))
	}
}

func ownLane(t *testing.T, a, b work.Queue) {
	put(t, a, "Lane with signs / éè", "1")
	put(t, a, "other", "2")
	got := make(chan work.Item, 8)
	take := func(_ context.Context, item work.Item) (time.Duration, error) {
		got <- item
		return 0, nil
	}
	working(t, b, "other", 2, take)
	if first := wait(t, got, "the item comes"); first.Key != "2" {
		t.Errorf("%+v came", first)
	}
	emptied(t, a, "other")
	if left := keys(t, a, "Lane with signs / éè"); len(left) != 1 || len(got) != 0 {
		t.Errorf("the other lane has %v", left)
	}
}

func neverTwoAtOnce(t *testing.T, a, b work.Queue) {
	const items, rounds = 12, 5
	var mu sync.Mutex
	at, times := map[string]bool{}, map[string]int{}
	all := make(chan struct{})
	handle := func(_ context.Context, item work.Item) (time.Duration, error) {
		mu.Lock()
		defer mu.Unlock()
		if at[item.Key] {
			t.Errorf("%s was handed out twice", item.Key)
		}
		at[item.Key] = true
		mu.Unlock()
		<-time.After(time.Millisecond)
		mu.Lock()
		at[item.Key] = false
		if times[item.Key]++; times[item.Key] == rounds {
			if len(times) == items && !slices.ContainsFunc(slices.Collect(valuesOf(times)), func(n int) bool { return n < rounds }) {
				close(all)
			}
			return 0, nil
		}
		return time.Millisecond, nil
	}
	working(t, a, "x", 4, handle)
	working(t, b, "x", 4, handle)
	for i := range items {
		put(t, a, "x", fmt.Sprint(i))
		put(t, b, "x", fmt.Sprint(i))
	}
	wait(t, all, "every item came five times")
	emptied(t, a, "x")
}

func valuesOf(m map[string]int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for _, v := range m {
			if !yield(v) {
				return
			}
		}
	}
}

func hastened(t *testing.T, a, b work.Queue) {
	put(t, a, "x", "k")
	came := make(chan struct{}, 8)
	working(t, a, "x", 1, func(context.Context, work.Item) (time.Duration, error) {
		came <- struct{}{}
		return time.Hour, nil
	})
	wait(t, came, "the item comes")
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for items, err := b.Items(t.Context(), "x"); ; items, err = b.Items(t.Context(), "x") {
		if err != nil {
			t.Fatal(err)
		}
		if len(items) == 1 && time.Until(items[0].Due) > time.Minute {
			break // the hour's wait is written
		}
		wait(t, look.C, "the wait is written")
	}
	if err := b.Hasten(t.Context(), work.Item{Lane: "x", Key: "k"}); err != nil {
		t.Fatal(err)
	}
	wait(t, came, "the hastened item comes")
	if err := b.Hasten(t.Context(), work.Item{Lane: "x", Key: "new"}); err != nil {
		t.Fatal(err)
	}
	wait(t, came, "a new item comes")
}

func hastenedInHand(t *testing.T, a, b work.Queue) {
	at := func(hours int) time.Time { return time.Date(2026, 11, 23, hours, 0, 0, 0, time.UTC) }
	if err := a.Put(t.Context(), work.Item{Lane: "x", Key: "k", Until: at(1)}); err != nil {
		t.Fatal(err)
	}
	came, leave := make(chan work.Item, 8), make(chan time.Duration)
	working(t, a, "x", 1, func(ctx context.Context, item work.Item) (time.Duration, error) {
		came <- item
		select {
		case again := <-leave:
			return again, nil
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	})
	wait(t, came, "the item comes")
	for _, until := range []time.Time{at(1), at(3), at(2)} {
		if err := b.Hasten(t.Context(), work.Item{Lane: "x", Key: "k", Until: until}); err != nil {
			t.Fatal(err)
		}
	}
	leave <- time.Hour
	if item := wait(t, came, "the item comes again"); !item.Until.Equal(at(3)) {
		t.Errorf("%+v", item)
	}
	if err := b.Hasten(t.Context(), work.Item{Lane: "x", Key: "k"}); err != nil {
		t.Fatal(err)
	}
	leave <- 0
	emptied(t, a, "x") // done, whatever was hastened
	put(t, a, "x", "k")
	wait(t, came, "the item comes anew")
	leave <- 0
	emptied(t, a, "x")
	if len(came) != 0 {
		t.Error("it came once more")
	}
}

func extended(t *testing.T, a, b work.Queue) {
	at := func(hours int) time.Time { return time.Date(2026, 11, 23, hours, 0, 0, 0, time.UTC) }
	for _, step := range []struct{ until, want time.Time }{
		{at(1), at(1)}, {at(3), at(3)}, {at(2), at(3)}, {time.Time{}, time.Time{}}, {at(4), time.Time{}},
	} {
		if err := b.Hasten(t.Context(), work.Item{Lane: "x", Key: "k", Until: step.until}); err != nil {
			t.Fatal(err)
		}
		if items, err := a.Items(t.Context(), "x"); err != nil || len(items) != 1 || !items[0].Until.Equal(step.want) {
			t.Fatalf("until %v: %+v, %v", step.until, items, err)
		}
	}
	came := make(chan work.Item, 8)
	working(t, a, "x", 1, func(_ context.Context, item work.Item) (time.Duration, error) {
		came <- item
		return 0, nil
	})
	if item := wait(t, came, "the item comes"); !item.Until.IsZero() {
		t.Errorf("%+v", item)
	}
	emptied(t, b, "x")
}

func leftToOthers(t *testing.T, a, b work.Queue) {
	put(t, a, "x", "k")
	begun := make(chan struct{}, 1)
	stop := working(t, a, "x", 1, func(ctx context.Context, _ work.Item) (time.Duration, error) {
		begun <- struct{}{}
		<-ctx.Done()
		return 0, ctx.Err()
	})
	wait(t, begun, "the item comes")
	stop()
	came := make(chan struct{}, 1)
	working(t, b, "x", 1, func(context.Context, work.Item) (time.Duration, error) {
		came <- struct{}{}
		return 0, nil
	})
	wait(t, came, "another worker gets it")
	emptied(t, a, "x")
}

func errorComesAgain(t *testing.T, a, b work.Queue) {
	put(t, a, "x", "k")
	came := make(chan struct{}, 1)
	working(t, b, "x", 1, func(context.Context, work.Item) (time.Duration, error) {
		came <- struct{}{}
		return 0, errors.New("no luck")
	})
	wait(t, came, "the item comes")
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		items, err := a.Items(t.Context(), "x")
		if err != nil || len(items) != 1 {
			t.Fatalf("%v, %v", items, err)
		}
		if left := time.Until(items[0].Due); left > 0 && left <= work.RetryAfter {
			return
		}
		wait(t, look.C, "the item waits")
	}
}

func atMost(t *testing.T, a, _ work.Queue) {
	put(t, a, "x", "1", "2", "3", "4", "5", "6")
	begun, leave := make(chan struct{}, 8), make(chan struct{})
	working(t, a, "x", 3, func(context.Context, work.Item) (time.Duration, error) {
		begun <- struct{}{}
		<-leave
		return 0, nil
	})
	for range 3 {
		wait(t, begun, "three items come")
	}
	if len(begun) > 0 {
		t.Error("a fourth one came")
	}
	close(leave)
	emptied(t, a, "x")
	if len(begun) != 3 {
		t.Errorf("%d more came", len(begun))
	}
}

func manyItems(t *testing.T, a, b work.Queue) {
	for i := range 1100 {
		put(t, a, "x", fmt.Sprintf("%05d", i))
	}
	got := keys(t, b, "x")
	if len(got) != 1100 || !slices.IsSorted(got) {
		t.Errorf("%d items", len(got))
	}
}
