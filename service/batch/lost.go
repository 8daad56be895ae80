package batch

import (
	"context"
	"errors"
	"fmt"

	"zonedeck/model"
	"zonedeck/service/batch/files"
	"zonedeck/service/batch/store"
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
	slice, done, err := b.items(ctx, s.ID)
	if err != nil {
		return nil, err
	}
	defer done()
	err = b.eachLost(ctx, s.ID, func(n, at int) error {
		if len(lost) >= most {
			return nil
		}
		of, err := slice(n)
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

// items gives the items of a slice, from the batch's folder or from the server.
func (b *Batches) items(ctx context.Context, id string) (slice func(n int) ([]files.Item, error), done func(), err error) {
	st, err := b.Files.Batches(ctx)
	if err != nil {
		return nil, nil, err
	}
	if st.Server != nil {
		return func(n int) ([]files.Item, error) { return st.Server.Items(ctx, id, n) }, func() {}, nil
	}
	items, err := files.OpenItems(b.dir(id))
	if err != nil {
		return nil, nil, err
	}
	return items.Slice, func() { _ = items.Close() }, nil // it was only read
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
type BusyError struct{ State State }

func (e *BusyError) Error() string {
	return fmt.Sprintf("a process works on %s: pause it first ('%s')", e.State.ID, e.State.Command("pause"))
}

// Decide sends the lost items of a batch again, or drops them, and gives the batch as it is then: it wants work again if
// there is some. Each that is sent again may be billed twice. Errors are an *UnknownError, a *BusyError, the store's.
func (b *Batches) Decide(ctx context.Context, id string, again bool) (State, error) {
	s, unlock, err := b.alone(ctx, id)
	if err != nil {
		return s, err
	}
	defer unlock()
	st, err := b.Files.Batches(ctx)
	if err != nil {
		return s, err
	}
	p := store.Progress{Slices: map[int]store.Slice{}}
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
	if s.State == store.Held {
		p.State = store.Done
		if again {
			p.State = store.Paused
		}
	}
	return b.decide(ctx, st, s, p) // the queue learns of it when the batch goes on
}

// decide commits what the operator wants of a batch, unless somebody has worked on it since it was read.
func (b *Batches) decide(ctx context.Context, st *store.Store, s State, p store.Progress) (State, error) {
	p.Worker, p.Since, p.Now = "operator", s.Changed, b.Clock.Now()
	of, _, err := st.Commit(ctx, s.ID, p)
	if errors.Is(err, store.ErrChanged) {
		err = &BusyError{s}
	}
	if err != nil {
		return s, err
	}
	return b.state(ctx, st, of)
}
