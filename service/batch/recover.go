package batch

import (
	"context"
	"errors"
	"fmt"

	"zonedeck/service/batch/files"
	"zonedeck/service/batch/store"
)

// recover takes in what workers that died have left: results that were written and not committed, and the items that
// were sent and not answered. The lock of the batch is held, so that no other worker lives.
func (r local) recover(ctx context.Context) error {
	places, err := r.store.Workers(ctx, r.id)
	if err != nil {
		return err
	}
	found := map[int]store.Slice{}
	for worker, from := range places {
		if worker == r.name {
			continue
		}
		if err := r.merge(ctx, worker, from, found); err != nil {
			return err
		}
	}
	return r.findLost(ctx)
}

// merge commits the results that a dead worker has written since its last commit.
func (r local) merge(ctx context.Context, worker string, from files.Length, found map[int]store.Slice) error {
	lines, at, err := files.Tail(r.b.dir(r.id), worker, from)
	if err != nil {
		return err
	}
	p := store.Progress{Worker: worker, Place: at, Slices: map[int]store.Slice{}, Now: r.b.Clock.Now()}
	for _, line := range lines {
		n := int(line.N / files.SliceItems)
		slice := found[n]
		if slice == nil {
			if _, slice, err = r.peek(ctx, n); err != nil {
				return err
			}
			found[n] = slice
		}
		i := line.N % files.SliceItems
		if int(i) >= len(slice) {
			return fmt.Errorf("results of worker %s: item %d is none of the batch's", worker, line.N)
		}
		if !slice[i].Open() {
			continue
		}
		slice[i], p.Slices[n] = store.Answered, slice
		if line.Cost != nil {
			p.Spent += billionths(*line.Cost)
		}
		p.Tally.Count(resultOf(line))
	}
	_, err = r.store.Commit(ctx, r.id, p)
	return err
}

// peek gives a slice as it is, or as a fresh one.
func (r local) peek(ctx context.Context, n int) (items []files.Item, slice store.Slice, err error) {
	if items, err = r.items.Slice(n); err != nil {
		return nil, nil, err
	}
	if slice, err = r.store.Slice(ctx, r.id, n); err == nil && slice == nil {
		slice = fresh(items)
	}
	return items, slice, err
}

// findLost finds the items that were sent and not answered. What they may have cost counts as spent.
func (r local) findLost(ctx context.Context) error {
	p := store.Progress{Worker: r.name, Slices: map[int]store.Slice{}, Now: r.b.Clock.Now()}
	var begun []int
	err := r.store.Slices(ctx, r.id, true, func(n int, _ store.Slice) error { begun = append(begun, n); return nil })
	if err != nil {
		return err
	}
	var marked []int64
	for _, n := range begun {
		items, slice, err := r.peek(ctx, n)
		if err != nil {
			return err
		}
		var sent []int
		for i, it := range items {
			if it.Sent > 0 && slice[i].Open() {
				sent, marked = append(sent, i), append(marked, it.N)
			}
		}
		if len(sent) > 0 {
			p.Spent += slice.Unanswered(sent, r.plan.repeatable(), r.price, &p.Tally)
			p.Slices[n] = slice
		}
		if err := r.put(ctx, n); err != nil { // the queue may have lost it
			return err
		}
	}
	if _, err := r.store.Commit(ctx, r.id, p); err != nil {
		return err
	}
	// After the commit: a kill before this line has them announced once more, and none forgotten.
	var errs []error
	for _, n := range marked {
		errs = append(errs, r.items.MarkSent(n, 0))
	}
	return errors.Join(errs...)
}
