package share

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"zonedeck/service/database"
)

// RenewEvery is how often a worker renews its lease, and margin how long that lasts beyond the longest fetch.
const (
	RenewEvery = 500 * time.Millisecond
	margin     = 3 * time.Second
)

var migrations = []string{
	`
CREATE TABLE zone_slots (
	zone   TEXT NOT NULL,
	worker TEXT NOT NULL,
	slots  BIGINT NOT NULL,
	wants  BIGINT NOT NULL, -- 1 for a worker that could use more
	renewed BIGINT NOT NULL,
	until  BIGINT NOT NULL,
	PRIMARY KEY (zone, worker)
);
CREATE TABLE key_rates (
	name TEXT PRIMARY KEY,
	next BIGINT NOT NULL -- the first moment that nobody has taken
);
`, "ALTER TABLE zone_slots ADD COLUMN known_limit BIGINT NOT NULL DEFAULT 0", // of the zone, as the worker knows it
}

// Shares are the limits on a server.
type Shares struct{ db *database.Server }

// Open opens the shares on a server, and makes their tables.
func Open(ctx context.Context, s *database.Server) (*Shares, error) {
	return &Shares{s}, s.Migrate(ctx, "share", migrations)
}

// Claim is what a worker has and wants of a limit.
type Claim struct {
	Zone, Worker string // Zone names the limit
	Limit        int    // of all; that of the worker who knows the highest holds
	Usable       int    // of it, by this worker
	Flying       int    // the most fetches in flight since the last claim
	Holds        int    // slots that it may use until it has the lease: these stay its own
	Wants        bool   // whether it could use more
	Timeout      time.Duration
}

// Lease is a worker's part of a limit. The zero Lease allows nothing.
type Lease struct {
	Slots   int
	Waiting int           // slots that dead workers still hold
	Back    time.Duration // until the last of these are back
	until   Deadline
	timeout time.Duration
}

// Deadline is a moment by both clocks of a machine: one stands still while the machine sleeps, the other may be set. The
// zero Deadline is over.
type Deadline struct{ running, wall time.Time }

// At is the deadline at a moment.
func At(t time.Time) Deadline { return Deadline{t, t.Round(0)} }

// Over reports whether a deadline is over by either clock.
func (d Deadline) Over(now time.Time) bool {
	return !now.Before(d.running) || !now.Round(0).Before(d.wall)
}

// Covers reports whether a fetch that begins at a moment ends within the lease.
func (l Lease) Covers(now time.Time) bool { return !l.Over(now.Add(l.timeout)) }

// Over reports whether the lease has ended.
func (l Lease) Over(now time.Time) bool { return l.until.Over(now) }

// Lasts is how long the lease lasts, if the machine does not sleep.
func (l Lease) Lasts() time.Duration { return time.Until(l.until.running) }

// silent is when a worker that has not renewed counts as dead: what it holds comes back with the end of its lease.
const silent = 10 * RenewEvery

// Renew renews the leases of a worker, or begins them, all or none. A lease has no more slots than the worker's part. What
// the worker holds beyond that stays in the lease until the next renewal says that it is free. A worker that has nothing
// in flight and wants nothing gets none.
func (s *Shares) Renew(ctx context.Context, claims ...Claim) (leases []Lease, err error) {
	now := time.Now() // before the server counts
	err = s.db.Write(ctx, "renewing the slots of a zone", func(ctx context.Context, tx *sql.Tx) error {
		for _, i := range inOrder(claims) { // so that two workers do not wait for each other
			if err := database.Lock(ctx, tx, "zone "+claims[i].Zone); err != nil {
				return err
			}
		}
		for _, c := range claims {
			lease, err := renew(ctx, tx, c)
			if err != nil {
				return err
			}
			lease.timeout, lease.until = c.Timeout, At(now.Add(c.Timeout+margin))
			leases = append(leases, lease)
		}
		return nil
	})
	return leases, err
}

// inOrder are the indexes of claims by the names of their limits.
func inOrder(claims []Claim) []int {
	order := make([]int, len(claims))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(claims[a].Zone, claims[b].Zone) })
	return order
}

func renew(ctx context.Context, tx *sql.Tx, c Claim) (lease Lease, err error) {
	held, spoken, wanting, limit := 0, 0, 1, c.Limit
	const others = `SELECT slots, wants, known_limit, ` + database.Clock + ` - renewed, until - ` + database.Clock + ` FROM zone_slots
		WHERE zone = $1 AND worker <> $2 AND until > ` + database.Clock
	err = database.Each(ctx, tx, others, []any{c.Zone, c.Worker}, func(row database.Scanner) error {
		var n, wants, known int
		var ago, left int64
		if err := row.Scan(&n, &wants, &known, &ago, &left); err != nil {
			return err
		}
		switch held += n; {
		case ago > silent.Microseconds():
			spoken += n
			if lease.Waiting += n; n > 0 {
				lease.Back = max(lease.Back, time.Duration(left)*time.Microsecond)
			}
			return nil
		case wants == 0:
			spoken += n
		default:
			wanting++
		}
		limit = max(limit, known)
		return nil
	})
	if err != nil {
		return lease, err
	}
	lease.Slots = part(c, limit-spoken, wanting, limit-held)
	_, err = tx.ExecContext(ctx, `INSERT INTO zone_slots (zone, worker, slots, wants, known_limit, renewed, until) VALUES ($1, $2, $3, $4, $5, `+database.Clock+`, `+database.Clock+` + $6)
		ON CONFLICT (zone, worker) DO UPDATE SET slots = excluded.slots, wants = excluded.wants, known_limit = excluded.known_limit, renewed = excluded.renewed, until = excluded.until`,
		c.Zone, c.Worker, max(lease.Slots, c.Holds), wish(c.Wants && lease.Slots < c.Usable), c.Limit, (c.Timeout + margin).Microseconds())
	return lease, err
}

// part is how many slots a worker gets of those that are free, where fair are for the workers that want some.
func part(c Claim, fair, wanting, free int) int {
	want := min((max(fair, 0)+wanting-1)/wanting, c.Usable)
	switch {
	case c.Wants:
	case c.Flying == 0:
		want = 0
	default:
		want = min(want, c.Flying+1) // one in reserve
	}
	return max(min(want, free), 0)
}

func wish(wants bool) int {
	if wants {
		return 1
	}
	return 0
}

// Held is how many slots of a limit each worker has, whose name ends at a "/".
func (s *Shares) Held(ctx context.Context, name string) (map[string]int, error) {
	held := map[string]int{}
	err := database.Each(ctx, s.db, "SELECT worker, slots FROM zone_slots WHERE zone = $1 AND until > "+database.Clock, []any{name}, func(row database.Scanner) error {
		var worker string
		var slots int
		err := row.Scan(&worker, &slots)
		process, _, _ := strings.Cut(worker, "/")
		held[process] = slots
		return err
	})
	return held, err
}

// Return gives all slots of a worker back, and forgets those who are dead for an hour. None of its fetches may be in flight.
func (s *Shares) Return(ctx context.Context, worker string) error {
	return s.db.Write(ctx, "returning slots", func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM zone_slots WHERE worker = $1 OR until < "+database.Clock+" - 3600000000", worker)
		return err
	})
}

// Forget forgets a limit and a rate of a name that nobody uses any more.
func (s *Shares) Forget(ctx context.Context, name string) error {
	return s.db.Write(ctx, "forgetting the limits of "+name, func(ctx context.Context, tx *sql.Tx) error {
		for _, from := range []string{"zone_slots WHERE zone", "key_rates WHERE name"} {
			if _, err := tx.ExecContext(ctx, "DELETE FROM "+from+" = $1", name); err != nil {
				return err
			}
		}
		return nil
	})
}
