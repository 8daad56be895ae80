package fetch

import (
	"context"
	"errors"
	"slices"
	"strings"

	"zonedeck/model"
	"zonedeck/service/config"
)

// Twin sends a request by every cell of t as often as t says, and returns t with what
// came of it. Cells run side by side within the limits of products and keys. It is kept
// in the history.
//
// on receives a cell after each of its runs, on the calling goroutine; it may be nil.
// A cell that cannot be sent as it stands gets a Problem and no runs. An error is what
// ends a Fetch otherwise: the caller's context, or a profile that is not usable; what
// came before it is returned with it.
func (ft *Fetcher) Twin(ctx context.Context, t model.Twin, on func(i int, cell model.TwinCell)) (model.Twin, error) {
	defer ft.cfg.Wire.Begin()()
	t.Cells = slices.Clone(t.Cells)
	err := beside(ctx, len(t.Cells), func(ctx context.Context, i int, report func(model.TwinCell)) error {
		_, err := ft.RunCell(ctx, t.Request, t.Cells[i], max(t.Repeat, 1), report)
		return err
	}, func(i int, cell model.TwinCell) {
		t.Cells[i] = cell
		if on != nil {
			on(i, cell)
		}
	})
	return ft.KeepTwin(ctx, t), err
}

// RunCell sends a request by one cell, as many times as runs says and c.AtOnce of them at a time,
// and returns the cell with those runs added. Each is a fetch of its own, with its own line in the
// history. on receives the cell whenever it changes, on the calling goroutine. It fails as Twin
// does, with the cell as it is then.
func (ft *Fetcher) RunCell(ctx context.Context, r model.FetchRequest, c model.TwinCell, runs int, on func(model.TwinCell)) (model.TwinCell, error) {
	r.Zone, r.Via = c.Zone, c.Via
	c.Problem, c.Cause = "", nil
	runs = max(runs, 0)
	left := make(chan struct{}, runs)
	for range runs {
		left <- struct{}{}
	}
	close(left)
	failed := beside(ctx, min(max(c.AtOnce, 1), runs), func(ctx context.Context, _ int, report func(*model.TwinRun)) error {
		for range left {
			sent := false
			result, err := ft.Fetch(ctx, r, func(e Event) { sent = sent || e.Phase == PhaseSending })
			if err != nil {
				if sent {
					report(nil)
				}
				return err
			}
			run := model.NewTwinRun(result)
			report(&run)
		}
		return nil
	}, func(_ int, run *model.TwinRun) {
		if run == nil {
			c.CutOff++
		} else {
			c.Runs = append(slices.Clip(c.Runs), *run)
		}
		on(c)
	})
	if errors.Is(failed, model.ErrRequest) && !errors.Is(failed, config.ErrReadOnly) { // read-only ends the whole comparison
		c.Problem, c.Cause = strings.ReplaceAll(failed.Error(), "\n", "; "), failed
		on(c)
		return c, nil
	}
	return c, failed
}

// KeepTwin keeps a comparison in the history, with an identifier and the time if it has
// none yet; one that was kept before is replaced.
func (ft *Fetcher) KeepTwin(ctx context.Context, t model.Twin) model.Twin {
	defer ft.cfg.Wire.Begin()()
	if t.ID == "" {
		t.ID, t.Started = ft.newID("t"), ft.cfg.Now()
	}
	if ft.cfg.Journal != nil {
		if err := ft.cfg.Journal.PutTwin(context.WithoutCancel(ctx), t); err != nil {
			ft.cfg.Log.Warn("a comparison was not kept", "id", t.ID, "error", err)
		}
	}
	return t
}
