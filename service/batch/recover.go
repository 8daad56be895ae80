package batch

import (
	"context"
	"errors"
	"fmt"
	"os"

	"zonedeck/keystore/textfile"
	"zonedeck/service/batch/files"
	"zonedeck/service/batch/store"
)

// recover takes in what workers of this machine that died have left: results that were written and not committed, also by
// an earlier run of this process, and the items that were sent and not answered.
func (r *runner) recover(ctx context.Context) error {
	places, err := r.store.Workers(ctx, r.id)
	if err != nil {
		return err
	}
	for worker := range places {
		_, missing := os.Lstat(files.ResultsPath(r.b.dir(r.id), worker))
		if r.store.Server != nil && missing != nil {
			continue // it was on another machine
		}
		if err := r.merge(ctx, worker); err != nil && !errors.Is(err, textfile.ErrLocked) { // that one lives
			return err
		}
	}
	return r.stock.findLost(ctx)
}

// merge commits the results that a dead worker has written since its last commit.
func (r *runner) merge(ctx context.Context, worker string) error {
	committed := func() (files.Length, error) {
		places, err := r.store.Workers(ctx, r.id)
		return places[worker], err
	}
	return files.Tail(r.b.dir(r.id), worker, committed, func(lines []files.Line, at files.Length) error {
		return r.takeIn(ctx, worker, lines, at)
	})
}

// takeIn commits lines of a dead worker, whose files are as long as at says with them.
func (r *runner) takeIn(ctx context.Context, worker string, lines []files.Line, at files.Length) error {
	p := store.Progress{Worker: worker, Place: at, Slices: map[int]store.Slice{}, Claims: map[int]store.Claim{}, Merged: true, Now: r.b.Clock.Now()}
	for _, line := range lines {
		n, i := int(line.N/files.SliceItems), int(line.N%files.SliceItems)
		if p.Slices[n] == nil {
			slice, claim, err := r.stock.last(ctx, n, worker)
			if err != nil {
				return err
			}
			if p.Slices[n] = slice; claim != nil {
				p.Claims[n] = *claim
			}
		}
		claim, claimed := p.Claims[n]
		if i >= len(p.Slices[n]) {
			return fmt.Errorf("results of worker %s: the batch has no item %d", worker, line.N+1)
		}
		if claim.Attempt >= 0 && !p.Slices[n][i].Open() {
			continue
		}
		p.Slices[n][i] = store.Answered
		p.Spent += r.lastCost(line)
		tally := &p.Tally
		if claimed {
			tally, claim.Lines = &claim.Tally, files.AppendLine(claim.Lines, line)
		}
		if tally.Count(resultOf(line)); claimed {
			p.Claims[n] = claim
		}
	}
	_, _, err := r.store.Commit(ctx, r.id, p)
	return err
}

// last gives a slice as it is.
func (r local) last(ctx context.Context, n int, _ string) (store.Slice, *store.Claim, error) {
	_, slice, err := r.peek(ctx, n)
	return slice, nil, err
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

// findLost finds the items that were sent and not answered. What they may have cost counts as spent. The lock of the batch
// is held, so that no other worker lives.
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
	if _, _, err := r.store.Commit(ctx, r.id, p); err != nil {
		return err
	}
	// After the commit: a kill before this line has them announced once more, and none forgotten.
	var errs []error
	for _, n := range marked {
		errs = append(errs, r.items.MarkSent(n, 0))
	}
	return errors.Join(errs...)
}

// lastCost is what the last try of a result cost at most. What those before it cost was committed when it was sent.
func (r *runner) lastCost(line files.Line) int64 {
	if line.Cost == nil {
		return 0
	}
	dollars := *line.Cost
	for _, of := range r.plan.ways() {
		if last, priced := of.Zone.Rate.Cost(1, float64(line.Bytes)); priced && string(of.Zone.Name) == line.Zone && line.Attempts > 1 {
			dollars = min(dollars, last)
		}
	}
	return billionths(dollars)
}
