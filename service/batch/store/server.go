package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"

	"zonedeck/service/batch/files"
	"zonedeck/service/database"
	"zonedeck/service/share"
	"zonedeck/service/work"
)

// onServer is what tables have on a server besides: its workers have no files in common.
var onServer = slices.Insert(slices.Clone(migrations[:]), 2, `
ALTER TABLE batch_slices ADD COLUMN attempt BIGINT NOT NULL DEFAULT 0; -- how many times it was claimed
ALTER TABLE batch_slices ADD COLUMN worker TEXT NOT NULL DEFAULT '';
ALTER TABLE batch_slices ADD COLUMN sent BIGINT NOT NULL DEFAULT 0; -- its first items, which may have been sent
ALTER TABLE batch_slices ADD COLUMN items BYTEA NOT NULL DEFAULT ''; -- a line each
CREATE TABLE batch_chunks (
	batch  TEXT NOT NULL,
	worker TEXT NOT NULL,
	number BIGINT NOT NULL,
	late   BIGINT NOT NULL, -- 1 for results of slices that others had taken over
	lines  BYTEA NOT NULL,
	PRIMARY KEY (batch, worker, number)
);
`)

// Server is what a store on a server has besides.
type Server struct {
	Process string // names this process among the workers
	Shares  *share.Shares
	db      *database.Server
	queue   *work.Server
}

// OpenServer opens the store on a server, which its Close leaves open. process names this process among those that work
// there.
func OpenServer(ctx context.Context, s *database.Server, process string, log *slog.Logger) (*Store, error) {
	if err := s.Migrate(ctx, "batch", onServer); err != nil {
		return nil, err
	}
	shares, err := share.Open(ctx, s)
	if err != nil {
		return nil, err
	}
	queue, err := work.OpenServer(ctx, s, process, work.Options{Lease: work.Unleased, Cooldown: cooldown, Log: log})
	if err != nil {
		return nil, err
	}
	return &Store{queue, s.DB, &Server{process, shares, s, queue}}, nil
}

// Workers are the workers of each lane.
func (s *Server) Workers(ctx context.Context) (map[string][]work.Worker, error) {
	return s.queue.Workers(ctx)
}

// Hasten gives up sooner on a database that says nothing: the process is told to end.
func (s *Server) Hasten() { s.db.Hasten() }

// String names the database.
func (s *Server) String() string { return s.db.String() }

// AddItems puts slices of a batch that is not added yet on the server: their items, a line each, and outcomes.
func (s *Server) AddItems(ctx context.Context, id string, first int, slices []Slice, items [][]byte) error {
	return s.db.Write(ctx, "putting items into the database", func(ctx context.Context, tx *sql.Tx) error {
		for i, slice := range slices {
			_, err := tx.ExecContext(ctx, "INSERT INTO batch_slices (batch, slice, todo, outcomes, items) VALUES ($1, $2, $3, $4, $5)", id, first+i, slice.Todo(), string(slice), items[i])
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// WithDuplicate appends the line of an item as AddItems takes it: with the item that it is a duplicate of, if it is one.
func WithDuplicate(to []byte, it files.Item) []byte {
	if it.Duplicate < 0 {
		return append(to, it.Line...)
	}
	return fmt.Appendf(to, `%s,"duplicate_of":%d}`, bytes.TrimSuffix(it.Line, []byte("}")), it.Duplicate+1)
}

// Items are the items of a slice.
func (s *Server) Items(ctx context.Context, id string, n int) (items []files.Item, err error) {
	var lines []byte
	var outcomes string
	err = s.db.QueryRowContext(ctx, "SELECT items, outcomes FROM batch_slices WHERE batch = $1 AND slice = $2", id, n).Scan(&lines, &outcomes)
	each := bytes.Split(bytes.TrimSuffix(lines, []byte("\n")), []byte("\n"))
	if err == nil && len(each) != len(outcomes) {
		err = fmt.Errorf("%w: slice %d of batch %s has %d items, and what became of %d", database.ErrCorrupt, n, id, len(each), len(outcomes))
	}
	for i, line := range each {
		var first struct {
			DuplicateOf int64 `json:"duplicate_of"` // from 1
		}
		if err == nil && Outcome(outcomes[i]) == Duplicate {
			err = json.Unmarshal(line, &first)
		}
		items = append(items, files.Item{N: int64(n*files.SliceItems + i), Line: line, Duplicate: first.DuplicateOf - 1})
	}
	return items, s.db.Fault("reading the items of a slice", err)
}

// Claim is a slice that a worker has taken. What came of it since the last commit is in it.
type Claim struct {
	Attempt  int
	Tally    Tally
	Lines    []byte
	Released bool // the worker leaves the slice with this commit: no item of it is in flight
}

// ErrTaken says that another worker has taken a slice over.
var ErrTaken = errors.New("another worker has taken the slice over")

// Unanswered settles items that may have been sent and have no answer: each is sent again or held. It returns what they
// cost at most, each up to price.
func (s Slice) Unanswered(items []int, again bool, price int64, tally *Tally) (most int64) {
	for _, i := range items {
		if !s[i].Open() {
			continue
		}
		most += price
		if again {
			s[i] = Again
			tally.Again++
		} else {
			s[i] = Lost
			tally.Unanswered++
		}
	}
	tally.Unconfirmed += most
	return most
}

// Claim takes a slice for a worker. What another worker may have sent, and has not answered, is settled.
func (s *Store) Claim(ctx context.Context, id string, n int, worker string, again bool, price int64) (slice Slice, attempt int, err error) {
	err = s.db.Write(ctx, "taking a slice", func(ctx context.Context, tx *sql.Tx) error {
		b, err := s.hold(ctx, tx, id)
		if err != nil {
			return err
		}
		if slice, attempt, err = takeOver(ctx, tx, &b, n, worker, again, price); err != nil {
			return err
		}
		return update(ctx, tx, b)
	})
	return slice, attempt, err
}

// takeOver takes a slice from the worker that has it, whose marks are void then. What that one may have sent, and has not
// answered, cost no more than it had reserved.
func takeOver(ctx context.Context, tx *sql.Tx, b *Batch, n int, worker string, again bool, price int64) (slice Slice, attempt int, err error) {
	var text, owner string
	var sent int
	err = tx.QueryRowContext(ctx, "SELECT outcomes, sent, worker FROM batch_slices WHERE batch = $1 AND slice = $2 FOR UPDATE", b.ID, n).Scan(&text, &sent, &owner)
	if err != nil {
		return nil, 0, err
	}
	slice = Slice(text)
	marked := make([]int, min(sent, len(slice)))
	for i := range marked {
		marked[i] = i
	}
	if most := slice.Unanswered(marked, again, price, &b.Tally); most > 0 {
		var reserved int64
		if err := tx.QueryRowContext(ctx, "SELECT COALESCE(SUM(reserved), 0) FROM batch_workers WHERE batch = $1 AND worker = $2", b.ID, owner).Scan(&reserved); err != nil {
			return nil, 0, err
		}
		cost := min(most, reserved)
		b.Spent, b.Tally.Unconfirmed = b.Spent+cost, b.Tally.Unconfirmed-most+cost
		if _, err := tx.ExecContext(ctx, "UPDATE batch_workers SET reserved = reserved - $3 WHERE batch = $1 AND worker = $2", b.ID, owner, cost); err != nil {
			return nil, 0, err
		}
	}
	err = tx.QueryRowContext(ctx, "UPDATE batch_slices SET attempt = attempt + 1, worker = $3, outcomes = $4, todo = $5, sent = 0 WHERE batch = $1 AND slice = $2 RETURNING attempt",
		b.ID, n, worker, string(slice), slice.Todo()).Scan(&attempt)
	return slice, attempt, err
}

// Mark says that the first items of a slice may have been sent from now on, or is an ErrTaken.
func (s *Server) Mark(ctx context.Context, id string, n, attempt, upTo int) error {
	done, err := s.db.Pool.Exec(ctx, "UPDATE batch_slices SET sent = GREATEST(sent, $4) WHERE batch = $1 AND slice = $2 AND attempt = $3", id, n, attempt, upTo)
	if err == nil && done.RowsAffected() == 0 {
		return ErrTaken
	}
	return s.db.Fault("marking items as sent", err)
}

// commitClaims writes the slices that a worker has claimed, and their lines. It gives those that others have taken over.
func (s *Store) commitClaims(ctx context.Context, tx *sql.Tx, id string, p Progress, tally *Tally) (taken []int, err error) {
	lines, late := []byte(nil), p.Late
	for n, c := range p.Claims {
		done, err := tx.ExecContext(ctx, "UPDATE batch_slices SET todo = $4, outcomes = $5, sent = CASE WHEN $6 = 1 THEN 0 ELSE sent END WHERE batch = $1 AND slice = $2 AND attempt = $3",
			id, n, c.Attempt, p.Slices[n].Todo(), string(p.Slices[n]), number(c.Released))
		if err != nil {
			return nil, err
		}
		if rows, err := done.RowsAffected(); err != nil || rows > 0 {
			tally.Add(c.Tally)
			lines = append(lines, c.Lines...)
			continue
		}
		taken, late = append(taken, n), append(late, c.Lines...)
	}
	for kind, of := range [][]byte{lines, late} {
		if len(of) == 0 {
			continue
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO batch_chunks (batch, worker, number, late, lines)
			SELECT $1, $2, COALESCE(MAX(number), 0) + 1, $3, $4 FROM batch_chunks WHERE batch = $1 AND worker = $2`, id, p.Worker, kind, of)
		if err != nil {
			return nil, err
		}
	}
	return taken, nil
}

func number(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// Owned reports whether a worker was the last to claim a slice, and by which attempt.
func (s *Store) Owned(ctx context.Context, id string, n int, worker string) (attempt int, owned bool, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT attempt FROM batch_slices WHERE batch = $1 AND slice = $2 AND worker = $3", id, n, worker).Scan(&attempt)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	return attempt, err == nil, s.db.Fault("looking who has a slice", err)
}

// Bury gives back what dead workers have reserved of a cap, once what they may have sent is settled. A dead worker keeps its
// slices for its answers, but can mark nothing there.
func (s *Store) Bury(ctx context.Context, id, lane string, again bool, price int64) error {
	dead, err := column[string](ctx, s.db, `SELECT worker FROM batch_workers WHERE batch = $1 AND reserved > 0 AND NOT EXISTS
		(SELECT 1 FROM workers WHERE process = batch_workers.worker AND lane = $2 AND beat > `+database.Clock+` - 30000000)`, id, lane)
	if err != nil || len(dead) == 0 {
		return s.fault("looking for dead workers", err)
	}
	return s.db.Write(ctx, "giving back what dead workers reserved", func(ctx context.Context, tx *sql.Tx) error {
		b, err := s.hold(ctx, tx, id)
		for _, worker := range dead {
			if err == nil {
				err = bury(ctx, tx, &b, worker, again, price)
			}
		}
		if err != nil {
			return err
		}
		return update(ctx, tx, b)
	})
}

func bury(ctx context.Context, tx *sql.Tx, b *Batch, worker string, again bool, price int64) error {
	numbers, err := column[int](ctx, tx, "SELECT slice FROM batch_slices WHERE batch = $1 AND worker = $2 AND todo > 0", b.ID, worker)
	for _, n := range numbers {
		if _, _, err := takeOver(ctx, tx, b, n, worker, again, price); err != nil {
			return err
		}
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, "UPDATE batch_workers SET reserved = 0 WHERE batch = $1 AND worker = $2", b.ID, worker)
	}
	return err
}

// column are the values of a query with one column.
func column[T any](ctx context.Context, q database.Queryer, query string, args ...any) (values []T, err error) {
	err = database.Each(ctx, q, query, args, func(row database.Scanner) error {
		var v T
		err := row.Scan(&v)
		values = append(values, v)
		return err
	})
	return values, err
}

// Export writes the results of a batch into a folder, a log for each worker, and gives their lengths.
func (s *Server) Export(ctx context.Context, id, dir string) (_ map[string]files.Length, err error) {
	lengths := map[string]files.Length{}
	var log *os.File
	defer func() {
		if log != nil {
			err = errors.Join(err, log.Close())
		}
	}()
	const query = "SELECT worker, lines FROM batch_chunks WHERE batch = $1 AND late = 0 ORDER BY worker, number"
	err = database.Each(ctx, s.db, query, []any{id}, func(row database.Scanner) error {
		var worker string
		var lines []byte
		if err := row.Scan(&worker, &lines); err != nil {
			return err
		}
		if _, begun := lengths[worker]; !begun {
			next, err := files.CreateLog(dir, worker)
			if err != nil {
				return err
			}
			if log != nil {
				err = log.Close()
			}
			if log = next; err != nil {
				return err
			}
		}
		n, err := log.Write(lines)
		lengths[worker] = files.Length{Lines: lengths[worker].Lines + int64(n)}
		return err
	})
	return lengths, s.db.Fault("reading the results of batch "+id, err)
}
