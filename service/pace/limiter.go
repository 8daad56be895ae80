package pace

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"
)

// Store keeps the zones for all who send by them. The places of dead processes are gone from them.
type Store interface {
	// Look looks at a zone that is remembered, while nobody else does. Who enters takes a place by signs, or waits for one.
	Look(ctx context.Context, c Call, enters bool, look func(z *Zone, signs Signs)) error
	// Learn has a zone learn what came of a call: a little later, unless that is urgent. It says why calls are held back.
	Learn(ctx context.Context, o Outcome) (says string, err error)
	// Ahead is how far the clock by which zones are dated is ahead of this machine's.
	Ahead() time.Duration
}

// Signs gives signs of life for the places of calls.
type Signs interface {
	Sign(c Call) (Sign, error)
}

// Sign is a sign of life, by its name.
type Sign interface {
	Name() string
	Release()
}

// Limiter gives calls their places. It is safe for concurrent use. If its store fails, it holds nothing back, as nil does.
//
// The zones of batches are in its memory as long as nothing was refused, and then in the store.
type Limiter struct {
	Store Store
	Safes SafeStore // nil knows none
	Clock Clock
	Log   *slog.Logger

	mu      sync.Mutex // guards the map alone
	batches map[string]*begun
}

// Clock tells the time.
type Clock interface{ Now() time.Time }

// Safe is what the last probe found for such calls; false where there was none. A nil Limiter knows none.
func (l *Limiter) Safe(ctx context.Context, c Call) (found Safe, ok bool) {
	if l == nil || l.Safes == nil {
		return Safe{}, false
	}
	return l.Safes.Find(ctx, c)
}

func (l *Limiter) now() time.Time { return l.Clock.Now().Add(l.Store.Ahead()) }

// Turn is a call that may be sent.
type Turn struct {
	// InARow counts the answers before it, to calls of its zone to its host, that said too fast with no good one since.
	InARow  int
	limiter *Limiter
	call    Call
	begun   *begun // that had its place, by this name; or nil
	place   string
	sign    Sign // of its place in the store; nil where nothing is remembered of its zone
	sent    departure
	note    string
}

// pollEvery is how often a call that waits looks for a place, which another process may have left.
const pollEvery = 50 * time.Millisecond

// Enter waits for a place, and tells waits why, again when that changes. A call that gets none within its timeout is
// refused with a *TooFastError; one that cannot get one is refused at once. Before it looks for a place it takes one by
// slot, which it gives back where it has to wait: a zone or a host that is slow keeps no other waiting. The caller calls
// leave and End.
func (l *Limiter) Enter(ctx context.Context, c Call, slot func() (leave func(), err error), waits func(reason string)) (t *Turn, leave func(), err error) {
	t = &Turn{limiter: l, call: c}
	var late <-chan time.Time
	var freed <-chan struct{}
	var ends time.Time
	for told := ""; ; {
		if leave, err = slot(); err != nil || l == nil {
			return t, leave, err
		}
		var blocked *TooFastError
		if freed, blocked = t.take(ctx); blocked == nil {
			return t, leave, nil
		}
		leave()
		if late == nil {
			late, ends = time.After(c.Timeout), l.now().Add(c.Timeout)
		}
		if l.now().Add(blocked.Wait).After(ends) {
			return nil, nil, blocked
		}
		if blocked.Reason != told {
			told = blocked.Reason
			waits(told)
		}
		select {
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		case <-late:
			return nil, nil, blocked
		case <-freed:
		case <-time.After(pollEvery):
		}
	}
}

// try takes a place in the store if there is one, and otherwise says why not.
func (t *Turn) try(ctx context.Context) (blocked *TooFastError) {
	t.warn(t.limiter.Store.Look(ctx, t.call, true, func(z *Zone, signs Signs) {
		if t.sign != nil { // a store may look twice
			t.sign.Release()
			t.sign = nil
		}
		now := t.limiter.now()
		t.note = cmp.Or(z.begin(t.call.Zone, now), t.note)
		if blocked = z.blocked(t.call, now); blocked != nil || z.Blank() {
			return
		}
		t.InARow = z.Rows[t.call.Host]
		if sign, err := signs.Sign(t.call); err == nil { // without one it goes, and is not counted
			t.sign, t.sent, z.Touched = sign, z.depart(t.call, sign.Name()), now
		}
	}))
	return blocked
}

func (t *Turn) warn(err error) {
	if err != nil {
		t.limiter.Log.Warn("the pace of a zone is not known", "zone", t.call.Zone, "error", err)
	}
}

// Outcome is what came of a call.
type Outcome struct {
	Call Call

	answer Answer
	sent   departure
	place  string // that it had
	at     time.Time
	moves  *begun // the zone that goes to the store with it, locked; or nil
}

// Urgent reports whether others must know it at once, also where nothing is remembered of the zone.
func (o Outcome) Urgent() bool { return o.answer.TooFast || o.moves != nil }

// Moves reports whether a zone goes to the store with it, with all its calls in flight.
func (o Outcome) Moves() bool { return o.moves != nil }

// Leave gives the place of the call back.
func (o Outcome) Leave(z *Zone) { delete(z.Places, o.place) }

// To has a zone learn it. It says how many go at once and why; empty where nothing holds them back.
func (o Outcome) To(z *Zone, signs Signs) (says string) {
	note := z.begin(o.Call.Zone, o.at)
	switch {
	case o.moves == nil:
		o.Leave(z)
		z.judge(o.Call, o.sent, o.answer, o.at)
	case z.Blank():
		o.moves.copyTo(z)
		o.moves.place(signs, z)
	default: // another process was first
		z.judge(o.Call, departure{}, o.answer, o.at)
		o.moves.place(signs, z)
	}
	z.Touched, says = o.at, z.Reason(o.Call)
	z.forget(o.at)
	return cmp.Or(note, says)
}

// End gives the place back with what came of the call. It says how many go at once and why; empty where nothing holds
// them back.
func (t *Turn) End(ctx context.Context, a Answer) string {
	reason, judged := t.endBegun(ctx, a)
	if judged || t.limiter == nil || t.sign == nil && !a.TooFast {
		return cmp.Or(t.note, reason)
	}
	o := Outcome{Call: t.call, answer: a, sent: t.sent, at: t.limiter.now()}
	if t.sign != nil {
		o.place = t.sign.Name()
		defer t.sign.Release()
	}
	reason, err := t.limiter.Store.Learn(context.WithoutCancel(ctx), o)
	t.warn(err)
	return cmp.Or(t.note, reason)
}
