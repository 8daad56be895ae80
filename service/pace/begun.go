package pace

import (
	"cmp"
	"context"
	"maps"
	"strconv"
	"sync"
	"time"

	"zonedeck/model"
)

// begun is the zone of a batch while the store remembers nothing of it: no call was refused yet, and no wall found.
type begun struct {
	mu sync.Mutex // guards all; taken before what the store locks
	Zone

	n      int // of the last place
	flying map[string]*Turn
	freed  chan struct{} // closed when a call ends
	moves  int           // to the store
}

// begin gives what is known of the zone of a batch.
func (l *Limiter) begin(ctx context.Context, c Call) *begun {
	name := c.Profile + "\x00" + c.Zone
	l.mu.Lock()
	b := l.batches[name]
	l.mu.Unlock()
	if b != nil {
		return b
	}
	b = l.first(ctx, c)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.batches == nil {
		l.batches = map[string]*begun{}
	}
	if l.batches[name] == nil {
		l.batches[name] = b
	}
	return l.batches[name]
}

// first is a zone with its first limit, or what a probe found.
func (l *Limiter) first(ctx context.Context, c Call) *begun {
	b := &begun{flying: map[string]*Turn{}, freed: make(chan struct{})}
	p := &Pace{Cap: c.Cap, Fast: true}
	p.set(min(firstLimit, c.Cap), l.now(), "a batch begins low")
	if safe, ok := l.Safe(ctx, c); ok {
		p.Fast = false
		p.set(min(safe.AtOnce, c.Cap), l.now(), "a probe of %s found %s", safe.At.UTC().Format(time.DateOnly), model.Line(safe.Words, 200))
	}
	b.Paces = map[string]*Pace{"": p}
	return b
}

// take takes a place for a call: in the store, or, for one of a batch of whose zone that remembers nothing, in memory. If
// there is none, freed is closed when one may be.
func (t *Turn) take(ctx context.Context) (freed <-chan struct{}, blocked *TooFastError) {
	if !t.call.Batch {
		return nil, t.try(ctx)
	}
	b := t.limiter.begin(ctx, t.call)
	b.mu.Lock()
	defer b.mu.Unlock()
	for moves := -1; moves != b.moves; { // what goes to the store meanwhile holds the call back there
		moves = b.moves
		b.mu.Unlock()
		blocked = t.try(ctx)
		b.mu.Lock()
		if blocked != nil || t.sign != nil {
			return nil, blocked
		}
	}
	if b.Paces == nil { // the store has forgotten it: nothing is held back
		b.Paces = map[string]*Pace{"": {Cap: t.call.Cap, Limit: t.call.Cap}}
	}
	b.count(t.call)
	if blocked = b.blocked(t.call, t.limiter.now()); blocked != nil {
		return b.freed, blocked
	}
	b.n++
	t.place = strconv.Itoa(b.n)
	t.begun, t.sent = b, b.depart(t.call, t.place)
	b.flying[t.place] = t
	return nil, nil
}

// endBegun gives a place in memory back, unless the zone has gone to the store meanwhile. What it says to other processes
// takes it there, with all its places.
func (t *Turn) endBegun(ctx context.Context, a Answer) (reason string, judged bool) {
	l, b := t.limiter, t.begun
	if b == nil {
		return "", false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.flying[t.place] == nil {
		return "", false
	}
	now := l.now()
	b.leave(t)
	b.judge(t.call, t.sent, a, now)
	if !b.limits() {
		return b.Reason(t.call), true
	}
	reason, err := l.Store.Learn(context.WithoutCancel(ctx), Outcome{Call: t.call, answer: a, at: now, moves: b})
	t.warn(err)
	if err == nil {
		clear(b.flying)
		b.Zone, b.moves = Zone{}, b.moves+1
	}
	for _, t := range b.flying { // they keep their places in memory
		if t.sign != nil {
			t.sign.Release()
			t.sign = nil
		}
	}
	return cmp.Or(reason, b.Reason(t.call)), true
}

// leave gives a place back. mu is held, as for all that follow.
func (b *begun) leave(t *Turn) {
	delete(b.Places, t.place)
	delete(b.flying, t.place)
	close(b.freed)
	b.freed = make(chan struct{})
}

// limits reports whether others must know of it: calls were refused, or a wall was found.
func (b *begun) limits() bool {
	if len(b.Refused) > 0 {
		return true
	}
	for host, p := range b.Paces {
		if p.Wall > 0 || host != "" && p.Change > 0 {
			return true
		}
	}
	return false
}

// copyTo gives a zone of the store what is known of this one, but for hosts that hold nothing back.
func (b *begun) copyTo(z *Zone) {
	places := z.Places
	*z = b.Zone
	z.Places, z.Paces = places, maps.Clone(b.Paces)
	maps.DeleteFunc(z.Paces, func(host string, p *Pace) bool { return host != "" && p.Change == 0 })
}

// place gives the calls in flight their places in the store.
func (b *begun) place(signs Signs, z *Zone) {
	for _, t := range b.flying {
		if sign, err := signs.Sign(t.call); err == nil {
			t.sign = sign
			z.depart(t.call, sign.Name())
		}
	}
}

// Words say how many calls like c may go at once, of how many, and why not more; empty where nothing is remembered.
func (l *Limiter) Words(ctx context.Context, c Call) (words string) {
	if l == nil {
		return ""
	}
	t := &Turn{limiter: l, call: c}
	t.warn(l.Store.Look(ctx, c, false, func(z *Zone, _ Signs) {
		z.begin(c.Zone, l.now())
		words = z.words(l.now())
	}))
	l.mu.Lock()
	b := l.batches[c.Profile+"\x00"+c.Zone]
	l.mu.Unlock()
	if b != nil && words == "" {
		b.mu.Lock()
		defer b.mu.Unlock()
		words = b.words(l.now())
	}
	return words
}
