package share

import (
	"context"
	"database/sql"
	"time"

	"zonedeck/service/database"
)

// RenewEvery is how often a worker renews its lease, and margin how long that lasts beyond the longest fetch.
const (
	RenewEvery = 500 * time.Millisecond
	margin     = 3 * time.Second
)

var migrations = []string{`
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
`}

// Shares are the limits on a server.
type Shares struct{ db *database.Server }

// Open opens the shares on a server, and makes their tables.
func Open(ctx context.Context, s *database.Server) (*Shares, error) {
	return &Shares{s}, s.Migrate(ctx, "share", migrations)
}

// Claim is what a worker has and wants of a zone's limit.
type Claim struct {
	Zone, Worker string
	Limit        int
	Flying       int  // fetches in flight, which keep their slots
	Wants        bool // whether it could use more
	Timeout      time.Duration
}

// Lease is a worker's part of a limit. The zero Lease allows nothing.
type Lease struct {
	Slots   int
	Waiting int           // slots that dead workers still hold
	Back    time.Duration // until the last of these are back
	until   time.Time
	timeout time.Duration
}

// Covers reports whether a fetch that begins at a moment ends within the lease.
func (l Lease) Covers(now time.Time) bool { return now.Add(l.timeout).Before(l.until) }

// Until is when the lease ends.
func (l Lease) Until() time.Time { return l.until }

// silent is when a worker that has not renewed counts as dead: what it holds comes back with the end of its lease.
const silent = 10 * RenewEvery

// Renew renews the lease of a worker, or begins it. What is in flight beyond the worker's part stays in the lease, and
// the worker takes no new slots until it is below.
func (s *Shares) Renew(ctx context.Context, c Claim) (Lease, error) {
	lease := Lease{timeout: c.Timeout, until: time.Now().Add(c.Timeout + margin)} // from before the server counts
	err := s.db.Write(ctx, "renewing the slots of zone "+c.Zone, func(ctx context.Context, tx *sql.Tx) error {
		if err := database.Lock(ctx, tx, "zone "+c.Zone); err != nil {
			return err
		}
		held, wanting := 0, 1
		const others = `SELECT slots, wants, ` + database.Clock + ` - renewed, until - ` + database.Clock + ` FROM zone_slots
			WHERE zone = $1 AND worker <> $2 AND until > ` + database.Clock
		fair := c.Limit
		err := database.Each(ctx, tx, others, []any{c.Zone, c.Worker}, func(row database.Scanner) error {
			var slots, wants int
			var ago, left int64
			if err := row.Scan(&slots, &wants, &ago, &left); err != nil {
				return err
			}
			switch held += slots; {
			case ago > silent.Microseconds():
				fair -= slots
				lease.Waiting += slots
				lease.Back = max(lease.Back, time.Duration(left)*time.Microsecond)
			case wants == 0:
				fair -= slots
			default:
				wanting++
			}
			return nil
		})
		if err != nil {
			return err
		}
		lease.Slots = part(c, fair, wanting, c.Limit-held)
		_, err = tx.ExecContext(ctx, `INSERT INTO zone_slots (zone, worker, slots, wants, renewed, until) VALUES ($1, $2, $3, $4, `+database.Clock+`, `+database.Clock+` + $5)
			ON CONFLICT (zone, worker) DO UPDATE SET slots = excluded.slots, wants = excluded.wants, renewed = excluded.renewed, until = excluded.until`,
			c.Zone, c.Worker, max(lease.Slots, c.Flying), wish(c.Wants), (c.Timeout + margin).Microseconds())
		return err
	})
	if err != nil {
		return Lease{}, err
	}
	return lease, nil
}

// part is how many slots a worker gets of those that are free, where fair are for the workers that want some.
func part(c Claim, fair, wanting, free int) int {
	want := (max(fair, 0) + wanting - 1) / wanting
	if !c.Wants {
		want = min(want, c.Flying+1)
	}
	return max(min(want, free), 0)
}

func wish(wants bool) int {
	if wants {
		return 1
	}
	return 0
}

// Return gives the slots of a worker back. None of its fetches may be in flight.
func (s *Shares) Return(ctx context.Context, zone, worker string) error {
	return s.db.Write(ctx, "returning slots", func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM zone_slots WHERE zone = $1 AND (worker = $2 OR until < "+database.Clock+" - 3600000000)", zone, worker)
		return err
	})
}
