package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// entry is one queued piece of history: what to write, and how much of the
// queue's memory it takes.
type entry struct {
	write func(context.Context, *sql.Tx) error
	bytes int64
}

// queue gathers history so that many entries share one commit. Its goroutine
// begins with the first entry (a command that only reads never starts it) and
// ends with close.
type queue struct {
	mu      sync.Mutex
	pending []entry
	bytes   int64
	running bool
	closed  bool
	dropped int // entries given up because the file could not be written for long

	hurry chan struct{} // a group is complete
	stop  chan struct{}
	done  chan struct{}

	flushing *semaphore.Weighted // one group at a time, in order
}

func (q *queue) init() {
	q.hurry = make(chan struct{}, 1)
	q.stop = make(chan struct{})
	q.done = make(chan struct{})
	q.flushing = semaphore.NewWeighted(1)
}

// put queues an entry. It waits for the disk only when the queue is full.
func (j *Journal) put(ctx context.Context, e entry) error {
	if !j.Keeps() {
		return ErrNoHistory
	}
	q := &j.queue
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return errClosed
	}
	q.pending = append(q.pending, e)
	q.bytes += e.bytes
	if !q.running {
		q.running = true
		go j.gather()
	}
	complete := len(q.pending) >= j.set.groupRows || q.bytes >= j.set.maxBytes
	overfull := len(q.pending) >= j.set.maxRows || q.bytes >= 8*j.set.maxBytes
	q.mu.Unlock()
	if overfull {
		return j.flush(ctx)
	}
	if complete {
		select {
		case q.hurry <- struct{}{}:
		default: // it was told already
		}
	}
	return nil
}

// gather is the queue's goroutine: it commits a group when it is complete or
// the interval is over, until close stops it.
func (j *Journal) gather() {
	q := &j.queue
	defer close(q.done)
	tick := time.NewTicker(j.set.interval)
	defer tick.Stop()
	for {
		select {
		case <-q.stop:
			return
		case <-q.hurry:
		case <-tick.C:
		}
		// The entries stay queued, and a query or close reports what the error is then.
		_ = j.flush(context.Background())
	}
}

// Flush commits what is queued: what was put before outlives the process.
func (j *Journal) Flush(ctx context.Context) error { return j.flush(ctx) }

// flush commits what is queued. When it fails, the entries are queued again, up
// to the bound of the queue.
func (j *Journal) flush(ctx context.Context) error {
	if !j.Keeps() {
		return ErrNoHistory
	}
	q := &j.queue
	if err := q.flushing.Acquire(ctx, 1); err != nil {
		return fmt.Errorf("writing history: %w", err)
	}
	defer q.flushing.Release(1)
	landed := j.flights.ended() // first: their lines are in the group, or were written before
	q.mu.Lock()
	group, size := q.pending, q.bytes
	q.pending, q.bytes = nil, 0
	q.mu.Unlock()
	if len(group) == 0 {
		j.flights.settle(landed)
		return nil
	}
	err := j.db.Write(ctx, "writing history", func(ctx context.Context, tx *sql.Tx) error {
		before, err := newest(ctx, tx)
		if err != nil {
			return err
		}
		for _, e := range group {
			if err := e.write(ctx, tx); err != nil {
				return err
			}
		}
		after, err := newest(ctx, tx)
		if err != nil || after/pruneEvery == before/pruneEvery {
			return err
		}
		return prune(ctx, tx, j.set.keep)
	})
	if err == nil {
		j.flights.settle(landed)
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(group)+len(q.pending) > 2*j.set.maxRows || size+q.bytes > 16*j.set.maxBytes {
		q.dropped += len(group)
		return err
	}
	q.pending = append(group, q.pending...)
	q.bytes += size
	return err
}

// newest is the number of the newest line of the timeline, 0 for none.
func newest(ctx context.Context, tx *sql.Tx) (id int64, err error) {
	err = tx.QueryRowContext(ctx, "SELECT coalesce(max(id), 0) FROM activity").Scan(&id)
	return id, err
}

// close ends the goroutine and writes the rest.
func (q *queue) close(j *Journal) error {
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return nil
	}
	q.closed = true
	running := q.running
	q.mu.Unlock()
	if running {
		close(q.stop)
		<-q.done
	}
	err := j.flush(context.Background())
	q.mu.Lock()
	defer q.mu.Unlock()
	if n := q.dropped + len(q.pending); n > 0 {
		if n == 1 {
			return errors.Join(errors.New("1 entry of history was not written"), err)
		}
		return errors.Join(fmt.Errorf("%d entries of history were not written", n), err)
	}
	return err
}
