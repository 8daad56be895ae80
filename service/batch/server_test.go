package batch_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
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
	return b, func() error { return cmp.Or(st.Close(), closing()) }, nil
}

// worker is one on the tests' server, which other workers of the test share.
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

// victimDatabase and victimProcess make the victim a worker of a database.
const victimDatabase, victimProcess = "ZONEDECK_BATCH_DATABASE", "ZONEDECK_BATCH_PROCESS"

// serverVictim works on the newest batch of a database until it is killed.
func serverVictim(dir string) error {
	ctx := context.Background()
	b, closing, err := onServer(ctx, os.Getenv(victimDatabase), os.Getenv(victimProcess), dir, os.Getenv(victimURL))
	if err != nil {
		return err
	}
	all, err := b.List(ctx)
	if err == nil {
		_, err = b.Run(ctx, all[0].ID, func(batch.State) {})
	}
	return cmp.Or(err, closing())
}

// beginWorker begins a process that is a worker.
func (r *rig) beginWorker(t *testing.T, address, process string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), victimDir+"="+t.TempDir(), victimURL+"="+r.URL, victimDatabase+"="+address, victimProcess+"="+process)
	cmd.Stderr = os.Stderr
	noerr.Must(t, cmd.Start())
	return cmd
}

// age makes a worker as old as after a silence that its reservation does not outlast.
func age(t *testing.T, s *database.Server, process string) {
	t.Helper()
	noerr.Must(t, noerr.From(s.Pool.Exec(t.Context(), "UPDATE workers SET beat = beat - 31000000 WHERE process = $1", process)))
}

// TestNoKillOfAWorkerLosesDoublesOrPassesTheLimit kills and stops workers beside one that stays. A fetch may take a
// second, so that the share of a dead one is back after four.
func TestNoKillOfAWorkerLosesDoublesOrPassesTheLimit(t *testing.T) {
	const items, atOnce = 2500, 8
	path := filepath.Join(t.TempDir(), "batches")
	address := postgrestest.Address(t, path)
	r := newRig(t)
	r.pause = 10 * time.Millisecond
	r.Batches = r.worker(t, address, "stays")
	server := postgrestest.Server(t, path)
	d := draft(urls(items))
	d.AtOnce, d.Cap, d.Request.Timeout = atOnce, 100, time.Second
	s := r.start(t, d)
	ended := make(chan batch.State, 1)
	go func() {
		end, err := r.Run(t.Context(), s.ID, func(batch.State) {})
		if err != nil {
			t.Error(err)
		}
		ended <- end
	}()
	stopped := r.beginWorker(t, address, "stopped")
	<-time.After(700 * time.Millisecond)
	noerr.Must(t, stopped.Process.Signal(syscall.SIGSTOP))
	age(t, server, "stopped")
	n := kills(t)
	for i := range n {
		name := fmt.Sprintf("killed%d", i)
		cmd := r.beginWorker(t, address, name)
		<-time.After(time.Duration(300+rand.IntN(500)) * time.Millisecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		age(t, server, name)
	}
	<-time.After(2 * time.Second) // it was stopped for longer than its lease lasts
	noerr.Must(t, stopped.Process.Signal(syscall.SIGCONT))
	s = <-ended
	_ = stopped.Wait()
	lines := r.lines(t, s.ID)
	repeated := r.all() - items
	t.Logf("%d kills: %d results, %d sent again, %d announced, %d at once, spent %d", n, len(lines), repeated, s.Tally.Again, r.most, s.Spent)
	if s.State != store.Done || len(lines) != items || s.Tally.Answered != items {
		t.Errorf("%s with %d results of %d; counted %d", s.State, len(lines), items, s.Tally.Answered)
	}
	if int64(repeated) > s.Tally.Again || s.Tally.Again > int64(n+1)*2*(atOnce+8) {
		t.Errorf("%d sent again, %d announced", repeated, s.Tally.Again)
	}
	if r.most > atOnce {
		t.Errorf("%d at once", r.most)
	}
	if price := int64(1_500_000); s.Spent < price*int64(r.all()) || s.Spent > s.Cap {
		t.Errorf("spent %d for %d requests, cap %d", s.Spent, r.all(), s.Cap)
	}
}
