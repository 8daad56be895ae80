package share

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"zonedeck/service/database"
	"zonedeck/service/pace"
)

const (
	// turns is how often what remains of a limit that its processes cannot share evenly goes to the next of them.
	turns = 4 * RenewEvery
	// waits is how long a process counts as one that waits for its first place.
	waits = 10 * RenewEvery
)

// zone is what a process knows of a zone on the server.
type zone struct {
	paces  *Paces
	asking *semaphore.Weighted // held by the call that asks the server

	mu      sync.Mutex
	at      time.Time      // the server was asked
	known   pace.Zone      // as it was then, with the places of this process as they are
	since   []pace.Outcome // that the server does not know of
	places  int            // that were ever taken
	timeout time.Duration  // the longest
}

// row is a zone on the server.
type row struct {
	pace.Zone
	Parts map[string]holding // by process
}

// holding is what a process has of the limits of a zone: how many places, by host, "" for the zone. Where it waits for its
// first it has 0. It is over when its calls must have ended.
type holding struct {
	Held  map[string]int
	Until int64
}

// looking is what a call does with a zone as it is.
type looking = func(z *pace.Zone, signs pace.Signs)

// exchange is what a call asks a zone for.
type exchange struct {
	c      pace.Call
	enters bool
	reads  bool          // it neither enters nor ended
	moves  *pace.Outcome // or nil
}

// look shows a zone to a call. The first of a beat asks the server, and the others go by what is known meanwhile, as long as
// that is not too old.
func (z *zone) look(ctx context.Context, s *database.Server, x exchange, look looking) error {
	due, must := z.due(x)
	if due && !z.asking.TryAcquire(1) {
		if due = must; must {
			if err := z.asking.Acquire(ctx, 1); err != nil {
				return err
			}
		}
	}
	if due {
		defer z.asking.Release(1)
		if due, _ = z.due(x); due {
			return z.exchange(ctx, s, x, look)
		}
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	look(&z.known, z)
	return nil
}

// due reports whether it is time to ask the server. It must be asked where what is known is too old, and for the part of a
// limit that the process has none of yet.
func (z *zone) due(x exchange) (due, must bool) {
	z.mu.Lock()
	defer z.mu.Unlock()
	age := z.paces.Clock.Now().Round(0).Sub(z.at)        // also while the machine slept
	if x.reads && len(z.known.Part) > 0 && age < waits { // it holds or waits, and goes on with that
		return false, false
	}
	must = age >= 2*RenewEvery || age < 0
	for _, host := range x.c.Hosts() {
		_, asked := z.known.Part[host]
		must = must || x.enters && z.known.Paces[host] != nil && !asked
	}
	return must || age >= RenewEvery, must
}

// learn takes what came of a call. The server is told with the next beat, or at once where that is urgent, or where the
// process has no other call there, so that the others get its part.
func (z *zone) learn(ctx context.Context, s *database.Server, o pace.Outcome) (says string, err error) {
	x := exchange{c: o.Call}
	z.mu.Lock()
	if o.Moves() {
		x.moves = &o
	} else {
		z.since = append(z.since, o)
	}
	o.Leave(&z.known)
	last := len(z.known.Places) == 0
	z.mu.Unlock()
	if due, _ := z.due(x); due || last || o.Urgent() {
		if err := z.asking.Acquire(ctx, 1); err != nil {
			return "", err
		}
		defer z.asking.Release(1)
		z.mu.Lock()
		told := x.moves == nil && len(z.since) == 0 // by another
		z.mu.Unlock()
		if !told {
			err = z.exchange(ctx, s, x, func(*pace.Zone, pace.Signs) {})
		}
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.known.Reason(o.Call), err
}

const readRow = "SELECT COALESCE((SELECT known FROM pace_zones WHERE profile = $1 AND zone = $2), ''), " + database.Clock

// exchange asks the server for what is known of a zone, and tells it what it does not know.
func (z *zone) exchange(ctx context.Context, s *database.Server, x exchange, look looking) error {
	var known string
	var now int64
	asking, cancel := context.WithTimeout(ctx, answerIn)
	defer cancel()
	if err := s.QueryRowContext(asking, readRow, x.c.Profile, x.c.Zone).Scan(&known, &now); err != nil {
		return s.Fault("reading the pace of zone "+x.c.Zone, err)
	}
	if z.saw(known, now, x, look) {
		return nil
	}
	return s.Write(ctx, "writing the pace of zone "+x.c.Zone, func(ctx context.Context, tx *sql.Tx) error {
		if err := database.Lock(ctx, tx, fmt.Sprintf("pace %q %q", x.c.Profile, x.c.Zone)); err != nil {
			return err
		}
		if err := tx.QueryRowContext(ctx, readRow, x.c.Profile, x.c.Zone).Scan(&known, &now); err != nil {
			return err
		}
		after, err := z.merge(known, now, x, look)
		switch {
		case err != nil || after == known:
		case after == "":
			_, err = tx.ExecContext(ctx, "DELETE FROM pace_zones WHERE profile = $1 AND zone = $2", x.c.Profile, x.c.Zone)
		default:
			_, err = tx.ExecContext(ctx, `INSERT INTO pace_zones (profile, zone, known) VALUES ($1, $2, $3)
				ON CONFLICT (profile, zone) DO UPDATE SET known = excluded.known`, x.c.Profile, x.c.Zone, after)
		}
		return err
	})
}

// saw takes what is known of a zone, and reports whether the server has to be told nothing.
func (z *zone) saw(known string, now int64, x exchange, look looking) bool {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.paces.follow(now)
	if x.moves != nil || len(z.since)+len(z.known.Places) > 0 || known != "" && !x.reads {
		return false
	}
	z.known, z.at = pace.ReadZone([]byte(known)), z.paces.Clock.Now().Round(0)
	z.known.Places = nil
	look(&z.known, z)
	return true
}

// merge puts what the server knows of a zone and what this process does together, takes the process's parts of the
// limits, and gives what the server has to know. The process goes by it at once: no other can ask before it is written.
func (z *zone) merge(known string, now int64, x exchange, look looking) (after string, err error) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.paces.follow(now)
	now += z.paces.moved.Microseconds()
	next := row{Zone: pace.ReadZone([]byte(known))}
	var had struct{ Parts map[string]holding }
	if known != "" {
		_ = json.Unmarshal([]byte(known), &had) // what is damaged begins anew
	}
	next.Parts = had.Parts
	maps.DeleteFunc(next.Parts, func(_ string, other holding) bool { return other.Until < now })
	next.Places = z.known.Places
	for host, was := range z.known.Paces {
		if p := next.Paces[host]; p != nil && was != nil && p.Change == was.Change {
			p.Wanted = p.Wanted || was.Wanted
		}
	}
	for _, o := range z.since {
		o.To(&next.Zone, z)
	}
	z.since = nil
	if x.moves != nil {
		x.moves.To(&next.Zone, z)
	}
	z.timeout = max(z.timeout, x.c.Timeout)
	next.divide(z.paces.name, x, now, z.timeout)
	look(&next.Zone, z)
	z.known, z.at = next.Zone, z.paces.Clock.Now().Round(0)
	if next.Blank() {
		return "", nil
	}
	next.Places = nil
	text, err := json.Marshal(next)
	return string(text), err
}

// divide gives a process its part of each limit: its share among those that have calls there, of what they do not hold.
func (r *row) divide(name string, x exchange, now int64, timeout time.Duration) {
	flying := map[string]int{}
	if x.enters {
		for _, host := range x.c.Hosts() {
			flying[host] = 0
		}
	}
	for _, host := range r.Places {
		if flying[host]++; host != "" {
			flying[""]++
		}
	}
	mine := holding{map[string]int{}, now + waits.Microseconds()}
	r.Part, r.HeldByOthers = map[string]int{}, map[string]int{}
	for host, n := range flying {
		p := r.Paces[host]
		if p == nil && host != "" {
			continue
		}
		among := []string{name}
		for other, has := range r.Parts {
			if held, is := has.Held[host]; is && other != name {
				among = append(among, other)
				r.HeldByOthers[host] += held
			}
		}
		if p != nil {
			r.Part[host] = max(0, min(share(p.Limit, name, among, now), p.Limit-r.HeldByOthers[host]))
		}
		if mine.Held[host] = max(r.Part[host], n); mine.Held[host] > 0 {
			mine.Until = now + (timeout + margin).Microseconds()
		}
	}
	delete(r.Parts, name)
	if len(flying) > 0 {
		if r.Parts == nil {
			r.Parts = map[string]holding{}
		}
		r.Parts[name] = mine
	}
}

// share is how much of a limit is for one of several. What remains goes round.
func share(limit int, name string, among []string, now int64) int {
	slices.Sort(among)
	n, at := len(among), slices.Index(among, name)+int(now/turns.Microseconds())
	if at%n < limit%n {
		return limit/n + 1
	}
	return limit / n
}

// place is that of a call in flight.
type place struct {
	zone *zone
	name string
}

func (p place) Name() string { return p.name }

func (p place) Release() {
	p.zone.mu.Lock()
	defer p.zone.mu.Unlock()
	delete(p.zone.known.Places, p.name)
}

// Sign is that of [pace.Signs]. mu is held.
func (z *zone) Sign(pace.Call) (pace.Sign, error) {
	z.places++
	return place{z, strconv.Itoa(z.places)}, nil
}
