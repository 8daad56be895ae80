package work

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivertype"

	"zonedeck/keystore/textfile"
	"zonedeck/service/database"
)

// freeEvery is how often a worker looks for items of dead workers.
const freeEvery = time.Second

// signed begins the names of workers with a sign of life. Whether others live is unknown.
const signed = "signed-"

// signs say which workers live.
type signs interface {
	// begin gives a worker of a lane a name, with signed before it, and a sign of life, until end is called.
	begin(ctx context.Context, lane string) (name string, end func(), err error)
	// living reports for the names that begin gave, without signed, whether their workers live.
	living(ctx context.Context) (func(name string) bool, error)
	// alone keeps other processes from freeing items during a transaction.
	alone(ctx context.Context, tx riverdriver.Executor) error
}

// signFiles are signs of life of one machine, in a folder.
type signFiles string

func (dir signFiles) begin(context.Context, string) (string, func(), error) {
	sign, err := textfile.NewSign(string(dir))
	if err != nil {
		return "", nil, err
	}
	return signed + sign.Name(), sign.Release, nil
}

func (dir signFiles) living(context.Context) (func(string) bool, error) {
	return func(name string) bool { return textfile.Alive(string(dir), name) }, nil
}

// alone has nothing to do: a file has one writer.
func (signFiles) alone(context.Context, riverdriver.Executor) error { return nil }

// deadWorker reports whether a worker had a sign of life and has none.
func deadWorker(name string, living func(string) bool) bool {
	sign, ok := strings.CutPrefix(name, signed)
	return ok && !living(sign)
}

// workerAt is the name of the worker that holds a job.
func workerAt(job *rivertype.JobRow) string {
	if len(job.AttemptedBy) == 0 {
		return ""
	}
	return job.AttemptedBy[len(job.AttemptedBy)-1]
}

func running() *river.JobListParams {
	return river.NewJobListParams().States(rivertype.JobStateRunning).First(1000)
}

// keepFreeing frees the items of dead workers until ctx ends.
func (q *queue[T]) keepFreeing(ctx context.Context) {
	every := time.NewTicker(freeEvery)
	defer every.Stop()
	for {
		if err := q.free(ctx); err != nil && ctx.Err() == nil {
			q.o.Log.Warn("items of dead processes wait until their leases end", "error", database.Classify(err))
		}
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
	}
}

// free makes the items of dead workers due, and removes a dead leader so that a new one is chosen:
// without a leader, waiting items never become due.
func (q *queue[T]) free(ctx context.Context) error {
	living, err := q.signs.living(ctx)
	if err != nil {
		return fmt.Errorf("looking which workers live: %w", err)
	}
	jobs, err := q.client.JobList(ctx, running())
	if err != nil {
		return fmt.Errorf("reading the queue of work: %w", err)
	}
	dead := map[string]bool{}
	for _, job := range jobs.Jobs {
		if at := workerAt(job); deadWorker(at, living) {
			dead[at] = true
		}
	}
	if len(dead) > 0 {
		if err := q.freeOf(ctx, dead); err != nil {
			return fmt.Errorf("freeing items of dead processes: %w", err)
		}
	}
	leader, err := q.driver.GetExecutor().LeaderGetElectedLeader(ctx, &riverdriver.LeaderGetElectedLeaderParams{})
	switch {
	case errors.Is(err, rivertype.ErrNotFound), err == nil && !deadWorker(leader.LeaderID, living):
		return nil
	case err == nil:
		_, err = q.driver.GetExecutor().LeaderResign(ctx, &riverdriver.LeaderResignParams{ElectedAt: leader.ElectedAt, LeaderID: leader.LeaderID})
	}
	if err != nil {
		return fmt.Errorf("replacing a dead leader: %w", err)
	}
	return nil
}

// freeOf reads and frees in one transaction: another process may already have freed a job and work on it.
func (q *queue[T]) freeOf(ctx context.Context, dead map[string]bool) error {
	tx, err := q.driver.GetExecutor().Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // after a commit it is none
	if err := q.signs.alone(ctx, tx); err != nil {
		return err
	}
	jobs, err := q.client.JobListTx(ctx, q.driver.UnwrapTx(tx), running())
	if err != nil {
		return err
	}
	for _, job := range jobs.Jobs {
		if !dead[workerAt(job)] {
			continue
		}
		// A new row takes its place: what a worker that only hung says of the old one then changes nothing.
		now := time.Now()
		old := &riverdriver.JobUpdateFullParams{ID: job.ID, StateDoUpdate: true, State: rivertype.JobStateDiscarded, FinalizedAtDoUpdate: true, FinalizedAt: &now}
		if _, err := tx.JobUpdateFull(ctx, old); err != nil {
			return err
		}
		item, err := decode(job.EncodedArgs)
		if err == nil {
			_, err = q.client.InsertTx(ctx, q.driver.UnwrapTx(tx), item, optsOf(item.item(now)))
		}
		if err != nil {
			return err
		}
	}
	return tx.Commit(ctx)
}
