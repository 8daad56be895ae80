package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"zonedeck/model"
	"zonedeck/service/batch/files"
	"zonedeck/service/database"
	"zonedeck/service/work"
)

// ErrUnknown says that there is no such batch.
var ErrUnknown = errors.New("there is no such batch")

// State is where a batch is.
type State string

// The states of a batch.
const (
	Running State = "running" // wants work, whether or not a process works on it
	Paused  State = "paused"
	Capped  State = "capped" // the next fetch could pass the cap
	Held    State = "held"   // all but the lost items that wait for a decision is done
	Done    State = "done"
)

// Batch is one batch. Amounts are in billionths of a dollar.
type Batch struct {
	ID, Name, Profile       string
	Plan                    json.RawMessage // references, no secrets
	Created, Changed, Ended time.Time
	Items, Duplicates       int64
	Slices                  int
	Digest                  string // of the items
	State                   State
	Reason                  string // of the state
	AtOnce                  int    // how many fetches may be in flight; 0 is what the product allows
	Rate                    float64
	Cap, Spent, Reserved    int64 // Cap 0 is none
	Queued                  int   // slices that were put into the queue
	Tally                   Tally
	Pace                    string // how many fetches went at once at the last commit, and why not more
}

// Outcome is what became of an item, one letter each in a slice's row.
type Outcome byte

// The outcomes of items.
const (
	ToSend    Outcome = '.'
	Again     Outcome = 'r' // it was sent and not answered; it is sent again
	Answered  Outcome = 'd'
	Duplicate Outcome = 'u'
	Lost      Outcome = 'h' // it was sent and not answered; whether it is sent again waits for a decision
	Dropped   Outcome = 'x' // it was lost, and is not sent again
	Retried   Outcome = 't' // it has a result, and is sent again for a better one
)

// cooldown is the least time between two looks for slices: a worker has enough for much longer at hand.
const cooldown = 20 * time.Millisecond

// Open reports whether the item is to be sent.
func (o Outcome) Open() bool { return o == ToSend || o == Again || o == Retried }

// Slice are the outcomes of a slice's items.
type Slice []Outcome

// Todo counts the items that are to be sent.
func (s Slice) Todo() (n int) {
	for _, o := range s {
		if o.Open() {
			n++
		}
	}
	return n
}

var migrations = [...]string{
	`
CREATE TABLE batches (
	id         TEXT PRIMARY KEY,
	name       TEXT NOT NULL,
	profile    TEXT NOT NULL,
	plan       TEXT NOT NULL,
	created    BIGINT NOT NULL,
	changed    BIGINT NOT NULL,
	ended      BIGINT NOT NULL,
	items      BIGINT NOT NULL,
	duplicates BIGINT NOT NULL,
	slices     BIGINT NOT NULL,
	digest     TEXT NOT NULL,
	state      TEXT NOT NULL,
	reason     TEXT NOT NULL,
	at_once    BIGINT NOT NULL,
	rate       DOUBLE PRECISION NOT NULL,
	cap        BIGINT NOT NULL,
	spent      BIGINT NOT NULL,
	queued     BIGINT NOT NULL,
	tally      TEXT NOT NULL
);
CREATE UNIQUE INDEX batches_name ON batches (profile, name) WHERE name <> '';

CREATE TABLE batch_slices (
	batch    TEXT NOT NULL,
	slice    BIGINT NOT NULL,
	todo     BIGINT NOT NULL,
	outcomes TEXT NOT NULL,
	PRIMARY KEY (batch, slice)
);
CREATE INDEX batch_slices_todo ON batch_slices (batch, slice) WHERE todo > 0;

CREATE TABLE batch_workers (
	batch    TEXT NOT NULL,
	worker   TEXT NOT NULL,
	written  BIGINT NOT NULL, -- bytes of its results that are committed
	segment  BIGINT NOT NULL, -- its newest segment of bodies, and the bytes of that
	bytes    BIGINT NOT NULL,
	reserved BIGINT NOT NULL,
	PRIMARY KEY (batch, worker)
);
`,
	"ALTER TABLE batches ADD COLUMN pace TEXT NOT NULL DEFAULT '';",
	`
CREATE TABLE batch_counts (
	batch TEXT NOT NULL,
	host  TEXT NOT NULL,
	rule  BIGINT NOT NULL,
	times BIGINT NOT NULL,
	PRIMARY KEY (batch, host, rule)
);
`,
}

const columns = `id, name, profile, plan, created, changed, ended, items, duplicates, slices, digest, state, reason, at_once, rate, cap, spent, queued, tally, pace,
	(SELECT COALESCE(SUM(reserved), 0) FROM batch_workers WHERE batch = batches.id)`

// Named asks the newest batches for database.Names.
const Named = "SELECT CASE WHEN name <> '' THEN name ELSE id END, items || ' items, ' || state FROM batches ORDER BY created DESC LIMIT 200"

// Store is an open store.
type Store struct {
	work.Queue
	db *database.DB
	// Server is nil where the store is a file.
	Server *Server
}

// Open opens the store in a file, with the queue of its slices.
func Open(ctx context.Context, path string, now func() time.Time, log *slog.Logger) (s *Store, notice string, err error) {
	db, damage, err := database.Open(ctx, path, database.Options{
		Name: "store of batches", Migrations: migrations[:], Tables: []string{"batches", "batch_slices", "batch_workers", "batch_counts"}, Now: now, Busy: database.Busy,
	})
	if err != nil {
		return nil, "", err
	}
	if damage != nil {
		notice = fmt.Sprintf("The store of batches %s was damaged (%v). It is kept as %s, and a new one was begun; the results of batches stay in their folders.", db.Path(), damage.Err, damage.SavedAs)
	}
	queue, err := work.Within(ctx, db, work.Options{Lease: work.Unleased, Cooldown: cooldown, Log: log})
	if err != nil {
		return nil, "", errors.Join(err, db.Close())
	}
	return &Store{queue, db, nil}, notice, nil
}

// Close closes the file.
func (s *Store) Close() error {
	if s.Server != nil {
		return nil
	}
	return s.db.Close()
}

// Add adds a batch. If there is one of its name and profile, it adds nothing and returns that one.
func (s *Store) Add(ctx context.Context, b Batch) (first *Batch, err error) {
	err = s.db.Write(ctx, "adding a batch", func(ctx context.Context, tx *sql.Tx) error {
		if b.Name != "" {
			found, err := one(ctx, tx, "WHERE profile = $1 AND name = $2", b.Profile, b.Name)
			if !errors.Is(err, ErrUnknown) {
				first = &found
				return err
			}
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO batches (id, name, profile, plan, created, changed, ended, items, duplicates, slices, digest, state, reason, at_once, rate, cap, spent, queued, tally, pace)
			VALUES `+database.Places(1, 20), append([]any{b.ID, b.Name, b.Profile, string(b.Plan), database.Micros(b.Created)}, values(b)...)...)
		return err
	})
	return first, err
}

// values are the columns that may change.
func values(b Batch) []any {
	return []any{
		database.Micros(b.Changed), database.Micros(b.Ended), b.Items, b.Duplicates, b.Slices, b.Digest, string(b.State), b.Reason,
		b.AtOnce, b.Rate, b.Cap, b.Spent, b.Queued, b.Tally.text(), b.Pace,
	}
}

func one(ctx context.Context, q database.Queryer, where string, args ...any) (b Batch, err error) {
	found := false
	err = database.Each(ctx, q, "SELECT "+columns+" FROM batches "+where, args, func(row database.Scanner) (err error) {
		found = true
		b, err = scan(row)
		return err
	})
	if err == nil && !found {
		err = ErrUnknown
	}
	return b, err
}

// identifier is what a batch's own can be.
var identifier = regexp.MustCompile(`^batch-[a-z0-9]+$`)

func scan(row database.Scanner) (b Batch, err error) {
	var plan, tally, state string
	err = row.Scan(&b.ID, &b.Name, &b.Profile, &plan, database.Time(&b.Created), database.Time(&b.Changed), database.Time(&b.Ended), &b.Items, &b.Duplicates,
		&b.Slices, &b.Digest, &state, &b.Reason, &b.AtOnce, &b.Rate, &b.Cap, &b.Spent, &b.Queued, &tally, &b.Pace, &b.Reserved)
	if err != nil {
		return b, err
	}
	b.Plan, b.State = json.RawMessage(plan), State(state)
	if !identifier.MatchString(b.ID) { // it names a folder
		return b, fmt.Errorf("%w: %q is no identifier of a batch", database.ErrCorrupt, model.Cut(b.ID, 60))
	}
	if err := json.Unmarshal([]byte(tally), &b.Tally); err != nil || !json.Valid(b.Plan) {
		return b, fmt.Errorf("batch %s: %w: its plan or its sums are not JSON", b.ID, database.ErrCorrupt)
	}
	return b, nil
}

// Batch returns a batch by its identifier, or the newest of a name, or an ErrUnknown.
func (s *Store) Batch(ctx context.Context, id string) (Batch, error) {
	b, err := one(ctx, s.db, "WHERE id = $1 OR name <> '' AND name = $1 ORDER BY CASE WHEN id = $1 THEN 1 ELSE 0 END DESC, created DESC LIMIT 1", id)
	return b, s.fault("reading batch "+id, err)
}

// Batches returns all batches, the newest first.
func (s *Store) Batches(ctx context.Context) (all []Batch, err error) {
	err = database.Each(ctx, s.db, "SELECT "+columns+" FROM batches ORDER BY created DESC, id DESC", nil, func(row database.Scanner) error {
		b, err := scan(row)
		all = append(all, b)
		return err
	})
	return all, s.fault("reading the batches", err)
}

func (s *Store) fault(doing string, err error) error {
	if errors.Is(err, ErrUnknown) {
		return err
	}
	return s.db.Fault(doing, err)
}

// Change changes a batch while nobody else does. What change's error says is returned, and then nothing is changed.
func (s *Store) Change(ctx context.Context, id string, change func(b *Batch) error) (b Batch, err error) {
	err = s.db.Write(ctx, "changing batch "+id, func(ctx context.Context, tx *sql.Tx) error {
		b, err = s.hold(ctx, tx, id)
		if err == nil {
			err = change(&b)
		}
		if err != nil {
			return err
		}
		return update(ctx, tx, b)
	})
	return b, err
}

// hold reads a batch that the transaction is about to change. On a server it makes the others wait. Whoever has read it
// before sees by Changed, which is a tick later, that it is not as it was.
func (s *Store) hold(ctx context.Context, tx *sql.Tx, id string) (Batch, error) {
	if _, err := tx.ExecContext(ctx, "UPDATE batches SET changed = changed + 1 WHERE id = $1", id); err != nil {
		return Batch{}, err
	}
	return one(ctx, tx, "WHERE id = $1", id)
}

func update(ctx context.Context, tx *sql.Tx, b Batch) error {
	_, err := tx.ExecContext(ctx, `UPDATE batches SET changed = $2, ended = $3, items = $4, duplicates = $5, slices = $6, digest = $7, state = $8, reason = $9,
		at_once = $10, rate = $11, cap = $12, spent = $13, queued = $14, tally = $15, pace = $16, plan = $17 WHERE id = $1`, append(append([]any{b.ID}, values(b)...), string(b.Plan))...)
	return err
}

// Remove forgets a batch.
func (s *Store) Remove(ctx context.Context, id string) error {
	return s.db.Write(ctx, "removing batch "+id, func(ctx context.Context, tx *sql.Tx) error {
		from := []string{"batch_workers WHERE batch", "batch_slices WHERE batch", "batch_counts WHERE batch", "batches WHERE id"}
		if s.Server != nil {
			from = append(from, "batch_chunks WHERE batch")
		}
		for _, from := range from {
			if _, err := tx.ExecContext(ctx, "DELETE FROM "+from+" = $1", id); err != nil {
				return err
			}
		}
		return nil
	})
}

// Slice returns the outcomes of a slice; nil for one that nobody has begun.
func (s *Store) Slice(ctx context.Context, id string, n int) (slice Slice, err error) {
	err = s.eachSlice(ctx, s.db, "AND slice = $2", []any{id, n}, func(_ int, found Slice) error { slice = found; return nil })
	return slice, s.fault("reading a slice", err)
}

// Done counts the slices of which nothing is left to send.
func (s *Store) Done(ctx context.Context, id string) (n int, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM batch_slices WHERE batch = $1 AND todo = 0", id).Scan(&n)
	return n, s.fault("counting the slices", err)
}

// Slices calls take with every slice that was begun, in their order, or with those alone that have items to send.
func (s *Store) Slices(ctx context.Context, id string, open bool, take func(n int, slice Slice) error) error {
	where := ""
	if open {
		where = "AND todo > 0"
	}
	return s.fault("reading the slices", s.eachSlice(ctx, s.db, where, []any{id}, take))
}

func (s *Store) eachSlice(ctx context.Context, q database.Queryer, where string, args []any, take func(n int, slice Slice) error) error {
	return database.Each(ctx, q, "SELECT slice, outcomes FROM batch_slices WHERE batch = $1 "+where+" ORDER BY slice", args, func(row database.Scanner) error {
		var n int
		var text string
		if err := row.Scan(&n, &text); err != nil {
			return err
		}
		if strings.Trim(text, ".rduhxt") != "" {
			return fmt.Errorf("%w: the outcomes of slice %d", database.ErrCorrupt, n)
		}
		return take(n, Slice(text))
	})
}

// Workers returns the workers of a batch and how far their files are committed.
func (s *Store) Workers(ctx context.Context, id string) (map[string]files.Length, error) {
	out := map[string]files.Length{}
	err := database.Each(ctx, s.db, "SELECT worker, written, segment, bytes FROM batch_workers WHERE batch = $1", []any{id}, func(row database.Scanner) error {
		var name string
		var p files.Length
		err := row.Scan(&name, &p.Lines, &p.Segment, &p.Bytes)
		out[name] = p
		return err
	})
	return out, s.fault("reading the workers", err)
}

// tick is the least step of a time in the store.
const tick = time.Microsecond

// ErrChanged says that a batch is not as it was read.
var ErrChanged = errors.New("the batch was changed meanwhile")

// Progress is what a worker commits at once.
type Progress struct {
	Worker   string
	Place    files.Length
	Slices   map[int]Slice   // that changed, whole
	Claims   map[int]Claim   // those of them that the worker claimed on a server
	Late     []byte          // lines of slices that were known to be others' when they came
	Spent    int64           // since the last commit
	Reserved int64           // what the worker holds of the cap now
	Tally    Tally           // since the last commit
	Counts   map[Count]int64 // of rules, since the last commit; Commit puts in their place what all workers have counted
	Holds    []int64         // of each rule, the count at which it holds for a host
	// Counted, unless nil, is what the results of the batch come to now, in place of what was counted of them before.
	Counted *Tally
	State   State // of the batch from now on; "" leaves it
	Pace    string
	Merged  bool // from what a dead worker left: the pace of those that live stays, and on a server its reservation, until Bury
	Now     time.Time
	Since   time.Time // unless zero, Changed of the batch as it was read for this: a later one is an ErrChanged
}

// Count is what results are counted by for a rule, by its number from 0: a host.
type Count struct {
	Host string
	Rule int
}

// Counts are what the rules of a batch have counted, the highest first, and no more than most.
func (s *Store) Counts(ctx context.Context, id string, most int) (map[Count]int64, error) {
	sums := counts{}
	err := database.Each(ctx, s.db, "SELECT host, rule, times FROM batch_counts WHERE batch = $1 ORDER BY times DESC LIMIT $2", []any{id, most}, sums.take)
	return sums, s.fault("reading what rules have counted", err)
}

type counts map[Count]int64

func (c counts) take(row database.Scanner) error {
	var of Count
	var times int64
	err := row.Scan(&of.Host, &of.Rule, &times)
	c[of] = times
	return err
}

// Commit writes down how far a worker is, and returns the batch as it is then, and the slices of claims which other
// workers have taken over: their results are kept apart, and count for nothing but what they cost.
func (s *Store) Commit(ctx context.Context, id string, p Progress) (b Batch, taken []int, err error) {
	var counted counts
	err = s.db.Write(ctx, "committing results of batch "+id, func(ctx context.Context, tx *sql.Tx) error {
		if b, err = s.hold(ctx, tx, id); err == nil && !p.Since.IsZero() && b.Changed.Sub(p.Since) != tick {
			err = ErrChanged
		}
		if err != nil {
			return err
		}
		if err := s.commitUnclaimed(ctx, tx, id, p); err != nil {
			return err
		}
		if taken, err = s.commitClaims(ctx, tx, id, p, &b.Tally); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO batch_workers (batch, worker, written, segment, bytes, reserved) VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (batch, worker) DO UPDATE SET written = excluded.written, segment = excluded.segment, bytes = excluded.bytes, 
			reserved = CASE WHEN $7 = 1 THEN batch_workers.reserved ELSE excluded.reserved END`,
			id, p.Worker, p.Place.Lines, p.Place.Segment, p.Place.Bytes, p.Reserved, number(p.Merged && s.Server != nil))
		if err == nil {
			err = tx.QueryRowContext(ctx, "SELECT SUM(reserved) FROM batch_workers WHERE batch = $1", id).Scan(&b.Reserved)
		}
		if err != nil {
			return err
		}
		if counted, err = count(ctx, tx, &b, p); err != nil {
			return err
		}
		b.Spent += p.Spent
		if p.Counted != nil {
			p.Counted.Keep(b.Tally)
			b.Tally = *p.Counted
		}
		b.Tally.Add(p.Tally)
		if p.State != "" {
			b.State, b.Reason = p.State, ""
		}
		if b.Changed = p.Now; !p.Merged {
			b.Pace = p.Pace
		}
		return update(ctx, tx, b)
	})
	if err == nil {
		maps.Copy(p.Counts, counted)
	}
	return b, taken, err
}

// count adds up what rules have counted, and how many of them begin to hold by that.
func count(ctx context.Context, tx *sql.Tx, b *Batch, p Progress) (sums counts, err error) {
	sums = counts{}
	const atOnce = 1000
	for some := range slices.Chunk(slices.Collect(maps.Keys(p.Counts)), atOnce) {
		var rows []string
		var args []any
		for _, of := range some {
			rows = append(rows, database.Places(len(args)+1, len(args)+4))
			args = append(args, b.ID, of.Host, of.Rule, p.Counts[of])
		}
		err = database.Each(ctx, tx, "INSERT INTO batch_counts (batch, host, rule, times) VALUES "+strings.Join(rows, ", ")+`
			ON CONFLICT (batch, host, rule) DO UPDATE SET times = batch_counts.times + excluded.times RETURNING host, rule, times`, args, sums.take)
		if err != nil {
			return nil, err
		}
	}
	for of, times := range sums {
		if holds := p.Holds[of.Rule]; times >= holds && times-p.Counts[of] < holds {
			b.Tally.Add(Tally{Fired: map[int]int64{of.Rule + 1: 1}})
		}
	}
	return sums, nil
}

// commitUnclaimed writes the slices that the worker has not claimed. On a server a worker that hangs may have one as it was.
func (s *Store) commitUnclaimed(ctx context.Context, tx *sql.Tx, id string, p Progress) error {
	for n, slice := range p.Slices {
		if _, claimed := p.Claims[n]; claimed {
			continue
		}
		err := put(ctx, tx, id, n, slice)
		if err == nil && s.Server != nil {
			_, err = tx.ExecContext(ctx, "UPDATE batch_slices SET attempt = attempt + 1 WHERE batch = $1 AND slice = $2", id, n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Begin writes down a slice that is begun.
func (s *Store) Begin(ctx context.Context, id string, n int, slice Slice) error {
	return s.db.Write(ctx, "beginning a slice", func(ctx context.Context, tx *sql.Tx) error { return put(ctx, tx, id, n, slice) })
}

func put(ctx context.Context, tx *sql.Tx, id string, n int, slice Slice) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO batch_slices (batch, slice, todo, outcomes) VALUES ($1, $2, $3, $4)
		ON CONFLICT (batch, slice) DO UPDATE SET todo = excluded.todo, outcomes = excluded.outcomes`, id, n, slice.Todo(), string(slice))
	return err
}

// Reserve takes up to want more for a worker, of what cap, spending and reservations leave, in whole units. It returns how
// much it took, and what was reserved before, by all workers.
func (s *Store) Reserve(ctx context.Context, id, worker string, want, unit int64) (got, reserved int64, err error) {
	err = s.db.Write(ctx, "reserving for batch "+id, func(ctx context.Context, tx *sql.Tx) error {
		b, err := s.hold(ctx, tx, id)
		if err != nil {
			return err
		}
		if got, reserved = want, b.Reserved; b.Cap > 0 {
			got = min(want, max(b.Cap-b.Spent-b.Reserved, 0))
		}
		if got -= got % unit; got == 0 {
			return nil
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO batch_workers (batch, worker, written, segment, bytes, reserved) VALUES ($1, $2, 0, 0, 0, $3)
			ON CONFLICT (batch, worker) DO UPDATE SET reserved = batch_workers.reserved + excluded.reserved`, id, worker, got)
		return err
	})
	return got, reserved, err
}
