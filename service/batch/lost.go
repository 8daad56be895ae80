package batch

import (
	"context"
	"fmt"
	"strconv"

	"zonedeck/model"
	"zonedeck/service/batch/files"
	"zonedeck/service/batch/store"
	"zonedeck/service/work"
)

// LostItem is an item that was sent and not answered, and waits for a decision.
type LostItem struct {
	N   int64
	URL string // "" for one that the template does not fill any more
}

// LostItems gives the lost items of a batch, the first most of them.
func (b *Batches) LostItems(ctx context.Context, id string, most int) (lost []LostItem, err error) {
	s, err := b.Show(ctx, id)
	if err != nil {
		return nil, err
	}
	items, err := files.OpenItems(b.dir(s.ID))
	if err != nil {
		return nil, err
	}
	defer func() { _ = items.Close() }() // it was only read
	err = b.eachLost(ctx, s.ID, func(n, at int) error {
		if len(lost) >= most {
			return nil
		}
		of, err := items.Slice(n)
		if err != nil {
			return err
		}
		row, err := rowOf(of[at].Line)
		if err != nil {
			return err
		}
		url := model.ExpandVariables(s.Plan.Request.URL, func(name string) string { v, _ := row(name); return v })
		lost = append(lost, LostItem{N: of[at].N, URL: url})
		return nil
	})
	return lost, err
}

func (b *Batches) eachLost(ctx context.Context, id string, take func(slice, at int) error) error {
	st, err := b.Files.Batches(ctx)
	if err != nil {
		return err
	}
	return st.Slices(ctx, id, false, func(n int, slice store.Slice) error {
		for at, o := range slice {
			if o != store.Lost {
				continue
			}
			if err := take(n, at); err != nil {
				return err
			}
		}
		return nil
	})
}

// BusyError says that a process works on a batch.
type BusyError struct{ ID string }

func (e *BusyError) Error() string {
	return fmt.Sprintf("a process works on %s: pause it first ('zonedeck batch pause %s')", e.ID, e.ID)
}

// Decide sends the lost items of a batch again, or drops them, and gives the batch as it is then: it wants work again if
// there is some. Each that is sent again may be billed twice. Errors are an *UnknownError, a *BusyError, the store's.
func (b *Batches) Decide(ctx context.Context, id string, again bool) (State, error) {
	s, err := b.Show(ctx, id)
	if err != nil {
		return s, err
	}
	unlock, err := b.hold(s.ID)
	if err != nil {
		return s, err
	}
	defer unlock()
	st, err := b.Files.Batches(ctx)
	if err != nil {
		return s, err
	}
	p := store.Progress{Worker: "operator", Slices: map[int]store.Slice{}, Now: b.Clock.Now()}
	err = st.Slices(ctx, s.ID, false, func(n int, slice store.Slice) error {
		for i, o := range slice {
			switch {
			case o != store.Lost:
				continue
			case again:
				slice[i] = store.Again
				p.Tally.Again++
			default:
				slice[i] = store.Dropped
				p.Tally.Dropped++
			}
			p.Tally.Unanswered--
			p.Slices[n] = slice
		}
		return nil
	})
	if err != nil {
		return s, err
	}
	for n := range p.Slices {
		if again {
			err = st.Put(ctx, work.Item{Lane: lane(s.ID), Key: strconv.Itoa(n)})
		}
		if err != nil {
			return s, err
		}
	}
	if _, err := st.Commit(ctx, s.ID, p); err != nil {
		return s, err
	}
	return b.change(ctx, s.ID, func(of *store.Batch) error {
		if of.State == store.Held {
			of.State, of.Reason = store.Done, ""
			if again {
				of.State = store.Paused
			}
		}
		return nil
	})
}
