package fetch

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// parallel runs n pieces of work side by side. What they report is handed to on, one report at
// a time, on the calling goroutine. The first that fails ends the others' context; the error
// is its own, or the cause of ctx's end.
func parallel[T any](ctx context.Context, n int, run func(ctx context.Context, i int, report func(T)) error, on func(i int, v T)) error {
	type report struct {
		i int
		v T
	}
	reports := make(chan report)
	g, ctx := errgroup.WithContext(ctx)
	for i := range n {
		g.Go(func() error { return run(ctx, i, func(v T) { reports <- report{i, v} }) })
	}
	var err error
	go func() {
		err = g.Wait()
		close(reports)
	}()
	for r := range reports {
		on(r.i, r.v)
	}
	if err != nil {
		return context.Cause(ctx)
	}
	return nil
}
