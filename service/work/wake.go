package work

import (
	"context"
	"errors"
	"fmt"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"zonedeck/service/database"
)

// Hasten implements Queue. An item that a handler holds is marked; the handler's worker hastens it
// once it is recorded that the item comes again.
func (q *queue[T]) Hasten(ctx context.Context, item Item) error {
	held, err := q.hasten(ctx, item)
	if err != nil || !held {
		return err
	}
	mark := markOf(item)
	if _, err := q.hasten(ctx, mark); err != nil {
		return err
	}
	// That may have been recorded before the mark was, and then nobody looks for the mark.
	held, err = q.hasten(ctx, item)
	if err == nil && !held {
		_, _, err = q.takeMark(ctx, item)
	}
	return err
}

// markOf says that an item is to be hastened. No worker has the mark's lane. PostgreSQL keeps no
// JSON with a zero byte.
func markOf(item Item) Item {
	item.Lane = "hasten: " + item.Lane
	return item
}

// hasten reports whether a handler holds the item, in which case nothing was changed.
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

// replace replaces an item that no handler holds: River cannot change the arguments of one.
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

// takeMark removes the mark of an item and returns the item as it was hastened.
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
			q.o.Log.Warn("what was hastened comes when it is due", "error", database.Classify(err))
		}
	}
}

// wasHeld hastens an item that was marked, unless it is done.
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
