package jobs

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"zonedeck/model"
)

// watched is a Watcher under test: what it reported, and the watches it began.
type watched struct {
	*Watcher
	events []string
	// ends has a channel for every job; what is sent there ends the job's watch.
	ends map[string]chan error
	// returned is closed when Run has returned.
	returned chan struct{}
	// ended counts the watches that have returned.
	ended  atomic.Int32
	cancel context.CancelFunc
}

// startWatcher runs a Watcher over jobs "0" to "19" until the test ends. It is for
// tests in a bubble of synctest.
func startWatcher(t *testing.T) *watched {
	t.Helper()
	w := &watched{ends: map[string]chan error{}, returned: make(chan struct{})}
	for i := range 20 {
		w.ends[strconv.Itoa(i)] = make(chan error)
	}
	w.Watcher = NewWatcher(func(ctx context.Context, id string, on func(model.Job)) (model.Job, error) {
		defer w.ended.Add(1)
		on(model.Job{ID: id, State: model.JobRunning})
		select {
		case err := <-w.ends[id]:
			return model.Job{ID: id, State: model.JobReady}, err
		case <-ctx.Done():
			return model.Job{ID: id}, ctx.Err()
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	w.cancel = cancel
	go func() {
		defer close(w.returned)
		w.Run(ctx, func(e WatchEvent) {
			line := e.JobID + " " + []string{"began", "changed", "ended"}[e.Phase]
			if e.Phase != WatchBegan {
				line += " " + string(e.Job.State)
			}
			if e.Err != nil {
				line += ": " + e.Err.Error()
			}
			w.events = append(w.events, line)
		})
	}()
	return w
}

// finish ends the watch of a job, and waits until the Watcher has acted on it.
func (w *watched) finish(id string, err error) {
	w.ends[id] <- err
	synctest.Wait()
}

// expect compares the events since the last call. Those of different jobs have no
// order, so they are compared sorted.
func (w *watched) expect(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	slices.Sort(want)
	if slices.Sort(w.events); !slices.Equal(w.events, want) {
		t.Fatalf("events\n%q\nwant\n%q", w.events, want)
	}
	w.events = nil
}

// began lists the events of jobs that begin.
func began(ids ...string) []string {
	var out []string
	for _, id := range ids {
		out = append(out, id+" began", id+" changed running")
	}
	return out
}

func TestWatcherFollowsEightJobsAndThenTheNextInLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startWatcher(t)
		w.Follow([]string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"})
		w.expect(t, began("0", "1", "2", "3", "4", "5", "6", "7")...)
		w.finish("5", nil)
		w.expect(t, append(began("8"), "5 ended ready")...)
		w.finish("0", nil)
		w.expect(t, append(began("9"), "0 ended ready")...)
		w.finish("9", nil)
		w.expect(t, "9 ended ready")
	})
}

func TestWatcherReportsAJobsEventsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startWatcher(t)
		w.Follow([]string{"3"})
		synctest.Wait()
		w.finish("3", nil)
		if want := []string{"3 began", "3 changed running", "3 ended ready"}; !slices.Equal(w.events, want) {
			t.Errorf("events %q, want %q", w.events, want)
		}
	})
}

func TestFollowReplacesTheWaitingJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startWatcher(t)
		w.Follow([]string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"})
		w.expect(t, began("0", "1", "2", "3", "4", "5", "6", "7")...)
		w.Follow([]string{"10", "0", "9"}) // 8 no longer waits, 10 goes first, 0 is followed already
		w.finish("1", nil)
		w.expect(t, append(began("10"), "1 ended ready")...)
		w.finish("2", nil)
		w.expect(t, append(began("9"), "2 ended ready")...)
		w.finish("3", nil)
		w.expect(t, "3 ended ready")
	})
}

func TestWatcherBeginsAJobTwiceOnlyWhenAskedTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startWatcher(t)
		w.Follow([]string{"0", "0"})
		w.expect(t, began("0")...)
		w.finish("0", errors.New("the service cannot be reached"))
		w.expect(t, "0 ended ready: the service cannot be reached")
		w.Follow([]string{"0"})
		w.expect(t)
		w.FollowNow("0")
		w.expect(t, began("0")...)
		w.FollowNow("0")
		w.expect(t)
	})
}

func TestWatcherFollowsNowWithoutRegardToTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startWatcher(t)
		w.Follow([]string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"})
		w.expect(t, began("0", "1", "2", "3", "4", "5", "6", "7")...)
		w.FollowNow("9")
		w.expect(t, began("9")...)
		w.finish("0", nil) // eight are still followed
		w.expect(t, "0 ended ready")
		w.finish("9", nil)
		w.expect(t, append(began("8"), "9 ended ready")...)
		w.finish("1", nil) // it was 9's turn, which has been followed
		w.expect(t, "1 ended ready")
	})
}

func TestWatcherEndsWithItsContextAfterEveryWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startWatcher(t)
		w.Follow([]string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"})
		w.expect(t, began("0", "1", "2", "3", "4", "5", "6", "7")...)
		w.cancel()
		<-w.returned
		if n := w.ended.Load(); n != maxWatches {
			t.Errorf("%d watches had ended when Run returned, want %d", n, maxWatches)
		}
		w.expect(t) // no end is reported, and no other job begins
	})
}
