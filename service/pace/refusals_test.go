package pace

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/internal/noerr"
)

// sent is a call that was let go.
func sent(t *testing.T, r *Refusals, addr string) (end func(status int)) {
	t.Helper()
	end, err := r.Enter(t.Context(), addr)
	noerr.Must(t, err)
	return end
}

// held is why a call is held back.
func held(t *testing.T, r *Refusals, addr string) *TooFastError {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	var fast *TooFastError
	if end, err := r.Enter(ctx, addr); !errors.As(err, &fast) {
		t.Fatalf("it was let go: %v, %v", end != nil, err)
	}
	return fast
}

func TestTheBreakerOpensAtItsCountAndClosesWithItsWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRefusals(time.Now)
		for range MaxRefused - 1 {
			sent(t, r, "a")(http.StatusTooManyRequests)
			time.Sleep(time.Second) //nolint:forbidigo // the bubble's clock
		}
		sent(t, r, "a")(http.StatusServiceUnavailable)
		sent(t, r, "a")(http.StatusTooManyRequests)
		fast := held(t, r, "a")
		if want := Window - (MaxRefused-1)*time.Second; fast.Rule != "breaker" || fast.Wait != want {
			t.Errorf("at the count: %+v", fast)
		}
		if got, want := fast.Error(), "held back: the service answered HTTP 429 20 times within 5 minutes, and is said to block an address at 25; the next call may go in 4m41s"; got != want {
			t.Errorf("it says %q", got)
		}
		sent(t, r, "b")(http.StatusOK)
		time.Sleep(fast.Wait - 1) //nolint:forbidigo // the bubble's clock
		held(t, r, "a")
		time.Sleep(time.Nanosecond) //nolint:forbidigo // the bubble's clock
		sent(t, r, "a")(http.StatusOK)
	})
}

func TestCallsInFlightCountAsRefusedWhereOneWasOrNothingElseIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRefusals(time.Now)
		var ends []func(int)
		for range MaxRefused {
			ends = append(ends, sent(t, r, "a"))
		}
		if fast := held(t, r, "a"); fast.Reason != "the service answered HTTP 429 0 times within 5 minutes, and may answer so to 20 calls under way" || fast.Wait != 0 {
			t.Errorf("%+v", fast)
		}
		ends[0](http.StatusOK)
		for range 2 * MaxRefused { // it answers
			ends = append(ends, sent(t, r, "a"))
		}
		for _, end := range ends[1 : 2*MaxRefused+2] {
			end(0)
		}
		ends[2*MaxRefused+2](http.StatusTooManyRequests) // 17 in flight and one refused
		sent(t, r, "a")
		sent(t, r, "a")
		held(t, r, "a")
		ctx, cancel := context.WithCancelCause(t.Context())
		left := errors.New("the caller left")
		cancel(left)
		if _, err := r.Enter(ctx, "a"); !errors.Is(err, left) {
			t.Errorf("a cancelled call: %v", err)
		}
		waited := make(chan error)
		go func() {
			_, err := r.Enter(t.Context(), "a")
			waited <- err
		}()
		synctest.Wait()
		ends[2*MaxRefused+3](http.StatusOK)
		noerr.Must(t, <-waited)
	})
}

func TestTheBreakerForgetsEachAnswerWithItsWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRefusals(time.Now)
		sent(t, r, "a")(http.StatusTooManyRequests)
		time.Sleep(Window) //nolint:forbidigo // the bubble's clock
		for range MaxRefused - 1 {
			sent(t, r, "a")(http.StatusTooManyRequests)
		}
		if n := len(r.answers("a").refused); n != MaxRefused-1 {
			t.Errorf("%d of the last %d count, one of which is older than the window", n, MaxRefused)
		}
		sent(t, r, "a")(http.StatusTooManyRequests)
		held(t, r, "a")
	})
}
