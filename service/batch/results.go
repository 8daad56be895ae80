package batch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"

	"zonedeck/model"
	"zonedeck/service/batch/files"
	"zonedeck/service/batch/store"
)

// ErrDamaged is wrapped where a file of a batch is not as it was written.
var ErrDamaged = files.ErrDamaged

// Results gives the results of a batch that are committed, one for each item, as they came or in the order of the input.
func (b *Batches) Results(ctx context.Context, id string, inOrder bool) iter.Seq2[files.Line, error] {
	return func(yield func(files.Line, error) bool) {
		lines, latest, done, err := b.lines(ctx, id, inOrder)
		if err != nil {
			yield(files.Line{}, err)
			return
		}
		defer done()
		found := make([]bool, len(latest))
		for line, err := range lines {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			switch {
			case err != nil:
			case line.N >= int64(len(latest)):
				err = fmt.Errorf("the results of batch %s are %w: one is of item %d, and it has %d", id, ErrDamaged, line.N+1, len(latest))
			case line.Round < int(latest[line.N]):
				continue
			case found[line.N]:
				err = fmt.Errorf("the results of batch %s are %w: item %d has two", id, ErrDamaged, line.N+1)
			default:
				found[line.N] = true
			}
			if !yield(line, err) || err != nil {
				return
			}
		}
	}
}

// lines gives all lines of a batch, and of each item the round of its last one.
func (b *Batches) lines(ctx context.Context, id string, inOrder bool) (lines iter.Seq2[files.Line, error], latest []uint16, done func(), err error) {
	s, err := b.Files.Batches(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	of, err := s.Batch(ctx, id)
	if err != nil {
		return nil, nil, nil, err
	}
	dir, places, done, err := b.logs(ctx, id)
	if err != nil {
		return nil, nil, nil, err
	}
	latest = make([]uint16, of.Items)
	if of.Tally.Rounds > 0 {
		for line, err := range files.Results(dir, places, false) {
			if err != nil {
				done()
				return nil, nil, nil, err
			}
			if line.N < of.Items {
				latest[line.N] = max(latest[line.N], uint16(min(line.Round, math.MaxUint16)))
			}
		}
	}
	return files.Results(dir, places, inOrder), latest, done, nil
}

// Retry has the items sent again whose result is one of the failures; until then the result that they have stands. The
// batch wants work again if there is one. It returns how many there are. Errors are an *UnknownError, a *BusyError, those
// of the files and the store's, and a *model.RequestError if the cap does not pay for a try of each: nothing has changed then.
func (b *Batches) Retry(ctx context.Context, id string, failures []Failure) (State, int64, error) {
	s, unlock, err := b.alone(ctx, id)
	if err != nil {
		return s, 0, err
	}
	defer unlock()
	st, err := b.Files.Batches(ctx)
	if err != nil {
		return s, 0, err
	}
	all := map[int]store.Slice{}
	if err := st.Slices(ctx, s.ID, false, func(n int, slice store.Slice) error { all[n] = slice; return nil }); err != nil {
		return s, 0, err
	}
	var items *files.Items
	if st.Server == nil { // there a slice has no marks between its workers
		if items, err = files.OpenItems(b.dir(s.ID)); err != nil {
			return s, 0, err
		}
		defer func() { _ = items.Close() }() // a mark that stays has an item announced once more
	}
	p := store.Progress{Slices: map[int]store.Slice{}, Counted: &store.Tally{}}
	retried := int64(0)
	for line, err := range b.Results(ctx, s.ID, false) {
		if err != nil {
			return s, 0, err
		}
		n, at := int(line.N/files.SliceItems), line.N%files.SliceItems
		switch slice := all[n]; {
		case at >= int64(len(slice)) || slice[at] != store.Answered:
		case slices.ContainsFunc(failures, func(f Failure) bool { return f.covers(model.Class(line.Class), model.Cause(line.Cause)) }):
			if items != nil {
				err = items.MarkSent(line.N, 0) // of the earlier round
			}
			if err != nil {
				return s, 0, err
			}
			slice[at], p.Slices[n] = store.Retried, slice
			retried++
		default:
			p.Counted.Count(resultOf(line))
		}
	}
	if retried == 0 {
		return s, 0, nil
	}
	if err := b.today(ctx, s.Plan).checkAgain(s, retried); err != nil {
		return s, 0, err
	}
	p.Tally, p.State = store.Tally{Retried: retried, Rounds: 1}, store.Paused
	s, err = b.decide(ctx, st, s, p)
	return s, retried, err
}

// alone gives a batch on which nobody else works until unlock.
func (b *Batches) alone(ctx context.Context, id string) (s State, unlock func(), err error) {
	if s, err = b.Show(ctx, id); err != nil {
		return s, nil, err
	}
	unlock, err = b.hold(ctx, s)
	return s, unlock, err
}

// NoBodyError says that an item has no body.
type NoBodyError struct {
	Item  int64  // as people count it
	Class string // of its result, or "" without one
}

func (e *NoBodyError) Error() string {
	if e.Class == "" {
		return fmt.Sprintf("item %d has no result", e.Item)
	}
	return fmt.Sprintf("item %d has no body: its result is %s", e.Item, e.Class)
}

// Body opens the body of an item, by its number from 1; that of a duplicate is the first one's. Errors are a *NoBodyError and those of the files.
func (b *Batches) Body(ctx context.Context, id string, number int64) (io.ReadCloser, error) {
	s, err := b.Show(ctx, id)
	if err != nil {
		return nil, err
	}
	it, err := b.item(ctx, s, number-1)
	switch {
	case errors.Is(err, model.ErrRequest):
		return nil, err
	case err == nil && it.Duplicate >= 0:
		number = it.Duplicate + 1
	}
	missing := &NoBodyError{Item: number}
	for line, err := range b.Results(ctx, id, false) {
		switch {
		case err != nil:
			return nil, err
		case line.N == number-1 && line.BodyAt != nil:
			return files.OpenBody(b.dir(id), *line.BodyAt)
		case line.N == number-1:
			missing.Class = line.Class
		}
	}
	return nil, missing
}
