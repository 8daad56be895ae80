package batch_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/service/batch"
	"zonedeck/service/batch/store"
	"zonedeck/service/database"
	"zonedeck/service/database/postgrestest"
)

// onServer opens the batches of a database as one worker of several, with a folder of its own.
func onServer(ctx context.Context, address, process, dir, url string) (*batch.Batches, func() error, error) {
	b, _, closing, err := open(ctx, dir, url)
	if err != nil {
		return nil, nil, err
	}
	server, err := database.OpenServer(ctx, address)
	if err != nil {
		return nil, nil, err
	}
	st, err := store.OpenServer(ctx, server, process, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, nil, err
	}
	b.Files = storeFiles{st}
	return b, func() error { return firstOf(st.Close(), closing()) }, nil
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// newWorker makes a rig a worker on the tests' server, which other workers of the test share.
func (r *rig) worker(t *testing.T, address, process string) *batch.Batches {
	t.Helper()
	b, closing, err := onServer(t.Context(), address, process, t.TempDir(), r.URL)
	noerr.Must(t, err)
	t.Cleanup(func() { noerr.Want(t, closing()) })
	return b
}

func TestTwoWorkersShareABatchAndItsLimit(t *testing.T) {
	address := postgrestest.Address(t, filepath.Join(t.TempDir(), "batches"))
	r := newRig(t)
	r.pause = 10 * time.Millisecond
	workers := []*batch.Batches{r.worker(t, address, "a"), r.worker(t, address, "b")}
	r.Batches = workers[0]
	d := draft(urls(1500) + "http://shop.test/7\n")
	d.AtOnce, d.Cap = 8, 100
	s := r.start(t, d)
	if s.OnServer == "" || s.Live {
		t.Errorf("on %q, live %v", s.OnServer, s.Live)
	}
	most := 0
	var all sync.WaitGroup
	for _, b := range workers {
		all.Go(func() {
			end, err := b.Run(t.Context(), s.ID, func(s batch.State) { most = max(most, len(s.Workers)) })
			if err != nil || end.State != store.Done {
				t.Errorf("ended %s: %v", end.State, err)
			}
		})
	}
	all.Wait()
	s = noerr.Try(workers[1].Show(t.Context(), s.ID)).Must(t)
	if s.Tally.Answered != 1500 || s.OK() != 1500 || s.Tally.Again != 0 || s.Spent != 1500*1_500_000 || s.Reserved != 0 {
		t.Errorf("%+v, spent %d, reserved %d", s.Tally, s.Spent, s.Reserved)
	}
	if r.all() != 1500 || r.most > 8 {
		t.Errorf("%d requests, %d at once", r.all(), r.most)
	}
	if lines := r.lines(t, s.ID); len(lines) != 1500 || lines[3].URL != "http://shop.test/3" {
		t.Errorf("%d results", len(lines))
	}
	by := map[string]int{}
	n := int64(0)
	for line, err := range workers[1].Results(t.Context(), s.ID, true) {
		noerr.Must(t, err)
		if by[line.BodyAt.Worker]++; line.N != n {
			t.Fatalf("item %d is at the place of %d", line.N, n)
		}
		n++
	}
	if by["a"] == 0 || by["b"] == 0 {
		t.Errorf("results by worker: %v", by)
	}
}
