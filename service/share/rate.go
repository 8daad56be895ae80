package share

import (
	"context"
	"math"
	"sync"
	"time"

	"zonedeck/service/database"
)

// lateness is how late a moment may be used. One that comes later, as after a stop, would come beside others.
const lateness = 20 * time.Millisecond

// Rate spreads what workers begin evenly over time: at most so many in a second, of all workers together.
type Rate struct {
	shares *Shares
	name   string

	turn    chan struct{} // held by the one that takes moments
	mu      sync.Mutex
	every   time.Duration // 0 has no bound
	moments []time.Time   // taken and not used
}

// Rate is the rate of a name. It has no bound before Set.
func (s *Shares) Rate(name string) *Rate {
	return &Rate{shares: s, name: name, turn: make(chan struct{}, 1)}
}

// Set changes the rate; 0 has no bound. All workers of a name set the same.
func (r *Rate) Set(perSecond float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	every := time.Duration(0)
	if perSecond > 0 {
		every = time.Duration(float64(time.Second) / perSecond)
	}
	if every != r.every {
		r.every, r.moments = every, nil
	}
}

// Wait waits for the next moment.
func (r *Rate) Wait(ctx context.Context) error {
	for {
		at, every := r.next()
		if every == 0 {
			return context.Cause(ctx)
		}
		if at.IsZero() {
			if err := r.take(ctx); err != nil {
				return err
			}
			continue
		}
		timer := time.NewTimer(time.Until(at))
		select {
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-timer.C:
			if !late(at, every) {
				return nil
			}
		}
	}
}

func late(moment time.Time, every time.Duration) bool {
	return At(moment.Add(max(every, lateness))).Over(time.Now())
}

// next gives the next moment that was taken, or the zero time. Moments that are over are dropped: used late, several
// would come at once.
func (r *Rate) next() (at time.Time, every time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.moments) > 0 && at.IsZero() {
		if first := r.moments[0]; !late(first, r.every) {
			at = first
		}
		r.moments = r.moments[1:]
	}
	return at, r.every
}

// take takes moments for an eighth of a second, at least one, from the server. The server's times are relative to its
// answer, which comes later: no moment is early.
func (r *Rate) take(ctx context.Context) error {
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	r.mu.Lock()
	every, enough := r.every, len(r.moments) > 0
	r.mu.Unlock()
	if enough || every == 0 {
		return nil
	}
	n := max(1, int(math.Floor(float64(time.Second/8)/float64(every))))
	var first int64
	err := r.shares.db.Pool.QueryRow(ctx, `INSERT INTO key_rates (name, next) VALUES ($1, `+database.Clock+` + $2)
		ON CONFLICT (name) DO UPDATE SET next = GREATEST(key_rates.next, `+database.Clock+`) + $2
		RETURNING next - $2 - `+database.Clock, r.name, int64(n)*every.Microseconds()).Scan(&first)
	if err != nil {
		return r.shares.db.Fault("waiting for the rate "+r.name, err)
	}
	begin := time.Now().Add(time.Duration(max(first, 0)) * time.Microsecond)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.every == every {
		for i := range n {
			r.moments = append(r.moments, begin.Add(time.Duration(i)*every))
		}
	}
	return nil
}
