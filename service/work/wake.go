package work

import (
	"context"
	"errors"
	"fmt"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"zonedeck/service/database"
)

// Hasten implements Queue. It marks an item that a handler holds; the handler's worker hastens the item
// once it is recorded that it comes again.
func (q *queue[T]) Hasten(ctx context.Context, item Item) error {
	held, err := q.hasten(ctx, item)
	if err != nil || !held {
		return err
	}
	mark := markOf(item)
	if _, err := q.hasten(ctx, mark); err != nil {
		return err
	}
	// The worker may have recorded that before the mark existed; then nobody looks for the mark.
	held, err = q.hasten(ctx, item)
	if err == nil && !held {
		_, _, err = q.takeMark(ctx, item)
	}
	return err
}

// markOf is the mark of an item to be hastened, itself an item, in a lane without workers. The lane has no
// zero byte, because PostgreSQL stores none in JSON.
func markOf(item Item) Item {
	item.Lane = "hasten: " + item.Lane
	return item
}

// hasten makes an item due at once. If a handler holds the item, it reports that and changes nothing.
func (q *queue[T]) hasten(ctx context.Context, item Item) (held bool, err error) {
	res, err := q.insert(ctx, item)
	if err != nil || !res.UniqueSkippedAsDuplicate {
		return false, err
	}
	was, err := decode(res.Job.EncodedArgs)
	if err != nil {
		return false, err
	}
	if item.Outlasts(was.item(res.Job.ScheduledAt)) {
		err = q.replace(ctx, res.Job.ID, item)
		held = errors.Is(err, rivertype.ErrJobRunning)
	} else {
		var now *rivertype.JobRow
		now, err = q.client.JobRetry(ctx, res.Job.ID)
		held = err == nil && now.State == rivertype.JobStateRunning
	}
	if err != nil && !held && !errors.Is(err, rivertype.ErrNotFound) {
		return false, fmt.Errorf("hastening %s in the queue of work: %w", item.Key, database.Classify(err))
	}
	return held, nil
}

// replace replaces an item that no handler holds, because River cannot change an item's arguments.
func (q *queue[T]) replace(ctx context.Context, old int64, item Item) error {
	tx, err := q.driver.GetExecutor().Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // after a commit it is none
	in := q.driver.UnwrapTx(tx)
	if _, err = q.client.JobDeleteTx(ctx, in, old); err != nil && !errors.Is(err, rivertype.ErrNotFound) {
		return err
	}
	if _, err := q.client.InsertTx(ctx, in, argsOf(item), optsOf(item)); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// takeMark removes the mark of an item, if there is one, and returns the item with the mark's Until.
func (q *queue[T]) takeMark(ctx context.Context, item Item) (hastened Item, marked bool, err error) {
	rows, err := q.rows(ctx, markOf(item).Lane)
	if err != nil {
		return item, false, err
	}
	for _, row := range rows {
		a, err := decode(row.EncodedArgs)
		if err != nil {
			return item, false, err
		}
		if a.Key != item.Key {
			continue
		}
		item.Until = timeOf(a.Until)
		_, err = q.client.JobDelete(ctx, row.ID)
		if errors.Is(err, rivertype.ErrNotFound) { // another worker has taken it
			return item, false, nil
		}
		if err != nil {
			return item, false, fmt.Errorf("hastening %s in the queue of work: %w", item.Key, database.Classify(err))
		}
		return item, true, nil
	}
	return item, false, nil
}

// keepHastening hastens items that were marked while a handler held them, until the client has stopped.
func (q *queue[T]) keepHastening(ctx context.Context, ended <-chan *river.Event) {
	for e := range ended {
		err := q.wasHeld(ctx, e)
		if err != nil {
			q.o.Log.Warn("a hastened item comes only when it is due", "error", database.Classify(err))
		}
	}
}

// wasHeld hastens a marked item after its handler, unless it is done.
func (q *queue[T]) wasHeld(ctx context.Context, e *river.Event) error {
	a, err := decode(e.Job.EncodedArgs)
	if err != nil {
		return err
	}
	item, marked, err := q.takeMark(ctx, a.item(e.Job.ScheduledAt))
	if err != nil || !marked || e.Kind == river.EventKindJobCompleted {
		return err
	}
	return q.Hasten(ctx, item)
}
