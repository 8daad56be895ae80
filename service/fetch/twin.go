package fetch

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"zonedeck/model"
)

// Twin sends a request once or more often by every cell of t, and returns t with what came of
// it. Cells run side by side within the limits of products and keys; the runs of one
// cell follow each other, so that none slows the next down. Each run is a fetch of
// its own, with its own line in the history.
//
// on receives a cell after each of its runs, on the calling goroutine; it may be nil.
// A cell that cannot be sent as it stands gets a Problem and no runs. An error is what
// ends a Fetch otherwise: the caller's context, or a profile that is not usable; what
// came before it is returned with it.
func (ft *Fetcher) Twin(ctx context.Context, t model.Twin, on func(i int, cell model.TwinCell)) (model.Twin, error) {
	t.ID, t.Started, t.Cells = ft.newID("t"), ft.cfg.Now(), slices.Clone(t.Cells)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	type run struct {
		cell   int
		result model.FetchResult
		err    error
	}
	runs := make(chan run)
	var cells sync.WaitGroup
	for i, c := range t.Cells {
		r := t.Request
		r.Zone, r.Via = c.Zone, c.Via
		cells.Go(func() {
			for range max(t.Repeat, 1) {
				result, err := ft.Fetch(ctx, r, nil)
				runs <- run{i, result, err}
				if err != nil {
					return
				}
			}
		})
	}
	go func() {
		cells.Wait()
		close(runs)
	}()
	var failed error
	for r := range runs {
		c := &t.Cells[r.cell]
		switch {
		case errors.Is(r.err, model.ErrRequest):
			c.Problem = strings.ReplaceAll(r.err.Error(), "\n", "; ")
		case r.err != nil:
			if failed == nil {
				failed = r.err
				stop(r.err)
			}
			continue
		default:
			c.Runs = append(c.Runs, model.NewTwinRun(r.result))
		}
		if on != nil {
			cell := *c
			cell.Runs = slices.Clone(c.Runs)
			on(r.cell, cell)
		}
	}
	return t, failed
}
