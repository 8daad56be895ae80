package pace

import (
	"context"
	"maps"
	"strconv"
	"time"

	"zonedeck/model"
)

// begun is the zone of a batch while the store remembers nothing of it: no call was refused yet, and no wall found.
type begun struct {
	Zone

	n      int // of the last place
	flying map[string]*Turn
	freed  chan struct{} // closed when a call ends
}

// begin gives what is known of the zone of a batch. Its first limit is low; where it was in the store meanwhile, which
// has forgotten it, nothing is held back. l.mu is held.
func (l *Limiter) begin(c Call) *begun {
	name := c.Profile + "\x00" + c.Zone
	b := l.batches[name]
	if b == nil {
		b = &begun{flying: map[string]*Turn{}, freed: make(chan struct{})}
		b.Paces = map[string]*Pace{"": {Cap: c.Cap, Fast: true}}
		b.Paces[""].set(min(firstLimit, c.Cap), l.now(), "a batch begins low")
		if safe, ok := l.Safe(c); ok {
			b.Paces[""].Fast = false
			b.Paces[""].set(min(safe.AtOnce, c.Cap), l.now(), "a probe of %s found %s", safe.At.UTC().Format(time.DateOnly), model.Line(safe.Words, 200))
		}
		if l.batches == nil {
			l.batches = map[string]*begun{}
		}
		l.batches[name] = b
	}
	if b.Paces == nil {
		b.Paces = map[string]*Pace{"": {Cap: c.Cap, Limit: c.Cap}}
	}
	return b
}

// tryBegun takes a place in memory for a call of a batch that has none in the store. If there is none, freed is closed
// when one may be.
func (t *Turn) tryBegun() (freed <-chan struct{}, blocked *TooFastError) {
	if t.sign != nil || !t.call.Batch {
		return nil, nil
	}
	l := t.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.begin(t.call)
	b.count(t.call)
	if blocked = b.blocked(t.call, l.now()); blocked != nil {
		return b.freed, blocked
	}
	b.n++
	place := strconv.Itoa(b.n)
	t.begun, t.sent = b, b.depart(t.call, place)
	b.flying[place] = t
	t.place = place
	return nil, nil
}

// endBegun gives a place in memory back, unless the zone has gone to the store meanwhile. What it says to other processes
// takes it there, with all its places.
func (t *Turn) endBegun(ctx context.Context, a Answer) (reason string, judged bool) {
	l := t.limiter
	if l == nil {
		return "", false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	b := t.begun
	if b == nil {
		return "", false
	}
	now := l.now()
	b.leave(t)
	b.judge(t.call, t.sent, a, now)
	reason = b.reason(t.call)
	if b.limits() {
		moved := false
		t.update(context.WithoutCancel(ctx), true, func(z *Zone, _ time.Time) {
			if !z.Blank() { // another process was first
				z.judge(t.call, departure{}, a, now)
				reason = z.reason(t.call)
			} else {
				b.copyTo(z)
			}
			b.place(l.Store, z)
			z.Touched, moved = now, true
		})
		if moved {
			clear(b.flying)
			b.Zone = Zone{}
		}
	}
	return reason, true
}

// leave gives a place back. The limiter's mu is held, as for all that follow.
func (b *begun) leave(t *Turn) {
	delete(b.Places, t.place)
	delete(b.flying, t.place)
	t.begun = nil
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
	*z = b.Zone
	z.Places, z.Paces = nil, maps.Clone(b.Paces)
	maps.DeleteFunc(z.Paces, func(host string, p *Pace) bool { return host != "" && p.Change == 0 })
}

// place gives the calls in flight their places in the store.
func (b *begun) place(s Store, z *Zone) {
	for _, t := range b.flying {
		t.begun = nil
		if sign, err := s.Sign(t.call); err == nil {
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
	t.update(ctx, false, func(z *Zone, now time.Time) { words = z.words(now) })
	l.mu.Lock()
	defer l.mu.Unlock()
	if b := l.batches[c.Profile+"\x00"+c.Zone]; b != nil && words == "" {
		words = b.words(l.now())
	}
	return words
}
