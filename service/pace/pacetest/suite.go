// Package pacetest has the tests that every store of the pace of zones must pass. Only tests import it.
package pacetest

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"zonedeck/service/pace"
)

// Clock is a clock that stands still until it is moved.
type Clock struct{ At time.Time }

// Now is the time.
func (c *Clock) Now() time.Time { return c.At }

// Call is the call that the tests are about.
var Call = pace.Call{Profile: "acme", Zone: "unlocker1", Host: "shop.example", Cap: 16, Timeout: 10 * time.Second}

// Enter takes a place for a call at once, and says why there is none.
func Enter(t testing.TB, l *pace.Limiter, c pace.Call) (turn *pace.Turn, reason string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	turn, _, err := l.Enter(ctx, c, func() (func(), error) { return func() {}, nil }, func(why string) { reason = why; cancel() })
	if fast := (*pace.TooFastError)(nil); errors.As(err, &fast) {
		return nil, fast.Reason
	}
	if err != nil && reason == "" {
		t.Fatal(err)
	}
	return turn, reason
}

// Run runs the tests. Each call of open gives two new stores that share what they keep, and their clock; pass moves that on, and lets
// another store see what one has written.
func Run(t *testing.T, open func(t *testing.T) (a, b pace.Store, clock *Clock, pass func(time.Duration))) {
	t.Helper()
	for name, test := range map[string]func(t *testing.T, a, b *pace.Limiter, pass func(time.Duration)){
		"a refusal holds others back": refusal, "the service's refusals count together": breaker,
		"what is not refused is forgotten": forgotten, "a batch takes its calls along": batch,
	} {
		t.Run(name, func(t *testing.T) {
			a, b, clock, pass := open(t)
			of := func(s pace.Store) *pace.Limiter {
				return &pace.Limiter{Store: s, Clock: clock, Log: slog.New(slog.NewTextHandler(fails{t}, nil))}
			}
			test(t, of(a), of(b), pass)
		})
	}
}

// fails is a log in which nothing may be.
type fails struct{ t *testing.T }

func (f fails) Write(line []byte) (int, error) {
	f.t.Errorf("logged: %s", line)
	return len(line), nil
}

// fill takes all the places that there are.
func fill(t *testing.T, l *pace.Limiter, c pace.Call) (turns []*pace.Turn, reason string) {
	t.Helper()
	for len(turns) < 100 {
		turn, why := Enter(t, l, c)
		if turn == nil {
			return turns, why
		}
		turns = append(turns, turn)
	}
	return turns, ""
}

var byService = pace.Answer{TooFast: true, ByService: true}

func refusal(t *testing.T, a, b *pace.Limiter, pass func(time.Duration)) {
	if turns, why := fill(t, b, Call); len(turns) != 100 || why != "" {
		t.Errorf("before a refusal %d go, %q", len(turns), why)
	}
	first, _ := Enter(t, a, Call)
	first.End(t.Context(), byService)
	pass(0)
	turns, why := fill(t, b, Call)
	const says = "zone unlocker1: at most 4 at once, because the service said too fast"
	if len(turns) != 4 || why != says {
		t.Errorf("after one %d go, %q", len(turns), why)
	}
	pass(0)
	if more, why := Enter(t, a, Call); more != nil || why != says {
		t.Errorf("one more goes: %q", why)
	}
	if got := turns[0].End(t.Context(), pace.Answer{Good: true}); got != says {
		t.Errorf("it says %q", got)
	}
	pass(0)
	if more, why := Enter(t, a, Call); more == nil {
		t.Errorf("none goes in place of one that ended: %q", why)
	}
	if other, why := Enter(t, a, pace.Call{Profile: "acme", Zone: "serp1", Cap: 1}); other == nil {
		t.Errorf("another zone waits: %q", why)
	}
}

func breaker(t *testing.T, a, b *pace.Limiter, pass func(time.Duration)) {
	for i := range pace.MaxRefused {
		l := []*pace.Limiter{a, b}[i%2]
		turn, why := Enter(t, l, Call)
		if turn == nil {
			t.Fatalf("call %d waits: %s", i, why)
		}
		turn.End(t.Context(), byService)
		pass(5 * time.Second)
	}
	if turn, why := Enter(t, b, Call); turn != nil || why != "the service answered HTTP 429 20 times within 5 minutes, and is said to block an address at 25" {
		t.Errorf("after %d refusals: %q", pace.MaxRefused, why)
	}
}

func forgotten(t *testing.T, a, b *pace.Limiter, pass func(time.Duration)) {
	turn, _ := Enter(t, a, Call)
	turn.End(t.Context(), byService)
	pass(pace.Window)
	if turns, _ := fill(t, b, Call); len(turns) != 100 {
		t.Errorf("after a quiet window %d go", len(turns))
	}
	if words := a.Words(t.Context(), Call); words != "" {
		t.Errorf("it says %q", words)
	}
}

func batch(t *testing.T, a, b *pace.Limiter, pass func(time.Duration)) {
	call := Call
	call.Batch = true
	turns, _ := fill(t, a, call)
	if len(turns) != 4 {
		t.Fatalf("it begins with %d", len(turns))
	}
	turns[3].End(t.Context(), pace.Answer{TooFast: true})
	pass(0)
	if more, why := Enter(t, b, Call); more != nil || !strings.HasPrefix(why, "zone unlocker1") { // by the zone's limit or the host's
		t.Errorf("one more goes: %q", why)
	}
	turns[0].End(t.Context(), pace.Answer{Good: true})
	pass(0)
	if more, why := Enter(t, b, Call); more == nil {
		t.Errorf("none goes: %q", why)
	}
}
