package records

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
)

// errEnough ends eachRow without a fault.
var errEnough = errors.New("enough")

func isEnd(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, errEnough) }

// eachRow gives the rows that a scanner has, numbered from 0. A row is valid within the call, and nil
// where it is too long.
func eachRow(ctx context.Context, s *scanner, on func(n int64, row []byte) error) error {
	for n := int64(0); ; n++ {
		row, err := s.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && n%1024 == 0 {
			err = ctx.Err()
		}
		if err == nil {
			err = on(n, row)
		}
		if errors.Is(err, errEnough) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// inParts works on parts in as many goroutines as there are processors, and gives what they come to to take,
// in the order of the parts. The first error ends it.
func inParts[T any](ctx context.Context, parts []part, work func(p part, buf []byte) (T, error), take func(T) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type outcome struct {
		v   T
		err error
	}
	type task struct {
		p   part
		out chan outcome
	}
	workers := min(runtime.GOMAXPROCS(0), 8)
	tasks := make(chan task)
	order := make(chan chan outcome, workers)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for range workers {
		wg.Go(func() {
			buf := make([]byte, scanBuffer)
			for t := range tasks {
				v, err := work(t.p, buf)
				t.out <- outcome{v, err}
			}
		})
	}
	wg.Go(func() {
		defer close(order)
		defer close(tasks)
		for _, p := range parts {
			t := task{p, make(chan outcome, 1)}
			select {
			case order <- t.out:
			case <-ctx.Done():
				return
			}
			select {
			case tasks <- t:
			case <-ctx.Done():
				close(t.out)
				return
			}
		}
	})
	for out := range order {
		o, ok := <-out
		if !ok {
			break
		}
		if o.err != nil {
			return o.err
		}
		if err := take(o.v); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}
