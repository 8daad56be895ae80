package work

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"zonedeck/service/database"
)

// A worker on a server has a row that it renews. Without a renewal for deadAfter it counts as dead.
const (
	beatEvery = 3 * time.Second
	deadAfter = 15 * time.Second
	// forgetAfter is when the row of a dead worker is removed.
	forgetAfter = 24 * time.Hour
)

var workers = []string{`
CREATE TABLE workers (
	id      TEXT PRIMARY KEY,
	process TEXT NOT NULL,
	lane    TEXT NOT NULL,
	began   BIGINT NOT NULL,
	beat    BIGINT NOT NULL
);
`}

// Worker is a worker of a lane on a server.
type Worker struct {
	Process string
	Began   time.Time
	Beat    time.Duration // since its last sign of life
	Dead    bool          // its items go to others
	Items   int           // that it holds
}

// Server is a queue on a server.
type Server struct {
	*queue[pgx.Tx]
	beats beats
}

// OpenServer opens a queue on a server. process names this process among those that work there. Close leaves the
// server open. Items of a worker without a sign of life for 15 seconds are due at once.
func OpenServer(ctx context.Context, s *database.Server, process string, o Options) (*Server, error) {
	driver := riverpgxv5.New(s.Pool)
	if err := s.Migrate(ctx, "worker", workers); err != nil {
		return nil, err
	}
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	// A role without the right to make tables can work where they are.
	if made, err := migrator.Validate(ctx, nil); err != nil || !made.OK {
		err := s.Alone(ctx, func() error {
			_, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("making the queue's tables in the database %s: %w", s, database.Classify(err))
		}
	}
	b := beats{s, process, cmp.Or(o.Log, slog.New(slog.DiscardHandler))}
	q, err := newQueue(driver, b, o)
	if err != nil {
		return nil, err
	}
	return &Server{q, b}, nil
}

// Workers are those of each lane, the dead with them for a day.
func (s *Server) Workers(ctx context.Context) (byLane map[string][]Worker, err error) {
	const query = `WITH held AS (SELECT attempted_by[array_upper(attempted_by, 1)] AS worker, COUNT(*) AS items FROM river_job WHERE state = 'running' GROUP BY 1)
		SELECT lane, process, began, ` + database.Clock + ` - beat, COALESCE(items, 0) FROM workers LEFT JOIN held ON worker = $1 || workers.id ORDER BY began, id`
	byLane = map[string][]Worker{}
	err = database.Each(ctx, s.beats.server, query, []any{signed}, func(row database.Scanner) error {
		var w Worker
		var lane string
		var ago int64
		err := row.Scan(&lane, &w.Process, database.Time(&w.Began), &ago, &w.Items)
		w.Beat = time.Duration(max(ago, 0)) * time.Microsecond
		w.Dead = w.Beat > deadAfter
		byLane[lane] = append(byLane[lane], w)
		return err
	})
	return byLane, s.beats.server.Fault("reading the workers", err)
}

// beats are signs of life on a server, by its clock.
type beats struct {
	server  *database.Server
	process string
	log     *slog.Logger
}

func (b beats) begin(ctx context.Context, lane string) (name string, end func(), err error) {
	// A new name each time: what an earlier one could not give back, because the server was gone, is a dead worker's.
	id := b.process + "-" + queueOf(lane)[5:17] + "-" + strings.ToLower(rand.Text()[:6])
	if _, err := b.server.Pool.Exec(ctx, "DELETE FROM workers WHERE process = $1 AND lane = $2", b.process, lane); err != nil {
		return "", nil, database.Classify(err)
	}
	if err := b.beat(ctx, id, lane); err != nil {
		return "", nil, err
	}
	beating, stop := context.WithCancel(context.WithoutCancel(ctx))
	var ended sync.WaitGroup
	ended.Go(func() { b.keep(beating, id, lane) })
	return signed + id, func() {
		stop()
		ended.Wait()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deadAfter/2)
		defer cancel()
		_, err := b.server.Pool.Exec(ctx, "DELETE FROM workers WHERE id = $1", id)
		b.warn(err)
	}, nil
}

func (b beats) keep(ctx context.Context, id, lane string) {
	every := time.NewTicker(beatEvery)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
			b.warn(b.beat(ctx, id, lane))
		}
	}
}

func (b beats) warn(err error) {
	if err != nil {
		b.log.Warn("the sign of life of a worker was not renewed", "error", database.Classify(err))
	}
}

func (b beats) beat(ctx context.Context, id, lane string) error {
	ctx, cancel := context.WithTimeout(ctx, deadAfter/2)
	defer cancel()
	_, err := b.server.Pool.Exec(ctx, `INSERT INTO workers (id, process, lane, began, beat) VALUES ($1, $2, $3, `+database.Clock+`, `+database.Clock+`)
		ON CONFLICT (id) DO UPDATE SET beat = excluded.beat`, id, b.process, lane)
	return err
}

// living implements signs. It forgets those that are dead for long.
func (b beats) living(ctx context.Context) (func(string) bool, error) {
	living := map[string]bool{}
	err := database.Each(ctx, b.server, "SELECT id FROM workers WHERE beat > "+database.Clock+" - $1", []any{deadAfter.Microseconds()}, func(row database.Scanner) error {
		var id string
		err := row.Scan(&id)
		living[id] = true
		return err
	})
	if err == nil {
		_, err = b.server.Pool.Exec(ctx, "DELETE FROM workers WHERE beat < "+database.Clock+" - $1", forgetAfter.Microseconds())
	}
	return func(id string) bool { return living[id] }, err
}

// alone implements signs.
func (beats) alone(ctx context.Context, tx riverdriver.Executor) error {
	return tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtextextended('zonedeck dead workers', 0))")
}
