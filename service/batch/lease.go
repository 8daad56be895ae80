package batch

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"zonedeck/model"
	"zonedeck/service/exchange"
	"zonedeck/service/share"
)

// leases are a worker's parts of the limits that the workers on a server have in common: first the batch's own, then
// those of its zones, which other batches share. All are renewed at once. On one machine there are none.
type leases struct {
	limits []*slots
	wish   chan struct{} // asks for a renewal at once

	mu      sync.Mutex
	last    share.Lease     // of any of them
	lapsing context.Context //nolint:containedctx // ends when the last lease ends without a new one
	lapse   context.CancelCauseFunc
	end     *time.Timer
}

// errLapsed cuts off a fetch whose slots are other workers' now.
var errLapsed = errors.New("the lease of its slots ended before the database answered")

// lend makes new leases bound what is in flight.
func (l *leases) lend(to []share.Lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = to[0]
	if l.lapsing == nil || l.lapsing.Err() != nil {
		l.lapsing, l.lapse = context.WithCancelCause(context.Background())
	}
	if l.end != nil {
		l.end.Stop()
	}
	l.end = time.AfterFunc(l.last.Lasts(), l.expire)
	for i, s := range l.limits {
		s.lend(to[i])
	}
}

// expire cuts off what is in flight, if there is no newer lease.
func (l *leases) expire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last.Over(time.Now()) {
		l.lapse(errLapsed)
	}
}

// cover gives a context that ends with the lease, and leave, which ends it; false if a fetch that begins now would outlast
// the lease.
func (l *leases) cover(ctx context.Context) (lasting context.Context, leave func(), covered bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.last.Covers(time.Now()) {
		return nil, nil, false
	}
	lasting, cut := context.WithCancelCause(ctx)
	stop := context.AfterFunc(l.lapsing, func() { cut(errLapsed) })
	return lasting, func() { stop(); cut(nil) }, true
}

// close ends the leases.
func (l *leases) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.end != nil {
		l.end.Stop()
		l.lapse(nil)
	}
}

// gate lets a try through while the batch goes on and each limit has a slot for it.
type gate struct {
	handing context.Context //nolint:containedctx // ends when nothing more may be sent
	leases  *leases
	limits  []*slots // of these
}

// Enter implements fetch.Slots.
func (g *gate) Enter(ctx context.Context, product func() (func(), error)) (lasting context.Context, leave func(), err error) {
	for {
		taken := 0
		for ; err == nil && taken < len(g.limits); taken++ {
			err = g.limits[taken].take(g.handing)
		}
		back := func() {
			for _, s := range g.limits[:taken] {
				s.leave()
			}
		}
		if err != nil {
			taken--
			back()
			return nil, nil, err
		}
		out, err := product()
		if err == nil && g.handing.Err() != nil {
			out()
			err = context.Cause(g.handing)
		}
		if err != nil {
			back()
			return nil, nil, err
		}
		if len(g.limits) == 0 {
			return ctx, out, nil
		}
		if lasting, end, covered := g.leases.cover(ctx); covered {
			return lasting, func() { end(); out(); back() }, nil
		}
		out()
		back()
	}
}

// entrance lets a try through a gate, and marks it as sent then: what waits for a slot was not sent.
type entrance struct {
	r *runner
	t *trip
}

// Enter implements fetch.Slots.
func (e entrance) Enter(ctx context.Context, product func() (func(), error)) (lasting context.Context, leave func(), err error) {
	if lasting, leave, err = e.r.gates[e.t.way].Enter(ctx, product); err != nil {
		return nil, nil, err
	}
	if err := e.r.stock.mark(ctx, e.t.place, e.t.line.Attempts+1); err != nil {
		leave()
		return nil, nil, err
	}
	return lasting, leave, nil
}

// inProgress is how many items a worker works on at once: no more than its products let it send.
func (p Plan) inProgress(atOnce int) int {
	most := 0
	for _, of := range p.ways() {
		most = max(most, usualLimit(of))
	}
	return min(p.whole(atOnce), most)
}

// whole is how many fetches of the batch may be in flight, of all workers together.
func (p Plan) whole(atOnce int) int { return cmp.Or(atOnce, usualLimit(p.Request)) }

// usualLimit is how many fetches of a product this program has in flight.
func usualLimit(r model.FetchRequest) int { return int(exchange.LimitOf(r.Zone.Product).Concurrency) }

// shareLimits has the sends of a run end with handing, and on a server keep to the limits of all its workers.
func (r *runner) shareLimits(handing context.Context) {
	l := &r.leases
	l.wish = make(chan struct{}, 1)
	zones := map[string]*slots{}
	limit := func(name string, usable int) *slots {
		s := &slots{wish: l.wish, shared: &share.Claim{Zone: name, Worker: r.sharer(), Usable: usable}}
		l.limits = append(l.limits, s)
		return s
	}
	if r.store.Server != nil {
		limit(lane(r.id), r.plan.inProgress(1<<30))
	}
	for _, of := range r.plan.ways() {
		g := &gate{handing: handing, leases: l}
		if r.gates = append(r.gates, g); r.store.Server == nil {
			continue
		}
		name := r.plan.Profile + "/" + string(of.Zone.Name)
		if zones[name] == nil {
			zones[name] = limit(name, usualLimit(of))
		}
		g.limits = []*slots{l.limits[0], zones[name]}
	}
}

// sharer names this worker among those that share limits: each of its batches has a part of its own.
func (r *runner) sharer() string { return r.name + "/" + r.id }

// resize takes how many fetches of the batch may be in flight. A zone bears what its product usually does, or what the
// operator asks for.
func (r *runner) resize(atOnce int) {
	r.slots.resize(r.plan.inProgress(atOnce))
	for i, s := range r.leases.limits {
		if i == 0 {
			s.resize(r.plan.whole(atOnce))
		} else {
			s.resize(max(atOnce, s.shared.Usable))
		}
	}
}

// renewLease renews the leases, and takes the rate of the key.
func (r *runner) renewLease(ctx context.Context) error {
	if r.store.Server == nil {
		return nil
	}
	longest := time.Duration(0)
	for _, way := range r.ways {
		timeout, keyRate, err := way.Limits(ctx)
		if err != nil {
			return err
		}
		longest = max(longest, timeout)
		r.keyRate.Set(keyRate)
	}
	var claims []share.Claim
	for _, s := range r.leases.limits {
		claims = append(claims, s.claim(longest))
	}
	began := time.Now()
	to, err := r.store.Server.Shares.Renew(ctx, claims...)
	if err == nil {
		r.leases.lend(to)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.loseReserved()
		r.deadAt = share.At(began.Add(deadFor))
	}
	return err
}

// loseReserved drops what was reserved for tries to come if the worker was silent for so long that others may have given
// it back. r.mu is held.
func (r *runner) loseReserved() {
	if r.store.Server != nil && r.deadAt.Over(time.Now()) {
		r.purse.free = 0
	}
}

// missing says which slots are not back yet, or "".
func (l *leases) missing() string {
	for _, s := range l.limits {
		if text := s.missing(); text != "" {
			return text
		}
	}
	return ""
}

// deadFor is how long a worker may be silent before others count it as dead.
const deadFor = 15 * time.Second

// keepLease renews the leases until ctx ends.
func (r *runner) keepLease(ctx context.Context) {
	every := time.NewTicker(share.RenewEvery)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		case <-r.leases.wish:
		}
		r.leases.expire() // the machine may have slept, and the timer with it
		if err := r.renewLease(ctx); err != nil {
			r.b.Log.Warn("nothing is sent until the share of the zone's limit is renewed", "error", err)
		}
	}
}

// lease has the leases renewed until end, which gives them back unless something may still be in flight at the service.
func (r *runner) lease(ctx context.Context) (end func()) {
	renewing, stop := context.WithCancel(context.WithoutCancel(ctx))
	var kept sync.WaitGroup
	if r.store.Server != nil {
		kept.Go(func() { r.keepLease(renewing) })
	}
	return func() {
		stop()
		kept.Wait()
		r.leases.close()
		if r.store.Server == nil || r.cut {
			return
		}
		if err := r.store.Server.Shares.Return(context.WithoutCancel(ctx), r.sharer()); err != nil {
			r.b.Log.Warn("the slots of the zone are back when their lease ends", "error", err)
		}
	}
}
